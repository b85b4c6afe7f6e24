# SPDX-License-Identifier: MIT
"""Tokens per second of training: mgk-train against PyTorch eager, same models, batches and threads.

mgk-train runs twice, and the difference of times is divided by the difference of steps: start and
saving cancel out. PyTorch warms up for two steps before its clock starts.
"""

import itertools
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import machine
import measure
import model as models

WARM_UP = 2


def our_seconds(a, options, kind, steps, threads, folder):
    """Seconds of a step."""
    def run(count):
        return measure.run(
            a.programs / "mgk-train", *measure.words(options), "--attention", kind, "--data",
            a.text, "--steps", count, "--warmup", 0, "--threads", threads, "--quiet", "--force",
            "-o", folder / "trained.safetensors")[0]

    return (run(WARM_UP + steps) - run(WARM_UP)) / steps


class Batches:
    """Random windows of a text and the targets of the task."""

    def __init__(self, path, options):
        self.text = torch.tensor(np.fromfile(path, np.uint8).astype(np.int64))
        self.rows, self.tokens = measure.sequences(options), int(options["--length"])
        self.pairs = options["--task"] == "retrieval"

    def draw(self):
        starts = torch.randint(len(self.text) - self.tokens, (self.rows, 1))
        index = starts + torch.arange(self.tokens)
        targets = torch.randint(2, (self.rows // 2,)) if self.pairs else self.text[index + 1]
        return self.text[index], torch.full((self.rows,), self.tokens), targets


def their_seconds(net, adamw, batches, steps, threads):
    """Seconds of a step."""
    torch.set_num_threads(threads)
    for count in WARM_UP, steps:
        start = time.perf_counter()
        for _ in range(count):
            models.step(net, adamw, *batches.draw())
    return (time.perf_counter() - start) / steps


def compare(a, shape, kind, threads, peak, folder):
    """A row for each implementation of the attention in PyTorch."""
    options = measure.shape_options(shape, a.quick)
    weights = folder / "initial.safetensors"
    measure.initial_model(a, shape, kind, weights)
    batches = Batches(a.text, options)
    measurements = {
        "ours": lambda: our_seconds(a, options, kind, a.steps, threads, folder)
    }
    for way in models.ATTENTION[kind]:
        if way not in a.ways:
            continue
        net = models.load(weights, way)
        adamw = models.optimizer(net, 1e-3, 0.01)
        measurements[way] = lambda net=net, adamw=adamw: their_seconds(
            net, adamw, batches, a.steps, threads)
    results = measure.interleave(measurements, a.repetitions)
    ours, noise = measure.spread(results.pop("ours"))
    tokens = measure.sequences(options) * int(options["--length"])
    rate = measure.training_flops(a, weights) * int(options["--batch"]) / ours
    for way, times in results.items():
        theirs, their_noise = measure.spread(times)
        yield (shape, kind, threads, f"{tokens / ours:,.0f} ± {noise:.0%}", way,
               f"{tokens / theirs:,.0f} ± {their_noise:.0%}", f"{theirs / ours:.2f}",
               f"{rate / 1e9:.1f} ({rate / (threads * peak):.0%})")


def main():
    parser = measure.arguments(__doc__)
    parser.add_argument("--steps", type=int, default=8, metavar="S", help="steps of a timing")
    parser.add_argument("--shapes", nargs="+", choices=measure.SHAPES, default=measure.SHAPES)
    parser.add_argument("--kinds", nargs="+", choices=measure.KINDS, default=measure.KINDS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], metavar="T")
    ways = sorted({way for kind in measure.KINDS for way in models.ATTENTION[kind]})
    parser.add_argument("--ways", nargs="+", choices=ways, default=ways,
                        help="how attention is written in PyTorch")
    a = measure.parse(parser)
    peak = machine.multiply_rate(machine.blas(measure.describe_machine(a.programs)), np.float32)
    rows = []
    with tempfile.TemporaryDirectory(dir=a.folder) as name:
        for shape, kind, threads in itertools.product(a.shapes, a.kinds, a.threads):
            found = list(compare(a, shape, kind, threads, peak, Path(name)))
            print(*found, sep="\n", file=sys.stderr)
            rows += found
    measure.table(("shape", "attention", "threads", "mgk-train, tokens/s", "PyTorch written",
                   "PyTorch, tokens/s", "ratio", "mgk-train, Gflop/s (of SGEMM)"), rows)


if __name__ == "__main__":
    main()
