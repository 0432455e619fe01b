#!/usr/bin/env bash
# Set the option variables of the script that sources this file from its command line.
#
#     # --- options
#     stage=0         # first stage to run
#     keep_log=false  # keep the log (true or false)
#     # --- end of options
#     . "$root/scripts/parse_options.sh"
#
# --stage 3 or --stage=3 sets stage, --keep-log or --keep-log true sets keep_log. Only names declared
# between the two markers can be set, so PATH, IFS and the like are safe. A variable whose default is
# true or false accepts only these two words, or no value for true. An option may be given once.
# Parsing stops at -- or at the first word that is not an option; the rest stays in "$@". --help
# prints the script's leading comment, $help_more if set, and the options; wrong usage exits with
# code 2. The array option_names holds the names of all options. Source this file before changing the
# folder, as it reads the script's own text.

_po_script=${BASH_SOURCE[1]:-$0}

_po_fail() {
    printf '%s: %s (--help lists the options)\n' "${_po_script##*/}" "$1" >&2
    exit 2
}

_po_names=()
_po_defaults=()
_po_comments=()
_po_booleans=" "
_po_given=" "
_po_header=""
_po_at=header
while IFS= read -r _po_line || [ -n "$_po_line" ]; do
    case $_po_at:$_po_line in
        header:'#!'* | header:'# shellcheck '*) ;;
        header:'# --- options'*) _po_at=options ;;
        header:'# '*) _po_header+="${_po_line#'# '}"$'\n' ;;
        header:'#'*) _po_header+="${_po_line#'#'}"$'\n' ;;
        header:*) _po_at=code ;;
        code:'# --- options'*) _po_at=options ;;
        options:'# --- end of options'*) break ;;
        options:*)
            if [[ $_po_line =~ ^([A-Za-z_][A-Za-z0-9_]*)=(.*)$ ]]; then
                _po_name=${BASH_REMATCH[1]}
                _po_rest=${BASH_REMATCH[2]}
                _po_value=${_po_rest%%[[:space:]]#*}
                _po_comment=${_po_rest#"$_po_value"}
                _po_comment=${_po_comment#*#}
                _po_comment=${_po_comment#"${_po_comment%%[![:space:]]*}"}
                _po_value=${_po_value%"${_po_value##*[![:space:]]}"}
                case $_po_value in
                    \"*\" | \'*\') _po_value=${_po_value:1:${#_po_value}-2} ;;
                esac
                _po_names+=("$_po_name")
                _po_defaults+=("${_po_value:-\"\"}")
                _po_comments+=("$_po_comment")
                # Decided here, once: a text option with the value "true" stays a text option.
                case ${!_po_name-} in
                    true | false) _po_booleans+="$_po_name " ;;
                esac
            fi
            ;;
    esac
done <"$_po_script"

_po_help() {
    local i width=0 option
    printf '%s\n%sOptions and their defaults:\n' "$_po_header" "${help_more:+$help_more$'\n\n'}"
    for ((i = 0; i < ${#_po_names[@]}; i++)); do
        option="--${_po_names[i]//_/-} ${_po_defaults[i]}"
        if [ ${#option} -gt "$width" ]; then width=${#option}; fi
    done
    for ((i = 0; i < ${#_po_names[@]}; i++)); do
        option="--${_po_names[i]//_/-} ${_po_defaults[i]}"
        printf "  %-${width}s   %s\n" "$option" "${_po_comments[i]}"
    done
}

# Set _po_name to the variable's name; exit if there is no such option.
_po_find() {
    local wanted=${1#--} i
    wanted=${wanted//-/_}
    for ((i = 0; i < ${#_po_names[@]}; i++)); do
        if [ "${_po_names[i]}" = "$wanted" ]; then
            _po_name=$wanted
            return 0
        fi
    done
    case " ${_po_names[*]} " in
        *" set "*) _po_fail "unknown option $1; options of wings: --set NAME=VALUE" ;;
        *) _po_fail "unknown option $1" ;;
    esac
}

while [ $# -gt 0 ]; do
    case $1 in
        --help | -h)
            _po_help
            exit 0
            ;;
        --)
            shift
            break
            ;;
        --*=*)
            _po_find "${1%%=*}"
            _po_value=${1#*=}
            ;;
        --*)
            _po_find "$1"
            # A switch needs no value. For other options, a following option means that the value
            # is missing; a value that begins with -- is given as --name=--text.
            case $_po_booleans:${2---} in
                *" $_po_name "*:--*) _po_value=true ;;
                *:--*) _po_fail "option $1 needs a value" ;;
                *)
                    _po_value=$2
                    shift
                    ;;
            esac
            ;;
        -[A-Za-z]*) _po_fail "unknown option $1" ;;
        *) break ;;
    esac
    case $_po_given in
        *" $_po_name "*) _po_fail "option --${_po_name//_/-} is given twice" ;;
    esac
    _po_given+="$_po_name "
    case $_po_booleans:$_po_value in
        *" $_po_name "*:true | *" $_po_name "*:false) ;;
        *" $_po_name "*:*)
            _po_fail "option --${_po_name//_/-} takes true or false, not '$_po_value'"
            ;;
    esac
    printf -v "$_po_name" '%s' "$_po_value"
    shift
done

# shellcheck disable=SC2034
option_names=("${_po_names[@]}")
unset -f _po_fail _po_help _po_find
unset -v "${!_po_@}"
