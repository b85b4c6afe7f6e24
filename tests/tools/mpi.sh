#!/bin/sh
# SPDX-License-Identifier: MIT
# Several processes share a job: tables equal those of one, whatever happens to one of them is told once, and
# an interrupted run is resumed by any number.
# Usage: mpi.sh PROGRAMS FOLDER
set -eu
. "$(dirname "$0")/begin.sh"
. "$(dirname "$0")/mpirun.sh"

start 2 "$programs/mpi_senders" || complain "a thread of a process does not go on"

write_text 5000 >text.txt
"$programs/mgk-train" --task lm --attention mgk --layers 2 --heads 2 --dim 8 --head-dim 4 --hidden 8 --length 128 \
    --data text.txt --steps 2 --batch 1 --warmup 0 --quiet -o model.safetensors
input="--model model.safetensors --text text.txt --quiet"

# same RANKS PROGRAM OUTPUT ARGUMENTS...: the output and what is printed are those of one process.
same() {
    numbers=$1 program=$2 output=$3
    shift 3
    rm -f "one-$output"
    "$programs/$program" "$@" -o "one-$output" >one.txt 2>one.err
    for ranks in $numbers; do
        rm -f "$output"
        start $ranks "$programs/$program" "$@" -o "$output" >many.txt 2>many.err ||
            complain "$program by $ranks processes: $(cat many.err)"
        cmp -s "one-$output" "$output" || complain "$program by $ranks processes: another $output"
        cmp -s one.txt many.txt || complain "$program by $ranks processes prints $(cat many.txt)"
        cmp -s one.err many.err || complain "$program by $ranks processes says $(cat many.err)"
    done
}

same '2 3' mgk-rank ranks.csv $input --samples 20
same 4 mgk-rank few.csv $input --samples 2 # fewer samples than processes
same 3 mgk-rank drawn.json $input --samples 40 --matrices 9 --threshold 1e-3,1e-6
same 3 mgk-diversity measures.csv $input --samples 13
same 4 mgk-diversity samples.csv $input --samples 5 --measures js,entropy,rank --per-sample
# What a model that runs as another kind is told of: errors over the samples of all.
"$programs/mgk-train" --task lm --attention softmax --layers 1 --heads 2 --dim 8 --head-dim 4 --hidden 8 \
    --length 32 --data text.txt --steps 2 --batch 1 --warmup 0 --quiet -o softmax.safetensors
as="--model softmax.safetensors --text text.txt --samples 9 --as performer --features 8"
"$programs/mgk-rank" $as -o one-as.csv >one.txt 2>one.err
start 3 "$programs/mgk-rank" $as -o as.csv >many.txt 2>many.err
cmp -s one-as.csv as.csv || complain "another kind: another table"
grep 'run as performer' one.err >one.txt && grep 'run as performer' many.err >many.txt && cmp -s one.txt many.txt ||
    complain "another kind: $(cat one.err many.err)"
grep -q '^mgk-rank: computing on .*, each of 3 processes' many.err || complain "not how many: $(cat many.err)"
"$programs/mgk-dump" model.safetensors --text text.txt --samples 6 --quiet -o store.h5
same 2 mgk-rank store.csv --quiet store.h5
same 2 mgk-diversity both.csv --quiet store.h5 store.h5 --compare --measures js,effective_heads

start 1 "$programs/mgk-rank" $input --samples 20 -o single.csv >single.txt || complain "one process of mpirun failed"
cmp -s one-ranks.csv single.csv || complain "one process of mpirun: another table"

# Without an output there is the summary alone.
"$programs/mgk-rank" $input --samples 9 >one.txt
start 3 "$programs/mgk-rank" $input --samples 9 >many.txt || complain "no output: failed"
cmp -s one.txt many.txt || complain "no output: another summary"

# Programs that do not share work run once.
start 3 "$programs/mgk-info" model.safetensors >many.txt || complain "mgk-info failed"
"$programs/mgk-info" model.safetensors >one.txt
cmp -s one.txt many.txt || complain "mgk-info by three processes prints other text"

# fails TEXT COMMAND...: it fails, and one line of its messages is not mpirun's and contains the text. mpirun needs
# not wait for the other processes, which have ended.
fails() {
    text=$1
    shift
    ! OMPI_MCA_odls_base_sigkill_timeout=0 "$@" >out.txt 2>err.txt || complain "succeeded: $*"
    [ "$(grep -c '^mgk-' err.txt)" -eq 1 ] || complain "not one line: $(cat err.txt)"
    grep -q -- "$text" err.txt || complain "no '$text' in: $(cat err.txt)"
    [ -z "$(ls | grep -E 'bad|mgk-lock')" ] || complain "left: $(ls | grep -E 'bad|mgk-lock')"
}
fails 'missing.h5: No such file' start 3 "$programs/mgk-rank" missing.h5 -o bad.csv
fails 'reaches one of 2 processes' start 2 "$programs/mgk-rank" --model model.safetensors --text - -o bad.csv
fails '--what: unknown option' start 3 "$programs/mgk-rank" --what
fails 'store.csv: exists (use --force' start 2 "$programs/mgk-rank" --quiet store.h5 -o store.csv
# What one of them alone cannot do.
cat >odd.sh <<'END'
[ "$OMPI_COMM_WORLD_RANK" != 1 ] || cd elsewhere
exec "$@"
END
mkdir elsewhere
fails 'mgk-rank: rank 1 (' start 3 sh odd.sh "$programs/mgk-rank" --quiet store.h5 -o bad.csv
fails 'store.h5: No such file' start 3 sh odd.sh "$programs/mgk-diversity" --quiet store.h5 -o bad.csv
# One process refuses before the job begins, in which the others wait for it.
echo '[ "$OMPI_COMM_WORLD_RANK" != 1 ] || export TMPDIR=/nowhere; exec "$@"' >no_tmp.sh
fails 'rank 1 (.*): /nowhere/mgk-.*: No such file' start 3 sh no_tmp.sh "$programs/mgk-rank" --quiet store.h5 -o -
# Files of the same names and sizes, and other content.
other='rank 1 (.*): reads other data than rank 0 under the same name'
tr a-z b-za <text.txt >elsewhere/text.txt
cp model.safetensors elsewhere
"$programs/mgk-dump" model.safetensors --text elsewhere/text.txt --samples 6 --quiet -o elsewhere/store.h5
fails "$other" start 2 sh odd.sh "$programs/mgk-rank" $input --samples 9 -o bad.csv
fails "$other" start 2 sh odd.sh "$programs/mgk-diversity" $input --samples 9 -o bad.csv
fails "$other" start 2 sh odd.sh "$programs/mgk-dump" model.safetensors --text text.txt --samples 9 -q -o bad.h5
fails "$other" start 2 sh odd.sh "$programs/mgk-rank" --quiet store.h5 -o bad.csv
# Another model of the same name, for the same text.
cp softmax.safetensors other.safetensors
cp model.safetensors elsewhere/other.safetensors
cp text.txt same.txt
cp text.txt elsewhere/same.txt
for program in mgk-rank mgk-diversity; do
    fails 'rank 1 (.*): reads another model than rank 0 under the same name' start 2 sh odd.sh "$programs/$program" \
        --model other.safetensors --text same.txt --samples 9 --length 32 --quiet -o bad.csv
done
# The same file that joins other shards.
shards() {
    "$programs/mgk-dump" model.safetensors --text text.txt --samples 6 --quiet --shards -o joined.h5
}
shards && (cd elsewhere && shards) && cp joined.h5 elsewhere
fails "$other" start 2 sh odd.sh "$programs/mgk-rank" --quiet joined.h5 -o bad.csv
# The same matrices with another mask.
npy() { # TYPE SHAPE BYTES: an array
    printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': ($2), }"
    printf "$3"
}
npy '<f4' '1, 2, 2' '\000\000\000\077\000\000\000\077\000\000\000\077\000\000\000\077' >halves.npy
npy '|u1' '1, 2' '\001\001' >mask.npy
npy '|u1' '1, 2' '\001\000' >elsewhere/mask.npy
cp halves.npy elsewhere
masked="$programs/mgk-rank --quiet halves.npy --mask mask.npy"
start 2 $masked -o masked.csv >out.txt 2>&1 || complain "a mask: $(cat out.txt)"
fails "$other" start 2 sh odd.sh $masked -o bad.csv
# The same samples of other classes.
pairs() { # CLASS
    for i in 1 2 3 4; do printf "$1.0\t$i\t10$i\tb'one $i'\tb'two $i'\n"; done
}
pairs 0 >pairs.tsv
pairs 1 >elsewhere/pairs.tsv
"$programs/mgk-train" --task retrieval --attention softmax --layers 1 --heads 1 --dim 8 --head-dim 8 --hidden 8 --length 16 \
    --data pairs.tsv --steps 1 --batch 1 --warmup 0 --quiet -o retrieval.safetensors
cp retrieval.safetensors elsewhere
classes="$programs/mgk-rank --quiet --model retrieval.safetensors --task retrieval --data pairs.tsv"
start 2 $classes -o classes.csv >out.txt 2>&1 || complain "classes: $(cat out.txt)"
fails "$other" start 2 sh odd.sh $classes -o bad.csv
fails 'nowhere' start 2 "$programs/mgk-rank" --quiet store.h5 -o nowhere/bad.csv
fails 'MGK_CLUSTER=OFF in the environment: expected off' start 2 env MGK_CLUSTER=OFF "$programs/mgk-rank" --quiet store.h5 -o bad.csv
# Started by mpirun of another MPI, as it were.
fails 'of which MPI has joined 1' env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 \
    "$programs/mgk-rank" --quiet store.h5 -o bad.csv
# Started by srun --mpi=none, as it were: Open MPI would end the process itself.
srun_none="env SLURM_JOBID=1 SLURM_JOB_ID=1 SLURM_STEPID=0 SLURM_STEP_ID=0 SLURM_NODELIST=here SLURM_STEP_NUM_TASKS=2"
for rank in 0 1; do
    fails 'srun has started 2 processes that .* by srun with its plugin pmix' $srun_none SLURM_PROCID=$rank \
        "$programs/mgk-rank" --quiet store.h5 -o bad.csv
done
MGK_CLUSTER=off OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 "$programs/mgk-rank" --quiet store.h5 -o alone.csv \
    >alone.txt || complain "MGK_CLUSTER=off failed"
cmp -s store.csv alone.csv && [ -s alone.txt ] || complain "MGK_CLUSTER=off: another result"

# wait_for FILE BYTES: until a running job has written so much.
wait_for() {
    tries=0
    while [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -lt "$2" ] && [ $tries -lt 1000 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
}
long="$input --samples 800 --matrices 0"
"$programs/mgk-rank" $long -o one-long.csv >/dev/null

# Killing one ends the job; the rest is done by another number of processes.
start 3 "$programs/mgk-rank" $long -o long.csv >out.txt 2>err.txt &
job=$!
wait_for long.csv.part 30000
kill -9 "$(pgrep -f "mgk-rank .*-o long.csv" | tail -n 1)"
! wait $job || complain "a job goes on without one of its processes"
[ -s long.csv.part ] && [ ! -e long.csv ] || complain "no journal after a kill"
start 2 "$programs/mgk-rank" $long -o long.csv --resume >out.txt 2>err.txt || complain "resume: $(cat err.txt)"
cmp -s one-long.csv long.csv || complain "a resumed table differs"
[ ! -e long.csv.part ] || complain "a journal is left"

# So does asking to end, and one process may finish. mpirun takes a second to pass it on.
rm long.csv
write_text 7000 >long.txt
longer="--model model.safetensors --text long.txt --quiet --samples 2000"
start 3 "$programs/mgk-diversity" $longer -o long.csv >out.txt 2>err.txt &
job=$!
wait_for long.csv.part 1000
pkill -TERM -f "^mpirun.*-o long.csv" || complain "no mpirun to end"
! wait $job || complain "a job does not end when asked to"
[ -s long.csv.part ] && [ ! -e long.csv ] || complain "no journal after an interruption"
"$programs/mgk-diversity" $longer -o long.csv --resume >out.txt 2>err.txt || complain "resume: $(cat err.txt)"
"$programs/mgk-diversity" $longer -o one.csv >/dev/null
cmp -s one.csv long.csv || complain "a table resumed by one process differs"

exit $((failures > 0))
