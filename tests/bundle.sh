#!/bin/sh
# SPDX-License-Identifier: MIT
# A bundle of this build runs from another folder, with an empty environment, and loads nothing from
# this machine except the C library. Usage: bundle.sh TOP BUILD FOLDER
set -eu
top=$1 build=$2 folder=$3
rm -rf "$folder" && mkdir -p "$folder/moved"
unset LD_LIBRARY_PATH

fail() {
    echo "$*"
    exit 1
}

# gzip takes a third of the time of xz, and archives that are larger by a half.
sh "$top/scripts/bundle.sh" --build "$build" "$folder/mgk.tar.gz"
[ "$(stat -c %s "$folder/mgk.tar.gz")" -lt 75000000 ] || fail "the archive has more than 75 MB"
tar -C "$folder/moved" -xf "$folder/mgk.tar.gz"
cd "$folder"/moved/mgk-*

# Libraries that the loader would take from this machine, except the C library's own.
outside() {
    env -i LD_TRACE_LOADED_OBJECTS=1 "$1" | awk -v here="$PWD/" '
        $2 == "=>" && index($3, here) != 1 &&
        $1 !~ /^lib(c|m|mvec|dl|pthread|rt|resolv|util|anl)\.so/'
}
for program in bin/* tests/* libexec/mgk/*; do
    [ -z "$(outside "$program")" ] ||
        fail "$program loads from outside of the bundle: $(outside "$program")"
done
# Libraries loaded by dlopen do not come from outside either.
env -i bin/mgk-info --machine | grep -qE "^blas_library +$PWD/" || fail "$(env -i bin/mgk-info --machine)"
# Libraries of the same names elsewhere are not used.
mkdir "$folder/other"
for library in lib/*; do
    : > "$folder/other/${library##*/}"
done
env -i LD_LIBRARY_PATH="$folder/other" bin/mgk-info --version | grep -q '^mgk-info [0-9]'

env -i bin/mgk-dump models/lm-mgk-4.safetensors --text models/sample.txt --samples 2 --layers 0 \
    --quiet -o attention.h5
# A file that crashes the HDF5 library crashes only the probe program.
sh "$top/tests/break_hdf5.sh" attention.h5 broken.h5
! env -i bin/mgk-info broken.h5 2> message.txt || fail "a file that crashes HDF5 is read"
grep -q 'damaged: the HDF5 library does not survive' message.txt || fail "$(cat message.txt)"
env -i bin/mgk-rank attention.h5 --matrices 2 --quiet -o ranks.csv | grep -q '^ *0 '
# draw NAME=VALUE...: draws a picture, and records the font configuration that it read.
draw() {
    env -i HOME="$folder" FC_DEBUG=1024 "$@" bin/mgk-plot attention attention.h5 --layers 0 --force \
        -o picture.svg 2>&1
}
draw NONE= | grep -q "$PWD/share/mgk/fonts.conf" || fail "the bundle's font is not found"
draw FONTCONFIG_FILE=/nowhere | grep -q "$PWD/share" && fail "the user's fonts are not taken"
draw NONE= | grep -q /etc/fonts && fail "the machine's fonts are taken"

env -i tests/test_operations > tests.txt 2>&1
[ -e share/doc/libopenblas0-pthread/copyright ]

# One line says what is missing for CUDA.
expected='built without CUDA|there is no CUDA d|libcu[a-zA-Z]*\.so[.0-9]*: cannot open shared object'
if env -i bin/mgk-dump models/lm-mgk-4.safetensors --text models/sample.txt --samples 1 --quiet \
    --device cuda -o cuda.h5 2> message.txt; then
    echo "a GPU has run it"
elif [ "$(wc -l < message.txt)" -ne 1 ] || ! grep -qE "$expected" message.txt; then
    fail "$(cat message.txt)"
fi
