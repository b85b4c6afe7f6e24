#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-train --recipe, the options that it sets, and --from: what overrides what, what is saved, and resumed runs. Usage:
# recipe.sh PROGRAMS FOLDER
set -eu
. "$(dirname "$0")/begin.sh"
train=$programs/mgk-train
small="--layers 1 --heads 2 --dim 8 --head-dim 4 --hidden 8 --length 16 --batch 2 --threads 1 --quiet --force"
lists="--task listops --listops-above 3 --listops-below 16 --listops-samples 20 --eval-samples 4 $small"
text="--task lm --data text.txt $small"
write_text 200 >text.txt

# has MODEL FIELD VALUE: the model's configuration says so.
has() {
    "$programs/mgk-info" --json "$1" | tr -d '\t' | grep -qx "\"$2\":$3,*" || complain "$1: $2 is not $3"
}

# rate STEP ROWS: the learning rate in the log.
rate() {
    awk -F, -v step="$1" '$1 == step { print $3 }' log.csv
}

# refuses TEXT ARGUMENTS...
refuses() {
    said=$1
    shift
    if "$train" "$@" -o refused.safetensors 2>stderr; then
        complain "not refused: $*"
    fi
    grep -qF -- "$said" stderr || complain "no '$said' in: $(cat stderr)"
}

# The recipe of encoders, whose last rate is 1/250,000 of the first; options before it and after it win.
"$train" $lists --steps 4 --warmup 2 --recipe lra --lr 0.5 --classifier 5 -o lra.safetensors --log log.csv --log-every 1
[ "$(rate 2)" = 0.5 ] || complain "rate $(rate 2)"
[ "$(rate 1)" = 0.02 ] || complain "rate $(rate 1)"
has lra.safetensors classifier 5
has lra.safetensors pooling '"length"'
has lra.safetensors dropout 0.1
has lra.safetensors dropout_hidden 0.1
has lra.safetensors dropout_attention 0.1
"$train" $lists --recipe=lra --attention mlk --steps 2 --warmup 1 -o mlk.safetensors
has mlk.safetensors mix_keys true
has mlk.safetensors row_normalized false
has mlk.safetensors classifier 16
! "$programs/mgk-info" --json mlk.safetensors | grep -q dropout_attention || complain "mlk drops attention"
"$train" $lists --recipe lra --dropout-attention 0 --steps 2 --warmup 1 -o whole.safetensors
! "$programs/mgk-info" --json whole.safetensors | grep -q dropout_attention || complain "--dropout-attention 0"
"$train" $lists --recipe lra --class-token --steps 2 --warmup 1 -o class.safetensors
has class.safetensors class_token true
has class.safetensors pooling '"first"'
has class.safetensors length 17
refuses '--class-token is for classifiers' $text --class-token --steps 2 --warmup 1
refuses '--class-token is what pooling "first" reads' $lists --class-token --pooling mean --steps 2 --warmup 1
refuses 'attention "mlk" has none' $lists --recipe lra --attention mlk --dropout-attention 0.1 --steps 2 --warmup 1
refuses 'dropout_attention is 1, expected' $lists --dropout-attention 1 --steps 2 --warmup 1
# A shortened name means the same.
"$train" $lists --rec lra --steps 2 --warmup 1 -o short.safetensors --log log.csv --log-every 1
[ "$(rate 2)" = 4e-10 ] || complain "shortened: rate $(rate 2)"

# The recipe of language models.
"$train" $text --recipe lm --prior em --steps 4 --warmup 2 -o lm.safetensors --log log.csv --log-every 1
[ "$(rate 1)" = 0.00025 ] || complain "rate $(rate 1)"
has lm.safetensors prior_queries '"all"'
has lm.safetensors positions_backward true
has lm.safetensors normalizer_epsilon 1e-06
"$train" $text --recipe lm --positions none --norms pre --steps 2 --warmup 1 -o none.safetensors
has none.safetensors positions '"none"'
has none.safetensors pre_norm true

# Other random numbers for the first weights make no difference where all of them come from a model.
"$train" $text --from lm.safetensors --recipe lm --prior em --steps 2 --warmup 1 --dropout 0 --dropout-hidden 0 \
    --dropout-output 0 -o first.safetensors --log log.csv
cp log.csv first.csv
"$train" $text --from lm.safetensors --initial ours --recipe lm --prior em --steps 2 --warmup 1 --dropout 0 \
    --dropout-hidden 0 --dropout-output 0 -o second.safetensors --log log.csv
cmp first.csv log.csv || complain 'the first weights are not those of the model'
"$train" $text --recipe lm --prior em --steps 2 --warmup 1 --dropout 0 --dropout-hidden 0 --dropout-output 0 \
    -o third.safetensors --log log.csv
if cmp -s first.csv log.csv; then
    complain 'the model makes no difference'
fi
"$train" $text --from lra.safetensors --steps 1 -o part.safetensors
# Weights of 2 keys of 4 heads have the shape of those of 4 keys of 2 heads, and are others.
keys="--task lm --data text.txt --attention mgk --layers 1 --dim 8 --head-dim 4 --hidden 8 --length 16 --batch 2 --threads 1
    --steps 1 --warmup 0 --force"
"$train" $keys --heads 4 --keys 2 --quiet -o keys2.safetensors
"$train" $keys --heads 2 --keys 4 --from keys2.safetensors -o keys4.safetensors 2>stderr
grep -q 'begins as usual: .*attention.key.weight' stderr || complain "keys of other heads are taken: $(cat stderr)"

refuses '--recipe lra is for classifiers' $text --recipe lra
refuses '--recipe lm is for language models' $lists --recipe lm
refuses '--recipe "lx"' $lists --recipe lx
refuses '--positions "none of them": expected one of learned, sinusoidal' $text --positions 'none of them'
refuses '--initial "ous": expected one of ours, lra, lm; similar: ours' $text --initial ous --data none.txt
refuses '--pooling is for classifiers' $text --pooling mean
refuses 'none.pt: No such file' $text --from none.pt
refuses 'attention "mlk" has no soft-E priors of all queries' $lists --attention mlk --prior em-all
refuses '--prior em: attention "mlk" that mixes keys' $lists --recipe lra --attention mlk --prior em --steps 2 --warmup 1
refuses 'none of its tensors' --task lm --data text.txt --attention softmax --layers 1 --heads 3 --dim 6 --head-dim 3 \
    --hidden 5 --length 12 --batch 2 --quiet --from lra.safetensors

[ $failures -eq 0 ] || exit 1
