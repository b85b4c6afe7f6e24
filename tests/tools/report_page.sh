#!/bin/sh
# SPDX-License-Identifier: MIT
# Reports in a browser, headless Chromium: scripts have no errors, clicks and keys change what is
# shown, tables sort, numbers are those of the table, and texts of files are shown, not run. Skipped
# where there is no Chromium. Usage: report_page.sh PROGRAMS FOLDER
set -eu
here=$(realpath "$(dirname "$0")")
command -v chromium >/dev/null || {
    echo "SKIPPED: no chromium"
    exit 77
}
. "$here/begin.sh"

# report OUT ARGUMENTS...
report() {
    out=$1
    shift
    "$programs/mgk-report" "$@" --force -q -o "$out" 2>err.txt || complain "$out: $(cat err.txt)"
}

# browse PAGE [SETTINGS]: opens a copy of the page in which report_page.js follows, and leaves its
# results in results.txt. SETTINGS are JavaScript.
browse() {
    scripts=$(($(grep -c '<script[ >]' "$1") + 2))
    {
        sed '/^<head>$/q' "$1"
        echo '<script>window.pageErrors = [];'
        echo 'addEventListener("error", (e) => pageErrors.push("FAILED: " + e.message));'
        echo 'addEventListener("unhandledrejection", (e) => pageErrors.push("FAILED: " + e.reason));'
        echo 'addEventListener("securitypolicyviolation", (e) => pageErrors.push("FAILED: loads " + e.blockedURI));'
        echo "window.expectedScripts = $scripts; ${2:-}</script>"
        sed '1,/^<head>$/d; /^<\/body>$/,$d' "$1"
        echo '<script>'
        cat "$here/report_page.js"
        echo '</script></body></html>'
    } >page.html
    # On a busy machine Chromium at times ends before the page is loaded.
    for _ in 1 2 3; do
        chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" --dump-dom \
            "file://$PWD/page.html" >dom.txt 2>chromium.txt || complain "$1: $(tail -n 3 chromium.txt)"
        grep -q '<pre id="results">' dom.txt && break
    done
    # Text of the document is escaped.
    sed -n '/<pre id="results">/,/<\/pre>/p' dom.txt | sed '1d; /<\/pre>/d; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' \
        >results.txt
    grep -qx DONE results.txt || complain "$1: not finished: $(tail -n 3 chromium.txt)"
    ! grep '^FAILED' results.txt >&2 || complain "$1"
}

# same_numbers CSV SED: the values of results.txt are those of the table, whose names of inputs SED makes
# those of the page.
same_numbers() {
    sed '1,/^DONE$/d' results.txt | LC_ALL=C sort >found.txt
    tail -n +2 "$1" | sed "$2" | cut -d, -f 1,3,5,6,8,9-12 | LC_ALL=C sort >expected.txt
    [ -s expected.txt ] || complain "$1 has no values"
    cmp expected.txt found.txt || complain "$1: other numbers: $(diff expected.txt found.txt | head -n 4)"
}

train="--task lm --data text.txt --steps 1 --batch 1 --eval-every 0 --threads 1 --seed 1 -q"
save="--text text.txt --samples 4 --length 64 --save attention,keys,queries,values,weights -q"
write_text 100 >text.txt

# ---- 6 x 8 heads of 64 tokens, from stores and from running models
for kind in softmax mgk; do
    "$programs/mgk-train" $train --attention $kind --layers 6 --heads 8 --dim 16 --head-dim 2 --length 64 \
        -o $kind.safetensors
    "$programs/mgk-dump" $kind.safetensors $save -o $kind-store.h5
done
stores="softmax-store.h5 mgk-store.h5"
"$programs/mgk-diversity" $stores -q -o both.csv >out.txt
"$programs/mgk-diversity" $stores -q -o both.h5 >out.txt
report both.html both.h5 $stores
browse both.html 'window.rowsSumToOne = true;'
same_numbers both.csv 's/-store\.h5,/,/'
report csv.html both.csv
browse csv.html
same_numbers both.csv 's/\.h5,/,/'
"$programs/mgk-diversity" --model mgk.safetensors --text text.txt --samples 4 --length 64 -q -o run.h5 >out.txt
report one.html run.h5 mgk-store.h5
browse one.html 'window.rowsSumToOne = true;'
# The whole page is small, with every picture.
[ "$(stat -c %s one.html)" -lt 5000000 ] || complain "$(stat -c %s one.html) bytes"
[ "$(grep -c '<svg role="img"' one.html)" -eq 11 ] || complain "not all pictures: $(grep missing one.html)"
! grep -qE '(https?:|["(=])//' one.html || complain "an address: $(grep -oE '.{20}(https?:|["(=])//.{20}' one.html)"

# ---- differences of two models
"$programs/mgk-diversity" $stores --compare --measures js,mean_js,cka_output,entropy -q -o compared.h5 >out.txt 2>err.txt
"$programs/mgk-diversity" $stores --compare --measures js,mean_js,cka_output,entropy -q -o compared.csv >out.txt 2>err.txt
report compared.html compared.h5
browse compared.html
grep -q '>mgk − softmax</td>' dom.txt || complain "no titles of a comparison"
significant=$(awk -F, '$2 == "difference" && $(NF - 1) < 0.05 { n++ } END { print n + 0 }' compared.csv)
grep -q "All differences: 24, tested 24, significant $significant " dom.txt || complain "no table of $significant differences"
grep -q '<button type="button" class="sort">cka_output</button>' dom.txt || complain "no cka_output of the closest pairs"
! grep -q 'class="sort">normalized_entropy, first' dom.txt || complain "an empty column of the closest pairs"

# ---- tables of one model become one: measures, pruning, pairs across layers
run="--model mgk.safetensors --text text.txt --samples 4 --length 64 -q"
"$programs/mgk-diversity" $run --measures importance_ablation,js --prune -o pruned.h5 >out.txt
"$programs/mgk-diversity" $run --measures js --across-layers -o across.h5 >out.txt
"$programs/mgk-diversity" $run -o all.csv >out.txt
"$programs/mgk-diversity" $run --measures importance_ablation -o importance.csv >out.txt
tail -n +2 importance.csv >>all.csv
report three.html run.h5 pruned.h5 across.h5 mgk-store.h5
browse three.html 'window.rowsSumToOne = true;'
same_numbers all.csv 's/\.safetensors,/,/'
[ "$(grep -c '<svg role="img"' three.html)" -eq 13 ] || complain "no pruning or map: $(grep missing three.html)"
grep -q 'js of mgk is in run.h5 and in pruned.h5; the page shows the values of run.h5' dom.txt ||
    complain "nothing about a measure of two tables"
# What heads are worth: the most important head, those below the bound, the loss with half of the heads.
LC_ALL=C sort -t , -g -r -k 10 importance.csv | head -n 1 >best.txt
best=$(sed 's/^[^,]*,head,importance_ablation,,\([0-9]*\),\([0-9]*\),.*/layer \1, head \2 /' best.txt)
grep -qF "by importance_ablation the heads that matter most are $best" dom.txt || complain "not $best"
below=$(awk -F , 'NR > 1 && $10 < 0.005 { n++ } END { print n + 0 }' importance.csv)
grep -qF "$below of 48 heads are worth less than 0.005 nats" dom.txt || complain "not $below heads"
grep -qE 'Without the 24 least important of 48 heads the loss is [0-9.]+ nats, with all heads [0-9.]+\.' dom.txt ||
    complain "nothing about half of the heads"
# Uniform attention to 64 tokens behind a causal mask: the sum of 1/i over 64, and 1/64 less.
grep -qF 'Uniform attention on the 4 samples of mgk-store.h5 would have previous_token 0.0585, first 0.0741, diagonal 0.0741' \
    dom.txt || complain "no uniform attention"
# A store and the model that it is of have the same samples.
report two.html both.h5 pruned.h5 $stores
[ "$(grep -c '"title":' two.html)" -eq 2 ] || complain "a store and its model are two models"
browse two.html 'window.rowsSumToOne = true;'
# Other values of a measure, and other samples of a model, are told.
"$programs/mgk-diversity" $run --measures rank --threshold 0.3 -o other.h5 >out.txt
"$programs/mgk-diversity" --model mgk.safetensors --text text.txt --samples 2 --seed 5 --length 64 --measures rank,first -q -o few.h5 >out.txt
report told.html run.h5 other.h5 few.h5 mgk-store.h5
browse told.html
grep -q 'rank of run.h5: mgk is in run.h5 (threshold 1e-06) and in other.h5 (threshold 0.3) with other values; the page shows the values of run.h5' dom.txt ||
    complain "nothing about other values"
grep -q 'The table has other samples than mgk-store.h5: uniform attention is not compared' dom.txt ||
    complain "uniform attention on other samples"
grep -q 'run.h5: mgk and few.h5: mgk are the same model file' dom.txt || complain "nothing about other samples"
# Files of one name are told apart by their paths, thresholds also by what they are multiples of.
mkdir x y
"$programs/mgk-diversity" $run --measures js,rank --threshold 0.3 -o x/r.h5 >out.txt
"$programs/mgk-diversity" $run --measures js,rank --threshold 0.3 --relative -o y/r.h5 >out.txt
report paths.html x/r.h5 y/r.h5
browse paths.html
grep -q 'rank of mgk is in x/r.h5 (threshold 0.3) and in y/r.h5 (threshold 0.3, relative) with other values' dom.txt ||
    complain "files of one name, or their thresholds"
grep -q 'js of mgk is in x/r.h5 and in y/r.h5; the page shows the values of x/r.h5' dom.txt || complain "files that agree"
grep -q '>x/r.h5, y/r.h5</td>' dom.txt || complain "the column of tables"
# A curve that differs.
"$programs/mgk-diversity" $run --measures importance_ablation --prune -o pruned.json >out.txt
sed '/"measure": "prune_random"/s/"value": [0-9.e-]*/"value": 0.5/' pruned.json >chance.json
report curves.html pruned.json chance.json
browse curves.html
grep -q 'the curve prune_random of mgk is in pruned.json and in chance.json with other values' dom.txt ||
    complain "nothing about a curve that differs"

# ---- numbers that are rounded up to a power of ten: a map has 3 digits, a table 4
{
    head -n 1 both.csv
    head=0
    for value in 9999.71 999.96 -999.96 999.6 0.00099996; do
        echo "m,head,distance,,0,$head,,,,$value,,4"
        head=$((head + 1))
    done
} >round.csv
report round.html round.csv
browse round.html
# shown TAG: the texts of elements, which hold numbers.
shown() {
    sed -n '1,/<pre id="results">/p' dom.txt | grep -oE "<$1 [^>]*>[^<]*</$1>" | sed 's/<[^>]*>//g' | grep -x '[-0-9.e+]*' | tr '\n' ' '
}
case $(shown button) in
*'10000 1000 -1000 1000 0.00100 '*) ;;
*) complain "the map shows $(shown button)" ;;
esac
case $(shown td) in
*'10000 '*'1000 '*'-1000 '*'999.6 '*'0.001000 '*) ;;
*) complain "the table shows $(shown td)" ;;
esac

# ---- tokens and names that are markup
i=0
while [ $i -lt 256 ]; do
    case $((i % 4)) in
    0) echo "<script>window.broken=$i</script>" ;;
    1) echo "</script><script>window.broken=$i</script>" ;;
    2) echo "<!--<img/src=x/onerror=window.broken=$i>&amp;\"'" ;;
    3) echo "--></title></style>\\u003c<b>$i" ;;
    esac
    i=$((i + 1))
done >words.txt
sed -i '1s/.*/<unk>/' words.txt
echo 1 2 3 4 5 6 7 8 9 10 11 12 >ids.txt
evil="<img src=x onerror=window.broken=1><b>.h5"
"$programs/mgk-dump" mgk.safetensors --tokens ids.txt --tokenizer words.txt --samples 1 --length 12 \
    --save attention -q -o "$evil" || complain "no store of markup"
"$programs/mgk-diversity" "$evil" -q -o "t$evil" >out.txt
report evil.html "t$evil" "$evil"
browse evil.html
sed -n '/id="token-view"/,$p' dom.txt | grep -qF '&lt;script&gt;window.broken=4&lt;/script&gt;' ||
    complain "the token is not shown"

# ---- other shapes: one head, one layer, no pairs, no store, an array without tokens
"$programs/mgk-train" $train --attention softmax --layers 1 --heads 1 --dim 4 --head-dim 2 --length 16 \
    -o single.safetensors
"$programs/mgk-dump" single.safetensors --text text.txt --samples 1 --length 16 -q -o single-store.h5
"$programs/mgk-diversity" single-store.h5 -q -o single.h5 >out.txt
report single.html single.h5 single-store.h5
browse single.html 'window.rowsSumToOne = true;'
grep -q 'It is the only head of its layer' dom.txt || complain "one head"
report shapes.html single.h5 both.h5 softmax-store.h5
browse shapes.html
"$programs/mgk-diversity" softmax-store.h5 --measures rank --layers 2,4 -q -o rank.h5 >out.txt
report rank.html rank.h5 softmax-store.h5
browse rank.html 'window.rowsSumToOne = true;'
grep -q 'The table has no js' dom.txt || complain "no pairs"
"$programs/mgk-diversity" softmax-store.h5 --measures mean_js -q -o layers.h5 >out.txt
report layers.html layers.h5
browse layers.html
# [2, 2, 2]: 3/4, 1/4, 1/2, 1/2 and 1/2, 1/2, 1/4, 3/4, in NumPy's format
quarter='\320\077' half='\340\077' more='\350\077'
{
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 2, 2), }"
    for number in $more $quarter $half $half $half $half $quarter $more; do
        printf "\\000\\000\\000\\000\\000\\000$number"
    done
} >theirs.npy
"$programs/mgk-diversity" theirs.npy -q -o theirs.h5 >out.txt 2>err.txt
report theirs.html theirs.h5 theirs.npy
browse theirs.html 'window.rowsSumToOne = true;'
grep -q 'The file has no tokens' dom.txt || complain "an array has tokens"
# The second query of the second head.
for weight in 'token 0: 0.25"' 'token 1: 0.75"'; do
    grep -qF "$weight" dom.txt || complain "no $weight"
done
# Entries below 0 have a scale with 0 in its middle: -3/4, 1/4, 1/2, -1/2.
below='\350\277' less='\340\277'
{
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 2, 2), }"
    for number in $below $quarter $half $less; do
        printf "\\000\\000\\000\\000\\000\\000$number"
    done
} >negative.npy
"$programs/mgk-diversity" negative.npy --measures rank -q -o negative.h5 >out.txt 2>err.txt
report negative.html negative.h5 negative.npy
browse negative.html
for weight in 'token 0: 0.5"' 'token 1: -0.5"'; do
    grep -qF "$weight" dom.txt || complain "no $weight of negative entries"
done
grep -q '<div class="legend">-0.75' dom.txt || complain "no scale of negative entries"
exit "$((failures > 0))"
