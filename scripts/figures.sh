#!/bin/sh
# SPDX-License-Identifier: MIT
# From the trained models to the figures of the paper and a table of mean ranks.
set -eu

usage() {
    cat << 'END'
Usage: sh scripts/figures.sh [--full] [--retrain --train FILE --held-out FILE]
Installs what is missing, builds the programs, runs the models in models/ on models/sample.txt,
counts the ranks of their attention matrices and draws the figures of the paper into out/, but 8, 9
and 10, for which there are no models. Then it compares the heads of all models and writes a page
about them, out/report.html.

  --full            Count 1000 matrices a layer of the retrieval models (1024 x 1024) too,
                    instead of 40.
  --retrain         First train the retrieval models anew, into out/models, and draw from those.
                    Models that an earlier such run has finished are kept.
  --train FILE      With --retrain: text to learn from.
  --held-out FILE   With --retrain: text to evaluate on.
  --help            Print this text.
END
}

wrong_usage() {
    echo "figures.sh: $1 (see --help)" >&2
    exit 2
}

language="lm-softmax-8 lm-mgk-8 lm-mgk-4"
retrieval="retrieval-softmax-4 retrieval-mgk-4 retrieval-mgk-2"
retrieval_small="retrieval-softmax-2 retrieval-mgk-1 retrieval-smgk-1"

# found FILE: where a file of a model is, trained anew or not.
found() {
    [ -e "$models/$1" ] && echo "$models/$1" || echo "models/$1"
}

# dump MODEL: attention and keys of one sample, and the key weights.
dump() {
    build/cpu/bin/mgk-dump "$(found "$1.safetensors")" --text models/sample.txt --samples 1 \
        --save attention,keys,weights --quiet --force -o "out/$1.h5"
}

# rank MODEL MATRICES: ranks of so many matrices of each layer, which are not stored.
rank() {
    echo "Ranks of $1, $2 matrices a layer" >&2
    build/cpu/bin/mgk-rank --model "$(found "$1.safetensors")" --text models/sample.txt \
        --matrices "$2" --force -o "out/$1.csv" > "out/$1.txt"
}

# files ENDING MODEL...: their files in out/.
files() {
    ending=$1
    shift
    for model; do
        echo "out/$model.$ending"
    done
}

# logs MODEL...: the logs of their training, which are beside them.
logs() {
    for model; do
        found "$model.csv"
    done
}

# figure NUMBER FILE...
figure() {
    number=$1
    shift
    build/cpu/bin/mgk-plot figure "$number" "$@" --quiet --force -o "out/figure$number.png"
}

# report MODEL...: one page about the heads of models, on four samples of 64 tokens.
report() {
    echo "Report on $*" >&2
    short="--text models/sample.txt --samples 4 --length 64 --quiet --force"
    tables="" stores=""
    for model; do
        build/cpu/bin/mgk-diversity --model "$(found "$model.safetensors")" $short --prune \
            -o "out/$model-heads.h5" > /dev/null
        build/cpu/bin/mgk-dump "$(found "$model.safetensors")" $short -o "out/$model-short.h5"
        tables="$tables out/$model-heads.h5" stores="$stores out/$model-short.h5"
    done
    build/cpu/bin/mgk-report $tables $stores --samples 2 --quiet --force -o out/report.html
}

# mean_ranks FILE...: a row for each model, a column for each layer.
mean_ranks() {
    awk -F, '
        FNR == 1 {
            for (i = 1; i <= NF; i++)
                column[$i] = i
            model = FILENAME
            gsub(/.*\/|\.csv$/, "", model)
            models[++model_count] = model
            next
        }
        {
            layer = $column["layer"] + 0
            sum[model, layer] += $column["rank"]
            count[model, layer]++
            tokens[model] = $column["n"]
            if (layer > last)
                last = layer
        }
        END {
            printf "%-20s %6s %8s", "mean rank", "tokens", "matrices"
            for (layer = 0; layer <= last; layer++)
                printf " %7s", "layer " layer
            printf "\n"
            for (m = 1; m <= model_count; m++) {
                model = models[m]
                printf "%-20s %6d %8d", model, tokens[model], count[model, 0]
                for (layer = 0; (model, layer) in count; layer++)
                    printf " %7.1f", sum[model, layer] / count[model, layer]
                printf "\n"
            }
        }' "$@"
}

models=models retrain=no text="" held_out="" retrieval_matrices=40
while [ $# -gt 0 ]; do
    case $1 in
    --train | --held-out) [ $# -ge 2 ] || wrong_usage "$1 needs a file" ;;
    esac
    case $1 in
    --help) usage; exit 0 ;;
    --full) retrieval_matrices=1000 ;;
    --retrain) retrain=yes ;;
    --train) text=$(realpath "$2"); shift ;;
    --held-out) held_out=$(realpath "$2"); shift ;;
    *) wrong_usage "unexpected \"$1\"" ;;
    esac
    shift
done
if [ "$retrain" = no ]; then
    [ -z "$text$held_out" ] || wrong_usage "--train and --held-out belong to --retrain"
else
    [ -n "$text" ] && [ -n "$held_out" ] || wrong_usage "--retrain needs --train and --held-out"
fi

cd "$(dirname "$0")/.."
sh scripts/packages.sh
cmake --preset cpu
cmake --build --preset cpu -j "$(nproc)" --target mgk-train mgk-dump mgk-rank mgk-diversity mgk-plot \
    mgk-report
mkdir -p out
if [ "$retrain" = yes ]; then
    models=out/models
    mkdir -p "$models"
    sh scripts/train-models.sh --train "$text" --held-out "$held_out" --output "$models"
fi

for model in $language; do
    dump "$model"
    rank "$model" 1000
done
for model in $retrieval $retrieval_small; do
    dump "$model"
    rank "$model" "$retrieval_matrices"
done

figure 1 $(logs $retrieval $retrieval_small)
figure 2 $(files h5 $retrieval) $(files csv $retrieval)
figure 4 $(logs $language)
for number in 3 7 13 14; do
    figure $number "$models/retrieval-softmax-4.safetensors"
done
figure 5 $(files h5 $language)
# Rank files do not say which attention they are of.
figure 6 $(files csv $language) --name "softmax, 8 heads" "MGK, 8 heads" "MGK, 4 heads"
figure 11 $(files h5 $retrieval_small)
figure 12 $(files h5 $retrieval_small)
report $language $retrieval $retrieval_small

echo
mean_ranks $(files csv $language $retrieval $retrieval_small)
echo
echo "Pictures:"
for number in 1 2 3 4 5 6 7 11 12 13 14; do
    echo "  out/figure$number.png"
done
echo "The heads of all models, for a browser:"
echo "  out/report.html"
