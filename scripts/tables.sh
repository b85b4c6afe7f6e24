#!/bin/sh
# SPDX-License-Identifier: MIT
# Tables 1 to 4 of the paper in miniature: trains all models with several seeds, evaluates them, and prints the results
# beside the paper's numbers.
set -eu
. "$(dirname "$0")/runs.sh"

usage() {
    cat << 'END'
Usage: sh scripts/tables.sh --output DIR [options]
Trains small models as in tables 1 to 4 of "Transformer with a Mixture of Gaussian Keys" and writes
DIR/tables.md and DIR/tables.csv: mean and standard error over seeds, beside the paper's numbers.
ListOps are generated; of other tasks only those are done whose data you name.

  --output DIR      Where models, logs and tables go. What is finished there is kept: after an
                    interruption the same command continues.
  --text DIR        Reviews: train, val and test, each with pos/ and neg/.
  --pairs LIST DIR  Retrieval: a list of pairs of ids, such as citations, and a folder of texts.
                    A part of the texts is held out: the best evaluation and the test are on it.
  --books DIR       Table 3: train, valid and test with .txt files at any depth. Also retrieval: do
                    two passages come from one book?
  --results FILE    Results of earlier runs with the same settings, which are not repeated: the
                    DIR/results.csv that they wrote.
  --tables LIST     Such as 1,4 (default: 1,2,3,4).
  --seeds LIST      Such as 0,1,2,3,4 (default: 0,1,2).
  --steps N         Of classifiers; language models take twice as many (default: 1000).
  --length N        Tokens of a sequence (default: 256; the paper has 2000 to 4000), of language
                    models at most 256, as in the paper.
  --tokenizer NAME  bytes, bpe or words, of texts (default: words; the paper has bytes, and words in
                    table 3).
  --quick           Tiny models of 1 and 2 heads, 2 seeds, a few steps: does everything work?
  --programs DIR    The built programs (default: build/cpu/bin).
  --help            Print this text.

Logs (DIR/*-seed*.csv) are for mgk-plot figure 1, 4, 9 and 10. Everything is 72 models a task and 21
language models. Several machines can share the work: give each its own --output and --seeds, and then
one of them the results of the others, one after the other.
END
}

wrong_usage() {
    echo "tables.sh: $1 (see --help)" >&2
    exit 2
}

# The rows of tables: table, kind, heads, prior, then the paper's numbers: accuracy (%) on ListOps, text and retrieval
# (tables 1, 2 and 4; means of 5 runs), or perplexity on WikiText-103, valid and test (table 3).
rows="\
1 softmax 8 learned 37.03 65.71 81.74
1 smgk    4 learned 37.25 65.51 82.79
1 mgk     4 learned 36.98 65.69 82.23
1 softmax 4 learned 36.89 65.26 81.54
1 smgk    2 learned 37.35 65.17 82.20
1 mgk     2 learned 36.88 65.37 81.83
1 softmax 2 learned 36.76 64.90 79.1
1 smgk    1 learned 37.31 65.04 81.23
1 mgk     1 learned 37.13 65.40 80.63
1 softmax 1 learned 36.81 64.48 77.9
2 linear  8 learned 19.17 65.85 81.18
2 smlk    4 learned 20.11 65.74 81.53
2 mlk     4 learned 20.06 65.7 81.34
2 linear  4 learned 19.37 65.81 81.65
2 smlk    2 learned 19.88 65.61 81.66
2 mlk     2 learned 20.12 65.72 80.80
2 linear  2 learned 18.35 65.94 80.94
2 smlk    1 learned 18.87 65.57 80.37
2 mlk     1 learned 18.34 65.70 81.09
2 linear  1 learned 18.60 65.70 80.6
3 softmax 8 learned 33.15 34.29
3 mgk     4 learned 33.28 34.21
3 smgk    8 learned 32.92 33.99
3 mgk     8 learned 32.74 33.93
3 linear  8 learned 38.07 39.08
3 mlk     4 learned 38.49 39.46
3 mlk     8 learned 37.78 38.99
4 smgk    1 hard    37.25 64.7 81.29
4 smgk    1 em      37.05 64.68 81.44
4 smgk    1 learned 37.31 65.04 81.23
4 mgk     1 hard    19.40 65.40 80.72
4 mgk     1 em      33.85 65.25 80.73
4 mgk     1 learned 37.13 65.40 80.63"

# classify TASK NAME OPTION...: trains and prints the accuracy on what was not seen in training.
classify() {
    task=$1 name=$2
    shift 2
    tested="--samples $samples --seed 1000"
    case $task in
    listops)
        trains "$name" --task listops --listops-above $((length / 4)) --listops-below "$length" "$@"
        evaluate "$name.safetensors" accuracy --task listops $tested
        ;;
    text)
        trains "$name" --task text --data "$text/train" --held-out "$text/val" --tokenizer "$tokenizer" "$@"
        evaluate "$name.safetensors" accuracy --task text --data "$text/test" $tested
        ;;
    pairs)
        trains "$name" --task retrieval --data "$list" "$papers" --held-out "$list" "$papers" \
            --tokenizer "$tokenizer" "$@"
        evaluate "$name.safetensors" accuracy --task retrieval --data "$list" "$papers" --samples all
        ;;
    passages)
        trains "$name" --task retrieval --data train.txt --held-out valid.txt --tokenizer "$tokenizer" "$@"
        evaluate "$name.safetensors" accuracy --task retrieval --data test.txt --samples all
        ;;
    esac
}

# predict NAME OPTION...: prints the perplexities of the valid and the test split, separated by a comma.
predict() {
    name=$1
    shift
    trains "$name" --task lm --data train.txt --held-out valid.txt --tokenizer "$tokenizer" "$@"
    valid=$(evaluate "$name.safetensors" perplexity --text valid.txt --stride $((window / 2)) $split_samples)
    evaluate "$name.safetensors" perplexity --text test.txt --stride $((window / 2)) $split_samples > run$$.test
    echo "$valid,$(cat run$$.test)"
}

# run TASK KIND HEADS PRIOR SEED: a line of results.csv, unless it is there: task, kind, heads, prior, seed, two numbers,
# operations, parameters.
run() {
    task=$1 kind=$2 heads=$3 prior=$4 seed=$5
    name=$task-$kind-$heads-$prior-seed$seed
    result=$name.result
    [ ! -e "$result" ] || return 0
    echo "$name" >&2
    set -- --attention "$kind" --heads "$heads" --seed "$seed"
    case $kind in
    softmax | linear) ;;
    *) set -- "$@" --prior "$prior" ;;
    esac
    if [ "$task" = lm ]; then
        numbers=$(predict "$name" "$@" $language)
    else
        numbers=$(classify "$task" "$name" "$@" $classifier),
    fi
    [ "${numbers#,}" = "$numbers" ] || { echo "tables.sh: $name has no result" >&2; exit 1; }
    "$programs/mgk-info" --json "$name.safetensors" > run$$.json
    echo "$task,$kind,$heads,$prior,$seed,$numbers,$(total run$$.json flops_forward),$(total run$$.json parameters)" \
        > "$result.part"
    mv "$result.part" "$result"
}

# A table's rows, of these alone; quick ones of at most two heads.
rows_of() {
    echo "$rows" | awk -v table="$1" -v quick="$quick" '
        $1 == table {
            if (quick == "yes" && table == 3)
                $3 /= 4
            if ($3 <= 2 || quick == "no")
                print
        }'
}

# summarise FORMAT: the tables as md or csv, from the lines of results on standard input.
summarise() {
    numbers=$(for table in $(echo "$tables" | tr , ' '); do rows_of "$table"; done) \
        awk -F, -v format="$1" -v tasks="$tasks" '
    function mean(key) { return sum[key] / count[key] }
    function error(key,    m, v) {
        if (count[key] < 2)
            return ""
        m = mean(key)
        v = (squares[key] - count[key] * m * m) / (count[key] - 1)
        return sqrt((v > 0 ? v : 0) / count[key])
    }
    function title(kind, heads, prior,    t) {
        t = kind == "softmax" ? "Softmax" : kind == "linear" ? "Linear" : kind == "mgk" ? "MGK" \
            : kind == "smgk" ? "sMGK" : kind == "mlk" ? "MLK" : "sMLK"
        if (prior != "learned")
            t = t (prior == "hard" ? " + Hard-E" : " + Soft-E")
        return t " " heads (heads == 1 ? " head" : " heads")
    }
    function md_cell(key, paper,    e, t) {
        if (!(key in count))
            return paper == "" ? "–" : "– (" paper ")"
        e = error(key)
        t = sprintf("%.2f", mean(key)) (e == "" ? "" : sprintf(" ± %.2f", e))
        return paper == "" ? t : t " (" paper ")"
    }
    function csv_row(table, name, task, metric, key, paper) {
        if (key in count)
            printf "%d,\"%s\",%s,%s,%.6g,%s,%d,%s,%.0f,%.0f\n", table, name, task, metric, mean(key),
                error(key) == "" ? "" : sprintf("%.3g", error(key)), count[key], paper, flops[key], parameters[key]
    }
    function take(key, value) {
        sum[key] += value
        squares[key] += value * value
        count[key]++
        flops[key] = $8
        parameters[key] = $9
    }
    function heading(table,    i) {
        if (table == 3)
            printf "\n## Table 3: perplexity of language models\n\n| model | valid | test |"
        else {
            printf "\n## Table %d: accuracy (%%)\n\n| model |", table
            for (i = 1; i <= shown; i++)
                printf " %s |", names[task[i]]
            printf " mean of the paper'"'"'s three |"
        }
        printf " FLOPs | parameters |\n|---|"
        for (i = table == 3 ? -3 : -2; i < (table == 3 ? 1 : shown + 1); i++)
            printf "---|"
        print ""
    }
    function classifier(table, name, base, paper,    i, t, average, from, p) {
        for (i = 1; i <= shown; i++) {
            t = task[i]
            p = t == "listops" ? paper[5] : t == "text" ? paper[6] : t == "pairs" ? paper[7] : ""
            if (format == "csv")
                csv_row(table, name, t, "accuracy", t base, p)
            else
                printf " %s |", md_cell(t base, p)
            if (p != "" && (t base) in count) {
                average += mean(t base)
                from++
            }
        }
        if (format == "md")
            printf " %s (%.2f) | %.3g | %.0f |\n", from == 3 ? sprintf("%.2f", average / 3) : "–",
                (paper[5] + paper[6] + paper[7]) / 3, flops["listops" base], parameters["listops" base]
    }
    function language(name, base, paper) {
        if (format == "csv") {
            csv_row(3, name, "lm", "valid_perplexity", "valid" base, paper[5])
            csv_row(3, name, "lm", "test_perplexity", "test" base, paper[6])
        } else if (("valid" base) in count)
            printf " %s | %s | %.3g | %.0f |\n", md_cell("valid" base, paper[5]), md_cell("test" base, paper[6]),
                flops["valid" base], parameters["valid" base]
        else
            printf " – (%s) | – (%s) | – | – |\n", paper[5], paper[6]
    }
    {
        key = "-" $2 "-" $3 "-" $4
        if ($1 == "lm") {
            take("valid" key, $6)
            take("test" key, $7)
        } else
            take($1 key, 100 * $6)
    }
    END {
        shown = split(tasks, task, " ")
        names["listops"] = "ListOps"
        names["text"] = "Text"
        names["pairs"] = "Retrieval"
        names["passages"] = "passages"
        if (format == "csv")
            print "table,model,task,metric,mean,standard_error,seeds,paper,flops,parameters"
        rows = split(ENVIRON["numbers"], line, "\n")
        for (r = 1; r <= rows; r++) {
            split(line[r], paper, " ")
            name = title(paper[2], paper[3], paper[4])
            base = "-" paper[2] "-" paper[3] "-" paper[4]
            if (format == "md" && paper[1] != last)
                heading(paper[1])
            last = paper[1]
            if (format == "md")
                printf "| %s |", name
            if (paper[1] == 3)
                language(name, base, paper)
            else
                classifier(paper[1], name, base, paper)
        }
    }'
}

# take RESULTS: those of models that have none here.
take() {
    while IFS= read -r line; do
        result=$(echo "$line" | awk -F, '{ print $1 "-" $2 "-" $3 "-" $4 "-seed" $5 ".result" }')
        [ -e "$result" ] || echo "$line" > "$result"
    done < "$1"
}

# All results so far, and both files of tables from them.
write_tables() {
    cat ./*.result > results.csv.part
    mv results.csv.part results.csv
    {
        echo "# Tables of the paper in miniature"
        echo
        echo "Mean ± standard error over seeds, and in brackets the number of the paper (arXiv 2110.08678), whose models"
        echo "are larger and trained longer, on other data. FLOPs are of a forward pass; those of tables 1, 2 and 4, and"
        echo "the parameters, are of the model of ListOps. $settings"
        summarise md < results.csv
    } > tables.md.part
    summarise csv < results.csv > tables.csv.part
    mv tables.md.part tables.md
    mv tables.csv.part tables.csv
}

output="" text="" list="" papers="" books="" results="" tables=1,2,3,4 seeds="" steps="" length="" tokenizer=words quick=no
programs=$(dirname "$0")/../build/cpu/bin
while [ $# -gt 0 ]; do
    case $1 in
    --output | --text | --books | --results | --tables | --seeds | --steps | --length | --tokenizer | --programs)
        [ $# -ge 2 ] || wrong_usage "$1 needs a value" ;;
    --pairs) [ $# -ge 3 ] || wrong_usage "--pairs needs a list and a folder" ;;
    esac
    case $1 in
    --help) usage; exit 0 ;;
    --quick) quick=yes ;;
    --output) output=$2; shift ;;
    --text) text=$(realpath "$2"); shift ;;
    --books) books=$(realpath "$2"); shift ;;
    --results) results=$(realpath "$2"); shift ;;
    --pairs) list=$(realpath "$2") papers=$(realpath "$3"); shift 2 ;;
    --tables) tables=$2; shift ;;
    --seeds) seeds=$2; shift ;;
    --steps) steps=$2; shift ;;
    --length) length=$2; shift ;;
    --tokenizer) tokenizer=$2; shift ;;
    --programs) programs=$2; shift ;;
    *) wrong_usage "unexpected \"$1\"" ;;
    esac
    shift
done
[ -n "$output" ] || wrong_usage "no --output"
echo "$tables" | grep -qx '[1-4]\(,[1-4]\)*' || wrong_usage "--tables $tables: expected numbers from 1 to 4"
[ "$tables" != 3 ] || [ -n "$books" ] || wrong_usage "table 3 needs --books"
programs=$(realpath -m "$programs")
[ -x "$programs/mgk-train" ] || wrong_usage "$programs has no mgk-train: build it, or give --programs"
if [ "$quick" = yes ]; then
    seeds=${seeds:-0,1} steps=${steps:-4} length=${length:-32} samples=8 checked=8 sizes="--dim 8 --head-dim 4 --hidden 8"
    rate="--batch 2 --lr 0.001 --threads 1" depth=1 split_samples="--samples 4 --threads 1"
    tokens="--vocabulary 300"
else
    seeds=${seeds:-0,1,2} steps=${steps:-1000} length=${length:-256} samples=2000 checked=500
    sizes="--dim 64 --head-dim 32 --hidden 128" rate="--batch 16 --lr 0.001" depth=2 split_samples="--samples 2000"
    tokens="--vocabulary 8192"
fi
echo "$seeds" | grep -qx '[0-9]\{1,\}\(,[0-9]\{1,\}\)*' || wrong_usage "--seeds $seeds: expected numbers"
for number in "$steps" "$length"; do
    echo "$number" | grep -qx '[1-9][0-9]*' || wrong_usage "\"$number\": expected a positive number"
done
[ "$tokenizer" != bytes ] || tokens=""
window=$((length < 256 ? length : 256))
classifier="--layers $depth $sizes --length $length --steps $steps $rate --eval-samples $checked --eval-every $((steps / 10 + 1))"
language="--layers $((2 * depth)) $(echo "$sizes" | sed 's/--dim 64 --head-dim 32 --hidden 128/--dim 128 --head-dim 16 --hidden 512/') \
--length $window --steps $((2 * steps)) $rate --eval-samples $checked --eval-every $((steps / 5 + 1)) $tokens"
settings="Settings: $classifier; language models $language; texts as $tokenizer."

mkdir -p "$output"
cd "$output"
[ ! -e settings ] || [ "$(cat settings)" = "$settings" ] ||
    wrong_usage "$output has results of other settings: $(cat settings)"
echo "$settings" > settings
[ -z "$results" ] || take "$results"
tasks=listops
[ -z "$text" ] || tasks="$tasks text"
[ -z "$list" ] || tasks="$tasks pairs"
if [ -n "$books" ]; then
    tasks="$tasks passages"
    for split in train valid test; do
        gather "$books/$split" $split.txt
    done
fi

# Seeds are outermost, so that a first table with all models is there early.
for seed in $(echo "$seeds" | tr , ' '); do
    for table in $(echo "$tables" | tr , ' '); do
        rows_of "$table" | while read -r table kind heads prior rest; do
            if [ "$table" = 3 ]; then
                [ -z "$books" ] || run lm "$kind" "$heads" "$prior" "$seed" < /dev/null
                continue
            fi
            for task in $tasks; do
                run "$task" "$kind" "$heads" "$prior" "$seed" < /dev/null
            done
        done
    done
    write_tables
done
rm -f run$$.*
cat tables.md
