# SPDX-License-Identifier: MIT
"""Measures the programs on a GPU and prints markdown tables, row by row.

Python is enough; where PyTorch is installed, it does the same beside us. Shapes are the paper's.
--quick takes fewer of them; with --seconds, what has not been measured by then is left out.
"""

import argparse
import datetime
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common
import measure
import export
import kernels
import memory
import operations
import pipeline
import ranks
import training

PARTS = {"operations": operations, "export": export, "training": training, "kernels": kernels,
         "memory": memory, "ranks": ranks, "pipeline": pipeline}


def arguments():
    class Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
        pass

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=Formatter)
    parser.add_argument("--programs", type=Path, default=measure.ROOT / "build/cuda/bin",
                        metavar="DIR", help="where mgk-train and the others are")
    parser.add_argument("--device", default="cuda", help="cpu shows that it runs")
    parser.add_argument("--folder", type=Path, default=tempfile.gettempdir(), metavar="DIR",
                        help="where files go: the disk that is measured, beside /dev/shm")
    parser.add_argument("--repetitions", type=int, default=5, metavar="R",
                        help="of each measurement; the median counts")
    parser.add_argument("--only", choices=PARTS, action="append",
                        help="one part; may be given several times")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller measurements")
    parser.add_argument("--seconds", type=float, default=24 * 3600, metavar="S",
                        help="start nothing after this time")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile")
    parser.add_argument("--largest", action="store_true",
                        help="of ranks, only spectra of the largest matrices")
    parser.add_argument("--tiny", action="store_true",
                        help="tiny shapes: shows that it works, measures nothing")
    a = parser.parse_args()
    if not (a.programs / "mgk-train").exists():
        parser.error(f"no mgk-train in {a.programs}: build it, or give --programs")
    if not Path(a.folder).is_dir():
        parser.error(f"--folder {a.folder}: no such folder")
    a.failed, a.folders = False, (Path("/dev/shm"), a.folder)
    a.end = time.monotonic() + a.seconds
    return a


def describe(a):
    table = common.Table("Machine", "", "")
    now = datetime.datetime.now(datetime.timezone.utc)
    table.row("date", now.strftime("%Y-%m-%d %H:%M UTC"))
    table.row("system", platform.platform())
    table.row("toolkit", measure.run(a.programs / "mgk-train", "--version")[2].strip())
    try:
        found = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total",
                                "--format=csv,noheader"], capture_output=True, text=True)
        table.row("GPU, driver, memory", found.stdout.strip() or "none")
    except FileNotFoundError:
        table.row("GPU, driver, memory", "no nvidia-smi")
    table.row("device", a.device)
    table.row("PyTorch", common.version_of_pytorch() or "not installed")
    if a.tiny:
        table.row("sizes", "tiny: the numbers below mean nothing")


def main():
    a = arguments()
    describe(a)
    with tempfile.TemporaryDirectory(dir=a.folder) as name:
        a.work, a.text = Path(name), Path(name) / "text.txt"
        common.write_text(a.text)
        for part in a.only or PARTS:
            try:
                PARTS[part].run(a)
            except SystemExit as failure:
                print(f"\nfailed: {common.reason(failure)}", flush=True)
                a.failed = True
    return a.failed


if __name__ == "__main__":
    sys.exit(main())
