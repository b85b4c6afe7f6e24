# SPDX-License-Identifier: MIT
"""Single operations of the device, and softmax attention against PyTorch's fused one, both in
float32 without TF32."""

import re

import common
import measure

SHAPE = re.compile(r"softmax B = (\d+) H = (\d+) N = (\d+) D = (\d+)( causal)?")


def ours(a):
    """Prints all rows; returns milliseconds of forward and gradients by (B, H, N, D, causal)."""
    tiny = ["--tiny"] if a.tiny else []
    text = measure.run(a.programs / "bench_operations", a.device, *tiny)[2]
    print(f"\n### Single operations\n\n{text}", end="", flush=True)
    times = {}
    for line in text.splitlines():
        name, shape, milliseconds = (cell.strip() for cell in line.split("|")[1:4])
        found = SHAPE.fullmatch(shape)
        if found and milliseconds != "failed":
            key = (*map(int, found.groups()[:4]), bool(found[5]))
            times.setdefault(key, {})[name] = float(milliseconds)
    return times


def run(a):
    times = ours(a)
    if not common.version_of_pytorch():
        print("\nPyTorch is not installed.", flush=True)
        return
    table = common.Table("Attention: against PyTorch's scaled_dot_product_attention",
                         "B, H, N, D, causal", "direction", "mgk, ms", "PyTorch, ms", "ratio")
    results = list(common.theirs(a, "attention", cases=list(times), repetitions=a.repetitions))
    if len(results) != 2 * len(times):
        table.row(results[-1].get("failed", "failed"))
        return
    for shape, measured in times.items():
        forward, both = results.pop(0), results.pop(0)
        mine = measured["attention"] / 1e3
        table.row(shape, "forward", f"{mine * 1e3:.4g}", *common.ratio(forward, mine))
        mine += measured["its gradients"] / 1e3
        table.row(shape, "both", f"{mine * 1e3:.4g}", *common.ratio(both, mine))
