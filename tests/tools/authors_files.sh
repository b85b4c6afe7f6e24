#!/bin/sh
# SPDX-License-Identifier: MIT
# What the scripts of the paper's code leave is read as it is: folders of models, and data. Usage:
# authors_files.sh PROGRAMS FOLDER GOLDEN
set -u
. "$(dirname "$0")/begin.sh"
authors=$3/authors
name=21_09_2021_08:44:52_softmax_text_4096_head2_layers2_output

mkdir LRA_chks work_dir
cp "$authors/lra_own_softmax.pt" "LRA_chks/$name.model"
cp "$authors/lm_own_mlk.pt" work_dir/model.pt
# A pickle of samples, and the same ids as text; -q keeps the warnings.
"$programs/mgk-dump" LRA_chks --tokens "$authors/samples.pickle" -q -o pickle.h5 2>err.txt || complain "pickle"
grep -q 'its name says that it has 2 heads' err.txt || complain "the name of the file tells nothing: $(cat err.txt)"
"$programs/mgk-dump" "LRA_chks/$name.model" --tokens "$authors/samples.txt" -q -o text.h5 2>err.txt ||
    complain "text"
"$programs/mgk-rank" pickle.h5 -q -o pickle.csv >out.txt && "$programs/mgk-rank" text.h5 -q -o text.csv >out.txt ||
    complain "ranks"
cut -d, -f1-8 pickle.csv >a.txt
cut -d, -f1-8 text.csv >b.txt
cmp a.txt b.txt || complain "a pickle and a text of the same ids differ"
"$programs/mgk-info" work_dir >info.txt || complain "work_dir"
grep -q 'attention *mlk' info.txt || complain "work_dir: no mlk: $(cat info.txt)"
# The corpus of their language models: its test text, in windows.
"$programs/mgk-dump" work_dir --tokens "$authors/cache.pt" -q -o cache.h5 2>err.txt || complain "cache.pt: $(cat err.txt)"
"$programs/mgk-dump" work_dir --tokens "$authors/cache.txt" -q -o same.h5 || complain "cache.txt"
"$programs/mgk-rank" cache.h5 -q -o cache.csv >out.txt && "$programs/mgk-rank" same.h5 -q -o same.csv >out.txt ||
    complain "ranks of a corpus"
cut -d, -f1-8 cache.csv >a.txt
cut -d, -f1-8 same.csv >b.txt
cmp a.txt b.txt || complain "a corpus and a text of the same ids differ"
# Two models are not chosen from.
cp "LRA_chks/$name.model" "LRA_chks/22$(echo $name | cut -c3-).model"
"$programs/mgk-info" LRA_chks >info.txt 2>err.txt && complain "a folder of two models was read"
grep -q 'LRA_chks: has several models: name one' err.txt || complain "two models: $(cat err.txt)"
# Other pickles are refused.
head -c 40 "$authors/samples.pickle" >cut.pickle
"$programs/mgk-dump" "LRA_chks/$name.model" --tokens cut.pickle -q -o x.h5 2>err.txt && complain "a cut pickle was read"
grep -q 'cut.pickle: ' err.txt || complain "a cut pickle: $(cat err.txt)"
# A million samples that are one dictionary of half a million members: the search has an end.
many() {
    awk -v word="$1" -v count="$2" 'BEGIN { for (i = 0; i < count; i++) printf "%s", word }'
}
{
    printf '\200\002](}q\001(X\001\000\000\000kq\005Nq\006'
    many 'h\005h\006' 500000
    printf 'X\013\000\000\000input_ids_0]u'
    many 'h\001' 1000000
    printf 'e.'
} >large.pickle
timeout -s KILL 30 "$programs/mgk-dump" "LRA_chks/$name.model" --tokens large.pickle -q -o x.h5 2>err.txt
grep -q 'sample 0 has no "input_ids_0"' err.txt || complain "a large pickle: $(cat err.txt)"
# The facts that a file does not tell.
cp "$authors/lra_own_softmax.pt" lra.pt
"$programs/mgk-info" lra.pt --head-dim 5 --all --trained-with fixed_pos_emb >info.txt || complain "trained-with"
grep -q 'positions *sinusoidal' info.txt || complain "positions are not fixed: $(cat info.txt)"
"$programs/mgk-convert" lra.pt --head-dim 5 --trained-with no_pos -q -o x.safetensors 2>err.txt &&
    complain "no_pos was read"
grep -qF -- '--trained-with "no_pos": expected some of fixed_pos_emb' err.txt || complain "no_pos: $(cat err.txt)"
"$programs/mgk-info" lra.pt --head-dim 5 --trained-with no_pos >info.txt 2>err.txt && complain "no_pos was described"
grep -qF -- '--trained-with "no_pos": expected some of fixed_pos_emb' err.txt || complain "no_pos: $(cat err.txt)"
"$programs/mgk-info" lra.pt --head-dim 5 --trained-with num_layers=2x >info.txt 2>err.txt && complain "2x layers"
"$programs/mgk-info" lra.pt >info.txt || complain "a file that does not tell its heads was not listed"
grep -q 'no_model' info.txt || complain "no reason: $(cat info.txt)"
exit "$((failures > 0))"
