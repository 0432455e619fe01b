#!/usr/bin/env bash
# To be sourced: put the command privacy-eval and the toolkit's scripts on the PATH. The toolkit's
# environment .venv is preferred to an installation elsewhere, and created if there is neither.

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
