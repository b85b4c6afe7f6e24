# SPDX-License-Identifier: MIT
"""What is known of the samples of an array besides its matrices: token ids, values, hidden states."""

import ctypes as c

import numpy as np

from ._arrays import _as_numpy, _Layers, _layers_of, format_of
from ._library import keep, types


def attach(array, axes=None, values=None, tokens=None, hidden_states=None):
    """Give an mgk_array its context, and keep that alive as long as the array.

    Parameters
    ----------
    array : mgk_array
    axes : str, optional
        Those of the matrices; values that are one array have the same.
    values : array or sequence of arrays [S, H, N, D], one for each layer
    tokens : array or lists [S, N] of ids
    hidden_states : array or sequence of arrays [S, N, C], of the layers, perhaps after the
        embedding
    """
    if values is None and tokens is None and hidden_states is None:
        return
    if array.keys:
        raise ValueError(
            "values, tokens, hidden_states: attention of one sequence to another has none"
        )
    context = types["mgk_array_context"]()
    if values is not None:
        layers = _layers_of(values, None if isinstance(values, (list, tuple)) else axes, True)
        _check(array, "values", "[S, H, N, D]", layers, array.layer_count)
        heads = layers.shape[1]
        if array.heads % heads:
            raise ValueError(f"values: {heads} heads, the matrices have {array.heads}")
        _set(context, context.values, layers)
    if hidden_states is not None:
        layers = _hidden_layers(hidden_states, array.layer_count)
        _check(array, "hidden_states", "[S, N, C]", layers, array.layer_count)
        _set(context, context.outputs, layers)
    if tokens is not None:
        ids = _ids(tokens, array)
        keep(context, ids)
        context.tokens = ids.ctypes.data_as(c.POINTER(c.c_int32))
    array.context = c.pointer(context)
    keep(array, context)


def _check(array, what, expected, layers, count):
    """Whether there are vectors for each layer, sample and token."""
    samples, _, tokens, _ = layers.shape
    if len(layers.views) != count:
        raise ValueError(f"{what}: {len(layers.views)} layers, the matrices have {count}")
    if (samples, tokens) != (array.samples, array.tokens):
        raise ValueError(
            f"{what}: {samples} samples of {tokens} tokens, the matrices have {array.samples} of "
            f"{array.tokens}: expected {expected} for each layer"
        )


def _set(context, vectors, layers):
    """Point vectors to the views [S, H, N, D] of the layers."""
    views = layers.views
    places = (c.c_void_p * len(views))(*(view.ctypes.data for view in views))
    vectors.dtype = format_of(views[0])
    vectors.layers = c.cast(places, c.POINTER(c.c_void_p))
    _, vectors.heads, _, vectors.size = layers.shape
    strides = views[0].strides
    vectors.sample_stride, vectors.head_stride, vectors.token_stride, vectors.stride = strides
    keep(context, places, views)


def _hidden_layers(states, count):
    """Hidden states as layers [S, 1, N, C]; the first of one more than there are layers is that of
    the embedding, as in the outputs of transformers."""
    if isinstance(states, (list, tuple)):
        states = [_as_numpy(state, True) for state in states]
    else:
        states = list(_as_numpy(states, True))
    states = states[1:] if len(states) == count + 1 else states
    for state in states:
        if state.ndim not in (2, 3):
            raise ValueError(
                f"hidden_states: a layer has shape {state.shape}, expected [samples, N, C]"
            )
    return _Layers([state.reshape(-1, 1, *state.shape[-2:]) for state in states])


def _ids(tokens, array):
    """Token ids [S, N]: of all tokens, or of the valid ones of a sample alone. -1 is no token."""
    if hasattr(tokens, "detach"):
        tokens = tokens.detach().cpu()
    if array.samples == 1 and np.ndim(tokens) == 1:
        tokens = [tokens]
    rows = [np.asarray(row) for row in tokens]
    if len(rows) != array.samples:
        raise ValueError(f"tokens: {len(rows)} samples, the matrices have {array.samples}")
    out = np.full((array.samples, array.tokens), -1, np.int32)
    for sample, row in enumerate(rows):
        if row.ndim != 1 or row.dtype.kind not in "iu":
            raise TypeError("tokens: expected ids, whole numbers [samples, N]")
        first = array.first[sample] if array.first else 0
        valid = array.lengths[sample] if array.lengths else array.tokens - first
        if row.size not in (array.tokens, valid):
            raise ValueError(
                f"tokens: sample {sample} has {row.size} ids for {valid} valid tokens of "
                f"{array.tokens}"
            )
        if row.size and not -(2**31) <= row.min() <= row.max() < 2**31:
            raise ValueError(f"tokens: sample {sample} has ids that int32 does not hold")
        start = 0 if row.size == array.tokens else first
        out[sample, start : start + row.size] = row
    return out
