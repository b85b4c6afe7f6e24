# SPDX-License-Identifier: MIT
"""Writes tiny state dicts of performer-pytorch and linformer with random weights, and what these
packages compute from them in double precision, to lucidrains/ beside this file. Their versions were
performer-pytorch 1.1.4, linformer 0.2.3 and torch 2.15.

    python tests/golden/lucidrains.py        (needs torch, safetensors and these packages)

The tensors of expected.safetensors are those of hugging_face.py. The packages give no matrices: those
here are checked to give the output of their layers.
"""

import json
import os
import shutil

import torch
from linformer import LinformerLM
from linformer.linformer import LinformerSelfAttention
from performer_pytorch import PerformerLM
from performer_pytorch.performer_pytorch import FastAttention, softmax_kernel
from safetensors.torch import save_file

from hugging_face import WORDS, loss_of, scatter

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lucidrains")
LENGTH = 10


def begin(name, model, seed, config=None):
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    scatter(model, seed)
    torch.save(model.state_dict(), os.path.join(folder, "pytorch_model.bin"))
    if config:
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(config, file)
    generator = torch.Generator().manual_seed(seed + 1)
    return folder, torch.randint(3, WORDS, (2, LENGTH), generator=generator)


def save(folder, ids, attention, hidden, logits=None):
    expected = {"ids": ids, "attention": torch.stack(attention), "hidden": hidden}
    if logits is not None:
        expected["loss"] = loss_of(logits, ids, torch.ones_like(ids))
    save_file({key: value.double().contiguous() for key, value in expected.items()},
              os.path.join(folder, "expected.safetensors"))


def performer_matrix(module, q, k):
    omega = module.projection_matrix
    q = softmax_kernel(q, projection_matrix=omega, is_query=True)
    k = softmax_kernel(k, projection_matrix=omega, is_query=False)
    matrix = q @ k.transpose(-1, -2)
    if not module.causal:
        return matrix / matrix.sum(-1, keepdim=True)
    sums = (q * (k.cumsum(-2) + 1e-6)).sum(-1, keepdim=True)
    return matrix.tril() / sums


def write_performer(name, seed, causal, **settings):
    torch.manual_seed(seed)  # the random features are a buffer
    model = PerformerLM(num_tokens=WORDS, max_seq_len=12, dim=12, depth=2, heads=3, dim_head=6,
                        ff_mult=2, nb_features=8, causal=causal, **settings)
    folder, ids = begin(name, model, seed, None if causal else {"causal": False})
    model.double().eval()
    if hasattr(model.layer_pos_emb, "emb"):
        # The angles in double precision: the buffer was computed in single.
        frequency = 10000 ** (-torch.arange(0, 6, 2, dtype=torch.float64) / 6)
        angle = torch.arange(12).double()[:, None] * frequency
        model.layer_pos_emb.emb = torch.cat([angle.sin(), angle.cos()], -1)
    found = []

    def hook(module, inputs, output):
        q, k, v = inputs
        found.append(performer_matrix(module, q, k))
        assert (found[-1] @ v - output).abs().max() < 1e-12

    for module in model.modules():
        if isinstance(module, FastAttention):
            module.register_forward_hook(hook)
    with torch.no_grad():
        hidden = model(ids, return_encodings=True)
        count = len(found)
        logits = model(ids) if causal else None
    save(folder, ids, found[:count], hidden, logits)


def write_linformer(name, seed, **settings):
    model = LinformerLM(num_tokens=WORDS, dim=16, seq_len=12, depth=2, k=4, heads=8, **settings)
    folder, ids = begin(name, model, seed)
    model.double().eval()
    found = []

    def hook(module, inputs, output):
        x, count = inputs[0], module.heads
        q, k = module.to_q(x), module.to_k(x)
        v = k if module.share_kv else module.to_v(x)
        e = module.proj_k[:x.shape[1]].T
        f = e if module.share_kv else module.proj_v[:x.shape[1]].T
        q, k, v = (t.unflatten(-1, (-1, module.dim_head)).transpose(1, 2) for t in (q, k, v))
        scores = q @ (e @ k).transpose(-1, -2) / module.dim_head ** 0.5
        matrix = scores.softmax(-1) @ f
        attended = module.to_out((matrix @ v).transpose(1, 2).flatten(2))
        assert (attended - output).abs().max() < 1e-12
        found.append(matrix.expand(-1, count, -1, -1))

    for module in model.modules():
        if isinstance(module, LinformerSelfAttention):
            module.register_forward_hook(hook)
    states = []
    model.linformer.register_forward_hook(lambda module, inputs, output: states.append(output))
    with torch.no_grad():
        model(ids)
    save(folder, ids, found, states[0])


def main():
    write_linformer("linformer", 64)
    write_linformer("linformer-shared", 65, share_kv=True, one_kv_head=True)
    write_performer("performer", 61, True)
    write_performer("performer-learned", 62, True, rotary_position_emb=False, tie_embed=True,
                    ff_glu=True, qkv_bias=True, attn_out_bias=True)
    write_performer("performer-encoder", 63, False)


if __name__ == "__main__":
    main()
