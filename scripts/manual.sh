#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes the options of every program into its man page, from the program's own table.
set -eu

usage() {
    cat << 'END'
Usage: sh scripts/manual.sh PROGRAMS [PAGES]
Replaces the options in every man page of the folder PAGES (docs/man if not given) by those of the
program of its name in the folder PROGRAMS, such as build/cpu/bin.
END
}

case ${1:---help} in
-*)
    usage
    exit 0
    ;;
esac
programs=$1 pages=${2:-$(dirname "$0")/../docs/man}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for page in "$pages"/*.1; do
    "$programs/$(basename "$page" .1)" --options=page > "$work/options"
    awk -v options="$work/options" '
        /^\.\\" End of options/ { inside = 0; ends++ }
        !inside
        /^\.\\" Options: / {
            while ((getline line < options) > 0)
                print line
            inside = 1
        }
        END { exit ends != 1 }
    ' "$page" > "$work/page" || {
        echo "manual.sh: $page: the lines around the options are missing" >&2
        exit 1
    }
    cat "$work/page" > "$page"
done
