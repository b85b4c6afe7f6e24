#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the gallery of attention kinds: a picture of each kind's matrix, and its ranks.
set -eu

usage() {
    cat << 'END'
Usage: sh scripts/gallery.sh [--steps N] PROGRAMS [DOCS]
Trains a small model of every kind that PROGRAMS/mgk-info lists, all with one seed on the same lists,
for N steps, 300 if not given; kinds for language models alone learn a text. Exports the attention of
each to one list, or text. Draws DOCS/kinds.png, and writes the table of ranks and of what was learned
between the marks in DOCS/attention-kinds.md. PROGRAMS is a folder such as build/cpu/bin; DOCS is docs
if not given. Models that are in out/gallery are not trained again. Takes some minutes on two cores.
END
}

steps=300
[ "${1:-}" != --steps ] || {
    steps=$2
    shift 2
}
case ${1:---help} in
-*)
    usage
    exit 0
    ;;
esac
programs=$1 docs=${2:-$(dirname "$0")/../docs} work=out/gallery
text=$(dirname "$0")/../models/sample.txt
page=$docs/attention-kinds.md
mkdir -p "$work"
"$programs/mgk-info" --kinds --json > "$work/kinds.json"
head -c 80000 "$text" > "$work/train.txt"
tail -c +80001 "$text" > "$work/held-out.txt"
export OMP_WAIT_POLICY=passive

# A text of a kind's line.
field() {
    sed -n '/{"name": "'"$1"'",/s/.*"'"$2"'": "\([^"]*\)".*/\1/p' "$work/kinds.json"
}

has_matrix() {
    grep -q '{"name": "'"$1"'",.*"matrix": true' "$work/kinds.json"
}

# The kind's settings, for lists of fewer than 64 tokens: with the defaults, patterns would cover all
# of them, and factors would have full rank. The page tells these.
settings() {
    sed -n 's/.*{"name": "'"$1"'",.*"parameters": {\([^}]*\)}.*/\1/p' "$work/kinds.json" | tr ',' '\n' |
        sed -n '
            s/.*"window": .*/--window 4/p
            s/.*"block": .*/--block 8/p
            s/.*"global": .*/--global 2/p
            s/.*"random": 3$/--random 1/p
            s/.*"random": [0-9]*[0-9][0-9]$/--random 16/p
            s/.*"features": 256$/--features 16/p
            s/.*"features": 3$/--features 1/p
            s/.*"landmarks": .*/--landmarks 8/p
            s/.*"projection": .*/--projection 8/p
            s/.*"clusters": .*/--clusters 4/p
            s/.*"kernel": .*/--kernel 3/p'
}

# Linformers learn a map of positions before they learn what depends on it.
steps_of() {
    case $1 in
    linformer*) echo $((3 * steps)) ;;
    *) echo "$steps" ;;
    esac
}

# Trains a kind on lists, or on text if it is for language models alone; a model that exists stays.
train() {
    model=$work/$1.safetensors
    [ ! -e "$model" ] || return 0
    case $(field "$1" causal) in
    only) data="--task lm --data $work/train.txt --held-out $work/held-out.txt" ;;
    *) data="--task listops --listops-above 5 --listops-below 64 --listops-samples 30000 --eval-samples 1000" ;;
    esac
    "$programs/mgk-train" --quiet --threads 1 $data --attention "$1" $(settings "$1") --length 64 --layers 2 \
        --heads 4 --dim 64 --head-dim 16 --steps "$(steps_of "$1")" --batch 32 --lr 3e-3 --eval-every 0 --seed 1 \
        --force --log "$work/$1.log.csv" -o "$model"
}

# Exports the attention to a list, or to text, in double precision so that rounding adds no rank.
export_matrix() {
    input="--task listops"
    [ "$(field "$1" causal)" != only ] || input="--text $work/held-out.txt --length 54"
    "$programs/mgk-dump" "$work/$1.safetensors" --quiet $input --samples 1 --seed 4 --precision double \
        --layers 1 --heads 0 --force -o "$work/$1.h5"
    "$programs/mgk-rank" "$work/$1.h5" --quiet --no-warnings --allow-zero-rows --force -o "$work/$1.csv" \
        > "$work/$1.txt"
}

# The rank and the effective rank of the matrix that is drawn.
ranks() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
             NR > 1 { printf "%d | %.1f", $column["rank"], $column["effective_rank"] }' "$work/$1.csv"
}

# What the model knows of lists or texts that it has not seen.
learned() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
             END {
                 if ($column["bits_per_byte"])
                     printf "%.2f bits", $column["bits_per_byte"]
                 else
                     printf "%.0f %%", 100 * $column["eval_accuracy"]
             }' "$work/$1.log.csv"
}

kinds=$(sed -n 's/.*{"name": "\([^"]*\)".*/\1/p' "$work/kinds.json")

# Two kinds at a time: models are too small for more threads than one.
before=
for kind in $kinds; do
    echo "$kind" >&2
    train "$kind" &
    [ -z "$before" ] || wait "$before"
    before=$!
done
wait "$before"

names= stores=
: > "$work/table.md"
for kind in $kinds; do
    if has_matrix "$kind"; then
        export_matrix "$kind"
        names="$names $kind" stores="$stores $work/$kind.h5"
        cells=$(ranks "$kind")
    else
        cells="no matrix: $(field "$kind" reason) | "
    fi
    printf '| `%s` | %s | %s | %s | %s |\n' "$kind" "$(field "$kind" formula | sed 's/|/\\|/g')" \
        "$(field "$kind" rank_bound)" "$cells" "$(learned "$kind")" >> "$work/table.md"
done
"$programs/mgk-plot" attention $stores --name $names --sample 0 --columns 8 --panel 162 \
    --title "Attention matrices of all kinds" --force -o "$docs/kinds.png"
awk -v table="$work/table.md" '
    /^<!-- end of the gallery/ { inside = 0; ends++ }
    !inside
    /^<!-- gallery/ {
        print "\n| kind | entries before normalisation | largest rank | rank | effective rank | learned |\n|---|---|---|---|---|---|"
        while ((getline line < table) > 0)
            print line
        print ""
        inside = 1
    }
    END { exit ends != 1 }
' "$page" > "$work/page.md" || {
    echo "gallery.sh: $page: the marks of the gallery are missing" >&2
    exit 1
}
cat "$work/page.md" > "$page"
