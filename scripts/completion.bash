# SPDX-License-Identifier: MIT
# bash completion for mgk and the programs that are its commands. Each program lists its options and their values itself
# (--options=completion), so there is nothing here to keep in step with it.

# _mgk_row OPTION: what follows the option, by $options: flag, value, file, word or words, and the words.
_mgk_row() {
    local name letter row
    while read -r name letter row; do
        if [[ $1 == "$name" || $1 == "$letter" ]]; then
            echo "$row"
            return
        fi
    done <<< "$options"
}

# _mgk_words WORD...: offers those that continue the current word.
_mgk_words() {
    local word
    for word; do
        [[ $word != "$current"* ]] || COMPREPLY+=("$word")
    done
}

# _mgk_list WORD...: the same for the last part of a list with commas.
_mgk_list() {
    local before=""
    [[ $current != *,* ]] || before=${current%,*},
    _mgk_words "${@/#/$before}"
}

# _mgk_value KIND [WORD...]: offers values.
_mgk_value() {
    local kind=$1
    shift
    case $kind in
    word) _mgk_words "$@" ;;
    words) _mgk_list "$@" ;;
    file) compopt -o default ;;
    esac
}

_mgk() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local options row=flag command=("$1")
    COMPREPLY=()
    # "--option=value" arrives as three words.
    if [[ $current == = ]]; then
        current=""
    elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    # "mgk rank" has the options of mgk-rank, one word later; "mgk help" has the commands again.
    if [[ ${1##*/} == mgk ]] && ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} != help ]]; then
        command=("$1" "${COMP_WORDS[1]}")
    fi
    options=$("${command[@]}" --options=completion 2> /dev/null) || return
    [[ $previous != -* ]] || row=$(_mgk_row "$previous")
    if [[ ${row:-flag} != flag ]]; then
        _mgk_value $row
    elif [[ $current == -* ]]; then
        _mgk_words $(cut -d ' ' -f 1 <<< "$options" | grep '^-')
    else
        # Any word is a file, but for the first one of some programs.
        row=$(_mgk_row operand)
        ((COMP_CWORD == ${#command[@]})) || [[ ${COMP_WORDS[1]} == help ]] || row=""
        _mgk_value ${row:-file}
    fi
}

complete -F _mgk mgk mgk-train mgk-eval mgk-dump mgk-rank mgk-diversity mgk-plot mgk-report mgk-info mgk-convert
