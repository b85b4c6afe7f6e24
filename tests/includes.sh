#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks which part includes which. Usage: includes.sh TOP; prints every violation, exits 1 if there
# is one.
# A part is the longest matching folder; a file may include its own part and those of its row.
set -eu
cd "$1"

find src kernels analysis plots \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) |
LC_ALL=C sort | xargs awk '
    BEGIN {
        allow["src/base"]  = ""
        allow["src/cluster"] = "src/base"
        allow["kernels"]   = "src/base"
        allow["src/model"] = "kernels src/base"
        allow["src/data"]  = "src/base"
        allow["src/train"] = "src/model src/data src/cluster kernels src/base"
        allow["src/store"] = "src/base src/cluster"
        allow["src/table"] = "src/base src/store"
        allow["analysis"]  = "kernels src/base src/table"
        allow["plots"]     = "src/base"
        allow["src/run"]   = "src/mgk.h src/base kernels src/model src/data src/store src/table src/cluster analysis"
        allow["src/dump"]     = allow["src/run"] " src/run"
        allow["src/rank"]     = allow["src/run"] " src/run plots"
        allow["src/diversity"] = allow["src/run"] " src/run"
        allow["src/plot"]     = allow["src/run"] " src/run src/train plots"
        allow["src/report"]   = allow["src/plot"] " src/plot src/diversity"
        allow["src/describe"] = allow["src/run"] " src/run src/train"
        allow["src/api"]   = allow["src/plot"] " src/train src/dump src/rank src/diversity src/plot src/report src/describe"
        allow["src/tools"] = "src/mgk.h src/base"
    }
    BEGIN {
        for (part in allow) {
            name = part
            sub(/^src\//, "", name)
            ours[name] = 1
        }
    }
    # The part that a path belongs to.
    function part_of(path,   part) {
        if (match(path, /^src\/[^\/]+\//))
            part = substr(path, 1, RLENGTH - 1)
        else
            part = substr(path, 1, index(path, "/") - 1)
        return part
    }
    # Resolves an include to a path from the top: the roots are src/ and the top.
    function resolve(name,   top) {
        top = substr(name, 1, index(name, "/") - 1)
        if (top == "kernels" || top == "analysis" || top == "plots")
            return name
        return "src/" name
    }
    # An include in angle brackets counts only if it is in one of our folders.
    function is_ours(name,   top) {
        top = substr(name, 1, index(name, "/") - 1)
        return name == "mgk.h" || (top != "" && (top in ours))
    }
    /^[ \t]*#[ \t]*include[ \t]*["<]/ {
        split($0, quoted, "[\"<>]")
        if ($0 ~ /include[ \t]*</ && !is_ours(quoted[2]))
            next
        target = resolve(quoted[2])
        from = part_of(FILENAME)
        to = part_of(target)
        if (!(from in allow)) {
            printf "%s: part %s is not in the table\n", FILENAME, from
            bad = 1
            next
        }
        if (from == to)
            next
        n = split(allow[from], list, " ")
        good = 0
        for (i = 1; i <= n; i++)
            if (list[i] == to || list[i] == target)
                good = 1
        if (!good) {
            printf "%s:%d: %s may not include \"%s\"\n", FILENAME, FNR, from, quoted[2]
            bad = 1
        }
    }
    END { exit bad }
'
