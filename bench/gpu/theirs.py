# SPDX-License-Identifier: MIT
"""PyTorch's part, in its own process: theirs.py JOB ARGUMENTS prints one JSON line per
implementation."""

import json
import statistics
import sys
import time

import common
import model as models
import torch

# Implementations of each kind: as published, and with PyTorch's fused operation.
WAYS = {"softmax": ("explicit", "fused"), "mgk": ("expanded", "fused")}


class Clock:
    """Seconds of a piece of work, by CUDA events where there is a GPU."""

    def __init__(self, device):
        self.cuda = device.type == "cuda"

    def seconds(self, work):
        if not self.cuda:
            start = time.perf_counter()
            work()
            return time.perf_counter() - start
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3

    def median(self, work, warm_up, repetitions):
        for _ in range(warm_up):
            work()
        return statistics.median(self.seconds(work) for _ in range(repetitions))


def report(way, measure):
    """Prints a result; too little memory is a result too."""
    try:
        line = {"way": way, "seconds": measure()}
    except torch.cuda.OutOfMemoryError:
        line = {"way": way, "failed": "out of memory"}
        torch.cuda.empty_cache()
    except Exception as error:  # a way that this PyTorch lacks must not end the others
        line = {"way": way, "failed": " ".join(str(error).split())[:80]}
    print(json.dumps(line), flush=True)


def random_ids(net, sequences, device):
    shape = sequences, net.config["length"]
    return torch.randint(net.config["vocabulary"], shape, device=device)


def export(device, model, sequences, repetitions):
    """Copies all matrices of a batch to the host: into pinned memory, by .cpu(), and the copies
    alone."""
    clock, net = Clock(device), models.load(model).to(device)
    ids = random_ids(net, sequences, device)
    matrices = []

    def run():
        matrices.clear()
        with torch.no_grad():
            net.encode(ids, None, matrices)

    run()
    host = [torch.empty_like(matrix, device="cpu", pin_memory=clock.cuda) for matrix in matrices]

    def copy():
        for target, matrix in zip(host, matrices):
            target.copy_(matrix, non_blocking=True)

    def to_pinned():
        run()
        copy()

    def to_pageable():
        run()
        return [matrix.cpu() for matrix in matrices]

    for way, work in ("copy", copy), ("pinned", to_pinned), (".cpu()", to_pageable):
        report(way, lambda: clock.median(work, 1, repetitions))


def train(device, model, sequences, steps, compile):
    """Steps of training."""
    clock = Clock(device)

    def measure(way, compiled):
        net = models.load(model, way).to(device)
        ids = random_ids(net, sequences, device)
        dual, lm = net.config["dual"], net.config["family"] == "lm"
        targets = ids if lm else torch.randint(2, (sequences // (1 + dual),), device=device)
        adamw = models.optimizer(net, 1e-4, 0.01)
        if compiled:
            net.loss = torch.compile(net.loss)
        return clock.median(lambda: models.update(net, adamw, ids, None, targets), 3, steps)

    kind = models.read_safetensors(model)[0]["attention"]
    for way in WAYS[kind]:
        report(way, lambda: measure(way, False))
        if compile:
            report(f"{way}, compiled", lambda: measure(way, True))


def ranks(device, model, matrices):
    """Counts the singular values >= 1e-6 of a layer's matrices, in float64."""
    clock, net = Clock(device), models.load(model).to(device)
    heads = net.config["heads"]
    ids = random_ids(net, -(-matrices // heads) * 2, device)
    kept = []
    with torch.no_grad():
        net.encode(ids, None, kept)
    values = kept[0].flatten(0, 1)[:matrices].double()

    def count():
        return (torch.linalg.svdvals(values) >= 1e-6).sum(-1).cpu()

    torch.linalg.svdvals(values[:1, :32, :32])  # loads the library, which is not part of the time
    report("torch.linalg.svdvals", lambda: clock.median(count, 0, 1) / matrices)


def attention(device, cases, repetitions):
    """The fused operation alone, forward and with its gradients: one line per case."""
    clock = Clock(device)
    for samples, heads, tokens, dim, causal in cases:
        shape = samples, heads, tokens, dim
        q, k, v, up = (torch.randn(shape, device=device) for _ in range(4))
        for x in q, k, v:
            x.requires_grad_()

        def forward():
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

        def step():
            torch.autograd.grad(forward(), (q, k, v), up)

        for name, work in ("forward", forward), ("forward and gradients", step):
            report(f"{name} {shape} {'causal' if causal else ''}",
                   lambda: clock.median(work, 3, repetitions))


def main():
    arguments = json.loads(sys.argv[2])
    device = torch.device(arguments.pop("device"))
    jobs = {"attention": attention, "export": export, "ranks": ranks, "train": train}
    jobs[sys.argv[1]](device, **arguments)


if __name__ == "__main__":
    main()
