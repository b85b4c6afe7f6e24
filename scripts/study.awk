# SPDX-License-Identifier: MIT
# From the files GROUP-seedS.results.csv, .measures.csv and .control.csv of scripts/study.sh to tables in Markdown, of means over
# seeds. A difference is bold if it was found: the same sign with all seeds, and no interval includes 0.

BEGIN {
    FS = ","
    measures = split("rank effective_rank mean_js effective_heads", measure, " ")
    titles["listops"] = "Lists"
    titles["lm"] = "Language models"
    titles["text"] = "Reviews"
    titles["passages"] = "Pairs of passages"
}

FNR == 1 {
    file = FILENAME
    sub(/.*\//, "", file)
    split(file, part, /[-.]/)
    group = part[1]
    seed = part[2]
    kind = part[3]
    if (!((group, seed) in seen)) {
        seen[group, seed] = 1
        seeds[group]++
        seed_name[group, seeds[group]] = seed
        if (seeds[group] == 1)
            group_name[++groups] = group
    }
    delete column
    for (i = 1; i <= NF; i++)
        column[$i] = i
    next
}

# The design in the name of a model, such as softmax-8 of lm-softmax-8-seed0.safetensors.
function design(model) {
    sub(/\.safetensors$/, "", model)
    sub(/^[a-z]*-/, "", model)
    sub(/-seed[0-9]*$/, "", model)
    return model
}

function heads(name) {
    sub(/.*-/, "", name)
    return name
}

function add(key, value) {
    sum[key] += value
    squares[key] += value * value
    count[key]++
}

kind == "results" {
    name = design($1)
    if (!((group, name) in known)) {
        known[group, name] = 1
        designs[group]++
        design_name[group, designs[group]] = name
    }
    add(group SUBSEP name SUBSEP "loss", $column["loss"])
    add(group SUBSEP name SUBSEP "accuracy", 100 * $column["accuracy"])
    add(group SUBSEP name SUBSEP "bits", $column["bits_per_byte"])
    parameters[group, name] = $column["parameters"]
    flops[group, name] = $column["flops_forward"]
    next
}

$column["level"] == "difference" {
    split($column["input"], pair, /\.safetensors-?/)
    name = design(pair[1]) SUBSEP design(pair[2])
    layer = $column["layer"]
    if (!((group, name) in compared)) {
        compared[group, name] = 1
        comparisons[group]++
        comparison[group, comparisons[group]] = name
    }
    key = group SUBSEP name SUBSEP $column["measure"] SUBSEP layer
    add(key, $column["value"])
    above[key] += $column["low"] > 0
    below[key] += $column["high"] < 0
    next
}

kind == "measures" && ($column["level"] == "head" || $column["level"] == "layer") {
    layer = $column["layer"]
    if (layer != "" && layer >= layers[group])
        layers[group] = layer + 1
    key = group SUBSEP design($column["input"]) SUBSEP $column["measure"]
    value = $column["value"]
    if ($column["measure"] == "effective_heads")
        value /= heads(design($column["input"]))
    if ($column["measure"] == "key_use") {
        if (value < 0.5 || (value == 0.5 && $column["component"] == 0)) {
            add(key, value)
            if (!(key in least) || value < least[key])
                least[key] = value
        }
    } else if ($column["measure"] == "key_weight_cosine")
        add(key, value)
    else
        add(key SUBSEP layer SUBSEP seed, value)
}

function mean(key) { return sum[key] / count[key] }

# Of independent values, with the standard error.
function with_error(key, digits,    m, v) {
    m = mean(key)
    if (count[key] < 2)
        return sprintf("%." digits "f", m)
    v = (squares[key] - count[key] * m * m) / (count[key] - 1)
    return sprintf("%." digits "f ± %." digits "f", m, sqrt((v > 0 ? v : 0) / count[key]))
}

# The mean of a layer, and over seeds its range.
function layer_cell(key, digits,    s, m, total, low, high, n) {
    for (s = 1; s <= seeds[group]; s++)
        if ((key SUBSEP seed_name[group, s]) in count) {
            m = mean(key SUBSEP seed_name[group, s])
            total += m
            low = n == 0 || m < low ? m : low
            high = n == 0 || m > high ? m : high
            n++
        }
    if (n == 1)
        return sprintf("%." digits "f", total)
    return sprintf("%." digits "f (%." digits "f to %." digits "f)", total / n, low, high)
}

function heading(first,    l) {
    printf "\n| %s |", first
    for (l = 0; l < layers[group]; l++)
        printf " layer %d |", l
    printf "\n|---|"
    for (l = 0; l < layers[group]; l++)
        printf "---|"
    print ""
}

function digits_of(name) { return name ~ /rank/ ? 1 : 3 }

function results(    d, name, key) {
    printf "\n## %s\n\n%d seed%s. Bold: every interval excludes 0, on the same side.\n\n", titles[group], seeds[group],
        seeds[group] == 1 ? "" : "s"
    printf "| design | loss | accuracy (%%) |%s parameters | FLOPs |\n|---|---|---|%s---|---|\n",
        group == "lm" ? " bits per byte |" : "", group == "lm" ? "---|" : ""
    for (d = 1; d <= designs[group]; d++) {
        name = design_name[group, d]
        key = group SUBSEP name SUBSEP
        printf "| %s | %s | %s |%s %.0f | %.3g |\n", name, with_error(key "loss", 4), with_error(key "accuracy", 2),
            group == "lm" ? sprintf(" %s |", with_error(key "bits", 3)) : "", parameters[group, name], flops[group, name]
    }
}

function values(name,    d, l) {
    heading("`" name "`" (name == "effective_heads" ? " / heads" : ""))
    for (d = 1; d <= designs[group]; d++) {
        printf "| %s |", design_name[group, d]
        for (l = 0; l < layers[group]; l++)
            printf " %s |", layer_cell(group SUBSEP design_name[group, d] SUBSEP name SUBSEP l, digits_of(name))
        print ""
    }
}

# Without a table of effective_heads of models with unlike numbers of heads, which do not compare.
function differences(name,    c, l, key, pair, text) {
    heading("`" name "`, difference")
    for (c = 1; c <= comparisons[group]; c++) {
        split(comparison[group, c], pair, SUBSEP)
        if (name == "effective_heads" && heads(pair[1]) != heads(pair[2]))
            continue
        printf "| %s − %s |", pair[1], pair[2]
        for (l = 0; l < layers[group]; l++) {
            key = group SUBSEP comparison[group, c] SUBSEP name SUBSEP l
            text = sprintf("%+." digits_of(name) "f", mean(key))
            printf above[key] == seeds[group] || below[key] == seeds[group] ? " **%s** |" : " %s |", text
        }
        print ""
    }
}

function keys(    d, key, any) {
    for (d = 1; d <= designs[group]; d++) {
        key = group SUBSEP design_name[group, d] SUBSEP
        if (!((key "key_use") in count))
            continue
        if (!any++)
            print "\n| keys | share of the less used one: mean | least of a head | mean `key_weight_cosine` |\n|---|---|---|---|"
        printf "| %s | %.3f | %.3f | %s |\n", design_name[group, d], mean(key "key_use"), least[key "key_use"],
            (key "key_weight_cosine") in count ? sprintf("%.3f", mean(key "key_weight_cosine")) : "–"
    }
}

END {
    for (g = 1; g <= groups; g++) {
        group = group_name[g]
        results()
        for (m = 1; m <= measures; m++) {
            values(measure[m])
            differences(measure[m])
        }
        keys()
    }
}
