#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: licences.sh SOURCE. Every source file names its licence in one of its first three lines, and
# the version is the same wherever it is written.
set -eu
cd "$1"
line='SPDX-License-Identifier: MIT'
version=$(sed -n 's/^project(mgk VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)

sources() {
    find .ci CMakeLists.txt analysis bench cmake kernels plots scripts src tests -type f \
        \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.js' -o -name '*.css' \
        -o -name '*.html' -o -name '*.py' -o -name '*.sh' -o -name '*.bash' -o -name '*.cmake' -o -name '*.in' \
        -o -name CMakeLists.txt \) ! -path 'tests/fuzz/corpus/*' ! -path '*/__pycache__/*'
}

sources | while read -r file; do
    head -n 3 "$file" | grep -qF "$line" || echo "$file: no line \"$line\" at its top"
done > "$OLDPWD/licences.missing"
for file in src/mgk.h CITATION.cff docs/man/*.1; do
    grep -qF "$version" "$file" || echo "$file: not of version $version" >> "$OLDPWD/licences.missing"
done
grep -q "^## $version" CHANGELOG.md || echo "CHANGELOG.md: no version $version" >> "$OLDPWD/licences.missing"
[ "$(sources | wc -l)" -gt 1000 ] || echo "too few files were read" >> "$OLDPWD/licences.missing"
cat "$OLDPWD/licences.missing"
[ ! -s "$OLDPWD/licences.missing" ]
