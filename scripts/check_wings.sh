#!/usr/bin/env bash
# Delete each wing of this repository in turn from a copy of it: what is left imports, shows its help,
# and evaluates a small demo to tables and report.
#
# Usage: check_wings.sh [--tests] [--together] [--wings "attackers study"]
set -euo pipefail

# --- options
tests=false    # also run the tests of the rooms that no wing is in
together=false # delete them all from one copy
wings=         # blank-separated (default: all that setup.cfg names)
# --- end of options

root=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=scripts/parse_options.sh
. "$root/scripts/parse_options.sh"
[ $# -eq 0 ] || { printf "check_wings.sh: unexpected argument '%s'\n" "$1" >&2 && exit 2; }
# shellcheck disable=SC2154
wings=${wings:-$(sed -n 's/^    \([a-z]*\) = privacy_eval\.[a-z]*:WING$/\1/p' "$root/setup.cfg" | xargs)}
export VIRTUAL_ENV=${VIRTUAL_ENV:-$root/.venv}
export PATH=$VIRTUAL_ENV/bin:$PATH
if [ "$together" = false ] && [ "$(wc -w <<<"$wings")" -gt 1 ]; then # each in a process of its own; tests use all processors
    jobs=$(nproc)
    [ "$tests" = false ] || jobs=1
    xargs -n 1 <<<"$wings" | xargs -P "$jobs" -I NAME "$0" --tests "$tests" --wings NAME || exit 1
    exit
fi

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
copy=$work/copy
export PYTHONPATH=$copy PYTHONDONTWRITEBYTECODE=1
fail() {
    printf 'check_wings.sh: without %s: %s\n' "$wings" "$1" >&2
    if [ -e "$work/log" ]; then tail -n 20 -- "$work/log" >&2; fi
    exit 1
}
# Rooms whose tests need no wing.
rooms="metrics io protocol tree asv products results report numbers simulate stages"

mkdir -- "$copy"
git -C "$root" ls-files -z | tar -C "$root" --null --files-from - --create | tar -C "$copy" --extract
for wing in $wings; do rm -r -- "$copy/privacy_eval/$wing" "$copy/tests/$wing"; done
cd -- "$copy"
python - <<'END' || fail "imports"
import importlib, pkgutil, privacy_eval
from privacy_eval import cli, wings

assert privacy_eval.__file__.startswith(__import__("os").environ["PYTHONPATH"])
for module in pkgutil.walk_packages(privacy_eval.__path__, "privacy_eval."):
    room = module.name.split(".")[1]  # of wings that require the one that is gone, too
    if room not in ("__main__", *wings.absent()):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            assert error.name in ("torch", "onnx"), error  # which training needs
for name in privacy_eval._PUBLIC:
    try:
        getattr(privacy_eval, name)
    except AttributeError as error:
        assert str(error).endswith(" is not installed") and name not in privacy_eval.__all__, error
verbs = [verb for verb in cli.every_verb() if cli.is_of_files(verb)]
for key in (*verbs, *(f"stage {name}" for name in cli.stage_options())):
    cli.parser(key).format_help()
END
privacy-eval --help >"$work/log" || fail "--help"
privacy-eval --version >"$work/log" || fail "--version"
for wing in $wings; do
    grep -q "^not installed: wing $wing (" "$work/log" || fail "--version does not name $wing"
done
privacy-eval demo-tree "$work/tree" --speakers 3 --utterances 3 --systems 1 2>/dev/null
./recipes/vpc2020/run.sh --tree "$work/tree" --out results >"$work/log" 2>&1 || fail "the demo"
for output in results.csv tables/summary.txt report.html; do
    [ -s "$work/tree/results/$output" ] || fail "the demo has no $output"
done
for wing in $wings; do
    grep -q "not installed: wing $wing" "$work/log" || fail "stage 0 does not say that $wing is missing"
done
if [ "$tests" = true ]; then
    # shellcheck disable=SC2046,SC2086
    python -m pytest -q -n "$(nproc)" -p no:cacheprovider $(printf 'tests/%s ' $rooms) ||
        fail "tests of the core"
fi
printf 'without %s: imports, help, demo%s\n' "$wings" "$([ "$tests" = false ] || printf ', tests')"
