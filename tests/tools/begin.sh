# SPDX-License-Identifier: MIT
# Sourced at the beginning of tests of programs. Their arguments: FOLDER_OF_PROGRAMS WORKING_FOLDER;
# the latter is created again and entered.
programs=$1
rm -rf -- "$2" && mkdir -p "$2" && cd "$2" || exit 1
export OMP_NUM_THREADS=1
failures=0

complain() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

# write_text LINES
write_text() {
    line=0
    while [ "$line" -lt "$1" ]; do
        echo "line $line of a text that is long enough"
        line=$((line + 1))
    done
}
