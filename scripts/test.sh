#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing, builds, and runs every test: with the sanitizers, then optimised.
set -eu
cd "$(dirname "$0")/.."
sh scripts/packages.sh --tests

# Of a thousand small objects in two hundred programs, make needs more time to find out what depends on what than
# Ninja. A folder that is there keeps its generator.
export CMAKE_GENERATOR=Ninja
jobs=$(nproc)
# CMake asks one question after another, so that each build has a core for that.
cmake --preset asan &
cmake --preset cpu
wait $!
# One test more than there are cores, because some wait: for a browser, for processes of MPI, for files.
for preset in asan cpu; do
    cmake --build --preset "$preset-tests" -j "$jobs"
    ctest --preset "$preset" -j "$((jobs + 1))"
done
