#!/bin/sh
# mgk-rank as a program: exit statuses, one-line errors, no output left behind.
# Usage: rank.sh PROGRAMS FOLDER
set -eu
rank=$1/mgk-rank
mkdir -p "$2"
cd "$2"
rm -f -- r.csv
failures=0

complain() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# fails STATUS TEXT ARGUMENTS...: the program ends so, with one line that holds the text.
fails() {
    expected=$1 text=$2
    shift 2
    status=0
    "$rank" "$@" >out.txt 2>err.txt || status=$?
    [ "$status" -eq "$expected" ] || complain "exit $status, expected $expected: $*"
    [ "$(wc -l <err.txt)" -eq 1 ] || complain "not one line: $* $(cat err.txt)"
    grep -qF -- "$text" err.txt || complain "no '$text' in: $(cat err.txt)"
    [ ! -s out.txt ] || complain "standard output of a failure: $*"
    [ ! -e r.csv ] || complain "output left: $*"
}

"$rank" --help | grep -q 'mgk-rank --model' || complain "help without an example"
"$rank" --version | grep -q '^mgk-rank [0-9]' || complain "version"

echo text >text.txt
: >empty.h5
printf '\211HDF\r\n\032\n' >short.h5
fails 2 'either HDF5 files or --model'
fails 2 'either HDF5 files or --model' a.h5 --model m.safetensors --text text.txt
fails 2 'one of --text, --tokens and --task' --model m.safetensors
fails 2 '--text' a.h5 --text text.txt
fails 2 '--threshold' a.h5 --threshold 1e-6,x
fails 2 '--matrices' a.h5 --matrices many
fails 2 '--layers' a.h5 --layers 1-
fails 2 'method "qr"' a.h5 --method qr
fails 2 'HDF5 output' a.h5 --spectrum -o r.csv
fails 2 'ending' a.h5 -o r.txt
fails 1 'a.h5' a.h5 -o r.csv
fails 1 'text.txt' text.txt -o r.csv
fails 1 'empty.h5' empty.h5 -o r.csv
fails 1 'short.h5' short.h5 -o r.csv
fails 1 'text.txt' --model text.txt --text text.txt -o r.csv
fails 1 'nowhere' a.h5 -o nowhere/r.csv
[ -z "$(find . -name '*.csv*')" ] || complain "temporary files left"
exit "$((failures > 0))"
