# SPDX-License-Identifier: MIT
"""What the tests share: paths, and arrays that look like attention."""

import os

import numpy as np

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODEL = os.path.join(TOP, "tests", "golden", "bytes", "lm.safetensors")  # tokens are bytes
BERT = os.path.join(TOP, "tests", "golden", "hugging_face", "bert")
T5 = os.path.join(TOP, "tests", "golden", "hugging_face", "t5")
TEXTS = ["The cat sat on the mat.", "Hello"]


def attention_like(*shape, seed=0, dtype=np.float64):
    """Positive matrices [..., N, N] whose rows sum to 1; some have a low rank."""
    random = np.random.default_rng(seed)
    a = random.random(shape) ** 4
    a[..., -1, :] = a[..., 0, :]
    return (a / a.sum(-1, keepdims=True)).astype(dtype)


def ranks_of(a, threshold=1e-6):
    """Ranks by numpy."""
    return (np.linalg.svd(a.astype(np.float64), compute_uv=False) >= threshold).sum(-1)
