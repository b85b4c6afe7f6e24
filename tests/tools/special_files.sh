#!/bin/sh
# SPDX-License-Identifier: MIT
# Empty files that claim a terabyte, pipes without a writer, devices and folders in place of every
# input: each is refused within seconds, in one line. Usage: special_files.sh PROGRAMS FOLDER
set -u
. "$(dirname "$0")/begin.sh"

# refuse PROGRAM ARGUMENTS...
refuse() {
    name=$1
    shift
    timeout -k 1 10 "$programs/$name" "$@" >stdout 2>stderr
    found=$?
    [ $found -eq 1 ] || complain "$name $*: exit status $found"
    [ "$(wc -l <stderr)" -eq 1 ] && grep -q "^$name: " stderr || complain "$name $*: $(cat stderr)"
}

write_text 100 >text.txt
train="--layers 1 --heads 1 --dim 4 --head-dim 2 --hidden 4 --length 16 --steps 1 --batch 1
    --warmup 0 -q --threads 1 -o out.safetensors"
"$programs/mgk-train" --task lm --data text.txt ${train% -o out.safetensors} -f -o model.safetensors || exit 1
"$programs/mgk-dump" model.safetensors --text text.txt --samples 1 -q --threads 1 -o store.h5 ||
    exit 1

mkfifo pipe || exit 1
mkdir folder
ln -s /dev/zero device
truncate -s 1T hole 2>stderr || {
    echo "SKIPPED: no file of a terabyte: $(cat stderr)"
    truncate -s 8G hole || exit 1
}
size=$(wc -c <hole)
# large NAME BEGINNING: makes a file that starts with BEGINNING and continues with zeros.
large() {
    printf "$2" >"$1"
    truncate -s "$size" "$1"
}
large json '{"model_type": "bert"'
large csv 'sample,layer,head,n,rank,undecided\n'
large log 'step,tokens,learning_rate,train_loss,gradient_norm,eval_loss,accuracy,bits_per_byte,perplexity\n'
large merges '#version: 0.2\n'
large png '\211PNG\r\n\032\n'
large npy '\223NUMPY\001\000'
large zip 'PK\003\004'
large pickle '\200\002\212\nl\374\234F\371 j\250P\031.'
large hdf5 '\211HDF\r\n\032\n'
large pairs '1.0\t'
large tsv 'Source\tTarget\n'

# One of each reader of inputs; keys are read as attention is.
kinds="attention weights ranks curves cost"
for file in pipe folder device hole json csv log merges png npy zip pickle hdf5; do
    refuse mgk-info $file
    refuse mgk-dump $file --text text.txt -q -o out.h5
    refuse mgk-dump model.safetensors --tokens $file -q -o out.h5
    refuse mgk-dump model.safetensors --text text.txt --tokenizer $file -q -o out.h5
    refuse mgk-rank $file -q -o out.csv
    refuse mgk-rank --model $file --text text.txt -q -o out.csv
    refuse mgk-convert $file -o out.safetensors
    refuse mgk-train --task listops --data $file $train
    for kind in $kinds; do
        refuse mgk-plot $kind $file -o out.png
    done
    refuse mgk-plot attention store.h5 --labels-file $file -o out.png
done
refuse mgk-train --task listops --data tsv $train
refuse mgk-train --task retrieval --data pairs $train
for file in pipe folder device; do
    refuse mgk-dump model.safetensors --text $file -q -o out.h5
    refuse mgk-train --task lm --data $file $train
    refuse mgk-train --task retrieval --data $file $train
    refuse mgk-train --task text --data $file $train
done

# Special files next to a model, and next to each other.
printf '{"model_type": "bert"}' >config
for file in pipe folder device hole json; do
    for name in model.safetensors model.safetensors.index.json pytorch_model.bin \
        pytorch_model.bin.index.json config.json; do
        rm -rf model && mkdir model
        cp text.txt model/model.safetensors
        [ $name = config.json ] || rm model/model.safetensors
        ln -s "../$file" model/$name
        refuse mgk-info model
    done
    for name in tokenizer.json vocab.txt vocab.json merges.txt tokenizer_config.json \
        added_tokens.json special_tokens_map.json; do
        rm -rf model && mkdir model
        case $name in
        vocab.json | merges.txt)
            printf '{"a": 0}' >model/vocab.json
            printf '#version: 0.2\n' >model/merges.txt
            ;;
        *) printf '[UNK]\na\n' >model/vocab.txt ;;
        esac
        rm -f model/$name
        ln -s "../$file" model/$name
        # Next to a vocabulary, a special file counts as missing.
        case $name$file in *config.json[pfd]* | added*[pfd]* | special*[pfd]*) continue ;; esac
        refuse mgk-dump model.safetensors --text text.txt --tokenizer model -q -o out.h5
    done
done
[ -e out.h5 ] || [ -e out.csv ] || [ -e out.png ] && complain "an output is left"

[ $failures -eq 0 ] && echo "all refused in time"
exit $failures
