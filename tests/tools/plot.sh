#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-plot as a program: every kind of picture in every format; bad input gives one line that starts
# with the program's name, the right exit status and no file. Usage: plot.sh PROGRAMS FOLDER
set -eu
. "$(dirname "$0")/begin.sh"

# draws OUT ARGUMENTS...
draws() {
    out=$1
    shift
    "$programs/mgk-plot" "$@" -o "$out" 2>err.txt || complain "$*: $(cat err.txt)"
    [ ! -s err.txt ] || complain "$*: says $(cat err.txt)"
    case $out in
    *.png) start=PNG ;;
    *.pdf) start='%PDF' ;;
    *.svg) start='<?xml' ;;
    esac
    head -c 8 "$out" | grep -aq "$start" || complain "$*: $out is something else"
    rm -f "$out"
}

# refuses STATUS TEXT ARGUMENTS...
refuses() {
    expected=$1 text=$2
    shift 2
    status=0
    "$programs/mgk-plot" "$@" >out.txt 2>err.txt || status=$?
    [ "$status" -eq "$expected" ] || complain "exit $status, expected $expected: $*"
    [ "$(wc -l <err.txt)" -eq 1 ] || complain "not one line: $* $(cat err.txt)"
    grep -q '^mgk-plot: ' err.txt || complain "not the program's line: $(cat err.txt)"
    grep -qF -- "$text" err.txt || complain "no '$text' in: $(cat err.txt)"
    [ ! -s out.txt ] || complain "standard output of a failure: $*"
    for left in p.png*; do
        [ ! -e "$left" ] || complain "$left left: $*"
    done
}

write_text 100 >text.txt
for heads in 1 3; do
    "$programs/mgk-train" --task lm --attention mgk --layers 2 --heads $heads --dim 4 --head-dim 2 \
        --hidden 4 --length 16 --data text.txt --held-out text.txt --steps 3 --eval-every 2 \
        --log-every 1 --batch 1 --warmup 0 -q --threads 1 -o m$heads.safetensors --log m$heads.csv
    "$programs/mgk-dump" m$heads.safetensors --text text.txt --samples 3 -q --threads 1 \
        --save attention,keys,weights -o s$heads.h5
    "$programs/mgk-dump" m$heads.safetensors --text text.txt --samples 3 -q --threads 1 \
        --layers 1 -o part$heads.h5
    "$programs/mgk-rank" s$heads.h5 -q --threads 1 -o r$heads.csv >out.txt
    "$programs/mgk-rank" s$heads.h5 -q --threads 1 --spectrum -o r$heads.h5 >out.txt
    "$programs/mgk-rank" s$heads.h5 -q --threads 1 --threshold 1e-6,1e-8,1e-2 -o r$heads.json >out.txt
    for ending in csv json h5; do
        "$programs/mgk-diversity" s$heads.h5 -q --threads 1 -o d$heads.$ending >out.txt 2>&1
        "$programs/mgk-diversity" s$heads.h5 -q --threads 1 --across-layers -o a$heads.$ending \
            >out.txt 2>&1
        "$programs/mgk-diversity" --model m$heads.safetensors --text text.txt --samples 2 -q \
            --threads 1 --measures js --prune -o e$heads.$ending >out.txt 2>&1
    done
done

for ending in csv json h5; do
    "$programs/mgk-diversity" --model m3.safetensors --text text.txt --samples 3 -q --threads 1 \
        --measures key_use,key_separation,key_weight_cosine -o k.$ending >out.txt 2>&1
done
for ending in csv h5; do
    "$programs/mgk-diversity" s1.h5 s3.h5 -q --threads 1 --compare -o c.$ending >out.txt 2>&1
done

# Every kind.
draws p.png attention s1.h5 s3.h5
draws p.svg attention s1.h5 --separate --scale percentile --colors cividis
draws p.png attention part1.h5 --layers 1 --heads 0 --sample 2 --matrix
draws p.png attention s1.h5 --labels --sample 1
draws p.svg attention s1.h5 s3.h5 --words --range 0:2
draws p.png attention s1.h5 s3.h5 part1.h5 --columns 3 --name a b c --sample 1
draws p.svg attention s3.h5 --columns 2 --scale linear --panel 40
draws p.pdf weights s3.h5 m1.safetensors --name first second
draws p.png keys s1.h5 --tokens 5 --title Keys
draws p.svg ranks r1.csv r3.csv
draws p.png ranks --sweep r1.h5 r3.h5
draws p.svg ranks --sweep r1.h5 r3.json --layers 1 --name one three
draws p.pdf ranks --sweep r3.json
draws p.png curves m1.csv m3.csv
cp m1.csv a-seed1.csv
cp m1.csv a-seed2.csv
draws p.svg curves --bands a-seed1.csv a-seed2.csv m3.csv
draws p.pdf cost m1.safetensors m3.safetensors
draws p.pdf figure 3 m1.safetensors
draws p.svg figure 13 m3.safetensors --name a b c d
refuses 2 '2 names for 3 models' figure 7 m1.safetensors --name a b -o p.png
draws p.png figure 8 s1.h5
draws p.png figure 2 s1.h5 s3.h5 r1.csv r3.csv
draws p.png figure 2 r1.csv s1.h5 --layers 1
draws p.png figure 5 s1.h5 s3.h5 --panel 20 --pooling max
draws p.pdf figure 6 r1.csv r3.csv --name one three
draws p.png figure 6 r1.csv --layers 1
draws p.png figure 11 s1.h5 m3.safetensors
draws p.svg figure 12 s1.h5 s3.h5 --seed 5
draws p.svg performer 10 s1.h5 s3.h5 --layers 1
draws p.png performer 11 s3.h5 --sample 0
printf '   e, t\ne 1 0\nt 0 1\n' >reference.txt
draws p.png performer 13 s3.h5 reference.txt
draws p.pdf performer 13 s1.h5 --tokens 3 --layers 1 --colors magma
refuses 1 's3.h5: no errors of a model that runs as another kind' performer 14 s3.h5 -o p.png
draws p.png heads d1.h5 d3.csv
draws p.pdf heads d3.json --measure normalized_entropy --layers 1 --heads 0,2
draws p.png depth d1.csv d3.h5 --measure rollout_entropy
draws p.svg depth d3.csv --measure js --name three
draws p.png pairs d3.h5
draws p.pdf pairs d3.csv --measure cosine --colors magma --title Cosine
draws p.png roles d1.h5 d3.json --shared
draws p.png compare c.csv
draws p.pdf compare c.h5 --measure rank --title Ranks
draws p.svg compare c.h5 c.csv --measure entropy,first --name one two
draws p.png map a1.h5 a3.csv
draws p.pdf map a3.json --measure affinity --layers 0,1 --heads 0,2 --colors magma --title Map
draws p.svg map d3.h5 --layers 1
"$programs/mgk-diversity" s3.h5 s3.h5 --across-models --measures js -q --threads 1 -o both.h5 >printed.txt
draws p.png map both.h5
draws p.svg map both.h5 --layers 0,2
draws p.png prune e1.h5 e3.csv
draws p.png prune e3.h5 e1.h5 e3.csv e1.csv
draws p.pdf prune e3.json --title Pruned
draws p.svg prune e1.csv e3.h5 --measure prune_random --name one three
# Names as people type them.
draws p.pdf heads d3.json --measure ' Normalized_Entropy'
draws p.pdf compare c.h5 --measure 'ENTROPY, first' --name one
draws p.pdf prune e3.h5 --measure Prune_Importance
draws p.png mixture k.h5 k.csv
draws p.png mixture d3.csv k.h5
draws p.svg mixture k.json --layers 1 --heads 0,2 --name one --title Mixture
"$programs/mgk-plot" --help all | grep -q 'mgk-plot figure 2' || complain "help without an example"

# Command lines.
refuses 2 'expected attention, weights'
refuses 2 'got "picture"' picture s1.h5 -o p.png
refuses 2 'attention: no input, expected attention stores, or arrays' attention -o p.png
refuses 2 'attention: no --output, the name of the picture' attention s1.h5
refuses 2 'figure: expected a number' figure s1.h5 -o p.png
refuses 2 'figure 15: expected 1 to 14' figure 15 s1.h5 -o p.png
refuses 2 '--sample' attention s1.h5 --sample -1 -o p.png
refuses 2 '--tokens: expected at least 1' keys s1.h5 --tokens 0 -o p.png
refuses 2 '--panel: expected at least 1' curves m1.csv --panel 0 -o p.png
refuses 2 '--range: expected A:B' attention s1.h5 --range 5 -o p.png
refuses 2 '--range: expected A:B' attention s1.h5 --range 5:5 -o p.png
refuses 2 '--range: expected A:B' attention s1.h5 --range 1:2x -o p.png
refuses 1 's1.h5: range 3:17, but there are 16 tokens' attention s1.h5 --range 3:17 -o p.png
refuses 1 'r1.csv: no singular values and 1 threshold: a sweep needs a file with singular values (option spectrum of mgk-rank, .h5)' \
    ranks --sweep r1.csv -o p.png
refuses 1 'r1.csv: no head 3' ranks r1.csv --heads 3 -o p.png
refuses 1 'r1.h5: no head 1' ranks --sweep r3.h5 r1.h5 --heads 1 -o p.png

# Options that a picture does not take.
all="attention s1.h5|weights s1.h5|keys s1.h5|ranks r1.csv|ranks --sweep r1.h5|curves m1.csv|\
cost m1.safetensors|figure 2 s1.h5 r1.csv|figure 5 s1.h5|figure 6 r1.csv|figure 11 s1.h5|figure 12 s1.h5|\
heads d1.csv|depth d1.h5|pairs d3.h5|roles d1.json|compare c.csv|prune e3.h5|map a3.h5|mixture k.h5"
# option_of TAKERS OPTION...: the pictures TAKERS draw with the option, except those with a minus, which
# take it with other input; one of the others refuses it. test_plot_options.c asks them all.
option_of() {
    takers=$1
    shift
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        picture=$(echo "$all" | cut -d '|' -f $i)
        case " $takers " in
        *" $i "*) draws p.png $picture "$@" ;;
        *" -$i "*) ;;
        *) other=$picture ;;
        esac
    done
    refuses 2 "$1: not an option of" $other "$@" -o p.png
}
matrices="1 2 3 8 9 11 12"
option_of "1 3 8 9 12" --sample 1
option_of "$matrices 4 5 -6 10 13 14 15 16 17 19 20" --layers 1
option_of "$matrices 4 5 -6 10 13 14 -15 16 19 20" --heads 0
refuses 2 '--layers: not an option of curves of training logs' curves m1.csv --layers 1 -o p.png
refuses 2 '--heads: not an option of curves of training logs' curves m1.csv --heads 0 -o p.png
option_of "-4 -5 -6 -13 -14 15 -17 -18 19" --measure js
draws p.png ranks r1.csv --measure effective_rank
draws p.svg ranks r1.h5 r3.json --measure energy_1
refuses 2 '--measure: no column "efective_rank" of numbers in rank files; similar: effective_rank' \
    ranks r1.csv --measure efective_rank -o p.png
refuses 2 '--measure: no column "storage" of numbers' ranks r1.csv --measure storage -o p.png
refuses 2 '--measure: a sweep draws ranks alone' ranks --sweep r1.h5 --measure rank -o p.png
option_of "3 12" --tokens 5
option_of "3 12" --tokens 100
option_of "1 8 9" --dataset /attention
option_of 1 --columns 3
option_of 1 --labels
option_of 1 --words
option_of 1 --range 0:2
option_of "-4 5" --sweep
option_of "-1 -2 -3" --matrix
option_of "$matrices 13 15 16 19 20" --colors coolwarm
option_of "$matrices 13 15 16 20" --scale linear
option_of "$matrices 16" --shared
option_of "1 2 3" --separate
option_of "1 2 3 4 5 -6 8 9 10 11 12 13 14 15 16 17 19 20" --from-one
draws p.png heads d1.h5 --from-zero
refuses 2 '--from-zero and --from-one exclude each other' heads d1.h5 --from-zero --from-one -o p.png
refuses 2 '--columns and --labels exclude each other' attention s1.h5 --columns 2 --labels -o p.png
refuses 2 '2 names for 1 model' attention s1.h5 --columns 2 --name a b -o p.png
refuses 2 'performer: expected a number, 2, 4, 10, 11, 13 or 14, got "s1.h5"' performer s1.h5 -o p.png
refuses 2 'figure: expected a number, 1 to 14, got ""' figure
refuses 2 'performer 5: expected 2, 4, 10, 11, 13 or 14' performer 5
refuses 2 'performer 10: no input, expected attention stores' performer 10 -o p.png
refuses 2 'performer 4: no --output' performer 4
refuses 2 'performer 2 takes no input, got s1.h5' performer 2 s1.h5 -o p.png
refuses 2 '--shared and --separate exclude each other' attention s1.h5 --shared --separate -o p.png
option_of "$matrices" --pooling max
option_of "$matrices" --panel 30
option_of "2 -7 11" --head-dim 2
for given in --shared '--panel 30' '--pooling max' --labels '--name one'; do
    refuses 2 "${given%% *}: not an option of one matrix alone (--matrix)" attention s1.h5 --layers 0 --heads 0 --matrix $given -o p.png
done
refuses 1 'text.txt: 100 lines for matrices of 16' attention s1.h5 --labels-file text.txt -o p.png
refuses 1 'missing: No such file' attention s1.h5 --labels-file missing -o p.png
refuses 1 'no sample at position 3' attention s1.h5 --sample 3 -o p.png
refuses 1 's1.h5: no layer 2' attention s1.h5 --layers 0-2 -o p.png
refuses 1 'part1.h5: no layer 0' attention part1.h5 --layers 0 -o p.png
refuses 1 's1.h5: no head 1' attention s3.h5 s1.h5 --heads 1 -o p.png
refuses 1 'm1.safetensors: no head 1' weights m1.safetensors --heads 1 -o p.png
refuses 1 'r1.csv: no layer 4' ranks r1.csv --layers 4 -o p.png
refuses 2 '--layers' attention s1.h5 --layers one -o p.png
refuses 2 'rainbow' attention s1.h5 --colors rainbow -o p.png
refuses 2 'p.gif' attention s1.h5 -o p.gif
refuses 2 'choose by --layers and --heads' attention s3.h5 --matrix -o p.png
refuses 2 'device "abacus"' ranks r1.csv --device abacus -o p.png
refuses 2 '-3 threads' ranks r1.csv --threads -3 -o p.png
refuses 2 'js" is a measure of the level pair' heads d1.csv d3.csv --measure js -o p.png
refuses 2 'entropy" is a measure of the level head' pairs d3.h5 --measure entropy -o p.png
refuses 1 'd1.csv: no measure "entropie" of "s1"; similar: entropy' depth d1.csv --measure entropie -o p.png
refuses 1 'd1.csv: no measure "beauty" of "s1"; there are rank, ' depth d1.csv --measure beauty -o p.png
refuses 1 'd1.csv: "effective_heads" has no value for "s1"' depth d1.csv --measure effective_heads -o p.png
refuses 1 'd1.h5: 1 head of "m1", expected at least 2 for pairs' pairs d1.h5 -o p.png
refuses 1 'd3.h5: 1 head of "m3", expected' pairs d3.h5 --heads 0 -o p.png
refuses 1 'd3.csv: no layer 4' depth d3.csv --layers 4 -o p.png
refuses 1 'd3.csv: no head 3' roles d3.csv --heads 3 -o p.png
refuses 1 'c.csv: no difference of "js" with a value; there are rank, ' compare c.csv --measure js -o p.png
refuses 1 'c.h5: no layer 4' compare c.h5 --layers 1,4 -o p.png
refuses 1 'd3.h5: no differences between inputs' compare d3.h5 -o p.png
refuses 1 'd3.csv: "s3" has no "key_use", which is a measure of mixtures of keys' \
    mixture d3.csv -o p.png
refuses 2 '3 names for 1 comparison' compare c.csv --name a b c -o p.png
refuses 2 '3 names for 1 model' attention s1.h5 --name a b c -o p.png

# Figure 2 pairs stores and ranks.
refuses 2 'stores: 2, models in rank results: 1' figure 2 s1.h5 s3.h5 r1.csv -o p.png
refuses 2 'stores: 1, models in rank results: 2' figure 2 s1.h5 r1.csv r3.csv -o p.png
refuses 2 'stores: 0, ' figure 2 r1.csv -o p.png
for i in 1 3; do
    "$programs/mgk-rank" s$i.h5 -q --threads 1 -o known$i.json >out.txt 2>&1 || complain "ranks as JSON"
done
refuses 1 's1.h5: its model is not that of the rank results "known3"' figure 2 s1.h5 s3.h5 known3.json known1.json -o p.png
draws p.png figure 2 s1.h5 s3.h5 known1.json known3.json
"$programs/mgk-plot" figure 2 s1.h5 s3.h5 r3.csv r1.csv --force -q -o p.png >out.txt 2>err.txt || complain "figure 2: $(cat err.txt)"
grep -q 's1.h5 has heads up to 0 and the rank results "r3" up to 2: are they of one model?' err.txt ||
    complain "rank results in another order: $(cat err.txt)"
"$programs/mgk-plot" figure 2 s1.h5 s3.h5 r1.csv r3.csv --force -q -o p.png >out.txt 2>err.txt || complain "figure 2: $(cat err.txt)"
[ ! -s err.txt ] || complain "rank results in the same order: $(cat err.txt)"
rm p.png
refuses 1 'm1.safetensors: neither' figure 2 s1.h5 m1.safetensors -o p.png

# Missing and damaged files, and files of other kinds.
: >empty
head -c 3000 s1.h5 >cut.h5
head -c 900 m1.safetensors >cut.safetensors
sed '2s/,16,/,x,/' r1.csv >bad.csv
sed '3s/,/;/' m1.csv >bad_log.csv
sed 4d r3.csv >ragged.csv
sed '1!d' r1.csv >none.csv
for kind in attention weights keys ranks curves cost 'figure 2' 'figure 5' 'figure 6' 'figure 11' \
    'figure 12' heads depth pairs roles compare prune map mixture; do
    refuses 1 'missing: No such file' $kind missing -o p.png
    refuses 1 'empty: ' $kind empty -o p.png
    refuses 1 'cut.h5: ' $kind cut.h5 -o p.png
    refuses 1 '.: ' $kind . -o p.png
done
refuses 1 'r1.csv: ' attention r1.csv -o p.png
refuses 1 'part1.h5: the store has no "keys"' keys part1.h5 -o p.png
refuses 1 'part1.h5: the store has no "key_weights"' weights part1.h5 -o p.png
refuses 1 'cut.safetensors: ' weights cut.safetensors -o p.png
refuses 1 'cut.safetensors: ' cost cut.safetensors -o p.png
refuses 1 'r1.csv: ' cost r1.csv -o p.png
refuses 1 's1.h5: ' ranks s1.h5 -o p.png
refuses 1 'm1.csv: ' ranks m1.csv -o p.png
refuses 1 'bad.csv: ' ranks bad.csv -o p.png
refuses 1 'ragged.csv: layers have different numbers of matrices' ranks ragged.csv -o p.png
refuses 1 'none.csv: ' ranks none.csv -o p.png
head -c 3000 d3.json >cut.json
sed '2s/,head,/,tail,/' d1.csv >bad_level.csv
sed 3d d3.csv >lacks_row.csv
sed '1!d' d1.csv >no_values.csv
refuses 1 'd3.h5: no pairs of heads of different layers of "m3" (option across-layers of mgk-diversity)' \
    map d3.h5 -o p.png
refuses 1 'd3.h5: m3 has no curve of pruning, which mgk-diversity adds with its option prune' prune d3.h5 -o p.png
refuses 1 'e3.h5: no curve "prune_importance_hidden" of m3; there are prune_importance, prune_random, prune_redundancy' \
    prune e3.h5 --measure prune_importance_hidden -o p.png
refuses 1 'a3.h5: 1 head of "m3", expected at least 2 for a map' map a3.h5 --layers 0 --heads 1 -o p.png
for kind in heads depth pairs roles compare prune map mixture; do
    refuses 1 'cut.json: ' $kind cut.json -o p.png
    refuses 1 'bad_level.csv: line 2: ' $kind bad_level.csv -o p.png
    refuses 1 'lacks_row.csv: ' $kind lacks_row.csv -o p.png
    refuses 1 'no_values.csv: no values' $kind no_values.csv -o p.png
    refuses 1 'r1.h5: not measures of diversity' $kind r1.h5 -o p.png
    refuses 1 's1.h5: not measures of diversity' $kind s1.h5 -o p.png
done
refuses 1 'd1.h5: measures of diversity, but not rank results' ranks d1.h5 -o p.png
refuses 1 'd1.json: measures of diversity, not matrices' attention d1.json -o p.png
refuses 1 'r1.csv: not a training log' curves r1.csv -o p.png
refuses 1 'bad_log.csv: line 3: expected 9 numbers' curves bad_log.csv -o p.png
refuses 1 's1.h5: ' attention s1.h5 --dataset nothing -o p.png

# Outputs.
echo kept >kept.png
refuses 1 'kept.png: exists' attention s1.h5 -o kept.png
grep -q kept kept.png || complain "kept.png was changed"
refuses 1 'none/p.png: ' attention s1.h5 -o none/p.png
refuses 1 'text.txt/p.png: ' attention s1.h5 -o text.txt/p.png
# A limit on file size simulates a full disk; programs ignore its signal.
before=$failures
(
    trap "" XFSZ
    ulimit -f 2
    refuses 1 'p.png: ' attention s3.h5 -o p.png
    exit $((failures - before))
) || failures=$((failures + 1))

[ $failures -eq 0 ] && echo "all drawn or refused as they should"
exit $failures
