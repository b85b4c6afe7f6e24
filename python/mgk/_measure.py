# SPDX-License-Identifier: MIT
"""Ranks, measures of diversity and singular values."""

from __future__ import annotations

import concurrent.futures
import ctypes as c
import os
import tempfile
from typing import Sequence

import numpy as np

from . import _inputs
from ._arrays import _as_numpy, widened
from ._library import Error, check, options, run, take_text, types
from ._model import Model
from ._table import Table, read
from ._typing import Array, Follow, Numbers, Path, Texts


def ranks(
    x: Array | Path | Model | dict[str, Array] | Sequence[Path],
    texts: Texts | None = None,
    *,
    axes: str | Sequence[str] | None = None,
    attention_mask: Array | None = None,
    lengths: Sequence[int] | Array | None = None,
    cross: bool = False,
    threshold: float | Sequence[float] = 1e-6,
    relative: bool = False,
    method: str = "auto",
    layers: Numbers | None = None,
    heads: Numbers | None = None,
    matrices: int | None = None,
    seed: int = 0,
    length: int | None = None,
    dataset: str | None = None,
    allow_half: bool = False,
    allow_zero_rows: bool = False,
    spectrum: bool = False,
    output: Path | None = None,
    force: bool = False,
    resume: bool = False,
    precision: str = "single",
    device: str = "auto",
    threads: int = 0,
    part: str | None = None,
    run_as: str | None = None,
    settings: dict | None = None,
    targets: Texts | None = None,
    progress: Follow = None,
) -> Table:
    """Numerical ranks of attention matrices: how many singular values reach a threshold.

    Parameters
    ----------
    x : array, sequence or dict of arrays, path, list of paths, or Model
        Attention matrices: an array [..., N, N] of numpy, torch or another library, which is not
        copied if it is float32 or float64; a sequence with an array [S, H, N, N] for each layer,
        as ``outputs.attentions`` of transformers; a dict of such inputs by name; an attention
        store or another file of matrices. Or a model, with texts. Attention of one sequence to
        another, such as ``outputs.cross_attentions``, has matrices [..., N, K] of N queries and K
        keys; it is recognised by N being another number than K.
    texts : list of str, or token ids, optional
        Run the model x on these, and count its matrices without storing them.
    axes : str, optional
        The axes in front of the matrices, in their order, such as "layer,sample,head". Three axes
        of a numpy array are read as "sample,layer,head"; a warning says that this is a guess,
        unless `attention` made the array.
    attention_mask : array [S, N], optional
        1 for tokens and 0 for padding at the beginning or the end, as tokenizers give it; of
        token ids, too. Of matrices [..., N, K] it is that of the keys, [S, K].
    lengths : array [S], optional
        The number of tokens of each sample, in place of a mask. Of matrices [..., N, K] that of
        the queries of each sample, besides a mask of the keys.
    threshold : float or list of float
        The table has a row for each.
    relative : bool
        Thresholds are multiples of the largest singular value of each matrix.
    method : {'auto', 'svd', 'count'}
        'count' counts ranks alone, which is faster.
    layers, heads : int or list of int, optional
    matrices : int, optional
        Draw so many matrices of each layer, by seed; by default all are counted.
    length : int, optional
        Cut texts to so many tokens.
    dataset : str, optional
        The array in a file of HDF5 or NumPy.
    allow_half : bool
        Accept float16 and bfloat16, where the rank is that of rounding errors.
    allow_zero_rows : bool
        Accept rows of zeros among the tokens.
    output : path, optional
        Write the table, too: .csv, .json or .h5; `spectrum` keeps singular values in .h5, `resume`
        continues a run that was interrupted, `force` replaces a file.
    precision, device, threads, part
        As for `Model`.
    run_as : str, optional
        Run a model of softmax with this kind of attention in all layers, "performer", or with one
        for each, "band,band,performer". Random features come from the seed.
    settings : dict, optional
        Of these kinds, such as {"features": 256}; `kinds` lists them.
    targets, progress
        As for `attention`.

    Returns
    -------
    Table
        A row for each matrix and threshold, with the columns sample, layer, head, n, rank,
        undecided, sigma_max, effective_rank, stable_rank and others.

    Examples
    --------
    >>> import numpy, mgk
    >>> a = numpy.stack([numpy.eye(8), numpy.full((8, 8), 1 / 8)])
    >>> mgk.ranks(a, axes="head")["rank"].tolist()
    [8, 1]
    """
    about = {
        "axes": axes,
        "attention_mask": attention_mask,
        "lengths": lengths,
        "allow_half": allow_half,
        "cross": cross,
    }
    with _inputs.inputs(x, texts, dataset, precision, length, about, targets) as fields:
        models = fields.pop("models", None)
        if models and len(models) > 1:
            raise ValueError("one model at a time: call this once for each")
        o = options(
            "mgk_rank_options",
            job=_inputs.job_of(x, device, threads, seed, force, part, run_as, settings),
            model=models and models[0],
            thresholds=threshold,
            relative=relative,
            method=method,
            layers=layers,
            heads=heads,
            allow_half=allow_half,
            allow_zero_rows=allow_zero_rows,
            spectrum=spectrum,
            output=output,
            resume=resume,
            **fields,
        )
        o.matrices = 0 if matrices is None else _inputs.whole(matrices, "matrices")
        address, summary = c.c_void_p(), types["mgk_rank_summary"]()
        run(
            o,
            lambda: check("mgk_rank_to_table", c.byref(o), c.byref(address), c.byref(summary)),
            progress,
            "ranks",
        )
    take_text(c.cast(summary.layers, c.c_void_p).value)
    table = Table._take(address)
    table.summary = take_text(summary.histogram)
    return table


def diversity(
    x: Array | Path | Model | dict[str, Array] | Sequence[Path],
    texts: Texts | None = None,
    *,
    measures: str | Sequence[str] | None = None,
    axes: str | Sequence[str] | None = None,
    attention_mask: Array | None = None,
    lengths: Sequence[int] | Array | None = None,
    cross: bool = False,
    values: Array | Sequence[Array] | dict | None = None,
    tokens: Array | Sequence[Sequence[int]] | dict | None = None,
    hidden_states: Array | Sequence[Array] | dict | None = None,
    causal: bool = False,
    compare: bool = False,
    per_sample: bool = False,
    across_layers: bool = False,
    across_models: bool = False,
    prune: bool = False,
    prune_held_out: int = 0,
    threshold: float = 1e-6,
    relative: bool = False,
    layers: Numbers | None = None,
    heads: Numbers | None = None,
    seed: int = 0,
    length: int | None = None,
    dataset: str | None = None,
    allow_half: bool = False,
    allow_zero_rows: bool = False,
    output: Path | None = None,
    force: bool = False,
    resume: bool = False,
    precision: str = "single",
    device: str = "auto",
    threads: int = 0,
    part: str | None = None,
    run_as: str | None = None,
    settings: dict | None = None,
    targets: Texts | None = None,
    progress: Follow = None,
) -> Table:
    """Measures of how diverse, or how redundant, heads are.

    Parameters
    ----------
    x, texts, axes, attention_mask, lengths, cross, layers, heads, length, dataset
    precision, device, threads, part, run_as, settings, targets
        As for `ranks`; several models may run on the same texts.
    measures : str or list of str, optional
        Names of measures, see `measures`, a string with commas between them; "all"; by default
        those that are quick.
    values : array or sequence of arrays, optional
        Of arrays: the value vectors, an array [S, H, N, D] for each layer, or one with the axes of
        x. With grouped keys, H is the number of their heads. Measures of outputs need them.
    tokens : array or lists [S, N], optional
        Of arrays: the ids of tokens, for the roles of heads.
    hidden_states : array or sequence of arrays, optional
        Of arrays: the output [S, N, C] of each layer, or those of the embedding and of each layer,
        as ``outputs.hidden_states``. Of a dict of arrays, these three are dicts with its keys.
    causal : bool
        Arrays come from a model with a causal mask.
    compare : bool
        Compare each further input with the first one.
    per_sample : bool
        A row for each sample in place of means. An `output` of .h5 holds all samples, and the
        table means.
    across_layers : bool
        Compare heads of different layers, too.
    across_models : bool
        Take two inputs as one, and compare heads of both. Layers of the second are counted on from
        `table.settings["second_layers_from"]`.
    prune : bool
        Remove the heads of each model one by one.
    prune_held_out : int
        So many samples, the last ones, choose no heads: the loss is theirs alone.
    threshold, relative
        Of ranks.
    output, force, resume
        As for `ranks`.

    Returns
    -------
    Table
        A row for each measure, layer and head or pair of heads: columns input, level, measure,
        layer, head, other_head, value, sd and others.

    Examples
    --------
    >>> import numpy, mgk
    >>> a = numpy.stack([numpy.eye(8), numpy.full((8, 8), 1 / 8)])
    >>> table = mgk.diversity(a, axes="head", measures="entropy")
    >>> table["value"].round(4).tolist()
    [0.0, 2.0794]
    """
    about = {
        "axes": axes,
        "attention_mask": attention_mask,
        "lengths": lengths,
        "allow_half": allow_half,
        "cross": cross,
    }
    besides = {"values": values, "tokens": tokens, "hidden_states": hidden_states}
    if isinstance(measures, str):
        measures = [name.strip() for name in measures.split(",")]
    with (
        tempfile.TemporaryDirectory(prefix="mgk-") as folder,
        _inputs.inputs(x, texts, dataset, precision, length, about, targets, besides) as fields,
    ):
        if per_sample and output is None:
            output = os.path.join(folder, "samples.csv")
        o = options(
            "mgk_diversity_options",
            job=_inputs.job_of(x, device, threads, seed, force, part, run_as, settings),
            measures=measures,
            causal=causal,
            compare=compare,
            per_sample=per_sample,
            across_layers=across_layers,
            across_models=across_models,
            prune=prune,
            prune_held_out=prune_held_out,
            threshold=threshold,
            relative=relative,
            layers=layers,
            heads=heads,
            allow_half=allow_half,
            allow_zero_rows=allow_zero_rows,
            output=output,
            resume=resume,
            **fields,
        )
        address = c.c_void_p()
        run(
            o,
            lambda: check("mgk_measure_diversity", c.byref(o), c.byref(address)),
            progress,
            "diversity",
        )
        means = Table._take(address)
        if not per_sample or str(output).endswith(".h5"):
            return means
        samples = read(output)
        samples.settings = means.settings
        return samples


def measures() -> Table:
    """The measures of diversity: a `Table` with name, level, unit, range, formula and source."""
    description, rows = types["mgk_measure_description"](), []
    names = ("name", "level", "unit", "range", "formula", "source", "needs")
    for index in range(1 << 16):
        try:
            check("mgk_describe_measure", index, c.byref(description))
        except Error:
            break
        rows.append([getattr(description, name).decode() for name in names])
    return Table({name: np.array(column, object) for name, column in zip(names, zip(*rows))})


def kinds() -> Table:
    """The kinds of attention: a `Table` with name, formula, primitives, parameters, devices, causal,
    matrix, rank_bound and reason.

    The cells of ``parameters`` are dicts of settings and their defaults; those of ``reason`` say why
    there is no N x N matrix where ``matrix`` is False. ``rank_bound`` holds without a causal mask,
    with which a matrix can have rank N.

    Examples
    --------
    >>> import mgk
    >>> "softmax" in mgk.kinds()["name"]
    True
    """
    description, rows = types["mgk_kind_description"](), []
    texts = ("formula", "primitives", "devices", "causal", "rank_bound", "reason")
    names = ("name", *texts[:2], "parameters", "devices", "causal", "matrix", "rank_bound")
    for index in range(1 << 16):
        try:
            check("mgk_describe_kind", index, c.byref(description))
        except Error:
            break
        row = {name: getattr(description, name).decode() for name in ("name", *texts)}
        row["parameters"] = dict(_setting(index, i) for i in range(description.settings))
        row["matrix"] = description.matrix
        rows.append(row)
    columns = {name: np.empty(len(rows), object) for name in (*names, "reason")}
    for name, column in columns.items():
        column[:] = [row[name] for row in rows]
    columns["matrix"] = columns["matrix"].astype(bool)
    return Table(columns)


def _setting(kind, index):
    """The name of a setting of a kind, and its default."""
    description = types["mgk_setting_description"]()
    check("mgk_describe_setting", kind, index, c.byref(description))
    word = description.word
    return description.name.decode(), description.number if word is None else word.decode()


def singular_values(a: Array, *, threads: int = 0) -> np.ndarray:
    """Singular values of square matrices, descending, in float64.

    Parameters
    ----------
    a : array [..., N, N]
        Of numpy, torch or another library.
    threads : int
        0: all cores.

    Returns
    -------
    ndarray [..., N]

    Examples
    --------
    >>> import mgk
    >>> mgk.singular_values([[3.0, 0.0], [0.0, 4.0]])
    array([4., 3.])
    """
    array = widened(_as_numpy(a, allow_half=True))
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ValueError(f"expected square matrices [..., N, N], not shape {array.shape}")
    n = array.shape[-1]
    out = np.empty(array.shape[:-1])
    real = c.POINTER(c.c_double)

    def compute(index):
        matrix = np.ascontiguousarray(array[index], np.float64)
        place = out[index]
        check("mgk_singular_values", matrix.ctypes.data_as(real), n, n, place.ctypes.data_as(real))

    indices = list(np.ndindex(array.shape[:-2]))
    if len(indices) < 2 or n == 0:
        for index in indices:
            compute(index)
        return out
    with concurrent.futures.ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        for done in [pool.submit(compute, index) for index in indices]:
            done.result()
    return out
