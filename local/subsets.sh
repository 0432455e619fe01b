#!/usr/bin/env bash
# Stages 3 and 5: cuts the evaluation sets out of the data folders by their lists of enrollment
# utterances and trials, and combines them; in stage 5 those of anonymized speech.
# Usage: subsets.sh [options of privacy-eval subsets]
set -euo pipefail

exec privacy-eval subsets "$@"
