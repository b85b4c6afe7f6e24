# SPDX-License-Identifier: MIT
"""Shared by the scripts of this folder: random numbers, small mathematics, files of expected values."""

import json
import math
import struct
import zlib

import torch

DOUBLE = torch.float64


class Draw:
    """Random float32 tensors, different for every name."""

    def __init__(self, name):
        self.generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))

    def normal(self, *shape, mean=0.0, spread=1.0):
        return mean + spread * torch.randn(shape, generator=self.generator)

    def weight(self, out, into):
        return self.normal(out, into, spread=1 / math.sqrt(into))

    def uniform(self, *shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(shape, generator=self.generator)

    def ids(self, *shape, low=0, high):
        return torch.randint(low, high, shape, generator=self.generator)


def linear(x, tensors, name):
    """x Wᵀ + b with the tensors name.weight and, if it exists, name.bias."""
    y = x @ tensors[name + ".weight"].T
    return y + tensors[name + ".bias"] if name + ".bias" in tensors else y


def layer_norm(x, tensors, name):
    centred = x - x.mean(-1, keepdim=True)
    deviation = torch.sqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)
    return centred / deviation * tensors[name + ".weight"] + tensors[name + ".bias"]


def square_distance(q, k):
    """[..., N, D] and [..., N, D] to [..., N, N]."""
    return ((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(-1)


def save_expected(path, tensors):
    """Writes tensors as float64 safetensors, in the format of tests/golden.h."""
    header, body = {}, b""
    for name, tensor in tensors.items():
        data = tensor.to(DOUBLE).contiguous().numpy().tobytes()
        header[name] = {"dtype": "F64", "shape": list(tensor.shape),
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
