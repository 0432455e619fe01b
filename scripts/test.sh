#!/usr/bin/env bash
# Check style, types and shell scripts, then run the tests. Stops at the first step that fails.
# Creates the environment .venv first if needed; works from any folder.
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
    # Do not use git: the sources may have come without a repository.
    while IFS= read -r -d '' file; do files+=("$file"); done < <(
        find .ci/run findings local recipes scripts tests -name work -prune -o \
            -type f '(' -name '*.sh' -o -path .ci/run ')' -print0
    )
    # -x: follow sourced files, whose names are relative to this folder.
    shellcheck -x -- "${files[@]}"
}

step "ruff check" ruff check .
step "ruff format" ruff format --check .
# Compile the tests on another core meanwhile: otherwise every process below does so.
PYTHONDONTWRITEBYTECODE='' pytest --collect-only -q >/dev/null 2>&1 &
step "mypy" mypy privacy_eval
if command -v shellcheck >/dev/null; then
    step "shellcheck" check_shell
else
    printf '== shellcheck: left out, because it is not installed\n'
fi
# Where Python may write no bytecode, every process would compile all tests again.
unset PYTHONDONTWRITEBYTECODE
wait
# The tests write hundreds of thousands of small files: into memory, where that has room for them
# and may hold programs.
if [ -z "${TMPDIR:-}" ] && memory=$(mktemp -d /dev/shm/XXXXXX 2>/dev/null); then
    trap 'rm -rf -- "$memory"' EXIT
    printf '#!/bin/sh\n' >"$memory/program" && chmod +x "$memory/program"
    room=$(df -Pk "$memory" | awk 'NR == 2 { print $4 }')
    if "$memory/program" 2>/dev/null && [ "$room" -gt 8000000 ]; then export TMPDIR=$memory; fi
fi
# Last, so that the output ends with its summary.
printf '== pytest\n'
pytest --numprocesses "$(nproc)" --dist loadfile --no-loadscope-reorder "$@"
