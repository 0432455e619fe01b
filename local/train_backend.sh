#!/usr/bin/env bash
# Stage 2: trains the back ends that the tree lacks, where their training x-vectors are there.
# Usage: train_backend.sh [options of privacy-eval train-tree]
set -euo pipefail

exec privacy-eval train-tree "$@"
