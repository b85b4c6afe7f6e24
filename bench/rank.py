# SPDX-License-Identifier: MIT
"""Numerical ranks of attention matrices: mgk-rank against numpy and PyTorch, in float64.

All read the same store; numpy and PyTorch compute singular values one batch of matrices at a time and
count those >= 1e-6. The time of mgk-rank, with all singular values and with counts alone, includes its
start; the others' times exclude their imports. The counts must agree wherever mgk-rank reports them as
decided. --tokens takes matrices of lengthened models (rank/lengthen.py).
"""

import csv
import sys
import tempfile
import time
from pathlib import Path

import measure

BATCH, THRESHOLD = 50, 1e-6
METHODS = {"spectra": "svd", "counts": "count"}


def count_with_library(library, store, threads, output):
    """Ranks in the order of the store, saved as .npy; prints the seconds."""
    import h5py
    import numpy as np

    if library == "PyTorch":
        import torch

        torch.set_num_threads(threads)

    start, ranks = time.perf_counter(), []
    with h5py.File(store) as file:
        attention = file["attention"]
        samples = max(1, BATCH // attention.shape[2])
        for first in range(0, attention.shape[0], samples):
            matrices = attention[first : first + samples].astype(np.float64)
            if library == "numpy":
                values = np.linalg.svd(matrices, compute_uv=False)
            else:
                values = torch.linalg.svdvals(torch.from_numpy(matrices)).numpy()
            ranks.append((values >= THRESHOLD).sum(-1))
    ranks = np.concatenate(ranks)
    print(time.perf_counter() - start)
    np.save(output, ranks)


def ours(a, method, store, threads, output):
    return measure.run(a.programs / "mgk-rank", store, "--matrices", 0, "--threads", threads,
                       "--method", method, "--quiet", "--force", "-o", output)[0]


def theirs(library, store, threads, output):
    text = measure.run(sys.executable, __file__, "--library", library, store, threads, output,
                       OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))[2]
    return float(text)


def differences(ours, theirs, store):
    """Number of matrices with different counts although they are decided, and of undecided ones."""
    import h5py
    import numpy as np

    counts, wrong, undecided = np.load(theirs), 0, 0
    with h5py.File(store) as file:
        place = {int(index): i for i, index in enumerate(file["samples"][:])}
    with open(ours) as file:
        for row in csv.DictReader(file):
            count = counts[place[int(row["sample"])], 0, int(row["head"])]
            undecided += int(row["undecided"])
            wrong += int(row["rank"]) != count and row["undecided"] == "0"
    return wrong, undecided


def find_model(a, kind, folder):
    """The trained language model of a kind, or an untrained one of the requested length."""
    model = a.models / f"lm-{kind}-8.safetensors"
    if not model.exists():
        model = folder / "initial.safetensors"
        measure.initial_model(a, "lm", kind, model)
    if a.tokens:
        longer = folder / f"{model.stem}-{a.tokens}.safetensors"
        measure.run(sys.executable, measure.ROOT / "bench/rank/lengthen.py", model, a.tokens, longer)
        model = longer
    return model


def compare(a, kind, folder):
    """Rows of one kind: one layer of a language model."""
    model = find_model(a, kind, folder)
    store, ranks = folder / "attention.h5", {name: folder / f"{name}.csv" for name in METHODS}
    options = measure.shape_options("lm", a.quick)
    heads = min(int(options["--heads"]), a.matrices)
    measure.run(a.programs / "mgk-dump", model, "--text", a.text, "--samples",
                -(-a.matrices // heads), "--layers", 0, "--heads", f"0-{heads - 1}", "--quiet",
                "--force", "-o", store)
    measurements = {}
    for threads in 1, 2:
        for name, method in METHODS.items():
            measurements[name, threads] = lambda t=threads, name=name, method=method: ours(
                a, method, store, t, ranks[name])
        for library in "numpy", "PyTorch":
            measurements[library, threads] = lambda t=threads, name=library: theirs(
                name, store, t, folder / f"{name}.npy")
    results = {key: measure.spread(times)
               for key, times in measure.interleave(measurements, a.repetitions).items()}
    for library in "numpy", "PyTorch":
        for name in METHODS:
            wrong, undecided = differences(ranks[name], folder / f"{library}.npy", store)
            if wrong:
                sys.exit(f"{library} and {name} differ in {wrong} matrices that are decided")
    for (program, threads), (seconds, noise) in results.items():
        yield (model.stem, program, threads, f"{seconds:.2f} ± {noise:.0%}",
               f"{seconds / results['spectra', threads][0]:.2f}",
               f"{results[program, 1][0] / seconds:.2f}", undecided)


def main():
    if sys.argv[1:2] == ["--library"]:
        library, store, threads, output = sys.argv[2:]
        count_with_library(library, store, int(threads), output)
        return
    parser = measure.arguments(__doc__)
    parser.add_argument("--models", type=Path, default=measure.ROOT / "models", metavar="DIR",
                        help="where lm-softmax-8 and lm-mgk-8 are; untrained ones if missing")
    parser.add_argument("--tokens", type=int, metavar="N", help="as the model was trained")
    parser.add_argument("--matrices", type=int, metavar="K", help="2000; 40 with --quick")
    a = measure.parse(parser)
    a.matrices = a.matrices or (40 if a.quick else 2000)
    with tempfile.TemporaryDirectory(dir=a.folder) as name:
        rows = [row for kind in measure.KINDS for row in compare(a, kind, Path(name))]
    measure.table(("model", "program", "threads", f"{a.matrices} matrices, s",
                   "against spectra", "against one thread", "undecided"), rows)


if __name__ == "__main__":
    main()
