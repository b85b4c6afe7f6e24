#!/bin/sh
# SPDX-License-Identifier: MIT
# Messages of the library name fields, `head_dim`, not options; programs print the field's option,
# --head-dim. The built library contains no text of command lines either. Usage: messages.sh TOP
# [LIBRARY]; prints every violation, exits 1 if there is one.
set -eu
cd "$1"
library=${2:-}

# sources: all files except those of the programs.
sources() {
    find src kernels analysis plots \( -name '*.c' -o -name '*.h' -o -name '*.cu' \) |
        grep -v '^src/tools/' | LC_ALL=C sort
}

# literals: prints FILE:LINE: and a literal, one per line. Flags of the shell's ulimit are not
# options.
literals() {
    sources | xargs awk '{
        gsub(/\047\\?"\047/, "")
        for (rest = $0; match(rest, /"([^"\\]|\\.)*"/); rest = substr(rest, RSTART + RLENGTH)) {
            literal = substr(rest, RSTART, RLENGTH)
            gsub(/ulimit -[a-z]/, "", literal)
            print FILENAME ":" FNR ": " literal
        }
    }'
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
literals > "$work/literals"

grep -E -e '[^-A-Za-z0-9!]--[a-z]' -e '[ ("]-[a-z]([^-A-Za-z0-9]|$)' "$work/literals" > "$work/options" || true
if [ -s "$work/options" ]; then
    echo "options of programs in messages of the library:"
    cat "$work/options"
    status=1
fi

if [ -n "$library" ] && LC_ALL=C grep -qaF -e --help "$library"; then
    echo "$library: names --help"
    status=1
fi

# Words in backquotes must be fields of the header, and some program must have the option.
sed 's/^[^ ]* //' "$work/literals" | grep -o '`[^`]*`' | tr -d '`' > "$work/names"
# `%s` is a setting of attention kinds.
grep -qx %s "$work/names"
sed -n 's/^ *{ROW(\([a-z_]*\)),.*/\1/p' kernels/attention/settings.c > "$work/settings"
grep -qx feature_map "$work/settings"
cat "$work/names" "$work/settings" | grep -vx %s | LC_ALL=C sort -u > "$work/fields"
grep -qx head_dim "$work/fields"
grep -oE '[ *][A-Za-z_0-9]+[,;]' src/mgk.h | tr -d ' *,;' | LC_ALL=C sort -u > "$work/header"
grep -ohE '"[a-z0-9-]+"' src/tools/*.[ch] | tr -d '"' | tr - _ | LC_ALL=C sort -u > "$work/tools"
LC_ALL=C comm -12 "$work/header" "$work/tools" | LC_ALL=C comm -23 "$work/fields" - > "$work/unknown"
while read -r field; do
    grep -F -e "\`$field\`" "$work/literals" | sed "s/\$/: \`$field\` is no field with an option/"
    grep -qx -e "$field" "$work/settings" && echo "settings.c: \`$field\` is no field with an option"
    status=1
done < "$work/unknown"

# Constants that comments of the header name are declared in it; MGK_NAME=value is a variable of the environment.
tr '\n' ' ' < src/mgk.h | sed 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/, ,g' | grep -oE 'MGK_[A-Z0-9_]+' |
    LC_ALL=C sort -u > "$work/declared"
grep -qx MGK_INPUT "$work/declared"
sed 's,MGK_[A-Z]*=[a-z]*,,g' src/mgk.h | grep -noE 'MGK_[A-Z0-9_]+' > "$work/named"
while IFS=: read -r line constant; do
    grep -qx "$constant" "$work/declared" && continue
    echo "src/mgk.h:$line: $constant is not declared"
    status=1
done < "$work/named"
exit $status
