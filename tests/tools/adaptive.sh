#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-train --adaptive-cutoffs and --adaptive-divisor: the model learns, and other programs run it; what makes no
# sense is refused. Usage: adaptive.sh PROGRAMS FOLDER
set -u
. "$(dirname "$0")/begin.sh"

# Numbers of two, three and one of ten words: 40 words in all, of which the first 10 are the most frequent.
awk 'BEGIN { for (i = 0; i < 4000; i++) printf "a%d b%d a%d c%d\n", i % 10, i * 7 % 20, (i + 1) % 10, i * 3 % 10 }' \
    >text.txt
few="--task lm --data text.txt --held-out text.txt --eval-samples 20 --tokenizer words --attention softmax --layers 1 \
    --heads 2 --dim 16 --head-dim 8 --hidden 16 --length 24 --batch 8 --lr 0.02 --threads 1 --quiet --force"

runs() {
    "$@" >stdout 2>stderr || complain "$*: $(cat stderr)"
}

refuses() {
    said=$1
    shift
    if "$programs/mgk-train" $few "$@" -o refused.safetensors 2>stderr; then
        complain "not refused: $*"
    fi
    grep -qF -- "$said" stderr || complain "no '$said' in: $(cat stderr)"
}

column() {
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } END { print $at }' "$1"
}

# The words are about ln 40 = 3.7 nats; which of them follows is nearly certain.
for divisor in 1 2; do
    model="--adaptive-cutoffs 11,31 --adaptive-divisor $divisor"
    runs "$programs/mgk-train" $few $model --steps 80 --log whole.csv -o whole.safetensors
    loss=$(column whole.csv eval_loss)
    awk -v loss="$loss" 'BEGIN { exit !(loss > 0 && loss < 2) }' || complain "divisor $divisor: held-out loss $loss"
    [ -z "$(column whole.csv eval_accuracy)" ] || complain "divisor $divisor: an accuracy that is not known"
    runs "$programs/mgk-eval" whole.safetensors --text text.txt --samples 20 --json
    grep -q '"accuracy": null' stdout || complain "divisor $divisor: $(cat stdout)"
    runs "$programs/mgk-dump" whole.safetensors --text text.txt --samples 2 -o whole.h5 --quiet
    runs "$programs/mgk-train" $few $model --steps 80 --log again.csv -o again.safetensors
    cmp whole.csv again.csv || complain "divisor $divisor: the same run has other losses"
    rm -f whole.h5
done
runs "$programs/mgk-info" whole.safetensors --all
for line in '  cutoff_divisor  *2' '  embedding.token.1.weight  *\[20, 8\]' '  embedding.token.2.weight  *\[[0-9]*, 4\]' \
    '  output.projection.weight  *\[16, 16\]'; do
    grep -qx -- "$line" stdout || complain "no line '$line' in: $(cat stdout)"
done

# Vectors of clusters are not taken for those of other words.
runs "$programs/mgk-train" $few --adaptive-cutoffs 11,31 --steps 1 --warmup 0 -o first.safetensors
for cutoffs in 11,31 9,31; do
    "$programs/mgk-train" ${few% --quiet*} --force --adaptive-cutoffs $cutoffs --steps 1 --warmup 0 --from first.safetensors \
        -o second.safetensors 2>stderr || complain "--from with cutoffs $cutoffs: $(cat stderr)"
    [ $cutoffs = 9,31 ] && left='the rest begins as usual: output.clusters.weight, output.clusters.bias' || left='gives all'
    grep -qF "$left" stderr || complain "cutoffs $cutoffs: $(cat stderr)"
done
runs "$programs/mgk-eval" --compare first.safetensors second.safetensors --text text.txt --samples 20 --csv
awk -F, 'NR == 3 { good = $8 $13 == "" && $9 != "" } END { exit !good }' stdout || complain "differences: $(cat stdout)"

refuses '--adaptive-cutoffs "11,5": expected ascending' --adaptive-cutoffs 11,5
refuses '--adaptive-cutoffs "11,": expected ascending' --adaptive-cutoffs 11,
refuses '4000 is not below the number of tokens' --adaptive-cutoffs 11,4000
refuses 'expected at most 8' --adaptive-cutoffs 1,2,3,4,5,6,7,8,9
refuses '--adaptive-divisor needs --adaptive-cutoffs' --adaptive-divisor 2
refuses '--adaptive-divisor is -2' --adaptive-cutoffs 11 --adaptive-divisor -2
refuses '--adaptive-divisor 20 leaves no numbers of --dim, 16' --adaptive-cutoffs 11 --adaptive-divisor 20
refuses 'adaptive softmax are not smoothed' --adaptive-cutoffs 11 --smoothing 0.1
few="--task listops --listops-above 3 --listops-below 16 --listops-samples 20 --length 16 --quiet --force"
refuses '--adaptive-cutoffs is for language models' --adaptive-cutoffs 3
[ "$failures" -eq 0 ]
