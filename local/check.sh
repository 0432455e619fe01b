#!/usr/bin/env bash
# Stage 0: says on one screen whether the tree is complete, which stage makes what is missing, what in
# data sets, x-vectors and scores cannot be right, and what it costs to evaluate. Scores that are
# there are read, a second per million trials (--quick leaves them); nothing is written.
# Usage: check.sh [options of privacy-eval check]
set -euo pipefail

exec privacy-eval check "$@"
