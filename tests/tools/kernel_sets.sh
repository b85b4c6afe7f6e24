#!/bin/sh
# SPDX-License-Identifier: MIT
# Ranks do not depend on the kernels: trained models give the same tables of ranks on every
# level of the toolkit's own kernels, and with every kernel set of OpenBLAS, that this processor
# runs. Usage: kernel_sets.sh TOP BIN FOLDER
set -eu
top=$1 bin=$2 folder=$3
rm -rf "$folder" && mkdir -p "$folder"
cd "$folder"
unset MGK_CPU_LEVEL OPENBLAS_CORETYPE

level=$("$bin/mgk-info" --machine | sed -n 's/^processor_level *x86-64-v//p')
[ -n "$level" ] || { echo "not x86-64: one set of kernels" && exit 77; }

# count NAME VARIABLE=VALUE...: runs and counts all models under these settings.
count() {
    name=$1
    shift
    for file in "$top"/models/lm-*.safetensors "$top"/models/passages-*.safetensors; do
        model=$(basename "$file" .safetensors)
        case $model in
        lm-*) length=256 ;;
        *) length=400 ;;
        esac
        for method in svd count; do
            env "$@" "$bin/mgk-rank" --model "$file" --text "$top/models/sample.txt" --samples 1 \
                --length $length --precision double --matrices 0 --method $method --threads 1 \
                --quiet --force -o table.csv > /dev/null
            # sample, layer, head, n, rank, undecided
            cut -d , -f 1-6 table.csv | sort > "$name.$model.$method"
        done
        cmp "$name.$model.svd" "$name.$model.count"
        [ ! -e "first.$model.svd" ] || cmp "$name.$model.svd" "first.$model.svd"
    done
}

count first NONE=
[ "$(cat first.*.svd | wc -l)" -eq $((10 + 168 + 28)) ] # headers, matrices of each kind of model
tried=1
for own in 2 3 4; do
    [ $own -gt "$level" ] || { count "own$own" MGK_CPU_LEVEL=v$own && tried=$((tried + 1)); }
done
for set in 2:Nehalem 3:Haswell 4:SkylakeX; do
    [ "${set%%:*}" -gt "$level" ] || { count "blas${set##*:}" OPENBLAS_CORETYPE="${set##*:}" && tried=$((tried + 1)); }
done
echo "$tried sets of kernels give the same ranks on x86-64-v$level"
