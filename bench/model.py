# SPDX-License-Identifier: MIT
"""The models of mgk-train written in PyTorch, as a user would write them.

Modules and parameters are named as the tensors in the toolkit's files, so that load_state_dict
is strict: a missing, extra or misshapen tensor is an error. Letters: B batch, N tokens, H heads,
M keys per head and position, D head dimension, C model dimension.
"""

import json
import math
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

# Attention takes q [B, H, N, D], k [B, M, H, N, D], v [B, H, N, D], prior (broadcasts to [M, H, N];
# None for softmax), variance [M], hidden (bool, broadcasts to [B, H, N, N]: query i does not see
# key j; None: it sees all) and causal. It returns [B, H, N, D] and the matrices [B, H, N, N], or
# None if it does not compute them.


def softmax_explicit(q, k, v, prior, variance, hidden, causal):
    scores = q @ k[:, 0].transpose(-1, -2) / math.sqrt(q.shape[-1])
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    weights = scores.softmax(-1)
    return weights @ v, weights


def softmax_fused(q, k, v, prior, variance, hidden, causal):
    if causal:
        return F.scaled_dot_product_attention(q, k[:, 0], v, is_causal=True), None
    mask = None if hidden is None else ~hidden
    return F.scaled_dot_product_attention(q, k[:, 0], v, attn_mask=mask), None


def squared_distances(q, k):
    """By the binomial formula, as the paper's language-model code does."""
    squares = (q * q).sum(-1).unsqueeze(-1) + (k * k).sum(-1).unsqueeze(-2)
    return squares - 2 * q @ k.transpose(-1, -2)


def squared_cdist(q, k):
    """By torch.cdist, as the paper's LRA code does."""
    return torch.cdist(q, k).square()


def mixture(distances):
    """MGK attention as published: not in log space, so distant keys underflow."""

    def attention(q, k, v, prior, variance, hidden, causal):
        prior = prior.clamp(0, 1)
        scores = 0
        for r, sigma in enumerate(variance):
            density = torch.exp(distances(q, k[:, r]) / (-2 * sigma))
            scores = scores + prior[r].unsqueeze(-2) * density
        if hidden is not None:
            scores = scores.masked_fill(hidden, 0)
        weights = scores / scores.sum(-1, keepdim=True)
        return weights @ v, weights

    return attention


def mixture_fused(q, k, v, prior, variance, hidden, causal):
    """MGK with one variance as softmax over the M N keys with a bias, for the fused operation.

    -|q - k|^2 / 2s = (q k - |k|^2 / 2) / s - |q|^2 / 2s, and the last term cancels in a row. The
    bias is one more dimension of the keys, against a 1 in the queries.
    """
    if len(set(variance)) > 1:
        raise ValueError("the fused form needs equal variances")
    sigma = variance[0]
    mixtures, width = k.shape[1], q.shape[-1] + 1
    bias = prior.clamp(0, 1).log() - k.square().sum(-1) / (2 * sigma)  # [B, M, H, N]
    keys = torch.cat([k / sigma, bias.unsqueeze(-1)], -1).transpose(1, 2).flatten(2, 3)
    queries = F.pad(q, (0, 1), value=1.0)
    values = F.pad(v, (0, 1)).repeat(1, 1, mixtures, 1)  # as wide as the keys: the fast path
    mask = None if hidden is None else ~hidden.repeat(1, 1, 1, mixtures)
    out = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, scale=1.0)
    return out[..., : width - 1], None


# Implementations of each kind; the first one returns the matrices.
ATTENTION = {
    "softmax": {"explicit": softmax_explicit, "fused": softmax_fused},
    "mgk": {
        "expanded": mixture(squared_distances),
        "cdist": mixture(squared_cdist),
        "fused": mixture_fused,
    },
}


class Attention(nn.Module):
    def __init__(self, config, function):
        super().__init__()
        self.function = function
        self.causal = config["causal"]
        self.heads, self.mixtures = config["heads"], config["mixtures"]
        self.variance = config["variance"]
        dim, width, bias = config["dim"], self.heads * config["head_dim"], config["attention_bias"]
        self.query = nn.Linear(dim, width, bias)
        self.key = nn.Linear(dim, self.mixtures * width, bias)
        self.value = nn.Linear(dim, width, bias)
        self.output = nn.Linear(width, dim, bias)
        if config["attention"] == "mgk":
            shape = {"layer": (), "head": (self.heads,), "position": (self.heads,)}
            last = (config["length"],) if config["prior_shape"] == "position" else ()
            shape = shape[config["prior_shape"]] + (self.mixtures,) + last
            self.prior = nn.Parameter(torch.full(shape, 1 / self.mixtures))

    def broadcast_prior(self, tokens):
        """The prior as [M, H or 1, N or 1]."""
        prior = getattr(self, "prior", None)
        if prior is None:
            return None
        if prior.dim() == 1:
            return prior.view(-1, 1, 1)
        if prior.dim() == 2:
            return prior.t().unsqueeze(-1)
        return prior[..., :tokens].transpose(0, 1)

    def forward(self, x, hidden):
        batch, tokens, _ = x.shape
        q = self.query(x).view(batch, tokens, self.heads, -1).transpose(1, 2)
        k = self.key(x).view(batch, tokens, self.mixtures, self.heads, -1).permute(0, 2, 3, 1, 4)
        v = self.value(x).view(batch, tokens, self.heads, -1).transpose(1, 2)
        prior = self.broadcast_prior(tokens)
        out, weights = self.function(q, k, v, prior, self.variance, hidden, self.causal)
        return self.output(out.transpose(1, 2).reshape(batch, tokens, -1)), weights


class Layer(nn.Module):
    def __init__(self, config, function):
        super().__init__()
        dim, hidden, epsilon = config["dim"], config["hidden"], config["norm_epsilon"]
        self.pre_norm = config["pre_norm"]
        self.activation = F.gelu if config["activation"] == "gelu" else F.relu
        self.attention = Attention(config, function)
        self.feed_forward = nn.ModuleDict(
            {"in": nn.Linear(dim, hidden), "out": nn.Linear(hidden, dim)}
        )
        self.norm1 = nn.LayerNorm(dim, epsilon)
        self.norm2 = nn.LayerNorm(dim, epsilon)

    def feed(self, x):
        return self.feed_forward["out"](self.activation(self.feed_forward["in"](x)))

    def forward(self, x, hidden):
        out, weights = self.attention(self.norm1(x) if self.pre_norm else x, hidden)
        if self.pre_norm:
            x = x + out
            return x + self.feed(self.norm2(x)), weights
        x = self.norm1(x + out)
        return self.norm2(x + self.feed(x)), weights


class Bias(nn.Module):
    """The output layer of a language model; its weight is the token embedding."""

    def __init__(self, size):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(size))


def sinusoids(length, dim):
    """[length, dim]: sines, then cosines."""
    rate = 10000 ** (-2 * torch.arange(dim // 2, dtype=torch.float64) / dim)
    angle = torch.arange(length, dtype=torch.float64).unsqueeze(1) * rate
    return torch.cat([angle.sin(), angle.cos()], 1)


class Model(nn.Module):
    """Without dropout."""

    def __init__(self, config, way):
        super().__init__()
        self.config = config
        dim = config["dim"]
        function = ATTENTION[config["attention"]][way]
        self.embedding = nn.ModuleDict({"token": nn.Embedding(config["vocabulary"], dim)})
        if config["positions"] == "learned":
            self.embedding["position"] = nn.Embedding(config["length"], dim)
        else:
            table = sinusoids(config["length"], dim).to(torch.get_default_dtype())
            self.register_buffer("positions", table, persistent=False)
        self.layers = nn.ModuleList(Layer(config, function) for _ in range(config["layers"]))
        if config["pre_norm"]:
            self.norm = nn.LayerNorm(dim, config["norm_epsilon"])
        if config["family"] == "lm":
            self.output = Bias(config["vocabulary"])
        else:
            features = 4 * dim if config["dual"] else dim
            self.classifier = nn.ModuleDict(
                {"hidden": nn.Linear(features, dim), "output": nn.Linear(dim, config["classes"])}
            )

    def hidden_keys(self, ids, lengths):
        """The keys that a query does not see; None if it sees all."""
        hidden, tokens, where = None, ids.shape[1], ids.device
        if self.config["causal"]:
            hidden = torch.ones(tokens, tokens, dtype=torch.bool, device=where).triu(1)[None, None]
        if lengths is not None and (lengths < tokens).any():
            padding = torch.arange(tokens, device=where) >= lengths[:, None]
            padding = padding[:, None, None, :]
            hidden = padding if hidden is None else hidden | padding
        return hidden

    def encode(self, ids, lengths, matrices=None):
        """Final states [B, N, C] of ids [B, N]; matrices, a list, gets each layer's weights.

        lengths None: no sample is padded.
        """
        tokens = ids.shape[1]
        x = self.embedding["token"](ids.clamp(min=0))
        if self.config["family"] == "lm":
            x = x * math.sqrt(self.config["dim"])
        learned = self.config["positions"] == "learned"
        x = x + (self.embedding["position"].weight if learned else self.positions)[:tokens]
        hidden = self.hidden_keys(ids, lengths)
        for layer in self.layers:
            x, weights = layer(x, hidden)
            if matrices is not None:
                matrices.append(weights)
        return self.norm(x) if self.config["pre_norm"] else x

    def logits(self, ids, lengths):
        """[B, N, V] of a language model, [B, classes], or [B / 2, classes] of pairs."""
        x = self.encode(ids, lengths)
        if self.config["family"] == "lm":
            return F.linear(x, self.embedding["token"].weight, self.output.bias)
        if lengths is None:
            x = x.mean(1)
        else:
            valid = (torch.arange(ids.shape[1]) < lengths[:, None]).unsqueeze(-1)
            x = (x * valid).sum(1) / lengths[:, None]
        if self.config["dual"]:
            x, y = x[0::2], x[1::2]
            x = torch.cat([x, y, x * y, x - y], 1)
        return self.classifier["output"](F.relu(self.classifier["hidden"](x)))

    def loss(self, ids, lengths, targets):
        """Mean cross-entropy; targets as logits without their last axis, -1 for none."""
        logits = self.logits(ids, lengths)
        return F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=-1)


def read_safetensors(path):
    """The configuration and the tensors of a model's file."""
    data = bytearray(Path(path).read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    config = json.loads(header.pop("__metadata__")["config"])
    dtypes = {"F32": torch.float32, "F64": torch.float64}
    weights = {
        name: torch.frombuffer(data, dtype=dtypes[entry["dtype"]], count=math.prod(entry["shape"]),
                               offset=start + entry["data_offsets"][0]).view(entry["shape"])
        for name, entry in header.items()
    }
    return config, weights


def load(path, way=None):
    """The model of a file of mgk-train, in the precision of its weights.

    `way` is a key of ATTENTION[kind]; None stands for the first, which gives the matrices.
    """
    config, weights = read_safetensors(path)
    way = way or next(iter(ATTENTION[config["attention"]]))
    torch.set_default_dtype(next(iter(weights.values())).dtype)
    model = Model(config, way)
    model.load_state_dict(weights)
    return model


def optimizer(model, rate, decay):
    """AdamW as in mgk-train: matrices decay; norms, biases and priors do not."""
    matrices, others = [], []
    for name, parameter in model.named_parameters():
        is_matrix = parameter.dim() == 2 and not name.endswith("prior")
        (matrices if is_matrix else others).append(parameter)
    groups = [
        {"params": matrices, "weight_decay": decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), eps=1e-9)


def update(model, adamw, ids, lengths, targets):
    """One training step, with the gradient's norm clipped at 1; returns the loss before it, a
    tensor."""
    adamw.zero_grad()
    loss = model.loss(ids, lengths, targets)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adamw.step()
    return loss


def step(model, adamw, ids, lengths, targets):
    """The same, and the loss as a number."""
    return update(model, adamw, ids, lengths, targets).item()
