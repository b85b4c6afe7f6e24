"""Ranks in float64: mgk-rank, on the device and on the CPU, against torch.linalg.svdvals."""

import common
import measure


def ours(a, model, device, method, matrices):
    """Seconds of a matrix of one layer: the difference of two runs, their start cancels out."""
    def run(count):
        return measure.run(
            a.programs / "mgk-rank", "--model", model, "--text", a.text, "--matrices", count,
            "--layers", 0, "--device", device, "--method", method, "--quiet", "--force", "-o",
            a.work / "ranks.csv")[0]

    few = max(1, matrices // 8)
    return (run(matrices) - run(few)) / (matrices - few)


def compare(a, table, shape, methods, matrices, theirs, on_cpu):
    options = common.options_of(shape, "mgk")
    model = common.model(a, options, "mgk")
    cpu = f"{ours(a, model, 'cpu', 'svd', on_cpu) * 1e3:.4g}" if on_cpu else "–"
    results = list(common.theirs(a, "ranks", model=model, matrices=theirs))
    for method in methods:
        seconds = ours(a, model, a.device, method, matrices)
        for result in results:
            table.row(options["--length"], method, matrices, f"{seconds * 1e3:.4g}", cpu,
                      result["way"], *common.ratio(result, seconds))


def run(a):
    table = common.Table("Ranks: time of a matrix", "N", "method", "matrices", "mgk, ms",
                         "mgk on the CPU, ms", "PyTorch", "PyTorch, ms", "ratio")
    # Matrices for us, for PyTorch and for the CPU, whose times grow with every one of them.
    small, large = (16000, 512, 200), (64, 4, 4)
    if a.quick:
        small, large = (2000, 256, 0), (8, 2, 0)
    if a.tiny:
        small = large = (16, 4, 8)
    everywhere = ("svd", "count")
    of_gpus = everywhere if a.device == "cpu" else (*everywhere, "bisection")
    shapes = ((common.language_model(a), of_gpus, *small),
              (common.long_range(a, 4096), everywhere, *large))
    common.each(a, table, shapes, compare)
