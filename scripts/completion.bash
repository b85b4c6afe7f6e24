# bash completion for the mgk programs. Options and their choices are read from the --help of the
# program itself, so there is nothing here to keep in step with it.

# _mgk_operand HELP OPTION: what follows an option, "FILE..." or "a|b|c"; nothing for a flag.
_mgk_operand() {
    local option=$2
    case $option in
    --*) sed -n "s/^  \(-.,\|   \) $option \([^ ]\+\).*/\2/p" <<< "$1" ;;
    -?) sed -n "s/^  $option, --[a-z0-9-]* \([^ ]\+\).*/\1/p" <<< "$1" ;;
    esac
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

# _mgk_value OPTION OPERAND: offers values.
_mgk_value() {
    local words
    case $1 in
    --attention) _mgk_words softmax mgk smgk linear mlk smlk; return ;;
    --save) _mgk_list attention scores queries keys values weights; return ;;
    esac
    case $2 in
    [a-z]*\|*)
        IFS='|' read -ra words <<< "${2//\[*\]/}"
        _mgk_words "${words[@]}"
        ;;
    *FILE* | *PATH* | *MODEL* | *OUT* | *IN* | *CSV* | *STATE*) compopt -o default ;;
    esac
}

_mgk() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local help operand usage
    COMPREPLY=()
    # "--option=value" arrives as three words.
    if [[ $current == = ]]; then
        current=""
    elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    help=$("$1" --help 2> /dev/null) || return
    operand=$(_mgk_operand "$help" "$previous")
    if [[ -n $operand ]]; then
        _mgk_value "$previous" "$operand"
    elif [[ $current == -* ]]; then
        _mgk_words $(sed -n 's/^  \(-.,\|   \) \(--[a-z0-9-]*\).*/\2/p' <<< "$help")
    else
        # Where lines of the usage begin with words in small letters, the first word is one of them.
        usage=$(sed -n '/^$/q; s/^\(Usage:\|      \) mgk-[a-z]* \([a-z|]\+\) .*/\2/p' <<< "$help")
        if ((COMP_CWORD == 1)) && [[ -n $usage ]]; then
            _mgk_words ${usage//\|/ }
        else
            compopt -o default
        fi
    fi
}

complete -F _mgk mgk-train mgk-dump mgk-rank mgk-plot mgk-info mgk-convert
