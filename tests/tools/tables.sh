#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/tables.sh: all its tasks with tiny models, its numbers, and what it keeps. Usage: tables.sh PROGRAMS FOLDER SOURCE
set -eu
source=$3
. "$(dirname "$0")/begin.sh"

. "$(dirname "$0")/corpora.sh"
i=1
while [ $i -le 40 ]; do
    makes papers $i $((i % 20 + 1))
    for next in 3 7 11 13 17; do
        printf '%d\t%d\n' $i $(((i + next) % 40 + 1))
    done
    i=$((i + 1))
done >pairs.tsv

# tables OPTION...
tables() {
    sh "$source/scripts/tables.sh" --quick --programs "$programs" --output out "$@"
}
all="--tables 3,4 --text reviews --pairs pairs.tsv papers --books books"

# refuses STATUS TEXT OPTION...
refuses() {
    expected=$1 said=$2 status=0
    shift 2
    tables "$@" >refused 2>&1 || status=$?
    [ "$status" = "$expected" ] || complain "status $status: $*"
    grep -qF -- "$said" refused || complain "no '$said' in: $(cat refused)"
}

tables $all >printed 2>said || complain "failed: $(cat said)"
cmp -s printed out/tables.md || complain "other tables are printed"
[ "$(grep -c '^| sMGK + Hard-E 1 head | ' printed)" = 1 ] || complain "no row of hard-E"
grep -q '^| Softmax 2 heads | .* (33.15) | .* (34.29) | .* | [1-9][0-9]* |$' printed || complain "no row of softmax"
grep -q '–' printed && complain "an empty cell: $(cat printed)"
[ "$(wc -l <out/tables.csv)" = 39 ] || complain "$(wc -l <out/tables.csv) lines of CSV"

# Mean and standard error of two seeds.
for task in listops text pairs passages; do
    cat out/$task-mgk-1-hard-seed[01].result | awk -F, -v task=$task '
        { x[NR] = 100 * $6 }
        END { d = x[1] - x[2]; printf "%s,accuracy,%.6g,%.3g,2,\n", task, (x[1] + x[2]) / 2, (d < 0 ? -d : d) / 2 }' >expected
    grep '^4,"MGK + Hard-E 1 head",' out/tables.csv | grep -qF "$(cat expected)" ||
        complain "$task: expected $(cat expected) in $(grep Hard out/tables.csv)"
done
"$programs/mgk-info" --json out/listops-mgk-1-hard-seed0.safetensors | grep -q '"total":.*914' || complain "other parameters"
grep -q '^4,"MGK + Hard-E 1 head",listops,accuracy,.*,2,19.40,[0-9]*,914$' out/tables.csv || complain "no parameters"

# What is there is kept; what is missing is made, and comes out the same; a table without data is empty.
cp out/tables.csv first.csv
rm out/text-smgk-1-em-seed1.*
tables $all >printed 2>said
[ "$(cat said)" = text-smgk-1-em-seed1 ] || complain "made again: $(cat said)"
cmp out/tables.csv first.csv || complain "other numbers the second time"
"$programs/mgk-plot" figure 9 out/listops-mgk-1-hard-seed[01].csv out/listops-smgk-1-hard-seed[01].csv -o figure.png \
    --quiet || complain "the logs make no figure"

# Results of another folder are taken.
tables $all --output other --results out/results.csv >printed 2>said
[ ! -s said ] || complain "made again in spite of results: $(cat said)"
cmp other/tables.csv first.csv || complain "other numbers from results"

refuses 2 'results of other settings' --steps 9
refuses 2 '--tables 5: expected numbers from 1 to 4' --tables 5
refuses 2 'table 3 needs --books' --tables 3
refuses 2 '--seeds a: expected numbers' --seeds a
refuses 2 '"0": expected a positive number' --steps 0
refuses 2 'unexpected "more"' more
refuses 2 '--pairs needs a list and a folder' --pairs pairs.tsv
refuses 1 'missing/train' --text missing --tables 4 --seeds 2
exit "$failures"
