#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/study.sh: all its groups with tiny models, what it writes and what it keeps. Usage: study.sh PROGRAMS FOLDER SOURCE
set -eu
source=$3
. "$(dirname "$0")/begin.sh"
. "$(dirname "$0")/corpora.sh"

# study OPTION...
study() {
    sh "$source/scripts/study.sh" --quick --programs "$programs" --output out --threads 1 "$@"
}
all="--books books --reviews reviews --seeds 3"

study $all 2>said || complain "failed: $(cat said)"
for group in listops text passages lm; do
    unit=out/$group-seed3
    [ "$(wc -l <$unit.results.csv)" = 6 ] || complain "$group: $(cat $unit.results.csv)"
    for file in measures:softmax control:mgk; do
        heads=$(sed -n "s/^$group-mgk-\([0-9]*\)-.*/\1/p" $unit.results.csv | sort -n | head -n 1)
        grep -q "^$group-mgk-$heads-seed3.safetensors-$group-softmax-.*,difference,effective_heads," \
            $unit.${file%:*}.csv || complain "$group: no differences in ${file%:*}"
    done
    "$programs/mgk-plot" curves out/$group-*-seed3.steps.h5 --measure rank,effective_rank --quiet --force -o $group.png ||
        complain "$group: no curves"
    if grep -q -- "-$group-softmax-$heads-seed3" $unit.measures.csv; then complain "$group: compared with the control"; fi
    grep -q -- "-$group-softmax-$heads-seed3" $unit.control.csv || complain "$group: no control"
done
awk -F, '$1 ~ /^lm/ && !($6 > 0) { exit 1 }' out/lm-seed3.results.csv || complain "no bits per byte"
awk -F, '$1 ~ /^text/ && !($4 >= 0 && $4 <= 1 && $2 == 8) { exit 1 }' out/text-seed3.results.csv || complain "no accuracy"

# Tables of one seed: bold where the interval does not include 0.
for comparison in mgk-4:softmax-4:measures smgk-2:softmax-2:control; do
    b=${comparison%%:*} a=${comparison#*:} file=${comparison##*:}
    a=${a%:*}
    grep "^text-$b-seed3.safetensors-text-$a-seed3.safetensors,difference,effective_rank,," out/text-seed3.$file.csv | awk -F, -v b=$b -v a=$a '
        { cells = cells sprintf($13 > 0 || $14 < 0 ? " **%+.1f** |" : " %+.1f |", $10) }
        END { printf "| %s − %s |%s\n", b, a, cells }' >expected
    awk '/^## /{ inside = 0 } /^## Reviews/{ inside = 1 } inside && /^| `effective_rank`, difference/{ rows = 1 } /^$/{ rows = 0 } inside && rows' \
        out/study.md | grep -qxF "$(cat expected)" || complain "no row $(cat expected) in $(cat out/study.md)"
done
accuracy=$(awk -F, '$1 == "text-mgk-2-seed3" { printf "%.4f | %.2f", $3, 100 * $4 }' out/text-seed3.results.csv)
grep -qF "| mgk-2 | $accuracy | " out/study.md || complain "no row of mgk-2, $accuracy: $(cat out/study.md)"

# What is there is kept, also without the models; what is missing is made, and comes out the same.
cp out/text-seed3.measures.csv first.csv
cp out/text-seed3.results.csv first-results.csv
rm out/text-seed3.results.csv out/text-mgk-2-seed3.result out/text-*-seed3.safetensors out/text-*.step-*
study $all 2>said
[ "$(head -n 1 said)" = text-mgk-2-seed3 ] && [ "$(wc -l <said)" = 2 ] || complain "made again: $(cat said)"
cmp out/text-seed3.measures.csv first.csv || complain "other measures the second time"
cmp out/text-seed3.results.csv first-results.csv || complain "other results the second time"

# refuses TEXT OPTION...
refuses() {
    said=$1 status=0
    shift
    study "$@" >refused 2>&1 || status=$?
    [ "$status" = 2 ] || complain "status $status: $*"
    grep -qF -- "$said" refused || complain "no '$said' in: $(cat refused)"
}
refuses '--groups words' --groups words $all
refuses '--seeds a' --books books --seeds a
refuses 'need --books' --reviews reviews --groups passages
exit "$failures"
