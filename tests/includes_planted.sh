#!/bin/sh
# SPDX-License-Identifier: MIT
# The include check must find a violation in a copy of the tree. Usage: includes_planted.sh TOP
set -eu
top=$1
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$top/src" "$top/kernels" "$top/analysis" "$top/plots" "$copy"

sh "$top/tests/includes.sh" "$copy"
plant() {
    case $2 in
    "<"*) printf '#include %s\n' "$2" ;;
    *) printf '#include "%s"\n' "$2" ;;
    esac > "$copy/$1"
    if sh "$top/tests/includes.sh" "$copy" > "$copy/report"; then
        echo "not found: $1 including $2"
        exit 1
    fi
    grep -q "^$1:1: " "$copy/report"
    rm "$copy/$1"
}
plant plots/planted.c model/core/model.h
plant kernels/planted.c data/datasets/dataset.h
plant src/base/planted.h kernels/backend.h
plant src/tools/planted.c model/core/model.h
plant src/data/planted.c mgk.h
plant analysis/planted.c store/schema/reader.h
plant plots/planted.c "<model/core/model.h>"
plant src/data/planted.c "<mgk.h>"
plant src/base/planted.c "<kernels/backend.h>"
