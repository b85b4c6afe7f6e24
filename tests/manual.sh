#!/bin/sh
# SPDX-License-Identifier: MIT
# Every program has a man page with its options as scripts/manual.sh writes them; the page names
# only options that --help prints, and bash completes them. The page of mgk-rank lists the columns
# of rank files, that of mgk-diversity the measures. Usage: manual.sh TOP BIN PROGRAM...
set -eu
top=$1 bin=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# complete PROGRAM WORD...: prints bash's completions of the last word, one per line; FILES for
# files.
complete() {
    bash -c '. "$0"; compopt() { COMPREPLY+=(FILES); }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mgk "$1"
             printf "%s\n" "${COMPREPLY[@]}"' "$top/scripts/completion.bash" "$@"
}

# same WHAT: compares the options of the help with those in $work/found.
same() {
    LC_ALL=C sort -u "$work/found" > "$work/sorted"
    diff "$work/options" "$work/sorted" > "$work/difference" || {
        echo "$program: --help (<) and $1 (>) differ:"
        grep '^[<>]' "$work/difference"
        status=1
    }
}

# offers WORDS PROGRAM WORD...: bash completes the last word with WORDS, separated by blanks.
offers() {
    expected=$1 program=$2
    shift 2
    found=$(complete "$bin/$program" "$@" | tr '\n' ' ')
    [ "$found" = "$expected " ] || {
        echo "$program $*: bash offers \"$found\", not \"$expected\""
        status=1
    }
}

status=0
cp -R "$top/docs/man" "$work/pages"
sh "$top/scripts/manual.sh" "$bin" "$work/pages"
diff -r "$top/docs/man" "$work/pages" || {
    echo "options of man pages (<) are not those of the programs (>): sh scripts/manual.sh $bin"
    status=1
}
for program in "$@"; do
    if [ "$program" = mgk ]; then # it has no other options
        printf '%s\n' --help --version > "$work/options"
    else
        "$bin/$program" --help all |
            sed -n 's/^  \(-.,\|   \) \(--[a-z0-9-]*\).*/\2/p' | LC_ALL=C sort -u > "$work/options"
    fi
    grep -qx -e --help "$work/options"

    # Without options of other programs, such as in "mgk-info --kinds".
    sed -e 's/\\-/-/g' -e 's/\\fB--/--/g' -e "s/$program --/own --/g" -e 's/mgk-[a-z]* --[a-z-]*//g' \
        "$top/docs/man/$program.1" > "$work/page"
    grep -q "^\.SH EXIT STATUS" "$work/page"
    grep -oE -e '(^|[^a-z-])--[a-z][a-z0-9-]*' "$work/page" | sed 's/.*--/--/' > "$work/found"
    same "the man page"

    complete "$bin/$program" -- > "$work/found"
    same "the completion"
    [ "$program" = mgk ] || offers cuda "$program" --device cu
    [ "$("$bin/$program" --help | wc -l)" -le 24 ] && ! "$bin/$program" -h | grep '.\{81\}' || {
        echo "$program: --help does not fit a screen of 24 lines of 80 characters"
        status=1
    }
    [ "$("$bin/$program" --help | grep -c '^  mgk[- ]')" -ge 2 ] || {
        echo "$program: --help has no example"
        status=1
    }
done
offers "rank report" mgk r
offers "rank" mgk help ra
offers "--spectrum" mgk rank --spe
offers "FILES" mgk rank x
offers "attention" mgk plot at
offers "cuda" mgk dump x --device cu
offers "smgk smlk" mgk-train --attention sm
offers "smgk smlk" mgk-train --attention = sm
offers "linear mlk none" mgk-info --attention ""
offers "attention" mgk-dump --save at
offers "keys,scores" mgk-dump --save keys,s
offers "single" mgk-dump --precision s
offers "FILES" mgk-dump --text x
offers "FILES" mgk-rank -o ""
offers "FILES" mgk-rank x
offers "" mgk-rank --matrices 1
offers "entropy" mgk-diversity --measures en
offers "js,rollout_rank js,rollout_entropy" mgk-diversity --measures js,rollout_
offers "weights" mgk-plot w
offers "FILES" mgk-plot weights w
offers "curves cost compare" mgk-plot c
offers "FILES" mgk-report x
offers "FILES" mgk-report x -o ""

# The man page of mgk-rank lists the columns of rank files as mgk-info does.
echo sample,layer,head,n,rank,undecided,sigma_max,sigma_min,effective_rank,stable_rank > "$work/r.csv"
echo 0,0,0,1,1,0,1,1,1,1 >> "$work/r.csv"
"$bin/mgk-info" "$work/r.csv" |
    awk '/^columns/ { inside = 1; next } /^[^ ]/ { inside = 0 } inside { $1 = $1; print }' > "$work/columns"
sed 's/\\-/-/g' "$top/docs/man/mgk-rank.1" |
    awk '/^\.TP/ { getline name; getline text; sub(/^\.I /, "", name); print name, text }' > "$work/listed"
grep -q '^rank #{i: ' "$work/columns"
while read -r line; do
    grep -qxF -e "$line" "$work/listed" || {
        echo "mgk-rank: the man page does not have the column: $line"
        status=1
    }
done < "$work/columns"

# The man page of mgk-diversity lists the measures as mgk-info does: name, level, formula, remarks.
"$bin/mgk-info" --measures | awk '{ $1 = $1; print }' > "$work/measures"
sed 's/\\-/-/g' "$top/docs/man/mgk-diversity.1" | awk '
    /^\.S[HS] / { level = /^\.SS Measures of a / ? $NF : "" }
    level && /^\.TP/ { getline name; getline text; sub(/^\.I /, "", name); print name, level, text }
' > "$work/listed"
grep -q '^js pair mean_i ' "$work/measures"
diff "$work/measures" "$work/listed" || {
    echo "mgk-diversity: measures of mgk-info (<) and of the man page (>) differ"
    status=1
}
exit $status
