# SPDX-License-Identifier: MIT
"""Several processes: their cost on one machine, and where more machines stop helping.

The first table compares one process of T threads with T processes of one thread, started by mpirun on this machine.
The second one, --simulate, is a simulation of the jobs of a thousand matrices a layer: the programs' own rule of
sharing (src/cluster/share.c), with times of samples that are drawn, and with what one process does alone measured here.
"""

import argparse
import heapq
import os
import random
import sys
import tempfile
from pathlib import Path

import measure

MPIRUN = ("mpirun", "--oversubscribe", "--bind-to", "none", "-n")
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


# ---- one machine --------------------------------------------------------------------------------

def repeated(text, samples, length, path):
    """A text long enough for so many samples; repetitions begin elsewhere in a sample."""
    once = text.read_bytes()
    path.write_bytes(once * (samples * length // len(once) + 1))
    return path


def jobs(a, folder):
    """{name: words of a command without its amount of work, output and threads}, the option of that
    amount, the amount, and the output's ending."""
    shape = measure.shape_options("lm", a.quick)
    model = folder / "initial.safetensors"
    measure.initial_model(a, "lm", "mgk", model)
    text = repeated(a.text, a.most_samples, int(shape["--length"]), folder / "text.txt")
    source = ("--model", model, "--text", text)
    samples = "--samples", 8 if a.quick else a.samples
    steps = "--steps", 2 if a.quick else 40
    found = {
        "mgk-rank, singular values": (("mgk-rank", *source, "--matrices", 0), *samples, ".csv"),
        "mgk-rank, counted": (("mgk-rank", *source, "--matrices", 0, "--method", "count"), *samples,
                              ".csv"),
        "mgk-diversity": (("mgk-diversity", *source), *samples, ".csv"),
        "mgk-dump": (("mgk-dump", *source[1:]), *samples, ".h5"),
        "mgk-dump, compressed": (("mgk-dump", *source[1:], "--compress", 1), *samples, ".h5"),
        "mgk-train": (("mgk-train", *measure.words(shape), "--attention", "mgk", "--data", a.text,
                       "--warmup", 0), *steps, ".safetensors"),
    }
    return {name: job for name, job in found.items() if name.split(",")[0] in a.jobs}


def seconds_of(a, job, folder, start, threads):
    (program, *rest), option, amount, ending = job
    output = folder / ("out" + ending)
    taken = measure.run(*start, a.programs / program, *rest, option, amount, "--threads", threads, "--quiet",
                        "--force", "-o", output, **ROOT)[0]
    output.unlink()
    return taken


def lengthened(a, job, folder):
    """The job with so much work that one process takes a.seconds for it, or little more."""
    command, option, amount, ending = job
    if a.seconds == 0:
        return job
    taken = seconds_of(a, job, folder, (), a.processes)
    most = a.most_samples if option == "--samples" else 10 ** 9
    return command, option, min(most, int(1.1 * amount * a.seconds / taken) + 1), ending


def compare(a, folder):
    rows = []
    for name, short in jobs(a, folder).items():
        job = lengthened(a, short, folder)
        ways = {"threads": ((), a.processes), "processes": ((*MPIRUN, a.processes), 1)}
        results = measure.interleave({
            way: lambda start=start, threads=threads: seconds_of(a, job, folder, start, threads)
            for way, (start, threads) in ways.items()}, a.repetitions)
        one, many = (measure.spread(results[way]) for way in ("threads", "processes"))
        rows.append((name, f"{job[2]} {job[1][2:]}", f"{one[0]:.2f} ± {one[1]:.0%}",
                     f"{many[0]:.2f} ± {many[1]:.0%}", f"{many[0] / one[0]:.2f}"))
        print(*rows[-1], sep="  ", file=sys.stderr)
    measure.table(("job", "work", f"1 process × {a.processes} threads, s", f"{a.processes} × 1, s",
                   "ratio"), rows)


# ---- more machines ------------------------------------------------------------------------------

def share(units, seconds, processes, latency):
    """When the last process ends, by the rule of share.c: each takes a quarter of its even part of
    what is left, one unit at least, whenever it has none."""
    free = [(0.0, rank) for rank in range(processes)]
    heapq.heapify(free)
    taken, end = 0, 0.0
    while taken < units:
        now, rank = heapq.heappop(free)
        some = max(1, (units - taken) // (4 * processes))
        now += latency + sum(seconds[taken:taken + some])
        taken += some
        end = max(end, now)
        heapq.heappush(free, (now, rank))
    return end


def even(units, seconds, processes):
    """The same if each process had an equal number of units, fixed before."""
    ends = [0.0] * processes
    for unit in range(units):
        ends[unit * processes // units] += seconds[unit]
    return max(ends)


def simulate(a):
    """16,000 matrices of 256² and 6000 of 4096² in samples of 48 and 6 matrices. A process is a machine
    that needs so long for a matrix; samples vary, as those of texts of different lengths do."""
    cases = {
        # name: samples, matrices of a sample, seconds of a matrix on one machine, bytes of it, rows of the table
        "16,000 × 256²": (334, 48, a.small, 256 * 256 * 4),
        "1000 × 4096² a layer, 6 layers": (125, 48, a.large, 4096 * 4096 * 4),
    }
    rows = []
    for name, (samples, matrices, each, size) in cases.items():
        draw = random.Random(1)
        # Lengths from a half to the whole of N, and work as their cube.
        lengths = [draw.uniform(0.5, 1) for _ in range(samples)]
        seconds = [matrices * each * length ** 3 for length in lengths]
        alone = samples * matrices * a.row + a.start  # what rank 0 does: rows of the table, and starting
        written = samples * matrices * size / a.disk
        for processes in 1, 2, 4, 8, 16, 32, 64:
            shared = share(samples, seconds, processes, a.latency)
            best = sum(seconds) / processes
            rows.append((name, processes, f"{shared + alone:.0f}",
                         f"{(sum(seconds) + alone) / (shared + alone):.1f}",
                         f"{even(samples, seconds, processes) / best - 1:.0%}",
                         f"{shared / best - 1:.0%}", f"{alone:.1f}", f"{written:.0f}"))
    measure.table(("matrices", "machines", "ranks, s", "speedup", "idle at the end, fixed shares",
                   "as shared", "rank 0 alone, s", f"all written at {a.disk / 1e9:.0f} GB/s, s"), rows)


def main():
    parser = measure.arguments(__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--processes", type=int, default=os.cpu_count(), metavar="T")
    parser.add_argument("--samples", type=int, default=64, metavar="S",
                        help="of each job; of the first trial with --seconds")
    parser.add_argument("--seconds", type=float, default=0, metavar="X",
                        help="lengthen each job until one process takes as long; 0: do not")
    parser.add_argument("--most-samples", type=int, default=4096, metavar="S",
                        help="with --seconds; one of mgk-dump takes 13 MB")
    parser.add_argument("--jobs", nargs="+", default=["mgk-rank", "mgk-diversity", "mgk-dump", "mgk-train"])
    parser.add_argument("--simulate", action="store_true", help="the second table, in place of the first")
    for name, value, text in (
            ("small", 1.0e-3, "seconds of a matrix of 256² on a machine"),
            ("large", 2.3, "of 4096²"),
            ("row", 4.0e-5, "of a row of the table, on rank 0"),
            ("start", 0.5, "of starting and ending a job"),
            ("latency", 2.0e-3, "of asking for work"),
            ("disk", 2e9, "bytes a second of the file system")):
        parser.add_argument(f"--{name}", type=float, default=value, metavar="X", help=text)
    a = measure.parse(parser)
    if a.simulate:
        simulate(a)
        return
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        compare(a, Path(folder))


if __name__ == "__main__":
    main()
