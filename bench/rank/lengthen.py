# SPDX-License-Identifier: MIT
"""Makes a model with many positions from a trained one: lengthen.py IN.safetensors N OUT.safetensors

Learned positions and priors are repeated until there are N of them. Such a model has learned attention
only within its original length: it suits benchmarks, not results.
"""

import json
import struct
import sys

import numpy as np


def main():
    source, length, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(source, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    metadata = header.pop("__metadata__")
    config = json.loads(metadata["config"])
    tensors = {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()}
    for name, entry in header.items():
        shape = entry["shape"]
        if not any(word in name for word in ("position", "prior")) or config["length"] not in shape:
            continue
        axis = shape.index(config["length"])
        table = np.frombuffer(tensors[name], "<f4").reshape(shape)
        table = table.take(np.arange(length) % config["length"], axis)
        tensors[name], entry["shape"] = table.tobytes(), list(table.shape)
    config["length"] = length
    metadata["config"] = json.dumps(config)
    offset = 0
    for name, entry in header.items():
        entry["data_offsets"] = [offset, offset + len(tensors[name])]
        offset += len(tensors[name])
    text = json.dumps({"__metadata__": metadata, **header}).encode()
    text += b" " * (-len(text) % 8)
    with open(target, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(tensors.values()))


main()
