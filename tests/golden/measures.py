#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/measures: attention of random heads, and what public implementations of measures
of attention say about it. tests/analysis/measures_golden.c compares.

    python tests/golden/measures.py CLONES [FOLDER]

needs torch, numpy 2.4.6, scipy 1.17.1 and scikit-learn 1.9.1. CLONES is a folder with clones of the
repositories in COMMITS, from which single functions are read and run; nothing of theirs is kept but
numbers. All of them compute in double precision here.

causal.safetensors and unmasked.safetensors have, as float64,
    attention  [S, L, H, N, N]
    values     [S, L, H, N, D]
    output     [S, L, N, C]     of layers
    tokens     [S, N]           ids
and a tensor MEASURE/REFERENCE with the reference's own number for each measure that it can confirm:
[S, L, H] of heads, [S, L, H, H] of pairs, [S, L] of layers. Where the reference defines something
slightly different, the C test has the step from our number to theirs.

Not among them, because no public implementation was found that says the same: sigma_ratio, confidence,
top_8_mass, position_overlap, mean_js, disagreement_*.
"""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import scipy
import torch
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy
from sklearn import preprocessing
from sklearn.metrics.pairwise import cosine_similarity

from clones import Clones, definitions
from golden import DOUBLE, Draw, save_expected

COMMITS = {
    "attention-analysis": "b609cfc898d1bcf7b4fd957c1bc9cd418efc0ec3",  # clarkkev
    "attention-rank-collapse": "38b5df6dc2add25f6d945e48a6baf96862368c20",  # twistedcubic
    "attention_flow": "8044f5312f4ced18d4cf66ffe28f6c045629b4ed",  # samiraabnar
    "Attention-Sink": "af49727230ee57b6ecadcc74547653fc776833fc",  # sail-sg
    "ecco": "2a38a1360c8edb2e4ff4a08fba404b5164c21e06",  # jalammar; its CKA is Google's
    "gensim": "37f90ec121eb7cd401448a947e80953e0c53ccdc",  # piskvorky
    "imp_reg_dl_not_norms": "c20e02cefcfadc9839c8bc684f6d642d25475739",  # noamrazin
    "probing-vits": "b1b08d36d05293d6fe86a4ad892d881ca4920b16",  # sayakpaul
    "QuantEcon.py": "13b436b8a43aa53313f6523509bd3f7a35d9dfd2",  # QuantEcon
    "scikit-dimension": "3752f80ccf9f00c78324a08a9bd9fa94d8e0343a",  # scikit-learn-contrib
    "TransformerLens": "4cd36aaeb5dad931d085bd5d46a12b402fe15272",  # TransformerLensOrg
    "Vendi-Score": "c791c30d7c148959ee9b748332b2b7bc1d17d3c8",  # vertaix
    "ViT-Anti-Oversmoothing": "989559fb256ef43bed04ca210729aade352b49c2",  # VITA-Group
}

RANK_THRESHOLD = 0.25  # that of the C test: some singular values are below, some above
ALL_HEADS = 144  # of BERT base, for which the code of attention-analysis is written


# ---- inputs -------------------------------------------------------------------------------------


def case_of(name, samples, causal):
    """Random heads: softmax of normal scores, different in spread, so that heads differ."""
    layers, heads, tokens, dim, model_dim = 2, 4, 24, 3, 5
    draw = Draw("measures " + name)
    spread = torch.linspace(0.5, 3, heads)[:, None, None]
    scores = (spread * draw.normal(samples, layers, heads, tokens, tokens)).to(DOUBLE)
    if causal:
        scores = scores.masked_fill(torch.ones(tokens, tokens).triu(1).bool(), -torch.inf)
    return SimpleNamespace(
        causal=causal, tokens=draw.ids(samples, tokens, high=7),
        attention=torch.softmax(scores, -1).numpy(),
        values=draw.normal(samples, layers, heads, tokens, dim).to(DOUBLE).numpy(),
        output=draw.normal(samples, layers, tokens, model_dim, mean=0.5).to(DOUBLE).numpy())


def of_heads(case, function):
    return np.array([[[function(a) for a in layer] for layer in sample] for sample in case.attention])


def of_pairs(vectors, function):
    """Of [S, L, H, ...]."""
    return np.array([[[[function(x, y) for y in layer] for x in layer] for layer in sample]
                     for sample in vectors])


def of_rows(case, function, least=1):
    """The mean over the queries that see at least so many keys."""
    def seen(i, row):
        return row[:i + 1] if case.causal else row

    return of_heads(case, lambda a: np.mean([function(seen(i, row)) for i, row in enumerate(a)
                                             if len(seen(i, row)) >= least]))


# ---- heads --------------------------------------------------------------------------------------


def spectra(case, clones):
    rank = clones.definitions("imp_reg_dl_not_norms", "common/utils/tensor.py",
                              "matrix_effective_rank").matrix_effective_rank
    pca = clones.definitions("scikit-dimension", "skdim/id/_PCA.py", "_ratio", "_participation_ratio")
    norm = np.linalg.norm

    def energies(a):
        return np.linalg.svd(a, compute_uv=False) ** 2

    def components(share):
        return of_heads(case, lambda a: pca._ratio(SimpleNamespace(alphaRatio=share), energies(a))[0])

    return {
        "rank/numpy": of_heads(case, lambda a: np.linalg.matrix_rank(a, tol=RANK_THRESHOLD)),
        "effective_rank/imp_reg_dl_not_norms": of_heads(case, lambda a: rank(torch.from_numpy(a))),
        "stable_rank/numpy": of_heads(case, lambda a: (norm(a, "fro") / norm(a, 2)) ** 2),
        "participation_ratio/scikit-dimension":
            of_heads(case, lambda a: pca._participation_ratio(None, energies(a))[0]),
        "components_90/scikit-dimension": components(0.90),
        "components_95/scikit-dimension": components(0.95),
        "components_99/scikit-dimension": components(0.99),
    }


def rows(case, clones):
    gini = clones.definitions("QuantEcon.py", "quantecon/_inequality.py", "gini_coefficient",
                              njit=lambda **_: lambda function: function, prange=range)
    return {
        "entropy/scipy": of_rows(case, entropy),
        "normalized_entropy/scipy": of_rows(case, lambda row: entropy(row, base=len(row)), least=2),
        "gini/QuantEcon.py": of_rows(case, gini.gini_coefficient),
    }


def as_document(sample):
    """The heads of a sample [L, H, N, N] again and again, [12, 12, N, N]; the first token is CLS."""
    n = sample.shape[-1]
    heads = sample.reshape(-1, n, n)
    repeated = heads[np.arange(ALL_HEADS) % len(heads)].reshape(12, 12, n, n)
    return ["[CLS]"] + ["word"] * (n - 1), repeated


def notebook_of_clark(case, clones):
    """Means over one document at a time."""
    path = "General_Analysis.ipynb"
    positions = clones.cell("attention-analysis", path, "selectors = {")
    entropies = clones.cell("attention-analysis", path, "uniform_attn_entropy = 0")
    shape, results = case.attention.shape[1:3], []
    for sample in case.attention:
        scope = {"np": np, "n_docs": 1, "data_iterator": lambda: [as_document(sample)],
                 "print": lambda *_: None}
        exec(positions, scope)
        exec(entropies, scope)
        results.append({"entropy": scope["entropies"], **scope["avg_attns"]})
    names = {"entropy": "entropy", "diagonal": "self", "previous": "left", "first": "cls"}
    if not case.causal:
        names["next"] = "right"
    return {f"{ours}/attention-analysis":
            np.array([r[theirs].ravel()[:shape[0] * shape[1]].reshape(shape) for r in results])
            for ours, theirs in names.items()}


def distance(case, clones):
    """Theirs is for square pictures: the tokens are the first line of one, the other patches attend to
    nothing, and there is a class token in front."""
    text = clones.cell("probing-vits", "notebooks/mean-attention-distance-1k.ipynb",
                       "def compute_mean_attention_dist")
    mean = definitions(text, "compute_distance_matrix", "compute_mean_attention_dist", num_cls_tokens=1)
    n = case.attention.shape[-1]
    heads = case.attention.reshape(1, -1, n, n)
    picture = np.zeros((1, heads.shape[1], n * n + 1, n * n + 1))
    picture[:, :, 1:n + 1, 1:n + 1] = heads
    distances = mean.compute_mean_attention_dist(1, picture)
    return {"distance/probing-vits": distances.reshape(case.attention.shape[:3])}


def sink(case, clones):
    """Theirs tells which keys are above a threshold. The largest threshold with a key above it is the
    largest mean attention."""
    above = clones.definitions("Attention-Sink", "eval_sink_open_source.py",
                               "compute_attention_sink").compute_attention_sink

    def is_sink(a, threshold):
        file = io.BytesIO()
        np.save(file, a[None, None, None])
        file.seek(0)
        return bool(above(file, threshold).max() > 0)

    def largest(a):
        low, high = 0.0, 2.0
        while low < (middle := (low + high) / 2) < high:
            low, high = (middle, high) if is_sink(a, middle) else (low, middle)
        return high

    return {"sink/Attention-Sink": of_heads(case, largest)} if case.causal else {}


def roles(case, clones):
    names = {"previous_token": "get_previous_token_head_detection_pattern",
             "duplicate_token": "get_duplicate_token_head_detection_pattern",
             "induction": "get_induction_head_detection_pattern"}
    score = "compute_head_attention_similarity_score"
    theirs = clones.definitions("TransformerLens", "transformer_lens/head_detector.py", score,
                                *names.values(), is_square=lambda x: x.shape[0] == x.shape[1])

    def scores(pattern_of):
        def of(attention, tokens):
            return getattr(theirs, score)(
                torch.from_numpy(attention), pattern_of(tokens[None]), exclude_bos=False,
                exclude_current_token=False, error_measure="mul")

        return np.array([[[of(a, tokens) for a in layer] for layer in sample]
                         for sample, tokens in zip(case.attention, case.tokens)])

    return {f"{name}/TransformerLens": scores(getattr(theirs, function))
            for name, function in names.items()}


def high_frequency(case, clones):
    split = clones.definitions("ViT-Anti-Oversmoothing", "featscale.py", "freq_decompose").freq_decompose

    def share(a):
        return torch.linalg.norm(split(None, torch.from_numpy(a))[1]) / np.linalg.norm(a)

    return {"high_frequency/ViT-Anti-Oversmoothing": of_heads(case, share)}


# ---- pairs --------------------------------------------------------------------------------------


def distances_of_clark(case, clones):
    """Sums over the rows of one document at a time."""
    layers, heads = case.attention.shape[1:3]

    def of(sample):
        tokens, attention = as_document(sample)
        written = []
        utils = SimpleNamespace(load_pickle=lambda _: [{"tokens": tokens, "attns": attention}],
                                logged_loop=lambda data, n_steps: data,
                                write_pickle=lambda value, _: written.append(value))
        arguments = SimpleNamespace(attn_data_file=None, outfile=None)
        parser = SimpleNamespace(add_argument=lambda *_, **__: None, parse_args=lambda: arguments)
        clones.definitions("attention-analysis", "head_distances.py", "main", utils=utils,
                           argparse=SimpleNamespace(ArgumentParser=lambda **_: parser),
                           print=lambda *_: None).main()
        return written[-1]

    js = [[of(sample)[first:first + heads, first:first + heads]
           for first in range(0, layers * heads, heads)] for sample in case.attention]
    return {"js/attention-analysis": np.array(js)}


def pairs(case, clones):
    matutils = clones.definitions("gensim", "gensim/matutils.py", "hellinger", "isbow")

    def hellinger(x, y):
        return np.array([matutils.hellinger(p, q) for p, q in zip(x, y)])

    def cosine_of_rows(x, y):
        return np.mean([cosine_similarity([p], [q]) for p, q in zip(x, y)])

    outputs = case.attention @ case.values
    return {
        "js/scipy": of_pairs(case.attention,
                             lambda x, y: np.mean(jensenshannon(x, y, base=2, axis=1) ** 2)),
        "hellinger/gensim": of_pairs(case.attention, lambda x, y: np.mean(hellinger(x, y))),
        "affinity/gensim": of_pairs(case.attention, lambda x, y: np.mean(hellinger(x, y) ** 2)),
        "cosine/scikit-learn": of_pairs(case.attention, lambda x, y: cosine_similarity(
            x.reshape(1, -1), y.reshape(1, -1))[0, 0]),
        "output_cosine/scikit-learn": of_pairs(outputs, cosine_of_rows),
        "value_cosine/scikit-learn": of_pairs(case.values, cosine_of_rows),
    }


def cka(case, clones):
    """In both of its ways, from features and from Gram matrices."""
    theirs = clones.definitions("ecco", "src/ecco/svcca_lib/cka_lib.py", "gram_linear", "center_gram",
                                "cka", "_debiased_dot_product_similarity_helper",
                                "feature_space_linear_cka")
    outputs = case.attention @ case.values

    def of(**options):
        from_features = of_pairs(
            outputs, lambda x, y: theirs.feature_space_linear_cka(x, y, **options))
        from_grams = of_pairs(outputs, lambda x, y: theirs.cka(
            theirs.gram_linear(x), theirs.gram_linear(y), **options))
        return from_features, from_grams

    biased, debiased = of(), of(debiased=True)
    return {"cka_output/ecco": biased[0], "cka_output/ecco-gram": biased[1],
            "cka_output_debiased/ecco": debiased[0], "cka_output_debiased/ecco-gram": debiased[1]}


# ---- layers -------------------------------------------------------------------------------------


def vendi(case, clones):
    """Of heads as samples: their affinity is the scalar product of the roots of their rows, over N."""
    theirs = clones.definitions("Vendi-Score", "vendi_score/vendi.py", "weight_K", "normalize_K",
                                "entropy_q", "score_K", "score_X", "score", preprocessing=preprocessing)

    def affinity(x, y):
        return np.sqrt(x * y).sum() / len(x)

    return {
        "effective_heads/Vendi-Score": np.array([[theirs.score(list(layer), affinity)
                                                  for layer in sample] for sample in case.attention]),
        "effective_heads/Vendi-Score-vectors": np.array(
            [[theirs.score_X(np.sqrt(layer).reshape(len(layer), -1)) for layer in sample]
             for sample in case.attention]),
    }


def rank_collapse(case, clones):
    """The repository has the norm twice, without and with the root."""
    repository, x = "attention-rank-collapse", torch.from_numpy(case.output)
    rootless = clones.definitions(repository, "functions.py", "composite_norm").composite_norm
    rooted = clones.definitions(repository, "paper-plotting/utils.py", "l1_matrix_norm",
                                "linf_matrix_norm", "composite_norm").composite_norm
    residual = x - x.mean(dim=-2, keepdim=True)
    squares = [[rootless(r) / rootless(y) for r, y in zip(rs, ys)] for rs, ys in zip(residual, x)]
    return {"rank_collapse/attention-rank-collapse-plots": (rooted(residual) / rooted(x)).numpy(),
            "rank_collapse/attention-rank-collapse": np.array(squares)}


def depth(case, clones):
    joint = clones.definitions("attention_flow", "attention_graph_util.py",
                               "compute_joint_attention").compute_joint_attention
    samples, layers, heads, n, _ = case.attention.shape
    rollouts = np.array([joint(sample.mean(1)) for sample in case.attention])
    flat = case.attention.reshape(samples, layers, heads, n * n)
    above = np.triu_indices(n, 1)
    return {
        "rollout_entropy/attention_flow": entropy(rollouts, axis=-1).mean(-1),
        "rollout_rank/attention_flow": np.linalg.matrix_rank(rollouts, tol=RANK_THRESHOLD),
        "cross_layer_cosine/scikit-learn": np.array(
            [[np.diag(cosine_similarity(x, y)).mean() for x, y in zip(sample, sample[1:])]
             for sample in flat]),
        "token_cosine/scikit-learn": np.array(
            [[cosine_similarity(x)[above].mean() for x in sample] for sample in case.output]),
    }


def main():
    clones = Clones(sys.argv[1], COMMITS, scipy=scipy)
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent / "measures"
    folder.mkdir(parents=True, exist_ok=True)
    for name, samples, causal in (("causal", 2, True), ("unmasked", 1, False)):
        case = case_of(name, samples, causal)
        tensors = {part: torch.as_tensor(getattr(case, part))
                   for part in ("attention", "values", "output", "tokens")}
        for part in (spectra, rows, notebook_of_clark, distance, sink, roles, high_frequency,
                     distances_of_clark, pairs, cka, vendi, rank_collapse, depth):
            for measure, numbers in part(case, clones).items():
                assert np.isfinite(numbers).all(), measure
                tensors[measure] = torch.as_tensor(numbers)
        save_expected(folder / f"{name}.safetensors", tensors)


if __name__ == "__main__":
    main()
