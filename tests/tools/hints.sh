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

# What is asked for and does not exist, or has another kind, is answered with what to do; an output that
# exists is told before anything is computed.
train="--task lm --attention mgk --layers 2 --heads 2 --dim 4 --head-dim 2 --hidden 4 --length 16 \
    --batch 1 --warmup 0 --threads 1"
write_text 40 >text.txt
"$programs/mgk-train" $train --data text.txt --steps 1 -q -o m.safetensors || exit 1
"$programs/mgk-dump" m.safetensors --text text.txt --samples 2 -q -o s.h5 || exit 1
says 'm.safetensors: --trained-with is for checkpoints of the code of Transformer-MGK' mgk-dump m.safetensors \
    --trained-with no_pos --text text.txt -q -o new.h5
says 'm.safetensors: says its head dimension and attention itself, without --head-dim and --attention' mgk-dump \
    m.safetensors --head-dim 2 --text text.txt -q -o new.h5
# A model has two spellings, of which one is needed.
"$programs/mgk-dump" --model m.safetensors --text text.txt --samples 2 -q -o named.h5 || complain "mgk-dump --model"
"$programs/mgk-eval" --model m.safetensors --text text.txt -q >named.txt || complain "mgk-eval --model"
"$programs/mgk-eval" m.safetensors --text text.txt -q | cmp - named.txt || complain "mgk-eval --model: another model"
says '2 MODELs: expected one' mgk-dump m.safetensors --model m.safetensors --text text.txt -q -o new.h5
says 'a MODEL is needed, before --text' mgk-dump -q -o new.h5 --text text.txt m.safetensors
says 'a MODEL is needed, before --text' mgk-eval --text text.txt m.safetensors
says '-o is needed' mgk-dump m.safetensors --text text.txt -q
says 'm.safetensors: no table: it has a zero byte' mgk-plot figure 6 m.safetensors -q -o new.png
for ending in npz npy csv JSON png; do
    says "s.$ending: an attention store is HDF5: expected the ending .h5" mgk-dump m.safetensors \
        --text text.txt -q -o s.$ending
done
for ending in h5 HDF5 pt bin npz; do
    says "t.$ending: a model is safetensors: expected the ending .safetensors" mgk-train $train --data text.txt \
        --steps 1 -q -o t.$ending
    says "t.$ending: a model is safetensors: expected the ending .safetensors" mgk-convert m.safetensors -q -o t.$ending
done
says 's.h5: exists (use' mgk-dump m.safetensors --text text.txt --layers 9 -q -o s.h5
touch p.png table.csv
says 'p.png: exists (use' mgk-plot attention s.h5 --layers 9 -q -o p.png
says 'p.png: exists (use' mgk-rank s.h5 --layers 9 -q --png p.png
says 'table.csv: exists (use' mgk-diversity s.h5 --layers 9 -q -o table.csv
says 'table.csv: exists (use' mgk-train $train --data none.txt --steps 1 -q -o new.safetensors --log table.csv
says 'layer 9: layers are 0 to 1' mgk-dump m.safetensors --text text.txt --layers 9 -q -o new.h5
says 's.h5: no layer 9 among its 2 layers, 0 to 1' mgk-rank s.h5 --layers 9 -q
says 's.h5: no layer 9 among its 2, 0 to 1' mgk-plot attention s.h5 --layers 9 -q -o new.png
mkdir -p models--org--name/snapshots/f00d
says 'name a snapshot in it, such as models--org--name/snapshots/f00d' mgk-info models--org--name
head -c 300 m.safetensors >cut.safetensors
says 'or a download that is not complete' mgk-info cut.safetensors
head -c "$(($(wc -c <m.safetensors) - 8))" m.safetensors >cut.safetensors
says 'a download that is not complete?' mgk-dump cut.safetensors --text text.txt -q -o new.h5
says 's.h5: not a file of tensors but of arrays' mgk-dump s.h5 --text text.txt -q -o new.h5
says 'a model is given by --model, and numpy.save stores tensors' mgk-rank lra_linear.pt -q
# Backquoted words without an option of the program stay unchanged.
for name in '`heads`' '`head-dim`' '`head_di`' '`head_dims`' '`force' 'force`' '``' '`'; do
    says "mgk-info: $name: No such file" mgk-info "$name"
done

exit "$((failures > 0))"
