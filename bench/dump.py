# SPDX-License-Identifier: MIT
"""Attention of all layers and heads to HDF5: mgk-dump against PyTorch and h5py.

PyTorch runs in its own process, like mgk-dump: the peak memory is that of the process. Its clock
starts after the imports, whereas the time of mgk-dump includes its start. mgk-dump writes its file to
disk (fsync) before it ends; PyTorch is measured with fsync and in the usual way, in which the system
may still hold the file in memory. Before every run all data are written.
"""

import json
import os
import re
import resource
import sys
import tempfile
import time
from pathlib import Path

import measure

BATCH_TOKENS = 2048  # of a batch in PyTorch, as in mgk-dump


def dump_with_pytorch(model, tokens, output, threads):
    """A user's code: run a batch, collect its matrices, store them in the dataset."""
    import h5py
    import torch

    import model as models

    torch.set_num_threads(threads)
    net = models.load(model)
    with h5py.File(tokens) as file:
        ids, lengths = torch.tensor(file["tokens"][:]), torch.tensor(file["lengths"][:])
    imported = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    start, writing = time.perf_counter(), 0.0
    count, n = ids.shape
    batch = max(1, BATCH_TOKENS // n)
    shape = (count, net.config["layers"], net.config["heads"], n, n)
    with h5py.File(output, "w") as file, torch.no_grad():
        data = file.create_dataset("attention", shape, "f4")
        for first in range(0, count, batch):
            matrices = []
            net.encode(ids[first : first + batch], lengths[first : first + batch], matrices)
            values = torch.stack(matrices, 1).numpy()
            begin = time.perf_counter()
            data[first : first + batch] = values
            writing += time.perf_counter() - begin
    seconds = time.perf_counter() - start
    with open(output, "rb") as file:
        os.fsync(file.fileno())
    print(json.dumps({"seconds": seconds, "writing": writing, "imported": imported,
                      "synced": time.perf_counter() - start}))


def settle(*files):
    """Removes the files and waits until the disk is idle."""
    for file in files:
        file.unlink(missing_ok=True)
    os.sync()


def samples(a, shape):
    """Options of the input: the text has few windows of 1024 bytes, but any number of pairs."""
    text = ("--task", "retrieval", "--data") if shape == "retrieval" else ("--text",)
    return *text, a.text, "--samples", a.samples


def ours(a, shape, model, threads, output, *before):
    settle(output)
    seconds, peak, _, note = measure.run(
        *before, a.programs / "mgk-dump", model, *samples(a, shape), "--threads", threads, "-o", output)
    writing = float(re.search(r"writing took ([\d.]+) s", note)[1])
    return {"seconds": seconds, "synced": seconds, "writing": writing, "peak": peak}


def theirs(model, tokens, threads, output):
    settle(output)
    _, peak, text, _ = measure.run(sys.executable, __file__, "--pytorch", model, tokens, output,
                                   threads, OMP_NUM_THREADS=str(threads))
    return dict(json.loads(text), peak=peak)


def column(results, name):
    return measure.spread([result[name] for result in results])


def compare(a, shape, kind, threads, folder):
    model, tokens = folder / "initial.safetensors", folder / "tokens.h5"
    output = folder / "attention.h5"
    measure.initial_model(a, shape, kind, model)
    measure.run(a.programs / "mgk-dump", model, *samples(a, shape), "--save", "weights", "--quiet",
                "--force", "-o", tokens)
    results = measure.interleave({
        "ours": lambda: ours(a, shape, model, threads, output),
        "theirs": lambda: theirs(model, tokens, threads, output),
    }, a.repetitions)
    size = output.stat().st_size
    settle(output, tokens)
    o, t = results["ours"], results["theirs"]
    seconds, noise = column(o, "seconds")
    usual, their_noise = column(t, "seconds")
    synced = column(t, "synced")[0]
    peak, their_peak = column(o, "peak")[0], column(t, "peak")[0]
    imported = column(t, "imported")[0]
    return (shape, kind, threads, f"{size / 1e6:.0f}",
            f"{seconds:.2f} ± {noise:.0%}", f"{usual:.2f} ± {their_noise:.0%}", f"{synced:.2f}",
            f"{usual / seconds:.2f}", f"{synced / seconds:.2f}",
            f"{column(o, 'writing')[0] / seconds:.0%}", f"{column(t, 'writing')[0] / usual:.0%}",
            f"{peak / 1e6:.0f}", f"{their_peak / 1e6:.0f} ({imported / 1e6:.0f})",
            f"{peak / their_peak:.2f}")


def scale(a, shape, kind, folder):
    """mgk-dump alone, on one core and on two; one run uses one thread of two."""
    model, output = folder / "initial.safetensors", folder / "attention.h5"
    measure.initial_model(a, shape, kind, model, "--force")
    runs = {"one core": (1, "taskset", "-c", "0"), "1": (1, "taskset", "-c", "0,1"),
            "2": (2, "taskset", "-c", "0,1"), "16": (16, "taskset", "-c", "0,1")}
    results = measure.interleave({
        name: lambda run=run: ours(a, shape, model, run[0], output, *run[1:]) for name, run in runs.items()
    }, a.repetitions)
    settle(output)
    seconds = {name: column(results[name], "seconds") for name in runs}
    peak = column(results["2"], "peak")[0]
    return (shape, kind, *(f"{middle:.2f} ± {noise:.0%}" for middle, noise in seconds.values()),
            f"{seconds['one core'][0] / seconds['2'][0]:.2f}",
            f"{seconds['1'][0] / seconds['2'][0]:.2f}",
            f"{seconds['2'][0] / seconds['16'][0]:.2f}", f"{peak / 1e6:.0f}")


def main():
    if sys.argv[1:2] == ["--pytorch"]:
        model, tokens, output, threads = sys.argv[2:]
        dump_with_pytorch(model, tokens, output, int(threads))
        return
    parser = measure.arguments(__doc__)
    parser.add_argument("--samples", type=int, default=256, metavar="S")
    parser.add_argument("--cores", action="store_true", help="only mgk-dump, on one core and two")
    a = measure.parse(parser)
    shapes = [(shape, kind) for shape in measure.SHAPES for kind in measure.KINDS]
    with tempfile.TemporaryDirectory(dir=a.folder) as name:
        rows = [scale(a, shape, kind, Path(name)) for shape, kind in shapes]
        print(f"mgk-dump of {a.samples} samples to {a.folder}, seconds:\n")
        measure.table(("shape", "attention", "one core, 1 thread", "two cores, 1 thread", "2 threads",
                       "16 threads", "one core / 2 threads", "1 / 2 threads", "2 / 16 threads",
                       "peak of 2, MB"), rows)
        if a.cores:
            return
        rows = [compare(a, shape, kind, 2, Path(name)) for shape, kind in shapes]
    print(f"{a.samples} samples to {a.folder}:\n")
    measure.table(("shape", "attention", "threads", "MB", "mgk-dump, s", "PyTorch, s",
                   "PyTorch + fsync, s", "ratio", "ratio with fsync", "mgk-dump writing",
                   "PyTorch writing", "mgk-dump peak, MB", "PyTorch peak, MB (after imports)",
                   "peak ratio"), rows)


if __name__ == "__main__":
    main()
