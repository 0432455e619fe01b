#!/usr/bin/env bash
# Build sdist and wheel and check them; install the wheel outside the clone, into a clean environment for
# each interpreter with the oldest and the newest allowed packages; run selftest and the demo there.
#
# Usage: check_install.sh [--quick] [--pythons "python3.10 python3.13"] [--dist DIR]
set -euo pipefail

# --- options
quick=false # python3 alone, the oldest packages, a small demo without listening test: as .ci/run calls it
pythons=    # interpreters, blank-separated (default: one of each version on the PATH or of pyenv)
dist=       # folder that keeps sdist and wheel once they have passed (default: none)
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"
[ $# -eq 0 ] || { printf "check_install.sh: unexpected argument '%s'\n" "$1" >&2 && exit 2; }

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
dist=${dist:+$(realpath -m -- "$dist")}
unset VIRTUAL_ENV PYTHONPATH
export UV_NATIVE_TLS=1 UV_PYTHON_DOWNLOADS=never
python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --disable-pip-version-check uv
uv() { "$work/tools/bin/uv" --quiet "$@"; }

# The wheel is built from the sdist, so that this is complete, too.
uv build --out-dir "$work/dist" "$root"
sed -n '/^install_requires/,/^$/s/^  *//p' "$root/setup.cfg" >"$work/requirements"
resolutions="lowest-direct highest"
if [ "$quick" = true ]; then
    pythons=${pythons:-python3} resolutions=lowest-direct
else
    uv tool run twine check --strict "$work"/dist/*
fi

# Prints an interpreter of each version from 3.10 on, by version.
interpreters() {
    local python minor every=(python3.{10..19} ~/.pyenv/versions/3.*/bin/python)
    for python in ${pythons:-"${every[@]}"}; do
        minor=$("$python" -c 'import sys; print(sys.version_info[1])' 2>/dev/null) || continue
        if [ "$minor" -ge 10 ]; then printf '%s %s\n' "$minor" "$(command -v "$python")"; fi
    done | sort -n -u -k 1,1 | cut -d ' ' -f 2-
}

cd / # where no clone is found
small='s/--bootstrap 500/--stop-stage 10/; s/ demo-tree .*/& --speakers 3 --utterances 3 --systems 1/'
for python in $(interpreters); do
    for resolution in $resolutions; do
        rm -rf -- "$work/env" "$work/own"
        uv venv --python "$python" "$work/env"
        uv pip install --python "$work/env" --resolution "$resolution" --only-binary :all: \
            --requirements "$work/requirements" "$work"/dist/*.whl
        "$work/env/bin/privacy-eval" selftest | tail -n 1
        "$work/env/bin/privacy-eval" init "$work/own" --demo
        if [ "$quick" = true ]; then sed -i "$small" "$work/own/run.sh"; fi
        "$work/own/run.sh" >"$work/log" 2>&1 || { tail -n 20 -- "$work/log" && exit 1; }
        tail -n 1 -- "$work/log"
    done
done
[ -e "$work/log" ] # nothing ran if there is no interpreter
if [ -n "$dist" ]; then mkdir -p -- "$dist" && cp -- "$work"/dist/*.* "$dist"; fi
