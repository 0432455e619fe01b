#!/usr/bin/env bash
# Stage 11: evaluates the ratings of a listening test.
# Usage: subjective.sh [options of privacy-eval subjective]
set -euo pipefail

exec privacy-eval subjective "$@"
