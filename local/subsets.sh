#!/usr/bin/env bash
# Stages 3 and 5: evaluation subsets of the data folders, in stage 5 of anonymized speech.
# Usage: subsets.sh [options of privacy-eval subsets]
set -euo pipefail

exec privacy-eval subsets "$@"
