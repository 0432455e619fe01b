#!/usr/bin/env bash
# To be sourced: put the command privacy-eval and the toolkit's scripts on the PATH, and say which
# command it is. An active environment that has it is preferred to the toolkit's own, .venv, and that
# to an installation elsewhere; .venv is created if there is neither. Where this file is a part of an
# installation, the command on the PATH belongs to it.

PRIVACY_EVAL_ROOT=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
PRIVACY_EVAL_ROOT=$(dirname -- "$(dirname -- "$PRIVACY_EVAL_ROOT")")
export PRIVACY_EVAL_ROOT

active=${VIRTUAL_ENV:-${CONDA_PREFIX:-}}
if [ -e "$PRIVACY_EVAL_ROOT/__init__.py" ]; then
    command -v privacy-eval >/dev/null || {
        printf 'path.sh: no command privacy-eval on the PATH: activate the environment of %s\n' \
            "$PRIVACY_EVAL_ROOT" >&2
        exit 1
    }
elif [ -n "$active" ] && [ -x "$active/bin/privacy-eval" ]; then
    PATH=$active/bin:$PATH
else
    own=$PRIVACY_EVAL_ROOT/.venv
    # The stamp: the environment is the toolkit's, to be brought up to date.
    if [ -f "$own/.privacy_eval_stamp" ] ||
        { [ ! -x "$own/bin/privacy-eval" ] && ! command -v privacy-eval >/dev/null; }; then
        "$PRIVACY_EVAL_ROOT/scripts/ensure_env.sh" run
    fi
    if [ -x "$own/bin/privacy-eval" ]; then PATH=$own/bin:$PATH; fi
fi
PATH=$PRIVACY_EVAL_ROOT/scripts:$PATH
export PATH
# Once, also if a recipe runs another one.
if [ "${PRIVACY_EVAL_COMMAND:-}" != "$(command -v privacy-eval)" ]; then
    PRIVACY_EVAL_COMMAND=$(command -v privacy-eval)
    export PRIVACY_EVAL_COMMAND
    printf 'Using %s\n' "$PRIVACY_EVAL_COMMAND" >&2
fi
