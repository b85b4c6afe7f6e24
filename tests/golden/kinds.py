#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/kinds: what public implementations of kinds of attention say about random queries,
keys and values. tests/kernels/kinds/test_golden_kinds.c compares.

    python tests/golden/kinds.py CLONES [FOLDER]

needs torch 2.15.0, numpy 2.4.6, transformers 5.24.0 and einops 0.8.2. CLONES is a folder with clones of
the repositories in COMMITS, from which single functions and classes are read and run; nothing of theirs
is kept but numbers. All of them compute in double precision here; where their code names another one,
`replaced` changes it.

A file is of one kind and one reference, with float64 tensors
    query, key, value  [B, N, H, D]
    extra              [B, N, E]       further numbers of tokens, if the kind has some
    PARAMETER                          of the kind, by its name
    output             [B, N, H, D]
    matrix             [B, H, N, N]    of kinds that have one
In files of kinds that read the layer below, all have the layers as their first axis.

Matrices are outputs, too: those of values which are columns of the identity. The layers' own maps of
queries, keys, values and outputs are replaced by the given vectors and by the identity.
"""

import inspect
import math
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import einops
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from transformers import LongformerConfig, ReformerConfig
from transformers.models.longformer import modeling_longformer
from transformers.models.reformer import modeling_reformer

from clones import Clones, definitions
from golden import DOUBLE, Draw, save_expected

COMMITS = {
    "adaptive-span": "27b815fee821acce2c2d4104cc0720cb1dc74c37",  # facebookresearch
    "CA-MTL": "1e6ebb7e36b4024a7f7b1682b08a9531f13d7836",  # CAMTL
    "collaborative-attention": "5b05408640e339970f1009e06cac678e2a1ab534",  # epfml
    "cosFormer": "8e12da111e2a683ea875711e0bf5810c6b4e8f9f",  # OpenNLPLab
    "EvolvingAttention": "276447b62223f643f9e54c7c2225a9a2e707ee6e",  # pkuyym
    "fairseq-apollo": "3644d2064b1a1751db45654cc1d01a08ab3a860f",  # XuezheMax
    "fast-transformers": "2ad36b97e64cb93862937bd21fcc9568d989561f",  # idiap
    "flash-linear-attention": "bc3b101dcb713ddc5bd8924b66754eb68b5ccf89",  # fla-org
    "Informer2020": "29f2a739226a509202a092b464163da81fa74960",  # zhouhaoyi
    "lmtool-fwp": "015920127fa97b64c1ef6980e9005cb1a8912fb4",  # IDSIA
    "memory-compressed-attention": "a806696a0d44fb5d640adf563b12fd086118a95c",  # lucidrains
    "Nystromformer": "56893131bf3fa99b5a2d3ab452a591dca722529a",  # mlpen
    "performer-pytorch": "fc8b78441b1e27eb5d9b01fc738a8772cee07127",  # lucidrains
    "pytorch-image-models": "aa4b5850c1543fa488abf260f18390eda46cf85d",  # huggingface
    "RFA": "b075fa8a22cb48f61253b3feaf3175eff0e53819",  # Noahs-ARK
    "routing-transformer": "3f6c461a036e98dbae7e70c623d1c0e0616ef82a",  # lucidrains
    "set_transformer": "73432c640ac78140496d6738416c54d32c686d65",  # juho-lee
    "sparse_attention": "c53f3bdbf6225be0582f0357072e82b13c69be7d",  # openai
    "stupidNMT": "f8331f5f28c3cbcda8cc1d4eacffc97bea2d05c6",  # fallcat
    "transformer-aan": "d838d559c2e92de336a8fbb53bbf1dbf122cf772",  # bzhangGo
    "xformers": "ca6d2aa0d43241fc8a8dcd872debc2406160160d",  # facebookresearch
}

SAMPLES, HEADS, TOKENS, DIM = 2, 2, 8, 4
WIDTH = HEADS * DIM
LENGTH = TOKENS + 2  # positions of the model, as in kind_case.c


# ---- cases --------------------------------------------------------------------------------------


class Given(nn.Module):
    """In the place of a map: its result."""

    def __init__(self, result):
        super().__init__()
        self.result = result

    def forward(self, *_):
        return self.result.clone(memory_format=torch.contiguous_format)


def map_of(weight):
    """x W as a layer."""
    layer = nn.Linear(*weight.shape, bias=False)
    layer.weight = nn.Parameter(weight.T)
    return layer


def heads_first(x):
    """[B, N, H, D] to [B, H, N, D], or back."""
    return x.transpose(1, 2)


def flat(x):
    """[B, N, H, D] to [B, N, H D]."""
    return x.flatten(2)


def split(x):
    """[B, N, H D] to [B, N, H, D]."""
    return x.reshape(*x.shape[:2], HEADS, DIM)


def normal(name, *shape, **options):
    return Draw("kinds " + name).normal(*shape, **options).to(DOUBLE)


def matrix_of(attention, query, key):
    """[B, H, N, N]: a pass for each D columns."""
    columns = []
    for first in range(0, TOKENS, DIM):
        part = torch.eye(TOKENS, dtype=DOUBLE)[:, first:first + DIM]
        value = part[None, :, None].expand(SAMPLES, TOKENS, HEADS, DIM).clone()
        columns.append(heads_first(attention(query, key, value)))
    return torch.cat(columns, -1)


def case(name, attention, matrix=True, **tensors):
    """The file of attention(query, key, value), all [B, N, H, D] and drawn if not given."""
    parts = ("query", "key", "value")
    drawn = {part: normal(f"{name} {part}", SAMPLES, TOKENS, HEADS, DIM) for part in parts}
    out = {**drawn, **tensors}
    query, key, value = [out[part] for part in parts]
    with torch.no_grad():
        out["output"] = attention(query.clone(), key.clone(), value.clone())
        if matrix:
            out["matrix"] = matrix_of(attention, query, key)
    return name, out


def masked(mask):
    """Softmax attention of the pairs of a mask [N, N], or of one for each head [H, N, N]."""
    def attention(q, k, v):
        q, k, v = map(heads_first, (q, k, v))
        return heads_first(F.scaled_dot_product_attention(q, k, v, attn_mask=mask))

    return attention


def weighted(matrix):
    """The output of a matrix [H, N, N]."""
    return lambda q, k, v: torch.einsum("hij,bjhd->bihd", matrix, v)


# ---- positions ----------------------------------------------------------------------------------


def patterns(clones):
    """Windows are of 2 window + 1 keys. Their dilation is that of rows of a picture; the window is cut
    out of it. A block is a unit of their layouts."""
    theirs = clones.definitions(
        "xformers", "xformers/components/attention/attention_patterns.py", "_generate_nd_grid",
        "local_nd_distance", "local_nd_pattern", "local_1d_pattern", "causal_1d_pattern",
        "dilated_2d_pattern", "global_token_pattern", "layout_to_pattern")
    window, dilation, block, first = 2, 2, 3, 2
    band = theirs.local_1d_pattern(TOKENS, 2 * window + 1)
    causal = theirs.causal_1d_pattern(TOKENS)
    wide = theirs.local_1d_pattern(TOKENS, 2 * window * dilation + 1)
    blocks = theirs.layout_to_pattern(torch.eye(3), block)[:TOKENS, :TOKENS] > 0
    yield case("band", masked(band))
    yield case("band-causal", masked(band & causal))
    yield case("dilated", masked(wide & theirs.dilated_2d_pattern(1, TOKENS, dilation)))
    yield case("block", masked(blocks))
    yield case("global", masked(theirs.global_token_pattern(torch.arange(TOKENS) < first)))


# TensorFlow's functions that a mask is made with.
TENSORFLOW = SimpleNamespace(
    reshape=np.reshape, range=np.arange, transpose=np.transpose, zeros=np.zeros, equal=np.equal,
    floormod=np.mod, logical_and=np.logical_and, cast=lambda x, dtype: x.astype(dtype),
    int32=np.int32, float32=np.float32)


def sparse_transformer(clones):
    """`strided` is a mask, `fixed` a layout of blocks of one token."""
    stride, last = 3, 1
    layouts = []
    theirs = clones.definitions(
        "sparse_attention", "attention.py", "get_attn_mask", "get_blocksparse_obj", "get_callback",
        tf=TENSORFLOW, BlocksparseTransformer=lambda layout, **_: layouts.append(layout))
    strided = theirs.get_attn_mask(TOKENS, "strided", stride)[0, 0]
    theirs.get_blocksparse_obj(TOKENS, HEADS, "fixed", 1, stride, num_verts=1, vertsize=last)
    yield case("strided", masked(torch.from_numpy(strided) > 0))
    yield case("fixed", masked(torch.from_numpy(layouts[0])))


def hard_coded(clones):
    """In causal models later keys are masked after the density, as in its `attention`."""
    for name, offsets, causal in (("hard-coded", [-1, 1], False),
                                  ("hard-coded-causal", [-1, 0], True)):
        cache = SimpleNamespace()
        theirs = clones.definitions(
            "stupidNMT", "models/new_attention.py", "get_attn_cache", math=math,
            NewAttention=SimpleNamespace(_attn_cache=cache),
            replaced=[("float()", "double()"),
                      ("tensor(self.attn_std_uniq)", "tensor(self.attn_std_uniq).double()")])
        own = SimpleNamespace(attn_ofs_uniq=offsets, attn_std_uniq=[1], word_count_ratio=1,
                              attn_threshold=-1)
        density = theirs.get_attn_cache(own, [1, 1], offsets, TOKENS, TOKENS, "cpu")
        yield case(name, weighted(density.tril() if causal else density))


def average(clones):
    """TensorFlow's functions are those of PyTorch, with other names."""
    tensorflow = SimpleNamespace(
        shape=lambda x: x.shape, eye=partial(torch.eye, dtype=DOUBLE), expand_dims=torch.unsqueeze,
        cumsum=lambda x, axis: x.cumsum(axis), name_scope=lambda *_, **__: nullcontext(),
        nn=SimpleNamespace(softmax=lambda x: x.softmax(-1)))
    theirs = clones.definitions("transformer-aan", "code/thumt/layers/attention.py", "attention_bias",
                                tf=tensorflow)
    matrix = theirs.attention_bias(torch.ones(1, TOKENS, dtype=DOUBLE), "aan")
    yield case("average", weighted(matrix.expand(HEADS, -1, -1)))


def camtl(clones):
    """Batches of theirs have as many tokens as the model has positions; the last ones are masked."""
    block = 5
    theirs = clones.definitions("CA-MTL", "src/model/encoders/conditional_modules.py", "CBDA", nn=nn)
    bias = theirs.CBDA(WIDTH, block, LENGTH // block).double()
    layer = clones.definitions("CA-MTL", "src/model/encoders/ca_mtl_base.py", "MyBertSelfAttention9",
                               nn=nn, math=math, CBDA=lambda *_: bias).MyBertSelfAttention9(
        SimpleNamespace(hidden_size=WIDTH, num_attention_heads=HEADS, max_seq_length=WIDTH,
                        attention_probs_dropout_prob=0, output_attentions=False))
    scores, task = normal("camtl", LENGTH, block), normal("camtl task", WIDTH)
    layer.random_weight_matrix = nn.Parameter(scores)
    for part in (bias.gb_weights.weight, bias.gb_weights.bias):
        part.data[:] = normal(f"camtl {part.dim()}", *part.shape, spread=WIDTH ** -0.5)
    masked_keys = torch.where(torch.arange(LENGTH) < TOKENS, 0, -torch.inf).to(DOUBLE)

    def attention(q, k, v):
        q, k, v = [F.pad(flat(x), (0, 0, 0, LENGTH - TOKENS)) for x in (q, k, v)]
        layer.query, layer.key, layer.value = map(Given, (q, k, v))
        out, = layer(q, masked_keys, task_embedding=task.expand(SAMPLES, -1))
        return split(out[:, :TOKENS])

    yield case("camtl", attention, task=task, **{
        "block.score": scores, "film.weight": bias.gb_weights.weight.data,
        "film.bias": bias.gb_weights.bias.data})


def adaptive_span(clones):
    """Theirs counts keys, the query's own or the one before first; our window is the largest distance.
    Softmax and its product with values are
    around it; the constant of its sums is not in it."""
    theirs = clones.definitions("adaptive-span", "adaptive_span.py", "AdaptiveMask", "AdaptiveSpan",
                                nn=nn, math=math, replaced=[("+ 1e-8", "")])
    window, share = 5, torch.tensor([0.3, 0.7], dtype=DOUBLE)
    span = theirs.AdaptiveSpan(window + 1, 0, window, 0, False, HEADS).double()
    span._mask.current_val.data[:] = (share * window / (window + 1))[:, None, None]

    def attention(q, k, v):
        out = torch.zeros_like(v)
        for i in range(TOKENS):
            seen = slice(max(0, i - window), i + 1)
            logits = torch.einsum("bhd,bjhd->bhj", q[:, i], k[:, seen]) / math.sqrt(DIM)
            weights = span(logits.softmax(-1).flatten(0, 1)[:, None]).reshape(logits.shape)
            out[:, i] = torch.einsum("bhj,bjhd->bhd", weights, v[:, seen])
        return out

    yield case("adaptive-span", attention, span=share)


# ---- features -----------------------------------------------------------------------------------


def linear_layer(clones, queries, keys):
    """Attention of features of queries and keys, without the constant of its sums."""
    theirs = clones.definitions(
        "fast-transformers", "fast_transformers/attention/linear_attention.py", "LinearAttention",
        Module=nn.Module, EventDispatcher=SimpleNamespace(get=lambda name: None))
    layer = theirs.LinearAttention(DIM, lambda _: SimpleNamespace(
        new_feature_map=lambda device: None, forward_queries=queries, forward_keys=keys), eps=0)
    mask = SimpleNamespace(all_ones=True)
    lengths = SimpleNamespace(float_matrix=torch.ones(SAMPLES, TOKENS, dtype=DOUBLE))
    return lambda q, k, v: layer(q, k, v, mask, lengths, lengths)


def linear(clones):
    def elu(x):
        return F.elu(x) + 1

    yield case("linear", linear_layer(clones, elu, elu))


def trigonometric(clones):
    """Theirs are features of the kernel exp(-|x - y|^2 / 2); times exp(|x|^2 / 2) they are those of
    softmax. Queries need not be multiplied, since rows are normalised."""
    features = 32

    class FeatureMap(nn.Module):
        def __init__(self, _):
            super().__init__()

    theirs = clones.definitions(
        "fast-transformers", "fast_transformers/feature_maps/fourier_features.py",
        "RandomFourierFeatures", sqrt=math.sqrt, FeatureMap=FeatureMap)
    maps = theirs.RandomFourierFeatures(DIM, features)
    omega = normal("trigonometric", features // 2, DIM)
    maps.omega = omega.T

    def keys(x):
        return maps(x) * torch.exp((x * x).sum(-1, keepdim=True) / 2 / math.sqrt(DIM))

    yield case("performer-trigonometric", linear_layer(clones, maps, keys),
               omega=omega.expand(HEADS, -1, -1))


def performer(clones):
    """Without the constants of its features and sums. Theirs has one projection for all heads."""
    features = 6
    theirs = clones.definitions(
        "performer-pytorch", "performer_pytorch/performer_pytorch.py", "softmax_kernel",
        "generalized_kernel", "linear_attention", "causal_linear_attention_noncuda", nn=nn,
        repeat=einops.repeat)

    def attention(maps, product, q, k, v):
        q, k, v = map(heads_first, (q, k, v))
        return heads_first(product(maps(q, is_query=True), maps(k, is_query=False), v))

    causal = partial(theirs.causal_linear_attention_noncuda, chunk_size=4, eps=0)
    for name, product in (("", theirs.linear_attention), ("-causal", causal)):
        name = f"performer{name}"
        omega = normal(name, features, DIM)
        maps = partial(theirs.softmax_kernel, projection_matrix=omega, eps=0)
        yield case(name, partial(attention, maps, product), omega=omega.expand(HEADS, -1, -1))
    omega = normal("performer relu", features, DIM)
    relu = lambda x, is_query: theirs.generalized_kernel(x, projection_matrix=omega)
    yield case("performer-relu", partial(attention, relu, theirs.linear_attention),
               omega=omega.expand(HEADS, -1, -1))


def rfa(clones):
    """With so many features that some sums of rows are below its least one, and others are not."""
    pairs = 24
    maps = clones.definitions("RFA", "random_feature_attention/utils.py", "_normalize",
                              "random_project", SCALE=0.1).random_project
    causal = clones.definitions("RFA", "random_feature_attention/rfa.py", "forward_torch",
                                EPS=1.0, staticmethod=lambda f: f).forward_torch
    unmasked = clones.definitions("RFA", "random_feature_attention/cross_attention.py", "rfa",
                                  EPS=1.0, random_project=maps).rfa

    def attend(omega, q, k, v):
        k, v = maps(x=k.transpose(0, 1), random_matrices=omega), v.transpose(0, 1)
        sums = torch.einsum("sbhk,sbhd->bhkd", k, v)
        return unmasked(None, q.transpose(0, 1), sums, k.sum(0), omega).transpose(0, 1)

    def attend_causal(omega, q, k, v):
        q, k = [maps(x=x.transpose(0, 1), random_matrices=omega).flatten(1, 2) for x in (q, k)]
        out = causal(q, k, v.transpose(0, 1).flatten(1, 2))
        return out.reshape(TOKENS, SAMPLES, HEADS, DIM).transpose(0, 1)

    for name, run in (("rfa", attend), ("rfa-causal", attend_causal)):
        omega = normal(name, HEADS, pairs, DIM)
        yield case(name, partial(run, omega), omega=omega)


def cosformer(clones):
    """Theirs counts the tokens of the batch, ours the positions of the model: tokens of zeros follow,
    which have no weight."""
    theirs = clones.definitions("cosFormer", "cosformer.py", "CosformerAttention", nn=nn, F=F,
                                replaced=[("arange(1, seq_len + 1)", "arange(1.0, seq_len + 1).double()")])
    for name, causal in (("cosformer", False), ("cosformer-causal", True)):
        layer = theirs.CosformerAttention(WIDTH, HEADS, causal=causal, has_outproj=False)

        def attention(q, k, v):
            q, k, v = [F.pad(flat(x).transpose(0, 1), (0, 0, 0, 0, 0, LENGTH - TOKENS))
                       for x in (q, k, v)]
            layer.q_proj, layer.k_proj, layer.v_proj = map(Given, (q, k, v))
            return split(layer(q, k, v)[:TOKENS].transpose(0, 1))

        yield case(name, attention)


def dpfp(clones):
    """Almost without the constant of its sums, which may be 0; without its residual connection and the
    normalisation of the layer."""
    rolls = 2
    theirs = clones.definitions("lmtool-fwp", "src/model_main.py", "DPFPMultiHeadAttn", nn=nn, F=F,
                                print=lambda _: None,
                                replaced=[("eps = 1e-5", "eps = 1e-300")])
    layer = theirs.DPFPMultiHeadAttn(HEADS, WIDTH, DIM, 0, n_roll=rolls)
    layer.o_net, layer.layer_norm = nn.Identity(), nn.Identity()
    later = torch.ones(TOKENS, TOKENS).triu(1).bool()[:, :, None]

    def attention(mask, q, k, v):
        q, k, v = [flat(x).transpose(0, 1) for x in (q, k, v)]
        layer.q_net, layer.kv_net = Given(q), Given(torch.cat([k, v], -1))
        return split(layer(torch.zeros_like(q), mask).transpose(0, 1))

    yield case("dpfp", partial(attention, None))
    yield case("dpfp-causal", partial(attention, later))


def delta(clones):
    """The rule of flash-linear-attention with the features of lmtool-fwp, which are divided by their
    sum there, too, where the rule is a CUDA kernel. Theirs divides queries by the root of their size."""
    rolls = SimpleNamespace(n_roll=2)
    roll = clones.definitions("lmtool-fwp", "src/model_main.py", "mul_roll_repeat").mul_roll_repeat
    rule = clones.definitions("flash-linear-attention", "fla/ops/delta_rule/naive.py",
                              "delta_rule_recurrence", replaced=[("x.float()", "x.double()")])
    rate = normal("delta rate", SAMPLES, TOKENS, HEADS)

    def features(x):
        mapped = roll(rolls, torch.cat([F.relu(x), F.relu(-x)], -1))
        return heads_first(mapped / mapped.sum(-1, keepdim=True))

    def attention(q, k, v):
        q, k = features(q), features(k)
        beta = torch.sigmoid(rate).transpose(1, 2)
        out, _ = rule.delta_rule_recurrence(q * math.sqrt(q.shape[-1]), k, heads_first(v), beta)
        return heads_first(out)

    yield case("delta", attention, extra=rate)


# ---- factors ------------------------------------------------------------------------------------


def linformer(clones):
    """Theirs has a map for each head; here they are the same."""
    rows = 3
    theirs = clones.definitions("Nystromformer", "code/attention_linformer.py", "LinformerAttention",
                                nn=nn, math=math)
    layer = theirs.LinformerAttention({"num_head": HEADS, "head_dim": DIM, "linformer_k": rows,
                                       "max_seq_len": TOKENS})
    projection = normal("linformer", rows, LENGTH)
    layer.E = nn.Parameter(projection[:, :TOKENS].expand(HEADS, -1, -1))
    ones = torch.ones(SAMPLES, TOKENS, dtype=DOUBLE)
    yield case("linformer", projection=projection, attention=lambda q, k, v: heads_first(
        layer(heads_first(q), heads_first(k), heads_first(v), ones)))


def nystrom(clones):
    """With its option of a first step for each matrix."""
    landmarks, taps = 4, 3
    theirs = clones.definitions("Nystromformer", "code/attention_nystrom.py", "NystromAttention",
                                nn=nn, math=math)
    layer = theirs.NystromAttention({
        "head_dim": DIM, "num_head": HEADS, "num_landmarks": landmarks, "seq_len": TOKENS,
        "conv_kernel_size": taps, "inv_coeff_init_option": "new", "inv_init_coeff_option": "new"})
    kernel = normal("nystrom", HEADS, taps)
    layer.conv.weight = nn.Parameter(kernel[:, None, :, None])
    ones = torch.ones(SAMPLES, TOKENS, dtype=DOUBLE)
    yield case("nystrom", convolution=kernel, attention=lambda q, k, v: heads_first(
        layer(heads_first(q), heads_first(k), heads_first(v), ones)))


class AllKeys:
    """PyTorch in which a sample of keys is all of them."""

    def __getattr__(self, name):
        return getattr(torch, name)

    def randint(self, keys, shape):
        assert shape[1] == keys
        return torch.arange(keys).expand(shape)


def informer(clones):
    """Unmasked; its masked form has rows that sum to more than 1. Numbers of keys and queries are given,
    not those of its factor."""
    chosen = 3
    theirs = clones.definitions("Informer2020", "models/attn.py", "ProbAttention", nn=nn,
                                sqrt=math.sqrt, torch=AllKeys())
    layer = theirs.ProbAttention(mask_flag=False)
    choose = layer._prob_QK
    layer._prob_QK = lambda q, k, sample_k, n_top: choose(q, k, TOKENS, chosen)
    yield case("informer", lambda q, k, v: layer(q, k, v, None)[0])


# ---- landmarks ----------------------------------------------------------------------------------


def induced_parameters(name, landmarks, *weights):
    """Learned queries [m, H, D] and maps of H D numbers."""
    maps = {f"induced.{weight}": normal(f"{name} {weight}", WIDTH, WIDTH, spread=WIDTH ** -0.5)
            for weight in weights}
    return {"inducing": normal(f"{name} inducing", landmarks, HEADS, DIM), **maps}


def luna(clones):
    """Tokens are its second axis there. Keys and values have different maps."""
    theirs = clones.definitions(
        "fairseq-apollo", "fairseq/modules/luna_attention.py", "LunarMultiheadAttention", nn=nn, F=F,
        math=math, Tensor=torch.Tensor, with_incremental_state=lambda c: c,
        quant_noise=lambda layer, *_: layer, FairseqDropout=lambda *_, **__: nn.Identity(),
        utils=SimpleNamespace(softmax=lambda x, dim, onnx_trace: F.softmax(x, dim)))
    own = induced_parameters("luna", 3, "key", "value")
    layer = theirs.LunarMultiheadAttention(WIDTH, HEADS, HEADS, self_attention=True, tie_kv=False)
    layer.out_proj = nn.Identity()
    layer.k_proj, layer.v_proj = map_of(own["induced.key"]), map_of(own["induced.value"])
    inducing = own["inducing"].flatten(1)[:, None].repeat(1, SAMPLES, 1)

    def attention(q, k, v):
        q, k, v = [flat(x).transpose(0, 1) for x in (q, k, v)]
        layer.pq_proj, layer.q_proj, layer.pk_proj, layer.pv_proj = map(Given, (inducing, q, k, v))
        return split(layer(q, inducing, None)[0].transpose(0, 1))

    yield case("luna", attention, matrix=False, **own)


def set_transformer(clones):
    """Theirs divides scores by the root of the width of all heads, so keys are given larger ones. It
    adds its query to the output, and a perceptron of both, which is 0 here."""
    theirs = clones.definitions("set_transformer", "modules.py", "MAB", "ISAB", nn=nn, F=F, math=math)
    own = induced_parameters("set", 3, "key", "value", "hidden")
    layer = theirs.ISAB(WIDTH, WIDTH, HEADS, 3).double()
    larger = math.sqrt(HEADS)
    inducing = own["inducing"].flatten(1)[None].expand(SAMPLES, -1, -1)
    pack, unpack = layer.mab0, layer.mab1
    pack.fc_q, pack.fc_o = Given(inducing), map_of(own["induced.hidden"])
    unpack.fc_k, unpack.fc_v = map_of(larger * own["induced.key"]), map_of(own["induced.value"])
    unpack.fc_o = Given(torch.zeros(SAMPLES, TOKENS, WIDTH))

    def attention(q, k, v):
        pack.fc_k, pack.fc_v, unpack.fc_q = Given(larger * flat(k)), Given(flat(v)), Given(flat(q))
        return split(layer(flat(q))) - q

    yield case("set", attention, matrix=False, **own)


def memory_compressed(clones):
    """Theirs divides scores by the root of the width of all heads, so queries are larger. Its null key
    is left out, and its bias is 0."""
    taps = 2
    theirs = clones.definitions(
        "memory-compressed-attention", "memory_compressed_attention/memory_compressed_attention.py",
        "ConvCompress", "MemoryCompressedAttention", nn=nn, F=F,
        replaced=[("k = torch.cat((nk, k), dim=1)", ""), ("v = torch.cat((nv, v), dim=1)", "")])
    layer = theirs.MemoryCompressedAttention(WIDTH, HEADS, compression_factor=taps).double()
    weight = normal("memory compressed", HEADS, taps, DIM, DIM)
    layer.compress_fn.conv.weight.data[:] = weight.permute(0, 3, 2, 1).flatten(0, 1)
    layer.compress_fn.conv.bias.data[:] = 0
    layer.to_out = nn.Identity()

    def attention(q, k, v):
        layer.to_qkv = Given(torch.cat([math.sqrt(HEADS) * flat(q), flat(k), flat(v)], -1))
        return split(layer(flat(q)))

    yield case("memory-compressed", attention, matrix=False,
               convolution=weight.reshape(HEADS, taps * DIM, DIM))


# ---- assignment ---------------------------------------------------------------------------------


def unit(x):
    """Of length nearly √D, as Transformers and the kinds make them."""
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)


def aggregate(x, groups, factors, lengths):
    """Sums of the tokens of each group, times its factor."""
    members = F.one_hot(groups, factors.shape[-1]).to(DOUBLE)
    return torch.einsum("bhnc,bhnd->bhcd", members, x) * factors[..., None]


def broadcast(x, groups, counts, factors):
    """The vector of each token's group, times its factor."""
    index = groups[..., None].expand(-1, -1, -1, x.shape[-1])
    return torch.gather(x * factors[..., None], 2, index)


def chosen(x, top, groups):
    """The tokens [B, H, N, k, D] whose indices `top` the group of each token has."""
    own = torch.gather(top, 2, groups[..., None].expand(-1, -1, -1, top.shape[-1]))
    index = own[..., None].expand(-1, -1, -1, -1, DIM)
    return torch.gather(x[:, :, None].expand(-1, -1, TOKENS, -1, -1), 3, index)


# In the place of C++. Hashes and k-means are not run: queries are in groups that any k-means finds.
OF_GROUPS = {
    "clustered_aggregate": aggregate,
    "clustered_broadcast": broadcast,
    "clustered_sparse_dot_product": lambda q, k, top, groups, counts, lengths: torch.einsum(
        "bhnd,bhnkd->bhnk", q, chosen(k, top, groups)),
    "clustered_sparse_weighted_average": lambda a, v, top, groups, counts: torch.einsum(
        "bhnk,bhnkd->bhnd", a, chosen(v, top, groups)),
}


def clustered(clones):
    """Of two groups."""
    group = torch.tensor([0, 1, 0, 0, 1, 1, 0, 1])
    groups, order = torch.sort(group.expand(SAMPLES, HEADS, -1), dim=-1, stable=True)
    counts = F.one_hot(groups, 2).sum(2)
    lengths = SimpleNamespace(lengths=torch.full((SAMPLES,), TOKENS),
                              additive_matrix=torch.zeros(SAMPLES, TOKENS))
    lengths._lengths = lengths.lengths
    mask = SimpleNamespace(all_ones=True)
    for name, file, kind, options in (
            ("clustered", "clustered_attention.py", "ClusteredAttention", {}),
            ("improved-clustered", "improved_clustered_attention.py", "ImprovedClusteredAttention",
             {"topk": 3})):
        theirs = clones.definitions(
            "fast-transformers", "fast_transformers/attention/" + file, kind, "_GroupQueries",
            "_BroadcastValues", Module=nn.Module, Dropout=nn.Dropout, sqrt=math.sqrt,
            EventDispatcher=SimpleNamespace(get=lambda name: None), **OF_GROUPS,
            replaced=[("counts.float()", "counts.double()")])
        layer = getattr(theirs, kind)(2, attention_dropout=0, **options)
        layer._create_query_groups = lambda q, lengths: ((groups, counts), order)
        centre = normal(name + " centre", HEADS, DIM)
        query = torch.where(group == 0, 1, -1)[:, None, None] * centre + 0.25 * normal(
            name, SAMPLES, TOKENS, HEADS, DIM)
        yield case(name, partial(lambda layer, q, k, v: layer(q, k, v, mask, lengths, lengths), layer),
                   query=query, planes=normal(name + " planes", DIM, 16))


def routing(clones):
    """Unmasked, where it has no keys of its own. Theirs divides vectors by their lengths for the choice
    alone. Almost without the constant of its means, which may be of nothing."""
    clusters = 3
    theirs = clones.definitions(
        "routing-transformer", "routing_transformer/routing_transformer.py", "KmeansAttention", "Kmeans",
        "exists", "default", "split_at_index", "distribution", "batched_index_select", "expand_dim",
        "scatter_mean", "dists_and_buckets", "similarity", "max_neg_value", nn=nn, F=F,
        isfunction=callable, replaced=[("eps = 1e-5", "eps = 1e-300")])
    layer = theirs.KmeansAttention(clusters, math.ceil(TOKENS / clusters), HEADS, DIM)
    centroids = normal("routing", HEADS, clusters, DIM)
    layer.kmeans.means, layer.kmeans.initted = centroids, torch.tensor(True)
    yield case("routing", centroids=centroids, attention=lambda q, k, v: heads_first(
        layer.eval()(unit(heads_first(q)), unit(heads_first(k)), heads_first(v))[0]))


def reformer(_):
    """Transformers draws rotations anew from the same seed."""
    rounds, buckets, chunk, seed = 2, 4, 2, 5
    for name, causal in (("reformer", False), ("reformer-causal", True)):
        config = ReformerConfig(
            attention_head_size=DIM, hidden_size=WIDTH, num_attention_heads=HEADS, hash_seed=seed,
            num_hashes=rounds, num_buckets=buckets, lsh_attn_chunk_length=chunk, is_decoder=causal,
            lsh_num_chunks_before=1, lsh_num_chunks_after=0, lsh_attention_probs_dropout_prob=0.0)
        layer = modeling_reformer.LSHSelfAttention(config, 0).double().eval()
        torch.manual_seed(seed)
        rotations = torch.randn(HEADS, DIM, rounds, buckets // 2, dtype=DOUBLE).flatten(2)

        def attention(q, k, v):
            layer.query_key, layer.value = Given(flat(q)), Given(flat(v))
            return split(layer(flat(q)).hidden_states)

        yield case(name, attention, rotations=rotations)


def longformer(_):
    """Of the matrix, the values of both maps are columns of the identity. It names a precision for its
    softmax."""
    window, first = 2, 2
    text = inspect.getsource(modeling_longformer.LongformerSelfAttention)
    theirs = definitions(text.replace("dtype=torch.float32", "dtype=torch.float64"),
                         "LongformerSelfAttention", nn=nn, math=math)
    layer = theirs.LongformerSelfAttention(LongformerConfig(
        hidden_size=WIDTH, num_attention_heads=HEADS, attention_window=[2 * window],
        attention_probs_dropout_prob=0.0), 0).eval()
    is_global = (torch.arange(TOKENS) < first).expand(SAMPLES, -1)
    extra = normal("longformer", SAMPLES, TOKENS, 3, HEADS, DIM)

    def attention(v_global, q, k, v):
        own = extra.clone()
        if v_global is None:
            own[:, :, 2] = v
        q, k, v, own_q, own_k, own_v = [
            flat(x).transpose(0, 1) for x in (q, k, v, *own.unbind(2))]
        layer.query, layer.key, layer.value = map(Given, (q, k, v))
        layer.query_global, layer.key_global, layer.value_global = map(
            Given, (own_q[:first], own_k, own_v))
        return split(layer(torch.zeros(SAMPLES, TOKENS, WIDTH, dtype=DOUBLE), is_global * 1e4,
                           torch.zeros_like(is_global), is_global, True)[0])

    name, tensors = case("longformer", partial(attention, extra), matrix=False,
                         extra=extra.flatten(2))
    tensors["matrix"] = matrix_of(partial(attention, None), tensors["query"], tensors["key"])
    yield name, tensors


# ---- heads -------------------------------------------------------------------------------------


def multi_query(_):
    """PyTorch's own function, of groups of queries; here there is one group."""
    yield case("multi-query", lambda q, k, v: heads_first(F.scaled_dot_product_attention(
        heads_first(q), heads_first(k)[:, :1], heads_first(v)[:, :1], enable_gqa=True)))


def talking_heads(clones):
    """Our parameters are what the maps have beyond the identity; theirs have biases besides."""
    theirs = clones.definitions("pytorch-image-models", "timm/models/cait.py", "TalkingHeadAttn", nn=nn)
    layer = theirs.TalkingHeadAttn(WIDTH, HEADS, dtype=DOUBLE)
    layer.proj = nn.Identity()
    mixes = [normal(f"talking heads {i}", HEADS, HEADS) for i in range(2)]
    for map_, mix in zip((layer.proj_l, layer.proj_w), mixes):
        map_.weight.data[:] = torch.eye(HEADS) + mix
        map_.bias.data[:] = 0

    def attention(q, k, v):
        layer.qkv = Given(torch.stack([q, k, v], 2).flatten(2))
        return split(layer(flat(q)))

    yield case("talking-heads", attention,
               **{"logits.mix": mixes[0], "weights.mix": mixes[1]})


def collaborative(clones):
    theirs = clones.definitions(
        "collaborative-attention", "src/collaborative_attention/collaborative_attention.py",
        "CollaborativeAttention", nn=nn, math=math,
        replaced=[("MixingMatrixInit = MixingMatrixInit.UNIFORM", "MixingMatrixInit = None"),
                  ("mixing = self.init_mixing_matrix()", "mixing = None")])
    layer = theirs.CollaborativeAttention(WIDTH, WIDTH, WIDTH, WIDTH, HEADS, False, 0, False, False)
    layer.mixing = normal("collaborative", HEADS, WIDTH)
    bias = normal("collaborative bias", SAMPLES, TOKENS, HEADS)

    def attention(q, k, v):
        q, k, v = map(flat, (q, k, v))
        layer.query, layer.key, layer.value, layer.content_bias = map(Given, (q, k, v, bias))
        return split(layer(q)[0])

    yield case("collaborative", attention, mixing=layer.mixing, extra=bias)


def predictive(clones):
    """Three layers. Its first one has no logits below, and no convolution. The convolution has no bias
    here, and the rectifier is not leaky, as that of the repository's model of pictures. Its output has
    the axes of tokens and of a head's numbers for each other."""
    theirs = clones.definitions(
        "EvolvingAttention", "EA_DC_Transformer/src/models/ea_dc_transformer.py", "EAAugmentedConv1d",
        nn=nn, F=F)
    depth, parts, below = 3, [], None
    for l in range(depth):
        alpha, beta = [normal(f"predictive {l} {share}", 1) for share in ("alpha", "beta")]
        weight = normal(f"predictive {l}", HEADS, HEADS, 3, 3, spread=0.5)
        layer = theirs.EAAugmentedConv1d(WIDTH, WIDTH, 1, 1, 0, alpha, beta, 1, 1, HEADS, False, l > 0,
                                         relative=False).double()
        if l > 0:
            layer.att_conv[0].weight.data[:] = weight
            layer.att_conv[0].bias.data[:] = 0
            layer.att_conv[1] = nn.ReLU()

        def attention(below, q, k, v):
            layer.qkv_conv = Given(torch.cat([flat(x).transpose(1, 2) for x in (q, k, v)], 1))
            out, logits = layer(flat(q).transpose(1, 2), below)
            attention.logits = logits
            return heads_first(out.reshape(SAMPLES, HEADS, TOKENS, DIM))

        _, tensors = case(f"predictive {l}", partial(attention, below), alpha=alpha, beta=beta,
                          convolution=weight.flatten(2))
        below = attention.logits
        parts.append(tensors)
    yield "predictive", {part: torch.stack([tensors[part] for tensors in parts]) for part in parts[0]}


FAMILIES = (patterns, sparse_transformer, hard_coded, average, camtl, adaptive_span, linear,
            trigonometric, performer, rfa, cosformer, dpfp, delta, linformer, nystrom, informer, luna,
            set_transformer, memory_compressed, clustered, routing, reformer, longformer, multi_query,
            talking_heads, collaborative, predictive)


def main():
    clones = Clones(sys.argv[1], COMMITS)
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent / "kinds"
    folder.mkdir(parents=True, exist_ok=True)
    for family in FAMILIES:
        for name, tensors in family(clones):
            for part, tensor in tensors.items():
                assert tensor.dtype == DOUBLE and tensor.isfinite().all(), (name, part)
            save_expected(folder / f"{name}.safetensors", tensors)


if __name__ == "__main__":
    main()
