#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that receive a signal or meet a full disk leave no unfinished file and report the reason.
# Usage: limits.sh PROGRAMS FOLDER, with absolute paths
set -u
programs=$1 folder=$2
export OMP_NUM_THREADS=1
failures=0
train="--task lm --layers 2 --heads 2 --dim 8 --head-dim 4 --hidden 8 --length 128 --data text.txt
    --batch 1 --warmup 0 -q --threads 1"

complain() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# Only journals remain, with which mgk-rank can continue.
clean() {
    for left in out/*; do
        case $left in out/r.*.part) continue ;; esac
        [ ! -e "$left" ] || complain "$* leaves $left"
    done
    rm -f out/*
}

# says STATUS PATTERN PROGRAM ARGUMENTS...: prints one line that matches the grep pattern.
says() {
    expected=$1 pattern=$2 name=$3
    shift 3
    message=$("$programs/$name" "$@" 2>&1 >/dev/null)
    found=$?
    [ $found -eq "$expected" ] || complain "$name $*: exit status $found, not $expected"
    [ "$(echo "$message" | wc -l)" -eq 1 ] || complain "$name $*: not one line: $message"
    echo "$message" | grep -q "^$name: .*$pattern" || complain "$name $*: says \"$message\""
    clean "$name $*"
}

# fills REASON: every program that writes reports REASON for a file that cannot take all data.
fills() {
    says 1 "out/m.safetensors: $1" mgk-train $train --steps 2 -o out/m.safetensors
    says 1 "out/m.safetensors.checkpoint: $1" mgk-train $train --steps 2000 --checkpoint-every 1 \
        -o out/m.safetensors
    says 1 "out/a.h5: $1" mgk-dump model.safetensors --text text.txt --samples 4 -q -o out/a.h5
    says 1 "out/a.h5: $1" mgk-dump model.safetensors --text text.txt --samples 4 --compress 4 -q \
        -o out/a.h5
    for output in r.csv r.json r.h5; do
        says 1 "out/$output.part: $1" mgk-rank store.h5 -q --threads 1 -o out/$output
    done
    says 1 "out/m.safetensors: $1" mgk-convert model.safetensors -o out/m.safetensors
    for output in p.png p.pdf p.svg; do
        says 1 "out/$output: $1" mgk-plot attention store.h5 -o out/$output
    done
    # A log keeps its complete rows.
    message=$("$programs/mgk-train" $train --steps 200 --log-every 1 -f -o m.safetensors \
        --log out/m.csv 2>&1)
    echo "$message" | grep -q "^mgk-train: out/m.csv: $1" || complain "a full log: $message"
    [ "$(tail -c 1 out/m.csv | od -An -c | tr -d ' ')" = '\n' ] || complain "half a row in the log"
    rm -f out/*
}

if [ "${3-}" = full ]; then # a run of this script where it may mount a disk
    cd "$folder" && mount -t tmpfs -o size=4k none out || exit 77
    fills "no space left on the device"
    exit $failures
fi

rm -rf "$folder" && mkdir -p "$folder/out" && cd "$folder" || exit 1
i=0
while [ $i -lt 300 ]; do
    echo "line $i of a text that is long enough"
    i=$((i + 1))
done >text.txt
"$programs/mgk-train" $train --steps 2 -o model.safetensors || exit 1
"$programs/mgk-dump" model.safetensors --text text.txt --samples 4 -q --threads 1 -o store.h5 ||
    exit 1
"$programs/mgk-plot" attention store.h5 -o plot.png || exit 1 # fontconfig writes its cache now

# Files may grow to 4 KiB only; programs ignore the signal of that limit.
before=$failures
(
    ulimit -f 8
    fills "the file may not grow further"
    "$programs/mgk-rank" --help all >out/help 2>stderr
    found=$?
    [ $found -eq 1 ] || complain "mgk-rank --help all: exit status $found"
    grep -q "^mgk-rank: standard output: " stderr || complain "mgk-rank --help all: $(cat stderr)"
    rm -f out/help
    exit $((failures - before))
) || failures=$((failures + 1))
before=$failures
(
    ulimit -f 18 # the journal has room, its result has not
    for output in r.json r.h5; do
        says 1 "out/$output: the file may not grow further" mgk-rank store.h5 -q --threads 1 \
            -o out/$output
    done
    exit $((failures - before))
) || failures=$((failures + 1))

unshare -rm sh "$0" "$programs" "$folder" full 2>stderr
case $? in
0) ;;
77 | 1) [ -s stderr ] && echo "SKIPPED: a full disk, for none can be mounted: $(cat stderr)" ||
    failures=$((failures + 1)) ;;
*) failures=$((failures + 1)) ;;
esac

# writes: whether an output is being written.
writes() {
    for part in out/*.*.mgk-??????.part; do
        [ -e "$part" ]
        return
    done
}

# ended SIGNAL STATUS PROGRAM ARGUMENTS...: sends a signal while the output is being written.
ended() {
    signal=$1 wanted=$2 name=$3
    shift 3
    "$programs/$name" "$@" 2>stderr >/dev/null &
    while kill -0 $! 2>/dev/null && ! writes; do sleep 0.01; done
    kill -"$signal" $! 2>/dev/null
    wait $!
    found=$?
    [ $found -eq "$wanted" ] || complain "$name: exit status $found after $signal: $(cat stderr)"
    clean "$name, ended by $signal,"
}
large="--save attention,scores,queries,keys,values --samples 80"
ended TERM 1 mgk-dump model.safetensors --text text.txt $large --compress 9 -q -o out/a.h5
for signal in "HUP 129" "INT 130" "TERM 143"; do
    ended $signal mgk-plot attention store.h5 --panel 4000 -o out/p.png
done

# The reader of standard output has gone: lost progress does not matter, lost results do.
mkfifo closed
reads_nothing() {
    exec <&-
    echo now >closed
}
{
    read -r now <closed
    "$programs/mgk-dump" model.safetensors --text text.txt --samples 4 -o out/a.h5
    echo $? >status
} 2>&1 | reads_nothing
[ "$(cat status)" -eq 0 ] && [ -e out/a.h5 ] || complain "mgk-dump ends with its progress"
rm -f out/a.h5
{
    read -r now <closed
    "$programs/mgk-info" model.safetensors 2>stderr
    echo $? >status
} | reads_nothing
[ "$(cat status)" -eq 141 ] || complain "mgk-info into nothing: exit status $(cat status)"
[ ! -s stderr ] || complain "mgk-info into nothing: $(cat stderr)"

[ $failures -eq 0 ] && echo "nothing half-written is left"
exit $failures
