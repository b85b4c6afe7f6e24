# SPDX-License-Identifier: MIT
"""Memory of training: what a sequence takes at several lengths, as mgk-train says when a batch does
not fit."""

import re
import subprocess

import common

TOKENS = 1 << 25  # of a batch of pairs, which has two documents for each: so many cannot fit
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def compare(a, table, tokens, kind):
    options = common.options_of(common.long_range(a, tokens), kind)
    length = int(options["--length"])
    options["--batch"] = batch = TOKENS // length
    command = [*common.training(a, options, kind, "unfinished.safetensors"), "--steps", 1]
    message = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                             check=False).stderr
    found = re.search(r"takes ([\d.]+) ([kMGT]?B)", message)
    if not found:
        raise SystemExit(message)
    size = float(found[1]) * UNITS[found[2]] / batch / 2
    table.row(length, kind, f"{size / 1e6:.2f}", f"{size / length:.0f}")


def run(a):
    table = common.Table("Memory of training: the LRA encoder", "N", "attention",
                         "MB a document", "bytes a token")
    cases = ((n, kind) for kind in common.HEADS for n in (1024, 2048, 4096, 8192))
    common.each(a, table, cases, compare)
