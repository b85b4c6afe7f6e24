"""Ranks in float64: mgk-rank, on the device and on the CPU, against torch.linalg.svdvals."""

import csv

import common
import measure


def share_counted(path):
    """Of the matrices of a table, those whose rank was had without singular values."""
    with open(path) as file:
        rows = list(csv.DictReader(file))
    return sum(not row["sigma_min"] for row in rows) / len(rows)


def ours(a, model, device, method, matrices):
    """
    Seconds of a matrix of one layer, and the share counted of the longer run: times are the
    difference of two runs, for their start cancels out.
    """
    def run(count):
        return measure.run(
            a.programs / "mgk-rank", "--model", model, "--text", a.text, "--matrices", count,
            "--layers", 0, "--device", device, "--method", method, "--quiet", "--force", "-o",
            a.work / "ranks.csv")[0]

    few = max(1, matrices // 8)
    short, long = run(few), run(matrices)
    return (long - short) / (matrices - few), share_counted(a.work / "ranks.csv")


def compare(a, table, shape, methods, matrices, theirs, on_cpu):
    options = common.options_of(shape, "mgk")
    model = common.model(a, options, "mgk")
    cpu = f"{ours(a, model, 'cpu', 'svd', on_cpu)[0] * 1e3:.4g}" if on_cpu else "–"
    results = list(common.theirs(a, "ranks", model=model, matrices=theirs))
    for method in methods:
        seconds, counted = ours(a, model, a.device, method, matrices)
        for result in results:
            table.row(options["--length"], method, matrices, f"{seconds * 1e3:.4g}",
                      f"{counted:.0%}", cpu,
                      result["way"], *common.ratio(result, seconds))


def run(a):
    table = common.Table("Ranks: time of a matrix", "N", "method", "matrices", "mgk, ms",
                         "counted", "mgk on the CPU, ms", "PyTorch", "PyTorch, ms", "ratio")
    # Matrices for us, for PyTorch and for the CPU, whose times grow with every one of them.
    small, middle, large = (16000, 512, 200), (512, 16, 16), (64, 4, 4)
    if a.quick:
        small, middle, large = (2000, 256, 0), (64, 8, 0), (8, 2, 0)
    if a.tiny:
        small = middle = large = (16, 4, 8)
    everywhere = ("svd", "count")
    of_gpus = everywhere if a.device == "cpu" else (*everywhere, "bisection")
    shapes = ((common.language_model(a), of_gpus, *small),
              (common.long_range(a, 1024), everywhere, *middle),
              (common.long_range(a, 4096), everywhere, *large))
    common.each(a, table, shapes, compare)
