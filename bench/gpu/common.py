# SPDX-License-Identifier: MIT
"""Shared by the benchmarks on a GPU: shapes, tables printed row by row, PyTorch's part."""

import functools
import json
import random
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import measure

HEADS = {"softmax": 8, "mgk": 4}


def language_model(a):
    if a.tiny:
        return "--task lm --layers 2 --dim 32 --head-dim 8 --hidden 64 --length 32 --batch 4"
    return "--task lm --layers 16 --dim 128 --head-dim 16 --hidden 2048 --length 256 --batch 96"


def long_range(a, tokens):
    """The Long Range Arena's encoder; a batch has two documents per pair, 32 in all."""
    if a.tiny:
        return ("--task retrieval --layers 2 --dim 32 --head-dim 8 --hidden 64 "
                f"--length {tokens // 32} --batch 2")
    return ("--task retrieval --layers 2 --dim 64 --head-dim 32 --hidden 128 "
            f"--length {tokens} --batch 16")


def options_of(shape, kind):
    """Options of mgk-train as a dict, with the paper's number of heads for this kind."""
    words = shape.split()
    return dict(zip(words[::2], words[1::2]), **{"--heads": HEADS[kind]})


def name_of(options):
    task = "language model" if options["--task"] == "lm" else "LRA encoder"
    return f"{task}, N = {options['--length']}"


def write_text(path, articles=40, size=50000):
    """Articles of random words, each long enough for two passages of the longest documents."""
    numbers = random.Random(1)
    words = ["".join(numbers.choices("abcdefghijklmnopqrstuvwxyz", k=numbers.randint(1, 9)))
             for _ in range(2000)]
    with open(path, "w") as file:
        for i in range(articles):
            file.write(f"\n = Article {i} = \n\n{' '.join(numbers.choices(words, k=size // 6))}\n")


def model(a, options, kind):
    """An untrained model of that shape."""
    path = a.work / f"{options['--task']}-{options['--length']}-{kind}.safetensors"
    if not path.exists():
        measure.untrained_model(a, options, kind, path)
    return path


def training(a, options, kind, output):
    """The command that trains a model of that shape on the text of random words."""
    return [a.programs / "mgk-train", *measure.words(options), "--attention", kind, "--data",
            a.text, "--warmup", 0, "--device", a.device, "--quiet", "--force", "-o",
            a.work / output]


class Table:
    """A markdown table that is printed row by row."""

    def __init__(self, title, *header):
        print(f"\n### {title}\n")
        self.row(*header)
        print("|" + "---|" * len(header), flush=True)

    def row(self, *cells):
        print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


@functools.cache
def version_of_pytorch():
    """None if it is not installed."""
    found = subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__)"],
                           capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def reason(failure):
    """The last line of what a program said."""
    return (str(failure).strip().splitlines() or ["no reason given"])[-1]


def seconds_left(a):
    return a.end - time.monotonic()


def each(a, table, cases, measure_case):
    """Measures every case; a case that fails or has no time left becomes a row that says so."""
    for case in cases:
        if seconds_left(a) <= 0:
            table.row("no time left")
            return
        try:
            measure_case(a, table, *case)
        except SystemExit as failure:
            table.row("failed", reason(failure))
            a.failed = True


def theirs(a, job, **arguments):
    """Yields the measurements of theirs.py: {"way": …, "seconds": …} or {"way": …, "failed": …}."""
    if not version_of_pytorch():
        yield {"way": "PyTorch", "failed": "not installed"}
        return
    arguments = json.dumps(dict(arguments, device=a.device), default=str)
    with subprocess.Popen([sys.executable, HERE / "theirs.py", job, arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            output, errors = child.communicate(timeout=max(seconds_left(a), 1))
        except subprocess.TimeoutExpired:
            child.kill()
            output, errors = child.communicate()[0], "no time left"
    yield from map(json.loads, output.splitlines())
    if child.returncode:
        yield {"way": "PyTorch", "failed": (errors.strip().splitlines() or ["failed"])[-1][:80]}


def ratio(result, ours, scale=1e3):
    """Cells of a row: PyTorch's time, and its ratio to mgk's."""
    if "failed" in result:
        return result["failed"], "–"
    if ours <= 0:  # a difference of two runs that were too short
        return f"{result['seconds'] * scale:.4g}", "–"
    return f"{result['seconds'] * scale:.4g}", f"{result['seconds'] / ours:.2f}"
