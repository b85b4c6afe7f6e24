# SPDX-License-Identifier: MIT
"""Ranks of a running model: mgk-rank --model against mgk-dump followed by mgk-rank of its file.

All matrices of the samples, by counting and by singular values, with one thread and with two. The
file between the two programs is in --folder. Both ways must give the same ranks.
"""

import csv
import tempfile
from pathlib import Path

import measure

# Options of mgk-train, and samples; the second line shrinks the shape, as in measure.SHAPES.
# BERT-base's sizes are used for a causal model here.
SHAPES = {
    "lm": (*measure.SHAPES["lm"], 64),
    "bert-base": (
        "--task lm --layers 12 --dim 768 --heads 12 --head-dim 64 --hidden 3072 --length 512 "
        "--batch 1",
        "--layers 2 --dim 64 --heads 2 --head-dim 32 --hidden 128 --length 64",
        16,
    ),
}


def options_of(shape, quick):
    full, tiny, _ = SHAPES[shape]
    words = full.split() + (tiny.split() if quick else [])
    return dict(zip(words[::2], words[1::2]))


def rank(a, source, threads, output):
    """Seconds and peak bytes."""
    return measure.run(a.programs / "mgk-rank", *source, "--matrices", 0, "--method", a.method,
                       "--threads", threads, "--quiet", "--force", "-o", output)[:2]


def stream(a, model, samples, threads, folder):
    return rank(a, ("--model", model, "--text", a.text, "--samples", samples), threads,
                folder / "stream.csv")


def dump_and_rank(a, model, samples, threads, folder):
    store = folder / "attention.h5"
    seconds, peak = measure.run(a.programs / "mgk-dump", model, "--text", a.text, "--samples",
                                samples, "--threads", threads, "--quiet", "--force", "-o", store)[:2]
    more, later = rank(a, (store,), threads, folder / "store.csv")
    store.unlink()
    return seconds + more, max(peak, later)


def ranks_of(path):
    with open(path) as file:
        return [tuple(row[name] for name in ("sample", "layer", "head", "rank"))
                for row in csv.DictReader(file)]


def compare(a, shape, kind, folder):
    """Rows of one model."""
    model, samples = folder / "initial.safetensors", 2 if a.quick else SHAPES[shape][2]
    measure.untrained_model(a, options_of(shape, a.quick), kind, model)
    ways = {"stream": stream, "dump and rank": dump_and_rank}
    results = measure.interleave({
        (name, threads): lambda way=way, threads=threads: way(a, model, samples, threads, folder)
        for name, way in ways.items() for threads in (1, 2)
    }, a.repetitions)
    if ranks_of(folder / "stream.csv") != ranks_of(folder / "store.csv"):
        raise SystemExit(f"{shape}, {kind}: ranks differ")
    seconds = {key: measure.spread([run[0] for run in runs]) for key, runs in results.items()}
    peak = {key: max(run[1] for run in runs) for key, runs in results.items()}
    for threads in 1, 2:
        mine, theirs = ("stream", threads), ("dump and rank", threads)
        yield (shape, kind, threads, *(f"{seconds[key][0]:.2f} ± {seconds[key][1]:.0%}"
                                       for key in (mine, theirs)),
               f"{seconds[mine][0] / seconds[theirs][0]:.2f}",
               f"{seconds['stream', 1][0] / seconds[mine][0]:.2f}",
               f"{peak[mine] / 1e6:.0f}", f"{peak[theirs] / 1e6:.0f}")


def main():
    parser = measure.arguments(__doc__)
    parser.add_argument("--method", default="count", choices=("count", "svd"))
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=SHAPES)
    a = measure.parse(parser)
    with tempfile.TemporaryDirectory(dir=a.folder) as name:
        rows = [row for shape in a.shapes for kind in measure.KINDS
                for row in compare(a, shape, kind, Path(name))]
    measure.table(("shape", "attention", "threads", "mgk-rank --model, s", "mgk-dump and mgk-rank, s",
                   "ratio", "against one thread", "peak, MB", "peak of both programs, MB"), rows)


if __name__ == "__main__":
    main()
