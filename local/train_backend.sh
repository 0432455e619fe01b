#!/usr/bin/env bash
# Stages 2 and 5: train missing back ends whose training x-vectors exist.
# Usage: train_backend.sh [options of privacy-eval train-backend]
set -euo pipefail

exec privacy-eval train-backend "$@"
