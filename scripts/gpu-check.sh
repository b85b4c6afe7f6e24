#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs tests and benchmarks of the CUDA backend on a GPU and prints a report.
set -eu

usage() {
    cat << 'END'
Usage: sh gpu-check.sh [--packed DIR] [--full]
Builds the tests of the CUDA backend, runs them on the GPU, runs some of them under
compute-sanitizer, measures (see docs/gpu.md), and prints a report. The exit status
is 1 if anything failed.

  --packed DIR   Build nothing, run what is in a bundle unpacked in DIR.
  --full         Measure at full sizes, which takes longer.
  --tests        Only print the names of the tests.
  --help         Print this text.

MGK_TEST_DEVICE=cpu tries all of this without a GPU.
END
}

tests="device operations layers linear_attention layer_gradients attention attention_identities
    attention_parity attention_gradient recording singular_values bands bisected_values entries
    full_rank gram"
watched="device operations layers attention_parity bands bisected_values entries full_rank gram"

build() {
    cmake --preset cuda > /dev/null
    # shellcheck disable=SC2046
    cmake --build --preset cuda -j "$(nproc)" --target $(printf 'test_%s ' $tests) \
        mgk-train mgk-dump mgk-rank bench_export > /dev/null
}

failures=0
# check NAME COMMAND...
check() {
    name=$1
    shift
    if "$@" > "$log" 2>&1; then
        echo "passed  $name"
    else
        echo "FAILED  $name (exit status $?)"
        tail -n 30 "$log"
        failures=$((failures + 1))
    fi
}

# sanitize FOLDER_OF_TESTS
sanitize() {
    if ! command -v compute-sanitizer > /dev/null; then
        echo "not run: compute-sanitizer is not here"
        return
    fi
    for test in $watched; do
        for tool in memcheck racecheck; do
            check "$test, $tool" compute-sanitizer --tool $tool --error-exitcode 1 "$1/test_$test"
        done
    done
}

# measure FOLDER_OF_PROGRAMS FOLDER_OF_BENCHMARKS: tables appear row by row.
measure() {
    [ "$MGK_TEST_DEVICE" != cpu ] || size=--tiny
    if ! command -v "${PYTHON:-python3}" > /dev/null; then
        echo "not run: the benchmarks need python3"
        return
    fi
    "${PYTHON:-python3}" -B "$2/gpu/run.py" --programs "$1" --device "$MGK_TEST_DEVICE" $size ||
        failures=$((failures + 1))
}

# run FOLDER_OF_TESTS FOLDER_OF_PROGRAMS FOLDER_OF_BENCHMARKS
run() {
    export MGK_TEST_DEVICE="${MGK_TEST_DEVICE:-cuda}" MGK_REQUIRE_GPU=1
    date -u '+%Y-%m-%d %H:%M UTC'
    nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap --format=csv,noheader \
        2> /dev/null ||
        echo "nvidia-smi found no GPU"
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    for test in $tests; do
        check "$test" "$1/test_$test"
    done
    sanitize "$1"
    measure "$2" "$3"
    echo "$failures failed"
    [ "$failures" -eq 0 ]
}

packed="" size=--quick
while [ $# -gt 0 ]; do
    case $1 in
    --help) usage && exit ;;
    --tests) echo "$tests" && exit ;;
    --packed) packed=${2:?--packed needs a folder} && shift ;;
    --full) size="" ;;
    *) echo "gpu-check.sh: unknown option $1 (see --help)" >&2 && exit 2 ;;
    esac
    shift
done
if [ -n "$packed" ]; then
    run "$packed/tests" "$packed/bin" "$packed/bench"
else
    cd "$(dirname "$0")/.."
    build
    run build/cuda/bin build/cuda/bin bench
fi
