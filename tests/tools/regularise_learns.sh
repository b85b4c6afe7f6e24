#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-train --regularise: the table of mgk-diversity moves as each term says, and the term falls. Usage:
# regularise_learns.sh PROGRAMS FOLDER
set -u
. "$(dirname "$0")/begin.sh"

lists="--task listops --length 30"
few="$lists --listops-above 10 --listops-below 30 --steps 100 --batch 8 --eval-samples 8 --layers 2 --heads 4 --dim 16 --head-dim 4 --hidden 16 \
    --listops-samples 400 --lr 0.01 --quiet --force"

# trains NAME OPTIONS...: writes NAME.safetensors, NAME.csv and the measures NAME-d.csv.
trains() {
    name=$1
    shift
    "$programs/mgk-train" $few "$@" --log "$name.csv" -o "$name.safetensors" 2>stderr || complain "$*: $(cat stderr)"
    "$programs/mgk-diversity" --model "$name.safetensors" $lists --samples 8 --quiet --force -o "$name-d.csv" \
        >stdout 2>stderr || complain "mgk-diversity of $name: $(cat stderr)"
}

# mean NAME MEASURE [HEAD]: the mean of a measure over layers, and heads or pairs.
mean() {
    awk -F, -v m="$2" -v h="${3:-}" '$3 == m && (h == "" || $6 == h) { s += $10; n++ } END { print s / n }' "$1-d.csv"
}

# rises MEASURE BY FROM TO [HEAD]: the measure of TO is above that of FROM by more than BY.
rises() {
    from=$(mean "$3" "$1" "${5:-}")
    to=$(mean "$4" "$1" "${5:-}")
    awk -v a="$from" -v b="$to" -v by="$2" 'BEGIN { exit !(b > a + by) }' || complain "$1: $3 has $from, $4 has $to"
}

trains none --attention softmax
trains position --attention softmax --regularise position
trains vectors --attention softmax --regularise subspace=0.5,output
trains pattern --attention softmax --regularise pattern=20
rises js 0.3 none position
rises effective_heads 1 none position
rises cosine 0.2 position none
rises value_cosine 0.1 vectors none
rises output_cosine 0.1 vectors none
rises previous 0.2 none pattern 0
rises next 0.2 none pattern 1
first=$(sed -n 2p position.csv | cut -d, -f10)
last=$(tail -n 1 position.csv | cut -d, -f10)
awk -v a="$first" -v b="$last" 'BEGIN { exit !(b > 0 && b < a / 2) }' || complain "position: $first, then $last"

exit $((failures > 0))
