#!/usr/bin/env bash
# Build the documentation site, which opens from its folder without network, into `site`.
#
# Usage: build_site.sh [--draw] [--figures DIR ...] [--out DIR]
#
# --draw: simulate trees, evaluate them, and show every kind of figure on a page; takes minutes.
# --figures: folder of figures in PNG, such as recipes/demo/work/results/figures, to be shown there
# instead; several if repeated. Without either the site has no pictures but those of docs/.
#
# Needs the extra `docs` of setup.cfg, which the environment of scripts/test.sh has; into one of your
# own: pip install '.[docs]'
set -euo pipefail

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
draw=false
figures=
out=$root/site
while [ $# -gt 0 ]; do
    case $1 in
        --draw)
            draw=true
            shift
            continue
            ;;
        --figures) figures+=" $(readlink -f -- "$2")" ;;
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
# Draws every kind of figure into folders of $work.
draw() {
    local tree=$work/tree
    # shellcheck source=recipes/vpc2020/path.sh
    . "$root/recipes/vpc2020/path.sh"
    privacy-eval demo-tree "$tree" --speakers 8 --utterances 6
    awk 'BEGIN { print "speaker,accent" } !seen[$1]++ { print $1 "," ($1 % 2 ? "north" : "south") }' \
        "$tree"/data/*/spk2gender >"$tree/data/speakers.csv"
    printf '%s\n' 'extends: vpc2020' 'name: vpc2020' 'sentences: [1, 2, 3]' \
        'groups: ["data/speakers.csv:accent"]' >"$tree/protocol.yaml"
    "$root/recipes/vpc2020/run.sh" --tree "$tree" --conf protocol.yaml --stage 5 --stop-stage 8 \
        --out results --bootstrap 100
    local results=(--results "$tree/results/results.json" --format png)
    privacy-eval figures "${results[@]}" --out "$work/figures" --all-figures --conventional
    privacy-eval listening "${results[@]}" --ratings "$tree/ratings.csv" --out "$work/listening"
    "$root/recipes/metric_study/run.sh" --dir "$work/study"
}
if [ "$draw" = true ]; then
    work=$(mktemp -d)
    trap 'rm -rf -- "$work"' EXIT
    # A condition would let the function go on after an error.
    set +e
    (set -e && draw) >"$work/log" 2>&1
    code=$?
    set -e
    if [ "$code" != 0 ]; then
        tail -n 20 -- "$work/log" >&2
        exit 1
    fi
    figures+=" $work/figures $work/listening/figures $work/study/figures"
fi
# Its messages are only of use when it fails.
if ! messages=$(NO_MKDOCS_2_WARNING=1 SITE_FIGURES=$figures "$python" -m mkdocs build --strict \
    --config-file "$root/scripts/site/mkdocs.yml" --site-dir "$out" 2>&1); then
    printf '%s\n' "$messages" | grep -v '^INFO' >&2
    exit 1
fi
printf 'built %s\n' "$out/index.html"
