#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the tiny files of tests/golden/containers with PyTorch: the same tensors in every container.

    python3 tests/golden/containers.py [FOLDER]

Element i of a tensor of n elements is (i - n // 3) / 8, which every floating-point type represents
exactly; integers are i - n // 3, and bytes and booleans derive from that.
"""
import collections
import json
import os
import pickle
import sys
import zipfile

import torch
from torch import nn


def ramp(*shape, dtype=torch.float32):
    count = 1
    for length in shape:
        count *= length
    steps = torch.arange(count, dtype=torch.int64) - count // 3
    if dtype.is_floating_point:
        return (steps.double() / 8).to(dtype).reshape(shape)
    return steps.to(dtype).reshape(shape)


class Attention(nn.Module):
    """As in the authors' language models: attributes, parameters, buffers, a nested module."""

    def __init__(self):
        super().__init__()
        self.n_head = 4
        self.scale = 0.125
        self.kind = "mgk"
        self.cutoffs = [20, 40]
        self.weight = nn.Parameter(ramp(3, 5))
        self.register_buffer("mask", ramp(7, dtype=torch.uint8))
        self.register_parameter("bias", None)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Attention(), Attention()])
        self.out = nn.Linear(5, 3)
        with torch.no_grad():
            self.out.weight.copy_(ramp(3, 5))
            self.out.bias.copy_(ramp(3))
        self.tied = self.out.weight
        self.layers[1].owner = [self.layers]  # the way back: a cycle


def checkpoint():
    """Views, types, shared storages, nesting, and objects other than tensors."""
    base = ramp(4, 6)
    state = collections.OrderedDict()
    state["a.weight"] = ramp(3, 5)
    state["a.f64"] = ramp(3, 5, dtype=torch.float64)
    state["a.f16"] = ramp(3, 5, dtype=torch.float16)
    state["a.bf16"] = ramp(3, 5, dtype=torch.bfloat16)
    state["a.ids"] = ramp(7, dtype=torch.int64)
    state["scalar"] = ramp(1).reshape(())
    state["empty"] = ramp(0, 5)
    state["base"] = base
    state["turned"] = base.t()
    state["row"] = base[2]
    state["column"] = base[:, 1]
    state["wide"] = base[1:2].expand(3, 6)
    state["swapped"] = ramp(2, 3, 4).transpose(0, 2)
    state._metadata = {"": {"version": 1}}
    return {
        "model_state_dict": state,
        "epoch": 12,
        "loss": 2.5,
        "done": True,
        "name": "tiny",
        "nothing": None,
        "sizes": (3, 5),
        "more": {0: {"exp_avg": ramp(5)}},
        "shape": torch.Size([2, 3]),
        "parameter": nn.Parameter(ramp(5)),
    }


def repack(source, target, compression, change=lambda name, data: data):
    """The same archive with changed entries; None drops an entry."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", compression) as new:
        for entry in old.infolist():
            data = change(entry.filename, old.read(entry))
            if data is not None:
                new.writestr(zipfile.ZipInfo(entry.filename), data, compression)


def without(ending):
    return lambda name, data: None if name.endswith(ending) else data


class Calls:
    """An object that is pickled as a call."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def no_source(module):
    """The source code of a module's class, which old containers keep."""
    return ["class\n"], 0, "model.py"


def main(folder):
    torch.serialization.get_source_lines_and_file = no_source
    os.makedirs(folder, exist_ok=True)

    def path(name):
        return os.path.join(folder, name)

    content = checkpoint()
    torch.save(content, path("zip.pt"))
    repack(path("zip.pt"), path("old_zip.pt"), zipfile.ZIP_STORED, without("/byteorder"))
    repack(path("zip.pt"), path("deflated.pt"), zipfile.ZIP_DEFLATED)
    repack(path("zip.pt"), path("big_endian.pt"), zipfile.ZIP_DEFLATED,
           lambda name, data: b"big" if name.endswith("/byteorder") else data)
    torch.save(content, path("protocol5.pt"), pickle_protocol=5)
    torch.save(content, path("legacy.pt"), _use_new_zipfile_serialization=False)
    model = Model()
    torch.save(model, path("module.pt"))
    torch.save(model, path("module_legacy.pt"), _use_new_zipfile_serialization=False)
    torch.save({"weight": ramp(3), "harm": Calls(os.system, "echo harm")}, path("harm.pt"))
    torch.save({"weight": ramp(3), "harm": Calls(eval, "1")}, path("harm_legacy.pt"),
               _use_new_zipfile_serialization=False)
    os.makedirs(path("shards"), exist_ok=True)
    shards = {"pytorch_model-00001-of-00002.bin": {"a": ramp(3, 5), "b": ramp(3)},
              "pytorch_model-00002-of-00002.bin": {"c": ramp(5)}}
    for name, tensors in shards.items():
        torch.save(tensors, path("shards/" + name))
    weights = {key: name for name, tensors in shards.items() for key in tensors}
    with open(path("shards/pytorch_model.bin.index.json"), "w") as index:
        json.dump({"metadata": {"total_size": 92}, "weight_map": weights}, index, indent=1)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else
         os.path.join(os.path.dirname(os.path.abspath(__file__)), "containers"))
