#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-train --regularise: the log has a column of each term, and what is no term is refused. Usage:
# regularise.sh PROGRAMS FOLDER
set -u
. "$(dirname "$0")/begin.sh"

few="--task listops --length 30 --listops-above 10 --listops-below 30 --steps 2 --batch 2 --eval-samples 8 --layers 2 --heads 4 --dim 16 --head-dim 4 --hidden 16 \
    --listops-samples 40 --lr 0.01 --quiet --force"

# trains NAME OPTIONS...: writes NAME.safetensors and NAME.csv.
trains() {
    name=$1
    shift
    "$programs/mgk-train" $few "$@" --log "$name.csv" -o "$name.safetensors" 2>stderr || complain "$*: $(cat stderr)"
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
[ "$(header none.csv)" = "" ] || complain "a run without terms has columns: $(header none.csv)"
[ "$(header vectors.csv)" = ",subspace,output" ] || complain "columns: $(header vectors.csv)"
[ "$(header performer.csv)" = ",position" ] || complain "columns: $(header performer.csv)"
[ "$(header pattern.csv)" = ",pattern" ] || complain "columns: $(header pattern.csv)"
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
