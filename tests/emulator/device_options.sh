#!/bin/sh
# SPDX-License-Identifier: MIT
# Unusable devices, too little device memory, and TF32, with the programs on the emulated device.
# Usage: device_options.sh FOLDER_OF_PROGRAMS WORKING_FOLDER
set -u
. "$(dirname "$0")/../tools/begin.sh"

# refuse STATUS MESSAGE PROGRAM ARGUMENTS...: prints MESSAGE on one line, after its name.
refuse() {
    status=$1 message=$2
    name=$3
    shift 3
    "$programs/emulated-$name" "$@" >stdout 2>stderr
    found=$?
    [ $found -eq "$status" ] || complain "$name $*: exit status $found, not $status"
    [ "$(wc -l <stderr)" -eq 1 ] || complain "$name $*: $(wc -l <stderr) lines"
    grep -q "^$name: $message\$" stderr || complain "$name $*: says \"$(cat stderr)\""
    for left in out.*; do
        [ ! -e "$left" ] || complain "$name $*: leaves $left"
    done
    rm -f out.*
}

write_text 300 >text.txt
train="--task lm --heads 2 --head-dim 6 --length 40 --layers 2 --dim 12 --hidden 16 --data text.txt
    --steps 2 --warmup 1 --lr 1e-2 --log-every 1 --seed 3 --quiet"

"$programs/emulated-mgk-train" $train --device cpu --batch 2 -o model.safetensors || exit 1
dump="model.safetensors --text text.txt --samples 12 --seed 1 --quiet"
rank="--model model.safetensors --text text.txt --matrices 12 --seed 1 --quiet"

# Models that the CPU alone runs.
refuse 1 "cuda:0 (emulated on the CPU) does not run a model with capsules of its heads; the CPU does" \
    mgk-train $train --device cuda --aggregate capsules -o out.safetensors

# Devices.
refuse_device() {
    EMULATOR_FAULT=$1 refuse 1 "device cuda:0: $2" mgk-dump $dump --device cuda -o out.h5
    EMULATOR_FAULT=$1 refuse 1 "device cuda:0: $2" mgk-train $train --device cuda -o out.safetensors
}
refuse_device no_driver "there is no CUDA driver"
refuse_device old_driver "the driver is too old: it is for CUDA 12.4, this program needs 13.0"
refuse_device no_device "there is no CUDA device"
refuse_device busy "cudaSetDevice: cudaErrorDevicesUnavailable: of the emulator"
refuse_device no_kernel \
    "emulated on the CPU has compute capability 9.0, this program was not compiled for it"
refuse_device old_code \
    "emulated on the CPU has compute capability 9.0, this program was not compiled for it"
CUDA_VISIBLE_DEVICES=7 refuse_device no_device \
    'there is no CUDA device (CUDA_VISIBLE_DEVICES is "7")'
refuse 1 "device cuda:1: there is one CUDA device, cuda:0" mgk-dump $dump --device cuda:1 -o out.h5
refuse 2 'device "cuda:x": expected cuda or cuda:N' mgk-dump $dump --device cuda:x -o out.h5

# Training with a batch that does not fit, and with the suggested one.
# suggest PROGRAM ARGUMENTS...: tries --batch 1000 and then the batch that the message suggests.
suggest() {
    refuse 1 "a batch of 1000 takes [0-9.]* [kMGT]B, and $free has [0-9.]* [kMGT]B free; --batch [0-9]* would fit" "$@" \
        --batch 1000 -o out.safetensors
    batch=$(sed 's/.*--batch \([0-9]*\) would.*/\1/' stderr)
    [ "${batch:-0}" -gt "$least" ] || complain "$*: suggests a batch of $batch"
    name=$1
    shift
    "$programs/emulated-$name" "$@" --batch "$batch" -o fitting.safetensors -f ||
        complain "$name $*: --batch $batch does not fit"
}
free="cuda:0 (emulated on the CPU)" least=2
for kind in "softmax" "smgk --keys 3" "mlk --keys 2"; do
    EMULATOR_MEMORY=1000000 suggest mgk-train $train --device cuda --attention $kind
done
EMULATOR_MEMORY=1000000 suggest mgk-train $train --device cuda --held-out text.txt --eval-samples 4
EMULATOR_MEMORY=150000 refuse 1 \
    "a batch of 1 takes [0-9.]* [kMGT]B, and $free has [0-9.]* [kMGT]B free; not even a batch of 1 would fit" \
    mgk-train $train --device cuda --batch 1 -o out.safetensors
EMULATOR_MEMORY=10000 refuse 1 "$free: [0-9]* bytes wanted, [0-9]* of 10000 are free" \
    mgk-train $train --device cuda --batch 1 -o out.safetensors

# Exports and ranks use batches that fit; an export keeps its blocks on the device too.
EMULATOR_MEMORY=8000000 "$programs/emulated-mgk-dump" $dump --device cuda --save attention,scores \
    --precision double -o little.h5 || complain "no export within 8 MB"
for memory in 700000 20000000; do
    EMULATOR_MEMORY=$memory "$programs/emulated-mgk-rank" $rank --device cuda --precision double \
        -o $memory.csv >table || complain "no ranks within $memory bytes"
done
cut -d, -f1-6 700000.csv >few
cut -d, -f1-6 20000000.csv | cmp - few || complain "batches decide about ranks"
EMULATOR_MEMORY=60000 refuse 1 "$free: [0-9]* bytes wanted, [0-9]* of 60000 are free" \
    mgk-dump $dump --device cuda -o out.h5

# TF32: the option decides, not the environment; the store records it.
NVIDIA_TF32_OVERRIDE=1 "$programs/emulated-mgk-train" $train --device cuda --batch 2 --log full.csv \
    -o full.safetensors || complain "training in full precision"
"$programs/emulated-mgk-train" $train --device cuda --batch 2 --log again.csv -o again.safetensors
"$programs/emulated-mgk-train" $train --device cuda --batch 2 --log rounded.csv --tf32 \
    -o rounded.safetensors || complain "training with TF32"
cmp full.csv again.csv || complain "the environment allows TF32"
cmp -s full.csv rounded.csv && complain "--tf32 changes nothing"
"$programs/emulated-mgk-dump" $dump --device cuda --tf32 -o rounded.h5 || complain "export with TF32"
"$programs/mgk-info" --json rounded.h5 >info
grep -q '"cuda:0 (emulated on the CPU) with TF32"' info || complain "the store does not tell of TF32"
grep -q '"precision":.*"single"' info || complain "precision of the store"
"$programs/emulated-mgk-rank" $rank --device cuda --tf32 >table || complain "ranks with TF32"
for program in "mgk-dump $dump -o out.h5" "mgk-train $train -o out.safetensors" "mgk-rank $rank"; do
    for device in auto cpu; do
        refuse 2 "TF32 is for single precision on a GPU, not for the CPU" $program --tf32 --device $device
    done
    double="--precision double"
    case $program in mgk-train*) double=--double ;; esac
    refuse 2 "TF32 is for single precision, not for double" $program --tf32 --device cuda $double
done
refuse 2 "--tf32 is about --model, .*" mgk-rank rounded.h5 --tf32

[ $failures -eq 0 ] && echo "all as it should be"
exit $failures
