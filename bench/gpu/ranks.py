# SPDX-License-Identifier: MIT
"""Ranks in float64: mgk-rank, on the device and on the CPU, against torch.linalg.svdvals."""

import csv
import time

import common
import measure


def share_counted(path):
    """Share of a table's matrices whose rank was counted without singular values."""
    with open(path) as file:
        rows = list(csv.DictReader(file))
    return sum(not row["sigma_min"] for row in rows) / len(rows)


def ours(a, model, device, method, matrices):
    """Seconds per matrix of one layer, number of matrices, and share counted in the longer run.
    Times are differences of two runs, so that the start cancels out."""
    def run(count):
        return measure.run(
            a.programs / "mgk-rank", "--model", model, "--text", a.text, "--matrices", count,
            "--layers", 0, "--device", device, "--method", method, "--quiet", "--force", "-o",
            a.work / "ranks.csv")[0]

    few = max(1, matrices // 8)
    short, long = run(few), run(matrices)
    return (long - short) / (matrices - few), matrices - few, share_counted(a.work / "ranks.csv")


def compare(a, table, measured, shape, methods, matrices, theirs, on_cpu):
    """A row for each method; measured[method] holds the data for compare_with_goals."""
    options = common.options_of(shape, "mgk")
    model = common.model(a, options, "mgk")
    cpu = f"{ours(a, model, 'cpu', 'svd', on_cpu)[0] * 1e3:.4g}" if on_cpu else "–"
    results = list(common.theirs(a, "ranks", model=model, matrices=theirs))
    for method in methods:
        seconds, number, counted = ours(a, model, a.device, method, matrices)
        measured[method] = options["--length"], seconds, number, results[0]
        for result in results:
            table.row(options["--length"], method, matrices,
                      f"{seconds * 1e3:.4g}" if seconds > 0 else "–",
                      f"{counted:.0%}", cpu,
                      result["way"], *common.ratio(result, seconds))


def compare_with_goals(goals):
    """Times for the goals' numbers of matrices, extrapolated from the measured ones."""
    table = common.Table("Ranks: goals", "matrices", "N", "method", "seconds", "from the time of",
                         "goal, seconds", "times PyTorch's", "goal")
    for measured, methods, matrices, most, least in goals:
        for method in methods:
            if method not in measured:
                table.row(matrices, "–", method, "not measured", 0, most, "–", least)
                continue
            length, seconds, number, result = measured[method]
            table.row(matrices, length, method, f"{seconds * matrices:.4g}", number, most,
                      common.ratio(result, seconds)[1], least)


def run(a):
    start = time.monotonic()
    table = common.Table("Ranks: time of a matrix", "N", "method", "matrices", "mgk, ms",
                         "counted", "mgk on the CPU, ms", "PyTorch", "PyTorch, ms", "ratio")
    # Numbers of matrices for mgk, for PyTorch and for the CPU; each takes time in proportion.
    small, middle, large = (16000, 512, 200), (512, 16, 16), (256, 4, 4)
    if a.quick:
        small, middle, large = (2000, 256, 0), (64, 8, 0), (32, 2, 0)
    if a.tiny:
        small = middle = large = (16, 4, 8)
    methods = ("svd", "count") if a.device == "cpu" else ("count", "bisection", "svd")
    of_small, of_middle, of_large = {}, {}, {}
    # cuSOLVER's spectra of the largest take minutes: not in quick runs, and alone with --largest.
    of_largest = methods[:2] if a.quick else ("svd",) if a.largest else methods
    shapes = [(of_small, common.language_model(a), methods, *small),
              (of_middle, common.long_range(a, 1024), methods, *middle),
              (of_large, common.long_range(a, 4096), of_largest, *large)]
    if a.largest:
        shapes = shapes[2:]
    common.each(a, table, shapes, compare)
    if a.largest or a.tiny:
        return
    spectra = [method for method in methods if method != "count"]
    compare_with_goals(((of_small, spectra, 16000, "1", "50"), (of_large, ["count"], 1000, "60", "–"),
                        (of_large, spectra, 1000, "–", "–")))
    print(f"\nRanks took {time.monotonic() - start:.0f} s.", flush=True)
