# SPDX-License-Identifier: MIT
"""Where the time of a training step goes: its kernels, timed one by one by ncu."""

import collections
import csv
import re
import shutil
import subprocess

import common


def timed(a, options, kind):
    """Yields the name and the milliseconds of every kernel of the first step."""
    command = ["ncu", "--clock-control", "none", "--metrics", "gpu__time_duration.sum", "--csv",
               "--launch-count", 3000,
               *common.training(a, options, kind, "profiled.safetensors"), "--steps", 1]
    found = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                           timeout=max(common.seconds_left(a), 1))
    lines = [line for line in found.stdout.splitlines() if line.startswith('"')]
    scale = {"ns": 1e-6, "us": 1e-3, "ms": 1, "nsecond": 1e-6, "usecond": 1e-3, "msecond": 1}
    for row in csv.DictReader(lines):
        yield row["Kernel Name"], (float(row["Metric Value"].replace(",", "")) *
                                   scale[row["Metric Unit"]])


def compare(a, table, shape, kind):
    options = common.options_of(shape, kind)
    spent, calls = collections.Counter(), collections.Counter()
    for name, milliseconds in timed(a, options, kind):
        short = re.sub(r"^void |[<(].*", "", name)[:60]
        spent[short] += milliseconds
        calls[short] += 1
    if not spent:
        raise SystemExit("ncu timed nothing")
    total = sum(spent.values())
    table.row(common.name_of(options), kind, "all", sum(calls.values()), f"{total:.2f}", "")
    for name, milliseconds in spent.most_common(16):
        table.row("", "", name, calls[name], f"{milliseconds:.2f}", f"{milliseconds / total:.0%}")


def run(a):
    table = common.Table("Kernels of a training step", "shape", "attention", "kernel", "calls",
                         "ms", "share")
    if not shutil.which("ncu"):
        table.row("ncu is not here")
        return
    common.each(a, table, ((common.language_model(a), kind) for kind in common.HEADS), compare)
