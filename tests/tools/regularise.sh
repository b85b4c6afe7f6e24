#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-train --regularise: the table of mgk-diversity moves as each term says, the log has its column, and what is
# no term is refused. Usage: regularise.sh PROGRAMS FOLDER
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

# header FILE: names of the columns after the usual ones.
header() {
    head -n 1 "$1" | sed 's/.*,perplexity//'
}

trains none --attention softmax
trains position --attention softmax --regularise position
trains vectors --attention softmax --regularise subspace=0.5,output
trains pattern --attention softmax --regularise pattern=20
trains performer --attention performer --features 16 --regularise position=2
rises js 0.3 none position
rises effective_heads 1 none position
rises cosine 0.2 position none
rises value_cosine 0.1 vectors none
rises output_cosine 0.1 vectors none
rises previous 0.2 none pattern 0
rises next 0.2 none pattern 1
[ "$(header none.csv)" = "" ] || complain "a run without terms has columns: $(header none.csv)"
[ "$(header vectors.csv)" = ",subspace,output" ] || complain "columns: $(header vectors.csv)"
[ "$(header performer.csv)" = ",position" ] || complain "columns: $(header performer.csv)"
first=$(sed -n 2p position.csv | cut -d, -f10)
last=$(tail -n 1 position.csv | cut -d, -f10)
awk -v a="$first" -v b="$last" 'BEGIN { exit !(b > 0 && b < a / 2) }' || complain "position: $first, then $last"
"$programs/mgk-info" position.csv >stdout 2>stderr || complain "mgk-info of a log: $(cat stderr)"
"$programs/mgk-plot" curves position.csv none.csv -o curves.svg --force --quiet 2>stderr || complain "curves: $(cat stderr)"

# refuses TEXT OPTIONS...: wrong usage or not possible, with one line that contains TEXT.
refuses() {
    text=$1
    shift
    "$programs/mgk-train" $few "$@" -o refused.safetensors >stdout 2>stderr && complain "$*: not refused"
    [ "$(wc -l <stderr)" -eq 1 ] || complain "$*: not one line: $(cat stderr)"
    grep -qF -- "$text" stderr || complain "$*: no '$text' in: $(cat stderr)"
    [ ! -e refused.safetensors ] || complain "$*: writes a model"
}

refuses '--regularise "positon": expected one of subspace, position, output, pattern; similar: position' --regularise positon
refuses '--regularise "": expected one of subspace, position, output, pattern' --regularise position,
refuses 'the factor of "position" is "-1", expected a positive number to 3e38' --regularise position=-1
refuses 'the factor of "position" is "1e300", expected a positive number to 3e38' --regularise position=1e300
refuses 'the factor of "output" is "2x"' --regularise output=2x
refuses 'the factor of "output" is ""' --regularise output=
refuses '"output" is given twice' --regularise output,position,output=2
refuses 'attention "multi-query" has other values than those of its heads' --attention multi-query --regularise subspace
refuses '--regularise: attention "luna" has no N x N matrix, which position and pattern need' --attention softmax,luna --regularise position
refuses 'clipping: -1, expected 0 or more' --attention softmax --clip -1
refuses 'weight decay: -1, expected 0 or more' --attention softmax --weight-decay -1
refuses 'expected output alone' --attention softmax,multi-query --regularise pattern

exit $((failures > 0))
