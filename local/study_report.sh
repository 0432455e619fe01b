#!/usr/bin/env bash
# Tables, figures and report of a metric study's simulations.
# Usage: study_report.sh [options of privacy-eval study-report]
set -euo pipefail

exec privacy-eval study-report "$@"
