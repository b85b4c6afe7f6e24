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

exit "$((failures > 0))"
