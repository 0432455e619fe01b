#!/usr/bin/env bash
# Build the documentation site, which opens from its folder without network, into `site`.
#
# Usage: build_site.sh [--figures DIR] [--out DIR]
#
# --figures: folder of figures in PNG, such as recipes/demo/work/results/figures; all are shown on
# a page. Without it the site has no pictures but those of docs/.
#
# Needs the extra `docs` of setup.cfg, which the environment of scripts/test.sh has; into one of your
# own: pip install '.[docs]'
set -euo pipefail

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
figures=
out=$root/site
while [ $# -gt 0 ]; do
    case $1 in
        --figures) figures=$(readlink -f -- "$2") ;;
        --out) out=$(readlink -m -- "$2") ;;
        -h | --help)
            sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | sed '/^set /d'
            exit 0
            ;;
        *)
            printf "build_site.sh: unexpected argument '%s'\n" "$1" >&2
            exit 2
            ;;
    esac
    shift 2
done
python=$root/.venv/bin/python
[ -x "$python" ] || python=python3
if ! "$python" -c 'import material, mkdocs, mkdocstrings_handlers.python' 2>/dev/null; then
    printf 'build_site.sh: the extra docs is not installed: %q -m pip install %q\n' \
        "$python" "${root}[docs]" >&2
    exit 1
fi
# Its messages are only of use when it fails.
if ! messages=$(NO_MKDOCS_2_WARNING=1 SITE_FIGURES=$figures "$python" -m mkdocs build --strict \
    --config-file "$root/scripts/site/mkdocs.yml" --site-dir "$out" 2>&1); then
    printf '%s\n' "$messages" | grep -v '^INFO' >&2
    exit 1
fi
printf 'built %s\n' "$out/index.html"
