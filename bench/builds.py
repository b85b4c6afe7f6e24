# SPDX-License-Identifier: MIT
"""Two builds of the programs, run alternately: is the later one as fast, and are its numbers the same?

builds.py --before DIR [--programs DIR] ...: training of both shapes, export, and ranks of N = 256 and
4096 (from the trained model with its positions repeated, see rank/lengthen.py), by singular values and
by counting, on two threads. Exported matrices, and the columns of ranks that both builds write, are
compared to the last bit; --programs is the later build. If other work uses the processor now and then,
processor seconds are more reliable than those of the clock.
"""

import csv
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

import measure

WARM_UP = 2
THREADS = ("--threads", 2, "--quiet", "--force")


def train(programs, a, shape, kind, folder):
    """Seconds of a step: start and saving cancel out."""
    def run(steps):
        return measure.run(programs / "mgk-train", *measure.words(measure.shape_options(shape, a.quick)),
                           "--attention", kind, "--data", a.text, "--steps", steps, "--warmup", 0,
                           *THREADS, "-o", folder / "trained.safetensors")[0]

    return (run(WARM_UP + a.steps) - run(WARM_UP)) / a.steps


def dump(programs, a, model, samples, store):
    return measure.run(programs / "mgk-dump", model, "--text", a.text, "--samples", samples,
                       *THREADS, "-o", store)[0]


def rank(programs, source, method, output):
    return measure.run(programs / "mgk-rank", *source, "--matrices", 0, "--method", method, *THREADS,
                       "-o", output)[0]


def columns(path):
    with open(path) as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def same_table(first, second):
    """Of columns that both have. Timing decides which matrices are computed where ranks are counted, on
    several threads: then other columns may be empty in one of them."""
    a, b = columns(first), columns(second)
    return all(x == y or "" in (x, y) for name in a.keys() & b.keys() for x, y in zip(a[name], b[name]))


def same_matrices(first, second):
    with h5py.File(first) as a, h5py.File(second) as b:
        return np.array_equal(a["attention"][:], b["attention"][:])


def tasks(a, folder):
    """Name, function of (programs, name of the build), and whether the results are the same."""
    for shape in measure.SHAPES:
        for kind in measure.KINDS:
            yield (f"training, {shape}, {kind}",
                   lambda p, build, s=shape, k=kind: train(p, a, s, k, folder), lambda: True)
    for kind in measure.KINDS:
        model = measure.ROOT / f"models/lm-{kind}-8.safetensors"
        files = {build: folder / f"{kind}-{build}" for build in ("before", "after")}
        yield (f"export, lm, {kind}",
               lambda p, build, m=model, f=files: dump(p, a, m, a.samples, f"{f[build]}.h5"),
               lambda f=files: same_matrices(*(f"{f[build]}.h5" for build in f)))
        for method in ("svd", "count"):
            yield (f"ranks, N = 256, {kind}, {method}",
                   lambda p, build, f=files, m=method: rank(p, (f"{f['before']}.h5",), m, f"{f[build]}.csv"),
                   lambda f=files: same_table(*(f"{f[build]}.csv" for build in f)))
        longer = folder / f"{kind}-4096.safetensors"
        if not a.quick:
            subprocess.run([sys.executable, measure.ROOT / "bench/rank/lengthen.py", model, "4096", longer],
                           check=True)
        for method in ("svd", "count") if not a.quick else ():
            source = ("--model", longer, "--text", a.long_text, "--samples", 1, "--layers", 3)
            yield (f"ranks, N = 4096, {kind}, {method}",
                   lambda p, build, s=source, f=files, m=method: rank(p, s, m, f"{f[build]}-4096.csv"),
                   lambda f=files: same_table(*(f"{f[build]}-4096.csv" for build in f)))


def processor_seconds():
    """Of all programs that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(run):
    """Seconds that `run` gives, and those of the processor."""
    before = processor_seconds()
    return run(), processor_seconds() - before


def main():
    parser = measure.arguments(__doc__)
    parser.add_argument("--before", type=Path, required=True, metavar="DIR", help="programs of the earlier build")
    parser.add_argument("--long-text", type=Path, required=True, metavar="FILE",
                        help="text of more than 4096 bytes")
    parser.add_argument("--samples", type=int, default=32, help="of an export")
    parser.add_argument("--steps", type=int, default=8, help="of a timing of training")
    a = measure.parse(parser)
    builds = {"before": a.before, "after": a.programs}
    rows = []
    with tempfile.TemporaryDirectory(dir=a.folder) as name:
        for task, run, same in tasks(a, Path(name)):
            results = measure.interleave(
                {build: lambda build=build: timed(lambda: run(builds[build], build)) for build in builds},
                a.repetitions)
            clock, processor = ({build: [result[i] for result in results[build]] for build in builds}
                                for i in range(2))
            (before, noise), (after, later_noise) = (measure.spread(clock[build]) for build in builds)
            rows.append((task, f"{before:.3f} ± {noise:.0%}", f"{after:.3f} ± {later_noise:.0%}",
                         f"{after / before:.3f}", f"{min(clock['after']) / min(clock['before']):.3f}",
                         f"{min(processor['after']) / min(processor['before']):.3f}",
                         "yes" if same() else "NO"))
    measure.table(("", "before, s", "after, s", "after / before", "of the fastest runs",
                   "of the processor, least", "same numbers"), rows)


if __name__ == "__main__":
    main()
