#!/usr/bin/env bash
# shellcheck disable=SC1091,SC2154 # path.sh and cmd.sh are written by privacy-eval init
# Evaluate anonymization systems by protocol.yaml, with the recipe that privacy_eval installed.
# Options: run.sh --help
set -euo pipefail

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
. "$here/path.sh"
. "$here/cmd.sh"
set -- --conf "$here/protocol.yaml" --cmd "$cmd" "$@"

# --- demo: two simulated systems; without this block, name your own tree by --tree DIR
if [[ " $* " != *" --help "* ]]; then
    privacy-eval demo-tree "$here/tree" --conf "$here/protocol.yaml"
fi
set -- --tree "$here/tree" --out "$here/results" --bootstrap 500 "$@"
# --- end of demo

exec "$PRIVACY_EVAL_ROOT/recipes/vpc2020/run.sh" "$@"
