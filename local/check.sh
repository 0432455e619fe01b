#!/usr/bin/env bash
# Stage 0: check the tree: missing inputs and the stage that creates each, original/anonymized
# mismatches, implausible scores, memory of the jobs. Scores are read, a second per million trials
# (not with --quick); nothing is written.
# Usage: check.sh [options of privacy-eval check]
set -euo pipefail

exec privacy-eval check "$@"
