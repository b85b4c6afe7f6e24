# SPDX-License-Identifier: MIT
"""The attention of kinds alone, ours against PyTorch eager, in one run on the same threads: forward
pass, training step, memory. Heads of 32 numbers, two of them, one sample. With --figure, our time
against N as a picture (needs matplotlib); with --export, mgk-dump of every kind against softmax's.

PyTorch's side is what a user writes: banded and block-sparse attention by gathered blocks, as
Longformer's and BigBird's own code has it, and dense with a mask; the others by their equations."""

import json
import math
import subprocess

import numpy
import torch
from measure import arguments, interleave, parse, run, spread, table, untrained_model

HEADS, DIM = 2, 32


def blocks_of(x, size):
    return x.unflatten(-2, (-1, size))


def band_blocks(q, k, v, window):
    """Blocks of `window` queries with the three blocks of keys around them, masked."""
    heads, n, dim = q.shape
    pad = lambda x: torch.nn.functional.pad(x, (0, 0, window, window))
    wide = lambda x: pad(x).unfold(-2, 3 * window, window).transpose(-1, -2)
    scores = blocks_of(q, window) @ wide(k).transpose(-1, -2) / math.sqrt(dim)
    i = torch.arange(window)[:, None] + window
    j = torch.arange(3 * window)[None]
    at = torch.arange(n // window)[:, None, None] * window - window + j
    mask = ((i - j).abs() <= window)[None] & (at >= 0) & (at < n)
    return (scores.masked_fill(~mask, -torch.inf).softmax(-1) @ wide(v)).flatten(-3, -2)


def masked(q, k, v, mask):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def band_mask(n, window):
    i = torch.arange(n)
    return (i[:, None] - i).abs() <= window


def performer(q, k, v, omega):
    def features(x, is_query):
        x = x / x.shape[-1] ** 0.25
        y = x @ omega.T - (x * x).sum(-1, keepdim=True) / 2
        y = y - (y.amax(-1, keepdim=True) if is_query else y.amax((-1, -2), keepdim=True)).detach()
        return y.exp() / math.sqrt(omega.shape[0])
    a, b = features(q, True), features(k, False)
    return (a @ (b.transpose(-1, -2) @ v)) / (a @ b.sum(-2)[..., None])


def linformer(q, k, v, e):
    return (q @ (e @ k).transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1) @ (e @ v)


def bigbird(q, k, v, size, drawn):
    """Blocks: the first and the last see all keys, the others these two, their neighbours and
    themselves, and drawn ones. A block that is there twice counts once."""
    count = q.shape[-2] // size
    qb, kb, vb = (blocks_of(x, size) for x in (q, k, v))
    middle = torch.arange(1, count - 1)[:, None]
    seen = torch.cat([torch.zeros_like(middle), torch.full_like(middle, count - 1),
                      middle - 1, middle, middle + 1, drawn], 1)
    again = (seen[:, :, None] == seen[:, None]).tril(-1).any(-1).repeat_interleave(size, -1)
    gather = lambda x: x[:, seen].flatten(2, 3)
    scale = 1 / math.sqrt(q.shape[-1])
    scores = qb[:, 1:-1] @ gather(kb).transpose(-1, -2) * scale
    inner = scores.masked_fill(again[None, :, None], -torch.inf).softmax(-1) @ gather(vb)
    ends = (qb[:, ::count - 1].flatten(1, 2) @ k.transpose(-1, -2) * scale).softmax(-1) @ v
    return torch.cat([ends[:, :size], inner.flatten(1, 2), ends[:, size:]], 1)


def nystrom(q, k, v, m, taps):
    means = lambda x: x.unflatten(-2, (m, -1)).mean(-2)
    scale = 1 / math.sqrt(q.shape[-1])
    a, b = means(q), means(k)
    left = (q @ b.transpose(-1, -2) * scale).softmax(-1)
    middle = (a @ b.transpose(-1, -2) * scale).softmax(-1)
    right = (a @ k.transpose(-1, -2) * scale).softmax(-1)
    one = torch.eye(m)
    size = middle.sum(-2).amax(-1) * middle.sum(-1).amax(-1)
    z = middle.transpose(-1, -2) / size[..., None, None]
    for _ in range(6):
        kz = middle @ z
        z = 0.25 * z @ (13 * one - kz @ (15 * one - kz @ (7 * one - kz)))
    band = torch.nn.functional.conv2d(v[None], taps, padding=(taps.shape[2] // 2, 0),
                                      groups=v.shape[0])[0]
    return left @ (z @ (right @ v)) + band


def cases(n):
    """Kind, its settings, and the same in PyTorch in one or more ways."""
    generator = torch.Generator().manual_seed(1)
    omega = torch.randn(256, DIM, generator=generator)
    e = (torch.randn(256, n, generator=generator) / math.sqrt(n)).requires_grad_()
    mask = band_mask(n, 128)
    taps = (torch.randn(HEADS, 1, 33, 1, generator=generator) / math.sqrt(33)).requires_grad_()
    drawn = torch.randint(n // 64, (n // 64 - 2, 3), generator=generator)
    return [
        ("softmax", [], {"explicit": lambda q, k, v: (q @ k.transpose(-1, -2) / math.sqrt(DIM))
                         .softmax(-1) @ v, "fused": lambda q, k, v: masked(q, k, v, None)}),
        ("band", ["window=128"], {"blocks": lambda q, k, v: band_blocks(q, k, v, 128),
                                  "dense mask": lambda q, k, v: masked(q, k, v, mask)}),
        ("bigbird", ["block=64", "random=3"],
         {"": lambda q, k, v: bigbird(q, k, v, 64, drawn)}),
        ("performer", ["features=256"], {"": lambda q, k, v: performer(q, k, v, omega)}),
        ("linformer", ["projection=256"], {"": lambda q, k, v: linformer(q, k, v, e)}),
        ("nystrom", ["landmarks=64"], {"": lambda q, k, v: nystrom(q, k, v, 64, taps)}),
    ]


def theirs(function, n, step, repetitions):
    """Least milliseconds."""
    import time
    q, k, v = (torch.randn(HEADS, n, DIM, requires_grad=step) for _ in range(3))
    gradient = torch.randn(HEADS, n, DIM)
    best = math.inf
    for _ in range(repetitions + 1):
        start = time.perf_counter()
        if step:
            function(q, k, v).backward(gradient)
        else:
            with torch.no_grad():
                function(q, k, v)
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


def ours(programs, kind, n, repetitions, threads, settings):
    command = [programs / "bench_kinds", kind, n, HEADS, DIM, repetitions, threads, *settings]
    return json.loads(subprocess.run([str(word) for word in command], check=True,
                                     capture_output=True, text=True).stdout)


def compare(a):
    rows = []
    for n in a.lengths:
        for kind, settings, ways in cases(n):
            own = ours(a.programs, kind, n, a.repetitions, a.threads, settings)
            for way, function in ways.items():
                forward = theirs(function, n, False, a.repetitions)
                step = theirs(function, n, True, a.repetitions)
                rows.append([kind, n, f"{own['forward_ms']:.2f}", f"{own['step_ms']:.2f}",
                             f"{own['bytes'] / 1e6:.1f}", way or "equation", f"{forward:.2f}",
                             f"{step:.2f}", f"{forward / own['forward_ms']:.1f}, "
                                            f"{step / own['step_ms']:.1f}"])
    table(["kind", "N", "ours, forward", "step", "MB", "PyTorch", "forward", "step", "ratio"], rows)


def figure(a):
    """Milliseconds of a training step and its memory against N."""
    import matplotlib
    matplotlib.use("agg")
    from matplotlib import pyplot
    lengths = [512 << i for i in range(2 if a.quick else 5)]
    picture, panels = pyplot.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for kind, settings, _ in cases(lengths[0]):
        own = [ours(a.programs, kind, n, a.repetitions, a.threads, settings) for n in lengths]
        for panel, key, unit in ((panels[0], "step_ms", 1), (panels[1], "bytes", 1e6)):
            panel.loglog(lengths, [one[key] / unit for one in own], marker="o", markersize=4,
                         label=" ".join([kind, *settings]))
    for panel, title in zip(panels, ("training step, ms", "its memory, MB")):
        panel.set_title(title)
        panel.set_xlabel("N")
        panel.set_xticks(lengths, lengths)
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    panels[0].legend(fontsize=8)
    picture.savefig(a.figure, dpi=110)


def export(a):
    """Seconds of mgk-dump, a layer of two heads, 8 samples, against softmax's."""
    n = 128 if a.quick else 1024
    tokens, store = a.folder / "kinds.npy", a.folder / "kinds.h5"
    numpy.save(tokens, numpy.random.default_rng(1).integers(0, 10, (8, n), dtype=numpy.int32))
    options = {"--task": "listops", "--listops-above": 10, "--listops-below": 60, "--layers": 1,
               "--dim": 64, "--heads": HEADS, "--head-dim": DIM, "--hidden": 128, "--length": n}
    rows = json.loads(run(a.programs / "mgk-info", "--kinds", "--json")[2])
    models = {}
    for row in rows:
        if row["matrix"]:
            task = {"--task": "lm"} if row["causal"] == "only" else {}
            models[row["name"]] = a.folder / f"{row['name']}.safetensors"
            untrained_model(a, options | task, row["name"], models[row["name"]])
    dump = lambda model: run(a.programs / "mgk-dump", model, "--tokens", tokens, "--length", n,
                             "--samples", 8, "--threads", a.threads, "-o", store, "--force",
                             "--quiet")[0]
    seconds = interleave({kind: lambda model=model: dump(model) for kind, model in models.items()},
                         a.repetitions)
    softmax = spread(seconds["softmax"])[0]
    table(["kind", "seconds", "of softmax's"],
          [[kind, f"{spread(all)[0]:.3f}", f"{spread(all)[0] / softmax:.2f}"]
           for kind, all in seconds.items()])
    for path in [tokens, store, *models.values()]:
        path.unlink()


def main():
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lengths", type=int, nargs="+", default=[1024, 4096])
    parser.add_argument("--figure", metavar="FILE", help="draw time and memory against N instead")
    parser.add_argument("--export", action="store_true", help="measure exports instead")
    a = parse(parser)
    torch.set_num_threads(a.threads)
    if a.figure:
        figure(a)
    elif a.export:
        export(a)
    else:
        compare(a)


if __name__ == "__main__":
    main()
