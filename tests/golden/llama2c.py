# SPDX-License-Identifier: MIT
"""Writes tiny files in the first format of llama2.c with random weights, and what such a model
computes in double precision, to llama2c/ beside this file. The computation follows llama2.c's
description: neighbours are rotated, heads share keys, norms have an epsilon of 1e-5.

    python tests/golden/llama2c.py        (needs numpy, torch and safetensors)

The files of expected results are those of decoders.py.
"""

import os
import struct

import numpy
import torch
from safetensors.torch import save_file

from hugging_face import batch, loss_of

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "llama2c")
NAMES = ("dim", "hidden_dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size", "seq_len")


def shapes(size):
    """The tensors of a file, in order."""
    dim, hidden, layers = size["dim"], size["hidden_dim"], size["n_layers"]
    head, words = dim // size["n_heads"], abs(size["vocab_size"])
    shared = head * size["n_kv_heads"]
    out = {"token_embedding": (words, dim), "rms_att": (layers, dim), "wq": (layers, dim, dim),
           "wk": (layers, shared, dim), "wv": (layers, shared, dim), "wo": (layers, dim, dim),
           "rms_ffn": (layers, dim), "w1": (layers, hidden, dim), "w2": (layers, dim, hidden),
           "w3": (layers, hidden, dim), "rms_final": (dim,),
           "freq_cis_real": (size["seq_len"], head // 2),
           "freq_cis_imag": (size["seq_len"], head // 2)}
    if size["vocab_size"] < 0:
        out["wcls"] = (words, dim)
    return out


def read(path):
    with open(path, "rb") as file:
        size = dict(zip(NAMES, struct.unpack("<7i", file.read(28))))
        numbers = numpy.frombuffer(file.read(), "<f4").astype("f8")
    weights, at = {}, 0
    for name, shape in shapes(size).items():
        count = int(numpy.prod(shape))
        weights[name] = torch.from_numpy(numbers[at:at + count].reshape(shape))
        at += count
    assert at == len(numbers)
    return size, weights


def norm(x, gain):
    return gain * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)


def rotate(x):
    """x [B, N, H, D]: pair i of position t, numbers 2 i and 2 i + 1, by t 10000^(-2i/D)."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    frequency = 10000.0 ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
    angle = torch.arange(x.shape[1], dtype=torch.float64)[:, None] * frequency
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)[:, None]).flatten(-2)


def run(size, weights, ids):
    """Logits, hidden states, and attention and output of each layer."""
    heads, shared = size["n_heads"], size["n_kv_heads"]
    tokens = ids.shape[1]
    x = weights["token_embedding"][ids]
    future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    attention, outputs = [], []
    for layer in range(size["n_layers"]):
        w = {name: value[layer] for name, value in weights.items() if value.dim() == 3 or
             name in ("rms_att", "rms_ffn")}
        seen = norm(x, w["rms_att"])
        q = rotate((seen @ w["wq"].T).unflatten(-1, (heads, -1)))
        k = rotate((seen @ w["wk"].T).unflatten(-1, (shared, -1)))
        v = (seen @ w["wv"].T).unflatten(-1, (shared, -1))
        k, v = (a.repeat_interleave(heads // shared, 2) for a in (k, v))
        scores = torch.einsum("bihd,bjhd->bhij", q, k) / q.shape[-1] ** 0.5
        a = scores.masked_fill(future, -torch.inf).softmax(-1)
        x = x + torch.einsum("bhij,bjhd->bihd", a, v).flatten(-2) @ w["wo"].T
        seen = norm(x, w["rms_ffn"])
        x = x + (torch.nn.functional.silu(seen @ w["w1"].T) * (seen @ w["w3"].T)) @ w["w2"].T
        attention.append(a)
        outputs.append(x)
    hidden = norm(x, weights["rms_final"])
    return hidden @ weights.get("wcls", weights["token_embedding"]).T, hidden, attention, outputs


def write(name, seed, **size):
    path = os.path.join(HERE, name)
    os.makedirs(HERE, exist_ok=True)
    generator = torch.Generator().manual_seed(seed)
    with open(path + ".bin", "wb") as file:
        file.write(struct.pack("<7i", *(size[key] for key in NAMES)))
        for key, shape in shapes(size).items():
            noise = torch.randn(shape, generator=generator)
            values = 1 + 0.2 * noise if key.startswith("rms") else noise * 1.5 / shape[-1] ** 0.5
            file.write(values.numpy().astype("<f4").tobytes())
    ids, mask = batch(seed + 1)
    logits, hidden, attention, outputs = run(*read(path + ".bin"), ids)
    valid = mask.double()
    pairs = valid[:, None, :, None] * valid[:, None, None, :]
    expected = {
        "ids": torch.where(mask == 1, ids, -1).double(),
        "attention": torch.stack(attention) * pairs,
        "outputs": torch.stack(outputs) * valid[:, :, None],
        "hidden": hidden * valid[:, :, None],
        "loss": loss_of(logits, ids, mask),
    }
    save_file({key: value.contiguous() for key, value in expected.items()},
              path + ".safetensors")


def main():
    size = dict(dim=16, hidden_dim=20, n_layers=2, n_heads=4, n_kv_heads=2, seq_len=12)
    write("tied", 70, vocab_size=37, **size)
    write("untied", 72, vocab_size=-37, **size)


if __name__ == "__main__":
    main()
