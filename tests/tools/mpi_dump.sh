#!/bin/sh
# SPDX-License-Identifier: MIT
# Several processes write one store: its datasets are those of one process, whatever happens to one of them is
# told once, and nothing stays behind.
# Usage: mpi_dump.sh PROGRAMS FOLDER GOLDEN
set -eu
. "$(dirname "$0")/begin.sh"
. "$(dirname "$0")/mpirun.sh"
dump=$programs/mgk-dump golden=$3 here=$(cd "$(dirname "$0")" && pwd)

python=/usr/bin/python3
"$python" -c 'import h5py' 2>/dev/null || python=
if [ -n "$python" ]; then
    export PYTHONDONTWRITEBYTECODE=1
else
    echo "no h5py: stores are compared by what mgk-rank finds"
fi

# equal A.h5 B.h5
equal() {
    if [ -n "$python" ]; then
        "$python" "$here/same_store.py" "$1" "$2" || complain "$2"
    else
        "$programs/mgk-rank" -q "$1" -o equal-1.csv --force >/dev/null
        "$programs/mgk-rank" -q "$2" -o equal-2.csv --force >/dev/null
        cmp equal-1.csv equal-2.csv || complain "$2"
    fi
}

write_text 900 >text.txt
train="$programs/mgk-train --layers 2 --heads 2 --dim 8 --head-dim 4 --hidden 8 --steps 1 --batch 1 --warmup 0 --quiet"
$train --task lm --attention mgk --length 16 --data text.txt -o mgk.safetensors
$train --task lm --attention softmax --length 16 --data text.txt -o softmax.safetensors

# same RANKS ARGUMENTS...: the store of so many processes, and that of one, which is kept as one.h5.
same() {
    ranks=$1
    shift
    rm -f ./*.h5
    "$dump" "$@" -q -o one.h5 >one.txt || complain "one process: $*"
    start "$ranks" "$dump" "$@" -q -o many.h5 >many.txt 2>err.txt || complain "$ranks processes: $* $(cat err.txt)"
    equal one.h5 many.h5
    cmp -s one.txt many.txt || complain "$ranks processes print: $(cat many.txt)"
}
all=attention,scores,queries,keys,values,weights
same 2 mgk.safetensors --text text.txt --samples 200 --save $all --perplexity
grep -q '^perplexity ' many.txt || complain "no perplexity"
same 3 mgk.safetensors --text text.txt --samples 200 --save $all --compress 3 --layers 1 --dtype f16
same 4 mgk.safetensors --text text.txt --samples 3 --shards # one batch
same 4 softmax.safetensors --text text.txt --samples 100 --as performer --features 8 --precision double
same 3 mgk.safetensors --text text.txt --samples 200 --save $all --shards --compress 1
[ "$(echo many.shard-*)" = "many.shard-0.h5 many.shard-1.h5 many.shard-2.h5" ] || complain "shards: $(ls)"

# Every program opens a store in shards as one, from any folder.
"$programs/mgk-rank" one.h5 -q -o one.csv >/dev/null
(cd .. && "$programs/mgk-rank" "$OLDPWD/many.h5" -q -o "$OLDPWD/many.csv" >/dev/null) || complain "a store in shards"
cmp one.csv many.csv || complain "ranks of a store in shards"
"$programs/mgk-info" many.h5 | grep -q '/scores .*\[200, 2, 2, 16, 16\]' || complain "the shape of shards"
info() {
    "$programs/mgk-info" many.h5 --json | tr -d '\n\t' | sed 's/,"attributes":.*//; s/.*"attention store"//'
}
[ "$(info)" = ',"shards":[{"file":"many.shard-0.h5","present":true}, {"file":"many.shard-1.h5","present":true}, {"file":"many.shard-2.h5","present":true}]' ] ||
    complain "mgk-info of shards: $(info)"
! "$programs/mgk-info" many.shard-0.h5 --json | grep '"shards"' || complain "shards of a shard"
mv many.shard-1.h5 away.h5
[ "$(info)" = ',"shards":[{"file":"many.shard-0.h5","present":true}, {"file":"many.shard-1.h5","present":false}, {"file":"many.shard-2.h5","present":true}],"missing_shards":["many.shard-1.h5"]' ] ||
    complain "mgk-info without a shard: $(info)"
"$programs/mgk-info" many.h5 >info.txt || complain "mgk-info fails without a shard"
grep -qx 'missing_shards  \[many.shard-1.h5\]' info.txt || complain "no shard is missing: $(cat info.txt)"
grep -q '/scores .*\[200, 2, 2, 16, 16\]' info.txt || complain "the shape without a shard"
ln -s away many.shard-1.h5
"$programs/mgk-info" many.h5 | grep -qx 'missing_shards  \[many.shard-1.h5\]' || complain "a link to nothing is a shard"
! "$programs/mgk-rank" many.h5 2>err.txt || complain "a missing shard"
grep -q 'mgk-rank: many.h5: .*many.shard-1.h5: No such file' err.txt || complain "a missing shard: $(cat err.txt)"

# Queries of one sequence, keys of another.
for i in 1 2 3 4 5 6 7; do
    echo "3 5 $i 7 8" >&3
    echo "2 $i 4"
done 3>ids.txt >target.txt
same 3 "$golden/hugging_face/t5" --part cross --tokens ids.txt --target target.txt --save attention,values

# fails TEXT RANK SETUP ARGUMENTS...: after the commands SETUP in that process the job fails; one line contains TEXT.
# mpirun needs not wait for the other processes, which have ended.
fails() {
    text=$1 rank=$2 setup=$3
    shift 3
    mkdir out
    cat >odd.sh <<END
[ "\$OMPI_COMM_WORLD_RANK" != $rank ] || { $setup; }
exec "\$@"
END
    ! OMPI_MCA_odls_base_sigkill_timeout=0 start 2 sh odd.sh "$dump" mgk.safetensors --text text.txt --samples 2000 --save attention,scores -q \
        -o out/bad.h5 "$@" >out.txt 2>err.txt || complain "succeeded: $setup $*"
    [ "$(grep -c '^mgk-' err.txt)" -eq 1 ] || complain "not one line: $(cat err.txt)"
    grep '^mgk-' err.txt | grep -q -- "$text" || complain "no '$text' in: $(cat err.txt)"
    rmdir out || { complain "left: $(ls out)" && rm -r out; }
}
# A limit on file size is a full disk; MPI itself needs a few MB.
limit='ulimit -f 10000'
fails 'rank 0 (.*): out/bad.h5: the file may not grow' 0 "$limit"
fails 'rank 1 (.*): out/bad.h5: the file may not grow' 1 "$limit"
fails 'rank 1 (.*): out/bad.shard-1.h5: the file may not grow' 1 "$limit" --shards
fails 'rank 1 (.*): mgk.safetensors: No such file' 1 'cd out'
fails 'rank 1 (.*): out/bad.h5: in another folder than that of rank 0' 1 \
    'mkdir -p away/out && ln -sf ../mgk.safetensors ../text.txt away && cd away'

# ended HOW ARGUMENTS...: a job that is asked to end, or one of whose processes is killed, leaves nothing.
printf 'echo $$ >pid.$OMPI_COMM_WORLD_RANK\nexec "$@"\n' >pid.sh
ended() {
    how=$1
    shift
    mkdir out
    rm -f pid.*[0-9]
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n 2 sh pid.sh "$dump" \
        mgk.safetensors --text text.txt --samples 2000 --save $all --compress 9 -q -o out/bad.h5 "$@" >out.txt 2>&1 &
    job=$! tries=0
    until [ -n "$(find out -name '*.part' -size +50k)" ] || [ $tries -ge 500 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
    if [ "$how" = kill ]; then kill -9 "$(cat pid.1)"; else kill -TERM $job; fi
    ! wait $job || complain "a job goes on: $how"
    rmdir out || { complain "left after $how: $(ls out)" && rm -r out; }
}
ended term
ended term --shards
ended kill

# A store in shards is replaced by shards of other names, by fewer processes; then its own go.
mkdir out
files() {
    (cd out && echo *)
}
again() {
    ranks=$1
    shift
    start "$ranks" "$dump" mgk.safetensors --text text.txt --samples 200 -q -o out/bad.h5 "$@" >out.txt 2>err.txt
}
again 3 --shards || complain "shards: $(cat err.txt)"
! again 2 --shards || complain "shards are overwritten without --force"
again 2 --shards --force || complain "shards again: $(cat err.txt)"
[ "$(files)" = 'bad.h5 bad.shard-0.1.h5 bad.shard-1.1.h5' ] || complain "shards again: $(files)"
"$dump" mgk.safetensors --text text.txt --samples 200 -q -o one.h5 --force >one.txt
equal one.h5 out/bad.h5

# Shards that no store names, as a job leaves them that is killed between their renames and the last one, or as the
# shards of a store that got another name look: they stay.
mv out/bad.h5 out/named.h5
! again 3 --shards || complain "shards that no store names are in nobody's way"
grep -q 'bad.shard-[01].1.h5: exists beside out/bad.h5 (use --force' err.txt || complain "no shard named: $(cat err.txt)"
again 3 --shards --force || complain "other names: $(cat err.txt)"
again 1 --force || complain "no shards: $(cat err.txt)"
[ "$(files)" = 'bad.h5 bad.shard-0.1.h5 bad.shard-1.1.h5 named.h5' ] || complain "shards of another store: $(files)"
equal one.h5 out/named.h5
mv out/named.h5 out/bad.h5

# A process that is killed leaves its unfinished shard, and the next run takes that away, but not the files of others.
touch out/bad.shard-x.h5 out/bad.shard-01.h5 out/worse.shard-2.h5.mgk-aaaaaa.part
rm -f pid.*[0-9]
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n 3 sh pid.sh "$dump" mgk.safetensors \
    --text text.txt --samples 2000 --save $all --compress 9 -q -o out/bad.h5 --shards --force >out.txt 2>&1 &
job=$! tries=0
until [ -n "$(find out -name 'bad.shard-2.h5.*.part' -size +50k)" ] || [ $tries -ge 500 ]; do
    sleep 0.02
    tries=$((tries + 1))
done
kill -9 "$(cat pid.2)"
! wait $job || complain "a job goes on without one of its processes"
ls out | grep -q '^bad.shard-2.h5.mgk-.*.part$' || complain "nothing of a killed process is left: $(files)"
equal one.h5 out/bad.h5 # as it was
again 1 --force || complain "after a kill: $(cat err.txt)"
[ "$(files)" = 'bad.h5 bad.shard-01.h5 bad.shard-x.h5 worse.shard-2.h5.mgk-aaaaaa.part' ] || complain "after a kill: $(files)"
equal one.h5 out/bad.h5
rm -r out

exit "$failures"
