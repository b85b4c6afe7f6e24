# SPDX-License-Identifier: MIT
"""Measures of diversity: mgk-diversity against the same measures in PyTorch, in float64.

Both read the same store of attention and values. The program in PyTorch computes the measures of all
heads of a sample and layer together. Three tables in one: every measure without singular values, by
both; the singular values alone, and with all other measures, by mgk-diversity. The time of
mgk-diversity includes its start; that of PyTorch excludes its import. The values must agree.
--tokens takes matrices of lengthened models (rank/lengthen.py).
"""

import csv
import sys
import tempfile
import time
from pathlib import Path

import measure
from rank import find_model

SPECTRA = ["rank", "effective_rank", "stable_rank", "participation_ratio", "components_90",
           "components_95", "components_99", "sigma_ratio"]
ROWS = ["entropy", "normalized_entropy", "confidence", "distance", "diagonal", "previous", "next",
        "first", "sink", "gini", "top_8_mass", "duplicate_token", "induction", "previous_token",
        "high_frequency"]
PAIRS = ["js", "hellinger", "affinity", "cosine", "cka_output", "cka_output_debiased",
         "position_overlap", "output_cosine", "value_cosine"]
LAYERS = ["effective_heads", "disagreement_position", "disagreement_output", "disagreement_value",
          "mean_js", "cross_layer_cosine", "rollout_entropy"]
OTHERS = ROWS + PAIRS + LAYERS


class Torch:
    """The measures of one sample, layer by layer."""

    def __init__(self, tokens, length, causal):
        import torch

        self.t, n = torch, length
        self.n, self.causal = n, causal
        place = torch.arange(n)
        self.keys = place + 1 if causal else torch.full((n,), n)
        self.seen = place[None, :] < self.keys[:, None]
        self.distance = (place[:, None] - place[None, :]).abs().double()
        same = (tokens[:, None] == tokens[None, :]) & (place[None, :] < place[:, None])
        after = torch.zeros_like(same)
        after[:, 1:] = same[:, :-1]
        self.repeats = {"duplicate_token": same, "induction": after}
        self.before = self.rollout = None

    def xlogx(self, x):
        return self.t.special.xlogy(x, x)

    def rows(self, a):
        t, n = self.t, self.n
        entropy = -self.xlogx(a).sum(-1)
        ordered = a.sort(-1).values
        step = 2.0 * t.arange(1, n + 1) - 2.0 * n + self.keys[:, None] - 1  # zeros come first
        total = a.sum((-2, -1))
        lower = a.tril().sum(-2) / t.arange(n, 0, -1)
        out = {
            "entropy": entropy.mean(-1),
            "normalized_entropy": (entropy[:, self.keys > 1] / self.keys[self.keys > 1].log()).mean(-1),
            "confidence": a.amax(-1).mean(-1),
            "distance": (a * self.distance).sum(-1).mean(-1),
            "diagonal": a.diagonal(0, -2, -1).mean(-1),
            "previous": a.diagonal(-1, -2, -1).mean(-1),
            "next": a.diagonal(1, -2, -1).mean(-1),
            "first": a[..., 0].mean(-1),
            "sink": lower.amax(-1),
            "gini": ((ordered * step).sum(-1) / (self.keys * a.sum(-1))).mean(-1),
            "top_8_mass": ordered[..., -8:].sum(-1).mean(-1),
            "previous_token": a.diagonal(-1, -2, -1).sum(-1) / total,
            "high_frequency": (a - a.mean(-2, keepdim=True)).flatten(1).norm(dim=1)
            / a.flatten(1).norm(dim=1),
        }
        if self.causal:
            out.pop("next")
        for name, marks in self.repeats.items():
            if marks.any():
                out[name] = (a * marks).sum((-2, -1)) / total
        return out

    def pairs(self, a, v):
        t, n, heads = self.t, self.n, len(a)
        own = self.xlogx(a).sum(-1)
        js = t.zeros(heads, heads, dtype=t.double)
        hellinger, affinity, cosines = js.clone(), js.clone(), {}
        roots = a.sqrt()
        for h in range(heads - 1):
            middle = (a[h] + a[h + 1 :]) / 2
            js[h, h + 1 :] = ((own[h] + own[h + 1 :]) / 2 - self.xlogx(middle).sum(-1)).mean(-1)
        for h in range(heads):
            common = (roots[h] * roots[h:]).sum(-1)
            affinity[h, h:] = common.mean(-1)
            hellinger[h, h:] = (1 - common).clamp(min=0).sqrt().mean(-1)
        flat = a.flatten(1)
        products = flat @ flat.T
        norms = products.diagonal().sqrt()
        output = a @ v
        for name, x in ("output_cosine", output), ("value_cosine", v):
            unit = x / x.norm(dim=-1, keepdim=True)
            cosines[name] = t.einsum("hid,gid->hg", unit, unit) / n
        x = output - output.mean(-2, keepdim=True)
        energy = t.einsum("hid,gie->hgde", x, x).square().sum((-2, -1))
        squares = x.square().sum(-1)
        debiased = (energy - n / (n - 2) * squares @ squares.T
                    + t.outer(squares.sum(-1), squares.sum(-1)) / ((n - 1) * (n - 2)))
        normal = lambda e: e / t.outer(e.diagonal().sqrt(), e.diagonal().sqrt())
        return {"js": js.triu(1) / 0.6931471805599453, "hellinger": hellinger, "affinity": affinity,
                "cosine": products / t.outer(norms, norms), "position_overlap": products / n,
                "cka_output": normal(energy), "cka_output_debiased": normal(debiased), **cosines}

    def layers(self, a, pairs):
        t, heads = self.t, len(a)
        affinity = pairs["affinity"].triu(1)
        affinity = affinity + affinity.T + pairs["affinity"].diagonal().diag()
        values = t.linalg.eigvalsh(affinity / heads).clamp(min=0)
        mixed = a.mean(0) + t.eye(self.n)
        mixed /= mixed.sum(-1, keepdim=True)
        self.rollout = mixed if self.rollout is None else mixed @ self.rollout
        out = {"effective_heads": (-self.xlogx(values).sum()).exp(),
               "mean_js": pairs["js"].sum() / (heads * (heads - 1) / 2),
               "disagreement_position": -pairs["position_overlap"].mean(),
               "disagreement_output": -pairs["output_cosine"].mean(),
               "disagreement_value": -pairs["value_cosine"].mean(),
               "rollout_entropy": -self.xlogx(self.rollout).sum(-1).mean()}
        before, self.before = self.before, a
        if before is not None:
            cosine = t.nn.functional.cosine_similarity(before.flatten(1), a.flatten(1))
            out["cross_layer_cosine of the layer before"] = cosine.mean()
        return out


def measure_with_torch(store, threads, output):
    """Sums over samples of every measure and layer, saved as JSON; prints the seconds."""
    import json

    import h5py
    import torch

    torch.set_num_threads(threads)
    torch.set_default_dtype(torch.double)
    start, sums = time.perf_counter(), {}
    with h5py.File(store) as file:
        causal = bool(file.attrs["causal"])
        for s, length in enumerate(file["lengths"][:]):
            n = int(length)
            sample = Torch(torch.from_numpy(file["tokens"][s, :n]), n, causal)
            for layer in range(file["attention"].shape[1]):
                a = torch.from_numpy(file["attention"][s, layer, :, :n, :n]).double()
                v = torch.from_numpy(file["values"][s, layer, :, :n]).double()
                values, pairs = sample.rows(a), sample.pairs(a, v)
                above = torch.triu_indices(len(a), len(a), 1)
                values |= {name: x[above[0], above[1]] for name, x in pairs.items()}
                for name, x in (values | sample.layers(a, pairs)).items():
                    at = layer
                    if name.endswith(" of the layer before"):
                        name, at = name.split()[0], layer - 1
                    sums.setdefault(name, {}).setdefault(at, []).append(float(x.mean()))
    print(time.perf_counter() - start)
    means = {name: {at: sum(x) / len(x) for at, x in layers.items()} for name, layers in sums.items()}
    Path(output).write_text(json.dumps(means))


def ours(a, measures, store, threads, output):
    return measure.run(a.programs / "mgk-diversity", store, "--measures", ",".join(measures),
                       "--threads", threads, "--quiet", "--force", "-o", output)[0]


def ranks(a, store, threads, output):
    return measure.run(a.programs / "mgk-rank", store, "--matrices", 0, "--method", "svd",
                       "--threads", threads, "--quiet", "--force", "-o", output)[0]


def theirs(store, threads, output):
    text = measure.run(sys.executable, __file__, "--torch", store, threads, output,
                       OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))[2]
    return float(text)


def check(ours, theirs):
    """Ends the benchmark if the means of a measure and layer differ; hellinger of rows that float32
    has rounded differs in the seventh digit, because these do not sum to 1."""
    import json

    means = {}
    with open(ours) as file:
        for row in csv.DictReader(file):
            if row["value"]:
                key = row["measure"], row["layer"]
                means.setdefault(key, []).append(float(row["value"]))
    for name, layers in json.loads(Path(theirs).read_text()).items():
        for layer, expected in layers.items():
            found = means[name, layer]
            found = sum(found) / len(found)
            if not abs(found - expected) <= (1e-4 if name == "hellinger" else 1e-9) * (1 + abs(expected)):
                sys.exit(f"{name} of layer {layer}: {found}, PyTorch has {expected}")


def compare(a, kind, folder):
    """Rows of one kind: the layers of a language model."""
    model, store = find_model(a, kind, folder), folder / "attention.h5"
    measure.run(a.programs / "mgk-dump", model, "--text", a.text, "--samples", a.samples, "--save",
                "attention,values", "--quiet", "--force", "-o", store)
    table, sums, spectra = folder / "others.csv", folder / "torch.json", folder / "spectra.csv"
    measurements = {}
    for threads in 1, 2:
        measurements["all but spectra", threads] = lambda t=threads: ours(a, OTHERS, store, t, table)
        measurements["PyTorch: the same", threads] = lambda t=threads: theirs(store, t, sums)
        measurements["mgk-rank --method svd", threads] = lambda t=threads: ranks(
            a, store, t, spectra)
        measurements["rows, pairs and spectra", threads] = lambda t=threads: ours(
            a, SPECTRA + ROWS + PAIRS, store, t, folder / "both.csv")
    results = {key: measure.spread(times)
               for key, times in measure.interleave(measurements, a.repetitions).items()}
    check(table, sums)
    against = {"PyTorch: the same": "all but spectra", "rows, pairs and spectra": "mgk-rank --method svd"}
    for (what, threads), (seconds, noise) in results.items():
        ratio = f"{seconds / results[against[what], threads][0]:.2f}" if what in against else ""
        yield (model.stem, what, threads, f"{seconds:.2f} ± {noise:.0%}", ratio)


def main():
    if sys.argv[1:2] == ["--torch"]:
        store, threads, output = sys.argv[2:]
        measure_with_torch(store, int(threads), output)
        return
    parser = measure.arguments(__doc__)
    parser.add_argument("--models", type=Path, default=measure.ROOT / "models", metavar="DIR",
                        help="where lm-softmax-8 and lm-mgk-8 are; untrained ones if missing")
    parser.add_argument("--tokens", type=int, metavar="N", help="as the model was trained")
    parser.add_argument("--samples", type=int, metavar="S", help="32; 2 with --quick")
    a = measure.parse(parser)
    a.samples = a.samples or (2 if a.quick else 32)
    with tempfile.TemporaryDirectory(dir=a.folder) as name:
        rows = [row for kind in measure.KINDS for row in compare(a, kind, Path(name))]
    measure.table(("model", "program", "threads", f"{a.samples} samples, s", "against the row above"),
                  rows)


if __name__ == "__main__":
    main()
