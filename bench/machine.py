# SPDX-License-Identifier: MIT
"""The machine of the benchmarks, and its speed: matrix products and the disk."""

import ctypes
import datetime
import os
import platform
import time

import h5py
import numpy as np
import torch

import measure

ROW_MAJOR, PLAIN = 101, 111  # of CBLAS


def blas(machine):
    """The OpenBLAS that the programs load, with the same kernels, on one thread."""
    os.environ["OPENBLAS_CORETYPE"] = machine["blas_kernels"]
    library = ctypes.CDLL(machine["blas_library"])
    del os.environ["OPENBLAS_CORETYPE"]  # that is read while it is loaded, and by programs
    library.openblas_set_num_threads(1)
    return library


def multiply_rate(library, dtype, n=1024):
    """Operations per second of a product of two n x n matrices on one thread."""
    single = dtype == np.float32
    real = ctypes.c_float if single else ctypes.c_double
    multiply = library.cblas_sgemm if single else library.cblas_dgemm
    a, b, c = (np.random.default_rng(i).random((n, n)).astype(dtype) for i in range(3))
    pointer = [ctypes.c_void_p(x.ctypes.data) for x in (a, b, c)]

    def product():
        start = time.perf_counter()
        multiply(ROW_MAJOR, PLAIN, PLAIN, n, n, n, real(1), pointer[0], n, pointer[1], n, real(0),
                 pointer[2], n)
        return time.perf_counter() - start

    return 2 * n**3 / min(product() for _ in range(10))


def main():
    parser = measure.arguments(__doc__)
    a = measure.parse(parser)
    machine = measure.describe_machine(a.programs)
    library = blas(machine)
    size = 1 << 24 if a.quick else 1 << 30
    now = datetime.datetime.now(datetime.timezone.utc)
    rows = [
        ("date", now.strftime("%Y-%m-%d %H:%M UTC")),
        ("processor", f"{machine['processor']}, {machine['cores']} cores"),
        ("load average at the start", "%.1f %.1f %.1f" % os.getloadavg()),
        ("system", platform.platform()),
        ("toolkit", measure.run(a.programs / "mgk-train", "--version")[2].strip()),
        ("kernels of the toolkit", machine["kernels"]),
        ("its BLAS", f"{machine['blas']}, {machine['blas_kernels']} kernels, chosen by "
                     f"{machine['blas_kernels_chosen_by']}"),
        ("PyTorch, numpy, h5py", f"{torch.__version__}, {np.__version__}, {h5py.__version__}"),
        ("PyTorch's instruction set", torch.backends.cpu.get_cpu_capability()),
        ("SGEMM 1024, one thread", f"{multiply_rate(library, np.float32) / 1e9:.1f} Gflop/s"),
        ("DGEMM 1024, one thread", f"{multiply_rate(library, np.float64) / 1e9:.1f} Gflop/s"),
        (f"writing to {a.folder}, fsync included",
         f"{measure.write_rate(a.folder, size) / 1e6:.0f} MB/s"),
    ]
    measure.table(("", ""), rows)


if __name__ == "__main__":
    main()
