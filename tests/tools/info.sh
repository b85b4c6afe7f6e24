#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-info as a program: models, and the list of measures, as lines and as JSON. Usage: info.sh
# PROGRAMS FOLDER GOLDEN
set -u
. "$(dirname "$0")/begin.sh"
info=$programs/mgk-info

"$info" --measures >lines || complain "--measures: exit status $?"
"$info" --measures --json >json || complain "--measures --json: exit status $?"

# An array of objects with these names in this order.
texts='"[^"]*"'
object="[{]\"name\": \"[a-z0-9_]+\", \"level\": \"(head|pair|layer)\", \"unit\": $texts, \"range\": $texts,"
object="$object \"formula\": $texts, \"source\": $texts, \"needs\": $texts[}]"
[ "$(head -c 1 json)" = "[" ] || complain "the JSON does not begin with ["
[ "$(tail -c 2 json)" = "]" ] || complain "the JSON does not end with ]"
sed 's/^[[ ]//; s/[],]$//' json | grep -vxE -- "$object" && complain "no object of a measure"

# The lines say the same: name, level, formula, and in parentheses what is not empty.
awk -F '"' '{
    line = $4 " " $8 " " $20
    before = " ("
    remark[1] = $12; remark[2] = $16; remark[3] = $24; remark[4] = $28 == "" ? "" : "needs " $28
    for (i = 1; i <= 4; i++)
        if (remark[i] != "") {
            line = line before remark[i]
            before = "; "
        }
    print line (before == "; " ? ")" : "")
}' json >expected
tr -s ' ' <lines >found
diff expected found || complain "lines and JSON differ"
grep -q '^js pair mean_i .*Clark et al. 2019)$' found || complain "no js: $(cat found)"
grep -q 'needs tokens)$' found || complain "no measure needs tokens"
[ "$(cut -d ' ' -f 1 found | sort -u | wc -l)" -eq "$(wc -l <lines)" ] || complain "a name is there twice"

# Kinds: a line each below the titles, in columns; and as JSON.
"$info" --kinds >lines || complain "--kinds: exit status $?"
"$info" --kinds --json >json || complain "--kinds --json: exit status $?"
object="[{]\"name\": \"[a-z0-9-]+\", \"formula\": $texts, \"primitives\": $texts,"
object="$object \"parameters\": [{]((, )?\"[a-z_]+\": ([0-9]+|\"[a-z]+\"))*[}],"
object="$object \"devices\": \"cpu( cuda)?\", \"causal\": \"(yes|no|only)\", \"matrix\": (true|false), \"rank_bound\": $texts"
object="$object(, \"rank_bound_causal\": \"N\")?(, \"reason\": \"[^\"]+\")?[}]"
sed 's/^[[ ]//; s/[],]$//' json | grep -vxE -- "$object" && complain "no object of a kind"
grep -c '"matrix": false' json >expected
grep -c '"reason"' json | cmp - expected || complain "a reason where there is a matrix, or none"
head -n 1 lines | grep -q '^kind  *primitives  *devices  *causal  *matrix  *rank up to  *formula; settings; ' ||
    complain "titles: $(head -n 1 lines)"
sed 's/^[[ ]*{"name": "\([^"]*\)".*"devices": "\([^"]*\)", "causal": "\([^"]*\)", "matrix": true.*/\1 \2 \3 yes/
    s/^[[ ]*{"name": "\([^"]*\)".*"devices": "\([^"]*\)", "causal": "\([^"]*\)", "matrix": false.*/\1 \2 \3 no/' json >expected
start=$(head -n 1 lines | awk '{ print index($0, "devices") }')
end=$(head -n 1 lines | awk '{ print index($0, "rank up to") }')
tail -n 1 lines | grep -q 'not N, it holds without a causal mask' || complain "no remark: $(tail -n 1 lines)"
grep '"matrix": true' json | grep -vc '"causal": "no"' >masked
grep -c '"rank_bound_causal"' json | cmp - masked || complain "a causal bound where there is no causal form, or none"
# Settings are spelled as options, in JSON as fields.
grep -q '^performer .*; features [0-9]*, feature-map [a-z]*, feature-draw [a-z]*$' lines || complain "no --feature-map"
grep -q '"feature_map": "[a-z]*", "feature_draw": ' json || complain "no feature_map in JSON"
sed '1d;$d' lines | awk -v start="$start" -v end="$end" '{
    place = substr($0, start, end - start)
    gsub(/  +/, " ", place)
    sub(/ $/, "", place)
    print $1, place
}' >found
diff expected found || complain "lines and JSON of kinds differ"
grep -q '^softmax cpu cuda yes yes$' found || complain "no softmax: $(cat found)"

# A model is on one screen; --all and --json have everything.
model=$3/hugging_face/bert
"$info" "$model" >short || complain "$model: exit status $?"
"$info" "$model" --all >all || complain "$model --all: exit status $?"
[ "$(wc -l <short)" -le 48 ] || complain "a model takes $(wc -l <short) lines"
[ "$(wc -l <all)" -gt 150 ] || complain "--all takes $(wc -l <all) lines"
for line in '^kind  *model$' '^  vocabulary  *37$' '^parameters  *[0-9,]*$' '^flops_forward  *[0-9,]*$' \
    '^  \.\.\. [0-9]* more (--all)$'; do
    grep -q "$line" short || complain "no line '$line' in: $(cat short)"
done
total=$(sed -n '/^parameters$/,/^  total/s/^  total *//p' all)
grep -q "^parameters  *$total\$" short || complain "other parameters than $total: $(cat short)"

# Of experts all parameters count, 8,640 of 11,504 numbers in the file, and the operations of those used.
"$info" "$3/decoders/qwen2_moe" --all >experts || complain "experts: exit status $?"
for line in '^  experts  *5$' '^  experts_used  *2$' '^  total  *11,504$' '^  feed_forward  *711,552$'; do
    grep -q "$line" experts || complain "no line '$line' in: $(cat experts)"
done
left=$(sed -n '/^stored$/,$p' all | wc -l) && left=$((left - 1 - 4))
sed -n '/^stored$/,$p' short | grep -q "^  \.\.\. $left more (--all)$" || complain "not $left more: $(cat short)"

# refuses WORDS...: the words are wrong usage.
refuses() {
    "$info" "$@" >stdout 2>stderr
    [ $? -eq 2 ] || complain "mgk-info $*: not refused as wrong usage"
    [ "$(wc -l <stderr)" -eq 1 ] || complain "mgk-info $*: not one line: $(cat stderr)"
}
refuses --measures lines
refuses --measures --machine
refuses --kinds lines
refuses --kinds --measures
refuses

exit "$((failures > 0))"
