# SPDX-License-Identifier: MIT
"""All attention matrices of a batch, computed and copied to the host."""

import statistics

import common
import measure


def ours(a, model, sequences):
    """Median seconds of the export and of the copies alone, and bytes."""
    text = measure.run(a.programs / "bench_export", model, a.device, sequences, a.repetitions)[2]
    found = {"export": [], "copy": []}
    for name, seconds, size in (line.split(",") for line in text.splitlines()):
        found[name].append(float(seconds))
    return (*(statistics.median(found[name]) for name in ("export", "copy")), float(size))


def compare(a, table, shape, sequences, kind):
    options = common.options_of(shape, kind)
    model = common.model(a, options, kind)
    seconds, copy, size = ours(a, model, sequences)
    results = {result["way"]: result for result in common.theirs(
        a, "export", model=model, sequences=sequences, repetitions=a.repetitions)}
    copy = min(copy, results.pop("copy", {}).get("seconds", copy))
    for way, result in results.items():
        table.row(common.name_of(options), kind, f"{size / 1e6:.0f}", f"{seconds * 1e3:.4g}",
                  f"{copy * 1e3:.4g}", f"{seconds / copy:.2f}", way,
                  *common.ratio(result, seconds))


def run(a):
    table = common.Table("Export: every attention matrix of a batch, to the host",
                         "shape", "attention", "MB", "mgk, ms", "copies alone, ms",
                         "mgk / copies", "PyTorch", "PyTorch, ms", "ratio")
    shapes = (common.language_model(a), 32), (common.long_range(a, 4096), 4)
    common.each(a, table, ((*shape, kind) for shape in shapes for kind in common.HEADS), compare)
