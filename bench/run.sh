#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs every benchmark and prints markdown tables. Options: bench/machine.py --help.
set -eu
unset OPENBLAS_CORETYPE OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS
export PYTHONDONTWRITEBYTECODE=1
here=$(dirname "$0")
python=${PYTHON:-python3}

for name in machine check train rank stream diversity; do
    echo "### $name"
    echo
    "$python" "$here/$name.py" "$@"
done
# First without a disk, then with it.
for folder in /dev/shm "${TMPDIR:-/var/tmp}"; do
    echo "### dump"
    echo
    "$python" "$here/dump.py" "$@" --folder "$folder"
done
