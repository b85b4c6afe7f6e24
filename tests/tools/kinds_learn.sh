#!/bin/sh
# SPDX-License-Identifier: MIT
# Every kind of attention learns more than a model whose tokens see nothing but themselves: of lists, or of a
# text if it is for language models alone. Usage: kinds_learn.sh PROGRAMS FOLDER
set -u
. "$(dirname "$0")/begin.sh"

small="--layers 2 --heads 2 --dim 16 --head-dim 8 --hidden 32 --batch 16 --lr 1e-2 --eval-every 0 --quiet --force"
lists="--task listops --listops-above 3 --listops-below 10 --length 10 --listops-samples 2000 --eval-samples 500"
write_text 200 >text.txt
text="--task lm --data text.txt --held-out text.txt --length 32 --eval-samples 20"

# loss OPTIONS...: the loss, held out, of a model that was trained with them.
loss() {
    "$programs/mgk-train" $small --steps 400 "$@" --log log.csv -o learned.safetensors 2>stderr ||
        complain "$*: $(cat stderr)"
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "eval_loss") column = i } END { print $column }' log.csv
}

# For lists that are shorter than blocks by default. Each setting makes a kind cheaper, none poorer.
shrink() {
    tr ',' '\n' | sed -n '
        s/.*"block": .*/--block 3/p
        s/.*"clusters": .*/--clusters 2/p
        s/.*"features": 256$/--features 16/p
        s/.*"landmarks": .*/--landmarks 4/p'
}

alone="--attention block --block 1"
"$programs/mgk-info" --kinds --json |
    sed -n 's/^[[ ]*{"name": "\([^"]*\)".*"parameters": {\([^}]*\)}.*"causal": "\([a-z]*\)".*/\1 \3 \2/p' >kinds.txt
of_lists=$(loss $lists $alone) of_text=$(loss $text $alone)
while read -r kind causal settings; do
    data=$lists most=$of_lists
    [ "$causal" != only ] || data=$text most=$of_text
    own=$(loss $data --attention "$kind" $(echo "$settings" | shrink))
    awk -v own="$own" -v most="$most" 'BEGIN { exit !(own < 0.95 * most) }' ||
        complain "$kind does not learn: its loss is $own, and $most without other tokens"
done <kinds.txt
[ "$(wc -l <kinds.txt)" -gt 50 ] || complain "only $(wc -l <kinds.txt) kinds"
exit $failures
