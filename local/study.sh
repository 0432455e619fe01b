#!/usr/bin/env bash
# Simulations of a metric study, in parallel jobs; existing ones are kept.
# Usage: study.sh [options of privacy-eval study]
set -euo pipefail

exec privacy-eval study "$@"
