#!/usr/bin/env bash
# Stage 2: train the back ends that are missing, where their training x-vectors are there.
# Usage: train_backend.sh [options of privacy-eval train-backend]
set -euo pipefail

exec privacy-eval train-backend "$@"
