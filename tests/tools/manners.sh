#!/bin/sh
# SPDX-License-Identifier: MIT
# What all programs have in common: standard input and output as files, warnings, waiting, and mgk,
# whose commands they are. Usage: manners.sh PROGRAMS FOLDER
set -u
. "$(dirname "$0")/begin.sh"
TMPDIR=$PWD/temporary
export TMPDIR
mkdir "$TMPDIR"

# refuse STATUS TEXT PROGRAM ARGUMENTS...: ends with STATUS and one line that contains TEXT.
refuse() {
    wanted=$1 text=$2 name=$3
    shift 3
    "$programs/$name" "$@" >stdout 2>stderr </dev/null
    found=$?
    [ $found -eq "$wanted" ] || complain "$name $*: exit status $found"
    [ "$(wc -l <stderr)" -eq 1 ] && grep -qF -- "$text" stderr || complain "$name $*: $(cat stderr)"
}

write_text 60 >text.txt
"$programs/mgk-train" --task lm --data text.txt --layers 2 --heads 2 --dim 8 --head-dim 4 --hidden 8 \
    --length 16 --steps 2 --batch 1 --warmup 0 -q --log log.csv -o model.safetensors || exit 1
"$programs/mgk-dump" model.safetensors --text text.txt --samples 3 -q -o store.h5 || exit 1

# All samples, where 16 are usual, are those that mgk-eval takes, in the order of the input.
samples=$("$programs/mgk-eval" model.safetensors --text text.txt -q --csv | awk -F, 'NR == 2 { print $2 }')
"$programs/mgk-rank" --model model.safetensors --text text.txt --samples all -q -o all.csv >/dev/null || complain "--samples all"
[ "$samples" -gt 16 ] && [ "$(awk -F, 'NR > 1 { print $1 }' all.csv | uniq | sort -n | uniq | wc -l)" -eq "$samples" ] ||
    complain "--samples all: not $samples"
"$programs/mgk-dump" model.safetensors --text text.txt --samples all -q -o all.h5 || complain "--samples all: no store"
"$programs/mgk-rank" all.h5 --matrices 0 -q -o stored.csv >/dev/null || complain "--samples all: the store"
[ "$(cut -d, -f1-4 all.csv)" = "$(cut -d, -f1-4 stored.csv)" ] || complain "--samples all: other samples in a store"

# Standard input is a file like any other.
"$programs/mgk-dump" model.safetensors --text - --samples 3 -q -o streamed.h5 <text.txt ||
    complain "--text - fails"
"$programs/mgk-rank" store.h5 -q -o file.csv >table || exit 1
"$programs/mgk-rank" streamed.h5 -q -o streamed.csv >/dev/null
cmp file.csv streamed.csv || complain "--text - gives other samples than the file"
echo "1 2 3 4 5" | "$programs/mgk-rank" --model model.safetensors --tokens - -q -o - >ids.csv ||
    complain "--tokens - fails"
[ "$(wc -l <ids.csv)" -eq 5 ] || complain "--tokens -: $(cat ids.csv)"
refuse 2 'standard input, "-", can be read once' mgk-dump model.safetensors --text - - -o x.h5
refuse 1 'mgk-dump: ' mgk-dump model.safetensors --text - -q -o x.h5 # it is empty
TMPDIR=nowhere refuse 1 "mgk-dump: nowhere/mgk-" mgk-dump model.safetensors --text - -q -o x.h5

# Standard output has the bytes of the file, and standard error all else.
"$programs/mgk-rank" store.h5 -o - >output 2>stderr || complain "-o - fails"
cmp file.csv output || complain "-o - is not the file"
grep -q '^layer  matrices' stderr || complain "-o -: no table on standard error"
"$programs/mgk-rank" store.h5 -q -o - 2>stderr | cmp - file.csv || complain "-q -o - is not the file"
[ ! -s stderr ] || complain "-q -o -: $(cat stderr)"
"$programs/mgk-rank" store.h5 -q -o -.json | grep -q '^{"settings"' || complain "-o -.json is no JSON"
"$programs/mgk-diversity" store.h5 -q -o - 2>/dev/null | grep -q '^input,level' || complain "mgk-diversity -o -"
"$programs/mgk-plot" attention store.h5 -o - | head -c 4 | grep -q PNG || complain "-o - is no PNG"
"$programs/mgk-plot" attention store.h5 -o -.svg | grep -q '<svg' || complain "-o -.svg is no SVG"
"$programs/mgk-rank" store.h5 -q -o - | true || complain "a reader that has gone"
"$programs/mgk-rank" store.h5 -q -o - >/dev/full 2>stderr
[ $? -eq 1 ] && grep -q '^mgk-rank: standard output: ' stderr || complain "-o - to a full disk: $(cat stderr)"
refuse 2 '-o -: HDF5 cannot go to standard output' mgk-dump model.safetensors --text text.txt -o -
refuse 2 '-o -.h5: HDF5 cannot go to standard output' mgk-rank store.h5 -o -.h5
refuse 2 '-o -.txt: standard output takes csv|json' mgk-rank store.h5 -o -.txt
refuse 2 '-o -: a model cannot go to standard output' mgk-convert model.safetensors -o -
refuse 2 '--resume: standard input and output' mgk-rank store.h5 --resume -o -
refuse 2 '--spectrum: HDF5' mgk-rank store.h5 --spectrum -o -
[ -z "$(ls "$TMPDIR")" ] || complain "left behind: $(ls "$TMPDIR")"

# Words that are mistyped, and options that are repeated.
refuse 2 'did you mean --samples?' mgk-dump model.safetensors --text text.txt --smaples 3 -o x.h5
refuse 2 '--samples is given twice: "3" and "4"' mgk-dump model.safetensors --samples 3 --samples 4 -o x.h5
refuse 2 'did you mean attention?' mgk-plot attenton store.h5 -o x.png
refuse 2 'lm, listops, retrieval' mgk-train --task foo -o x.safetensors
refuse 2 '--force: unknown option' mgk-info --force model.safetensors

# --quiet keeps warnings, --no-warnings drops them.
warned() {
    echo "1 2 3 4 5 6 7 8 9" |
        "$programs/mgk-rank" --model model.safetensors --tokens - --length 4 "$@" 2>&1 >/dev/null |
        grep -c 'cut to 4'
}
for options in "" -q; do
    [ "$(warned $options)" = 1 ] || complain "$options: no warning"
    [ "$(warned $options --no-warnings)" = 0 ] || complain "$options --no-warnings: a warning"
done

# The threads of programs wait briefly, unless the user says how.
spins() {
    env -u OMP_WAIT_POLICY OMP_DISPLAY_ENV=verbose "$@" "$programs/mgk-info" model.safetensors 2>&1 >/dev/null |
        sed -n "s/.*GOMP_SPINCOUNT = '\(.*\)'/\1/p" | tail -1
}
if [ -n "$(spins)" ]; then # it is GNU OpenMP
    [ "$(spins)" = 1000 ] || complain "threads that wait spin $(spins) times"
    [ "$(spins GOMP_SPINCOUNT=77)" = 77 ] || complain "GOMP_SPINCOUNT=77 does not count"
    [ "$(spins OMP_WAIT_POLICY=passive)" = 0 ] || complain "OMP_WAIT_POLICY does not count"
fi
# A program that the loader was asked to start stays as it is.
loader=$(sed -n 's/.*[[:space:]]\(\/[^ ]*\/ld-linux[^ ]*\)$/\1/p' /proc/self/maps | head -1)
if [ -n "$loader" ]; then
    env -u OMP_WAIT_POLICY "$loader" "$programs/mgk-info" --machine >machine 2>stderr && grep -q '^processor' machine ||
        complain "mgk-info by the loader: $(cat stderr)"
fi
# OMP_NUM_THREADS counts, and --threads wins.
computing() {
    sed -n 's/.*, \([0-9]*\) threads*)$/\1/p' stderr
}
OMP_NUM_THREADS=3 "$programs/mgk-rank" store.h5 >/dev/null 2>stderr
[ "$(computing)" = 3 ] || complain "OMP_NUM_THREADS=3: $(cat stderr)"
OMP_NUM_THREADS=3 "$programs/mgk-rank" store.h5 --threads 2 >/dev/null 2>stderr
[ "$(computing)" = 2 ] || complain "--threads 2: $(cat stderr)"

# mgk runs the program of the command.
"$programs/mgk" rank store.h5 -q -o mgk.csv >mgk.table || complain "mgk rank fails"
cmp file.csv mgk.csv && cmp table mgk.table || complain "mgk rank is not mgk-rank"
"$programs/mgk" help rank | grep -q '^Usage: mgk-rank ' || complain "mgk help rank"
[ "$("$programs/mgk" help rank all)" = "$("$programs/mgk-rank" --help all)" ] || complain "mgk help rank all"
"$programs/mgk" --version | grep -q '^mgk [0-9]' || complain "mgk --version"
for command in train eval dump rank diversity plot report info convert; do
    "$programs/mgk" --help | grep -q "^  $command " || complain "mgk --help: no $command"
    "$programs/mgk" $command --version | grep -q "^mgk-$command [0-9]" || complain "mgk $command --version"
done
(cd / && PATH="$programs:$PATH" && mgk rank --version) | grep -q '^mgk-rank ' || complain "mgk in PATH"
refuse 2 'mgk: "rnak" is no command; did you mean rank?' mgk rnak store.h5
refuse 2 'mgk: "xyz" is no command (see' mgk xyz
refuse 2 'mgk: a command is needed' mgk
refuse 2 'mgk: --nonsense: unknown option' mgk --nonsense
refuse 2 'mgk-rank: --nonsense: unknown option' mgk rank --nonsense

exit "$((failures > 0))"
