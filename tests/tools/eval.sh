#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-eval as a program: lines, CSV and JSON say the same, names are quoted, and what was printed stays whole if a later
# model fails. Usage: eval.sh PROGRAMS FOLDER
set -u
. "$(dirname "$0")/begin.sh"
write_text 40 >text.txt
odd='a "b", \c.safetensors'
"$programs/mgk-train" --task lm --attention softmax --layers 1 --heads 1 --dim 8 --length 16 --data text.txt --steps 1 --batch 2 \
    --quiet --seed 1 -o "$odd"
run="--text text.txt --samples 8 --quiet --threads 1 --seed 1"

"$programs/mgk-eval" "$odd" $run >lines || complain "lines: exit status $?"
"$programs/mgk-eval" "$odd" $run --csv >csv || complain "--csv: exit status $?"
"$programs/mgk-eval" "$odd" $run --json >json || complain "--json: exit status $?"
[ "$(tail -n 1 csv | cut -c 1-28)" = '"a ""b"", \c.safetensors",8,' ] || complain "CSV: $(tail -n 1 csv)"
grep -qF '[{"model": "a \"b\", \\c.safetensors", "samples": 8, "length": 16, "targets": ' json || complain "JSON: $(cat json)"
loss=$(sed 's/.*"loss": \([0-9.]*\).*/\1/' json)
grep -qF ",$loss," csv || complain "CSV has not the loss $loss: $(cat csv)"
[ "$(tail -n 1 lines | awk '{print $4}')" = "$(printf '%.6g' "$loss")" ] || complain "lines have not the loss $loss: $(cat lines)"

"$programs/mgk-eval" "$odd" absent.safetensors $run --json >part 2>err && complain "an absent model is evaluated"
cmp -s part json || complain "JSON of the first model alone: $(cat part)"
[ "$(wc -l <err)" -eq 1 ] || complain "not one line: $(cat err)"
"$programs/mgk-eval" absent.safetensors $run --json >none 2>err && complain "an absent model is evaluated"
[ ! -s none ] || complain "output without a model: $(cat none)"

# -o writes what --csv and --json print, once all models are done.
for kind in csv json; do
    "$programs/mgk-eval" "$odd" $run -o "out.$kind" >told || complain "-o out.$kind: exit status $?"
    cmp -s "out.$kind" $kind || complain "out.$kind: $(cat "out.$kind")"
    cmp -s told lines || complain "beside -o: $(cat told)"
    "$programs/mgk-eval" "$odd" $run -o "-.$kind" >told || complain "-o -.$kind: exit status $?"
    cmp -s told $kind || complain "-.$kind: $(cat told)"
done
# fails STATUS TEXT ARGUMENTS...: one line on standard error, and no file.
fails() {
    expected=$1 text=$2
    shift 2
    "$programs/mgk-eval" "$@" >none 2>err
    [ $? -eq "$expected" ] || complain "$*: another exit status"
    [ "$(wc -l <err)" -eq 1 ] || complain "$*: not one line: $(cat err)"
    grep -qF -- "$text" err || complain "$*: $(cat err)"
}
fails 1 'absent.safetensors: ' "$odd" absent.safetensors $run -o new.csv
fails 1 'out.csv: exists (use --force to overwrite it)' absent.safetensors $run -o out.csv
fails 2 'out.txt: expected an ending .csv or .json' "$odd" $run -o out.txt
fails 1 'nowhere' "$odd" $run -o nowhere/out.csv
cp text.txt text.csv
fails 2 'text.csv' "$odd" --text text.csv --quiet --force -o text.csv
cmp -s text.txt text.csv || complain "an input was overwritten"
"$programs/mgk-eval" "$odd" "$odd" $run -o out.csv --force >none || complain "--force: exit status $?"
[ "$(wc -l <out.csv)" -eq 3 ] || complain "two models: $(cat out.csv)"
# A limit on file size simulates a full disk.
told=$(trap "" XFSZ; ulimit -f 0; "$programs/mgk-eval" "$odd" $run -o full.csv 2>&1 >/dev/null) && complain "a full disk"
case $told in *full.csv*) ;; *) complain "a full disk: $told" ;; esac
for left in new.csv out.txt full.csv *.mgk-*; do
    [ ! -e "$left" ] || complain "$left is left"
done

# The loss without a head is what mgk-diversity calls its importance, more than the loss with it.
"$programs/mgk-train" --task lm --attention softmax --layers 2 --heads 3 --dim 12 --length 16 --data text.txt --steps 20 --batch 2 \
    --quiet --seed 1 -o heads.safetensors
"$programs/mgk-diversity" --model heads.safetensors $run --precision double --measures importance_ablation -o importance.csv >none ||
    complain "importance: exit status $?"
# loss ARGUMENTS...: that of the evaluation.
loss() {
    "$programs/mgk-eval" heads.safetensors $run --precision double --csv "$@" | awk -F, 'NR == 2 { print $5 }'
}
whole=$(loss)
for head in 0.1 1.2; do
    difference=$(awk -F, -v head=$head '$3 == "importance_ablation" && $5 "." $6 == head { print $10 }' importance.csv)
    awk -v whole="$whole" -v without="$(loss --remove $head)" -v difference="$difference" \
        'BEGIN { d = without - whole - difference; exit !(difference != 0 && d < 1e-9 && -d < 1e-9) }' ||
        complain "--remove $head: $whole, $(loss --remove $head), importance $difference"
done
all=$(loss --remove 0,1)
[ "$all" != "$whole" ] && [ "$all" = "$(loss --remove '0-1.0-2')" ] && [ "$all" = "$(loss --remove '1.2 0.0-1, 1.0-1' 0.2)" ] ||
    complain "all heads are removed: $all"
fails 1 'heads.safetensors: --remove: layer 2: layers are 0 to 1' heads.safetensors $run --remove 0.1,2
fails 1 'heads.safetensors: --remove: layer 0, head 3: heads are 0 to 2' heads.safetensors $run --remove 0.1-3
fails 2 '--remove: more than 1048576 heads' heads.safetensors $run --remove 0-999999.0-999999
fails 2 '--remove: expected heads such as 0.2,1.0-3,4, got "3-1.0"' heads.safetensors $run --remove 0.1,3-1.0
for list in '' , 0.1.2 .1 1. x 0:1 -1; do
    fails 2 '--remove: expected heads such as 0.2,1.0-3,4, got "'"$list"'"' heads.safetensors $run --remove="$list"
done

# Differences are those of the rows, of the first model or of the same one with all heads; intervals hold them.
for length in 16 8; do
    "$programs/mgk-train" --task lm --attention softmax --layers 1 --heads 1 --dim 8 --length $length --data text.txt --steps 30 \
        --batch 2 --quiet --seed 2 -o length-$length.safetensors
done
cp "$odd" first.safetensors
many=$(echo "$run" | sed 's/--samples 8/--samples 20/')
# differences ROWS: each row but the first of ROWS rows has the difference to it, between its ends; others have none.
differences() {
    awk -F, -v rows="$1" 'function off(a, b) { return a - b > 1e-9 || b - a > 1e-9 }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        (NR - 2) % rows == 0 { loss = $at["loss"]; accuracy = $at["accuracy"]; bad += $at["loss_difference"] $at["accuracy_high"] != ""; next }
        { bad += off($at["loss"] - loss, $at["loss_difference"]) + off($at["accuracy"] - accuracy, $at["accuracy_difference"])
          bad += !($at["loss_low"] < $at["loss_difference"] && $at["loss_difference"] < $at["loss_high"]) }
        END { exit bad > 0 }' compared.csv || complain "differences: $(cat compared.csv)"
}
"$programs/mgk-eval" first.safetensors length-16.safetensors heads.safetensors $many --compare -o compared.csv >told || complain "--compare: exit status $?"
differences 3
[ "$(wc -l <told)" -eq 7 ] && grep -qF -- "$(awk -F, 'NR == 3 { printf "%+.4g (%+.4g to %+.4g) ", $9, $10, $11 }' compared.csv)" told &&
    grep -q ' length-16.safetensors - first.safetensors$' told || complain "lines of differences: $(cat told)"
"$programs/mgk-eval" heads.safetensors length-16.safetensors $many --remove 0 --compare -f -o compared.csv >told || complain "--remove --compare: $?"
differences 2
grep -q ' heads.safetensors without 3 heads$' told && [ "$(awk -F, 'NR > 1 { printf "%s ", $9 }' compared.csv)" = '0 3 0 1 ' ] &&
    [ "$(sed 's/.*,//' compared.csv | tr '\n' ' ')" = 'removed_heads "" "0" "" "0" ' ] || complain "heads that are removed: $(cat compared.csv)"
"$programs/mgk-eval" first.safetensors length-16.safetensors $many --compare --json >json || complain "--compare --json: exit status $?"
grep -qF '"loss_difference": null, ' json && grep -qE '"loss_difference": -?[0-9.]+, "loss_low": ' json || complain "JSON of differences: $(cat json)"
"$programs/mgk-eval" first.safetensors length-16.safetensors $run --compare >none 2>err || complain "8 samples: exit status $?"
grep -q 'fewer than 12 samples are too narrow' err || complain "8 samples: $(cat err)"
fails 2 '--compare needs another model, or --remove' first.safetensors $run --compare
# Those that cannot be compared are evaluated all the same, and end the run.
fails 1 'sample 0 has other targets in the two evaluations: the same input is needed, and the same tokens and --length' \
    length-16.safetensors first.safetensors length-8.safetensors $many --compare
[ "$(wc -l <none)" -eq 6 ] && [ "$(tail -n 1 none | awk '{ print $NF }')" = length-16.safetensors ] || complain "refused: $(cat none)"

# What holds for all models is told once.
"$programs/mgk-eval" "$odd" "$odd" ${run% --quiet*} --threads 1 >none 2>err || complain "two models: exit status $?"
[ "$(grep -c '^mgk-eval: computing on ' err)" -eq 1 ] || complain "the device is told again: $(cat err)"

exit "$((failures > 0))"
