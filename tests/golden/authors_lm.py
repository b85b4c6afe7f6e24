# SPDX-License-Identifier: MIT
"""Checkpoints of the paper's language-model code (folder lmtool-fwms), and a reference for them.

Pickled modules refer to classes of the code that trained them; empty classes replace these here. The
reference follows the equations, in float64, one sequence at a time.
"""

import math
import re
import sys
import types

import torch
from torch import nn

from golden import DOUBLE, Draw, layer_norm, linear, square_distance

DIM, HEADS, HEAD_DIM, HIDDEN, LENGTH, LAYERS, WORDS = 12, 2, 5, 14, 8, 2, 31
WIDTH = HEADS * HEAD_DIM


class Shape:
    """The properties in which checkpoints differ: attn_type 2 or 200 with its update mode, the
    embedding."""

    def __init__(self, mode=None, embed=DIM, cutoffs=(), divide=1, tied=True):
        self.mode, self.embed, self.cutoffs, self.divide = mode, embed, list(cutoffs), divide
        self.tied = tied
        self.two_keys = mode is not None and mode.endswith("2keys")
        self.ends = [0] + self.cutoffs + [WORDS]

    def part(self, i):
        """Words of part i of the vocabulary, and the width of their embedding."""
        return self.ends[i + 1] - self.ends[i], self.embed // self.divide ** i

    def projected(self):
        return self.divide != 1 or self.embed != DIM


def put_embedding(sd, draw, shape):
    """With div_val 1 there is one table, and a projection if its width differs from the model's."""
    for i in range(1 if shape.divide == 1 else len(shape.cutoffs) + 1):
        words, width = (WORDS, shape.embed) if shape.divide == 1 else shape.part(i)
        sd[f"word_emb.emb_layers.{i}.weight"] = draw.normal(words, width, spread=0.5)
        if shape.projected():
            sd[f"word_emb.emb_projs.{i}"] = draw.weight(DIM, width)


def put_attention(sd, draw, at, shape):
    sd[at + "q_net.weight"] = draw.weight(WIDTH, DIM)
    sd[at + "kv_net.weight"] = draw.weight((3 if shape.two_keys else 2) * WIDTH, DIM)
    if shape.mode and not shape.two_keys:
        sd[at + "mu"] = draw.normal(2, HEADS, HEAD_DIM, spread=0.7)
    if shape.mode and shape.mode.startswith("soft"):
        sd[at + "pi"] = draw.uniform(HEADS, 1, 1, LENGTH)
    if shape.mode and shape.mode.startswith("rbf"):  # some are clamped
        sd[at + "pi0"] = draw.uniform(HEADS, 1, 1, LENGTH, low=-0.2, high=1.2)
        sd[at + "pi1"] = draw.uniform(HEADS, 1, 1, LENGTH, low=0.1, high=1.2)
    sd[at + "o_net.weight"] = draw.weight(DIM, WIDTH)


def put_norm(sd, draw, name):
    sd[name + ".weight"] = draw.normal(DIM, mean=1, spread=0.3)
    sd[name + ".bias"] = draw.normal(DIM, spread=0.3)


def put_output(sd, draw, shape):
    """Tables are tied to the embedding, and so are projections, except the head's."""
    clusters = len(shape.cutoffs)
    if clusters:
        sd["crit.cluster_weight"] = draw.weight(clusters, shape.embed)
        sd["crit.cluster_bias"] = draw.normal(clusters, spread=0.3)
    for i in range(1 if shape.divide == 1 else clusters + 1):
        table = sd[f"word_emb.emb_layers.{i}.weight"]
        sd[f"crit.out_layers.{i}.weight"] = table if shape.tied else draw.weight(*table.shape)
        sd[f"crit.out_layers.{i}.bias"] = draw.normal(len(table), spread=0.3)
    for i in range(clusters + 1 if shape.projected() else 0):
        own = draw.weight(DIM, shape.part(i)[1])
        tied = sd[f"word_emb.emb_projs.{0 if shape.divide == 1 else i}"]
        sd[f"crit.out_projs.{i}"] = tied if i and shape.tied else own


def state_dict(name, shape):
    draw, sd = Draw(name), {}
    put_embedding(sd, draw, shape)
    for layer in range(LAYERS):
        at = f"layers.{layer}."
        put_attention(sd, draw, at + "dec_attn.", shape)
        put_norm(sd, draw, at + "dec_attn.layer_norm")
        for part, out, into in (("0", HIDDEN, DIM), ("3", DIM, HIDDEN)):
            sd[at + f"pos_ff.CoreNet.{part}.weight"] = draw.weight(out, into)
            sd[at + f"pos_ff.CoreNet.{part}.bias"] = draw.normal(out, spread=0.3)
        put_norm(sd, draw, at + "pos_ff.layer_norm")
    put_output(sd, draw, shape)
    sd["pos_emb.inv_freq"] = 1 / 10000 ** (torch.arange(0, DIM, 2) / DIM)
    return sd


# Modules: pickles find the classes of the training code by these names.

CLASSES = [  # of what stands at a path; the first that matches
    (r"", "mem_transformer", "MemTransformerLM"),
    (r"word_emb", "mem_transformer", "AdaptiveEmbedding"),
    (r"pos_emb", "mem_transformer", "PositionalEmbedding"),
    (r"layers\.\d+", "mem_transformer", "DecoderLayer"),
    (r"layers\.\d+\.dec_attn", "mem_transformer", None),
    (r"layers\.\d+\.pos_ff", "mem_transformer", "PositionwiseFF"),
    (r"crit", "utils.proj_adaptive_softmax", "ProjectedAdaptiveLogSoftmax"),
    (r".*_projs", nn.ParameterList),
    (r".*layer_norm", nn.LayerNorm),
    (r"word_emb\.emb_layers\.\d+", nn.Embedding),
    (r".*CoreNet", nn.Sequential),
    (r"layers|.*_layers", nn.ModuleList),
    (r".*", nn.Linear),
]


def stand_in(module, name):
    """Creates the class `name` of a module; neither needs to exist."""
    for end in [at.start() for at in re.finditer(r"\.|$", module)]:
        made = sys.modules.setdefault(module[:end], types.ModuleType(module[:end]))
    if not hasattr(made, name):
        setattr(made, name, type(name, (nn.Module,), {"__module__": module}))
    return getattr(made, name)


def class_at(path, shape):
    row = next(row for row in CLASSES if re.fullmatch(row[0], path))
    if len(row) == 2:
        return row[1]
    return stand_in(row[1], row[2] or ("MGKAttn" if shape.mode else "MultiHeadAttn"))


def attributes_at(path, shape):
    common = {"n_head": HEADS, "d_model": DIM, "d_head": HEAD_DIM}
    if path == "":
        return common | {"n_token": WORDS, "d_embed": shape.embed, "n_layer": LAYERS,
                         "attn_type": 200 if shape.mode else 2, "no_pos": False, "tgt_len": LENGTH,
                         "mem_len": 0, "ext_len": 0, "max_klen": LENGTH, "sample_softmax": -1,
                         "same_length": False, "clamp_len": -1}
    if path.endswith("dec_attn"):
        mode = {"update_mode": shape.mode} if shape.mode else {}
        return common | mode | {"scale": 1 / math.sqrt(HEAD_DIM), "pre_lnorm": False}
    if path.endswith("pos_ff"):
        return {"pre_lnorm": False}
    if path in ("word_emb", "crit"):
        return {"cutoffs": shape.cutoffs + [WORDS], "div_val": shape.divide, "n_token": WORDS}
    return {}


BUFFERS = ("pi", "inv_freq")


def module(sd, shape, path="", made=None):
    """The tree of modules with this state dict; tied tensors stay tied."""
    made = {} if made is None else made
    kind = class_at(path, shape)
    out = kind.__new__(kind)
    nn.Module.__init__(out)
    for name, value in attributes_at(path, shape).items():
        setattr(out, name, value)
    inside = [n[len(path) + 1 if path else 0:] for n in sd
              if not path or n.startswith(path + ".")]
    for name in dict.fromkeys(n.split(".")[0] for n in inside):
        full = f"{path}.{name}" if path else name
        if full not in sd:
            out.add_module(name, module(sd, shape, full, made))
        elif name in BUFFERS:
            out.register_buffer(name, sd[full])
        else:
            tensor = sd[full]
            out.register_parameter(name, made.setdefault(id(tensor), nn.Parameter(tensor)))
    return out


# The reference.

def embed(sd, shape, ids):
    tables = []
    for i in range(1 if shape.divide == 1 else len(shape.cutoffs) + 1):
        table = sd[f"word_emb.emb_layers.{i}.weight"]
        tables.append(table @ sd[f"word_emb.emb_projs.{i}"].T if shape.projected() else table)
    return torch.cat(tables)[ids] * math.sqrt(DIM)


def positions(n):
    """Position embeddings: the first token has the largest position."""
    t = torch.arange(n - 1, -1, -1, dtype=DOUBLE)[:, None]
    angles = t / 10000 ** (torch.arange(0, DIM, 2, dtype=DOUBLE) / DIM)
    return torch.cat([torch.sin(angles), torch.cos(angles)], -1)


def split_heads(x):
    """[N, H·D] to [H, N, D]."""
    return x.view(len(x), HEADS, HEAD_DIM).transpose(0, 1)


def attention(sd, at, shape, x):
    """Causal matrices [H, N, N] and values [H, N, D]."""
    n, scale = len(x), 1 / math.sqrt(HEAD_DIM)
    mask = torch.tril(torch.ones(n, n, dtype=DOUBLE))
    q = split_heads(x @ sd[at + "q_net.weight"].T)
    *keys, v = (split_heads(part) for part in
                (x @ sd[at + "kv_net.weight"].T).chunk(3 if shape.two_keys else 2, -1))
    if not shape.mode:
        scores = torch.exp(q @ keys[0].transpose(-1, -2) * scale) * mask
        return scores / scores.sum(-1, keepdim=True), v
    if not shape.two_keys:
        keys = [keys[0] - sd[at + "mu"][r][:, None, :] for r in range(2)]
    scores = [torch.exp(-factor * scale * square_distance(q, k)) * mask
              for factor, k in zip((0.5, 1.5), keys)]
    if shape.mode.startswith("hard"):
        best = torch.maximum(*scores)
        return best / best.sum(-1, keepdim=True), v
    if shape.mode.startswith("soft"):
        priors = sd[at + "pi"][:, 0, :, :n], 1 - sd[at + "pi"][:, 0, :, :n]
    else:
        priors = (sd[at + name][:, 0, :, :n].clamp(0, 1) for name in ("pi0", "pi1"))
    mixed = sum(p * s for p, s in zip(priors, scores))
    return mixed / (mixed.sum(-1, keepdim=True) + 1e-6), v


def run(sd, shape, ids):
    """Attention [L, H, N, N] and hidden states [N, C] of one sequence."""
    x, matrices = embed(sd, shape, ids) + positions(len(ids)), []
    for layer in range(LAYERS):
        at = f"layers.{layer}."
        matrix, value = attention(sd, at + "dec_attn.", shape, x)
        attended = (matrix @ value).transpose(0, 1).reshape(len(ids), WIDTH)
        x = layer_norm(x + attended @ sd[at + "dec_attn.o_net.weight"].T, sd,
                       at + "dec_attn.layer_norm")
        h = linear(torch.relu(linear(x, sd, at + "pos_ff.CoreNet.0")), sd, at + "pos_ff.CoreNet.3")
        x = layer_norm(x + h, sd, at + "pos_ff.layer_norm")
        matrices.append(matrix)
    return torch.stack(matrices), x


def logits_of(sd, shape, hidden, i):
    """Logits of the words of part i of the vocabulary; in part 0 the clusters follow the words."""
    table = 0 if shape.divide == 1 else i
    first = shape.ends[i] if shape.divide == 1 else 0
    own = slice(first, first + shape.part(i)[0])
    weight = sd[f"crit.out_layers.{table}.weight"][own]
    bias = sd[f"crit.out_layers.{table}.bias"][own]
    if i == 0 and shape.cutoffs:
        weight = torch.cat([weight, sd["crit.cluster_weight"]])
        bias = torch.cat([bias, sd["crit.cluster_bias"]])
    if shape.projected():
        hidden = hidden @ sd[f"crit.out_projs.{i}"]
    return hidden @ weight.T + bias


def log_probability(sd, shape, hidden, word):
    """Cluster i's entry of the head is the i-th from the end: the order is reversed."""
    head = torch.log_softmax(logits_of(sd, shape, hidden, 0), -1)
    i = sum(word >= cut for cut in shape.cutoffs)
    if i == 0:
        return head[word]
    return head[-i] + torch.log_softmax(logits_of(sd, shape, hidden, i), -1)[word - shape.ends[i]]


def expect(name, sd, shape):
    draw, lengths = Draw(name + " input"), [LENGTH, 5, 1]
    sd = {n: t.to(DOUBLE) for n, t in sd.items()}
    ids, losses = torch.full((len(lengths), LENGTH), -1), []
    matrices = torch.zeros(LAYERS, len(lengths), HEADS, LENGTH, LENGTH, dtype=DOUBLE)
    hidden = torch.zeros(len(lengths), LENGTH, DIM, dtype=DOUBLE)
    for b, n in enumerate(lengths):
        ids[b, :n] = draw.ids(n, high=WORDS)
        matrices[:, b, :, :n, :n], hidden[b, :n] = run(sd, shape, ids[b, :n])
        losses += [-log_probability(sd, shape, hidden[b, t], int(ids[b, t + 1]))
                   for t in range(n - 1)]
    loss = torch.stack([sum(losses), torch.tensor(float(len(losses)))])
    return {"ids": ids, "attention": matrices, "hidden": hidden, "loss": loss}


def checkpoints():
    """Name, object to save, keyword arguments of torch.save, and expected values of each checkpoint."""
    legacy = {"_use_new_zipfile_serialization": False}
    rows = [  # name, shape, whole module or state dict, container
        ("softmax", Shape(), True, {}),
        ("softmax_state", Shape(cutoffs=[10, 18], divide=2, embed=8), False, {}),
        ("rbf", Shape("rbf", cutoffs=[10, 18]), True, legacy),
        ("rbf2keys", Shape("rbf2keys", cutoffs=[10, 11, 18], embed=7), True, {}),
        ("soft", Shape("soft", tied=False), False, legacy),
        ("soft2keys", Shape("soft2keys", embed=7, tied=False), False, {}),
        ("hard", Shape("hard"), True, {}),
        ("hard2keys", Shape("hard2keys"), False, legacy),
    ]
    for name, shape, whole, container in rows:
        sd = state_dict("lm " + name, shape)
        saved = module(sd, shape) if whole else {"module." + n: t for n, t in sd.items()}
        yield "lm_" + name, saved, container, expect("lm " + name, sd, shape)
