#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-train --tokenizer: models that carry what was learnt, programs that find it there, interrupted runs, and texts and
# files that are no good. Usage: tokenizer.sh PROGRAMS FOLDER GOLDEN
set -eu
. "$(dirname "$0")/begin.sh"
train=$programs/mgk-train golden=$3
model="--attention softmax --layers 1 --heads 2 --dim 8 --head-dim 4 --hidden 8 --length 12"
few="--task lm $model --batch 2 --steps 6 --warmup 1 --threads 1"

# refuses TEXT COMMAND...
refuses() {
    said=$1
    shift
    if "$@" >/dev/null 2>stderr; then
        complain "not refused: $*"
    fi
    grep -qF -- "$said" stderr || complain "no '$said' in: $(cat stderr)"
}

# tells MODEL TEXT: what mgk-info says of its tokenizer.
tells() {
    "$programs/mgk-info" "$1" | grep -q "^tokenizer  *$2\$" || complain "$1: $("$programs/mgk-info" "$1" | grep tokenizer)"
}

# texts STORE: the texts of the tokens of the first sample.
same_tokens() {
    "$programs/mgk-dump" "$1" --text text.txt --samples 3 --seed 1 -o a.h5 --force --quiet || complain "$1: no dump"
    "$programs/mgk-dump" "$2" --text text.txt --samples 3 --seed 1 -o b.h5 --force --quiet || complain "$2: no dump"
    "$programs/mgk-info" --json a.h5 | grep -v '"file"\|created\|command\|model' >a
    "$programs/mgk-info" --json b.h5 | grep -v '"file"\|created\|command\|model' >b
    cmp -s a b || complain "$1 and $2 read text differently"
}

write_text 200 >text.txt
write_text 30 | sed 's/enough/Enough said: strange/' >held_out.txt

# Each kind, and what finds it in the model.
for kind in bpe words words-split; do
    case $kind in bpe) size=280 name='BPE, 280 tokens' ;; words) size=50 name='WordLevel, 50 tokens' ;;
    *) size=60 name='words, 60 tokens' ;; esac
    "$train" $few --tokenizer $kind --vocabulary $size --data text.txt --held-out held_out.txt -o $kind.safetensors \
        --log $kind.csv 2>stderr || complain "$kind: $(cat stderr)"
    grep -q "^mgk-train: $kind: $size tokens learnt\$" stderr || complain "$kind: $(cat stderr)"
    tells $kind.safetensors "$name"
    "$programs/mgk-dump" $kind.safetensors --text held_out.txt --samples 2 -o dump.h5 --force --quiet ||
        complain "$kind: no dump"
    "$programs/mgk-rank" --model $kind.safetensors --text held_out.txt --samples 2 -o rank.csv --force --quiet ||
        complain "$kind: no ranks"
    "$programs/mgk-diversity" --model $kind.safetensors --text held_out.txt --samples 2 --measures js -o js.csv --force \
        --quiet || complain "$kind: no measures"
    "$programs/mgk-convert" $kind.safetensors -o converted.safetensors --force --quiet || complain "$kind: not converted"
    tells converted.safetensors "$name"
    same_tokens $kind.safetensors converted.safetensors
done
grep -q '^mgk-train: held_out.txt: [0-9]* of [0-9]* tokens ([0-9.]* %) are not in the vocabulary$' stderr ||
    complain "nothing told of unknown words: $(cat stderr)"

# The perplexity is that of tokens; bits per byte are over the bytes of the text.
awk -F, -v bytes="$(wc -c <held_out.txt)" 'NR > 1 && $6 != "" { loss = $6; bits = $8; perplexity = $9 }
    END { ratio = loss / log(2) / bits
          if (!(ratio > 1.2 && ratio < 6) || !((perplexity / exp(loss) - 1) ^ 2 < 1e-6)) exit 1 }' bpe.csv ||
    complain "wrong numbers: $(tail -n 1 bpe.csv)"
# All words of a file of known size but the first, which nothing predicts: 30 lines have as many ends of lines.
words=$(awk '{ n += NF + 1 } END { print n - 1 }' held_out.txt)
awk -F, -v bytes="$(wc -c <held_out.txt)" -v words="$words" 'NR > 1 && $6 != "" { loss = $6; bits = $8 }
    END { if (!((bits * bytes / words * log(2) / loss - 1) ^ 2 < 1e-6)) exit 1 }' words-split.csv ||
    complain "bits are not over bytes: $(tail -n 1 words-split.csv)"
"$programs/mgk-eval" bpe.safetensors --text held_out.txt --csv --quiet >eval.csv || complain "no evaluation"
"$programs/mgk-eval" words.safetensors --text held_out.txt 2>stderr >eval.txt || complain "no evaluation of words"
grep -q '^mgk-eval: held_out.txt: [0-9]* of [0-9]* tokens ([0-9.]* %) are not in the vocabulary$' stderr ||
    complain "mgk-eval tells nothing of unknown words: $(cat stderr)"
for quiet in "" --quiet; do
    "$programs/mgk-eval" words.safetensors words.safetensors --text held_out.txt $quiet 2>stderr >eval.txt ||
        complain "no evaluation of two models of words"
    [ "$(grep -c 'not in the vocabulary' stderr)" = 1 ] || complain "the unknown words of two models: $(cat stderr)"
done
awk -F, 'FNR == 1 { file++ } FNR > 1 && file == 1 && $6 != "" { ratio = $8 / $6 } FNR > 1 && file == 2 { other = $7 / $5 }
    END { if (!(ratio > 0 && (other / ratio - 1) ^ 2 < 1e-14)) exit 1 }' bpe.csv eval.csv ||
    complain "mgk-eval has other bytes: $(cat eval.csv)"

# Files of other software are carried, too, with those beside them, so that nothing is needed of them any more.
printf '<eos>\n<unk>\nline\nof\na\ntext\n' >list.txt
"$train" $few --tokenizer list.txt --data text.txt -o list.safetensors --quiet || complain "no list"
tells list.safetensors 'words, 6 tokens'
mkdir -p other
printf '[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\nLine\ntext\n' >other/vocab.txt
echo '{"do_lower_case": false}' >other/tokenizer_config.json
write_text 30 | sed 's/line/Line/' >lines.txt
"$train" $few --tokenizer other/vocab.txt --data lines.txt -o other.safetensors --quiet || complain "no vocab.txt"
"$train" $few --tokenizer other --data lines.txt -o folder.safetensors --quiet || complain "no folder of a vocab.txt"
"$programs/mgk-dump" other.safetensors --tokenizer other --text lines.txt --samples 3 --seed 1 -o named.h5 --quiet
rm -r other
tells other.safetensors 'WordPiece, 7 tokens'
carried() { "$programs/mgk-info" "$1" | grep '"vocab.txt":.*"tokenizer_config.json":'; }
[ "$(carried other.safetensors)" = "$(carried folder.safetensors)" ] || complain "a folder is carried otherwise"
"$programs/mgk-dump" other.safetensors --text lines.txt --samples 3 --seed 1 -o carried.h5 --quiet || complain "no vocab.txt"
for store in named carried; do
    "$programs/mgk-info" --json $store.h5 | grep -v '"file"\|created\|command' >$store
done
cmp -s named carried || complain "a carried vocab.txt reads text differently"
cp "$golden/tokenizers/pieces-unigram/"*.model pieces.model
"$train" $few --tokenizer pieces.model --data text.txt -o pieces.safetensors --quiet || complain "no model of SentencePiece"
rm pieces.model
tells pieces.safetensors 'Unigram, [0-9]* tokens'
"$programs/mgk-convert" pieces.safetensors -o converted.safetensors --force --quiet || complain "pieces: not converted"
same_tokens pieces.safetensors converted.safetensors

# A model gives its tokenizer to another one, and with --from its weights; those of tokens mean other tokens elsewhere.
"$train" $few --tokenizer bpe.safetensors --from bpe.safetensors --data held_out.txt -o again.safetensors 2>stderr ||
    complain "no tokenizer of a model: $(cat stderr)"
grep -q 'bpe.safetensors: gives all [0-9]* tensors' stderr || complain "not all taken: $(cat stderr)"
tells again.safetensors 'BPE, 280 tokens'
"$train" $few --tokenizer bpe --vocabulary 280 --from bpe.safetensors --data held_out.txt -o again.safetensors --force \
    2>stderr || complain "not begun from another model: $(cat stderr)"
grep -q 'the rest begins as usual: embedding.token.weight' stderr || complain "tokens are mixed up: $(cat stderr)"
"$train" $few --data held_out.txt -o bytes.safetensors --quiet || complain "no model of bytes"
"$train" $few --tokenizer bpe --vocabulary 256 --from bytes.safetensors --data held_out.txt -o again.safetensors --force \
    2>stderr || complain "not begun from a model of bytes: $(cat stderr)"
grep -q 'the rest begins as usual: embedding.token.weight' stderr || complain "bytes are mixed up: $(cat stderr)"

# Reviews, passages and pairs.
mkdir -p reviews/pos reviews/neg
for i in 1 2 3; do
    echo "A good text of line $i, which is fine and long enough" >reviews/pos/$i.txt
    echo "A bad text of line $i, which is poor and far too long" >reviews/neg/$i.txt
done
classes="$model --batch 2 --steps 3 --warmup 1 --threads 1 --quiet"
"$train" --task text $classes --tokenizer words --data reviews --held-out reviews -o reviews.safetensors ||
    complain "no words of reviews"
"$programs/mgk-dump" reviews.safetensors --task text --data reviews --samples 2 -o reviews.h5 --quiet ||
    complain "no dump of reviews"
"$train" --task retrieval $classes --tokenizer bpe --vocabulary 300 --article-per-file --data text.txt held_out.txt \
    --held-out text.txt held_out.txt --eval-samples 4 -o passages.safetensors || complain "no tokens of passages"
"$programs/mgk-dump" passages.safetensors --task retrieval --data text.txt held_out.txt --article-per-file --samples 2 \
    -o passages.h5 --quiet || complain "no dump of passages"
# Any text is read, each window or line alone, as its ids are.
"$programs/mgk-dump" passages.safetensors --text held_out.txt --samples 3 -o windows.h5 --quiet ||
    complain "a model of pairs does not read windows"
"$programs/mgk-dump" passages.safetensors --text held_out.txt --lines --samples 3 -o lines.h5 --quiet ||
    complain "a model of pairs does not read lines"
for store in windows lines; do
    "$programs/mgk-dump" passages.safetensors --tokens $store.h5 --samples 3 --seed 1 -o ids.h5 --force --quiet ||
        complain "a model of pairs does not read ids"
    # Drawn in another order, of which the mean knows nothing but its rounding.
    for file in $store ids; do
        "$programs/mgk-diversity" $file.h5 --measures entropy --force --quiet -o $file.csv >/dev/null
    done
    awk -F, 'FNR == 1 { file++; next } file == 1 { entropy[FNR] = $10; n++ }
        file == 2 && ($10 / entropy[FNR] - 1) ^ 2 < 1e-12 { same++ }
        END { if (!n || same != n) exit 1 }' $store.csv ids.csv || complain "$store of a text are not their ids"
done
refuses '--article-per-file belongs to --task retrieval' "$programs/mgk-dump" passages.safetensors --text text.txt \
    --article-per-file -o x.h5
refuses 'a classifier the classes of its --task' "$programs/mgk-eval" passages.safetensors --text text.txt
printf '1\ta\tb\tone text of a pair\tand another one\n0\tc\td\tsome other text\tone text of a pair\n' >pairs.tsv
"$train" --task retrieval $classes --tokenizer words-split --data pairs.tsv --held-out pairs.tsv -o pairs.safetensors ||
    complain "no tokens of pairs"
"$programs/mgk-dump" pairs.safetensors --task retrieval --data pairs.tsv --samples 2 -o pairs.h5 --quiet ||
    complain "no dump of pairs"

# Pairs from a list of ids.
mkdir -p documents
i=0
while [ $i -lt 40 ]; do
    echo "text number $i of many, which is about $((i % 7))" >documents/$i.txt
    printf "$i\t$(((i + 3) % 40))\n$i\t$(((i + 7) % 40))\n$i\t$(((i + 11) % 40))\n"
    i=$((i + 1))
done >list.tsv
"$train" --task retrieval ${classes% --quiet} --tokenizer bpe --vocabulary 300 --data list.tsv documents \
    --held-out list.tsv documents -o listed.safetensors 2>stderr || complain "no pairs of a list: $(cat stderr)"
[ "$(grep -c 'list.tsv: [0-9]* pairs of [0-9]* texts, and as many that are not listed; ' stderr)" -eq 2 ] ||
    complain "not told of pairs: $(cat stderr)"
"$programs/mgk-dump" listed.safetensors --task retrieval --data list.tsv documents --samples 2 -o listed.h5 --quiet ||
    complain "no dump of listed pairs"
refuses 'documents/0.txt and others: 0 articles' "$train" --task retrieval $classes --data documents list.tsv \
    -o x.safetensors
sed 's/^0/none/' list.tsv >named.tsv
refuses 'named.tsv: a list of pairs needs the folder of its texts: name it after the list' "$train" --task retrieval \
    $classes --data named.tsv --held-out named.tsv -o x.safetensors
refuses 'no pairs: ' "$train" --task retrieval $classes --data list.tsv reviews -o x.safetensors

# An interrupted run goes on as if nothing had happened.
run="--task lm $model --tokenizer bpe --data text.txt --held-out held_out.txt --batch 2 --steps 2000 \
    --eval-every 200 --eval-samples 5 --threads 1 --quiet -o run.safetensors"
size='--vocabulary 300'
"$train" $run $size || complain "a right command fails"
mv run.safetensors whole.safetensors
"$train" $run $size 2>stderr &
job=$!
tries=0
until [ -e run.safetensors ] || [ $tries -ge 600 ]; do
    sleep 0.02
    tries=$((tries + 1))
done
kill -INT $job
wait $job || true
[ -e run.safetensors.checkpoint ] || complain "no state: $(cat stderr)"
tells run.safetensors.checkpoint 'BPE, 300 tokens'
refuses 'with "data' "$train" $run --vocabulary 299 --resume run.safetensors.checkpoint
"$train" $run $size --resume run.safetensors.checkpoint || complain "not resumed"
cmp -s run.safetensors whole.safetensors || complain "a resumed run ends differently"

# Bytes that are no text, and texts that are too small.
printf 'caf\351 \377\376 na\357ve \000 text %.0s' 1 2 3 4 5 6 7 8 9 >latin.txt
"$train" $few --tokenizer bpe --vocabulary 270 --data latin.txt -o latin.safetensors --quiet || complain "no Latin-1"
"$programs/mgk-dump" latin.safetensors --text latin.txt --samples 1 -o latin.h5 --quiet || complain "no dump of Latin-1"
"$programs/mgk-dump" latin.safetensors --text latin.txt --lines --samples 1 -o latin.h5 --force --quiet ||
    complain "no dump of lines of Latin-1"
refuses 'latin.txt: ' "$programs/mgk-dump" words.safetensors --text latin.txt --lines -o x.h5
refuses 'latin.txt: ' "$train" $few --tokenizer words --data latin.txt -o x.safetensors
: >empty.txt
printf word >word.txt
refuses 'empty.txt: empty' "$train" $few --tokenizer bpe --data empty.txt -o x.safetensors
refuses 'word.txt: 1 token of text, expected at least 13' "$train" $few --tokenizer words --data word.txt -o x.safetensors

# Wrong options.
refuses '--vocabulary 255: expected 256' "$train" $few --tokenizer bpe --vocabulary 255 --data text.txt -o x.safetensors
refuses '--vocabulary 300 is for a --tokenizer' "$train" $few --vocabulary 300 --data text.txt -o x.safetensors
refuses '--tokenizer absent: no such file; expected one, or bytes, bpe' "$train" $few --tokenizer absent --data text.txt -o x.safetensors
refuses '--tokenizer is for texts' "$train" --task listops --tokenizer bpe $model -o x.safetensors

# A damaged tokenizer is refused, but not by programs that need none.
sed 's/ByteLevel/BiteLevel/g' bpe.safetensors >damaged.safetensors
refuses 'damaged.safetensors: the tokenizer that it carries: ' \
    "$programs/mgk-dump" damaged.safetensors --text text.txt -o x.h5
"$programs/mgk-info" damaged.safetensors | grep -q '^tokenizer .*that it carries: ' || complain "mgk-info hides damage"
[ $failures -eq 0 ]
