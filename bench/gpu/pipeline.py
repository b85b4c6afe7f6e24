# SPDX-License-Identifier: MIT
"""The whole of mgk-dump: bytes per second into a file, compared with the disk's speed."""

import os
import re
import tempfile
from pathlib import Path

import common
import measure


def compare(a, table, folder, kind):
    model = common.model(a, common.options_of(common.language_model(a), kind), kind)
    samples = 8 if a.tiny else 64 if a.quick else 1000
    with tempfile.TemporaryDirectory(dir=folder) as name:
        store = Path(name) / "attention.h5"
        os.sync()
        seconds, _, _, note = measure.run(
            a.programs / "mgk-dump", model, "--text", a.text, "--samples", samples, "--device",
            a.device, "-o", store)
        size = store.stat().st_size
    writing = float(re.search(r"writing took ([\d.]+) s", note)[1])
    disk = measure.write_rate(folder, 1 << 26 if a.tiny else 1 << 31)
    table.row(folder, kind, samples, f"{size / 1e6:.0f}", f"{seconds:.2f}",
              f"{writing / seconds:.0%}", f"{size / seconds / 1e6:.0f}", f"{disk / 1e6:.0f}",
              f"{size / seconds / disk:.2f}")


def run(a):
    table = common.Table("Pipeline: mgk-dump of the language model", "folder", "attention",
                         "samples", "MB", "s", "share of writing", "MB/s", "disk alone, MB/s",
                         "mgk / disk")
    cases = ((folder, kind) for folder in a.folders for kind in common.HEADS)
    common.each(a, table, cases, compare)
