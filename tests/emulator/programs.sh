#!/bin/sh
# SPDX-License-Identifier: MIT
# The programs on the emulated device, or on a GPU, against the CPU: losses of training from one
# seed, matrices in double precision, ranks of stored matrices and of a running model. Usage:
# programs.sh FOLDER/PREFIX_OF_PROGRAMS WORKING_FOLDER
set -eu
programs=$1
work=$2
rm -rf "$work" && mkdir -p "$work" && cd "$work"
export OMP_NUM_THREADS=1

i=0
while [ $i -lt 300 ]; do
    [ $((i % 30)) -ne 0 ] || printf '\n = Title %d = \n\n' $i
    echo "line $i of a text that is long enough"
    i=$((i + 1))
done >text.txt

# train DEVICE NAME OPTIONS...
train() {
    device=$1 name=$2
    shift 2
    "${programs}mgk-train" --device "$device" "$@" --layers 2 --dim 12 --hidden 16 \
        --data text.txt --steps 4 --batch 2 --warmup 1 --lr 1e-2 --log-every 1 --seed 3 --quiet \
        --log "$name.$device.csv" -o "$name.$device.safetensors"
}

# same TOLERANCE COLUMN FILE FILE: the numbers of a CSV column differ by at most TOLERANCE.
same() {
    paste -d, "$3" "$4" | awk -F, -v tolerance="$1" -v column="$2" '
        NR > 1 {
            half = NF / 2
            difference = $column - $(half + column)
            if (difference < 0) difference = -difference
            if (!(difference <= tolerance)) { print "line", NR, $column, $(half + column); bad = 1 }
        }
        END { exit bad || NR < 2 }' || { echo "FAILED: $3 and $4 differ"; exit 1; }
}

# same_ranks FILE FILE: tables of mgk-rank agree. Ranks are equal unless one is undecided; the
# largest and the smallest singular value differ by at most 1e-12 of the largest.
same_ranks() {
    paste -d, "$1" "$2" | awk -F, '
        function apart(a, b) { return a > b ? a - b : b - a }
        NR == 1 { half = NF / 2; for (i = 1; i <= half; i++) column[$i] = i }
        NR > 1 {
            rank = column["rank"]; undecided = column["undecided"]
            largest = column["sigma_max"]; smallest = column["sigma_min"]
            good = $1 == $(half + 1) && $2 == $(half + 2) && $3 == $(half + 3) && $4 == $(half + 4)
            good = good && ($rank == $(half + rank) || $undecided || $(half + undecided))
            good = good && apart($largest, $(half + largest)) <= 1e-12 * $largest
            good = good && apart($smallest, $(half + smallest)) <= 1e-12 * $largest
            if (!good) { print "line", NR, $0; bad = 1 }
            decided += !$undecided
        }
        END { exit bad || decided < 2 }' || { echo "FAILED: $1 and $2 differ"; exit 1; }
}

# rank DEVICE NAME INPUT...
rank() {
    device=$1 name=$2
    shift 2
    "${programs}mgk-rank" --device "$device" "$@" --threshold 1e-3 --quiet \
        -o "$name.$device.csv"
}

for attention in softmax mgk smgk mlk; do
    lm="--task lm --attention $attention --heads 2 --head-dim 6 --length 40"
    [ $attention = softmax ] || lm="$lm --keys 2"
    for device in cpu cuda; do
        train $device $attention $lm
        "${programs}mgk-dump" --device $device $attention.cpu.safetensors --text text.txt \
            --samples 3 --precision double --dtype f64 --seed 1 --quiet -o $attention.$device.h5
        "${programs}mgk-rank" $attention.$device.h5 --quiet -o $attention.$device.ranks.csv
    done
    grep -q '^step,' $attention.cpu.csv
    same 1e-3 "$(head -1 $attention.cpu.csv | tr , '\n' | grep -nx train_loss | cut -d: -f1)" \
        $attention.cpu.csv $attention.cuda.csv
    same 0 5 $attention.cpu.ranks.csv $attention.cuda.ranks.csv
    same 1e-12 7 $attention.cpu.ranks.csv $attention.cuda.ranks.csv
    for device in cpu cuda; do
        rank $device $attention.model --model $attention.cpu.safetensors --text text.txt --samples 3 \
            --precision double
    done
    same_ranks $attention.model.cpu.csv $attention.model.cuda.csv
done
# Counting works the same for every kind of attention.
for device in cpu cuda; do
    rank $device stored mgk.cpu.h5
done
for method in bisection count; do
    rank cuda stored.$method mgk.cpu.h5 --method $method
    rank cuda model.$method --model mgk.cpu.safetensors --text text.txt --samples 3 \
        --precision double --method $method
done
same_ranks stored.cpu.csv stored.cuda.csv
same_ranks stored.cpu.csv stored.bisection.cuda.csv
same 0 5 stored.cpu.csv stored.count.cuda.csv
same_ranks mgk.model.cpu.csv model.bisection.cuda.csv
same 0 5 mgk.model.cpu.csv model.count.cuda.csv
for device in cpu cuda; do
    train $device pairs --task retrieval --attention mgk --heads 1 --head-dim 8 --length 50
    train $device soft --task lm --attention mgk --prior em --heads 2 --head-dim 6 --length 40
    train $device hard --task lm --attention smgk --prior hard --heads 2 --head-dim 6 --length 40
done
# With a thread that writes, the matrices of 31, 31 and 8 samples are computed at a time; without,
# those of one. The stores differ in their time and command alone.
for threads in 1 2; do
    OMP_NUM_THREADS=2 "${programs}mgk-dump" --device cuda mgk.cpu.safetensors \
        --text text.txt --samples 70 --threads $threads --save attention,scores,queries --quiet \
        -o together.$threads.h5
done
[ "$(cmp -l together.1.h5 together.2.h5 | wc -l)" -le 20 ] ||
    { echo "FAILED: matrices of several samples differ from those of one"; exit 1; }
# Samples of several lengths: their matrices are padded on the device.
for length in 40 3 17 50; do
    seq -s ' ' 60 $((59 + length))
done >ids.txt
for device in cpu cuda; do
    rank $device padded --model pairs.cpu.safetensors --tokens ids.txt --samples 4 --precision double
done
same_ranks padded.cpu.csv padded.cuda.csv
# Linear attention without a causal mask has thin factors, whose ranks equal those of the entries.
train cpu factors --task retrieval --attention mlk --keys 2 --heads 2 --head-dim 6 --length 50
for device in cpu cuda; do
    rank $device factored --model factors.cpu.safetensors --tokens ids.txt --samples 4 \
        --precision double
done
rank cuda entries --model factors.cpu.safetensors --tokens ids.txt --samples 4 --precision double \
    --method svd
same_ranks factored.cpu.csv factored.cuda.csv
same_ranks factored.cpu.csv entries.cuda.csv
# Matrices so large that they are counted one by one, by two threads. At 5e-7 the values near the
# threshold are measured; at 1e-10 no count is certain.
train cpu long --task lm --attention softmax --heads 2 --head-dim 6 --length 520
for threshold in 1e-6 5e-7 1e-10; do
    for device in cpu cuda; do
        method=count
        [ $device = cuda ] || method=svd
        "${programs}mgk-rank" --device $device --model long.cpu.safetensors --text text.txt \
            --matrices 2 --layers 0 --precision double --threshold $threshold --method $method \
            --threads 2 --quiet -f -o long.$device.csv
    done
    same 0 5 long.cpu.csv long.cuda.csv
    counted=$(awk -F, 'NR > 1 && $8 == ""' long.cuda.csv | wc -l)
    [ "$counted" -eq "$([ $threshold = 1e-10 ] && echo 0 || echo 2)" ] ||
        { echo "FAILED: $counted of 2 ranks at $threshold are counted"; exit 1; }
done
# The same in two steps, a few matrices per batch, in double precision and from a store.
"${programs}mgk-dump" long.cpu.safetensors --text text.txt --samples 1 --layers 0 \
    --precision double --dtype f64 --quiet -o long.h5
rank cpu long.stored long.h5
EMULATOR_MEMORY=12000000 rank cuda long.stored long.h5 --method bisection
for device in cpu cuda; do
    method=bisection
    [ $device = cuda ] || method=svd
    rank $device long.model --model long.cpu.safetensors --text text.txt --matrices 2 --layers 0 \
        --precision double --method $method
done
same_ranks long.stored.cpu.csv long.stored.cuda.csv
same_ranks long.model.cpu.csv long.model.cuda.csv
for name in pairs soft hard; do
    same 1e-3 "$(head -1 $name.cpu.csv | tr , '\n' | grep -nx train_loss | cut -d: -f1)" \
        $name.cpu.csv $name.cuda.csv
done
echo "both devices agree"
