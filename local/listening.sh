#!/usr/bin/env bash
# Stage 11: evaluate the ratings of a listening test.
# Usage: listening.sh [options of privacy-eval listening]
set -euo pipefail

exec privacy-eval listening "$@"
