#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing, builds, and runs every test: with the sanitizers, then optimised.
set -eu
cd "$(dirname "$0")/.."
sh scripts/packages.sh --tests

jobs=$(nproc)
for preset in asan cpu; do
    cmake --preset "$preset"
    cmake --build --preset "$preset-tests" -j "$jobs"
    ctest --preset "$preset" -j "$jobs"
done
