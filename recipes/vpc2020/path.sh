#!/usr/bin/env bash
# To be sourced: makes the command privacy-eval and the toolkit's scripts found by their names.
# The toolkit's own environment .venv comes first; then what is installed elsewhere; where there is
# neither, .venv is made now.

PRIVACY_EVAL_ROOT=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
PRIVACY_EVAL_ROOT=$(dirname -- "$(dirname -- "$PRIVACY_EVAL_ROOT")")
export PRIVACY_EVAL_ROOT

if [ ! -x "$PRIVACY_EVAL_ROOT/.venv/bin/privacy-eval" ] &&
    ! command -v privacy-eval >/dev/null; then
    "$PRIVACY_EVAL_ROOT/scripts/ensure_env.sh" run
fi
if [ -x "$PRIVACY_EVAL_ROOT/.venv/bin/privacy-eval" ]; then
    PATH=$PRIVACY_EVAL_ROOT/.venv/bin:$PATH
fi
PATH=$PRIVACY_EVAL_ROOT/scripts:$PATH
export PATH
