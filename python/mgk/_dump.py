# SPDX-License-Identifier: MIT
"""Writes attention stores."""

from __future__ import annotations

import ctypes as c
from typing import Sequence

from . import _inputs
from ._library import as_list, check, header, options, run
from ._model import Model, is_double
from ._typing import Array, Follow, Numbers, Path, Texts

_OBJECTS = {
    name[len("MGK_SAVE_") :].lower(): bit
    for name, bit in header.constants.items()
    if name.startswith("MGK_SAVE_")
}


def _bits(save):
    names = as_list(save, "save")
    for name in names:
        if name not in _OBJECTS:
            raise ValueError(f"save: expected some of {', '.join(_OBJECTS)}, not {name!r}")
    return sum(_OBJECTS[name] for name in set(names))


def dump(
    model: Path | Model,
    texts: Texts,
    output: Path,
    *,
    save: str | Sequence[str] = "attention",
    layers: Numbers | None = None,
    heads: Numbers | None = None,
    length: int | None = None,
    attention_mask: Array | None = None,
    dtype: str | None = None,
    compress: int = 0,
    force: bool = False,
    precision: str = "single",
    device: str = "auto",
    threads: int = 0,
    part: str | None = None,
    seed: int = 0,
    run_as: str | None = None,
    settings: dict | None = None,
    targets: Texts | None = None,
    progress: Follow = None,
) -> None:
    """Write attention of texts into a file of HDF5, which `open`, `ranks` and others read.

    Memory does not grow with the number of texts.

    Parameters
    ----------
    model, texts, layers, heads, length, attention_mask
        As for `attention`.
    output : path
    save : str or list of str
        "attention", "scores", "queries", "keys", "values", "weights".
    dtype : {'f32', 'f64', 'f16'}, optional
        By default that of the precision.
    compress : int
        0 to 9.
    force : bool
        Replace a file.
    precision, device, threads, part, targets, progress
        As for `attention`.
    seed : int
        Of what `run_as` draws.
    run_as, settings
        As for `ranks`.
    """
    job = _inputs.job_of(model, device, threads, seed, force, part, run_as, settings)
    if isinstance(model, Model):
        precision, model = model.precision, model.path
    with _inputs.texts(texts, attention_mask, length, targets) as source:
        o = options(
            "mgk_dump_options",
            job=job,
            model=model,
            input=source,
            layers=layers,
            heads=heads,
            save=_bits(save),
            dtype=dtype,
            compress=compress,
            double_precision=is_double(precision),
            output=output,
        )
        run(o, lambda: check("mgk_dump_attention", c.byref(o), None), progress, "attention")
