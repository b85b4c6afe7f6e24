#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-rank as a program: exit statuses, one-line errors, no output left behind.
# Usage: rank.sh PROGRAMS FOLDER
set -eu
. "$(dirname "$0")/begin.sh"
rank=$programs/mgk-rank

# fails STATUS TEXT ARGUMENTS...: the program ends with STATUS and one line that contains TEXT.
fails() {
    expected=$1 text=$2
    shift 2
    status=0
    "$rank" "$@" >out.txt 2>err.txt || status=$?
    [ "$status" -eq "$expected" ] || complain "exit $status, expected $expected: $*"
    [ "$(wc -l <err.txt)" -eq 1 ] || complain "not one line: $* $(cat err.txt)"
    grep -qF -- "$text" err.txt || complain "no '$text' in: $(cat err.txt)"
    [ ! -s out.txt ] || complain "standard output of a failure: $*"
    [ ! -e r.csv ] || complain "output left: $*"
}

"$rank" --help | grep -q 'mgk-rank --model' || complain "help without an example"
"$rank" --version | grep -q '^mgk-rank [0-9]' || complain "version"

echo text >text.txt
: >empty.h5
printf '\211HDF\r\n\032\n' >short.h5
fails 2 'either files of matrices or --model'
fails 2 'either files of matrices or --model' a.h5 --model m.safetensors --text text.txt
fails 2 'one of --text, --tokens, --task, --images and --audio' --model m.safetensors
fails 2 '--text is about --model' a.h5 --text text.txt
fails 2 '--article-per-file is about --model' a.h5 --article-per-file
fails 2 'the precision is about --model' a.h5 --precision double
fails 2 'the precision is about --model' a.h5 --precision single
fails 2 '--threshold' a.h5 --threshold 1e-6,x
fails 2 '--matrices' a.h5 --matrices many
fails 2 '--layers' a.h5 --layers 1-
fails 2 'method "qr"' a.h5 --method qr
fails 2 '--memory' a.h5 --memory 0
fails 2 '--memory' a.h5 --memory 2G
fails 2 'HDF5 output' a.h5 --spectrum -o r.csv
fails 2 'device "abacus"' a.h5 --device abacus
fails 2 '200000 threads' a.h5 --threads 200000
fails 2 '-3 threads' a.h5 --threads -3
fails 2 'ending' a.h5 -o r.txt
fails 2 '--resume continues a run with an --output' a.h5 --resume
fails 1 'a.h5' a.h5 -o r.csv
fails 1 'text.txt' text.txt -o r.csv
fails 1 'empty.h5' empty.h5 -o r.csv
fails 1 'short.h5' short.h5 -o r.csv
fails 1 'text.txt' --model text.txt --text text.txt -o r.csv
fails 1 'nowhere' a.h5 -o nowhere/r.csv

i=0
while [ $i -lt 100 ]; do
    echo "line $i of a text that is long enough"
    i=$((i + 1))
done >long.txt
"$programs/mgk-train" --task lm --attention mgk --layers 2 --heads 2 --dim 4 --head-dim 2 \
    --hidden 4 --length 16 --data long.txt --steps 1 --batch 1 --warmup 0 --quiet --force \
    -o m.safetensors
fails 1 '--memory: a thread takes' --model m.safetensors --text long.txt --memory 1e-6 -q -o r.csv
# A limit on file size simulates a full disk; programs ignore its signal.
(
    trap "" XFSZ
    ulimit -f 4
    fails 1 'r.csv' --model m.safetensors --text long.txt --samples 40 -q -o r.csv
    exit "$failures"
) || failures=$((failures + 1))
[ "$(find . -name 'r.*')" = ./r.csv.part ] || complain "not the journal alone is left"
# With space on the disk the run continues.
run="--model m.safetensors --text long.txt --samples 40 -q"
"$rank" $run -o r.csv --resume >/dev/null || complain "a full disk cannot be resumed"
"$rank" $run -o whole.csv --force >/dev/null || complain "40 samples"
cmp r.csv whole.csv || complain "a resumed run differs"
[ -z "$(find . -name '*.part')" ] || complain "a journal is left"
rm r.csv

"$programs/mgk-train" --task listops --attention linear --layers 2 --heads 2 --dim 4 --head-dim 2 \
    --hidden 4 --length 16 --listops-above 4 --listops-below 17 --listops-samples 8 \
    --eval-samples 4 --steps 1 --batch 1 --warmup 0 --quiet --force -o linear.safetensors
# The bounds of generated lists are among the settings of a run, and of its output.
lists="--model linear.safetensors --task listops --samples 40 --listops-above 12 -q"
(
    trap "" XFSZ
    ulimit -f 4
    fails 1 'lists.csv' $lists -o lists.csv
    fails 2 '"listops_below" missing, not 16' $lists --listops-below 16 -o lists.csv --resume
    fails 2 '"listops_above" 12, not missing' ${lists% --listops-above*} -q -o lists.csv --resume
    exit "$failures"
) || failures=$((failures + 1))
"$rank" $lists -o lists.csv --resume >/dev/null || complain "generated lists cannot be resumed"
[ "$(awk -F , 'NR > 1 && $4 <= 12' lists.csv | wc -l)" -eq 0 ] || complain "lists of at most 12 tokens"
"$rank" $lists -o lists.json >/dev/null || complain "JSON of generated lists"
grep -qF '"listops_above":12' lists.json || complain "no bound: $(head -n 1 lists.json)"
fails 2 '--listops-above is to be at most --listops-below - 2' $lists --listops-below 13
fails 2 '--listops-above' $lists --listops-above 0

# killed ARGUMENTS...: counts into k.csv and is killed by kill -9 after some matrices.
killed() {
    rm -f k.csv k.csv.part
    "$rank" "$@" -o k.csv >/dev/null 2>&1 &
    job=$! tries=0
    until [ "$(wc -l 2>/dev/null <k.csv.part || echo 0)" -gt 5 ] || [ -e k.csv ] || [ $tries -ge 600 ]; do
        sleep 0.01
        tries=$((tries + 1))
    done
    kill -9 $job 2>/dev/null || true
    wait $job 2>/dev/null || true
}
cat long.txt long.txt long.txt >longer.txt
"$programs/mgk-train" --task lm --attention mgk --layers 2 --heads 2 --dim 4 --head-dim 2 \
    --hidden 4 --length 128 --data long.txt --steps 1 --batch 1 --warmup 0 --quiet --force \
    -o long.safetensors
long="--model long.safetensors --text longer.txt --matrices 0 -q --threads 2"
"$rank" $long -o whole.csv --force >/dev/null || complain "a long run"
killed $long
[ ! -e k.csv ] || killed $long # a busy machine may be too late
fails 1 'use --resume to continue' $long -o k.csv
fails 2 '"seed" "0", not "1"' $long -o k.csv --resume --seed 1
"$rank" $long -o k.csv --resume >/dev/null || complain "a killed run cannot be resumed"
cmp k.csv whole.csv || complain "a killed and resumed run differs"
[ ! -e k.csv.part ] || complain "a journal is left"

# Files in a folder are part of what is resumed, and a folder's own time does not show that they change.
rm -rf folder && mkdir -p folder/inner && cp longer.txt folder/inner/a.txt
within="--model long.safetensors --text folder --matrices 0 -q --threads 2"
killed $within
[ ! -e k.csv ] || killed $within
tr a-z b-za <longer.txt >folder/inner/a.txt
fails 2 'was left by a run with "text" ["folder, 1 file of hash' $within -o k.csv --resume
cat longer.txt >folder/inner/a.txt
killed $within --force
[ ! -e k.csv ] || killed $within
echo other >folder/notes.log # which is no text
"$rank" $within -o k.csv --resume >/dev/null || complain "a file that is not read: $(cat err.txt)"
rm -rf folder k.csv k.csv.part

"$rank" --model m.safetensors --text long.txt --samples 3 --matrices 900 -o r.csv >out.txt 2>err.txt ||
    complain "a right command fails: $(cat err.txt)"
grep -q 'only 6 matrices in each layer (900 wanted)' err.txt ||
    complain "nothing about fewer matrices"
[ "$(wc -l <r.csv)" -eq 13 ] || complain "not a header and 12 rows"
[ "$(head -n 1 r.csv | cut -d , -f 1-10)" = \
    sample,layer,head,n,rank,undecided,sigma_max,sigma_min,effective_rank,stable_rank ] ||
    complain "header"
[ "$(grep -c '^ *[01] * 6 ' out.txt)" -eq 2 ] || complain "not two layers: $(cat out.txt)"
[ "$(grep -c '^ *[01] * 6 *3 *16 ' out.txt)" -eq 2 ] || complain "not 3 samples: $(cat out.txt)"
grep -q 'differ in size' out.txt err.txt && complain "sizes differ: $(cat out.txt err.txt)"
certified='^certification of 12 ranks (stored matrices):'
grep -q "$certified singular values 12\$" out.txt ||
    complain "nothing about certificates: $(cat out.txt)"
grep -q '^entries are f32: .* by up to about ' out.txt || complain "storage: $(cat out.txt)"
# Linear attention without a causal mask is counted by its factors, and the output says so.
"$rank" --model linear.safetensors --task listops --samples 3 --length 16 -q >out.txt ||
    complain "linear attention is not counted"
grep -q "$certified factors [0-9]*\(, none [1-9][0-9]*\)\{0,1\}\$" out.txt || complain "factors: $(cat out.txt)"
grep -q '^factors are f32: .* by at most ' out.txt || complain "storage: $(cat out.txt)"
[ "$(grep -c '100 %' err.txt)" -le 1 ] || complain "the end is told twice: $(cat err.txt)"
# The table reports samples of different length, because its means mix them.
printf '1 2 3 4\n5 6 7 8 9 10 11 12 13\n' >ids.txt
"$rank" --model m.safetensors --tokens ids.txt -q >out.txt 2>err.txt || complain "ids are not read"
grep -q '^ *1 *4 *2  4 to 9 ' out.txt || complain "no range of N: $(cat out.txt)"
grep -q 'differ in size' err.txt || complain "no word about sizes: $(cat err.txt)"
# JSON and HDF5 describe the run.
"$rank" --model m.safetensors --text long.txt --samples 3 --precision double -q --force -o run.json \
    >out.txt || complain "JSON"
for setting in '"software":"mgk ' '"method":"auto"' '"device":"cpu' '"text":["long.txt"]' \
    '"samples":3' '"length":16' '"precision":"double"'; do
    head -n 1 run.json | grep -qF -- "$setting" || complain "no $setting: $(head -n 1 run.json)"
done
# Measures that zero matrices lack are not numbers: [1, 4, 4] of float64 in NumPy's format.
header="{'descr': '<f8', 'fortran_order': False, 'shape': (1, 4, 4), }"
{
    printf '\223NUMPY\001\000\166\000%-117s\n' "$header"
    head -c 128 /dev/zero
} >zero.npy
"$rank" zero.npy -q >out.txt 2>err.txt && complain "rows of zeros are counted"
grep -q '^mgk-rank: zero.npy: sample 0, layer 0, head 0: row 0 is all zeros' err.txt ||
    complain "rows of zeros: $(cat err.txt)"
"$rank" zero.npy -q --allow-zero-rows >out.txt 2>err.txt || complain "zero matrices are not counted"
grep -q '^ *0 .* 0 to 0 * - * - * [0-9]*$' out.txt || complain "zero matrices: $(cat out.txt)"
grep -qx 'mgk-rank: rows of zeros: 4 in 1 matrix, counted as they are' err.txt || complain "rows of zeros: $(cat err.txt)"
grep -q 'do not sum' err.txt && complain "rows of zeros are told as unnormalised: $(cat err.txt)"
"$rank" zero.npy -q --allow-zero-rows --no-warnings >out.txt 2>err.txt || complain "no warnings"
grep -q 'rows of zeros' out.txt err.txt && complain "a warning in spite of --no-warnings"
# One matrix is not told as several.
"$rank" zero.npy --allow-zero-rows >out.txt 2>err.txt || complain "the usual number is not taken"
grep -q 'wanted' err.txt && complain "nobody wanted a number: $(cat err.txt)"
"$rank" zero.npy --matrices 9 --allow-zero-rows >out.txt 2>err.txt || complain "one matrix is not counted"
grep -q 'zero.npy: only 1 matrix in each layer (9 wanted)' err.txt || complain "one matrix: $(cat err.txt)"
grep -q '^certification of 1 rank (stored matrices)' out.txt || complain "one rank: $(cat out.txt)"
grep -qE '(^|[^0-9])1 (matrices|samples|ranks|layers|heads|tokens)' out.txt err.txt && complain "plural of one"
# How the axes of somebody's array were read; a store says itself.
grep -q '^zero.npy (axes read as sample: 1)$' out.txt || complain "axes: $(cat out.txt)"
"$rank" zero.npy --allow-zero-rows --axes head -q >out.txt 2>err.txt || complain "named axes: $(cat err.txt)"
grep -qx 'zero.npy' out.txt || complain "named axes: $(cat out.txt)"
"$programs/mgk-dump" m.safetensors --text long.txt --samples 3 --save attention,scores -q -o m.h5
"$programs/mgk-dump" m.safetensors --text long.txt --samples 1 --layers 0 --heads 1 --length 1 -o one.h5 2>err.txt ||
    complain "one token"
grep -q '^one.h5: 1 sample, 1 layer, 1 head, 1 token: ' err.txt || complain "one of all: $(cat err.txt)"
"$rank" m.h5 -q >out.txt || complain "a store is not counted"
grep -qx 'm.h5' out.txt || complain "axes of a store: $(cat out.txt)"
# A line warns of entries that are f16 numbers in a file of float64, unless all ranks are decided.
# halves OCTAL...: makes a [1, 2, 2] array from the bytes of four numbers.
halves() {
    printf '\223NUMPY\001\000\166\000%-117s\n' \
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 2), }"
    for number; do printf "\\000\\000\\000\\000\\000$number"; done
}
third='\124\325\077' # 0x3fd554...: 1/3 in f16
rest='\124\345\077'  # 0x3fe554...: 2/3
halves "$third" "$rest" "$third" "$rest" >half.npy
"$rank" half.npy -q >out.txt 2>err.txt || complain "numbers of f16"
grep -q '^mgk-rank: all entries of 1 matrix are f16 numbers, .* leaves its rank undecided' err.txt || complain "$(cat err.txt)"
halves "$third" "$rest" "$rest" "$third" >half.npy
"$rank" half.npy -q >out.txt 2>err.txt || complain "numbers of f16"
grep -q 'f16' err.txt && complain "a warning where nothing is undecided: $(cat out.txt err.txt)"
if [ -w /dev/full ]; then
    status=0
    "$rank" --model m.safetensors --text long.txt --samples 3 -q >/dev/full 2>err.txt || status=$?
    [ "$status" -eq 1 ] || complain "exit $status where standard output is full"
    grep -q '^mgk-rank: standard output: ' err.txt || complain "full output: $(cat err.txt)"
fi
cp r.csv kept.csv
"$rank" --model m.safetensors --text long.txt --samples 3 -q -o r.csv >out.txt 2>err.txt &&
    complain "an existing file is replaced"
grep -q '^mgk-rank: r.csv: exists' err.txt || complain "existing file: $(cat err.txt)"
cmp -s r.csv kept.csv || complain "an existing file is changed"
"$rank" --model m.safetensors --text long.txt --samples 3 --seed 1 -q --force -o r.csv >out.txt
cmp -s r.csv kept.csv && complain "another seed, the same matrices"
exit "$((failures > 0))"
