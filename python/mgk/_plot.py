# SPDX-License-Identifier: MIT
"""Pictures, shown in notebooks."""

from __future__ import annotations

import contextlib
import ctypes as c
import operator
import os
import tempfile
from typing import Any, Sequence

import numpy as np

from . import _inputs
from ._arrays import is_array, matrices, widened
from ._library import as_list, check, header, options, run, types
from ._table import Table, folder_of_tables, path_of
from ._typing import Array, Follow, Path

_KINDS = {
    name[len("MGK_PLOT_") :].lower(): value for name, value in header.enums["mgk_plot_kind"].items()
}

# What pictures are drawn from that draw no arrays.
_NO_ARRAYS = {
    **dict.fromkeys(("weights", "keys", "curves", "cost"), "files of stores, models or logs"),
    "ranks": "tables of mgk.ranks",
    **dict.fromkeys(
        ("heads", "depth", "pairs", "roles", "compare", "prune", "map", "mixture"),
        "tables of mgk.diversity",
    ),
}


class Picture:
    """A picture, which notebooks show.

    Attributes
    ----------
    png : bytes
    """

    def __init__(self, png, draw):
        self.png = png
        self._draw = draw

    def _repr_png_(self) -> bytes:
        return self.png

    def save(self, path: Path, *, force: bool = False) -> None:
        """Write the picture: .png, .pdf or .svg, by the ending."""
        self._draw(path, force)

    def __repr__(self):
        width, height = (int.from_bytes(self.png[at : at + 4], "big") for at in (16, 20))
        return f"<mgk.Picture of {width} x {height} pixels>"


def _one_sample(array, sample):
    """The valid tokens of a sample of an mgk_array, [1, L, H, n, k]."""
    rows = columns = _valid(array.first, array.lengths, array.tokens, sample)
    if array.keys:
        columns = _valid(array.first_key, array.key_lengths, array.keys, sample)
    return np.stack([widened(view[sample, :, rows, columns]) for view in array.kept[1]])[None]


def _valid(first, lengths, tokens, sample):
    """The valid ones of the tokens of a sample."""
    start = first[sample] if first else 0
    return slice(start, start + lengths[sample] if lengths else tokens)


def _write_labels(labels, array, sample, path):
    """Write a text for each valid token of a sample, of as many texts as there are tokens."""
    labels = [str(label).replace("\n", "\\n") for label in labels]
    if len(labels) != array.tokens or array.keys:
        raise ValueError(
            f"labels: {len(labels)} texts for square matrices of {array.tokens} tokens"
        )
    with open(path, "w", encoding="utf-8") as file:
        valid = labels[_valid(array.first, array.lengths, array.tokens, sample)]
        file.writelines(label + "\n" for label in valid)
    return {"labels": True, "labels_file": path}


def _is_none(x):
    """Whether no input is given."""
    return isinstance(x, tuple) and not x


@contextlib.contextmanager
def _fields(x, about, choices):
    """The fields that name the inputs; tables and an array pass through files."""
    if not is_array(x):
        for name in ("attention_mask", "lengths"):
            if about[name] is not None:
                raise ValueError(f"{name}: only arrays have one")
        with folder_of_tables() as folder:
            given = [x] if isinstance(x, Table) else [] if _is_none(x) else as_list(x, "inputs")
            paths = [
                path_of(one, os.path.join(folder, f"table-{i}.json")) for i, one in enumerate(given)
            ]
            named = {"inputs": paths} if paths else {}
            yield {**named, "axes": about["axes"], **choices}
        return
    array, sample = matrices(x, **about), operator.index(choices.get("sample", 0))
    if not 0 <= sample < array.samples:
        raise ValueError(f"sample: {sample} of {array.samples}")
    with tempfile.TemporaryDirectory(prefix="mgk-") as folder:
        path = os.path.join(folder, "array.npy")
        np.save(path, _one_sample(array, sample))
        labels = choices.get("labels")
        if isinstance(labels, (list, tuple, np.ndarray)):
            text = os.path.join(folder, "labels.txt")
            choices = {**choices, **_write_labels(labels, array, sample, text)}
        yield {
            "inputs": [path],
            "axes": "sample,layer,head",
            "title": f"sample {sample}",
            **choices,
            "sample": 0,
        }


def plot(
    kind: str,
    x: Path | Table | Sequence[Path | Table] | Array = (),
    *,
    axes: str | Sequence[str] | None = None,
    attention_mask: Array | None = None,
    lengths: Sequence[int] | Array | None = None,
    allow_half: bool = False,
    seed: int = 0,
    progress: Follow = None,
    **choices: Any,
) -> Picture:
    """Draw a picture, as mgk-plot does.

    Parameters
    ----------
    kind : str
        "attention", "weights", "keys", "ranks", "curves", "cost", "heads", "depth", "pairs",
        "roles", "compare", "prune", "map", "mixture", or "figure" or "performer" with
        ``figure=2``.
    x : path, table of `ranks` or `diversity`, list of these, or array; figures 2 and 4 of
        "performer" have none
        Stores, rank files, files of measures, logs or models, as the kind needs. "attention" also
        draws one sample of an array [..., N, K], by default the first.
    axes, attention_mask, lengths, allow_half
        Of an array, as in `ranks`.
    **choices
        Fields of mgk_plot_options in mgk.h: sample, layers, heads, title, colors, scale, shared,
        measure, labels, words, first, last, names, sweep, panel and others. `labels` of an array
        may be a list with the text of each token.

    Returns
    -------
    Picture

    Examples
    --------
    >>> import mgk
    >>> a = mgk.attention("models/lm-mgk-4.safetensors", "A short text.")
    >>> picture = mgk.plot("attention", a, layers=[0, 1])
    >>> picture.png[1:4]
    b'PNG'
    """
    if kind not in _KINDS:
        raise ValueError(f"kind: expected one of {', '.join(_KINDS)}, not {kind!r}")
    if is_array(x) and kind in _NO_ARRAYS:
        raise TypeError(f"{kind} draws {_NO_ARRAYS[kind]}, not arrays")
    fields = {name for name, _ in types["mgk_plot_options"]._fields_}
    for name in choices:
        if name not in fields or name in ("size", "job", "kind", "inputs", "output"):
            raise TypeError(f"{name}: not an option of plot")
    about = {
        "axes": axes,
        "attention_mask": attention_mask,
        "lengths": lengths,
        "allow_half": allow_half,
    }

    def draw(path, force):
        with _fields(x, about, choices) as wanted:
            job = _inputs.job(None, None, seed, force)
            o = options("mgk_plot_options", job=job, output=path, **wanted)
            o.kind = _KINDS[kind]
            run(o, lambda: check("mgk_plot_picture", c.byref(o)), progress, "picture")

    with tempfile.TemporaryDirectory(prefix="mgk-") as folder:
        path = os.path.join(folder, "picture.png")
        draw(path, False)
        with open(path, "rb") as file:
            return Picture(file.read(), draw)
