# SPDX-License-Identifier: MIT
"""The attention of kinds alone, ours against PyTorch eager, in one run on the same threads: forward
pass, training step, memory; and time against N. Heads of 32 numbers, two of them, one sample.

PyTorch's side is what a user writes: banded and block-sparse attention by gathered blocks, as
Longformer's and BigBird's own code has it, and dense with a mask; the others by their equations."""

import json
import math
import subprocess

import torch
from measure import ROOT, arguments, parse

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


def nystrom(q, k, v, m):
    means = lambda x: x.unflatten(-2, (m, -1)).mean(-2)
    scale = 1 / math.sqrt(q.shape[-1])
    a, b = means(q), means(k)
    left = (q @ b.transpose(-1, -2) * scale).softmax(-1)
    middle = (a @ b.transpose(-1, -2) * scale).softmax(-1)
    right = (a @ k.transpose(-1, -2) * scale).softmax(-1)
    one = torch.eye(m)
    z = middle.transpose(-1, -2) / (middle.sum(-2).amax(-1) * middle.sum(-1).amax(-1))[..., None, None]
    for _ in range(6):
        kz = middle @ z
        z = 0.25 * z @ (13 * one - kz @ (15 * one - kz @ (7 * one - kz)))
    return left @ (z @ (right @ v))


def cases(n):
    """Kind, its settings, and the same in PyTorch in one or more ways."""
    generator = torch.Generator().manual_seed(1)
    omega = torch.randn(256, DIM, generator=generator)
    e = (torch.randn(256, n, generator=generator) / math.sqrt(n)).requires_grad_()
    mask = band_mask(n, 128)
    return [
        ("softmax", [], {"explicit": lambda q, k, v: (q @ k.transpose(-1, -2) / math.sqrt(DIM))
                         .softmax(-1) @ v, "fused": lambda q, k, v: masked(q, k, v, None)}),
        ("band", ["window=128"], {"blocks": lambda q, k, v: band_blocks(q, k, v, 128),
                                  "dense mask": lambda q, k, v: masked(q, k, v, mask)}),
        ("performer", ["features=256"], {"": lambda q, k, v: performer(q, k, v, omega)}),
        ("linformer", ["projection=256"], {"": lambda q, k, v: linformer(q, k, v, e)}),
        ("nystrom", ["landmarks=64"], {"": lambda q, k, v: nystrom(q, k, v, 64)}),
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


def main():
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lengths", type=int, nargs="+", default=[1024, 4096])
    a = parse(parser)
    torch.set_num_threads(a.threads)
    print("| kind | N | ours, forward | step | MB | PyTorch | forward | step | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n in a.lengths:
        for kind, settings, ways in cases(n):
            own = ours(a.programs, kind, n, a.repetitions, a.threads, settings)
            for way, function in ways.items():
                forward = theirs(function, n, False, a.repetitions)
                step = theirs(function, n, True, a.repetitions)
                print(f"| {kind} | {n} | {own['forward_ms']:.2f} | {own['step_ms']:.2f} | "
                      f"{own['bytes'] / 1e6:.1f} | {way or 'equation'} | {forward:.2f} | {step:.2f} "
                      f"| {forward / own['forward_ms']:.1f}, {step / own['step_ms']:.1f} |",
                      flush=True)


if __name__ == "__main__":
    main()
