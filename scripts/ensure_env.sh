#!/usr/bin/env bash
# Create or update the toolkit's Python environment, .venv beside setup.cfg, if needed.
#
# Usage: ensure_env.sh [run|models|test]
#
# run (the default) installs the run-time dependencies, models also the libraries of pretrained
# models, test also those of the tests. Nothing is done
# if the environment exists and setup.cfg and pyproject.toml have not changed since it was created.
# The interpreter is python3 or $PRIVACY_EVAL_PYTHON. pip's output goes to .venv-install.log.
set -euo pipefail

script=$(readlink -f -- "${BASH_SOURCE[0]}")
root=$(dirname -- "$(dirname -- "$script")")
venv=$root/.venv
log=$root/.venv-install.log
# Fingerprint of a complete environment: written last, removed before any change.
stamp=$venv/.privacy_eval_stamp
# Marks an environment that is being created; without a stamp beside it, the environment is broken.
unfinished=$venv/.privacy_eval_unfinished

say() { printf 'ensure_env.sh: %s\n' "$1" >&2; }

fail() {
    say "$1"
    exit "${2:-1}"
}

case $# in
    0) purpose=run ;;
    1) purpose=$1 ;;
    *) fail "expected one argument, run, models or test" 2 ;;
esac
case $purpose in
    run | models | test) ;;
    -h | --help)
        sed -n '2,/^set /s/^# \{0,1\}//p' "$script"
        exit 0
        ;;
    *) fail "unknown argument '$purpose': expected run, models or test" 2 ;;
esac

# The fingerprint includes the folder: environments contain absolute paths and cannot be moved.
fingerprint() {
    {
        printf '%s\n' "$root"
        cat -- "$root/setup.cfg" "$root/pyproject.toml"
    } | cksum
}
wanted=$(fingerprint)

works() { [ -x "$venv/bin/python" ] && "$venv/bin/python" -c '' >/dev/null 2>&1; }

# Version and installation of an interpreter.
identity() { "$1" -c 'import sys; print(sys.version, sys.base_prefix)' 2>/dev/null; }

# Check the interpreter only if one was chosen with PRIVACY_EVAL_PYTHON.
right_interpreter() {
    [ -z "${PRIVACY_EVAL_PYTHON-}" ] ||
        [ "$(identity "$PRIVACY_EVAL_PYTHON")" = "$(identity "$venv/bin/python")" ]
}

# The stamp's first line is the purpose; a test environment serves all, one of models also `run`.
up_to_date() {
    [ -f "$stamp" ] && [ "$(sed -n 2p -- "$stamp")" = "$wanted" ] || return 1
    case $purpose:$(sed -n 1p -- "$stamp") in
        *:test | run:models | "$purpose:$purpose") ;;
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
    # In an activated environment, python3 may be the interpreter that is about to be replaced.
    python=$("$python" -c \
        'import sys; print(getattr(sys, "_base_executable", "") or sys.executable)')
}

create_env() {
    say "making $venv with $("$python" -V 2>&1) (only once; it can take some minutes)"
    # Remove bin first, so that an interrupted removal does not look like a working environment.
    rm -rf -- "${venv:?}/bin" "$venv" && mkdir -- "$venv" && : >"$unfinished" &&
        "$python" -m venv "$venv" >>"$log" 2>&1
}

# Every step handles its own failure: set -e is off in a function called by `if`.
install() {
    local target='.[speech,wer]'
    case $purpose in
        models) target='.[speech,wer,ge2e,onnx,phones]' ;;
        test) target='.[test]' ;;
    esac
    if [ -f "$unfinished" ] || ! works; then
        create_env || return 1
    elif [ -f "$stamp" ]; then
        if [ "$(sed -n 3p -- "$stamp")" != "$root" ] || ! right_interpreter; then
            create_env || return 1
        else
            say "bringing $venv up to date"
            : >"$unfinished" && mv -f -- "$stamp" "$stamp.old" || return 1
        fi
    else
        # Created by the user: install into it, but never remove it.
        if ! right_interpreter; then
            fail "$venv was made by hand, with another Python than $PRIVACY_EVAL_PYTHON: remove it"
        fi
        say "installing into $venv, which is there already"
        "$venv/bin/python" -c 'import pip' >/dev/null 2>&1 ||
            "$venv/bin/python" -m ensurepip >>"$log" 2>&1 || return 1
    fi
    # Run in the folder, so that pip need not parse its path.
    if ! (cd -- "$root" && exec "$venv/bin/python" -m pip install --disable-pip-version-check \
        --no-input --editable "$target") >>"$log" 2>&1 </dev/null; then
        # pip has restored what it removed (there may be no network): try again next time.
        if [ -f "$stamp.old" ]; then mv -f -- "$stamp.old" "$stamp" && rm -f -- "$unfinished"; fi
        return 1
    fi
    # Compile the modules, as an installation elsewhere would: commands then start faster.
    (cd -- "$root" && "$venv/bin/python" -m compileall -q privacy_eval) >>"$log" 2>&1 || true
    printf '%s\n' "$purpose" "$wanted" "$root" >"$stamp.new" &&
        mv -f -- "$stamp.new" "$stamp" && rm -f -- "$unfinished" "$stamp.old"
}

if up_to_date; then exit 0; fi
check_interpreter
[ -w "$root" ] || fail "cannot write to $root, where the environment is to be made"

# Of two concurrent runs, the second waits and then has nothing to do. The lock is held on the log
# until this process and its pip have ended, however they end. Without the program flock (macOS),
# Python takes the same lock on the same open file.
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
