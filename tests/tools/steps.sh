#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures against the step of training: mgk-train keeps models, mgk-diversity measures them or
# stores of them, mgk-plot draws the curves. Usage: steps.sh PROGRAMS FOLDER GOLDEN
set -eu
golden=$3
. "$(dirname "$0")/begin.sh"

run() {
    "$@" -q >out.txt 2>err.txt || complain "$*: $(cat err.txt)"
}

# draws INPUTS AND OPTIONS...
draws() {
    "$programs/mgk-plot" curves "$@" --force -o p.png 2>err.txt || complain "$*: $(cat err.txt)"
    [ ! -s err.txt ] || complain "$*: says $(cat err.txt)"
    head -c 8 p.png | grep -aq PNG || complain "$*: no picture"
}

# refuses STATUS TEXT INPUTS AND OPTIONS...
refuses() {
    expected=$1 text=$2
    shift 2
    status=0
    rm -f p.png
    "$programs/mgk-plot" curves "$@" -o p.png >out.txt 2>err.txt || status=$?
    [ "$status" -eq "$expected" ] || complain "exit $status, expected $expected: $*"
    [ "$(wc -l <err.txt)" -eq 1 ] || complain "not one line: $* $(cat err.txt)"
    grep -qF -- "$text" err.txt || complain "no '$text' in: $(cat err.txt)"
    [ ! -e p.png ] || complain "a picture is left: $*"
}

write_text 200 >text.txt
train="--task lm --layers 2 --heads 3 --dim 6 --head-dim 2 --hidden 8 --length 16 --data text.txt
    --batch 2 --steps 20 --checkpoint-every 8 --keep --threads 1"
run "$programs/mgk-train" $train --attention mgk -o mgk.safetensors --log log.csv
run "$programs/mgk-train" $train --attention softmax -o softmax.safetensors
measure="--text text.txt --samples 3 --threads 1 --force --measures js,entropy,rollout_entropy"
diversity=$programs/mgk-diversity

# Of models, in one table or in several; of two runs; of the finished model too.
for ending in h5 json csv; do
    run "$diversity" --model mgk.step-*.safetensors $measure -o mgk.$ending
done
run "$diversity" --model mgk.step-*.safetensors softmax.step-*.safetensors $measure -o both.h5
run "$diversity" --model mgk.safetensors $measure -o last.json
run "$diversity" --model mgk.step-000000.safetensors $measure -o first.h5
"$programs/mgk-info" mgk.h5 | grep -q 'training_step  *\[0, 8, 16, 20\]' || complain "no steps in the table"
draws mgk.h5
draws mgk.h5 --measure js,entropy,rollout_entropy --title Measures --layers 1
draws both.h5 --measure js --name one two --heads 0,2
draws first.h5 last.json --measure js

# Of stores.
for step in 000000 000008 000016; do
    run "$programs/mgk-dump" mgk.step-$step.safetensors --text text.txt --samples 3 --threads 1 \
        -o mgk.step-$step.h5
done
run "$diversity" mgk.step-*.h5 --threads 1 --measures js -o stores.h5
draws stores.h5 --measure js

# Of folders as the Trainer of transformers writes them: of one run, within it and from outside, or of two.
for folder in a/checkpoint-5 a/checkpoint-10 b/checkpoint-5; do
    mkdir -p $folder
    cp "$golden/hugging_face/gpt2/config.json" "$golden/hugging_face/gpt2/model.safetensors" $folder
done
echo '1 2 3 4 5 6' >ids.txt
of_ids="--tokens ids.txt --measures js --threads 1"
run "$diversity" --model a/checkpoint-5 a/checkpoint-10/ $of_ids -o folders.h5
draws folders.h5 --measure js --name one
run "$diversity" --model a/checkpoint-5 b/checkpoint-5 a/checkpoint-10 $of_ids -o two.h5
draws two.h5 --measure js --name one two
(cd a && run "$diversity" --model checkpoint-5 checkpoint-10 --tokens ../ids.txt --measures js --threads 1 -o ../within.h5)
draws within.h5 --measure js --name one
# Of their files, and of stores that are named like them.
run "$diversity" --model a/checkpoint-5/model.safetensors a/checkpoint-10/model.safetensors $of_ids -o files.h5
draws files.h5 --measure js --name one
for step in 5 10; do
    run "$programs/mgk-dump" a/checkpoint-$step --tokens ids.txt --threads 1 -o checkpoint-$step.h5
done
run "$diversity" checkpoint-5.h5 checkpoint-10.h5 --threads 1 --measures js -o of-stores.h5
draws of-stores.h5 --measure js --name one

# A run that has no patience left keeps its last model, too, and logs the loss of its last steps.
without_end="--task lm --layers 1 --heads 2 --dim 8 --head-dim 4 --hidden 8 --length 16 --data text.txt --held-out text.txt
    --batch 2 --steps 60 --eval-every 3 --eval-samples 4 --log-every 50 --checkpoint-every 50 --keep --lr 3 --warmup 0 --clip 0
    --patience 2 --threads 1"
run "$programs/mgk-train" $without_end -o early.safetensors --log early.csv
last=$(tail -n 1 early.csv | cut -d, -f1)
[ "$last" -lt 60 ] || complain "the run has not ended early"
[ -e "early.step-$(printf %06d "$last").safetensors" ] || complain "no model of step $last: $(ls early*)"
[ -n "$(tail -n 1 early.csv | cut -d, -f4)" ] || complain "no loss of the last steps: $(tail -n 1 early.csv)"
status=0
rm early.safetensors early.csv early.step-000000.safetensors
"$programs/mgk-train" $without_end -q -o early.safetensors --log early.csv 2>err.txt || status=$?
[ $status -eq 1 ] && [ -e early.safetensors ] && grep -q "early.step-0*$last.safetensors: exists" err.txt || complain "$status: $(cat err.txt)"

# What cannot be drawn.
refuses 1 'mgk.csv: the table does not say training steps, as no CSV does' mgk.csv
sed 's/"training_step":\[0,8/"training_step":[0,null/' mgk.json >unknown.json
refuses 1 'unknown.json: the training step of "mgk.step-000008.safetensors" is not known' unknown.json
refuses 1 '"mgk.safetensors" and "mgk.step-000020.safetensors" are one run, but both of step 20' last.json mgk.h5
refuses 1 'no measure "cosine" of "mgk.step-000000.safetensors"; there are' mgk.h5 --measure js,cosine
refuses 2 'log.csv does not: expected logs of mgk-train alone' mgk.h5 log.csv
refuses 2 '2 names for 1 model' mgk.h5 --name one two
refuses 2 '--measure: expected 1 to 8 names with commas between them, got "js,"' mgk.h5 --measure js,
refuses 2 '--measure "js": expected one of loss, accuracy' log.csv --measure js
refuses 2 '--layers: not an option of curves of training logs' log.csv --layers 0
refuses 2 '--from-one: not an option of curves of training logs' log.csv --from-one
refuses 2 '--bands: not an option of curves of measures' mgk.h5 --bands
refuses 1 'mgk.h5: no layer 7' mgk.h5 --layers 7
refuses 1 'absent.h5: No such file' absent.h5

[ $failures -eq 0 ] || exit 1
