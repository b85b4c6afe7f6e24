#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the gallery of attention kinds: a picture of each kind's matrix, and its ranks.
set -eu

usage() {
    cat << 'END'
Usage: sh scripts/gallery.sh PROGRAMS [DOCS]
Trains a small model of every kind that PROGRAMS/mgk-info lists, all with one seed on the same lists,
and exports the attention of each to one list; kinds for language models alone have a text. Draws
DOCS/kinds.png, and writes the table of ranks between the marks in DOCS/attention-kinds.md. PROGRAMS
is a folder such as build/cpu/bin; DOCS is docs if not given. Models that are in out/gallery are not
trained again. Takes a few minutes.
END
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

# A text of a kind's line.
field() {
    sed -n '/{"name": "'"$1"'",/s/.*"'"$2"'": "\([^"]*\)".*/\1/p' "$work/kinds.json"
}

# The kind's settings, for lists of 25 tokens (up to 64 with parentheses, which models do not read):
# with the defaults, patterns would cover all of them, and factors would have full rank.
settings() {
    sed -n 's/.*{"name": "'"$1"'",.*"parameters": {\([^}]*\)}.*/\1/p' "$work/kinds.json" | tr ',' '\n' |
        sed -n '
            s/.*"window": .*/--window 3/p
            s/.*"block": .*/--block 4/p
            s/.*"global": .*/--global 2/p
            s/.*"random": .*/--random 2/p
            s/.*"features": 256$/--features 8/p
            s/.*"landmarks": .*/--landmarks 6/p
            s/.*"projection": .*/--projection 6/p
            s/.*"clusters": .*/--clusters 6/p
            s/.*"kernel": .*/--kernel 3/p'
}

# Trains a kind on lists, or on text if it is for language models alone; a model that exists stays.
train() {
    model=$work/$1.safetensors
    shape="$(settings "$1") --length 64 --layers 2 --heads 2 --dim 32 --head-dim 16"
    steps="--steps 250 --batch 16 --lr 3e-3 --seed 1"
    [ -e "$model" ] || "$programs/mgk-train" --quiet --task listops --listops-above 50 --listops-below 64 \
        --listops-samples 4000 --eval-samples 100 --attention "$1" $shape $steps -o "$model" \
        2> "$work/$1.log" && return
    grep -q 'only a causal form' "$work/$1.log" || {
        cat "$work/$1.log" >&2
        exit 1
    }
    "$programs/mgk-train" --quiet --task lm --data "$text" --attention "$1" $shape $steps -o "$model"
    touch "$work/$1.causal"
}

# Exports the attention to a list, or to text, in double precision so that rounding adds no rank.
export_matrix() {
    input="--task listops"
    [ ! -e "$work/$1.causal" ] || input="--text $text --length 25"
    "$programs/mgk-dump" "$work/$1.safetensors" --quiet $input --samples 1 --seed 1 --precision double \
        --layers 1 --heads 0 --force -o "$work/$1.h5"
    "$programs/mgk-rank" "$work/$1.h5" --quiet --no-warnings --allow-zero-rows --force -o "$work/$1.csv"
}

# The rank and the effective rank of the matrix that is drawn.
ranks() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
             NR > 1 { printf "%d | %.1f", $column["rank"], $column["effective_rank"] }' "$work/$1.csv"
}

names= stores=
: > "$work/table.md"
for kind in $(sed -n 's/.*{"name": "\([^"]*\)".*/\1/p' "$work/kinds.json"); do
    echo "$kind" >&2
    if grep -q '{"name": "'"$kind"'",.*"matrix": true' "$work/kinds.json"; then
        train "$kind"
        export_matrix "$kind"
        names="$names $kind" stores="$stores $work/$kind.h5"
        cells=$(ranks "$kind")
    else
        cells="no matrix: $(field "$kind" reason) | "
    fi
    printf '| `%s` | %s | %s | %s |\n' "$kind" "$(field "$kind" formula | sed 's/|/\\|/g')" \
        "$(field "$kind" rank_bound)" "$cells" >> "$work/table.md"
done
"$programs/mgk-plot" attention $stores --name $names --sample 0 --columns 8 --panel 128 \
    --title "Attention matrices of all kinds" --force -o "$docs/kinds.png"
awk -v table="$work/table.md" '
    /^<!-- end of the gallery/ { inside = 0; ends++ }
    !inside
    /^<!-- gallery/ {
        print "\n| kind | entries before normalisation | largest rank | rank | effective rank |\n|---|---|---|---|---|"
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
