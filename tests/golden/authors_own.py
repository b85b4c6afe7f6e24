# SPDX-License-Identifier: MIT
"""Writes tests/golden/authors/own_*: tiny checkpoints that the paper's own code makes and saves, and what that code
computes with them in float64.

    python3 tests/golden/authors_own.py FOLDER_OF_THEIR_CODE [FOLDER]

The code is github.com/minhtannguyen/transformer-mgk, commit 73608b3, which is not part of this repository. It needs
packages that are replaced here by a few lines: gpytorch's squared distances, and the CUDA kernels of fast weights, whose
recurrence is the causal sum below. Matrices are what goes into the dropout of attention; linear attention, which makes
none, gets that of its output's weights.
"""

import math
import pdb
import pickle
import sys
import types
from argparse import Namespace
from pathlib import Path

import torch
from torch import nn

from golden import DOUBLE, Draw, save_expected

HERE = Path(__file__).parent
LENGTH, WORDS = 9, 30


def module(name, **members):
    made = sys.modules.setdefault(name, types.ModuleType(name))
    made.__path__ = []
    for key, value in members.items():
        setattr(made, key, value)
    return made


class Distance(nn.Module):
    def _sq_dist(self, a, b, postprocess=False):
        return ((a[..., :, None, :] - b[..., None, :, :]) ** 2).sum(-1)


def causal_sum(query, key, value, start):
    """Σ_{j <= i} (q_i·k_j) v_j of [B, H, N, D]; `start` is 0."""
    return torch.tril(query @ key.transpose(-1, -2)) @ value


def randomise(model, name):
    """Numbers of every parameter and buffer, none of which is then what it began with."""
    draw = Draw(name)
    for key, tensor in model.state_dict().items():
        if key.endswith("inv_freq"):
            continue
        if key.endswith(("pi", "pi0", "pi1")):
            numbers = draw.uniform(*tensor.shape, low=0.2, high=0.9)
        elif "norm" in key and key.endswith("weight"):
            numbers = draw.normal(*tensor.shape, mean=1, spread=0.3)
        elif tensor.dim() == 2 and "emb" not in key:
            numbers = draw.weight(*tensor.shape)
        else:
            numbers = draw.normal(*tensor.shape, spread=0.5)
        tensor.copy_(numbers)


# LRA

LRA = dict(multi_gauss=False, save_attn=False, split_attn_type=False, fixed_pos_emb=False, norm_qk=False, mg_layer1=False,
           mg_layer2=False, key2=False, hard_em=False, soft_em=False, track_kk=False, add_performer=False,
           attention_grad_checkpointing=False, tied_weights=False, embedding_dim=12, transformer_dim=12,
           transformer_hidden_dim=14, head_dim=5, num_head=2, num_layers=2, vocab_size=WORDS, max_seq_len=LENGTH,
           dropout_prob=0.0, attention_dropout=0.0, pooling_mode="MEAN", num_classes=3, cls_token=False, debug=False,
           cls_last_layer=False, pi0=0.5, attn_type="softmax", mixed_precision=False)


def lra_matrices(model, ids, mask):
    """The matrices [L, B, H, N, N] of a run, and final hidden states."""
    found, handles = [], []

    def linear(layer):
        def keep(_, inputs, __):
            q, k, _, valid = inputs
            attention = layer.attn
            if layer.key2 or getattr(attention, "multi_gauss", False):
                dim = attention.head_dim
                k1, k2 = (k[..., :dim], k[..., dim:]) if layer.key2 else \
                    (k - attention.mu[0][None, :, None, :], k - attention.mu[1][None, :, None, :])
                pi = attention.pi.clamp(0, 1)
                k = k1 * pi[0] + k2 * pi[1]
            scores = (nn.functional.elu(q) + 1) @ (nn.functional.elu(k) + 1).transpose(-1, -2)
            found.append(scores / math.sqrt(q.shape[2]) * valid[:, None, None, :])
        return keep

    def none(_, inputs, __):
        q = inputs[0]
        found.append(torch.eye(q.shape[2], dtype=q.dtype).expand(*q.shape[:2], -1, -1))

    for layer in (m for m in model.modules() if type(m).__name__ == "Attention"):
        kind = type(layer.attn).__name__
        if kind == "SoftmaxAttention":
            handles.append(layer.attn.drop_attn.register_forward_pre_hook(lambda _, x: found.append(x[0])))
        else:
            handles.append(layer.attn.register_forward_hook(linear(layer) if kind == "LinearAttention" else none))
    hidden = model.model(ids, mask)
    for handle in handles:
        handle.remove()
    return torch.stack(found), hidden


def lra(name, **options):
    from model_wrapper import ModelForSC

    model = ModelForSC(Namespace(**{**LRA, **options})).eval()
    with torch.no_grad():
        randomise(model, name)
    saved = {"model_state_dict": {k: v.clone() for k, v in model.state_dict().items()}}
    torch.set_default_dtype(DOUBLE)  # of fixed positions, too
    model.double()
    draw = Draw(name + " input")
    ids = draw.ids(4, LENGTH, low=1, high=WORDS)
    lengths = [LENGTH, 5, LENGTH - 1, LENGTH]
    for row, length in enumerate(lengths):
        ids[row, length:] = 0
    if options.get("attn_type") != "none":
        ids[0, 3] = ids[2, 0] = ids[3, 2] = ids[3, 5] = 0  # inside of a sequence
    mask = (ids != 0).to(DOUBLE)
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        for m in model.modules():  # their attention runs in float32 whatever the model's precision is
            m.float = m.double
        torch.Tensor.float, kept = torch.Tensor.double, torch.Tensor.float
        matrices, hidden = lra_matrices(model, ids, mask)
        logits = model.seq_classifer(hidden)
        torch.Tensor.float = kept
    torch.set_default_dtype(torch.float32)
    for row, length in enumerate(lengths):
        matrices[:, row, :, length:] = 0
        hidden[row, length:] = 0
        ids[row, length:] = -1
    return saved, {"ids": ids, "attention": matrices, "hidden": hidden, "logits": logits}


# Language models

LM = dict(n_token=31, n_layer=2, n_head=2, d_model=12, d_head=5, d_inner=14, dropout=0.0, dropatt=0.0, tgt_len=8, ext_len=0,
          mem_len=0, device="cpu", d_embed=12)


def lm_matrices(model, ids):
    found, handles = [], []

    def fast(layer):
        def keep(_, inputs, kwargs, __):
            h = inputs[0].transpose(0, 1)
            h = layer.layer_norm(h) if layer.pre_lnorm else h
            parts = layer.qkv_net(h).view(*h.shape[:2], layer.n_head, -1).transpose(1, 2).split(layer.d_head, -1)
            unit = [nn.functional.elu(p) + 1 for p in parts[:-1]]
            unit = [p / p.sum(-1, keepdim=True) for p in unit]
            n = h.shape[1]
            key = unit[1] if len(unit) == 2 else sum(
                k * p.clamp(0, 1)[None, :, :n, None] for k, p in zip(unit[1:], (layer.pi0, layer.pi1)))
            scores = torch.tril(unit[0] @ key.transpose(-1, -2))
            found.append(scores / (scores.sum(-1, keepdim=True) + layer.eps))
        return keep

    for layer in (l.dec_attn for l in model.layers):
        kind = type(layer).__name__
        if hasattr(layer, "qkv_net") and not hasattr(layer, "r_net"):
            handles.append(layer.register_forward_hook(fast(layer), with_kwargs=True))
        elif kind == "LinearMultiHeadAttn":
            handles.append(layer.dropatt.register_forward_pre_hook(
                lambda _, x: found.append((x[0] / (x[0].sum(1, keepdim=True) + 1e-5)).permute(2, 3, 0, 1))))
        else:
            handles.append(layer.dropatt.register_forward_pre_hook(lambda _, x: found.append(x[0].permute(2, 3, 0, 1))))
    hidden, _ = model._forward(ids.T)
    for handle in handles:
        handle.remove()
    return torch.stack(found), hidden.transpose(0, 1)


def lm(name, whole=True, **options):
    from mem_transformer import MemTransformerLM

    torch.version.cuda = "10.0"
    given = {**LM, **options}
    cutoffs = given.get("cutoffs", [])
    model = MemTransformerLM(**given, tie_projs=[False] + [True] * len(cutoffs)).eval()
    for m in model.modules():  # priors are made for 256 tokens
        for key in ("pi", "pi0", "pi1"):
            if isinstance(getattr(m, key, None), torch.Tensor):
                own = getattr(m, key).detach()[..., :given["tgt_len"]].clone()
                setattr(m, key, nn.Parameter(own) if key in dict(m.named_parameters(recurse=False)) else own)
    with torch.no_grad():
        randomise(model, name)
    import io
    kept = io.BytesIO()
    torch.save(model if whole else model.state_dict(), kept)
    model.double()
    for m in model.modules():
        if hasattr(m, "inv_freq"):
            m.inv_freq = 1 / 10000 ** (torch.arange(0, m.demb, 2, dtype=DOUBLE) / m.demb)
    lengths, draw = [8, 5, 1], Draw(name + " input")
    n, heads, dim = given["tgt_len"], given["n_head"], given["d_model"]
    ids = torch.full((len(lengths), n), -1)
    matrices = torch.zeros(given["n_layer"], len(lengths), heads, n, n, dtype=DOUBLE)
    hidden, loss = torch.zeros(len(lengths), n, dim, dtype=DOUBLE), 0
    torch.set_default_dtype(DOUBLE)
    with torch.no_grad():
        for row, length in enumerate(lengths):
            ids[row, :length] = draw.ids(length, high=given["n_token"])
            found, out = lm_matrices(model, ids[row:row + 1, :length])
            matrices[:, row, :, :length, :length], hidden[row, :length] = found[:, 0], out[0]
            if length > 1:
                loss += model.crit(out[0, :-1], ids[row, 1:length], keep_order=True).sum()
    torch.set_default_dtype(torch.float32)
    steps = torch.tensor(float(sum(n - 1 for n in lengths)))
    return kept.getvalue(), {"ids": ids, "attention": matrices, "hidden": hidden,
                             "loss": torch.stack([loss, steps.to(DOUBLE)])}


def prepare(source):
    torch.utils.checkpoint  # imported before the stand-ins
    torch.Tensor.cuda = lambda self: self
    pdb.set_trace = lambda: None  # left in their MultiHeadAttn
    module("gpytorch")
    module("gpytorch.kernels")
    module("gpytorch.kernels.kernel", Distance=Distance)
    module("attention_transformer_ls", AttentionLS=None)
    module("attention_performer", PerformerAttention=None, TwoPerformerAttention=None)
    sys.path.insert(0, str(source / "lra"))
    lm_source = source / "language-modeling" / "lmtool-fwms" / "src"
    module("utils").__path__ = [str(lm_source / "utils")]
    for name, function in (("fast_fast_weight", "fast_weight_memory"), ("fast_transformers", "fast_weight_sum")):
        module("utils." + name, **{function: causal_sum})
    module("utils.fast_weight", **{n: nn.Module for n in (
        "StepWiseLinearTransformerLayer", "StepWiseDPFPLinearTransformerLayer", "DebugStepWiseLinearTransformerLayer")})
    torch.version.cuda = "10.0"
    sys.path.insert(0, str(lm_source))


LRA_FILES = [
    ("softmax", {}),
    ("softmax_fixed", {"fixed_pos_emb": True}),
    ("none", {"attn_type": "none"}),
    ("linear", {"attn_type": "linear"}),
    ("mgk", {"key2": True}),
    ("mgk_em", {"key2": True, "soft_em": True}),
    ("mgk_hard", {"key2": True, "hard_em": True}),
    ("smgk", {"multi_gauss": True}),
    ("mlk", {"attn_type": "linear", "key2": True}),
    ("tied", {"tied_weights": True}),
    ("layer1", {"multi_gauss": True, "mg_layer1": True}),
    ("layer2", {"multi_gauss": True, "mg_layer2": True}),
]

LM_FILES = [
    ("softmax", {"attn_type": 2}),
    ("linear", {"attn_type": 4}),
    ("fast", {"attn_type": 34}),
    ("mlk", {"attn_type": 400}),
    ("pre", {"attn_type": 2, "pre_lnorm": True}),
    ("no_pos", {"attn_type": 2, "no_pos": True}),
    ("no_pos_state", {"attn_type": 2, "no_pos": True, "pre_lnorm": True, "whole": False}),
    ("linear_state", {"attn_type": 4, "whole": False}),
    ("same", {"attn_type": 2, "same_length": True, "mem_len": 3}),
    ("clamp", {"attn_type": 2, "clamp_len": 8}),
    ("mgk_pre", {"attn_type": 200, "pre_lnorm": True}),
    ("adaptive", {"attn_type": 2, "cutoffs": [20, 100, 1000]}),
    ("xl", {"attn_type": 0}),  # refused
]


def samples():
    """Data of the Long Range Arena as their loader reads it: arrays of several types, and a list."""
    draw = Draw("samples")
    ids = [draw.ids(LENGTH, low=1, high=WORDS) for _ in range(4)]
    for row, length in zip(ids, (LENGTH, 5, LENGTH - 1, LENGTH)):
        row[length:] = 0
    rows = [ids[0].numpy(), ids[1].int().numpy(), ids[2].to(torch.uint8).numpy(), ids[3].tolist()]
    return [{"input_ids_0": row, "label": i % 2} for i, row in enumerate(rows)], torch.stack(ids)


def corpus(folder):
    """The cache.pt that their language-model code makes of texts, and its ids of the test text."""
    import tempfile
    from data_utils import get_lm_corpus
    with tempfile.TemporaryDirectory() as texts:
        for part, words in (("train", 40), ("valid", 10), ("test", 23)):
            numbers = Draw(part).ids(words, high=30).tolist() if part != "train" else range(30)
            Path(texts, part + ".txt").write_text(" ".join(f"w{i}" for i in numbers) + "\n")
        made = get_lm_corpus(texts, "wt103")
        Path(folder, "cache.pt").write_bytes(Path(texts, "cache.pt").read_bytes())
    n = LM["tgt_len"]
    rows = made.test[:len(made.test) // n * n].view(-1, n)
    Path(folder, "cache.txt").write_text("".join(" ".join(map(str, row)) + "\n" for row in rows.tolist()))


def main():
    source = Path(sys.argv[1])
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "authors"
    prepare(source)
    corpus(folder)
    data, ids = samples()
    (folder / "samples.pickle").write_bytes(pickle.dumps(data))
    (folder / "samples.txt").write_text("".join(
        " ".join(str(int(i)) for i in row if i) + "\n" for row in ids))
    for name, options in LRA_FILES:
        saved, expected = lra("lra_own_" + name, **options)
        torch.save(saved, folder / f"lra_own_{name}.pt")
        save_expected(folder / f"lra_own_{name}.safetensors", expected)
    for name, options in LM_FILES:
        saved, expected = lm("lm_own_" + name, **options)
        (folder / f"lm_own_{name}.pt").write_bytes(saved)
        save_expected(folder / f"lm_own_{name}.safetensors", expected)


if __name__ == "__main__":
    main()
