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
import tempfile
from pathlib import Path

import measure

MPIRUN = ("mpirun", "--oversubscribe", "--bind-to", "none", "-n")
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


# ---- one machine --------------------------------------------------------------------------------

def jobs(a, folder):
    """{name: words of a command without its output and threads}, and the output's ending."""
    model = folder / "initial.safetensors"
    measure.initial_model(a, "lm", "mgk", model)
    source = (model, "--text", a.text, "--samples", 8 if a.quick else a.samples)
    found = {
        "mgk-rank, singular values": (("mgk-rank", "--model", *source, "--matrices", 0), ".csv"),
        "mgk-rank, counted": (("mgk-rank", "--model", *source, "--matrices", 0, "--method", "count"),
                              ".csv"),
        "mgk-diversity": (("mgk-diversity", "--model", *source), ".csv"),
        "mgk-dump": (("mgk-dump", *source), ".h5"),
    }
    shape = measure.shape_options("lm", a.quick)
    found["mgk-train, 40 steps"] = (("mgk-train", *measure.words(shape), "--attention", "mgk", "--data",
                                     a.text, "--steps", 2 if a.quick else 40, "--warmup", 0),
                                    ".safetensors")
    return {name: job for name, job in found.items() if name.split(",")[0] in a.jobs}


def seconds_of(a, command, ending, folder, start, threads):
    program, *rest = command
    output = folder / ("out" + ending)
    taken = measure.run(*start, a.programs / program, *rest, "--threads", threads, "--quiet", "--force",
                        "-o", output, **ROOT)[0]
    output.unlink()
    return taken


def compare(a, folder):
    rows = []
    for name, (command, ending) in jobs(a, folder).items():
        ways = {"threads": ((), a.processes), "processes": ((*MPIRUN, a.processes), 1)}
        results = measure.interleave({
            way: lambda start=start, threads=threads: seconds_of(a, command, ending, folder, start,
                                                                 threads)
            for way, (start, threads) in ways.items()}, a.repetitions)
        one, many = (measure.spread(results[way]) for way in ("threads", "processes"))
        rows.append((name, f"{one[0]:.2f} ± {one[1]:.0%}", f"{many[0]:.2f} ± {many[1]:.0%}",
                     f"{many[0] / one[0]:.2f}"))
    measure.table(("job", f"1 process × {a.processes} threads, s", f"{a.processes} × 1, s", "ratio"), rows)


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
    parser.add_argument("--samples", type=int, default=64, metavar="S")
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
