# SPDX-License-Identifier: MIT
# Sourced after begin.sh: makes reviews (train, val, test, each with pos and neg) and books (train, valid, test).

# makes FOLDER NAME FIRST: a text of twenty lines.
makes() {
    mkdir -p "$1"
    write_text 40 | sed -n "$3,\$p" | sed -n 1,20p >"$1/$2.txt"
}
for split in train val test; do
    for i in 1 2 3 4; do
        makes reviews/$split/pos $i $i
        makes reviews/$split/neg $i $((i + 9))
    done
done
for split in train valid test; do
    makes books/$split/A 'a b' 1
    makes books/$split/B c 9
done
