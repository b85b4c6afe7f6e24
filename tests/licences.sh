#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: licences.sh SOURCE. Every source file names its licence in one of its first three lines, and
# the version is the same wherever it is written.
set -eu
cd "$1"
line='SPDX-License-Identifier: MIT'

sources() {
    find .ci CMakeLists.txt pyproject.toml analysis bench cmake kernels plots python scripts src tests -type f \
        \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.js' -o -name '*.css' \
        -o -name '*.html' -o -name '*.py' -o -name '*.sh' -o -name '*.bash' -o -name '*.cmake' -o -name '*.in' \
        -o -name CMakeLists.txt -o -name pyproject.toml \) ! -path 'tests/fuzz/corpus/*' ! -path '*/__pycache__/*'
}

sources | xargs awk -v line="$line" '
    FNR <= 3 && index($0, line) { found[FILENAME] = 1 }
    FNR == 3 { nextfile }
    END {
        for (i = 1; i < ARGC; i++)
            if (!(ARGV[i] in found))
                print ARGV[i] ": no line \"" line "\" at its top"
    }' > "$OLDPWD/licences.missing"
sh scripts/release.sh --check 2>> "$OLDPWD/licences.missing" || true
[ "$(sources | wc -l)" -gt 1000 ] || echo "too few files were read" >> "$OLDPWD/licences.missing"
cat "$OLDPWD/licences.missing"
[ ! -s "$OLDPWD/licences.missing" ]
