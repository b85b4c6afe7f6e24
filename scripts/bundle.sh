#!/bin/sh
# SPDX-License-Identifier: MIT
# Packs everything that the programs need into one archive, which runs elsewhere as it is.
set -eu

usage() {
    cat << 'END'
Usage: sh scripts/bundle.sh [--build DIR] ARCHIVE.tar.gz|ARCHIVE.tar.xz
Packs programs, library, models, tests and benchmarks with every shared library that they
need, except those of the C library, CUDA and the driver. See docs/bundle.md.

  --build DIR    Pack what was built there, and build nothing. Otherwise build/cpu is
                 packed, or build/cuda where there is nvcc, after what is missing there
                 has been built.
  --help         Print this text.
END
}

make_build() {
    preset=cpu
    ! command -v nvcc > /dev/null || preset=cuda
    build=build/$preset
    [ -e $build/bin/mgk-rank ] || echo "bundle.sh: building $preset, which takes minutes" >&2
    [ -e $build/CMakeCache.txt ] || cmake --preset $preset > /dev/null
    # shellcheck disable=SC2046
    cmake --build $build -j "$(nproc)" --target all bench_export bench_operations \
        $(printf 'test_%s ' $(sh scripts/gpu-check.sh --tests)) > /dev/null
}

pack_programs() {
    cmake --install "$build" --prefix "$root" --strip > /dev/null
    # For building on Debian with the packages of scripts/packages.sh, not for a bundle.
    rm -r "$root/lib/libmgk.a" "$root/lib/cmake" "$root/lib/pkgconfig"
    rm -f "$root"/lib/libmgk_mpi.so* # each cluster has an MPI of its own
    mkdir "$root/tests"
    if [ ! -e "$build/bin/bench_export" ]; then
        echo "bundle.sh: without tests: $build has none (cmake --build $build --target tests)" >&2
        return
    fi
    cp "$build/bin/bench_export" "$build/bin/bench_operations" "$root/bin"
    [ ! -e "$build/bin/bench_facts" ] || cp "$build/bin/bench_facts" "$root/bin"
    for test in $(sh scripts/gpu-check.sh --tests); do
        # What GPUs alone have, a build without CUDA does not test.
        [ -e "$(echo "$root"/lib/libmgk_cuda.so.*)" ] || [ -e "$build/bin/test_$test" ] || continue
        cp "$build/bin/test_$test" "$root/tests"
    done
    strip "$root"/tests/* "$root"/bin/bench_*
    cp tests/emulator/programs.sh "$root"
}

# What the bundle's own page says at its end.
describe() {
    printf '\n## This bundle\n\nIt was made on %s with glibc %s, and needs this glibc or a newer one.' \
        "$(. /etc/os-release && echo "$PRETTY_NAME")" "$(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2)"
    if [ -e "$(echo "$root"/lib/libmgk_cuda.so.*)" ]; then
        echo " It has the CUDA backend."
    else
        echo " It has no CUDA backend."
    fi
}

build=""
while :; do
    case ${1:-} in
    --help) usage && exit ;;
    --build) build=$(realpath "${2:?--build needs a folder}") && shift 2 ;;
    *.tar.gz | *.tar.xz) break ;;
    *) echo "bundle.sh: expected ARCHIVE.tar.gz or ARCHIVE.tar.xz (see --help)" >&2 && exit 2 ;;
    esac
done
archive=$(realpath "$1")
cd "$(dirname "$0")/.."
. scripts/gather.sh
[ -n "$build" ] || make_build

version=$(sed -n 's/^project(mgk VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
stage=$(mktemp -d "$archive.XXXXXX")
trap 'rm -rf "$stage"' EXIT
trap 'exit 1' HUP INT TERM
root=$stage/mgk-$version-$(uname -m)

pack_programs
pack_libraries $(find "$root/bin" "$root/libexec/mgk" "$root/tests" -type f) "$root"/lib/*.so*
pack_fonts
cp -rL /usr/share/common-licenses "$root/share/doc"
mkdir "$root/models"
cp models/README.md models/sample.txt "$root/models"
for model in lm-softmax-8 lm-mgk-8 lm-mgk-4 passages-softmax-4 passages-mgk-2; do
    cp models/$model.* "$root/models"
done
mkdir -p "$root/bench/gpu"
cp bench/*.py "$root/bench"
cp bench/gpu/*.py "$root/bench/gpu"
cp scripts/gpu-check.sh "$root"
{ cat docs/bundle.md && describe; } > "$root/README.md"

# The same files give the same archive.
tar --directory "$stage" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$(git log -1 --format=%ct 2> /dev/null || echo 0)" \
    --auto-compress --create --file "$stage/${archive##*/}" "${root##*/}"
mv "$stage/${archive##*/}" "$archive"
