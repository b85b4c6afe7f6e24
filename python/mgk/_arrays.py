# SPDX-License-Identifier: MIT
"""Arrays of any library as matrices in memory, without copies where that is possible."""

import ctypes as c
import os
import weakref

import numpy as np

from ._library import keep, types
from ._progress import warn

_AXES = ("sample", "layer", "head")

# What mgk.h calls a dtype of numpy, which has none for bfloat16: its bits are uint16 here.
_FORMATS = {"float64": b"f64", "float32": b"f32", "float16": b"f16", "uint16": b"bf16"}

# Arrays [S, L, H, N, N] that the toolkit made, by their id.
_made = weakref.WeakValueDictionary()


def remember(array):
    """Note that the axes of an array are those of `attention`."""
    _made[id(array)] = array


def _is_made(x):
    """Whether x is such an array, or a view of one whose axes are in their order."""
    whole = x if x.base is None else x.base
    return _made.get(id(whole)) is whole and list(x.strides) == sorted(x.strides, reverse=True)


def is_array(x):
    """Whether x is matrices: an array of any library, or a sequence with one for each layer."""
    if isinstance(x, (str, bytes, os.PathLike, dict)):
        return False
    if isinstance(x, (list, tuple)):
        return bool(x) and all(is_array(part) for part in x)
    return any(
        hasattr(x, name) for name in ("__array_interface__", "__dlpack__", "__array__", "dims")
    )


def _as_numpy(x, allow_half):
    """An array of one of _FORMATS in this machine's byte order; a view of x if it is one."""
    if hasattr(x, "data_vars"):
        raise TypeError(
            "expected an array, not a Dataset: pass the variable with the matrices, such as "
            'x["attention"], and lengths=x["lengths"] if it has them, or the path of the file'
        )
    if hasattr(x, "detach"):  # a tensor of torch, perhaps on a GPU
        x = x.detach()
        x = (
            x.cpu()
            if getattr(x, "is_cuda", False) or str(getattr(x, "device", "cpu")) != "cpu"
            else x
        )
        if str(x.dtype) == "torch.bfloat16":
            import torch

            _check_half("bfloat16", allow_half)
            return x.view(torch.int16).numpy().view(np.uint16)
    if not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__"):
        try:
            x = np.from_dlpack(x)
        except (BufferError, RuntimeError, TypeError):
            x = np.asarray(x)
    if np.ma.is_masked(x):
        raise ValueError("an array with masked entries: say which tokens are valid by lengths")
    array = np.asarray(x)
    if array.dtype.name == "bfloat16":  # of another library
        _check_half("bfloat16", allow_half)
        return array.view(np.uint16)
    if array.dtype.kind != "f" or array.dtype.itemsize not in (2, 4, 8):
        raise TypeError(f"expected an array of floats of 16, 32 or 64 bits, not of {array.dtype}")
    if array.dtype.itemsize == 2:
        _check_half("float16", allow_half)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _check_half(name, allow_half):
    if not allow_half:
        raise ValueError(
            f"the array is {name}: compute it in float32, or pass allow_half=True to take it all "
            "the same"
        )


def widened(array):
    """An array of one of _FORMATS as floats that numpy computes with."""
    if array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32) if array.dtype == np.float16 else array


def _tell_numbers(x):
    """Tell where a table numbers layers and heads otherwise than the labels of an array."""
    for axis in ("layer", "head"):
        if axis not in getattr(x, "coords", ()):
            continue
        numbers = np.atleast_1d(np.asarray(x.coords[axis]))
        if not np.array_equal(numbers, np.arange(numbers.size)):
            told = ", ".join(map(str, numbers[:8])) + (", ..." if numbers.size > 8 else "")
            warn(f"the array has {axis} {told}: the table counts from 0")


def _usual_axes(count, x):
    """The names of the axes in front of the matrices if users do not say them; None: not known.

    Three axes of numpy are read as those that `attention` returns, with a warning unless it did
    return them. Of tensors they may be those of ``torch.stack(outputs.attentions)``, which begins
    with layers.
    """
    dims = tuple(getattr(x, "dims", ()))[:-2]
    if dims and set(dims) <= set(_AXES):
        _tell_numbers(x)
        return dims
    if count == 0:
        return ()
    if count != 3 or not isinstance(x, np.ndarray):
        return None
    if x.shape[:2] != (1, 1) and not _is_made(x):
        warn(
            f"an array of shape {x.shape}: its axes are read as sample,layer,head, which is a "
            "guess: if this is torch.stack(outputs.attentions), say axes='layer,sample,head'; "
            "if the guess is right, axes='sample,layer,head'"
        )
    return _AXES


def _axes_of(array, axes, x):
    """The names of the axes in front of the matrices."""
    count = array.ndim - 2
    if count < 0:
        raise ValueError(f"expected matrices [..., N, K], not an array of {array.ndim} axes")
    if axes is None:
        axes = _usual_axes(count, x)
    elif isinstance(axes, str):
        axes = tuple(filter(None, (part.strip() for part in axes.split(","))))
    if axes is None:
        examples = {
            1: "'sample' or 'head'",
            2: "'sample,head' or 'layer,head'",
            3: "'sample,layer,head' or 'layer,sample,head'",
        }
        raise ValueError(
            f"axes: nobody can tell the axes of an array of shape {array.shape} apart: "
            f"say axes={examples.get(count, examples[3])}"
        )
    axes = tuple(axes)
    wrong = [a for a in axes if a not in _AXES]
    if wrong or len(set(axes)) != len(axes):
        raise ValueError(
            f"axes: {','.join(map(str, axes))!r}: expected sample, layer and head, each once"
        )
    if len(axes) != count:
        raise ValueError(
            f"axes: {','.join(axes) or 'none'} are {len(axes)}, "
            f"but an array of shape {array.shape} has {count} in front of its matrices"
        )
    return axes


def format_of(array):
    """The dtype of an array as mgk.h has it."""
    return _FORMATS[array.dtype.name]


class _Layers:
    """Layers as views [S, H, N, K], which have the same shape and strides."""

    def __init__(self, views):
        first = views[0]
        for number, view in enumerate(views):
            if view.shape != first.shape:
                raise ValueError(f"layer {number} has shape {view.shape}, layer 0 {first.shape}")
        dtypes = {view.dtype for view in views}
        if len(dtypes) > 1 and any(dtype.itemsize == 2 for dtype in dtypes):
            raise ValueError("layers of 16 bits and others: compute all of them in float32")
        if any(v.strides != views[0].strides or v.dtype != views[0].dtype for v in views):
            views = [np.ascontiguousarray(v, dtype=np.result_type(*views)) for v in views]
        self.views = views
        self.shape = views[0].shape
        if 0 in self.shape:
            raise ValueError(f"an array of shape {self.shape} has no matrices")


def _layers_of(x, axes, allow_half):
    """The layers of an array, or of a sequence of arrays as transformers gives it."""
    if isinstance(x, (list, tuple)) and is_array(x):
        return _Layers([_single_layer(part, axes, allow_half) for part in x])
    array = _as_numpy(x, allow_half)
    names = _axes_of(array, axes, x)
    ordered = [names.index(a) for a in _AXES if a in names]
    view = array.transpose(*ordered, array.ndim - 2, array.ndim - 1)
    for place, name in enumerate(_AXES):
        if name not in names:
            view = np.expand_dims(view, place)
    return _Layers([view[:, layer] for layer in range(view.shape[1])] or [view[:, :0]])


def _single_layer(x, axes, allow_half):
    """One layer as [S, H, N, K]; three axes are heads of one sample."""
    array = _as_numpy(x, allow_half)
    names = ("sample", "head") if array.ndim == 4 else ("head",) if array.ndim == 3 else ()
    if axes is not None:
        names = tuple(n for n in _axes_of(array, axes, x))
        if "layer" in names:
            raise ValueError("axes: the arrays of a sequence are layers: expected sample and head")
    elif array.ndim not in (2, 3, 4):
        raise ValueError(f"a layer has shape {array.shape}, expected [samples, heads, N, K]")
    if names == ("head", "sample"):
        array = array.swapaxes(0, 1)
    if "sample" not in names:
        array = array[None]
    return array if "head" in names else array[:, None]


def _by_lengths(lengths, samples, tokens):
    """The first valid token and the number of valid tokens of each sample, or None."""
    if lengths is None:
        return None, None
    if hasattr(lengths, "detach"):
        lengths = lengths.detach().cpu()
    lengths = np.asarray(lengths).reshape(-1)
    if lengths.dtype.kind not in "iu":
        raise TypeError("lengths: expected whole numbers")
    if lengths.shape != (samples,):
        raise ValueError(f"lengths: {lengths.size} numbers for {samples} samples")
    if lengths.min() < 1 or lengths.max() > tokens:
        raise ValueError(f"lengths: expected 1 to {tokens}")
    return np.zeros(samples, np.int32), np.ascontiguousarray(lengths, np.int32)


def _by_mask(mask, samples, tokens, what=""):
    """The same, from a mask [S, N]."""
    if mask is None:
        return None, None
    mask = _numbers_of(mask)
    if mask.shape == (tokens,):
        mask = np.broadcast_to(mask, (samples, tokens))
    if mask.shape != (samples, tokens):
        raise ValueError(f"attention_mask: shape {mask.shape}, expected {(samples, tokens)}{what}")
    blocks = [block_of(row, number) for number, row in enumerate(mask)]
    first, lengths = zip(*blocks)
    return np.array(first, np.int32), np.array(lengths, np.int32)


def _numbers_of(mask):
    """A mask as an array of numpy."""
    if hasattr(mask, "detach"):
        mask = mask.detach().cpu()
    try:
        return np.asarray(mask)
    except ValueError:
        raise ValueError("attention_mask: expected rows of the same length") from None


def block_of(row, sample):
    """The first valid token and the number of valid tokens in a row of a mask."""
    if row.dtype.kind not in "biuf" or not np.isin(row, (0, 1)).all():
        raise ValueError(
            "attention_mask: expected 1 for tokens and 0 for padding, as tokenizers give it, not "
            "what is added to logits"
        )
    valid = np.flatnonzero(row)
    if not valid.size:
        raise ValueError(
            f"attention_mask: sample {sample} has no tokens: is True, or 0, that of padding?"
        )
    if valid[-1] - valid[0] + 1 != valid.size:
        raise ValueError(f"attention_mask: sample {sample} has padding between its tokens")
    return valid[0], valid.size


def matrices(
    x, name=None, axes=None, attention_mask=None, lengths=None, allow_half=False, cross=False
):
    """An mgk_array that looks into the memory of x, and keeps x alive.

    Of cross-attention, which matrices that are not square are in any case, the mask is that of the
    keys, and the lengths are those of the queries.
    """
    layers = _layers_of(x, axes, allow_half)
    samples, heads, tokens, keys = layers.shape
    cross = bool(cross) or tokens != keys
    if attention_mask is not None and lengths is not None and not cross:
        raise ValueError(
            "expected either attention_mask or lengths, but for cross-attention (cross=True)"
        )
    if cross and lengths is None and attention_mask is not None:
        warn(
            "cross-attention: attention_mask says which keys are padding; rows of padded queries "
            "count, unless lengths says how many queries each sample has"
        )
    of_mask = _by_mask(attention_mask, samples, keys, ": of the keys" if cross else "")
    of_lengths = _by_lengths(lengths, samples, tokens)
    queries = of_lengths if cross or attention_mask is None else of_mask
    views = layers.views
    array = types["mgk_array"]()
    places = (c.c_void_p * len(views))(*(view.ctypes.data for view in views))
    array.name = (name or "array").encode()
    array.dtype = format_of(views[0])
    array.layers = c.cast(places, c.POINTER(c.c_void_p))
    array.layer_count = len(views)
    array.samples, array.heads, array.tokens = samples, heads, tokens
    strides = views[0].strides
    array.sample_stride, array.head_stride, array.row_stride, array.column_stride = strides
    keep(array, places, views, *queries, *of_mask)
    array.first, array.lengths = map(_numbers, queries)
    if cross:
        array.keys = keys
        array.first_key, array.key_lengths = map(_numbers, of_mask)
    return array


def _numbers(array):
    """A pointer to the numbers of an array; None: NULL."""
    return None if array is None else array.ctypes.data_as(c.POINTER(c.c_int32))
