#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-train --aggregate capsules: the model learns, and all programs run it; heads are removed; a measure of what each
# head writes is refused. Usage: capsules.sh PROGRAMS FOLDER
set -u
. "$(dirname "$0")/begin.sh"

lists="--task listops --length 30"
few="$lists --listops-above 7 --listops-below 31 --batch 16 --layers 2 --heads 4 --dim 16 --head-dim 4 --hidden 16 \
    --listops-samples 3200 --lr 0.01 --attention softmax --quiet --force"
model="--model capsules.safetensors $lists --samples 32 --quiet --force"

# runs COMMAND...: with its standard output in stdout.
runs() {
    "$@" >stdout 2>stderr || complain "$*: $(cat stderr)"
}

# has LINE: a line of stdout.
has() {
    grep -qx -- "$1" stdout || complain "no line '$1' in: $(cat stdout)"
}

# column FILE NAME: the last cell of a column of a log.
column() {
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } END { print $at }' "$1"
}

# The ten values are about equally frequent: the loss of a model that has learnt nothing is ln 10 = 2.3.
runs "$programs/mgk-train" $few --steps 150 --eval-samples 128 --aggregate capsules --log capsules.csv \
    -o capsules.safetensors
loss=$(column capsules.csv eval_loss)
awk -v loss="$loss" 'BEGIN { exit !(loss > 0 && loss < 2) }' || complain "held-out loss $loss, expected less than 2"
runs "$programs/mgk-info" capsules.safetensors --all
has '  aggregate  *capsules'
has '  layers.1.attention.votes.weight  *\[64, 4\]'

# Concatenation is the default, and models of it have no such setting.
runs "$programs/mgk-train" $few --steps 2 --eval-samples 8 -o plain.safetensors
runs "$programs/mgk-train" $few --steps 2 --eval-samples 8 --aggregate concatenation -o same.safetensors
runs "$programs/mgk-info" plain.safetensors --all
! grep -q 'aggregate\|votes' stdout || complain "capsules in: $(cat stdout)"
sum() {
    "$programs/mgk-info" "$1" | sed -n 's/^flops_forward *//p'
}
[ "$(sum plain.safetensors)" = "$(sum same.safetensors)" ] || complain "the default is not concatenation"

# The model that is loaded has learnt that, too; mgk-diversity draws lists of the same lengths. Without its heads it has
# learnt less.
runs "$programs/mgk-diversity" --model capsules.safetensors $lists --samples 128 --quiet --force \
    --measures importance_ablation,importance_gradient --prune -o prune.csv
whole=$(awk -F, '$3 == "prune_importance" && $9 == 8 { print $10 }' prune.csv)
none=$(awk -F, '$3 == "prune_importance" && $9 == 0 { print $10 }' prune.csv)
awk -v a="$whole" -v b="$none" 'BEGIN { exit !(a > 0 && a < 2 && b > 2.2) }' ||
    complain "the loss is $whole, without heads $none"

# Attention is that of its kind, and runs as another one.
runs "$programs/mgk-dump" capsules.safetensors $lists --samples 4 --quiet --force -o capsules.h5
runs "$programs/mgk-dump" capsules.safetensors $lists --samples 4 --quiet --force --as performer --features 8 -o as.h5
runs "$programs/mgk-rank" capsules.h5 --quiet --force -o ranks.csv
runs "$programs/mgk-diversity" $model --measures output_cosine,cka_output,projection_value -o vectors.csv

# refuses STATUS TEXT COMMAND...: one line that contains TEXT.
refuses() {
    expected=$1 text=$2
    shift 2
    status=0
    "$@" >stdout 2>stderr || status=$?
    [ "$status" -eq "$expected" ] || complain "exit $status, expected $expected: $*"
    [ "$(wc -l <stderr)" -eq 1 ] || complain "$*: not one line: $(cat stderr)"
    grep -qF -- "$text" stderr || complain "$*: no '$text' in: $(cat stderr)"
}

refuses 1 'measure "projection_output" needs heads that are concatenated' \
    "$programs/mgk-diversity" $model --measures projection_output -o refused.csv
refuses 2 '--aggregate "sum": expected one of concatenation, capsules' \
    "$programs/mgk-train" $few --steps 2 --aggregate sum -o refused.safetensors

exit $((failures > 0))
