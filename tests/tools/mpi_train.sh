#!/bin/sh
# SPDX-License-Identifier: MIT
# mgk-train by several processes: the losses are those of one, whatever their number; a run goes on with
# another number of them; one that fails or is killed ends all. Usage: mpi_train.sh PROGRAMS FOLDER
set -eu
command -v mpirun >/dev/null || {
    echo "skipped: no mpirun"
    exit 77
}
. "$(dirname "$0")/begin.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_pml=ob1

# Starts the program as process number `rank`, whose id pid.RANK holds; rank.RANK, if it exists, is its folder.
cat >start <<EOF
rank=\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-0}}
echo \$\$ >pid.\$rank
[ ! -d rank.\$rank ] || cd rank.\$rank
exec $programs/mgk-train --quiet --threads 1 "\$@"
EOF

# run PROCESSES NAME ARGUMENTS...: trains NAME.safetensors with NAME.csv.
run() {
    processes=$1 name=$2
    shift 2
    set -- "$@" --log "$name.csv" --log-every 1 -o "$name.safetensors"
    if [ "$processes" -eq 1 ]; then
        sh start "$@"
    else
        mpirun -n "$processes" sh start "$@"
    fi
}

# same LOG OTHER: losses of training and held-out data, which differ by at most 1e-6.
same() {
    awk -F , '
        function apart(a, b) { return (a == "") != (b == "") || !(a - b <= 1e-6 && b - a <= 1e-6) }
        NR == FNR { row[$1] = 1; train[$1] = $4; held_out[$1] = $6; next }
        FNR == 1 { next }
        !row[$1] || apart(train[$1], $4) || apart(held_out[$1], $6) {
            print "step " $1 ": " train[$1] ", " held_out[$1] " and " $4 ", " $6
            exit bad = 1
        }
        { rows++; evaluations += $6 != "" }
        END { exit bad || rows < 50 || rows != NR - FNR - 1 || evaluations < 2 }' "$1" "$2" ||
        complain "$1 and $2 differ"
}

# compare COUNTS NAME ARGUMENTS...: trains with each number of processes as with one.
compare() {
    counts=$1 what=$2
    shift 2
    run 1 "$what" "$@" || complain "$what"
    for count in $counts; do
        run "$count" "$what-$count" "$@" || complain "$what by $count processes"
        same "$what.csv" "$what-$count.csv"
    done
}

write_text 200 >text.txt
head -c 1000 text.txt >held_out.txt
small="--layers 1 --heads 2 --dim 8 --head-dim 4 --hidden 8 --batch 5 --warmup 5 --eval-every 20"
lm="--task lm --data text.txt --held-out held_out.txt --length 16 $small"
brief="--steps 50"
lists="--task listops --listops-above 5 --listops-below 20 --length 20 --eval-samples 12 $small"

run 2 probe $lm $brief 2>probe.err || {
    if grep -q 'only a build with MPI' probe.err; then
        echo "skipped: built without MPI"
        exit 77
    fi
    cat probe.err
    exit 1
}

compare '2 3 4' softmax $lm $brief --attention softmax
compare 3 learned $lm $brief --attention mgk --dropout 0.1 --dropout-hidden 0.1 --dropout-attention 0.1 --accumulate 2
compare 2 soft $lm $brief --attention mgk --prior em --dropout 0.1 --clip 0.1
compare 4 hard $lm $brief --attention mgk --prior hard --regularise output,pattern
# Lists have different lengths; seven processes share five.
compare '2 7' lists $lists $brief --attention mgk --prior em --dropout 0.1

# wait_for NAME ROWS: waits until a run has so many rows.
wait_for() {
    until [ "$(wc -l 2>/dev/null <"$1.csv" || echo 0)" -gt "$2" ]; do
        sleep 0.02
    done
}

# interrupt SIGNAL RANK ROWS PROCESSES NAME ARGUMENTS...: sends the signal to one of the processes after so many
# rows, and waits for the end of all, which is a failure.
interrupt() {
    signal=$1 rank=$2 rows=$3
    shift 3
    rm -f pid.*
    run "$@" 2>"$2.err" &
    job=$!
    wait_for "$2" "$rows"
    kill -"$signal" "$(cat "pid.$rank")"
    ! wait "$job" || complain "$2: ends as if it had not been interrupted"
}

long="$lm --attention mgk --prior em --dropout 0.1 --double --steps 1000"
run 1 long $long
interrupt TERM 1 30 2 moved $long
[ "$(grep -c '^mgk-train: stopped after step' moved.err)" -eq 1 ] || complain "not stopped: $(cat moved.err)"
interrupt TERM 0 100 1 moved $long --resume moved.safetensors.checkpoint
run 3 moved $long --resume moved.safetensors.checkpoint || complain 'a state of one process by three'
same long.csv moved.csv
[ ! -e moved.safetensors.checkpoint ] || complain 'the state of a finished run is left'

interrupt KILL 1 50 3 killed $long --checkpoint-every 20
run 2 killed $long --checkpoint-every 20 --resume killed.safetensors.checkpoint || complain 'the state of a killed run'
same long.csv killed.csv

# What one process alone cannot do fails once, and leaves nothing.
mkdir rank.1
! run 2 missing $lm $brief 2>missing.err || complain 'a process without its text'
[ "$(grep -c '^mgk-train: ' missing.err)" -eq 1 ] || complain "not one line: $(cat missing.err)"
grep -q '^mgk-train: rank 1 (.*): text.txt: ' missing.err || complain "another line: $(cat missing.err)"
# Nor do processes train with different texts, even of one size.
tr a-z b-za <text.txt >rank.1/text.txt
cp held_out.txt rank.1
! run 2 other $lm $brief 2>other.err || complain 'a process with another text'
grep -q '^mgk-train: rank 1 (.*): reads other data than rank 0 under the same name' other.err || complain "another line: $(cat other.err)"
for left in missing.safetensors* missing.csv* other.safetensors* other.csv*; do
    [ ! -e "$left" ] || complain "a failure leaves $left"
done

exit $((failures > 0))
