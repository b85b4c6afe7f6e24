# SPDX-License-Identifier: MIT
"""Whether two attention stores are equal: same_store.py A.h5 B.h5. Prints the first difference and exits with 1."""

import sys

import h5py


def datasets(file):
    found = {}
    file.visititems(lambda name, item: found.update({name: item} if isinstance(item, h5py.Dataset) else {}))
    return found


def difference(a, b):
    for name in a.attrs.keys() | b.attrs.keys():
        if name not in ("command", "created", "device") and a.attrs.get(name) != b.attrs.get(name):
            return f"attribute {name}"
    left, right = datasets(a), datasets(b)
    if left.keys() != right.keys():
        return f"datasets {left.keys() ^ right.keys()}"
    for name, one in left.items():
        other = right[name]
        if one.shape != other.shape or one.dtype != other.dtype or one.attrs.keys() != other.attrs.keys():
            return f"the description of {name}"
        if not other.is_virtual and (one.chunks, one.compression) != (other.chunks, other.compression):
            return f"the storage of {name}"
        x, y = one[()], other[()]
        if (x.tolist() != y.tolist()) if one.dtype == object else (x.tobytes() != y.tobytes()):
            return f"the values of {name}"
    return None


with h5py.File(sys.argv[1], "r") as a, h5py.File(sys.argv[2], "r") as b:
    found = difference(a, b)
    if found:
        sys.exit(f"{sys.argv[1]} and {sys.argv[2]} differ: {found}")
