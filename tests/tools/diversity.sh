#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-diversity as a program: its tables, one-line errors, interruption. Usage: diversity.sh
# PROGRAMS FOLDER
set -eu
. "$(dirname "$0")/begin.sh"
diversity=$programs/mgk-diversity

# fails STATUS TEXT ARGUMENTS...: the program ends with STATUS and one line that contains TEXT.
fails() {
    expected=$1 text=$2
    shift 2
    status=0
    "$diversity" "$@" -q >out.txt 2>err.txt || status=$?
    [ "$status" -eq "$expected" ] || complain "exit $status, expected $expected: $*"
    [ "$(wc -l <err.txt)" -eq 1 ] || complain "not one line: $* $(cat err.txt)"
    grep -qF -- "$text" err.txt || complain "no '$text' in: $(cat err.txt)"
    [ ! -s out.txt ] || complain "standard output of a failure: $*"
    [ ! -e r.csv ] || complain "output left: $*"
}

# measure OUT ARGUMENTS...: succeeds and writes OUT; standard output is in out.txt.
measure() {
    out=$1
    shift
    "$diversity" "$@" -q --force -o "$out" >out.txt 2>err.txt || complain "$*: $(cat err.txt)"
}

write_text 100 >text.txt
train="--task lm --hidden 4 --length 16 --data text.txt --steps 1 --batch 1 --warmup 0 -q --force"
"$programs/mgk-train" $train --attention mgk --layers 3 --heads 3 --dim 6 --head-dim 2 -o m.safetensors
"$programs/mgk-train" $train --attention softmax --layers 2 --heads 1 --dim 4 --head-dim 4 -o one.safetensors
model="--model m.safetensors --text text.txt --samples 4 --precision double"
"$programs/mgk-dump" m.safetensors --text text.txt --samples 4 --precision double \
    --save attention,values -q -o m.h5
"$programs/mgk-dump" m.safetensors --text text.txt --samples 2 --dtype f16 -q -o half.h5
"$programs/mgk-dump" one.safetensors --text text.txt --samples 3 -q -o one.h5

# ---- wrong commands
"$diversity" --help | grep -q 'mgk-diversity --model' || complain "help without an example"
fails 2 'either files of matrices or --model'
fails 2 'either files of matrices or --model' m.h5 $model
fails 2 '--text is about --model' m.h5 --text text.txt
fails 2 'the precision is about --model' m.h5 --precision double
fails 2 'no measure "enthropy"; similar: entropy' m.h5 --measures rank,enthropy
fails 2 'measure "js" is there twice' m.h5 --measures js,rank,js
fails 2 'no measure "importance"; similar: importance_ablation, importance_gradient, importance_divergence, importance_hidden' \
    m.h5 --measures importance
fails 2 '"all" stands alone' m.h5 --measures all,entropy
fails 2 'no measure "beauty"; there are rank, effective_rank, ' m.h5 --measures beauty
for empty in rank,,js ,rank rank, '' ' ' 'js, ,rank'; do
    fails 2 "--measures \"$empty\": a name is empty" m.h5 --measures "$empty"
done
fails 2 '--layers' m.h5 --layers 1-
fails 1 'm.h5: no layer 7 among its 3 layers' m.h5 --layers 0,7
fails 2 'threshold 0' m.h5 --threshold 0
fails 2 '--threshold: expected a finite number' m.h5 --threshold nan
fails 2 '--memory' m.h5 --memory 0
fails 1 '--memory: 3 matrices of 16 rows and their measures take ' m.h5 --memory 1e-6
# What is given is the number of the option, also where importances take most of it.
fails 1 'with the importance of heads, takes ' $model --measures js,importance_divergence --memory 1e-4
grep -q ', 0.0001 GB are given' err.txt || complain "$(cat err.txt)"
fails 2 'ending .csv, .json or .h5' m.h5 -o r.txt
fails 2 '--per-sample needs an --output' m.h5 --per-sample
fails 2 '--resume continues a run with an --output' m.h5 --resume
fails 1 'half.h5: the matrices are f16' half.h5 -o r.csv
fails 1 'one.h5: measure "cka_output" needs values, which this input lacks (option save of mgk-dump)' one.h5 \
    --measures rank,cka_output -o r.csv
"$programs/mgk-train" --task lm --data text.txt --attention multi-query --layers 1 --heads 2 --dim 4 --head-dim 2 \
    --hidden 4 --length 8 --steps 1 --batch 1 --threads 1 -q -o shared.safetensors
"$programs/mgk-dump" shared.safetensors --text text.txt --samples 1 --save attention,values -q -o shared.h5
fails 1 'needs matrices that weigh the values of each head, which this input lacks' shared.h5 --measures cka_output
fails 1 'one.h5: measure "disagreement_value" needs values' one.h5 --measures disagreement_value
fails 1 'm.h5: measure "projection_key" needs a running model, which this input lacks' m.h5 \
    --measures projection_key
fails 1 'nowhere/r.csv' m.h5 -o nowhere/r.csv
fails 1 'absent.h5' absent.h5 -o r.csv
fails 1 'text.txt' text.txt -o r.csv
"$diversity" half.h5 --allow-half -q >out.txt 2>err.txt || complain "f16 is not measured where it is allowed"
# Only measures of singular values refuse f16.
fails 1 'half.h5: the matrices are f16' half.h5 --measures js,rollout_rank -o r.csv
"$diversity" half.h5 --measures js,effective_heads >out.txt 2>err.txt || complain "f16 without ranks: $(cat err.txt)"
[ "$(grep -c 'half.h5: the matrices are f16: each entry is off by up to 2^-11 of itself' err.txt)" -eq 1 ] ||
    complain "rounding of f16: $(cat err.txt)"
"$diversity" m.h5 --measures js >out.txt 2>err.txt || complain "f32"
grep -q f16 err.txt && complain "f32 is not f16: $(cat err.txt)"

# ---- names of measures as people type them
"$diversity" m.h5 --measures ' JS, Effective_Rank ,entropy' -q >typed.txt || complain "names with spaces and capitals"
"$diversity" m.h5 --measures js,effective_rank,entropy -q >out.txt || complain "names"
cmp typed.txt out.txt || complain "typed names change the table"
"$diversity" m.h5 --measures ALL -q >out.txt || complain "ALL is not all"

# ---- a table of means, and one of samples
measure all.csv m.h5
header=input,level,measure,sample,layer,head,other_layer,other_head,component,value,sd,samples
[ "$(head -n 1 all.csv)" = $header ] || complain "header: $(head -n 1 all.csv)"
# 23 measures of 3 heads, 9 of 3 pairs, 8 of layers, in 3 layers
[ "$(wc -l <all.csv)" -eq $((1 + 3 * (23 * 3 + 9 * 3 + 8))) ] || complain "$(wc -l <all.csv) rows"
[ "$(grep -c '^ *[012] ' out.txt)" -eq 3 ] || complain "not three layers: $(cat out.txt)"
grep -q '^m.h5,pair,js,,2,0,2,1,,0\.[0-9]*,0\.[0-9]*,4$' all.csv || complain "no row of heads 0 and 1"
grep -q '^m.h5,layer,cross_layer_cosine,,2,,,,,,,0$' all.csv || complain "the last layer has a next one"
grep -q '^m.h5,head,induction,,0,0,,,,0\.[0-9]*,[^,]*,4$' all.csv || complain "no tokens"
grep -q '^m.h5,pair,cka_output,,0,0,0,2,,0\.[0-9]*,0\.[0-9]*,4$' all.csv || complain "no values"
measure samples.csv m.h5 --per-sample
[ "$(wc -l <samples.csv)" -eq $((1 + 4 * 312)) ] || complain "$(wc -l <samples.csv) rows of samples"
# Means and standard deviations in two passes over the samples.
awk -F, -v OFS=, '
    FNR == 1 { next }
    { key = $1 OFS $2 OFS $3 OFS $5 OFS $6 OFS $7 OFS $8 OFS $9 }
    FILENAME == "samples.csv" && $10 != "" { value[key, count[key]++] = $10; sum[key] += $10 }
    FILENAME == "samples.csv" { seen += $11 == "" && $12 == "" && $4 != ""; next }
    function differs(a, b) { return a == "" || a - b > 1e-11 * (1 + b) || b - a > 1e-11 * (1 + b) }
    {
        n = count[key] + 0
        squares = 0
        for (i = 0; i < n; i++)
            squares += (value[key, i] - sum[key] / n) ^ 2
        if ($12 != n || $4 != "" || (n > 0 ? differs($10, sum[key] / n) : $10 != "") ||
            (n > 1 ? differs($11, sqrt(squares / (n - 1))) : $11 != ""))
            print "FAILED:", $0, n, (n ? sum[key] / n : "none")
        means++
    }
    END { print means " " seen }' samples.csv all.csv >awk.txt
[ "$(cat awk.txt)" = "312 1248" ] || complain "means are not those of samples: $(head awk.txt)"

# ---- a running model gives what its store gives
measure run.csv $model
grep -v ',rank_collapse,\|,token_cosine,\|,key_\|,projection_' run.csv | sed 's/^m.safetensors,/m.h5,/' |
    cmp - all.csv || complain "store and model differ"
[ "$(grep -c '^m.safetensors,layer,rank_collapse,,[012],,,,,0\.[0-9]*,0\.[0-9]*,4$' run.csv)" -eq 3 ] ||
    complain "no output of layers"
# Memory for one layer at a time, other threads.
measure small.csv $model --memory 0.001 --threads 2
cmp small.csv run.csv || complain "memory changes values"
# Without the head measures that fill groups.
for measure in effective_heads disagreement_output rollout_rank cross_layer_cosine; do
    measure part.csv $model --measures "$measure"
    { echo $header && grep ",$measure," run.csv; } | cmp - part.csv || complain "$measure alone differs"
done

# ---- ranks are those of mgk-rank
"$programs/mgk-rank" m.h5 --matrices 0 -q -o ranks.csv >out.txt
measure few.csv m.h5 --measures rank,effective_rank --per-sample
[ "$(wc -l <few.csv)" -eq $((1 + 2 * 36)) ] || complain "not two measures of 36 matrices"
for column in rank:5 effective_rank:9; do
    tail -n +2 ranks.csv | cut -d, -f "1-3,${column#*:}" | LC_ALL=C sort >expected.txt
    grep ",head,${column%:*}," few.csv | cut -d, -f 4-6,10 | LC_ALL=C sort >found.txt
    cmp expected.txt found.txt || complain "${column%:*} is not that of mgk-rank"
done
# A threshold relative to sigma_1 lets fewer singular values pass.
measure relative.csv m.h5 --measures rank --threshold 0.3 --relative
awk -F, 'NR > 1 && !($10 >= 1 && $10 <= 8) { print; bad = 1 } END { exit bad }' relative.csv ||
    complain "a relative threshold"

# ---- layers, inputs
measure gap.csv m.h5 --layers 0,2
[ "$(grep -c ',cross_layer_cosine,,[02],,,,,,,0$' gap.csv)" -eq 2 ] || complain "layers 0 and 2 follow each other"
grep -q ',rollout_rank,,0,,,,,[1-9]' gap.csv || complain "layer 0 has no rollout"
grep -q ',rollout_rank,,2,,,,,,,0$' gap.csv || complain "layer 2 has a rollout without layer 1"
grep ',rank,,2,' all.csv | cmp - gap.rank 2>/dev/null || {
    grep ',rank,,2,' gap.csv >gap.rank
    grep ',rank,,2,' all.csv | cmp - gap.rank || complain "layer 2 is not layer 2"
}
"$diversity" one.h5 --measures all --force -o one.csv >out.txt 2>err.txt || complain "one head, all measures"
[ "$(grep -c '^mgk-diversity: one.h5: not measured: .* a running model with .*; .*rank_collapse, token_cosine need a running model; .*disagreement_value need values$' err.txt)" -eq 1 ] ||
    complain "what is left out of all: $(cat err.txt)"
"$diversity" one.h5 --force -o one.csv >out.txt 2>err.txt || complain "one head"
[ "$(grep -c '^mgk-diversity: one.h5: not measured: cka_output, .* need values$' err.txt)" -eq 1 ] || complain "what is left out: $(cat err.txt)"
grep -q 'running model' err.txt && complain "nobody wanted a running model: $(cat err.txt)"
grep -q ',pair,' one.csv && complain "pairs of one head"
grep -q ',layer,effective_heads,,0,,,,,,,0$' one.csv || complain "one head is effective"
measure both.csv m.h5 one.h5
{ cat all.csv && tail -n +2 one.csv; } | cmp - both.csv || complain "two inputs are not both"
grep -qx one.h5 out.txt || complain "no table of the second input"
measure both.h5 m.h5 one.h5
"$programs/mgk-info" both.h5 >info.txt
for line in 'input 0  name m.h5; layers 3; heads 3; samples 4' 'input 1  name one.h5; layers 2; heads 1; samples 3' \
    'input 0, js ' 'input 1, rank '; do
    grep -q "^  $line" info.txt || complain "no $line"
done
grep -q '^  input 1, cka_output ' info.txt && complain "a measure that was left out"

# ---- pairs of heads of different layers
fails 2 '--across-layers needs a measure of pairs' m.h5 --across-layers --measures rank,mean_js
measure across.csv m.h5 --across-layers
# 27 pairs of heads of two layers in each of 9 measures
[ "$(wc -l <across.csv)" -eq $((1 + 312 + 9 * 27)) ] || complain "$(wc -l <across.csv) rows across layers"
awk -F, '$2 != "pair" || $5 == $7' across.csv | cmp - all.csv || complain "other rows change across layers"
awk -F, '$2 == "pair" && $5 != $7 && !($5 < $7 && $10 != "" && $12 == 4) { bad = 1; print } END { exit bad }' across.csv ||
    complain "values across layers"
# The closest pairs are those with the least js, with the debiased CKA of their outputs.
awk -F, '$3 == "js" { printf "%.9g %s.%s and %s.%s\n", $10, $5, $6, $7 == "" ? $5 : $7, $8 }' across.csv | LC_ALL=C sort -g |
    head -n 5 | cut -d ' ' -f 2- >expected.txt
sed -n '/^closest of all: /,/^[^ ]/s/^ *\([0-9.]* and [0-9.]*\) .*/\1/p' out.txt | cmp - expected.txt ||
    complain "closest pairs: $(cat out.txt)"
grep -q '^closest of all: layer.head  *js  cka_output_debiased  normalized_entropy of both$' out.txt || complain "$(cat out.txt)"
[ "$(grep -c '^ *[012] ' out.txt)" -eq 3 ] || complain "not three layers: $(cat out.txt)"
measure stream.csv $model --across-layers --memory 0.001 --threads 2
grep -v ',rank_collapse,\|,token_cosine,\|,key_\|,projection_' stream.csv | sed 's/^m.safetensors,/m.h5,/' |
    cmp - across.csv || complain "store and model differ across layers"
fails 1 '--memory: 9 matrices of 16 rows and their measures take ' m.h5 --across-layers --memory 1e-5
# Of some heads: a rollout would be the mean of these alone.
"$programs/mgk-dump" m.safetensors --text text.txt --samples 2 --heads 0,2 -q -o heads.h5
measure heads.csv heads.h5 --measures rollout_rank,effective_heads
grep -q 'heads.h5: 2 of the 3 heads of a layer: ' err.txt || complain "some heads: $(cat err.txt)"
grep -q ',rollout_rank,,0,,,,,,,0$' heads.csv || complain "a rollout of 2 of 3 heads"
grep -q ',effective_heads,,0,,,,,[1-9]' heads.csv || complain "no effective heads"
measure heads.csv m.h5 --dataset attention --causal --heads 0,2 --measures rollout_rank
grep -q ',rollout_rank,,0,,,,,,,0$' heads.csv || complain "a rollout of 2 of 3 heads of an array"
# Chosen from a store or a model they have the values of a store that has no others.
two="--heads 2,0 --samples 2 --text text.txt"
measure heads.csv heads.h5 --across-layers
"$programs/mgk-dump" m.safetensors --text text.txt --samples 2 -q --save attention,values -o three.h5
"$programs/mgk-dump" m.safetensors --text text.txt --samples 2 --heads 0,2 -q --save attention,values -o values.h5
measure heads.csv values.h5 --across-layers
measure chosen.csv three.h5 --across-layers --heads 2,0
sed 's/^three/values/' chosen.csv | cmp - heads.csv || complain "heads of a store"
measure chosen.csv --model m.safetensors $two --across-layers
grep -v ',rank_collapse,\|,token_cosine,\|,key_\|,projection_' chosen.csv | sed 's/^m.safetensors,/values.h5,/' |
    cmp - heads.csv || complain "heads of a model"
# What is of a head alone, or of two, does not depend on the others; a removed one has the model's number.
of_heads=importance_ablation,key_weight_cosine,js,projection_key,projection_output
measure whole.csv --model m.safetensors --text text.txt --samples 2 --measures $of_heads
measure chosen.csv --model m.safetensors $two --measures $of_heads --prune
awk -F, '$6 != 1 && $8 != 1' whole.csv >expected.txt
grep -v ',prune_' chosen.csv | cmp - expected.txt || complain "measures of chosen heads"
[ "$(awk -F, '$3 == "prune_importance" { print $5 "." $6 }' chosen.csv | LC_ALL=C sort | tr '\n' ' ')" = ". 0.0 0.2 1.0 1.2 2.0 2.2 " ] ||
    complain "heads removed: $(cat chosen.csv)"
fails 1 'm.h5: no head 3 among its 3 heads, 0 to 2' m.h5 --heads 1,3
fails 1 'head 3: heads are 0 to 2' $model --heads 3
measure gap.csv m.h5 --across-layers --layers 0,2 --measures js
awk -F, '$3 == "js" && $5 != 1 && $7 != 1' across.csv >expected.txt
tail -n +2 gap.csv | cmp - expected.txt || complain "layers 0 and 2 across layers"
measure array.csv m.h5 --dataset attention --causal --across-layers --measures js
grep ',js,' across.csv >expected.txt
tail -n +2 array.csv | cmp - expected.txt || complain "an array across layers differs from its store"
measure across.h5 m.h5 --across-layers
measure plain.h5 m.h5
"$programs/mgk-info" across.h5 | grep -q '^  input 0, js .*across layers' || complain "no range across layers"
"$programs/mgk-info" plain.h5 | grep -q 'across layers' && complain "a range across layers without them"
if command -v h5ls >/dev/null; then
    h5ls across.h5/across_layers/js | grep -q '{4, 3, 3, 3, 3}' || complain "$(h5ls -r across.h5)"
    h5ls -r plain.h5 | grep -q 'across\|other_' && complain "arrays across layers without the option"
fi

# ---- heads of two inputs: of a store with itself, layers 3 to 5 are layers 0 to 2
measure joined.csv m.h5 m.h5 --across-models --measures js,cka_output
cp out.txt printed.txt
rows='$2 == "pair" { print $3, $5, $6, $7, $8, $10 }'
awk -F, "$rows" across.csv | awk '$1 == "js" || $1 == "cka_output"' | LC_ALL=C sort >expected.txt
for first in 0 3; do # the pairs within each of both
    awk -F, "$rows" joined.csv | awk -v first=$first '$2 >= first && $2 < first + 3 && $4 >= first && $4 < first + 3 {
        print $1, $2 - first, $3, $4 - first, $5, $6 }' | LC_ALL=C sort | cmp - expected.txt ||
        complain "pairs of layers from $first on"
done
awk -F, "$rows" joined.csv | awk '$2 < 3 && $4 >= 3 {
    same = $2 == $4 - 3 && $3 == $5
    if (same && $1 == "js" && $6 != 0 || same && $1 == "cka_output" && ($6 < 1 - 1e-12 || $6 > 1 + 1e-12)) exit 1
    value = sprintf("%.11g", $6)
    if (!same && ($2 < $4 - 3 || ($2 == $4 - 3 && $3 < $5))) print $1, $2, $3, $4 - 3, $5, value
    else if (!same) print $1, $4 - 3, $5, $2, $3, value
    n++ } END { if (n != 2 * 81) exit 1 }' >between.txt || complain "a head and itself: $(head -n 3 between.txt)"
# Each pair of different heads is there twice, equal but for rounding.
awk '{ $6 = sprintf("%.11g", $6); print }' expected.txt >rounded.txt
LC_ALL=C sort between.txt | uniq -c | awk '$1 == 2 { print $2, $3, $4, $5, $6, $7 }' | cmp - rounded.txt ||
    complain "pairs of two inputs"
grep -qx '    1     2  layer 1 head 2 (0)  cka_output 1.000' printed.txt || complain "no closest head: $(cat printed.txt)"
grep -q '^mean js: closest 0.000, same layer and head 0.000, all pairs 0\.0*[1-9]' printed.txt || complain "$(cat printed.txt)"
"$programs/mgk-train" $train --attention softmax --layers 2 --heads 3 --dim 6 --head-dim 2 --seed 5 -o second.safetensors
"$programs/mgk-dump" second.safetensors --text text.txt --samples 4 --precision double --save attention,values -q \
    -o second.h5
measure stores.csv m.h5 second.h5 --across-models
measure models.csv --model m.safetensors second.safetensors --text text.txt --samples 4 --precision double --across-models
awk -F, "$rows" stores.csv >expected.txt
awk -F, "$rows" models.csv | grep -v '^projection' >found.txt
paste -d ' ' expected.txt found.txt | awk '{ gap = $6 - $12 } $1 != $7 || $5 != $11 || gap > 1e-9 || gap < -1e-9 { exit 1 }' ||
    complain "two models differ from their stores"
grep -q '^m.safetensors + second.safetensors,pair,projection_query,,0,0,4,2,' models.csv ||
    complain "no projections of two models: $(grep -m 1 projection models.csv)"
measure joined.h5 m.h5 second.h5 --across-models --measures js
"$programs/mgk-report" joined.h5 -o joined.html 2>err.txt && complain "a report of two models as one"
grep -q '^mgk-report: joined.h5: compares heads across two models' err.txt || complain "$(cat err.txt)"
fails 1 'joined.h5: a table of --across-models, whose layers are of two inputs, is not compared with another' \
    joined.h5 joined.h5 --compare
measure joined.json m.h5 second.h5 --across-models --measures js
grep -q '"second_layers_from":3,' joined.json || complain "no number of the second's first layer"
grep -q '"joined":\[{"input":"m.h5","model_sha256":"[0-9a-f]\{64\}","model":"m.safetensors"' joined.json ||
    complain "joined inputs: $(head -c 600 joined.json)"
fails 2 '--across-models takes two inputs, not 1' m.h5 --across-models
fails 2 '--across-models takes both as one: --compare has another run' m.h5 m.h5 --across-models --compare
fails 2 '--across-models compares pairs of heads: measure "entropy" is none of pairs' m.h5 m.h5 --across-models \
    --measures js,entropy
fails 1 'm.h5 + one.h5: 4 and 3 samples' m.h5 one.h5 --across-models
"$programs/mgk-train" $train --attention softmax --layers 3 --heads 2 --dim 6 --head-dim 3 -o other.safetensors
"$programs/mgk-dump" other.safetensors --text text.txt --samples 4 -q -o m2.h5
fails 1 'm.h5 + m2.h5: 3 and 2 heads, expected the same number (--heads chooses some of them)' m.h5 m2.h5 --across-models
write_text 99 | tr a-y b-z >other.txt
"$programs/mgk-dump" m.safetensors --text other.txt --samples 4 -q -o elsewhere.h5
fails 1 ' has other tokens in one than in the other: heads are compared on the same tokens' m.h5 elsewhere.h5 --across-models

# ---- comparisons: two models on the same samples, then stores of different samples
fails 2 '--compare needs two inputs' m.h5 --compare
two="--model other.safetensors m.safetensors --text text.txt --samples 4 --precision double --compare"
measure compared.csv $two
[ "$(head -n 1 compared.csv)" = "$header,low,high,p,p_holm,paired" ] || complain "header: $(head -n 1 compared.csv)"
name=m.safetensors-other.safetensors
[ "$(grep -c "^$name,difference," compared.csv)" -eq $((3 * 46)) ] || complain "differences of 46 measures"
grep '^m.safetensors,' compared.csv | sed 's/,,,,,$//' >found.txt
tail -n +2 run.csv | cmp - found.txt || complain "a comparison changes values"
# The difference of layer means, within its interval.
awk -F, -v name=$name '
    $3 == "mean_js" && $5 == 1 && $1 != name { mean[$1] = $10 }
    $3 == "mean_js" && $5 == 1 && $1 == name {
        d = mean["m.safetensors"] - mean["other.safetensors"] - $10
        exit !(d < 1e-12 && d > -1e-12 && $13 <= $10 && $10 <= $14 && $12 == 4 && $15 > 0 &&
            $15 <= 1 && $16 >= $15 && $17 == 1)
    }' compared.csv || complain "$(grep "^$name,difference,mean_js,,1," compared.csv)"
"$diversity" $two >out.txt 2>err.txt || complain "a comparison"
grep -q "$name: paired over the 4 samples of both; [0-9]* of [0-9]* differences" err.txt || complain "$(cat err.txt)"
# Nothing of weights is sampled: differences without interval and p, and one line that says so.
[ "$(grep -c ': of weights alone, the same on each sample: ' err.txt)" -eq 1 ] || complain "weights: $(cat err.txt)"
grep -q 'projection_query, projection_key, projection_value, projection_output: of weights alone' err.txt ||
    complain "which measures are of weights: $(cat err.txt)"
for which in query key value output; do
    [ "$(grep -c "^$name,difference,projection_$which,,[012],,,,,-*0\.[0-9e-]*,,4,,,,,1\$" compared.csv)" -eq 3 ] ||
        complain "$(grep "^$name,difference,projection_$which" compared.csv)"
done
"$diversity" $two --measures js --force -o r.csv >out.txt 2>err.txt || complain "a comparison of js"
rm r.csv
grep -q 'of weights alone' err.txt && complain "js is of weights: $(cat err.txt)"
grep -q '^\*: significant' out.txt || complain "no legend of a test"
grep -qx 'm.safetensors - other.safetensors' out.txt || complain "the names of a comparison: $(cat out.txt)"
measure weights.csv $two --measures projection_query,projection_key
grep -q '^\*: significant' out.txt && complain "a legend of what was not tested"
measure compared.h5 $two
grep -q 'value, low, high, p, p_holm, samples' compared.h5 || complain "no differences in HDF5"
measure sampled.csv $two --per-sample
grep "^$name," compared.csv >found.txt
grep "^$name," sampled.csv | cmp - found.txt || complain "differences of samples"
"$diversity" m.h5 one.h5 --compare --measures rank,mean_js --force -o unpaired.csv >out.txt 2>err.txt ||
    complain "stores are not compared"
grep -q 'one.h5-m.h5: paired over the 3 samples of both, of 3 and 4; ' err.txt || complain "$(cat err.txt)"
measure same.csv m.h5 m.h5 --compare --measures js
[ "$(grep -c '^m.h5 (2)-m.h5,difference,js,,[012],,,,,0,,4,0,0,,,1$' same.csv)" -eq 3 ] || complain "a store differs from itself"

# ---- comparisons of what was measured before: the same, measured apart or together
for which in other m; do
    measure $which.table.h5 --model $which.safetensors --text text.txt --samples 4 --precision double
done
measure tables.csv other.table.h5 m.table.h5 --compare
cmp compared.csv tables.csv || complain "tables of two models compare differently"
measure tables.csv compared.h5 --compare
cmp compared.csv tables.csv || complain "a table of two models compares differently"
measure named.csv other.table.h5 m.table.h5 --compare --measures js,mean_js
grep "^$name,difference,js,.*,1\$" named.csv >/dev/null && [ "$(grep -c "^$name,difference," named.csv)" -eq 6 ] ||
    complain "differences of two measures: $(grep "^$name" named.csv)"
measure few.table.h5 m.h5 --measures rank --layers 1
measure few.csv m.table.h5 few.table.h5 --compare
[ "$(grep -c '^m.h5-m.safetensors,difference,rank,,1,' few.csv)" -eq 1 ] || complain "a layer of a table: $(cat few.csv)"
"$diversity" few.table.h5 m.table.h5 --compare -o other-layers.csv 2>err.txt >out.txt || complain "$(cat err.txt)"
grep -q 'm.safetensors-m.h5: paired over the 4 samples of both' err.txt || complain "$(cat err.txt)"
# Other samples, though their numbers are the same.
measure elsewhere.table.h5 --model other.safetensors --text text.txt --samples 4 --precision double --length 9 --measures js
"$diversity" m.table.h5 elsewhere.table.h5 --compare >out.txt 2>err.txt || complain "$(cat err.txt)"
grep -q 'unpaired, over 4 and 4 samples' err.txt || complain "other samples are paired: $(cat err.txt)"
fails 2 'm.table.h5: a table of measures, which is not measured again: --compare' m.table.h5
fails 2 '--compare needs two inputs' m.table.h5 --compare
fails 2 'some inputs are tables of measures and some are matrices' m.table.h5 m.h5 --compare
fails 2 '--threshold is for measuring: m.table.h5 is measured already' m.table.h5 m.table.h5 --compare --threshold 1e-3
measure coarse.table.h5 m.h5 --measures rank --threshold 1e-3
fails 1 'ranks of m.safetensors and m.h5 have different thresholds' m.table.h5 coarse.table.h5 --compare
# Tables of layers alone have no heads.
for which in other m; do
    measure $which.layers.h5 --model $which.safetensors --text text.txt --samples 4 --precision double --measures mean_js
done
measure layers.csv other.layers.h5 m.layers.h5 --compare
grep ',difference,mean_js,' compared.csv | cut -d, -f 1-15 >expected.txt
grep ',difference,mean_js,' layers.csv | cut -d, -f 1-15 | cmp - expected.txt || complain "tables of layers compare differently"
"$diversity" other.layers.h5 m.table.h5 --compare >out.txt 2>err.txt || complain "$(cat err.txt)"
grep -q 'heads a layer' err.txt && complain "heads of a table of layers: $(cat err.txt)"
fails 2 'out.h5: tables are compared into a .csv' m.table.h5 m.table.h5 --compare -o out.h5
fails 1 'compared.csv: a table of means: samples are in tables in HDF5' compared.csv m.table.h5 --compare
fails 1 'few.table.h5: measure "js" is not in this table' few.table.h5 m.table.h5 --compare --measures js
fails 1 'have no layer and measure in common' few.table.h5 elsewhere.table.h5 --compare

# What a store of a mixture lacks.
"$programs/mgk-dump" m.safetensors --text text.txt --samples 2 --save attention,weights -q --force -o bare.h5 >out.txt
fails 1 'measure "key_use" needs queries and keys, which this input lacks' bare.h5 --measures key_use
# Samples that coincide are paired if they are many enough to stand for all.
for i in 1 2 3 4 5; do echo "$i 2 3 4 5 6 7 8"; done >five.txt
for common in 2 3; do
    sed "$((common + 1)),\$ s/2 3/3 2/" five.txt >other.txt
    for ids in five other; do
        "$programs/mgk-dump" m.safetensors --tokens $ids.txt --length 8 -q --force -o $ids.h5 >out.txt ||
            complain "tokens of $ids.txt"
    done
    "$diversity" five.h5 other.h5 --compare --measures js,entropy --force -o some.csv >out.txt 2>err.txt ||
        complain "samples of which some coincide: $(cat err.txt)"
    [ $common -eq 2 ] && expected="unpaired, over 5 and 5 samples" || expected="paired over the 3 samples of both, of 5 and 5"
    [ "$(grep -c 'all count, and none are paired$' err.txt)" -eq $((3 - common)) ] || complain "$common are paired: $(cat err.txt)"
    grep -q "other.h5-five.h5: $expected; " err.txt || complain "$common of 5 samples coincide: $(cat err.txt)"
done

# ---- arrays of other software: [2, 2, 2] of 3/4, 1/4, 1/2, 1/2 and 1/2, 1/2, 1/4, 3/4
quarter='\320\077' half='\340\077' more='\350\077' minus='\340\277'
# array NUMBER...: an array [1, 2, 2, 2] of float64 in NumPy's format.
array() {
    printf '\223NUMPY\001\000\166\000%-117s\n' \
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 2, 2), }"
    for number; do printf "\\000\\000\\000\\000\\000\\000$number"; done
}
array $more $quarter $half $half $half $half $quarter $more >theirs.npy
"$diversity" theirs.npy --force -o theirs.csv >out.txt 2>err.txt || complain "an array: $(cat err.txt)"
[ "$(grep -c '^mgk-diversity: theirs.npy: not measured: duplicate_token, induction need tokens; cka_output, .* need values$' err.txt)" -eq 1 ] ||
    complain "what an array lacks: $(cat err.txt)"
grep -q '^theirs.npy,head,confidence,,0,0,,,,0.625,,1$' theirs.csv || complain "confidence of an array"
grep -q '^theirs.npy,head,next,,0,1,,,,0.5,,1$' theirs.csv || complain "an array is read as causal"
grep -q '^theirs.npy,pair,position_overlap,,0,0,0,1,,0.5,,1$' theirs.csv || complain "heads of an array"
grep -q 'without .*tokens.*values' out.txt && complain "notes on standard output"
# How its axes were read is said once, and is said otherwise by --axes.
[ "$(grep -c 'theirs.npy: 1 x 2 matrices: read as 1 sample of 1 layer of 2 heads, which is a guess: if these are the attentions of one text, stacked, say --axes layer,head; if the guess is right, --axes sample,head$' \
    err.txt)" -eq 1 ] || complain "axes: $(cat err.txt)"
"$diversity" m.h5 --dataset attention --measures entropy >out.txt 2>err.txt || complain "a store by name"
grep -q 'read as' err.txt && complain "axes of a store: $(cat err.txt)"
"$diversity" theirs.npy --axes head,layer --measures confidence,js --force -o axes.csv >out.txt 2>err.txt ||
    complain "named axes: $(cat err.txt)"
grep -q 'read as' err.txt && complain "named axes are explained: $(cat err.txt)"
sed -n 's/^theirs.npy,head,confidence,,0,0,/0 /p; s/^theirs.npy,head,confidence,,1,0,/1 /p' axes.csv >found.txt
sed -n 's/^theirs.npy,head,confidence,,0,0,/0 /p; s/^theirs.npy,head,confidence,,0,1,/1 /p' theirs.csv | cmp - found.txt ||
    complain "heads as layers: $(cat axes.csv)"
fails 1 'theirs.npy: "array" has 2 axes in front of its matrices, --axes head names 1' theirs.npy --axes head
# Without tokens nobody knows whether samples of tables are the same.
for which in first second; do measure $which.table.h5 theirs.npy --measures js; done
"$diversity" first.table.h5 second.table.h5 --compare >out.txt 2>err.txt || complain "$(cat err.txt)"
grep -q 'theirs.npy (2)-theirs.npy: unpaired, over 1 and 1 samples' err.txt || complain "samples without tokens are paired: $(cat err.txt)"
fails 2 '--axes "heads": expected sample, layer and head' theirs.npy --axes heads
fails 2 '--axes is about files, not about a model' $model --axes head
fails 2 'm.h5: an attention store, whose axes are known' m.h5 --axes layer
"$programs/mgk-plot" attention theirs.npy -q --force -o p.png 2>err.txt || complain "a picture of heads"
grep -q '^mgk-plot: theirs.npy: .* matrices: read as .*--axes' err.txt || complain "axes of a picture: $(cat err.txt)"
# The table of an array repeats what was guessed; the report, too.
"$diversity" theirs.npy -q --force -o theirs.h5 >out.txt 2>err.txt || complain "an array to HDF5"
"$programs/mgk-info" theirs.h5 --json >info.txt
grep -q 'warnings.*which is a guess' info.txt || complain "no warnings in the table: $(cat info.txt)"
"$programs/mgk-report" theirs.h5 -q --force -o theirs.html || complain "a report on an array"
grep -q '"warnings":\["theirs.npy: 1 x 2 matrices' theirs.html || complain "no warnings in the report"
# Padding: the last of three tokens is none; its query sees the others, as in transformers.
none='\000\000'
padded() { # NUMBER...: an array [1, 1, 3, 3], and its mask
    printf '\223NUMPY\001\000\166\000%-117s\n' \
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 3, 3), }"
    for number; do printf "\\000\\000\\000\\000\\000\\000$number"; done
}
padded $more $quarter "$none" $half $half "$none" $more $quarter "$none" >padded.npy
{
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|b1', 'fortran_order': False, 'shape': (1, 3), }"
    printf '\001\001\000'
} >valid.npy
"$diversity" padded.npy -q --measures confidence --force -o padded.csv >out.txt 2>err.txt || complain "padding"
grep -q 'padded.npy: the first or last columns of 1 matrix are all 0 (1 of 3 columns at most), .* by --mask$' err.txt ||
    complain "padding is not told: $(cat err.txt)"
"$diversity" padded.npy -q --mask valid.npy --measures confidence,rank --force -o padded.csv >out.txt 2>err.txt ||
    complain "a mask: $(cat err.txt)"
[ ! -s err.txt ] || complain "a mask leaves a warning: $(cat err.txt)"
grep -q '^padded.npy,head,confidence,,0,0,,,,0.625,,1$' padded.csv || complain "a mask: $(cat padded.csv)"
"$programs/mgk-rank" padded.npy -q --mask valid.npy --force -o padded.csv >out.txt || complain "ranks under a mask"
grep -q '^0,0,0,2,2,' padded.csv || complain "ranks under a mask: $(cat padded.csv)"
odd=$(printf 'valid\377.npy')
cp valid.npy "$odd"
"$diversity" padded.npy -q --mask "$odd" --measures confidence -o odd.json >out.txt
iconv -f utf-8 -t utf-8 odd.json >out.txt 2>&1 || complain "the name of a mask is not UTF-8 in JSON"
fails 2 '--mask is about files, not about a model' $model --mask valid.npy
fails 2 'm.h5: an attention store, whose lengths are known' m.h5 --mask valid.npy
fails 1 'valid.npy: a mask of 1 x 3 tokens, but theirs.npy was read as 1 sample of 2' theirs.npy --mask valid.npy
# Rows 1, 0 and 1/4, 3/4 of the first head look causal; of a causal model the first has no other key.
one='\360\077'
array $one '\000\000' $quarter $more $one '\000\000' $half $half >masked.npy
"$diversity" masked.npy --force --measures normalized_entropy,next -o masked.csv >out.txt 2>err.txt ||
    complain "a masked array"
grep -q 'masked.npy: all entries right of the diagonal are 0: .* --causal, ' err.txt || complain "$(cat err.txt)"
grep -q '^masked.npy,head,next,,0,0,,,,0,,1$' masked.csv || complain "next of an array without a mask"
measure masked.csv masked.npy --causal --axes sample,head --measures normalized_entropy,next
[ ! -s err.txt ] || complain "$(cat err.txt)"
grep -q '^masked.npy,head,next,,0,0,,,,,,0$' masked.csv || complain "next of a causal array"
grep -q '^masked.npy,head,normalized_entropy,,0,1,,,,1,,1$' masked.csv || complain "$(cat masked.csv)"
fails 1 'theirs.npy: sample 0, layer 0, head 0: entries right of the diagonal are not 0' theirs.npy --causal -o r.csv
fails 2 '--causal is about files' $model --causal
array $more $quarter $minus $half $half $half $quarter $more >negative.npy
"$diversity" negative.npy --axes sample,head --force -o negative.csv >out.txt 2>err.txt || complain "negative entries"
grep -q 'negative.npy: 1 matrix has negative entries, down to -0.5: ' err.txt || complain "$(cat err.txt)"
grep -q 'negative.npy: rows of 1 matrix do not sum to 1 but are off by up to 1: ' err.txt ||
    complain "$(cat err.txt)"
"$diversity" negative.npy --axes sample,head -q >out.txt 2>quiet.txt || complain "negative entries, quietly"
grep 'negative entries\|sum to 1' err.txt | cmp - quiet.txt || complain "quiet warnings: $(cat quiet.txt)"
grep -q '^negative.npy,head,entropy,,0,0,,,,,,0$' negative.csv || complain "entropy of negative entries"
# Without a value of one head there is no mean of the layer that another one could be compared with.
"$diversity" theirs.npy negative.npy --axes sample,head --compare --measures entropy,confidence,first -q --force \
    -o lacking.csv >out.txt 2>err.txt || complain "a comparison with negative entries: $(cat err.txt)"
grep -q '^negative.npy-theirs.npy,difference,first,,0,,,,,-*[0-9.]' lacking.csv || complain "first: $(cat lacking.csv)"
grep -q '^negative.npy-theirs.npy,difference,entropy,,0,,,,,,,0,,,,,1$' lacking.csv ||
    complain "entropies of other heads are compared: $(cat lacking.csv)"
array $half $half '\000\000' '\000\000' $half $half $half $half >hollow.npy
fails 1 'hollow.npy: sample 0, layer 0, head 0: row 1 is all zeros' hollow.npy -o r.csv
"$diversity" hollow.npy --allow-zero-rows --force -o hollow.csv >out.txt 2>err.txt || complain "rows of zeros"
grep -q 'hollow.npy: means over rows leave out 1 row of zeros in 1 matrix' err.txt || complain "$(cat err.txt)"
grep -q '^hollow.npy,pair,js,,0,0,0,1,,0,,1$' hollow.csv || complain "js without the row of zeros"
fails 1 'absent' m.h5 --dataset absent -o r.csv
"$diversity" m.h5 --dataset attention -q --force -o array.csv >out.txt 2>err.txt ||
    complain "a dataset by name: $(cat err.txt)"
grep ',rank,' array.csv | cut -d, -f 2-9,10 >found.txt
grep ',rank,' all.csv | cut -d, -f 2-9,10 | cmp - found.txt || complain "a dataset by name differs"

# ---- what is printed of components and of pruning
"$diversity" $model --measures key_use -q --force -o keys.csv >out.txt || complain "key_use"
grep -q 'max key_use' out.txt || complain "no heading of the largest share: $(cat out.txt)"
# The mean over heads of the largest of both shares, as printed.
awk -F, '$3 == "key_use" && $5 == 0 { if ($10 > most[$6]) most[$6] = $10 }
    END { printf "%.4g\n", (most[0] + most[1] + most[2]) / 3 }' keys.csv >expected.txt
awk '$1 == "0" { print $2 }' out.txt | cmp - expected.txt || complain "$(cat out.txt)"
"$diversity" $model --measures js --prune -q --force -o pruned.csv >out.txt || complain "pruning"
for order in importance redundancy; do
    awk -F, -v name=prune_$order 'BEGIN { printf "%s removes (layer.head)", name }
        $3 == name && $5 != "" { printf " %s.%s", $5, $6 } END { print "" }' pruned.csv >expected.txt
    [ "$(wc -w <expected.txt)" -eq 12 ] || complain "not nine heads: $(cat expected.txt)"
    grep -qxF "$(cat expected.txt)" out.txt || complain "no order of $order: $(cat out.txt)"
done
grep -q 'prune_random removes' out.txt && complain "random orders are no order"
# The last samples are held out: the orders are those of the other samples, the loss is theirs.
i=0
while [ $i -lt 7 ]; do
    echo "$((i * 37 + 11)) $((i * 91 % 250)) 65 $((i + 97)) 32 $((i * 13 + 70)) 101 101 $((i * i + 60))"
    i=$((i + 1))
done >ids.txt
head -n 4 ids.txt >choose.txt
tail -n 3 ids.txt >held.txt
rows="--model m.safetensors --samples all --precision double --measures js,importance_ablation --prune"
measure apart.csv $rows --tokens ids.txt --prune-held-out 3
grep -qx 'means over 3 samples' out.txt || complain "the samples of the loss: $(cat out.txt)"
grep -qx 'means over 7 samples, and over the heads or pairs of a layer' out.txt || complain "the samples: $(cat out.txt)"
! grep -q 'the same few' err.txt || complain "$(cat err.txt)"
measure choose.csv $rows --tokens choose.txt
grep -q 'the same few' err.txt || complain "no word about few samples"
measure held.csv $rows --tokens held.txt
measure together.csv $rows --tokens ids.txt
order() { grep ',prune_[ir]' "$1" | cut -d, -f 3,5,6,9; }
order apart.csv >apart.txt
order choose.csv | cmp - apart.txt || complain "other orders than of the samples that choose"
order together.csv >together.txt
! cmp -s together.txt apart.txt || complain "samples that are held out choose"
for heads in 0 9; do
    grep ",prune_importance,.*,$heads,[0-9.]*,[0-9.e-]*,3$" apart.csv | cut -d, -f 10 >found.txt
    grep ",prune_importance,.*,$heads,[0-9.]*,[0-9.e-]*,3$" held.csv | cut -d, -f 10 >expected.txt
    [ -s found.txt ] && awk 'NR == FNR { a = $1 } NR > FNR { exit !((a - $1) ^ 2 < 1e-20) }' found.txt expected.txt ||
        complain "loss with $heads heads: $(cat found.txt expected.txt)"
done
# A curve begins each run with the layers of the one before: its losses are those of the heads removed at once.
for curve in prune_importance prune_redundancy; do
    sed -n "s/^[^,]*,model,$curve,,\([0-9][0-9]*\),\([0-9]*\),.*/\1.\2/p" together.csv >heads.txt
    for count in 1 4 8; do
        set -- $(head -n $count heads.txt)
        found=$("$programs/mgk-eval" m.safetensors --tokens ids.txt --samples all --precision double --remove "$*" -q --csv |
            awk -F, 'NR == 2 { print $5 }')
        awk -F, -v name=$curve -v left=$((9 - count)) -v found="$found" '$3 == name && $9 == left { near = ($10 - found) ^ 2 < 1e-20 }
            END { exit !near }' together.csv || complain "$curve without $*: $found, $(grep ",$curve," together.csv)"
    done
done
# Samples that are held out begin within a pair of documents: without its only head the model is as far away as the
# head is important.
"$programs/mgk-train" --task lm --data text.txt --steps 1 --batch 1 --eval-every 0 --layers 1 --heads 1 --dim 4 --head-dim 2 \
    --length 16 -q -o byte.safetensors
measure pairs.csv --model byte.safetensors --task retrieval --data text.txt ids.txt --article-per-file --samples 8 \
    --precision double --measures importance_divergence --per-sample --prune --prune-held-out 3
awk -F, '$3 == "importance_divergence" { x[++n] = $10 } $3 == "prune_importance_divergence" && $9 == 0 { found = $10; samples = $12 }
    END { mean = (x[6] + x[7] + x[8]) / 3; exit !(n == 8 && samples == 3 && mean > 0 && (found - mean) ^ 2 < 1e-24) }' pairs.csv ||
    complain "samples within a pair: $(cat pairs.csv)"
grep ',importance_ablation,' apart.csv >found.txt
grep ',importance_ablation,' together.csv | cmp - found.txt || complain "measures are of all samples"
fails 2 '--prune-held-out is 1, and belongs to --prune' $model --prune-held-out 1
fails 2 '--prune-held-out is -1, expected 0 or more' $model --prune --prune-held-out -1
fails 1 '--prune-held-out is 4 of 4 samples, which leaves none to choose heads' $model --prune --prune-held-out 4
# Heads of negative entries have no js: by redundancy they go in the order of importance.
"$programs/mgk-train" $train --attention performer --feature-map trigonometric --features 4 --layers 2 --heads 3 --dim 6 \
    --head-dim 2 -o signed.safetensors
measure signed.csv --model signed.safetensors --text text.txt --samples 4 --measures js --prune
[ "$(grep -c ',js,.*,,,0$' signed.csv)" -eq 6 ] || complain "js of negative entries: $(grep ',js,' signed.csv)"
for order in importance redundancy; do
    sed -n "s/^prune_$order removes//p" out.txt >$order.txt
done
[ -s importance.txt ] && cmp importance.txt redundancy.txt || complain "pruning without js: $(cat out.txt)"
"$diversity" $model --measures all -q >out.txt || complain "all measures"
grep -q 'importance_ablation' out.txt || complain "all is printed without importance: $(cat out.txt)"

# ---- outputs
cp all.csv kept.csv
"$diversity" m.h5 -q -o kept.csv >out.txt 2>err.txt && complain "an existing file is replaced"
grep -q '^mgk-diversity: kept.csv: exists' err.txt || complain "existing file: $(cat err.txt)"
cmp kept.csv all.csv || complain "an existing file is changed"
# A limit on file size simulates a full disk; programs ignore its signal.
for ending in csv json h5; do
    (
        trap "" XFSZ
        ulimit -f 40
        "$diversity" m.h5 --per-sample -q -o "full.$ending" >out.txt 2>err.txt && complain "full.$ending: a full disk"
        [ "$(wc -l <err.txt)" -eq 1 ] || complain "full.$ending: not one line: $(cat err.txt)"
        exit "$((failures > 0))"
    ) || failures=$((failures + 1))
    [ ! -e "full.$ending" ] || complain "half a file is left: full.$ending"
    measure "whole.$ending" m.h5 --per-sample
    "$diversity" m.h5 --per-sample -q -o "full.$ending" --resume >out.txt 2>err.txt ||
        complain "full.$ending cannot be resumed: $(cat err.txt)"
    cmp "full.$ending" "whole.$ending" || complain "a resumed full.$ending differs"
done
if [ -w /dev/full ]; then
    status=0
    "$diversity" m.h5 -q >/dev/full 2>err.txt || status=$?
    [ "$status" -eq 1 ] || complain "exit $status where standard output is full"
    grep -q '^mgk-diversity: standard output: ' err.txt || complain "full output: $(cat err.txt)"
fi
[ -z "$(find . -name '*.part' -o -name '.mgk-*')" ] || complain "left: $(find . -name '*.part')"

# ---- an interrupted run
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cat text.txt; done >long.txt
"$programs/mgk-train" $(echo "$train" | sed 's/--length 16/--length 128/') --attention mgk --layers 3 --heads 3 --dim 6 --head-dim 2 \
    --force -o long.safetensors
long="--model long.safetensors --text long.txt --samples 120 --per-sample --across-layers -q"
"$diversity" $long -o whole.csv --force >out.txt || complain "a long run"
# interrupted SIGNAL LINES ARGUMENTS...: measures into k.csv until the journal has more lines.
interrupted() {
    signal=$1 lines=$2
    shift 2
    rm -f k.csv k.csv.part
    "$diversity" "$@" -o k.csv >out.txt 2>err.txt &
    job=$! tries=0
    until [ "$(wc -l 2>/dev/null <k.csv.part || echo 0)" -gt "$lines" ] || [ -e k.csv ] || [ $tries -ge 600 ]; do
        sleep 0.01
        tries=$((tries + 1))
    done
    kill "-$signal" $job 2>/dev/null || true
    status=0
    wait $job || status=$?
}
# ends STATUS SIGNAL LINES ARGUMENTS...: the same, with this exit status.
ends() {
    expected=$1
    shift
    interrupted "$@"
    for again in 1 2 3; do # a busy machine may be too late
        [ ! -e k.csv ] || interrupted "$@"
    done
    [ "$status" -eq "$expected" ] || complain "exit $status after $1: $(cat err.txt)"
}
for end in "1 INT" "137 KILL"; do
    ends $end 5 $long
    [ "$signal" = KILL ] || grep -q '; continue with --resume$' err.txt || complain "$(cat err.txt)"
    fails 1 'use --resume to continue' $long -o k.csv
    fails 2 '"records" ' $long -o k.csv --resume --measures js
    fails 2 '"threshold" 1e-06, not 0.5' $long -o k.csv --resume --threshold 0.5
    fails 2 '"heads" "all", not [0]' $long -o k.csv --resume --heads 0
    "$diversity" $long -o k.csv --resume --threads 2 >out.txt || complain "cannot be resumed: $signal"
    cmp k.csv whole.csv || complain "a resumed run differs: $signal"
    [ ! -e k.csv.part ] || complain "a journal is left"
done

# ---- the heads of two models, interrupted; another second model is another run
both="--text long.txt --samples 120 --per-sample --across-models --measures js -q"
cp long.safetensors again.safetensors
"$diversity" --model long.safetensors again.safetensors $both -o whole.csv --force >out.txt || complain "a long run of two"
ends 1 INT 5 --model long.safetensors again.safetensors $both
fails 2 '"further models" ' --model long.safetensors long.safetensors $both -o k.csv --resume
"$diversity" --model long.safetensors again.safetensors $both -o k.csv --resume >out.txt || complain "two as one cannot be resumed"
cmp k.csv whole.csv || complain "a resumed run of two as one differs"

# ---- an interrupted pruning: the journal has settings, 16 samples, 3 of 12 orders; then 15 orders of two models
prune="--text long.txt --samples 16 --measures js --prune -q"
one="--model long.safetensors $prune" two="--model long.safetensors long.safetensors $prune"
"$diversity" $one -o whole.csv --force >out.txt || complain "a pruning"
ends 137 KILL 19 $one
orders=$(($(wc -l <k.csv.part) - 17))
[ "$orders" -ge 3 ] && [ "$orders" -lt 12 ] || complain "$orders orders in a journal"
fails 2 '"prune" true, not missing' ${one% --measures*} -o k.csv --resume --measures js,importance_ablation
"$diversity" ${one% -q} -o k.csv --resume >out.txt 2>err.txt || complain "a pruning cannot be resumed"
grep -q "16 samples are finished already, and $orders of 12 orders of pruning" err.txt || complain "$(cat err.txt)"
cmp k.csv whole.csv || complain "a resumed pruning differs"
"$diversity" $two -o whole.csv --force >out.txt || complain "a pruning of two"
ends 1 INT 47 $two
grep -q '; continue with --resume$' err.txt || complain "$(cat err.txt)"
"$diversity" $two -o k.csv --resume >out.txt || complain "a pruning of two cannot be resumed"
cmp k.csv whole.csv || complain "a resumed pruning of two differs"
exit "$((failures > 0))"
