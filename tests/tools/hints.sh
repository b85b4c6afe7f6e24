#!/bin/sh
# SPDX-License-Identifier: MIT
# The library names fields of options, `head_dim`; programs print them as their own options. Usage:
# hints.sh PROGRAMS FOLDER GOLDEN
set -u
. "$(dirname "$0")/begin.sh"
authors=$3/authors

# says TEXT PROGRAM ARGUMENTS...: prints TEXT on standard error, in one line.
says() {
    text=$1 program=$2
    shift 2
    "$programs/$program" "$@" >stdout 2>stderr
    [ "$(wc -l <stderr)" -eq 1 ] || complain "$program $*: not one line: $(cat stderr)"
    grep -qF -- "$text" stderr || complain "$program $*: no '$text' in: $(cat stderr)"
}

cp "$authors/lra_linear.pt" "$authors/lra_mgk_em.pt" .
# In errors and in remarks.
says 'another is needed (--head-dim)' mgk-convert lra_linear.pt -o out.safetensors
says 'linear attention with two keys, too (--attention mlk)' mgk-convert lra_mgk_em.pt -o model.safetensors
says 'model.safetensors: exists (use --force to overwrite it)' mgk-convert lra_mgk_em.pt -q -o model.safetensors
says 'either files of matrices or --model' mgk-rank
# Several fields in one message.
says '--tokenizer and --lines are about text' mgk-dump "$3/hugging_face/vit" --images none.png \
    --tokenizer words -q -o store.h5
# A field whose option has another name.
says 'mgk-plot: --range: not an option of cost' mgk-plot cost model.safetensors --range 0:2 -o p.png
says 'mgk-plot: --sweep: not an option of cost' mgk-plot cost model.safetensors --sweep -o p.png
# Backquoted words without an option of the program stay unchanged.
for name in '`heads`' '`head-dim`' '`head_di`' '`head_dims`' '`force' 'force`' '``' '`'; do
    says "mgk-info: $name: No such file" mgk-info "$name"
done

exit "$((failures > 0))"
