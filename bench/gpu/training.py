# SPDX-License-Identifier: MIT
"""A training step: mgk-train against PyTorch, eager and compiled, in float32 on both sides."""

import common
import measure

WARM_UP = 5


def ours(a, options, kind, steps):
    """Seconds per step: the difference of two runs, so that start and saving cancel out."""
    def run(count):
        return measure.run(*common.training(a, options, kind, "trained.safetensors"), "--steps",
                           count)[0]

    return (run(WARM_UP + steps) - run(WARM_UP)) / steps


def compare(a, table, shape, kind):
    options = common.options_of(shape, kind)
    sequences = measure.sequences(options)
    steps = 20 if a.quick or a.tiny else 50
    seconds = ours(a, options, kind, steps)
    for result in common.theirs(a, "train", model=common.model(a, options, kind),
                                sequences=sequences, steps=min(steps, 10),
                                compile=not (a.tiny or a.no_compile)):
        table.row(common.name_of(options), kind, sequences, f"{seconds * 1e3:.4g}",
                  result["way"], *common.ratio(result, seconds))


def run(a):
    table = common.Table("Training: time of a step", "shape", "attention", "sequences",
                         "mgk, ms", "PyTorch", "PyTorch, ms", "ratio")
    tokens = (1024, 4096) if a.quick else (1024, 2048, 4096)
    shapes = [common.language_model(a)] + [common.long_range(a, n) for n in tokens]
    common.each(a, table, ((shape, kind) for shape in shapes for kind in common.HEADS), compare)
