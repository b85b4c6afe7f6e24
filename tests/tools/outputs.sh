#!/bin/sh
# SPDX-License-Identifier: MIT
# Outputs that are inputs, that other runs write, or that killed runs left. Usage: outputs.sh
# PROGRAMS FOLDER GOLDEN
set -u
. "$(dirname "$0")/begin.sh"
golden=$3

# Lists the files with their contents, links as links.
take_stock() {
    find . ! -path './std*' | LC_ALL=C sort
    find . -type f ! -path './std*' -exec sha256sum {} + | LC_ALL=C sort
}

# same OUTPUT INPUT PROGRAM ARGUMENTS...: wrong usage, because both names are one file, with and
# without --force; nothing changes.
same() {
    output=$1 input=$2 program=$3
    shift 3
    for force in "" --force; do
        "$programs/$program" "$@" -q $force >stdout 2>stderr
        found=$?
        line="$program: $output: is the same file as the $input"
        [ $found -eq 2 ] || complain "$program $* $force: exit status $found"
        [ "$(cat stderr)" = "$line" ] || complain "$program $* $force: says \"$(cat stderr)\""
    done
    take_stock >../stock.now
    cmp -s ../stock ../stock.now || {
        complain "$program $*: $(diff ../stock ../stock.now)"
        exit 1
    }
}

write_text 200 >text.txt
train="--task lm --attention mgk --layers 2 --heads 2 --dim 4 --head-dim 2 --hidden 4 --length 16 \
    --data text.txt --batch 1 --warmup 0 --threads 1"
"$programs/mgk-train" $train --steps 3 --log-every 1 -o model.safetensors --log log.csv -q || exit 1
"$programs/mgk-dump" model.safetensors --text text.txt --samples 3 -q -o store.h5 || exit 1
"$programs/mgk-rank" store.h5 -q -o ranks.json >/dev/null || exit 1
head -n 20 text.txt >held_out.txt
printf '1 2 3 4 5 6 7 8\n' >ids.txt
cp -R "$golden/hugging_face/bert" "$golden/containers/shards" .
cp -R "$golden/tokenizers/wordpiece-cased" words
mkdir inner
ln model.safetensors hard
ln -s model.safetensors soft
ln -s soft softer
ln -s . here
take_stock >../stock

# An output under every name that a file has.
text="--text text.txt"
for name in model.safetensors ./model.safetensors .//inner/../model.safetensors hard soft softer \
    here/model.safetensors "$PWD/model.safetensors"; do
    same "$name" "input model.safetensors" mgk-dump model.safetensors $text -o "$name"
    same "$name" "input model.safetensors" mgk-convert model.safetensors -o "$name"
done
same model.safetensors "input softer" mgk-dump softer $text -o model.safetensors
same ./text.txt "input text.txt" mgk-dump model.safetensors $text -o ./text.txt
same text.txt "input text.txt" mgk-dump model.safetensors --text held_out.txt text.txt -o text.txt
same ids.txt "input ids.txt" mgk-dump model.safetensors --tokens ids.txt -o ids.txt
same ids.txt "input ids.txt" mgk-dump model.safetensors --images ids.txt -o ids.txt
same text.txt "input text.txt" mgk-dump model.safetensors --task lm --data text.txt -o text.txt
same words/vocab.txt "input words/vocab.txt" mgk-dump model.safetensors $text --tokenizer words \
    -o words/vocab.txt
same words/vocab.txt "input words/vocab.txt" mgk-dump model.safetensors $text \
    --tokenizer words/vocab.txt -o words/vocab.txt

# The files of a folder, and those named by an index.
same bert/config.json "input bert/config.json" mgk-convert bert -o bert/config.json
same bert/model.safetensors "input bert/model.safetensors" mgk-convert bert/ \
    -o bert/model.safetensors
for file in shards/*; do
    case $file in
    *.index.json) index=$file ;;
    *) shard=$file ;;
    esac
done
same "$shard" "input $shard" mgk-convert "$index" -o "$shard"
same "$index" "input $index" mgk-convert shards -o "$index"


# Stores, tables, pictures, logs; the second output; files next to an output while it is written.
cp store.h5 store.png
cp store.h5 r.h5.part
cp log.csv log.png
: >r.csv.mgk-lock
: >hist.png
ln -s hist.png hist.csv
take_stock >../stock
same store.h5 "input ./store.h5" mgk-rank ./store.h5 -o store.h5
same store.png "input here/store.png" mgk-rank here/store.png -o r.csv --png store.png
same r.h5.part "input r.h5.part" mgk-rank r.h5.part -o r.h5
same r.csv.mgk-lock "input r.csv.mgk-lock" mgk-rank --model model.safetensors --tokens r.csv.mgk-lock -o r.csv
same ranks.json "input ranks.json" mgk-rank --model model.safetensors --tokens ranks.json -o ranks.json
same hist.png "output hist.csv" mgk-rank store.h5 -o hist.csv --png hist.png
same store.png "input store.png" mgk-plot attention store.png -o store.png
same log.png "input log.png" mgk-plot curves log.png log.csv -o log.png
same text.txt "input text.txt" mgk-plot attention store.h5 --labels-file text.txt -o text.txt
same bert/config.json "input bert/config.json" mgk-plot weights bert -o bert/config.json
same hard "input model.safetensors" mgk-plot cost model.safetensors -o hard
train="$train --steps 4"
same text.txt "input text.txt" mgk-train $train -o text.txt
same held_out.txt "input held_out.txt" mgk-train $train --held-out held_out.txt -o held_out.txt
same ./text.txt "input text.txt" mgk-train $train -o new.safetensors --log ./text.txt
same here/new "output new" mgk-train $train -o new --log here/new
same new.checkpoint "output new.checkpoint" mgk-train $train -o new --log new.checkpoint
same soft "input model.safetensors" mgk-train $train -o soft --resume model.safetensors
same log.csv "input log.csv" mgk-train $train -o new --log log.csv --resume log.csv
cp model.safetensors run.checkpoint
take_stock >../stock
same inner/../run.checkpoint "output run.checkpoint" mgk-train $train -o run \
    --resume run.checkpoint --log inner/../run.checkpoint

# fails STATUS TEXT PROGRAM ARGUMENTS...: ends with STATUS and one line that contains TEXT.
fails() {
    expected=$1 said=$2 program=$3
    shift 3
    timeout 60 "$programs/$program" "$@" -q >stdout 2>stderr
    found=$?
    [ $found -eq "$expected" ] || complain "$program $*: exit status $found"
    [ "$(wc -l <stderr)" -eq 1 ] || complain "$program $*: says \"$(cat stderr)\""
    grep -qF -- "$said" stderr || complain "$program $*: says \"$(cat stderr)\""
}

# A dangling link exists; --force replaces links and keeps their targets.
for command in "mgk-dump model.safetensors $text --samples 2 -o" "mgk-convert model.safetensors -o" \
    "mgk-rank store.h5 -o" "mgk-rank store.h5 --png" "mgk-plot attention store.h5 -o" \
    "mgk-train $train -o" "mgk-train $train -o new.safetensors --log"; do
    for ending in csv png h5 safetensors; do
        case "$command $ending" in
        mgk-convert*safetensors | mgk-train*-o\ safetensors) ;;
        mgk-convert* | mgk-train*-o\ * | *safetensors) continue ;;
        mgk-rank*--png\ csv | mgk-rank*-o\ png | mgk-plot*csv) continue ;;
        mgk-dump*csv | mgk-dump*png | mgk-rank*--png\ h5 | mgk-plot*h5) continue ;;
        esac
        rm -f new.safetensors link.* left
        ln -s left link.$ending
        fails 1 "link.$ending: exists" $command link.$ending
        [ -L link.$ending ] || complain "$command: a link that leads nowhere is gone"
        echo precious >left
        fails 1 "link.$ending: exists" $command link.$ending
        "$programs"/$command link.$ending -q --force >stdout || complain "$command --force"
        [ -f link.$ending ] && [ ! -L link.$ending ] || complain "$command --force: still a link"
        [ "$(cat left)" = precious ] || complain "$command --force: writes through a link"
    done
done
mkfifo pipe
fails 1 "pipe: not a regular file" mgk-train $train -o new.safetensors --log pipe --force
fails 1 "/dev/null: not a regular file" mgk-train $train -o new.safetensors --log /dev/null --force
rm -f new.safetensors link.* left pipe

# clean PATTERN WHAT: no such files remain.
clean() {
    found=$(find . -name "$1")
    [ -z "$found" ] || complain "$2: leaves $found"
}

# The next run with the same output removes the files of killed runs, and reports that.
: >other.png.mgk-abc123.part
: >other.png.mgk-lock
for command in "mgk-dump model.safetensors $text --samples 2 -o k.h5" \
    "mgk-convert model.safetensors -o k.safetensors" "mgk-rank store.h5 -o k.csv" \
    "mgk-rank store.h5 --png k.png" "mgk-plot attention store.h5 -o k.png" \
    "mgk-train $train -o k.safetensors" "mgk-train $train -o k.safetensors --log k.csv"; do
    output=${command##* }
    rm -f k.*
    : >$output.mgk-lock
    echo half >$output.mgk-0123av.part
    "$programs"/$command >stdout 2>stderr || complain "$command: $(cat stderr)"
    [ -s $output ] || complain "$command: no $output"
    grep -qx "${command%% *}: $output.mgk-0123av.part: left by a run that was killed, removed" stderr ||
        complain "$command: says \"$(cat stderr)\""
    clean "k.*.part" "$command"
    clean "k.*.mgk-lock" "$command"
done
[ -e other.png.mgk-abc123.part ] || complain "a part of another output is gone"
rm -f k.* other.*

# at_once PROGRAM ARGUMENTS...: three runs; those that fail do so because another one is running.
at_once() {
    program=$1
    shift
    rm -f std*
    for run in 1 2 3; do
        { "$programs/$program" "$@" -q >stdout.$run 2>stderr.$run; echo $? >std.status.$run; } &
    done
    wait
    won=$(cat std.status.* | grep -c '^0$')
    for run in 1 2 3; do
        case $(cat std.status.$run) in
        0) ;;
        1)
            [ "$(wc -l <stderr.$run)" -eq 1 ] &&
                grep -q ': another run is writing it$\|: exists (use --force' stderr.$run ||
                complain "$program $*: says \"$(cat stderr.$run)\""
            ;;
        *) complain "$program $*: exit status $(cat std.status.$run)" ;;
        esac
    done
    clean "at.*.part" "$program $*"
    clean "at.*.mgk-lock" "$program $*"
}
i=0
while [ $i -lt 20 ]; do
    cat text.txt
    i=$((i + 1))
done >long.txt
for command in "mgk-dump model.safetensors --text long.txt --samples 2000 -o at.h5" \
    "mgk-convert model.safetensors -o at.safetensors" "mgk-rank store.h5 -o at.csv --png at.png" \
    "mgk-plot attention store.h5 -o at.png" "mgk-train ${train% --steps 4} --steps 100 -o at --log at.log.csv"; do
    rm -f at.* at
    at_once $command
    [ "$won" -eq 1 ] || complain "$won of three at once succeed: $command"
    at_once $command --force
    [ "$won" -ge 1 ] || complain "none of three at once succeeds: $command --force"
done

# A run that is really killed; a living run keeps its files.
"$programs/mgk-dump" model.safetensors --text long.txt --samples 9000 -q -o at.h5 --force &
job=$!
tries=0
until ls at.h5.*.part >/dev/null 2>&1 || [ $tries -ge 600 ]; do
    sleep 0.01
    tries=$((tries + 1))
done
kill -STOP $job
fails 1 "at.h5: another run is writing it" mgk-dump model.safetensors $text -o at.h5 --force
ls at.h5.*.part >/dev/null 2>&1 || complain "the part of a run that lives was removed"
kill -9 $job
wait $job 2>/dev/null
ls at.h5.*.part >/dev/null 2>&1 || complain "the killed run has left nothing"
"$programs/mgk-dump" model.safetensors $text --samples 2 -o at.h5 --force 2>stderr ||
    complain "after a killed run: $(cat stderr)"
[ "$(grep -c 'left by a run that was killed, removed$' stderr)" -eq 1 ] ||
    complain "after a killed run: says \"$(cat stderr)\""
clean "at.*.part" "the next run"
clean "at.*.mgk-lock" "the next run"

[ $failures -eq 0 ]
