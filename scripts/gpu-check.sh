#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks and measures the CUDA backend on a GPU, in phases with limits.
set -eu

usage() {
    cat << 'END'
Usage: sh gpu-check.sh [--packed DIR | --built DIR] [--phase N]... [--seconds S]
                       [--text FILE] [--tiny]
       sh gpu-check.sh --tests
Checks and measures the CUDA backend on a GPU, after building it. report.md and log.txt
in the folder $OUT, or gpu-report, grow while it runs, and from run to run. The exit
status is 1 if anything failed.

  --phase N      Only this phase; may be given several times:
                 1  facts, tests, times of single operations, ranks
                 2  export, training steps and their memory, profiles of kernels
                 3  compute-sanitizer; spectra of 4096 x 4096
                 4  training models of the paper's shapes, which stay in $OUT
  --seconds S    Limit of each phase (540), without building.
  --packed DIR   Build nothing, run what is in a bundle unpacked in DIR.
  --built DIR    Build nothing, run what was built in DIR.
  --text FILE    Text for phase 4 (models/sample.txt).
  --tiny         Small sizes: show that all of this runs, measure nothing.
  --tests        Only print the names of the tests.
  --help         Print this text.

MGK_TEST_DEVICE=cpu tries all of this without a GPU.
END
}

# The riskiest first.
tests="device recording bisected_values bands gram residual singular_values full_rank entries
    attention attention_identities attention_parity attention_gradient layers operations
    layer_gradients linear_attention"
sanitized="bisected_values bands gram residual entries full_rank attention_parity layers operations
    device"
profiled="mixture_attention key_gradient query_gradient mixture_matrix scale_rows bidiagonalise
    find_values factor_kept factor_columns invert_leaves"

build() {
    built=build/cuda
    echo "gpu-check.sh: building $built, which takes minutes" >&2
    cmake --preset cuda > /dev/null
    # shellcheck disable=SC2046
    cmake --build --preset cuda -j "$(nproc)" --target $(printf 'test_%s ' $tests) \
        mgk-train mgk-dump mgk-rank mgk-info bench_export bench_operations bench_facts > /dev/null
}

# The CUDA libraries, where the loader does not find them: the toolkit's, or those of PyTorch.
find_libraries() {
    for folder in /usr/local/cuda/lib64 $("$python" -c '
import pathlib, nvidia
for path in nvidia.__path__:
    print(*{library.parent for library in pathlib.Path(path).rglob("lib*.so.*")})' 2> /dev/null); do
        LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"
    done
    export LD_LIBRARY_PATH
}

tell() {
    echo "$@" | tee -a "$report" "$told"
}

# Seconds until the phase ends.
left() {
    echo $((end - $(date +%s)))
}

# limited SECONDS COMMAND...: ends it in time, and with the phase at the latest.
limited() {
    limit=$(left)
    [ "$limit" -le "$1" ] || limit=$1
    shift
    [ "$limit" -gt 0 ] || return 124
    timeout -k 5 "$limit" "$@"
}

# check NAME SECONDS COMMAND...: one line of the report, all output into the log.
check() {
    name=$1 from=$(date +%s) status=0
    own=$(mktemp "$work/XXXXXX")
    shift
    limited "$@" > "$own" 2>&1 || status=$?
    took="$(($(date +%s) - from)) s"
    {
        echo "== $name: exit status $status, $took"
        cat "$own"
    } >> "$log"
    case $status in
    0) tell "passed  $name, $took$(sed -n 's/^.*\(largest error.*\)$/, \1/p' "$own" | sort -u | tr -d '\n')" ;;
    77) tell "not run $name: the device has no such operation" ;;
    124 | 137) tell "FAILED  $name: not finished after $took" ;;
    *) tell "FAILED  $name: exit status $status" && tail -n 15 "$own" | sed 's/^/    /' | tee -a "$report" ;;
    esac
}

# share JOBS SECONDS PREFIX NAME...: checks "PREFIX NAME" for all names, JOBS at a time.
share() {
    jobs=$1 seconds=$2 prefix=$3 running=0
    shift 3
    for name; do
        if [ ! -x "$checks/test_$name" ]; then
            tell "not run test_$name: this build has none"
            continue
        fi
        # shellcheck disable=SC2086
        check "${prefix##*/}$name" "$seconds" $prefix"$name" &
        running=$((running + 1))
        [ $((running % jobs)) -ne 0 ] || wait
    done
    wait
}

# table COMMAND...: tables appear in the report row by row.
table() {
    { limited "$(left)" "$@" 2>&1 || echo "FAILED  $*: exit status $?"; } | tee -a "$report" "$told"
}

measure() {
    if ! command -v "$python" > /dev/null; then
        tell "not run: the benchmarks need python3"
        return
    fi
    # shellcheck disable=SC2086
    table "$python" -B "$bench/gpu/run.py" --programs "$bin" --device "$MGK_TEST_DEVICE" \
        --seconds "$(left)" $tiny "$@"
}

describe() {
    tell "$(date -u '+%Y-%m-%d %H:%M UTC'), $("$bin/mgk-info" --version)"
    gpu=$(nvidia-smi --format=csv,noheader \
        --query-gpu=name,driver_version,memory.total,compute_cap,clocks.max.sm 2> /dev/null) ||
        gpu="nvidia-smi found no GPU"
    tell "$gpu"
    [ ! -e "$bin/bench_facts" ] || [ "$MGK_TEST_DEVICE" = cpu ] || table "$bin/bench_facts"
    "$bin/mgk-info" --machine >> "$log" 2>&1 || true
}

phase_1() {
    describe
    [ "$MGK_TEST_DEVICE" = cpu ] || check programs 150 sh "$programs" "$bin/" "$work/programs" &
    # shellcheck disable=SC2086
    share "$together" 60 "$checks/test_" $tests
    measure --only operations --only ranks --quick
}

profile() {
    if ! command -v ncu > /dev/null; then
        tell "not run: ncu is not here"
        return
    fi
    for kernel in $profiled; do
        check "profile of $kernel" 60 ncu --clock-control none --kernel-name "regex:^$kernel" \
            --section SpeedOfLight --section LaunchStats --section Occupancy \
            --section MemoryWorkloadAnalysis --launch-count 3 --kill yes \
            "$bin/bench_operations" "$MGK_TEST_DEVICE"
    done
}

phase_2() {
    measure --only training --only kernels --only memory --only export --no-compile --quick
    profile
}

phase_3() {
    if command -v compute-sanitizer > /dev/null; then
        for tool in racecheck synccheck memcheck initcheck; do
            # shellcheck disable=SC2086
            share "$together" 240 "compute-sanitizer --tool $tool --error-exitcode 1 $checks/test_" $sanitized
        done
    else
        tell "not run: compute-sanitizer is not here"
    fi
    measure --only ranks --largest
}

# train NAME OPTIONS...: as far as it comes in half of the phase. A later run goes on from there.
train() {
    name=$1 model=$models/$1.safetensors limit=$((seconds / 2 - 20))
    shift
    if [ -e "$model.checkpoint" ]; then
        set -- "$@" --resume "$model.checkpoint"
    elif [ -e "$model" ]; then
        tell "not run training $name: $model exists"
        return
    fi
    check "training $name" $((seconds / 2)) sh -c 'timeout -s TERM "$0" "$@" || [ $? -eq 124 ]' $limit \
        "$bin/mgk-train" --data "$text" --device "$MGK_TEST_DEVICE" --checkpoint-every 1000 \
        --log "$models/$name.csv" -o "$model" "$@"
}

phase_4() {
    shape="--layers 16 --dim 128 --heads 4 --head-dim 16 --hidden 2048 --length 256 --batch 96 --steps 100000"
    range="--layers 2 --dim 64 --heads 2 --head-dim 32 --hidden 128 --length 4096 --batch 16 --steps 5000"
    if [ -n "$tiny" ]; then
        shape="--layers 2 --dim 32 --heads 2 --head-dim 16 --hidden 64 --length 32 --batch 4 --steps 3"
        range="--layers 2 --dim 32 --heads 2 --head-dim 16 --hidden 64 --length 64 --batch 2 --steps 3"
    fi
    # shellcheck disable=SC2086
    train lm-mgk-4 --task lm --attention mgk $shape
    # shellcheck disable=SC2086
    train retrieval-mgk-2 --task retrieval --attention mgk $range
}

refuse() {
    echo "gpu-check.sh: $*" >&2
    exit 2
}

packed="" built="" phases="" seconds=540 tiny="" text=""
while [ $# -gt 0 ]; do
    case $1 in
    --help) usage && exit ;;
    --tests) echo "$tests" && exit ;;
    --tiny) tiny=--tiny && shift && continue ;;
    --packed | --built | --phase | --seconds | --text) [ $# -ge 2 ] || refuse "$1 needs a value (see --help)" ;;
    *) refuse "unknown option $1 (see --help)" ;;
    esac
    case $1:$2 in
    --phase:[1-4]) phases="$phases $2" ;;
    --phase:*) refuse "--phase takes 1 to 4" ;;
    --seconds:0* | --seconds: | --seconds:*[!0-9]*) refuse "--seconds takes a whole number from 1 on" ;;
    --seconds:*) seconds=$2 ;;
    --text:*) [ -r "$2" ] && text=$(realpath "$2") || refuse "$2: no such file" ;;
    --packed:*) [ -d "$2" ] && packed=$(realpath "$2") || refuse "$2: no such folder" ;;
    --built:*) [ -d "$2" ] && built=$(realpath "$2") || refuse "$2: no such folder" ;;
    esac
    shift 2
done
[ -z "$packed$built" ] || [ -x "${packed:-$built}/bin/mgk-info" ] ||
    refuse "${packed:-$built} has no bin/mgk-info"
mkdir -p "${OUT:-gpu-report}"
out=$(realpath "${OUT:-gpu-report}") python=${PYTHON:-python3}
report=$out/report.md log=$out/log.txt
export MGK_TEST_DEVICE="${MGK_TEST_DEVICE:-cuda}" MGK_REQUIRE_GPU=1
if [ -n "$packed" ]; then
    checks=$packed/tests bin=$packed/bin bench=$packed/bench top=$packed
    programs=$packed/programs.sh
else
    cd "$(dirname "$0")/.."
    [ -n "$built" ] || build
    checks=$(realpath "$built")/bin bin=$(realpath "$built")/bin bench=bench top=.
    programs=tests/emulator/programs.sh
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
told=$work/told models=$out
[ -z "$tiny" ] || models=$work
text=${text:-$top/models/sample.txt}
together=$((($(nproc) + 1) / 2))
find_libraries
for phase in ${phases:-1 2 3 4}; do
    tell "## Phase $phase"
    tell ""
    end=$(($(date +%s) + seconds))
    "phase_$phase"
    tell ""
done
count() {
    grep -c "^$1" "$told" || true
}
failures=$(count FAILED)
tell "$(count passed) passed, $failures failed, $(count 'not run') not run"
[ "$failures" -eq 0 ]
