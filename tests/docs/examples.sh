#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples of a page run as they stand: its blocks fenced by ```sh, one after another, in a
# folder that has the models of this repository and a small stand-in for each file of the reader's.
# Usage: examples.sh TOP PROGRAMS FOLDER PAGE
set -eu
top=$1 programs=$2 folder=$3 page=$4

rm -rf "$folder" && mkdir -p "$folder/out" && cd "$folder"
ln -s "$top/models" "$top/docs" "$top/scripts" "$top/src" .

# A BERT of 37 words for the reader's model, and the last words of a text for the reader's text.
mkdir all-MiniLM-L6-v2
cp "$top"/tests/golden/hugging_face/bert/config.json \
    "$top"/tests/golden/hugging_face/bert/model.safetensors all-MiniLM-L6-v2
head -n 37 "$top/tests/golden/tokenizers/wordpiece-uncased/vocab.txt" > all-MiniLM-L6-v2/vocab.txt
grep '[a-z] \. *$' models/sample.txt | head -n 40 > passages.txt

awk '/^```/ { inside = $0 == "```sh"; next } inside' "$top/$page" > commands
[ -s commands ] || {
    echo "$page has no example"
    exit 1
}
PATH=$programs:$PATH OMP_NUM_THREADS=1 sh -eux commands
