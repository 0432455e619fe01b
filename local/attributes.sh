#!/usr/bin/env bash
# Stage 7: what x-vectors give away about attributes of speakers, in parallel jobs.
# Usage: attributes.sh [options of privacy-eval attributes]
set -euo pipefail

exec privacy-eval attributes "$@"
