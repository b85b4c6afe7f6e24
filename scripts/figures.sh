#!/bin/sh
# SPDX-License-Identifier: MIT
# From the trained models to the figures of the paper and a table of mean ranks.
set -eu

usage() {
    cat << 'END'
Usage: sh scripts/figures.sh
Installs what is missing, builds the programs, runs the models in models/ on models/sample.txt,
counts the ranks of their attention matrices and draws the figures of the paper into out/, but 8, 9
and 10, for which there are no models. Then it compares the heads of all models and writes two pages
about them, out/report.html and out/report-classifiers.html.
END
}

case $#:${1-} in
0:) ;;
1:--help) usage; exit 0 ;;
*) echo "figures.sh: unexpected \"$1\" (see --help)" >&2; exit 2 ;;
esac

# Softmax with all heads, MGK with as many, MGK with half as many.
language="lm-softmax-8 lm-mgk-8 lm-mgk-4"
passages="passages-softmax-4 passages-mgk-4 passages-mgk-2"
reviews="text-softmax-4 text-mgk-4 text-mgk-2 text-smgk-2 text-softmax-2"
lists="listops-softmax-4 listops-mgk-4 listops-mgk-2 listops-smgk-2 listops-softmax-2"
# Of which keys are drawn: one layer of the first ones and one of the last ones.
mixtures="lm-softmax-8 lm-mgk-4 lm-smgk-4" layers=0,4

# dump MODEL: attention and keys of one sample, and the key weights.
dump() {
    build/cpu/bin/mgk-dump "models/$1.safetensors" --text models/sample.txt --samples 1 \
        --save attention,keys,weights --quiet --force -o "out/$1.h5"
}

# rank MODEL: ranks of the matrices of each layer, which are not stored.
rank() {
    echo "Ranks of $1" >&2
    build/cpu/bin/mgk-rank --model "models/$1.safetensors" --text models/sample.txt \
        --precision double --force -o "out/$1.csv" > "out/$1.txt"
}

# files ENDING MODEL...: their files in out/.
files() {
    ending=$1
    shift
    for model; do
        echo "out/$model.$ending"
    done
}

# figure NUMBER INPUT...
figure() {
    number=$1
    shift
    build/cpu/bin/mgk-plot figure "$number" "$@" --quiet --force -o "out/figure$number.png"
}

# report PAGE MODEL...: a page about the heads of at most 16 models, on four samples of at most 64 tokens.
report() {
    page=$1
    shift
    echo "Report on $*" >&2
    tables="" stores=""
    for model; do
        case $model in
        listops-*) short="--task listops --listops-above 32 --listops-below 64" ;;
        *) short="--text models/sample.txt --length 64" ;;
        esac
        short="$short --samples 4 --quiet --force"
        build/cpu/bin/mgk-diversity --model "models/$model.safetensors" $short --prune \
            -o "out/$model-heads.h5" > /dev/null
        build/cpu/bin/mgk-dump "models/$model.safetensors" $short -o "out/$model-short.h5"
        tables="$tables out/$model-heads.h5" stores="$stores out/$model-short.h5"
    done
    build/cpu/bin/mgk-report $tables $stores --samples 2 --quiet --force -o "out/$page.html"
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

cd "$(dirname "$0")/.."
sh scripts/packages.sh
cmake --preset cpu
cmake --build --preset cpu -j "$(nproc)" --target mgk-dump mgk-rank mgk-diversity mgk-plot mgk-report
mkdir -p out

for model in $language $passages; do
    dump "$model"
    rank "$model"
done
dump lm-smgk-4

figure 1 models/passages-*.csv --smooth 15
figure 2 $(files h5 $passages) $(files csv $passages)
figure 4 models/lm-*.csv
for number in 3 7 13 14; do
    figure $number models/passages-softmax-4.safetensors
done
figure 5 $(files h5 $language)
# Rank files do not say which attention they are of.
figure 6 $(files csv $language) --name "softmax, 8 heads" "MGK, 8 heads" "MGK, 4 heads"
figure 11 $(files h5 $mixtures) --layers $layers
figure 12 $(files h5 $mixtures) --layers $layers
report report $language lm-softmax-4 lm-smgk-4 $passages passages-smgk-2 passages-softmax-2
report report-classifiers $reviews $lists

echo
mean_ranks $(files csv $language $passages)
echo
echo "Pictures:"
for number in 1 2 3 4 5 6 7 11 12 13 14; do
    echo "  out/figure$number.png"
done
echo "The heads of all models, for a browser:"
echo "  out/report.html              language models and models of passages"
echo "  out/report-classifiers.html  models of reviews and lists"
