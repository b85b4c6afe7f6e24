#!/bin/sh
# SPDX-License-Identifier: MIT
# Kinds of attention and their settings through the programs: models whose layers have different
# kinds, settings that are refused, and rows that do not sum to 1. Usage: kinds.sh PROGRAMS FOLDER
set -u
. "$(dirname "$0")/begin.sh"

few="--task listops --listops-above 10 --listops-below 40 --length 40 --steps 2 --batch 2 --eval-samples 2 \
    --layers 3 --heads 2 --dim 8 --head-dim 4 --hidden 8 --listops-samples 8 --quiet"

# trains NAME OPTIONS...: writes the model NAME.safetensors.
trains() {
    name=$1
    shift
    "$programs/mgk-train" $few "$@" -o "$name.safetensors" 2>stderr || complain "$*: $(cat stderr)"
}

# refuses TEXT OPTIONS...: wrong usage, with one line that contains TEXT.
refuses() {
    text=$1
    shift
    "$programs/mgk-train" $few "$@" -o refused.safetensors >stdout 2>stderr
    [ $? -eq 2 ] || complain "$*: not refused as wrong usage"
    [ "$(wc -l <stderr)" -eq 1 ] || complain "$*: not one line: $(cat stderr)"
    grep -qF -- "$text" stderr || complain "$*: no '$text' in: $(cat stderr)"
    [ ! -e refused.safetensors ] || complain "$*: writes a model"
}

# has LINE FILE
has() {
    grep -qx -- "$1" "$2" || complain "no line '$1' in: $(cat "$2")"
}

# exports MODEL STORE
exports() {
    "$programs/mgk-dump" "$1.safetensors" --task listops --samples 2 --length 40 --quiet --force -o "$1.h5" 2>stderr ||
        complain "mgk-dump $1: $(cat stderr)"
    "$programs/mgk-info" "$1.h5" --json >"$1.json" || complain "mgk-info $1.h5"
}

# Layers of different kinds; equal names are one.
trains mixed --attention softmax,mgk,softmax
"$programs/mgk-info" mixed.safetensors --all >info.txt || complain "mgk-info of a mixed model"
has '  attention  *softmax,mgk,softmax' info.txt
has '  softmax  *exp(q_i.k_j / sqrt(D))' info.txt
has '  mgk  *sum_r .*' info.txt
exports mixed
grep -q '"attention":	"softmax,mgk,softmax"' mixed.json || complain "no kinds in the store: $(cat mixed.json)"
grep -q '"row_normalized":	1' mixed.json || complain "row_normalized is not 1: $(cat mixed.json)"
trains same --attention mgk,mgk,mgk
"$programs/mgk-info" same.safetensors >info.txt || complain "mgk-info of a model"
has '  attention  *mgk' info.txt
has '  mixtures  *2' info.txt

# The number of keys is that of the layers whose kind is a mixture; 2 if it is not given. Stores and
# running models give the same measures, with empty cells for layers that lack them.
"$programs/mgk-info" mixed.safetensors >info.txt || complain "mgk-info of a mixed model"
has '  mixtures  *2' info.txt
trains keys --attention mgk,softmax,smgk --keys 3
input="--task listops --samples 2 --length 40 --precision double"
"$programs/mgk-dump" keys.safetensors $input --quiet --dtype f64 --save attention,queries,keys,weights -o keys.h5 ||
    complain "mgk-dump of layers of different keys"
"$programs/mgk-info" keys.h5 >info.txt || complain "mgk-info keys.h5"
grep -q '/keys .*shape \[2, 3, 2, 3, 40, 4\]' info.txt || complain "keys: $(cat info.txt)"
for measured in keys.h5 "--model keys.safetensors $input"; do
    "$programs/mgk-diversity" $measured --measures js,key_use,key_separation -f -o d.csv >out.txt 2>err.txt ||
        complain "$measured: $(cat err.txt)"
    grep -c '^[^,]*,head,key_use,,1,.*,,,0$' d.csv >count
    [ "$(cat count)" -eq 6 ] || complain "$measured: not 6 empty cells of key_use: $(cat d.csv)"
    ! grep -qi 'nan\|inf' d.csv || complain "$measured: $(cat d.csv)"
    "$programs/mgk-plot" mixture d.csv -f -o p.png 2>err.txt || complain "mgk-plot mixture: $(cat err.txt)"
done
for drawn in "weights keys.safetensors" "weights keys.h5" "keys keys.h5"; do
    "$programs/mgk-plot" $drawn -f -o p.png >out.txt 2>err.txt && complain "$drawn: not refused"
    grep -q 'key.* of a head: 3 in layer 0, but 1 in layer 1: choose --layers' err.txt || complain "$drawn: $(cat err.txt)"
    "$programs/mgk-plot" $drawn --layers 1 -f -o p.png 2>err.txt || complain "$drawn: $(cat err.txt)"
done

# A model whose rows do not sum to 1 says so, in its store and in notes; other software does not.
trains damped --attention softmax,softmax,mgk --normalizer-epsilon 0.9
exports damped
grep -q '"row_normalized":	0' damped.json || complain "row_normalized is not 0: $(cat damped.json)"
for input in damped.h5 "--model damped.safetensors --task listops --length 40"; do
    "$programs/mgk-rank" $input --matrices 2 -f -o ranks.csv >out.txt 2>err.txt || complain "$input: $(cat err.txt)"
    grep -q "do not sum to 1 .*: this attention does not normalise them" err.txt || complain "$input: $(cat err.txt)"
    "$programs/mgk-diversity" $input --samples 2 -f -o d.csv >out.txt 2>err.txt ||
        "$programs/mgk-diversity" $input -f -o d.csv >out.txt 2>err.txt || complain "$input: $(cat err.txt)"
    grep -q 'do not sum to 1 .*: this attention does not normalise them, and' err.txt || complain "$input: $(cat err.txt)"
done

# Outputs of heads are not computed from values that a kind's matrices do not weigh.
trains shared --attention multi-query
trains own --attention softmax,longformer,softmax
"$programs/mgk-dump" own.safetensors --task listops --samples 2 --length 40 --quiet --save attention,values -o own.h5 ||
    complain "mgk-dump of values"
for input in own.h5 "--model own.safetensors --task listops --samples 2 --length 40" \
    "--model shared.safetensors --task listops --samples 2 --length 40"; do
    "$programs/mgk-diversity" $input -f -o d.csv >out.txt 2>err.txt || complain "$input: $(cat err.txt)"
    grep -q 'not measured: cka_output, .* need matrices that weigh the values of each head' err.txt || complain "$input: $(cat err.txt)"
    ! grep -q cka_output d.csv || complain "$input: outputs of other values"
done

# Queries in no cluster have rows of zeros, which are told and not refused.
trains routed --attention routing --clusters 8
exports routed
for input in routed.h5 "--model routed.safetensors --task listops --length 40"; do
    "$programs/mgk-rank" $input --matrices 2 -f -o ranks.csv >out.txt 2>err.txt || complain "$input: $(cat err.txt)"
    grep -q "rows of zeros: " out.txt err.txt || complain "$input: $(cat out.txt err.txt)"
done
refuses 'attention "reformer": --clusters is 7, expected an even number' --attention reformer --clusters 7
refuses 'attention "reformer": --parts is 3, expected 1, or an even number' --attention reformer --parts 3

refuses 'attention "sofmax" is not a known kind; similar: softmax' --attention mgk,sofmax,mgk
refuses 'attention names 2 kinds: expected one, or one for each of 3 layers' --attention mgk,softmax
refuses 'attention "softmax" has one key per position, not 2' --attention softmax,linear,band --keys 2
refuses 'attention "softmax" has no prior: --prior' --attention softmax --prior em
refuses 'layer 1: attention "lazyformer" needs a layer of its kind below it' --attention softmax,lazyformer,lazyformer
refuses 'layer 0: attention "realformer" needs a layer of its kind above it' --attention realformer,mgk,mgk
refuses '2 variances: expected one, or one for each of 3 keys' --attention mgk,softmax,mgk --keys 3 --variance 1,2
refuses 'attention: expected a kind, or one for each layer with commas between them' --attention mgk,,mgk
refuses 'attention "softmax" has no --window; it has no settings' --attention softmax --window 3
refuses 'attention "mgk,softmax,mgk" has no --feature-map; it has' --attention mgk,softmax,mgk --feature-map relu
refuses '--feature-map "reul": expected one of positive, trigonometric, positive-offset, relu, sigmoid, exp, abs, gelu, cos, tanh, identity; similar: relu' --feature-map reul
refuses '--normalizer-epsilon: attention "nystrom,reformer,luna" divides rows by their sums alone, or by nothing' \
    --attention nystrom,reformer,luna --normalizer-epsilon 0.1
refuses '--landmarks is -1, expected 0 to' --landmarks -1
refuses '--redraw is 5, expected 0: the model has no random features' --attention softmax --redraw 5
refuses 'interval of new random features: -5' --redraw -5

# Each setting of the list is an option, which its kind takes.
"$programs/mgk-info" --kinds --json |
    sed -n 's/^[[ ]*{"name": "\([^"]*\)".*"parameters": {\([^}]*\)}.*/\1 \2/p' |
    while read -r kind settings; do
        [ -n "$settings" ] || continue
        "$programs/mgk-train" --help all >help.txt
        echo "$settings" | tr ',' '\n' | sed 's/^ *"\([a-z_]*\)".*/\1/' | tr _ - | while read -r option; do
            grep -q -- "--$option " help.txt || echo "$kind: no option --$option"
        done
    done >missing
[ ! -s missing ] || complain "$(cat missing)"
exit $failures
