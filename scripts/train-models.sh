#!/bin/sh
# SPDX-License-Identifier: MIT
# Trains the retrieval models that figures are drawn from. This is the one place where their
# hyper-parameters stand; models/README.md refers to it. Those of the other models are in study.sh.
set -eu

usage() {
    cat << 'END'
Usage: sh scripts/train-models.sh --train FILE --held-out FILE [--output DIR] [MODEL...]
Trains the retrieval models that figures are drawn from: all six, or the named ones.

  --train FILE      Text to learn from, split into articles at WikiText titles.
  --held-out FILE   Text to evaluate on.
  --output DIR      Where models (.safetensors) and logs (.csv) go (default: models).
  --help            Print this text.

Models that are there already are kept; a run that was interrupted continues. The programs
must have been built (cmake --build --preset cpu).
END
}

# What they have in common.
common="--task retrieval --layers 2 --dim 64 --head-dim 32 --hidden 128 --length 1024
    --batch 8 --steps 300 --lr 1e-3 --warmup 50
    --eval-every 150 --eval-samples 1000 --log-every 10 --seed 1"

# Name, attention, heads.
runs="\
retrieval-softmax-4 softmax 4
retrieval-mgk-4     mgk     4
retrieval-mgk-2     mgk     2
retrieval-softmax-2 softmax 2
retrieval-mgk-1     mgk     1
retrieval-smgk-1    smgk    1"

wrong_usage() {
    echo "train-models.sh: $1 (see --help)" >&2
    exit 2
}

# train NAME ATTENTION HEADS: the model is moved to its place when it is finished.
train() {
    name=$1 attention=$2 heads=$3
    set -- $common
    unfinished=$output/unfinished
    mkdir -p "$unfinished"
    state=$unfinished/$name.safetensors.checkpoint
    [ ! -e "$state" ] || set -- "$@" --resume "$state"
    echo "Training $name" >&2
    build/cpu/bin/mgk-train "$@" --attention "$attention" --heads "$heads" \
        --data "$text" --held-out "$held_out" --log "$unfinished/$name.csv" --force \
        -o "$unfinished/$name.safetensors"
    mv "$unfinished/$name.csv" "$unfinished/$name.safetensors" "$output"
    rmdir "$unfinished" 2> /dev/null || true
}

text="" held_out="" output="" wanted=""
while [ $# -gt 0 ]; do
    case $1 in
    --train | --held-out | --output) [ $# -ge 2 ] || wrong_usage "$1 needs a value" ;;
    esac
    case $1 in
    --help) usage; exit 0 ;;
    --train) text=$(realpath "$2"); shift ;;
    --held-out) held_out=$(realpath "$2"); shift ;;
    --output) output=$(realpath -m "$2"); shift ;;
    -*) wrong_usage "unknown option $1" ;;
    *) echo "$runs" | grep -q "^$1 " || wrong_usage "no model is called $1"
       wanted="$wanted $1" ;;
    esac
    shift
done
[ -n "$text" ] && [ -n "$held_out" ] || wrong_usage "--train and --held-out are needed"
cd "$(dirname "$0")/.."
output=${output:-models}

echo "$runs" | while read -r name attention heads; do
    case " ${wanted:-$name} " in
    *" $name "*) ;;
    *) continue ;;
    esac
    [ ! -e "$output/$name.safetensors" ] || continue
    train "$name" "$attention" "$heads"
done
