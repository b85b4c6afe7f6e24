#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-dump and mgk-info refuse bad input: one line that starts with the program's name, the right
# exit status, no output file. Usage: bad_input.sh FOLDER_OF_PROGRAMS WORKING_FOLDER
set -u
. "$(dirname "$0")/begin.sh"

# refuse STATUS PATTERN PROGRAM ARGUMENTS...: the message matches the pattern of grep.
refuse() {
    status=$1 pattern=$2
    shift 2
    name=$1
    shift
    "$programs/$name" "$@" >stdout 2>stderr
    found=$?
    [ $found -eq "$status" ] || complain "$name $*: exit status $found, not $status"
    [ "$(wc -l <stderr)" -eq 1 ] || complain "$name $*: $(wc -l <stderr) lines on stderr"
    grep -q "^$name: .*$pattern" stderr || complain "$name $*: says \"$(cat stderr)\""
    [ ! -s stdout ] || complain "$name $*: writes to stdout"
    for left in out.h5 out.h5.*; do
        [ ! -e "$left" ] || complain "$name $*: leaves $left"
    done
    rm -f out.h5 out.h5.*
}

# A tiny model and a text for it.
write_text 200 >text.txt
"$programs/mgk-train" --task lm --attention mgk --layers 2 --heads 2 --dim 4 --head-dim 2 \
    --hidden 4 --length 16 --data text.txt --steps 1 --batch 1 --warmup 0 --quiet --threads 1 \
    -o model.safetensors || exit 1
"$programs/mgk-train" --task listops --attention softmax --layers 1 --heads 1 --dim 4 \
    --head-dim 2 --hidden 4 --length 40 --listops-above 5 --listops-below 40 --listops-samples 20 \
    --eval-samples 5 --steps 1 --batch 1 --warmup 0 --quiet --threads 1 \
    -o listops.safetensors || exit 1
dump="--text text.txt --samples 2 --quiet --threads 1 -o out.h5"

# Lists are no text.
refuse 1 "a vocabulary of 15 tokens" mgk-dump model.safetensors --task listops --samples 2 --quiet -o out.h5

# Models.
refuse 1 "none.safetensors: No such file" mgk-dump none.safetensors $dump
refuse 1 "No such file" mgk-info none.safetensors
refuse 2 "part \"croos\": expected text" mgk-info none.safetensors --part croos
refuse 1 "nowhere/none.safetensors: No such file" mgk-dump nowhere/none.safetensors $dump
refuse 1 "owner/model-2.5: no such file or folder; models are not downloaded by name" mgk-dump owner/model-2.5 $dump
mkdir nothing
refuse 1 "nothing: a folder without model.safetensors" mgk-dump nothing $dump
refuse 1 "nothing: a folder without model.safetensors" mgk-info nothing
: >empty
printf '\1' >byte
head -c 100 model.safetensors >header_cut
head -c "$(($(wc -c <model.safetensors) - 7))" model.safetensors >data_cut
{ printf '\377\377\377\377\377\377\377\177{'; tail -c +10 model.safetensors; } >huge_header
sed 's/"shape":\[256,4\]/"shape":[4,256]/' model.safetensors >wrong_shape
sed 's/"layers\\":2/"layers\\":9/; s/"layer_groups\\":2/"layer_groups\\":9/' model.safetensors >too_few_tensors
sed 's/"heads\\":2/"heads\\":0/' model.safetensors >wrong_config
sed 's/"F32"/"F99"/' model.safetensors >wrong_type
sed 's/{/[/2' model.safetensors >wrong_json
{ head -c "$(($(wc -c <model.safetensors) - 4))" model.safetensors; printf '\377\377\377\377'; } >nan
for model in empty byte header_cut data_cut huge_header wrong_shape too_few_tensors wrong_config \
    wrong_type wrong_json nan; do
    cmp -s $model model.safetensors && complain "$model is not damaged"
    refuse 1 "$model: " mgk-dump $model $dump
    # mgk-info reads no weights.
    test $model = nan || refuse 1 "$model: " mgk-info $model
done
refuse 1 "expected \[" mgk-dump wrong_shape $dump
refuse 1 "tensor" mgk-dump nan $dump

# What failed downloads leave in place of models and arrays.
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n' >pointer
printf '<!DOCTYPE html>\n<html><body>Not found</body></html>\n' >page
mkdir repository
cp pointer repository/model.safetensors
for file in pointer repository; do
    refuse 1 "$file.*: a Git LFS pointer, not the file itself: git lfs pull" mgk-dump $file $dump
    refuse 1 "$file.*: a Git LFS pointer" mgk-info $file
done
refuse 1 "page: an HTML page" mgk-dump page $dump
refuse 1 "page: an HTML page" mgk-info page
for file in 'pointer: a Git LFS pointer' 'page: an HTML page'; do
    refuse 1 "$file" mgk-rank "${file%%:*}"
    refuse 1 "$file" mgk-plot attention "${file%%:*}" -o out.h5.png
done
cp model.safetensors repository/
cp pointer repository/tokenizer.json
refuse 1 "tokenizer.json: .*a Git LFS pointer" mgk-dump model.safetensors --tokenizer repository $dump

# Texts.
printf x >one_byte
printf '\377\376\000\200 not UTF-8 \377' >binary
refuse 1 "none.txt: No such file" mgk-dump model.safetensors --text none.txt -q -o out.h5
refuse 1 "empty" mgk-dump model.safetensors --text empty -q -o out.h5
refuse 1 "one_byte: 1 byte of text" mgk-dump model.safetensors --text one_byte -q -o out.h5
refuse 1 "2 samples: the input has 1, of up to 16 tokens" mgk-dump model.safetensors --text binary --samples 2 -q \
    -o out.h5
refuse 1 "vocabulary" mgk-dump listops.safetensors $dump
printf '1 2 3\n1 999\n' >ids.txt
refuse 1 "ids.txt: line 2: " mgk-dump model.safetensors --tokens ids.txt --samples 1 -q -o out.h5
refuse 1 "text.txt" mgk-dump model.safetensors --tokens text.txt --samples 1 -q -o out.h5

# Options.
refuse 2 "MODEL" mgk-dump
refuse 2 "-o is needed" mgk-dump model.safetensors --text text.txt
refuse 2 "FILE" mgk-info
refuse 2 "FILE" mgk-info text.txt text.txt
refuse 2 "" mgk-info --none text.txt
refuse 2 "one of --text" mgk-dump model.safetensors -o out.h5
refuse 2 "one of --text" mgk-dump model.safetensors $dump --task lm
refuse 2 "--data belongs to --task" mgk-dump model.safetensors $dump --data text.txt
refuse 2 "--lines belongs to --text" mgk-dump model.safetensors --tokens ids.txt --lines -o out.h5
refuse 2 "no_such_task" mgk-dump model.safetensors --task no_such_task --data text.txt -o out.h5
refuse 2 "--samples" mgk-dump model.safetensors $dump --samples 0
refuse 2 "--samples" mgk-dump model.safetensors $dump --samples -3
refuse 2 "--samples" mgk-dump model.safetensors $dump --samples many
refuse 1 "length 17: the model has 16" mgk-dump model.safetensors $dump --length 17
refuse 2 "--length: expected at least 1" mgk-dump model.safetensors $dump --length -1
refuse 1 "layer 2" mgk-dump model.safetensors $dump --layers 0-2
refuse 1 "head 7" mgk-dump model.safetensors $dump --heads 7
refuse 2 "--layers" mgk-dump model.safetensors $dump --layers 2-0
refuse 2 "--heads" mgk-dump model.safetensors $dump --heads ,
refuse 2 "--save" mgk-dump model.safetensors $dump --save attention,nothing
refuse 2 "bf16" mgk-dump model.safetensors $dump --dtype bf16
refuse 2 "--precision" mgk-dump model.safetensors $dump --precision half
refuse 2 "compression level 10" mgk-dump model.safetensors $dump --compress 10
refuse 2 "device" mgk-dump model.safetensors $dump --device abacus

refuse 2 'device "abacus"' mgk-info model.safetensors --device abacus
refuse 2 "4097 threads" mgk-info model.safetensors --threads 4097

# A signal asks to stop, and the run leaves its state; an ignored signal stays ignored.
size="--dim 4 --head-dim 2 --hidden 4 --length 16 --batch 1"
pause=0.2
stops() {
    rm -f train.safetensors* train.csv
    "$programs/mgk-train" --task lm --layers 1 --heads 1 $size \
        --data text.txt --steps 100000000 --threads 1 --log train.csv --log-every 1 -f -q \
        -o train.safetensors 2>stderr &
    tries=0
    until [ -s train.csv ] || [ $tries -ge 600 ]; do # it trains, and so it listens
        sleep 0.1
        tries=$((tries + 1))
    done
    for signal in "$@"; do
        kill -"$signal" $! || complain "mgk-train has ended before $signal"
        sleep "$pause"
    done
    wait $!
    found=$?
    [ $found -eq 1 ] || complain "mgk-train: exit status $found after $*"
    [ -e train.safetensors.checkpoint ] || complain "mgk-train leaves no state after $*"
}
stops HUP
stops TERM
trap "" HUP
stops HUP TERM
grep -q "^mgk-train: stopped after" stderr || complain "mgk-train says \"$(cat stderr)\""
trap - HUP
# Slurm asks twice at the time limit of a job: here within one step.
size="--dim 64 --head-dim 64 --hidden 64 --length 1024 --batch 32" pause=0.02
stops TERM TERM

# Outputs.
if [ -w /dev/full ]; then
    for arguments in model.safetensors --help --version "model.safetensors --json"; do
        "$programs/mgk-info" $arguments >/dev/full 2>stderr
        found=$?
        [ $found -eq 1 ] || complain "mgk-info $arguments to a full disk: exit status $found"
        grep -q '^mgk-info: standard output: ' stderr && [ "$(wc -l <stderr)" -eq 1 ] ||
            complain "mgk-info $arguments to a full disk says \"$(cat stderr)\""
    done
fi
refuse 1 "none/out.h5: " mgk-dump model.safetensors --text text.txt -q -o none/out.h5
refuse 1 "text.txt/out.h5: " mgk-dump model.safetensors --text text.txt -q -o text.txt/out.h5
refuse 1 "not a regular file" mgk-dump model.safetensors --text text.txt -q -o .
cp text.txt kept.h5
refuse 1 "kept.h5: exists" mgk-dump model.safetensors --text text.txt -q -o kept.h5
cmp -s kept.h5 text.txt || complain "kept.h5 was changed"
if [ -w /dev/full ]; then
    refuse 1 "not a regular file" mgk-dump model.safetensors --text text.txt -q -o /dev/full
fi
# A limit on file size simulates a full disk; programs ignore its signal.
(
    ulimit -f 64
    refuse 1 "out.h5: " mgk-dump model.safetensors --text text.txt --samples 100 -q -o out.h5
    exit $failures
) || failures=$((failures + 1))

# Files that are not the expected kind of HDF5.
"$programs/mgk-dump" model.safetensors $dump || complain "a right command fails"
mv out.h5 store.h5
head -c 3000 store.h5 >cut.h5
refuse 1 "cut.h5: is cut off: only the first 3000 bytes of an HDF5 file are there$" mgk-info cut.h5
head -c 5 store.h5 >cut.h5
refuse 1 "cut.h5: " mgk-info cut.h5
refuse 2 "threshold -1, expected a number above 0" mgk-rank store.h5 --threshold -1 -q
refuse 2 "threshold: expected T" mgk-rank store.h5 --threshold -q
refuse 1 "store.h5: not a file of tensors" mgk-dump store.h5 $dump
{ head -c 8 store.h5; head -c 5000 text.txt; } >signature.h5
refuse 1 "signature.h5: " mgk-info signature.h5
"$programs/mgk-info" store.h5 | grep -q "attention store" || complain "mgk-info of a store"

[ $failures -eq 0 ] && echo "all refused as they should"
exit $failures
