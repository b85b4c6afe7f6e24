#!/bin/sh
# SPDX-License-Identifier: MIT
# --as: what a model of softmax that runs as another kind tells and writes, and which options do not go with it.
# Usage: as.sh PROGRAMS FOLDER
set -u
. "$(dirname "$0")/begin.sh"

lists="--task listops --samples 2 --length 24"
"$programs/mgk-train" --task listops --attention softmax --listops-above 10 --listops-below 24 --length 24 --steps 2 --batch 2 --eval-samples 2 \
    --layers 2 --heads 2 --dim 8 --head-dim 4 --hidden 8 --listops-samples 8 --quiet -o model.safetensors 2>stderr ||
    complain "mgk-train: $(cat stderr)"

# runs PROGRAM OPTIONS...: it succeeds; what it says is in `stderr`.
runs() {
    program=$1
    shift
    "$programs/$program" "$@" --force >stdout 2>stderr || complain "$program $*: $(cat stderr)"
}

# tells TEXT: the last program said so.
tells() {
    grep -qF -- "$1" stderr || complain "no '$1' in: $(cat stderr)"
}

# refuses TEXT PROGRAM OPTIONS...: wrong usage, with one line that contains TEXT.
refuses() {
    text=$1
    program=$2
    shift 2
    "$programs/$program" "$@" -o refused.csv >stdout 2>stderr
    [ $? -eq 2 ] || complain "$program $*: not refused as wrong usage"
    [ "$(wc -l <stderr)" -eq 1 ] || complain "$program $*: not one line: $(cat stderr)"
    tells "$text"
    [ ! -e refused.csv ] || complain "$program $*: writes a file"
}

# The errors of the layers that are exported are told, not of others below them.
runs mgk-dump model.safetensors $lists --as performer --features 8 -o performer.h5
tells 'run as performer: relative error of matrices 0.'
runs mgk-dump model.safetensors $lists --as performer,softmax --layers 1 -o second.h5
tells 'run as performer,softmax: relative error of matrices 0 on average, at most 0; of outputs 0, at most 0'
runs mgk-rank --model model.safetensors $lists --as performer,softmax --layers 1 -o ranks.csv
tells 'relative error of matrices 0 on average'
runs mgk-rank performer.h5 -o ranks.csv
runs mgk-diversity performer.h5 -o diversity.h5
# Pictures name the kind.
for what in 'attention --columns 4' 'performer 11'; do
    runs mgk-plot $what performer.h5 -o picture.png
    LC_ALL=C grep -aq 'Title.model, run as performer, [0-9]* heads*, sample' picture.png ||
        complain "$what: no kind in the title"
done
runs mgk-plot performer 14 performer.h5 -o picture.png
LC_ALL=C grep -aq 'Title.model, run as performer, [0-9]* samples*' picture.png || complain "no kind in the title of figure 14"

refuses '--as is about --model, not about files of matrices' mgk-rank performer.h5 --as performer
refuses 'settings of attention kinds without --as' mgk-rank performer.h5 --features 8
refuses 'settings of attention kinds without --as' mgk-diversity performer.h5 --kernel 3
refuses "settings of attention kinds without --as" mgk-diversity --model model.safetensors $lists --feature-map relu

exit $((failures > 0))
