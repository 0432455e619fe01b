#!/usr/bin/env bash
# Checks the toolkit: style, types, shell scripts, then the tests. Stops at the first step that
# fails. Makes the environment .venv first if need be; works from any folder.
#
# Usage: test.sh [pytest's arguments]     for example: test.sh -k zebra -x
set -euo pipefail

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
cd -- "$root"
./scripts/ensure_env.sh test
PATH=$root/.venv/bin:$PATH

step() {
    local title=$1
    shift
    printf '== %s\n' "$title"
    "$@" || {
        printf 'test.sh: failed at the step "%s"\n' "$title" >&2
        exit 1
    }
}

check_shell() {
    local file files=()
    # Not a list by git: the sources may have come without it.
    while IFS= read -r -d '' file; do files+=("$file"); done < <(
        find .ci/run local recipes scripts tests -name work -prune -o \
            -type f '(' -name '*.sh' -o -path .ci/run ')' -print0
    )
    # -x: look into sourced files too; their names are written relative to this folder.
    shellcheck -x -- "${files[@]}"
}

step "ruff check" ruff check .
step "ruff format" ruff format --check .
step "mypy" mypy privacy_eval
if command -v shellcheck >/dev/null; then
    step "shellcheck" check_shell
else
    printf '== shellcheck: left out, because it is not installed\n'
fi
# Last, so that its summary is what the output ends with.
printf '== pytest\n'
# Files of tests are shared out: one process more than there are cores, as some tests wait.
exec pytest --numprocesses "$(($(nproc) + 1))" --dist loadfile --no-loadscope-reorder "$@"
