# SPDX-License-Identifier: MIT
"""Do the PyTorch models equal the toolkit's? Compares attention matrices, losses and training.

Every implementation of a kind loads the toolkit's weights. Training starts from the same weights, in
float64, on data that allow only one batch (a text of one window, one pair); the losses before each
step must agree. One of the two documents of the pair is short, so padding is compared too.
"""

import csv
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np
import torch

import measure
import model as models

TOLERANCE = 1e-5
STEPS, RATE, DECAY = 8, 1e-4, 0.01


def attention_difference(a, shape, kind, folder):
    """Largest difference between matrices of mgk-dump and of PyTorch, both in float32."""
    weights, store = folder / "initial.safetensors", folder / "attention.h5"
    measure.initial_model(a, shape, kind, weights)
    measure.run(a.programs / "mgk-dump", weights, "--text", a.text, "--samples", 4, "--quiet",
                "--force", "-o", store)
    with h5py.File(store) as file:
        ids, lengths = torch.tensor(file["tokens"][:]), torch.tensor(file["lengths"][:])
        ours = file["attention"][:]
    matrices = []
    net = models.load(weights)
    with torch.no_grad():
        net.encode(ids, lengths, matrices)
    theirs = torch.stack(matrices, 1).numpy()
    for s, n in enumerate(lengths):
        theirs[s, :, :, n:], theirs[s, :, :, :, n:] = 0, 0
    return np.abs(ours - theirs).max()


def one_sample(shape, options, folder):
    """A file in which every batch is the same: its path, ids [B, N], lengths [B], targets."""
    n, batch = int(options["--length"]), int(options["--batch"])
    random = np.random.default_rng(1)
    path = folder / "one"
    if shape == "lm":
        text = random.integers(0, 256, n + 1, dtype=np.uint8)
        path.write_bytes(text.tobytes())
        text = torch.tensor(text.astype(np.int64)).expand(batch, -1)
        return path, text[:, :n], torch.full((batch,), n), text[:, 1:]
    letters = random.integers(97, 123, 2 * n, dtype=np.uint8)
    lengths = [n, n // 3]
    texts = [letters[:n], letters[n : n + lengths[1]]]
    path.write_bytes(b"1\ta\tb\t%s\t%s\n" % tuple(text.tobytes() for text in texts))
    ids = torch.full((2, n), -1)
    for row, text in zip(ids, texts):
        row[: len(text)] = torch.tensor(text.astype(np.int64))
    return path, ids.repeat(batch, 1), torch.tensor(lengths).repeat(batch), torch.ones(
        batch, dtype=torch.int64)


def loss_differences(a, shape, kind, folder):
    """{implementation: largest difference of the loss over the first steps, relative to the first
    loss}."""
    options = measure.shape_options(shape, a.quick)
    options["--batch"] = "2"
    weights, log = folder / "initial.safetensors", folder / "log.csv"
    data, ids, lengths, targets = one_sample(shape, options, folder)
    measure.initial_model(a, shape, kind, weights, "--double")
    measure.run(a.programs / "mgk-train", *measure.words(options), "--attention", kind, "--data",
                data, "--double", "--steps", STEPS, "--warmup", 0, "--schedule", "constant",
                "--lr", RATE, "--weight-decay", DECAY, "--log-every", 1, "--log", log, "--quiet",
                "--force", "-o", folder / "trained.safetensors")
    with open(log) as file:
        ours = [float(row["train_loss"]) for row in csv.DictReader(file)]
    differences = {}
    for way in models.ATTENTION[kind]:
        net = models.load(weights, way)
        adamw = models.optimizer(net, RATE, DECAY)
        theirs = [models.step(net, adamw, ids, lengths, targets) for _ in range(STEPS)]
        differences[way] = max(abs(x - y) for x, y in zip(ours, theirs)) / theirs[0]
    return differences


def main():
    a = measure.parse(measure.arguments(__doc__))
    rows, worst = [], 0.0
    with tempfile.TemporaryDirectory(dir=a.folder) as name:
        for shape in measure.SHAPES:
            for kind in measure.KINDS:
                matrices = attention_difference(a, shape, kind, Path(name))
                losses = loss_differences(a, shape, kind, Path(name))
                rows += [(shape, kind, way, f"{matrices:.1e}", f"{loss:.1e}")
                         for way, loss in losses.items()]
                worst = max(worst, matrices, *losses.values())
    measure.table(("shape", "attention", "PyTorch", "largest difference of matrices",
                   f"of the loss over {STEPS} steps"), rows)
    if not worst <= TOLERANCE:
        sys.exit(f"The models differ by {worst:.1e}: the benchmarks would compare different things")


if __name__ == "__main__":
    main()
