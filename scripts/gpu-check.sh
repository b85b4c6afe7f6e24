#!/bin/sh
# Runs the tests of the CUDA backend on a GPU and prints a report.
set -eu

usage() {
    cat << 'END'
Usage: sh scripts/gpu-check.sh [--pack DIR | --packed DIR]
Builds the tests of the CUDA backend, runs them on the GPU, runs some of them under
compute-sanitizer, and prints a report. The exit status is 1 if anything failed.

  --pack DIR     Only build, and copy the tests with the libraries they need into DIR.
  --packed DIR   Build nothing, run what --pack has made.
  --help         Print this text.
END
}

tests="device operations layers linear_attention layer_gradients attention attention_identities
    attention_parity attention_gradient recording singular_values"
watched="device operations layers attention_parity"

build() {
    cmake --preset cuda > /dev/null
    # shellcheck disable=SC2046
    cmake --build --preset cuda -j "$(nproc)" --target $(printf 'test_%s ' $tests) > /dev/null
}

# Everything but the C library and the driver, which belong to the machine.
pack() {
    mkdir -p "$1/bin" "$1/lib"
    for test in $tests; do
        cp "build/cuda/bin/test_$test" "$1/bin"
        ldd "build/cuda/bin/test_$test" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
            grep -vE '/(libc|libm|libdl|libpthread|librt|libcuda|ld-linux[^/]*)\.so' |
            while read -r library; do
                [ -e "$1/lib/${library##*/}" ] || cp "$library" "$1/lib"
            done
    done
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

run() {
    export MGK_TEST_DEVICE=cuda MGK_REQUIRE_GPU=1
    date -u '+%Y-%m-%d %H:%M UTC'
    nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap --format=csv,noheader ||
        echo "nvidia-smi found no GPU"
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    for test in $tests; do
        check "$test" "$1/test_$test"
    done
    if command -v compute-sanitizer > /dev/null; then
        for test in $watched; do
            for tool in memcheck racecheck; do
                check "$test, $tool" compute-sanitizer --tool $tool --error-exitcode 1 "$1/test_$test"
            done
        done
    else
        echo "not run: compute-sanitizer is not here"
    fi
    echo "$failures failed"
    [ "$failures" -eq 0 ]
}

case ${1:-} in
--help) usage ;;
--pack)
    cd "$(dirname "$0")/.."
    build
    pack "${2:?--pack needs a folder}"
    ;;
--packed)
    : "${2:?--packed needs a folder}"
    LD_LIBRARY_PATH=$2/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
    run "$2/bin"
    ;;
"")
    cd "$(dirname "$0")/.."
    build
    run build/cuda/bin
    ;;
*)
    echo "gpu-check.sh: unknown option $1 (see --help)" >&2
    exit 2
    ;;
esac
