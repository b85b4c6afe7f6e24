#!/bin/sh
# SPDX-License-Identifier: MIT
# The study of docs/study.md: trains its models, evaluates them, and measures how diverse their attention is.
set -eu
scripts=$(realpath "$(dirname "$0")")
. "$scripts/runs.sh"

usage() {
    cat << 'END'
Usage: sh scripts/study.sh --output DIR (--books DIR | --reviews DIR)... [options]
Trains the models of the study "does a mixture of Gaussian keys make attention more diverse?" and
writes, for each group of models and each seed, DIR/GROUP-seedS.*.csv: results (losses, accuracies),
measures (of each layer and head, and differences to softmax with all heads), control (differences
to softmax with half the heads). DIR/study.md has tables of them, of means over seeds. Of each model
DIR/NAME.result and .measures.h5 are all that this needs; .steps.h5 is rank and effective rank during
training.

  --output DIR      Where all files go. What is finished there is kept: after an interruption the
                    same command continues. Several commands, each with seeds or groups of its own,
                    can share it.
  --books DIR       Language models, and passages: train, valid and test with .txt files at any depth.
  --reviews DIR     Text: train, val and test, each with pos/ and neg/.
  --groups LIST     Such as listops,text,passages,lm (default: those that have data; lists are generated).
  --seeds LIST      Such as 0,1,2 (default: 0,1,2).
  --threads N       CPU threads (default: all).
  --quick           Tiny models, a few steps: does everything work?
  --programs DIR    The built programs (default: build/cpu/bin).
  --help            Print this text.
END
}

wrong_usage() {
    echo "study.sh: $1 (see --help)" >&2
    exit 2
}

# Kind and heads of each design: softmax with all heads comes first, softmax with half of them last.
classifiers="softmax-4 mgk-4 mgk-2 smgk-2 softmax-2"
language_models="softmax-8 mgk-8 mgk-4 smgk-4 softmax-4"

# Measures of all models, and of mixtures.
measures=rank,effective_rank,stable_rank,normalized_entropy,mean_js,effective_heads,rank_collapse,token_cosine
of_mgk=,key_use,key_separation,key_weight_cosine
of_smgk=,key_use,key_separation

# measure NAME KIND OPTION...: tables of the model and of its states during training.
measure() {
    name=$1 kind=$2
    shift 2
    case $kind in
    mgk) own=$of_mgk ;;
    smgk) own=$of_smgk ;;
    *) own= ;;
    esac
    quietly mgk-diversity --precision double $threads --samples $((measured / 8)) --measures rank,effective_rank --force \
        -o "$name.steps.h5" "$@" --model "$name".step-*.safetensors > run$$.table
    quietly mgk-diversity --precision double $threads --samples "$measured" --measures "$measures$own" --force \
        -o "$name.measures.h5" "$@" --model "$name.safetensors" > run$$.table
}

columns=model,samples,loss,accuracy,perplexity,bits_per_byte,parameters,flops_forward

# result NAME OPTION...: a row of results: the numbers of mgk-eval and the size of the model.
result() {
    name=$1
    shift
    quietly mgk-eval "$name.safetensors" "$@" $threads --csv > run$$.eval
    "$programs/mgk-info" --json "$name.safetensors" > run$$.json
    echo "$name,$(cell run$$.eval samples),$(cell run$$.eval loss),$(cell run$$.eval accuracy),$(cell run$$.eval perplexity),\
$(cell run$$.eval bits_per_byte),$(total run$$.json parameters),$(total run$$.json flops_forward)"
}

# long_reviews FROM TO: links to the reviews with most words, which fill all tokens of a sample.
long_reviews() {
    [ ! -d "$2" ] || return 0
    mkdir -p "$2.part$$/pos" "$2.part$$/neg"
    (cd "$1" && find pos neg -name '*.txt' -exec wc -w {} + | awk '$2 != "total"') | LC_ALL=C sort -k1,1nr -k2 |
        head -n "$measured" | while read -r words file; do
            ln -s "$1/$file" "$2.part$$/$file"
        done
    mv "$2.part$$" "$2"
}

# study GROUP SEED
study() {
    group=$1 seed=$2
    unit=$group-seed$seed
    [ ! -e "$unit.results.csv" ] || return 0
    case $group in
    listops)
        designs=$classifiers common="$lists --task listops"
        tested="--task listops --samples $unseen --seed 1000"
        measured_on="--task listops --listops-above $long_lists --seed 1000"
        ;;
    lm)
        designs=$language_models common="$language --task lm --data train.txt --held-out valid.txt"
        tested="--text test.txt" measured_on="--text test.txt"
        ;;
    text)
        designs=$classifiers common="$classifier --batch $reviews_batch --task text --data $reviews/train --held-out $reviews/val"
        tested="--task text --data $reviews/test" measured_on="--task text --data long"
        ;;
    passages)
        designs=$classifiers common="$classifier --batch $pairs_batch --task retrieval --data train.txt --held-out valid.txt"
        tested="--task retrieval --data test.txt --samples $unseen --seed 1000" measured_on="--task retrieval --data test.txt"
        ;;
    esac
    tables="" controlled="" rows=""
    for design in $designs; do
        name=$group-$design-seed$seed kind=${design%-*} heads=${design#*-}
        tables="$tables $name.measures.h5" rows="$rows $name.result"
        [ "$heads" = "${designs##*-}" ] && [ "$kind" != softmax ] && controlled="$controlled $name.measures.h5"
        [ ! -e "$name.result" ] || [ ! -e "$name.measures.h5" ] || continue
        if [ ! -e "$name.safetensors" ] || [ -e "$name.safetensors.checkpoint" ]; then
            echo "$name" >&2
            trains "$name" $common --attention "$kind" --heads "$heads" --seed "$seed" --keep $threads
            rm -f "$name.safetensors.checkpoint"
        fi
        measure "$name" "$kind" $measured_on
        result "$name" $tested > "$name.part"
        mv "$name.part" "$name.result"
    done
    echo "$unit: comparisons" >&2
    quietly mgk-diversity --compare $threads --force -o "$unit.measures.csv" $tables > run$$.table
    quietly mgk-diversity --compare $threads --force -o "$unit.control.csv" "$group-${designs##* }-seed$seed.measures.h5" \
        $controlled > run$$.table
    { echo $columns && cat $rows; } > "$unit.part"
    mv "$unit.part" "$unit.results.csv"
}

output="" books="" reviews="" groups="" seeds=0,1,2 threads="" quick=no programs=$scripts/../build/cpu/bin
while [ $# -gt 0 ]; do
    case $1 in
    --output | --books | --reviews | --groups | --seeds | --threads | --programs) [ $# -ge 2 ] || wrong_usage "$1 needs a value" ;;
    esac
    case $1 in
    --help) usage; exit 0 ;;
    --quick) quick=yes ;;
    --output) output=$2; shift ;;
    --books) books=$(realpath "$2"); shift ;;
    --reviews) reviews=$(realpath "$2"); shift ;;
    --groups) groups=$2; shift ;;
    --seeds) seeds=$2; shift ;;
    --threads) threads="--threads $2"; shift ;;
    --programs) programs=$2; shift ;;
    *) wrong_usage "unexpected \"$1\"" ;;
    esac
    shift
done
[ -n "$output" ] || wrong_usage "no --output"
[ -n "$groups" ] || groups="listops${reviews:+,text}${books:+,passages,lm}"
echo "$groups" | grep -qxE '(listops|text|passages|lm)(,(listops|text|passages|lm))*' ||
    wrong_usage "--groups $groups: expected listops,text,passages,lm"
echo "$seeds" | grep -qxE '[0-9]+(,[0-9]+)*' || wrong_usage "--seeds $seeds: expected numbers"
programs=$(realpath "$programs")
[ -x "$programs/mgk-train" ] || wrong_usage "$programs has no mgk-train: build it, or give --programs"
if [ "$quick" = yes ]; then
    measured=8 unseen=8 reviews_batch=2 pairs_batch=2 long_lists=24
    sizes="--layers 2 --dim 16 --head-dim 4 --hidden 16 --length 32 --steps 4 --warmup 1 --eval-samples 8 --eval-every 2"
    lists="$sizes --batch 2 --checkpoint-every 2"
    classifier="$sizes --tokenizer words --vocabulary 300 --checkpoint-every 2"
    language="$sizes --batch 2 --tokenizer bpe --vocabulary 300 --checkpoint-every 2"
else
    measured=64 unseen=4000 reviews_batch=16 pairs_batch=8 long_lists=448
    small="--layers 2 --dim 64 --head-dim 16 --hidden 128 --steps 1200 --lr 0.001 --warmup 100 --schedule cosine
        --eval-samples 1000 --eval-every 100 --checkpoint-every 100"
    classifier="$small --length 1024 --tokenizer words --vocabulary 8192 --dropout 0.1"
    lists="$small --length 512 --batch 32"
    language="--layers 6 --dim 128 --head-dim 16 --hidden 512 --length 256 --positions learned --tokenizer bpe
        --vocabulary 4096 --steps 8000 --batch 16 --lr 0.002 --warmup 300 --schedule cosine --eval-samples 1000
        --eval-every 250 --checkpoint-every 250"
fi

mkdir -p "$output"
cd "$output"
case $groups in
*lm* | *passages*)
    [ -n "$books" ] || wrong_usage "language models and passages need --books"
    for split in train valid test; do
        gather "$books/$split" $split.txt
    done
    ;;
esac
case $groups in
*text*)
    [ -n "$reviews" ] || wrong_usage "text needs --reviews"
    long_reviews "$reviews/test" long
    ;;
esac
for seed in $(echo "$seeds" | tr , ' '); do
    for group in $(echo "$groups" | tr , ' '); do
        study "$group" "$seed"
        awk -f "$scripts/study.awk" ./*-seed*.results.csv ./*-seed*.measures.csv ./*-seed*.control.csv > run$$.md
        mv run$$.md study.md
    done
done
rm -f run$$.*
