#!/usr/bin/env bash
# To be sourced: put the installed privacy_eval on the PATH.
PATH=BIN:$PATH
# shellcheck source=recipes/vpc2020/path.sh
. ROOT/recipes/vpc2020/path.sh
