#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples of a page run as they stand: its blocks fenced by ```sh, one after another, then those
# fenced by ```python where Python has numpy, in a folder that has the models of this repository and
# a small stand-in for each file of the reader's.
# Usage: examples.sh TOP PROGRAMS FOLDER PAGE
set -eu
top=$1 programs=$2 folder=$3 page=$4

rm -rf "$folder" && mkdir -p "$folder/out" && cd "$folder"
ln -s "$top/models" "$top/docs" "$top/scripts" "$top/src" .

# A llama of 37 words and 64 positions for the reader's model, and the last words of a text for the reader's text.
mkdir all-MiniLM-L6-v2
cp "$top"/tests/golden/hugging_face/llama/config.json \
    "$top"/tests/golden/hugging_face/llama/model.safetensors all-MiniLM-L6-v2
head -n 37 "$top/tests/golden/tokenizers/wordpiece-uncased/vocab.txt" > all-MiniLM-L6-v2/vocab.txt
grep '[a-z] \. *$' models/sample.txt | head -n 40 > passages.txt

# blocks LANGUAGE: the lines of the page's blocks.
blocks() {
    awk -v begin="\`\`\`$1" '/^```/ { inside = $0 == begin; next } inside' "$top/$page"
}

blocks sh > commands
blocks python > lines.py
[ -s commands ] || {
    echo "$page has no example"
    exit 1
}
export OMP_NUM_THREADS=1
PATH=$programs:$PATH sh -eux commands
if [ -s lines.py ] && python3 -c 'import h5py, numpy, pandas' 2> /dev/null; then
    PYTHONPATH=$top/python MGK_PREFIX=${programs%/bin} python3 lines.py
fi
