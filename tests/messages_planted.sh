#!/bin/sh
# SPDX-License-Identifier: MIT
# The check of messages must find violations in a copy of the tree. Usage: messages_planted.sh TOP
set -eu
top=$1
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$top/src" "$top/kernels" "$top/analysis" "$top/plots" "$copy"

sh "$top/tests/messages.sh" "$copy"
plant() {
    printf '%s\n' "$2" > "$copy/$1"
    if sh "$top/tests/messages.sh" "$copy" > "$copy/report"; then
        echo "not found: $2"
        exit 1
    fi
    grep -q "^$1:1: " "$copy/report"
    rm "$copy/$1"
}
plant src/run/planted.c 'mgk_fail(status, "%s: exists (--force replaces it)", path);'
plant src/run/planted.c "call('\"', \"\\\"x\\\": --force replaces it\");"
plant plots/planted.c '"--force: unknown"'
plant analysis/planted.c '"continues a run with an output (-o)"'
plant kernels/planted.cu '"give ids with `no_such_field`"'
plant src/base/planted.h '"give ids with `Tokens`"'
plant src/data/planted.c '"a run of `done` steps": a field, but of no program'

sed '1s,^,/* MGK_NOWHERE: no such result */ ,' "$top/src/mgk.h" > "$copy/src/mgk.h"
if sh "$top/tests/messages.sh" "$copy" > "$copy/report"; then
    echo "not found: a result that does not exist"
    exit 1
fi
grep -qx 'src/mgk.h:1: MGK_NOWHERE is not declared' "$copy/report"
