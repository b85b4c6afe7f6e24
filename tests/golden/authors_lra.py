# SPDX-License-Identifier: MIT
"""Checkpoints of the paper's Long Range Arena code (folder lra), and a reference for them.

The reference follows the equations of the training code, in float64, with one form for each kind of
attention; it shares no code with the toolkit.
"""

import math

import torch

from golden import DOUBLE, Draw, layer_norm, linear, square_distance

DIM, HEADS, HEAD_DIM, HIDDEN, LENGTH, LAYERS, WORDS, CLASSES = 12, 2, 5, 14, 9, 2, 30, 3
WIDTH = HEADS * HEAD_DIM
MAPPED = 3


def put_linear(sd, draw, name, out, into):
    sd[name + ".weight"] = draw.weight(out, into)
    sd[name + ".bias"] = draw.normal(out, spread=0.3)


def put_norm(sd, draw, name):
    sd[name + ".weight"] = draw.normal(DIM, mean=1, spread=0.3)
    sd[name + ".bias"] = draw.normal(DIM, spread=0.3)


def put_prior(sd, draw, name, prior):
    """A learned prior beyond its bounds is clamped; soft-E keeps the prior of key 1."""
    if prior == "learned":
        sd[name] = torch.stack([draw.uniform(low=0.2, high=0.8), draw.uniform(low=1.1, high=1.5)])
    elif prior == "em":
        sd[name] = draw.uniform(HEADS, LENGTH)


def put_attention(sd, draw, at, kind, keys, prior):
    """keys: 1, "projected" (W_k2) or "shifted" (mu)."""
    for name in ["W_q", "W_k", "W_v"] + ["W_k2"] * (keys == "projected"):
        put_linear(sd, draw, at + name, WIDTH, DIM)
    shifts = draw.normal(2, HEADS, HEAD_DIM, spread=0.7)
    if keys == "shifted" and kind == "mgk":
        sd[at + "attn.multi_gauss_kernel.mu"] = shifts
        put_prior(sd, draw, at + "attn.multi_gauss_kernel.pi", prior)
        if prior == "learned":  # one parameter under two names; the buffer of soft-E has one
            sd[at + "attn.pi"] = sd[at + "attn.multi_gauss_kernel.pi"]
    elif keys != 1:
        if keys == "shifted":
            sd[at + "attn.mu"] = shifts
        put_prior(sd, draw, at + "attn.pi", prior)
    if kind == "linformer":
        sd[at + "attn.E"] = Draw("E").normal(HEADS, MAPPED, LENGTH, spread=0.7)  # of all layers
    put_linear(sd, draw, at + "ff", DIM, WIDTH)


def state_dict(name, kind, keys, prior, dual):
    draw, sd = Draw(name), {}
    sd["model.embeddings.word_embeddings.weight"] = draw.normal(WORDS, DIM)
    sd["model.embeddings.position_embeddings.weight"] = draw.normal(LENGTH, DIM)
    for layer in range(LAYERS):
        at = f"model.transformer_{layer}."
        put_norm(sd, draw, at + "norm1")
        put_attention(sd, draw, at + "mha.", kind, keys, prior)
        put_norm(sd, draw, at + "norm2")
        put_linear(sd, draw, at + "mlpblock.0", HIDDEN, DIM)
        put_linear(sd, draw, at + "mlpblock.3", DIM, HIDDEN)
    put_norm(sd, draw, "model.norm")
    put_linear(sd, draw, "seq_classifer.mlpblock.0", HIDDEN, 4 * DIM if dual else DIM)
    put_linear(sd, draw, "seq_classifer.mlpblock.2", CLASSES, HIDDEN)
    return sd


def split_heads(x):
    """[B, N, H·D] to [B, H, N, D]."""
    return x.view(*x.shape[:2], HEADS, HEAD_DIM).transpose(1, 2)


def both_keys(sd, at, x):
    """k_1 and k_2, [B, H, N, D]; shifts are subtracted."""
    key = split_heads(linear(x, sd, at + "W_k"))
    if at + "W_k2.weight" in sd:
        return key, split_heads(linear(x, sd, at + "W_k2"))
    shift = sd.get(at + "attn.mu", sd.get(at + "attn.multi_gauss_kernel.mu"))
    return key - shift[0][:, None, :], key - shift[1][:, None, :]


def both_priors(sd, at):
    """π_1 and π_2, to multiply [B, H, N, N], whose last axis is keys; None for hard-E."""
    pi = sd.get(at + "attn.pi", sd.get(at + "attn.multi_gauss_kernel.pi"))
    if pi is None:
        return None
    if pi.dim() == 1:
        return pi.clamp(0, 1)
    return pi[:, None, :], 1 - pi[:, None, :]


def gaussian(sd, at, q, x, mask):
    scores = [torch.exp(-square_distance(q, k) / (2 * math.sqrt(HEAD_DIM)))
              for k in both_keys(sd, at, x)]
    priors = both_priors(sd, at)
    mixed = torch.maximum(*scores) if priors is None else \
        priors[0] * scores[0] + priors[1] * scores[1]
    mixed = mixed * mask[:, None, None, :]
    return mixed / mixed.sum(-1, keepdim=True)


def elu_plus_one(x):
    return torch.where(x > 0, x + 1, torch.exp(x))


def features(sd, at, kind, q, x, mask):
    """Divides queries and keys by N^(1/4), where N includes padding; mixes keys first and does not
    normalise rows."""
    key = split_heads(linear(x, sd, at + "W_k"))
    if kind != "linear":
        (k1, k2), (p1, p2) = both_keys(sd, at, x), both_priors(sd, at)
        key = p1 * k1 + p2 * k2
    scores = elu_plus_one(q) @ elu_plus_one(key).transpose(-1, -2) / math.sqrt(LENGTH)
    return scores * mask[:, None, None, :]


def attention(sd, at, kind, x, mask):
    q = split_heads(linear(x, sd, at + "W_q"))
    if kind == "softmax":
        k = split_heads(linear(x, sd, at + "W_k"))
        scores = torch.exp(q @ k.transpose(-1, -2) / math.sqrt(HEAD_DIM)) * mask[:, None, None, :]
        return scores / scores.sum(-1, keepdim=True)
    if kind == "linformer":
        k = split_heads(linear(x, sd, at + "W_k")) * mask[:, None, :, None]
        e = sd[at + "attn.E"]
        scores = torch.exp(q @ (e @ k).transpose(-1, -2) / math.sqrt(HEAD_DIM))
        return scores / scores.sum(-1, keepdim=True) @ e * mask[:, None, None, :]
    if kind == "mgk":
        return gaussian(sd, at, q, x, mask)
    return features(sd, at, kind, q, x, mask)


def gelu(x):
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def encode(sd, kind, ids):
    """Attention [L, B, H, N, N], 0 outside the valid block, and final hidden states [B, N, C]."""
    mask, matrices = (ids != 0).to(DOUBLE), []
    x = sd["model.embeddings.word_embeddings.weight"][ids] + \
        sd["model.embeddings.position_embeddings.weight"]
    for layer in range(LAYERS):
        at = f"model.transformer_{layer}."
        h = layer_norm(x, sd, at + "norm1")
        matrix = attention(sd, at + "mha.", kind, h, mask)
        attended = matrix @ split_heads(linear(h, sd, at + "mha.W_v"))
        x = x + linear(attended.transpose(1, 2).reshape(*ids.shape, WIDTH), sd, at + "mha.ff")
        h = layer_norm(x, sd, at + "norm2")
        x = x + linear(gelu(linear(h, sd, at + "mlpblock.0")), sd, at + "mlpblock.3")
        matrices.append(matrix * mask[:, None, :, None])
    return torch.stack(matrices), layer_norm(x, sd, "model.norm") * mask[..., None]


def classify(sd, hidden, dual):
    """Pools over all N positions, including padding."""
    pooled = hidden.mean(1)
    if dual:
        a, b = pooled[0::2], pooled[1::2]
        pooled = torch.cat([a, b, a * b, a - b], -1)
    h = torch.relu(linear(pooled, sd, "seq_classifer.mlpblock.0"))
    return linear(h, sd, "seq_classifer.mlpblock.2")


def expect(name, sd, kind, dual):
    draw = Draw(name + " input")
    lengths = torch.tensor([LENGTH, 4, LENGTH - 1, 1])
    ids = draw.ids(4, LENGTH, low=1, high=WORDS)
    padding = torch.arange(LENGTH)[None, :] >= lengths[:, None]
    sd = {n: t.to(DOUBLE) for n, t in sd.items()}
    matrices, hidden = encode(sd, kind, ids.masked_fill(padding, 0))
    return {"ids": ids.masked_fill(padding, -1), "attention": matrices, "hidden": hidden,
            "logits": classify(sd, hidden, dual)}


def checkpoints():
    """Name, object to save, keyword arguments of torch.save, and expected values of each checkpoint."""
    rows = [  # name, kind, keys, prior, dual, prefix of the names
        ("softmax", "softmax", 1, None, False, "module."),
        ("linformer", "linformer", 1, None, False, ""),
        ("mgk", "mgk", "projected", "learned", True, ""),
        ("mgk_em", "mgk", "projected", "em", False, ""),
        ("mgk_hard", "mgk", "projected", "hard", False, ""),
        ("smgk", "mgk", "shifted", "learned", True, "module."),
        ("smgk_em", "mgk", "shifted", "em", False, ""),
        ("smgk_hard", "mgk", "shifted", "hard", False, ""),
        ("linear", "linear", 1, None, False, ""),
        ("mlk", "mlk", "projected", "learned", False, ""),
        ("smlk", "smlk", "shifted", "learned", True, ""),
    ]
    for name, kind, keys, prior, dual, prefix in rows:
        sd = state_dict("lra " + name, kind, keys, prior, dual)
        saved = {"model_state_dict": {prefix + n: t for n, t in sd.items()}}
        yield "lra_" + name, saved, {}, expect("lra " + name, sd, kind, dual)
