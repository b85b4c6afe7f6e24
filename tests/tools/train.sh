#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-train as a program: exit statuses, one-line errors, overwritten files, interruption. Usage:
# train.sh PROGRAMS FOLDER
set -eu
. "$(dirname "$0")/begin.sh"
train=$programs/mgk-train
info=$programs/mgk-info

# Common options of all runs; small enough for a step in a millisecond.
model="--attention mgk --layers 1 --heads 2 --dim 8 --head-dim 4 --hidden 8 --length 16"
few="--task lm $model --batch 2 --steps 4 --warmup 1 --threads 1 --quiet"

# without OPTION ARGUMENTS...: prints the arguments without the option and its value.
without() {
    option=$1
    shift
    echo "$*" | sed "s/ --$option [^ ]*//"
}

# refuse STATUS TEXT ARGUMENTS...: ends with STATUS, one line that contains TEXT, and no output.
refuse() {
    expected=$1 text=$2
    shift 2
    status=0
    "$train" "$@" >stdout 2>stderr || status=$?
    [ "$status" -eq "$expected" ] || complain "exit $status, expected $expected: $*"
    [ "$(wc -l <stderr)" -eq 1 ] || complain "not one line: $* $(cat stderr)"
    grep -q '^mgk-train: ' stderr || complain "no name of the program: $(cat stderr)"
    grep -qF -- "$text" stderr || complain "no '$text' in: $(cat stderr)"
    [ ! -s stdout ] || complain "standard output of a failure: $*"
    for left in new.*; do
        [ ! -e "$left" ] || complain "$* leaves $left"
    done
    rm -f new.*
}

write_text 200 >text.txt
head -c 1000 text.txt >held_out.txt

# Generated lists fit into the length that is asked for.
"$train" --task listops ${few#--task lm} --listops-samples 50 --eval-samples 5 -o lists.safetensors ||
    complain "lists of a length"

# Wrong usage.
refuse 2 '--task and -o' --task lm --data text.txt
refuse 2 '--task and -o' --data text.txt -o new.safetensors
refuse 2 'task "poetry"' --task poetry --data text.txt -o new.safetensors
refuse 2 'task "tokens"' --task tokens --data text.txt -o new.safetensors
refuse 2 'no data given' --task lm -o new.safetensors
refuse 2 '--steps' $(without steps $few) --data text.txt --steps many -o new.safetensors
refuse 2 'steps: 0, expected at least 1' $(without steps $few) --data text.txt --steps 0 -o new.safetensors
refuse 2 'steps of warm-up: -2, expected at least 0' $(without warmup $few) --data text.txt --warmup -2 \
    -o new.safetensors
refuse 2 'accumulated batches: 0' $few --data text.txt --accumulate 0 -o new.safetensors
refuse 2 'the warm-up takes 10 steps, of 10 in all: give a shorter one (--warmup), or more steps (--steps)' $(without steps $(without warmup $few)) \
    --data text.txt --warmup 10 --steps 10 -o new.safetensors
# The default warm-up is a tenth of a short run: the rate grows for two steps of 20.
"$train" --task lm $model --data text.txt --batch 2 --steps 20 --lr 0.5 --threads 1 --quiet \
    --log-every 1 --log short.csv -o short.safetensors || complain "no warm-up for a short run"
[ "$(cut -d , -f 3 short.csv | sed -n 2,3p | tr '\n' ' ')" = '0.25 0.5 ' ] ||
    complain "another warm-up: $(head -n 4 short.csv)"
refuse 2 'attention "psychic"' $(without attention $few) --data text.txt --attention psychic -o new.safetensors
refuse 2 'schedule "steep"' $few --data text.txt --schedule steep -o new.safetensors
refuse 2 '--variance' $few --data text.txt --variance 1,x -o new.safetensors
refuse 2 'learning rate: -1, expected a positive number' $few --data text.txt --lr -1 -o new.safetensors
refuse 2 '--keep needs --checkpoint-every' $few --data text.txt --keep -o new.safetensors
refuse 2 'expected at most 256 models' $(without steps $few) --data text.txt --steps 256 --checkpoint-every 1 --keep \
    -o new.safetensors
# Options that would do nothing.
softmax="$(without attention $few) --attention softmax --data text.txt -o new.safetensors"
refuse 2 'attention "softmax" has no variance' $softmax --variance 3
refuse 2 'prior "hard" has no --prior-shape' $(without attention $few) --attention mgk --data text.txt --prior hard \
    --prior-shape head -o new.safetensors
refuse 2 '--listops-above belongs to --task listops' $softmax --listops-above 3
refuse 2 '--listops-samples is for lists that are generated' --task listops ${few#--task lm} --data text.txt \
    --listops-samples 9 -o new.safetensors
refuse 2 'one head differs from no other: expected pattern alone' $(without heads $softmax) --heads 1 --regularise position
refuse 2 '--unknown' $few --unknown -o new.safetensors

# Bad data.
: >empty
printf x >one_byte
refuse 1 'absent: No such file' $few --data absent -o new.safetensors
refuse 1 'empty: ' $few --data empty -o new.safetensors
refuse 1 'one_byte: 1 byte of text, expected at least 17' $few --data one_byte -o new.safetensors
mkdir -p folder
refuse 1 'folder: no .txt files' $few --data folder -o new.safetensors
refuse 1 'one_byte: 1 byte of text' $few --data text.txt --held-out one_byte -o new.safetensors

# A folder stands for its texts, wherever they are in it; none of them is overwritten.
mkdir -p folder/of/texts
cp text.txt folder/of/texts/a.txt
"$train" $few --data folder --held-out folder --log folder.csv -o folder.safetensors || complain "a folder of texts is refused"
"$train" $few --data text.txt --held-out text.txt --log file.csv -o file.safetensors || complain "a text is refused"
cmp folder.csv file.csv || complain "a folder of one text is not as the text"
refuse 2 'same file as the input' $few --data folder -o new.safetensors --log folder/of/texts/a.txt --force
# Any bytes are a valid text.
"$train" $few --data "$train" -o binary.safetensors || complain "bytes are refused"
"$info" binary.safetensors >/dev/null || complain "no model of bytes"

# Outputs that cannot be written are reported before the first of very many steps.
endless="$(without steps $few) --data text.txt --steps 1000000000"
refuse 1 'nowhere/a.safetensors: cannot create' $endless -o nowhere/a.safetensors
refuse 1 'not a regular file' $endless -o . --force
refuse 1 'nowhere/a.csv: cannot create: there is no folder "nowhere"' $endless -o new.safetensors --log nowhere/a.csv

# A loss that is no number is not printed as one.
refuse 1 'training diverged: after step 1 the held-out loss' $(without steps $few) --data text.txt --held-out held_out.txt \
    --steps 20 --eval-every 1 --lr 1e38 -o new.safetensors
refuse 2 '100000 keys of a head for a token: expected 1 to 16' $few --data text.txt --keys 100000 --variance 1 -o new.safetensors
refuse 2 '17 keys of a head for a token: expected 1 to 16' $few --data text.txt --keys 17 --recipe lm -o new.safetensors
refuse 2 'layers is 2000000000, expected 1 to 4096' $(without layers $few) --data text.txt --layers 2000000000 -o new.safetensors
refuse 1 'training diverged: at step' $(without steps $few) --data text.txt --steps 20 --lr 1e30 --clip 0 -o new.safetensors
! grep -q 'nan' stderr || complain "prints $(cat stderr)"

# A batch beyond what can be counted, one beyond the machine's memory, and one beyond a limit (with which
# sanitizers cannot run).
refuse 1 'do not fit in memory; --batch ' $(without batch $few) --data text.txt --batch 1000000000 -o new.safetensors
refuse 1 ' free; --batch ' $(without batch $few) --data text.txt --batch 100000000 -o new.safetensors
if (ulimit -v 2000000 && "$train" --version >/dev/null 2>&1); then
    (
        ulimit -v 2000000
        refuse 1 ' free; --batch ' $(without batch $few) --data text.txt --batch 1000000 -o new.safetensors
        batch=$(sed 's/.*--batch \([0-9]*\) would fit/\1/' stderr)
        [ "$batch" -ge 1000 ] || complain "suggests a batch of $batch"
        "$train" $(without steps $(without batch $few)) --data text.txt --batch "$batch" --steps 2 -o fitting.safetensors ||
            complain "--batch $batch does not fit"
        [ $failures -eq 0 ]
    ) || failures=$((failures + 1))
fi

# Without held-out data the last step's model is written. A quiet run prints nothing.
"$train" $few --data text.txt -o quiet.safetensors 2>stderr || complain "a right command fails"
[ ! -s stderr ] || complain "a quiet run says $(cat stderr)"
"$train" ${few%--quiet*} --data text.txt -o last.safetensors 2>stderr || complain "a right command fails"
tail -n 1 stderr | grep -q '^mgk-train: last.safetensors: the model of step 4 of 4, loss [0-9.]* nats$' ||
    complain "does not end with the model: $(cat stderr)"

# Outputs that exist already.
echo mine >mine
cp mine mine.copy
refuse 1 'mine: exists (use --force' $endless -o mine
refuse 1 'mine: exists (use --force' $endless -o new.safetensors --log mine
cmp -s mine mine.copy || complain "a file was overwritten"
"$train" $few --data text.txt -o mine --force || complain "--force does not overwrite"
"$info" mine >/dev/null || complain "no model in place of a file"

# Files that are not states.
for state in absent empty one_byte text.txt binary.safetensors; do
    refuse 1 "$state: " $endless -o new.safetensors --resume $state
done

# A run that a signal interrupts and --resume continues ends with the same bytes as an uninterrupted
# one. Both begin with the same command line, because a model contains it.
run="--task lm $model --dropout 0.1 --data text.txt --held-out held_out.txt --batch 2 --steps 3000 \
    --eval-every 300 --eval-samples 5 --log-every 100 --threads 1 --quiet -o run.safetensors \
    --checkpoint-every 1000 --keep --log run.csv"
"$train" $run || complain "a right command fails"
mkdir whole
mv run.* whole/
for step in 0 1000 2000 3000; do
    kept=$(printf 'whole/run.step-%06d.safetensors' $step)
    "$info" --json "$kept" | grep -q "\"training_step\":[[:space:]]*$step," ||
        complain "no model of step $step"
done
"$train" $run 2>stderr &
job=$!
tries=0
# After the first evaluation and before the last step.
until [ -e run.safetensors ] || [ $tries -ge 600 ]; do
    sleep 0.02
    tries=$((tries + 1))
done
refuse 1 'run.step-002000.safetensors: another run' $few --data text.txt -o run.step-002000.safetensors
kill -INT $job
status=0
wait $job || status=$?
[ "$status" -eq 1 ] || complain "an interrupted run ends with $status"
grep -q 'continue with --resume run.safetensors.checkpoint' stderr || complain "$(cat stderr)"
[ -e run.safetensors.checkpoint ] || complain "no state was left"
# The message names the state first, because --force would lose it.
refuse 1 'run.safetensors.checkpoint: the state of an interrupted run: continue it by --resume' $run
refuse 2 '--resume run.safetensors: this is the model; the state' $run --resume run.safetensors
# A state has other tensors besides those of its model.
"$info" run.safetensors.checkpoint --all | grep -q '^  m\.' || complain "the tensors of a state are not listed"
rm -f run.safetensors run.csv
refuse 1 'continue it by --resume' $run
resume="--resume run.safetensors.checkpoint"
refuse 2 '"seed 0", not "seed 1"' $run $resume --seed 1
refuse 2 '"threads 1", not "threads 2"' $(without threads $run) $resume --threads 2
# The run also continues under another name, and says so; the old state stays.
"$train" ${run%--quiet*} $resume -o other.safetensors 2>stderr ||
    complain "the run cannot be continued under another name"
grep -q '^mgk-train: run.safetensors.checkpoint: is not the state of this output' stderr ||
    complain "nothing about another output: $(cat stderr)"
# The last line names the model, and the step of the lowest held-out loss.
best=$(awk -F , 'NR > 1 && $6 != "" && (step == "" || $6 < least) { least = $6 + 0; step = $1 } END { print step }' whole/run.csv)
tail -n 1 stderr | grep -q "^mgk-train: other.safetensors: the model of step $best of 3000, held out [0-9.]* bits per byte\$" ||
    complain "does not end with the model of step $best: $(cat stderr)"
[ -e run.safetensors.checkpoint ] || complain "the state of another output was removed"
[ ! -e other.safetensors.checkpoint ] || complain "a finished run leaves a state"
# The model was deleted: the state contains it. The log was deleted too: it gets only the later
# rows.
: >run.step-003000.safetensors.mgk-abc123.part # of a run that was killed
"$train" $run $resume || complain "the run cannot be continued"
for model in whole/*.safetensors; do
    cmp "$model" "${model#whole/}" || complain "a continued run differs: $model"
done
[ -z "$(ls | grep 'mgk-')" ] || complain "files of killed or finished runs: $(ls)"
[ ! -e run.safetensors.checkpoint ] || complain "a finished run leaves a state"
refuse 1 'run.safetensors.checkpoint: no such state; a finished run' $run $resume
tail -n 1 run.csv >last
tail -n 1 whole/run.csv | cmp -s - last || complain "the logs end differently"

[ $failures -eq 0 ] || exit 1
