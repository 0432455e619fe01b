#!/usr/bin/env bash
# Stage 0: says what is in the tree, what is missing, and which stage needs it.
# Usage: check.sh [options of privacy-eval check]
set -euo pipefail

exec privacy-eval check "$@"
