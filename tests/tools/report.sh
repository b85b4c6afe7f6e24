#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-report as a program: what it accepts, what it says, and that no text of a file becomes markup.
# tests/tools/report_page.sh opens reports in a browser. Usage: report.sh PROGRAMS FOLDER
set -eu
. "$(dirname "$0")/begin.sh"
report=$programs/mgk-report

# fails STATUS TEXT ARGUMENTS...: ends with STATUS and one line that contains TEXT, without a page.
fails() {
    expected=$1 said=$2
    shift 2
    status=0
    "$report" "$@" >out.txt 2>err.txt || status=$?
    [ "$status" -eq "$expected" ] || complain "exit $status, expected $expected: $*"
    [ "$(wc -l <err.txt)" -eq 1 ] || complain "not one line: $* $(cat err.txt)"
    grep -q '^mgk-report: ' err.txt || complain "not the program's line: $(cat err.txt)"
    grep -qF -- "$said" err.txt || complain "no '$said' in: $(cat err.txt)"
    [ ! -s out.txt ] || complain "standard output of a failure: $*"
    [ ! -e r.html ] || complain "a page is left: $*"
}

# reports PAGE ARGUMENTS...
reports() {
    page=$1
    shift
    "$report" "$@" --force -o "$page" >out.txt 2>err.txt || complain "$*: $(cat err.txt)"
    [ ! -s out.txt ] || complain "standard output: $*"
    tail -n 1 "$page" | grep -qx '</html>' || complain "$page is not whole"
    ! grep -q '<!--@' "$page" || complain "$page has an empty place"
}

write_text 100 >text.txt
train="--task lm --data text.txt --layers 2 --dim 4 --head-dim 2 --length 16 --steps 1 --batch 1 --eval-every 0
    --threads 1 --seed 1 -q"
"$programs/mgk-train" $train --attention softmax --heads 3 -o softmax.safetensors
"$programs/mgk-train" $train --attention mgk --heads 2 -o mgk.safetensors
for model in softmax mgk; do
    "$programs/mgk-dump" $model.safetensors --text text.txt --samples 3 --length 16 -q -o $model-store.h5 \
        --save attention,keys,queries,values
    "$programs/mgk-diversity" $model-store.h5 -q -o $model.h5 >out.txt
done
"$programs/mgk-diversity" softmax-store.h5 -q -o t.csv >out.txt
"$programs/mgk-diversity" softmax-store.h5 -q -o t.json >out.txt

# ---- what is refused
fails 2 'a table and -o are needed'
fails 2 'a table and -o are needed' softmax.h5
fails 2 'a table and -o are needed' -o r.html
fails 2 'r.png: expected a name ending in .html' softmax.h5 -o r.png
fails 2 '--samples' softmax.h5 --samples 0 -o r.html
fails 2 '--tokens' softmax.h5 --tokens -3 -o r.html
fails 1 'text.txt: neither measures of mgk-diversity nor an attention store' text.txt -o r.html
fails 1 'softmax.safetensors: neither measures' softmax.h5 softmax.safetensors -o r.html
fails 1 'softmax-store.h5: no measures; mgk-diversity makes them' softmax-store.h5 -o r.html
fails 1 'absent.h5' softmax.h5 absent.h5 -o r.html
fails 1 'nowhere/r.html' softmax.h5 -o nowhere/r.html
head -c 3000 softmax.h5 >cut.h5
fails 1 'cut.h5' cut.h5 -o r.html
"$programs/mgk-rank" softmax-store.h5 --matrices 0 -q -o ranks.csv >out.txt
fails 1 'ranks.csv: neither measures' ranks.csv -o r.html
"$programs/mgk-dump" mgk.safetensors --text text.txt --samples 2 --length 16 --save keys -q -o keys.h5
fails 1 'keys.h5: the store has no "attention"' softmax.h5 keys.h5 -o r.html
cp softmax.h5 page.html
fails 2 'page.html: is the same file as the input page.html' page.html -o page.html
reports kept.html softmax.h5
cp kept.html old.html
fails 1 'kept.html: exists' mgk.h5 -o kept.html
cmp kept.html old.html || complain "an existing page is changed"
"$report" --help | grep -q '  mgk-report mgk4-diversity.h5 mgk4.h5 -o mgk4.html' || complain "help without an example"

# ---- what is written
reports a.html softmax.h5 softmax-store.h5
[ ! -s err.txt ] || complain "$(cat err.txt)"
grep -q '"title":"softmax","name":"softmax-store.h5"' a.html || complain "the model is not named: $(grep title a.html)"
# The same, whatever the format of the table, but for its file, the command, the model's hash and the threshold,
# which CSV lacks.
for table in t.csv t.json; do
    reports b.html $table softmax-store.h5
    sed 's/softmax\.h5/t/; s/a\.html/p/' a.html >one.txt
    sed "s/$table/t/; s/b\.html/p/" b.html >other.txt
    # Only samples give bands of quartiles, so lines of layers differ.
    for file in one.txt other.txt; do
        sed -n '/^{"colors"/,/^<\/script>/p' $file | sed 's/"sha256":"[0-9a-f]*"//; s/"thresholds":\[[^]]*\]//' >$file.data
    done
    cmp one.txt.data other.txt.data || complain "$table: other numbers than HDF5"
done
! grep -q 'id="mixture"' a.html || complain "a question about mixtures of softmax attention"
reports both.html softmax.h5 mgk.h5 softmax-store.h5 mgk-store.h5
grep -q 'id="mixture"' both.html || complain "no question about mixtures"
[ "$(grep -o '"number":' both.html | wc -l)" -eq 6 ] || complain "not 3 samples of 2 stores"
reports few.html softmax.h5 softmax-store.h5 --samples 1 --tokens 5
grep -q '"length":16,"shown":5,' few.html || complain "not 5 tokens"
[ "$(grep -o '"number":' few.html | wc -l)" -eq 1 ] || complain "not 1 sample"
# A store under another name is known by its model's hash; of a table without hashes by its name alone.
cp softmax-store.h5 renamed.h5
reports c.html softmax.h5 renamed.h5
grep -q '"store":0' c.html || complain "a renamed store is not taken"
reports c.html softmax.h5 softmax-store.h5 renamed.h5
grep -q '^mgk-report: renamed.h5: not shown: softmax-store.h5 is shown for this model' err.txt ||
    complain "a second store: $(cat err.txt)"
reports c.html t.csv softmax-store.h5
grep -q '"store":0' c.html || complain "a named store is not taken"
for other in renamed.h5 mgk-store.h5; do
    reports c.html t.csv $other
    grep -q '"store":-1' c.html || complain "matrices of $other beside measures of another store"
    grep -q "^mgk-report: $other: not shown: no table has its name" err.txt || complain "$other: $(cat err.txt)"
done
"$programs/mgk-diversity" renamed.h5 mgk-store.h5 -q -o two.h5 >out.txt
reports c.html two.h5 mgk-store.h5
[ "$(grep -o '"store":-\?[0-9]*' c.html | tr '\n' ' ')" = '"store":-1 "store":0 ' ] || complain "stores are mixed up"
cp mgk-store.h5 stray.h5
reports c.html softmax.h5 stray.h5 softmax-store.h5
grep -q '^mgk-report: stray.h5: not shown: no table has its name' err.txt || complain "a stray store: $(cat err.txt)"

# ---- arrays of other software are read as their table was made: [layer 2, sample 2, head 1, 2, 2]
quarter='\320\077' half='\340\077' more='\350\077' one='\360\077' zero='\000\000'
# array NUMBER...: such an array of float64 in NumPy's format.
array() {
    printf '\223NUMPY\001\000\166\000%-117s\n' \
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2, 1, 2, 2), }"
    for number; do printf "\\000\\000\\000\\000\\000\\000$number"; done
}
# peaks FILE: the largest entries of the matrices of a page.
peaks() {
    grep -o '"peak":"[^"]*' "$1" | sed 's/.*"//' | tr '\n' ' '
}
# data NAME PAGE: the numbers of this name in the data of a page.
data() {
    grep -o "\"$1\":-\?[0-9]*" "$2" | tr '\n' ' '
}
sharp="$more $quarter $half $half" even="$half $half $half $half"
array $sharp $sharp $even $even >theirs.npy
for ending in h5 json; do
    "$programs/mgk-diversity" theirs.npy --axes layer,sample,head --measures entropy -q -o theirs.$ending >out.txt
done
reports c.html theirs.h5 theirs.npy
[ "$(peaks c.html)" = '0.75 0.5 0.75 0.5 ' ] || complain "other axes than the table's: $(peaks c.html)"
[ ! -s err.txt ] || complain "known axes are told: $(cat err.txt)"
# Each table has the matrices as it has read them, of the file that it names: by its path, if one does.
"$programs/mgk-diversity" theirs.npy --axes sample,layer,head --measures entropy -q -o other-axes.h5 >out.txt
reports c.html theirs.h5 other-axes.h5 theirs.npy
[ "$(peaks c.html)" = '0.75 0.5 0.75 0.5 0.75 0.75 0.5 0.5 ' ] || complain "two readings of a file: $(peaks c.html)"
[ "$(data store c.html)" = '"store":0 "store":1 ' ] || complain "stores of two readings: $(data store c.html)"
mkdir -p elsewhere
array $even $even $even $even >elsewhere/theirs.npy
"$programs/mgk-diversity" elsewhere/theirs.npy --axes layer,sample,head --measures entropy -q -o elsewhere.h5 >out.txt
reports c.html theirs.h5 elsewhere.h5 elsewhere/theirs.npy
[ "$(data store c.html)" = '"store":-1 "store":0 ' ] || complain "a file of the same name: $(data store c.html)"
# What cannot be read so any more is left out, with the reason.
sed 's/"layer,sample,head"/"layer,head"/' theirs.json >bad.json
reports c.html bad.json theirs.npy
grep -q '^mgk-report: theirs.npy: not shown, because it cannot be read as its table says: ' err.txt || complain "other axes: $(cat err.txt)"
[ "$(data store c.html)" = '"store":-1 ' ] || complain "matrices that cannot be read: $(data store c.html)"
"$programs/mgk-diversity" theirs.npy --axes layer,sample,head --measures entropy -q -o theirs.csv >out.txt
reports c.html theirs.csv theirs.npy
grep -q '^mgk-report: .*theirs.npy: .* which is a guess: if' err.txt || complain "axes that no table names are not told"
"$programs/mgk-diversity" theirs.npy --axes sample,head,layer --measures entropy -q -o theirs.csv --force >out.txt
reports c.html theirs.csv theirs.npy
grep -q 'theirs.npy: not shown: no table has its name' err.txt || complain "an array with other layers than the table's is taken"
sharp="$one $zero $half $half"
array $sharp $sharp $sharp $sharp >causal.npy
for causal in "" --causal; do
    "$programs/mgk-diversity" causal.npy --axes layer,sample,head $causal --measures first -q --force -o theirs.h5 \
        >out.txt 2>&1
    reports c.html theirs.h5 causal.npy
    [ "$causal" ] && expected=0.75 || expected=0.5
    grep -q "\[\"first\",\"$expected\"\]" c.html || complain "uniform attention of an array $causal is not $expected"
done

# ---- uniform attention, on the samples of the table alone: of 4 tokens, of 2 and of 3
# store LINES OUT
store() {
    head -n "$1" ids.txt >"$1.txt"
    "$programs/mgk-dump" softmax.safetensors --tokens "$1.txt" --samples "$1" --length 4 -q -o "$2"
}
printf '1 2 3 4\n5 5\n6 7 8\n' >ids.txt
store 2 two-store.h5
store 3 three-store.h5
"$programs/mgk-diversity" two-store.h5 -q -o of-two.h5 >out.txt 2>&1
"$programs/mgk-diversity" two-store.h5 -q -o of-two.csv >out.txt 2>&1
"$programs/mgk-diversity" three-store.h5 -q -o of-three.h5 >out.txt 2>&1
# uniform EXPECTED INPUTS...: first and the diagonal are (1 + 1/2 + ... + 1/n) / n, the token before has 1/n less;
# only the sample of 2 tokens has a copy.
uniform() {
    expected=$1
    shift
    reports u.html "$@"
    grep -o '"uniform":\(null\|{[^}]*}\)' u.html | sed 's/\(\.[0-9][0-9][0-9]\)[0-9]*/\1/g; s/"//g' >found.txt
    echo "uniform:$expected" | cmp - found.txt || complain "$*: $(cat found.txt)"
}
two='{samples:2,scores:[[previous_token,0.260],[first,0.635],[diagonal,0.635],[induction,0.25],[duplicate_token,0.25]]}'
uniform "$two" of-two.h5 two-store.h5
uniform "$two" of-two.h5 three-store.h5
uniform "$two" of-two.csv two-store.h5
uniform null of-three.h5 two-store.h5
uniform null of-two.h5

# ---- which tables are of one model
# data NAME PAGE: the entries of this name in the data of a page.
data() {
    grep -o "\"$1\":\(\"[^\"]*\"\|\[[^]]*\)" "$2"
}
"$programs/mgk-diversity" softmax-store.h5 --measures rank,first --threshold 0.3 -q -o other.h5 >out.txt
reports e.html softmax.h5 other.h5 softmax-store.h5
[ "$(data title e.html)" = '"title":"softmax"' ] || complain "two tables are $(data title e.html)"
grep -q '"again":\[\["measure","rank",0,1,true\],\["measure","first",0,1,false\]\]' e.html || complain "$(grep again e.html)"
# HDF5 has a diagonal of pairs, JSON none: they agree.
"$programs/mgk-diversity" softmax-store.h5 --measures js --across-layers -q -o across.h5 >out.txt
"$programs/mgk-diversity" softmax-store.h5 --measures js --across-layers -q -o across.json >out.txt
reports i.html across.h5 across.json
grep -q '"again":\[\["measure","js",0,1,false\],\["across","js",0,1,false\]\]' i.html || complain "$(grep again i.html)"
# Pairs across layers that differ, where those of a layer do not.
sed '/"layer": 0.*"other_layer": 1/s/"value": [0-9.e-]*/"value": 0.5/' across.json >moved.json
! cmp -s across.json moved.json || complain "no value across layers is moved"
reports i.html across.h5 moved.json
grep -q '"again":\[\["measure","js",0,1,false\],\["across","js",0,1,true\]\]' i.html || complain "$(grep again i.html)"
# Curves of pruning, one of which differs.
"$programs/mgk-diversity" --model softmax.safetensors --text text.txt --samples 2 --length 16 --prune \
    --measures importance_ablation -q -o pruned.json >out.txt
sed '/"measure": "prune_random"/s/"value": [0-9.e-]*/"value": 0.5/' pruned.json >chance.json
reports i.html pruned.json chance.json
grep -q '\["curve","prune_importance",0,1,false\],\["curve","prune_random",0,1,true\]' i.html ||
    complain "$(grep again i.html)"
for page in a e; do sed -n '/{"name":"rank"/,/"sd"/p' $page.html >$page.txt; done
cmp a.txt e.txt || complain "the first table does not win"
# Other samples of the same model, and other models of the same name in tables of the same name.
"$programs/mgk-diversity" --model softmax.safetensors --text text.txt --samples 2 --length 16 -q -o few.h5 >out.txt
reports f.html softmax.h5 few.h5
[ "$(data title f.html | wc -l)" -eq 2 ] || complain "other samples are merged"
# Measures of layers alone, which name no heads, in either order and format.
for table in layers.h5 layers.json; do
    "$programs/mgk-diversity" softmax-store.h5 --measures effective_heads -q -o $table >out.txt
    "$programs/mgk-diversity" softmax-store.h5 --measures entropy --force -q -o entropy.h5 >out.txt
    for tables in "$table entropy.h5" "entropy.h5 $table"; do
        reports f.html $tables
        [ "$(data title f.html)" = '"title":"softmax"' ] || complain "$tables are $(data title f.html)"
        [ "$(data heads f.html)" = '"heads":[0,1,2' ] || complain "$tables have $(data heads f.html)"
        [ "$(grep -c '"name":"e[nf][tf].*"level":' f.html)" -eq 2 ] || complain "$tables lack a measure"
    done
done
# Other matrices of the same samples.
"$programs/mgk-dump" softmax.safetensors --text text.txt --samples 3 --length 16 --save attention,scores -q \
    -o scores-store.h5
"$programs/mgk-diversity" scores-store.h5 --measures entropy,distance -q -o weights.h5 >out.txt
"$programs/mgk-diversity" scores-store.h5 --dataset scores --measures distance,confidence -q -o scores.h5 >out.txt
reports f.html weights.h5 scores.h5
[ "$(data title f.html | tr '\n' ' ')" = '"title":"weights.h5: scores-store" "title":"scores.h5: scores-store" ' ] ||
    complain "measures of scores are merged with those of attention: $(data title f.html)"
mkdir x y
for folder in x y; do
    cp $([ $folder = x ] && echo softmax || echo mgk).safetensors $folder/m.safetensors
    "$programs/mgk-diversity" --model $folder/m.safetensors --text text.txt --samples 2 --length 16 -q -o $folder/t.h5 \
        >out.txt
done
reports g.html x/t.h5 y/t.h5
[ "$(data title g.html | tr '\n' ' ')" = '"title":"x/t.h5: m" "title":"y/t.h5: m" ' ] || complain "$(data title g.html)"

# ---- texts of files
evil="<script>window.broken=1<!-- xmlns url(#a) id=\"&\"'.h5"
cp softmax-store.h5 "$evil"
"$programs/mgk-diversity" "$evil" -q -o "t$evil" >out.txt
reports d.html "t$evil" "$evil"
for tag in script style title main body; do
    for page in a.html d.html; do
        grep -o "</*$tag[ >]" $page | sort | uniq -c >$page.tags
    done
    cmp a.html.tags d.html.tags || complain "a name becomes <$tag>"
done
[ "$(grep -o '<metadata' d.html | wc -l)" -eq "$(grep -o '</metadata' d.html | wc -l)" ] || complain "a name breaks a picture"
! grep -q 'https\?://\|src=\|@import' a.html || complain "the page names something to load"

# A limit on file size simulates a full disk; programs ignore its signal.
(
    trap "" XFSZ
    ulimit -f 40
    fails 1 'r.html' softmax.h5 -o r.html
    exit "$((failures > 0))"
) || failures=$((failures + 1))
[ -z "$(find . -name '*.part' -o -name '*.mgk-*')" ] || complain "left: $(find . -name '*.part' -o -name '*.mgk-*')"
exit "$((failures > 0))"
