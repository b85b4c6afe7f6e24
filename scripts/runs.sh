# SPDX-License-Identifier: MIT
# Sourced by scripts that train and evaluate many models, in the folder of their outputs: $programs is the folder of the
# built programs. What is read back at once is in run$$.*, so that two scripts can share a folder.

# total JSON SECTION: the number "total" of a section of mgk-info --json.
total() {
    awk -v section="\"$2\":" '$1 == section { inside = 1 }
        inside && $1 == "\"total\":" { sub(/,$/, "", $2); print $2; exit }' "$1"
}

# cell CSV COLUMN: of the only row that mgk-eval prints.
cell() {
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i }
        NR == 2 { print $column }' "$1"
}

# quietly PROGRAM OPTION...: what it says is shown if it fails.
quietly() {
    program=$1
    shift
    "$programs/$program" "$@" --quiet 2> run$$.said || {
        cat run$$.said >&2
        return 1
    }
}

# evaluate MODEL COLUMN OPTION...
evaluate() {
    model=$1 column=$2
    shift 2
    quietly mgk-eval "$model" "$@" --csv > run$$.eval
    cell run$$.eval "$column"
}

# trains NAME OPTION...: continues what was interrupted.
trains() {
    name=$1
    shift
    state=$name.safetensors.checkpoint
    [ ! -e "$state" ] || set -- "$@" --resume "$state"
    quietly mgk-train "$@" -o "$name.safetensors" --log "$name.csv" --force
}

# gather FOLDER OUT: its texts in one file, each under a title, which ends the text before.
gather() {
    [ ! -e "$2" ] || return 0
    [ -d "$1" ] || wrong_usage "$1: no such folder"
    find "$1" -name '*.txt' | LC_ALL=C sort | while IFS= read -r file; do
        printf '\n = %s = \n\n' "$(basename "$file" .txt)"
        cat "$file"
    done > "$2.part$$"
    mv "$2.part$$" "$2"
}
