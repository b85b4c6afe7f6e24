#!/bin/sh
# SPDX-License-Identifier: MIT
# With limited address space every program finishes, or fails with one line: OpenBLAS alone would
# wait forever for memory. Usage: memory_limit.sh TOP BIN FOLDER
set -eu
top=$1 bin=$2 folder=$3
rm -rf "$folder" && mkdir -p "$folder"
cd "$folder"
model=$top/models/lm-mgk-4.safetensors text=$top/models/sample.txt
"$bin/mgk-dump" "$model" --text "$text" --samples 2 --layers 0 --quiet -o store.h5

failures=0 successes=0
# limited PROGRAM OPTION...: exit status 0, or 1 with one line.
limited() {
    status=0
    (ulimit -v "$limit" && exec timeout -s KILL 60 "$bin/$@") > out.txt 2> err.txt || status=$?
    case $status in
    0) successes=$((successes + 1)) ;;
    1) failures=$((failures + 1)) && [ "$(wc -l < err.txt)" -eq 1 ] || fail "$@" ;;
    127) : ;; # the loader itself had no room
    *) fail "$@" ;;
    esac
}
fail() {
    echo "with $limit KiB, $*: exit status $status, $(cat err.txt)"
    exit 1
}

for limit in 150000 200000 250000 300000 350000 400000 450000 500000 700000; do
    limited mgk-dump "$model" --text "$text" --samples 2 --layers 0 --threads 2 -qf -o dump.h5
    limited mgk-rank store.h5 --method count --threads 2 -qf -o rank.csv
    limited mgk-rank store.h5 --matrices 1 --threads 2 -qf -o rank.csv
    limited mgk-rank --model "$model" --text "$text" --samples 2 --matrices 2 --threads 2 -qf -o rank.csv
    limited mgk-train --task listops --listops-above 10 --listops-below 60 --length 60 --steps 2 \
        --warmup 1 --batch 4 --eval-samples 4 --threads 2 -qf -o model.safetensors
    limited mgk-plot attention store.h5 -qf -o plot.png
    limited mgk-info store.h5
done
[ "$failures" -gt 0 ] || { echo "no limit was small enough" && exit 1; }
[ "$successes" -gt 20 ] || { echo "only $successes runs had memory enough" && exit 1; }

# Files may be larger than the address space: stores, and NumPy files in C order, are read in parts;
# one in Fortran order is mapped, and a failure to map it is reported plainly.
truncate -s 4G store.h5
limit=2000000
(ulimit -v "$limit" && "$bin/mgk-rank" store.h5 --matrices 1 --threads 2 -q) > out.txt 2> err.txt ||
    { status=$? && fail mgk-rank, a large store; }
# large ORDER MESSAGE: an array of zeros of 4 GB is refused with this message.
large() {
    { printf '\223NUMPY\001\000\166\000%-117s\n' \
        "{'descr': '<f8', 'fortran_order': $1, 'shape': (511, 1024, 1024), }"; } > large.npy
    truncate -s $((128 + 511 * 8 * 1048576)) large.npy
    status=0
    (ulimit -v "$limit" && "$bin/mgk-rank" large.npy -q) > out.txt 2> err.txt || status=$?
    [ "$status" -eq 1 ] && grep -q "^mgk-rank: large.npy: $2" err.txt || fail "mgk-rank, $1"
}
large False 'sample [0-9]*, layer 0, head 0: row 0 is all zeros'
large True 'its 4286578816 bytes do not fit into the memory .*ulimit -v'
