"""What the benchmarks ran on, and how fast it could go: matrix products and the disk."""

import ctypes
import datetime
import os
import platform
import re
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import torch

import measure

ROW_MAJOR, PLAIN = 101, 111  # of CBLAS


def blas(programs):
    """The OpenBLAS that the programs load, on one thread."""
    libraries = subprocess.run(["ldd", programs / "mgk-train"], capture_output=True, text=True,
                               check=True).stdout
    found = re.search(r"=> (\S*libopenblas\S*)", libraries)
    library = ctypes.CDLL(found[1] if found else "libopenblas.so.0")
    library.openblas_get_corename.restype = ctypes.c_char_p
    library.openblas_get_config.restype = ctypes.c_char_p
    library.openblas_set_num_threads(1)
    return library


def multiply_rate(library, dtype, n=1024):
    """Operations a second of a product of two n x n matrices on one thread."""
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


def processor():
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return found[1] if found else platform.machine()


def main():
    parser = measure.arguments(__doc__)
    a = parser.parse_args()
    library = blas(a.programs)
    size = 1 << 24 if a.quick else 1 << 30
    now = datetime.datetime.now(datetime.timezone.utc)
    rows = [
        ("date", now.strftime("%Y-%m-%d %H:%M UTC")),
        ("processor", f"{processor()}, {os.cpu_count()} cores"),
        ("load average at the start", "%.1f %.1f %.1f" % os.getloadavg()),
        ("system", platform.platform()),
        ("toolkit", measure.run(a.programs / "mgk-train", "--version")[2].strip()),
        ("BLAS of the toolkit", library.openblas_get_config().decode()),
        ("its kernels", library.openblas_get_corename().decode()),
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
