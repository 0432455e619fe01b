#!/usr/bin/env bash
# Stage 0: check the tree; score files are read, and nothing is written but what --audio found.
# Usage: check.sh [options of privacy-eval check]
set -euo pipefail

exec privacy-eval check "$@"
