# SPDX-License-Identifier: MIT
"""Shared by the benchmarks: shapes, command lines, running programs, alternating runs, tables."""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Options of mgk-train; the second line shrinks a shape for a quick check that everything works.
SHAPES = {
    "lm": (
        "--task lm --layers 6 --dim 128 --heads 8 --head-dim 16 --hidden 512 --length 256 "
        "--batch 16",
        "--layers 2 --length 64 --batch 4",
    ),
    "retrieval": (
        "--task retrieval --layers 2 --dim 64 --heads 2 --head-dim 32 --hidden 128 --length 1024 "
        "--batch 8",
        "--length 128 --batch 2",
    ),
}
KINDS = ("softmax", "mgk")


def arguments(description):
    """The options of every benchmark; a benchmark may add its own before parsing."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--programs", type=Path, default=ROOT / "build/cpu/bin", metavar="DIR",
                        help="where mgk-train and the others are")
    parser.add_argument("--text", type=Path, default=ROOT / "models/sample.txt", metavar="FILE",
                        help="text to train and run on")
    parser.add_argument("--repetitions", type=int, default=5, metavar="R")
    parser.add_argument("--folder", type=Path, default=tempfile.gettempdir(), metavar="DIR",
                        help="where files go")
    parser.add_argument("--quick", action="store_true",
                        help="tiny sizes: shows that it works, measures nothing")
    return parser


def parse(parser):
    """Parses the arguments. Refuses to measure if OpenBLAS's kernels use less than the processor
    has, because the results would be those of another machine."""
    a = parser.parse_args()
    machine = describe_machine(a.programs)
    if machine["blas_below_processor"]:
        raise SystemExit(f"{machine['blas']} uses its {machine['blas_kernels']} kernels, chosen by "
                         f"{machine['blas_kernels_chosen_by']}, on a processor of level "
                         f"{machine['processor_level']}")
    return a


def describe_machine(programs):
    """The output of mgk-info --machine."""
    return json.loads(run(programs / "mgk-info", "--machine", "--json")[2])


def shape_options(shape, quick):
    """Options as a dict, {"--layers": "6", ...}."""
    full, tiny = SHAPES[shape]
    words = full.split() + (tiny.split() if quick else [])
    return dict(zip(words[::2], words[1::2]))


def words(options):
    """A dict of options as words of a command line."""
    return [str(word) for pair in options.items() for word in pair]


def sequences(options):
    """Sequences per batch: two for each pair of documents."""
    return int(options["--batch"]) * (2 if options["--task"] == "retrieval" else 1)


def run(*command, **variables):
    """Runs a program: (seconds, peak bytes, standard output, standard error)."""
    environment = dict(os.environ, **variables)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen([str(word) for word in command], stdout=out, stderr=err,
                                 env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text, errors = out.read().decode(), err.read().decode()
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{errors}")
    return seconds, usage.ru_maxrss * 1024, text, errors


def untrained_model(a, options, kind, path, *extra):
    """Saves a model before training: its one step is too small to change it."""
    data = [] if options["--task"] == "listops" else ["--data", a.text]
    run(a.programs / "mgk-train", *words({**options, "--batch": 1}), "--attention", kind, *data,
        "--steps", 1, "--warmup", 0, "--lr", 1e-30, "--weight-decay", 0, "--quiet", "--force",
        "-o", path, *extra)


def initial_model(a, shape, kind, path, *extra):
    """Saves a model of that shape before training."""
    untrained_model(a, shape_options(shape, a.quick), kind, path, *extra)


def training_flops(a, model):
    """Floating-point operations of a training step on one sample."""
    text = run(a.programs / "mgk-info", model, "--json")[2]
    return json.loads(text)["flops_training"]["total"]


def interleave(measurements, repetitions):
    """{name: function} to {name: results}; each round runs every function once."""
    results = {name: [] for name in measurements}
    for _ in range(repetitions):
        for name, function in measurements.items():
            results[name].append(function())
    return results


def spread(values):
    """The median, and half the range divided by the median."""
    middle = statistics.median(values)
    return middle, (max(values) - min(values)) / 2 / middle


def write_rate(folder, size=1 << 30):
    """Bytes per second to the disk, including fsync."""
    block = os.urandom(1 << 24)
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        start = time.perf_counter()
        for _ in range(size // len(block)):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        return size / (time.perf_counter() - start)


def table(header, rows):
    """Prints a markdown table."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)
