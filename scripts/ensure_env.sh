#!/usr/bin/env bash
# Makes the toolkit's own Python environment, the folder .venv beside setup.cfg, if need be.
#
# Usage: ensure_env.sh [run|test]
#
# run (the default) installs what the toolkit needs to work, test also what its tests need.
# Nothing is done where the environment is there and setup.cfg and pyproject.toml are as they were
# when it was made. The interpreter is python3, or what PRIVACY_EVAL_PYTHON names. pip's output
# goes to .venv-install.log.
set -euo pipefail

script=$(readlink -f -- "${BASH_SOURCE[0]}")
root=$(dirname -- "$(dirname -- "$script")")
venv=$root/.venv
log=$root/.venv-install.log
# What the environment was made from. It is written last and taken away before any change.
stamp=$venv/.privacy_eval_stamp
# Stands in an environment that we are making: without a stamp beside it, it is a broken one.
unfinished=$venv/.privacy_eval_unfinished

say() { printf 'ensure_env.sh: %s\n' "$1" >&2; }

fail() {
    say "$1"
    exit "${2:-1}"
}

case $# in
    0) purpose=run ;;
    1) purpose=$1 ;;
    *) fail "expected one argument, run or test" 2 ;;
esac
case $purpose in
    run | test) ;;
    -h | --help)
        sed -n '2,/^set /s/^# \{0,1\}//p' "$script"
        exit 0
        ;;
    *) fail "unknown argument '$purpose': expected run or test" 2 ;;
esac

# An environment holds absolute paths, so one that was moved along with its folder is of no use.
fingerprint() {
    {
        printf '%s\n' "$root"
        cat -- "$root/setup.cfg" "$root/pyproject.toml"
    } | cksum
}
wanted=$(fingerprint)

works() { [ -x "$venv/bin/python" ] && "$venv/bin/python" -c '' >/dev/null 2>&1; }

# The version and the installation that an interpreter belongs to.
identity() { "$1" -c 'import sys; print(sys.version, sys.base_prefix)' 2>/dev/null; }

# A change of interpreter only counts where one was asked for by name.
right_interpreter() {
    [ -z "${PRIVACY_EVAL_PYTHON-}" ] ||
        [ "$(identity "$PRIVACY_EVAL_PYTHON")" = "$(identity "$venv/bin/python")" ]
}

# The stamp's first line is the purpose; an environment for tests also serves to run.
up_to_date() {
    [ -f "$stamp" ] && [ "$(sed -n 2p -- "$stamp")" = "$wanted" ] || return 1
    case $(sed -n 1p -- "$stamp") in
        test | "$purpose") ;;
        *) return 1 ;;
    esac
    [ -x "$venv/bin/privacy-eval" ] && works && right_interpreter
}

check_interpreter() {
    local version
    python=${PRIVACY_EVAL_PYTHON:-python3}
    if ! command -v -- "$python" >/dev/null; then
        if [ -n "${PRIVACY_EVAL_PYTHON-}" ]; then
            fail "there is no interpreter $python, which PRIVACY_EVAL_PYTHON names"
        fi
        fail "python3 was not found. Python 3.10 or newer is needed; on Debian or Ubuntu:
    apt-get install python3 python3-venv"
    fi
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') ||
        fail "$python does not work: it could not say which version it is"
    if ! [[ $version =~ ^([0-9]+)\.([0-9]+)$ ]]; then
        fail "$python does not seem to be Python: its version reads '$version'"
    fi
    if [ "${BASH_REMATCH[1]}" -lt 3 ] ||
        { [ "${BASH_REMATCH[1]}" -eq 3 ] && [ "${BASH_REMATCH[2]}" -lt 10 ]; }; then
        fail "$python is Python $version, but 3.10 or newer is needed. If there is a newer one,
    name it: PRIVACY_EVAL_PYTHON=python3.11 (or its path)"
    fi
    if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        fail "$python ($version) cannot make environments: its modules venv and ensurepip are
    missing. On Debian or Ubuntu: apt-get install python3-venv"
    fi
    # With an environment switched on, python3 may be the very one that is about to be replaced.
    python=$("$python" -c \
        'import sys; print(getattr(sys, "_base_executable", "") or sys.executable)')
}

make_anew() {
    say "making $venv with $("$python" -V 2>&1) (only once; it can take some minutes)"
    # bin goes first: what a killed removal leaves then cannot pass for a working environment.
    rm -rf -- "${venv:?}/bin" "$venv" && mkdir -- "$venv" && : >"$unfinished" &&
        "$python" -m venv "$venv" >>"$log" 2>&1
}

# Every step says itself what follows from its failure: set -e is off in what an if calls.
install() {
    local target=.
    if [ "$purpose" = test ]; then target='.[test]'; fi
    if [ -f "$unfinished" ] || ! works; then
        make_anew || return 1
    elif [ -f "$stamp" ]; then
        if [ "$(sed -n 3p -- "$stamp")" != "$root" ] || ! right_interpreter; then
            make_anew || return 1
        else
            say "bringing $venv up to date"
            : >"$unfinished" && mv -f -- "$stamp" "$stamp.old" || return 1
        fi
    else
        # Somebody else made it: it is added to, but not ours to throw away.
        if ! right_interpreter; then
            fail "$venv was made by hand, with another Python than $PRIVACY_EVAL_PYTHON: remove it"
        fi
        say "installing into $venv, which is there already"
        "$venv/bin/python" -c 'import pip' >/dev/null 2>&1 ||
            "$venv/bin/python" -m ensurepip >>"$log" 2>&1 || return 1
    fi
    # From inside the folder, so that its own path, whatever is in it, is nothing pip must parse.
    if ! (cd -- "$root" && exec "$venv/bin/python" -m pip install --disable-pip-version-check \
        --no-input --editable "$target") >>"$log" 2>&1 </dev/null; then
        # pip has put back what it had removed (it may just lack a network): try again next time.
        if [ -f "$stamp.old" ]; then mv -f -- "$stamp.old" "$stamp" && rm -f -- "$unfinished"; fi
        return 1
    fi
    printf '%s\n' "$purpose" "$wanted" "$root" >"$stamp.new" &&
        mv -f -- "$stamp.new" "$stamp" && rm -f -- "$unfinished" "$stamp.old"
}

if up_to_date; then exit 0; fi
check_interpreter
[ -w "$root" ] || fail "cannot write to $root, where the environment is to be made"

# Of two at once, the second waits and then finds the work done. The lock sits on the log and ends
# with this process and the pip it started, however they end. Where there is no program flock
# (macOS), Python takes the same lock on the same open file.
exec 9>>"$log"
if command -v flock >/dev/null; then
    flock 9
else
    "$python" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)'
fi
if up_to_date; then exit 0; fi
: >"$log"
if ! install; then
    say "the installation failed. The last lines of $log:"
    tail -n 20 -- "$log" | sed 's/^/    /' >&2
    exit 1
fi
