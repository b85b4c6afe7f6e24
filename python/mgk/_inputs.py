# SPDX-License-Identifier: MIT
"""What ranks and measures are computed of: arrays, files, or models that run on texts."""

import contextlib
import ctypes as c
import operator
import os
import tempfile

import numpy as np

from ._arrays import is_array, matrices
from ._context import attach
from ._job import job
from ._library import fill, keep, types
from ._model import Model, ids_of, is_double, targets_of, texts_of
from ._table import Table


def whole(value, what):
    """A whole number, not negative."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: expected a whole number, not {value!r}") from None
    if number < 0:
        raise ValueError(f"{what}: expected a number that is not negative")
    if number >= 2**31:
        raise ValueError(f"{what}: {number} is out of range")
    return number


def job_of(x, device, threads, seed, force, part, run_as, settings):
    """The mgk_job of a call; a model in memory has its own part, and perhaps its own kind."""
    if isinstance(x, Model):
        if part is not None:
            raise ValueError("part: a Model has its own")
        part = x.part
        if x.run_as is not None:
            if run_as is not None or settings is not None or seed not in (0, x.seed):
                raise ValueError("run_as, settings, seed: a Model that has them keeps its own")
            run_as, settings, seed = x.run_as, x.settings, x.seed
    return job(device, threads, seed, force, part, run_as, settings)


def _strings(source, texts, strings, sizes):
    """Set two fields of a structure to texts and their sizes in bytes."""
    data = [text.encode("utf-8") for text in texts]
    pointers = (c.c_char_p * len(data))(*data)
    numbers = (c.c_size_t * len(data))(*map(len, data))
    keep(source, data, pointers, numbers)
    setattr(source, strings, c.cast(pointers, c.POINTER(c.c_char_p)))
    setattr(source, sizes, c.cast(numbers, c.POINTER(c.c_size_t)))


@contextlib.contextmanager
def texts(texts, mask, length, targets=None):
    """An mgk_input of texts, or of token ids, which pass through files; of targets, too."""
    texts, told = texts_of(texts, mask)
    targets = targets_of(targets, texts)
    source = types["mgk_input"]()
    with contextlib.ExitStack() as stack:
        if all(isinstance(text, str) for text in texts):
            _strings(source, texts, "strings", "string_sizes")
            source.string_count = len(texts)
            if targets is not None:
                _strings(source, targets[0], "target_strings", "target_sizes")
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mgk-"))
            fill(source, tokens=_write_ids(folder, "tokens", texts, told))
            if targets is not None:
                fill(source, target=_write_ids(folder, "target", *targets))
        fill(source, samples=len(texts), length=length)
        yield source


def _write_ids(folder, name, texts, told):
    """Write sequences of ids: with padding that is told as an array with -1, which has no other."""
    rows = [ids_of(text) for text in texts]
    if any(row.size == 0 for row in rows):
        raise ValueError("texts: one has no tokens")
    if not told:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.writelines(" ".join(map(str, row.tolist())) + "\n" for row in rows)
        return path
    out = np.full((len(rows), 1 + max(row.size for row in rows)), -1, np.int64)
    for place, row in zip(out, rows):
        place[: row.size] = row
    path = os.path.join(folder, name + ".npy")
    np.save(path, out)
    return path


def _files(x):
    """A list of paths, or None."""
    paths = [x] if isinstance(x, (str, os.PathLike)) else x
    if (
        isinstance(paths, (list, tuple))
        and paths
        and all(isinstance(path, (str, os.PathLike)) for path in paths)
    ):
        return [os.fspath(path) for path in paths]
    return None


def _arrays(x, about, besides):
    """Arrays, by name or one without a name, as a list of mgk_array; None: x is none."""
    if hasattr(x, "attentions"):
        raise TypeError("expected matrices, not the outputs of a model: pass outputs.attentions")
    if hasattr(x, "save_pretrained"):
        raise TypeError(
            "a model of transformers is read from its folder: x.save_pretrained(folder)"
        )
    if isinstance(x, Table) or (
        isinstance(x, (list, tuple)) and any(isinstance(t, Table) for t in x)
    ):
        raise TypeError(
            "a table has means alone: pass the .h5 files that `output` wrote, which have the samples"
        )
    if isinstance(x, (list, tuple)) and all(part is None for part in x):
        raise TypeError(
            "the list has no attention matrices: load the model with "
            'attn_implementation="eager" and call it with output_attentions=True'
        )
    if isinstance(x, dict) and x and all(is_array(part) for part in x.values()):
        return [
            _array(part, _of_input(besides, name), name, _of_input(about, name))
            for name, part in x.items()
        ]
    if not is_array(x):
        return None
    for key, value in {**about, **besides}.items():
        if isinstance(value, dict):
            raise TypeError(f"{key}: a dict belongs to a dict of arrays")
    return [_array(x, besides, None, about)]


def _array(x, besides, name, about):
    """One input; whether it may have 16 bits is for the library to say."""
    about = {**about, "allow_half": True}
    array = matrices(x, name=name if name is None else str(name), **about)
    attach(array, about["axes"], **besides)
    return array


def _of_input(known, name):
    """What is known of one input: of a dict by name its own, anything else is of all."""
    for key, value in known.items():
        if isinstance(value, dict) and name not in value:
            raise ValueError(f"{key}: nothing for {name!r}")
    return {key: v[name] if isinstance(v, dict) else v for key, v in known.items()}


@contextlib.contextmanager
def inputs(x, given, dataset, precision, length, about, targets=None, besides=None):
    """Yield the fields of an option structure that name the inputs.

    Parameters
    ----------
    x : array, dict of arrays, path, list of paths, or Model
    given : list of str, or ids, or None
        Texts, for models.
    about : dict
        axes, attention_mask, lengths, allow_half and cross, of arrays.
    besides : dict, optional
        values, tokens and hidden_states, of arrays.
    targets : list of str, or ids, or None
        Of decoders.
    """
    besides = besides or {}
    if isinstance(x, Model):
        if given is None:
            raise TypeError("texts: a model has no matrices without texts: pass some after it")
        precision, x = x.precision, x.path
    paths = _files(x)
    if given is not None:
        if paths is None:
            raise TypeError(
                "texts: only models read texts, and a model is given by its path, to which "
                "transformers writes it by save_pretrained"
            )
        _refuse(about, "texts", ("axes", "lengths", "cross"))
        _refuse(besides, "texts", besides)
        with texts(given, about["attention_mask"], length, targets) as source:
            yield {"models": paths, "input": source, "double_precision": is_double(precision)}
        return
    if targets is not None:
        raise ValueError("targets: only models with texts have them")
    if length is not None:
        raise ValueError(
            "length: only texts have one; say which tokens of an array are valid by attention_mask"
        )
    if paths is not None:
        _refuse(about, "files", ("attention_mask", "lengths", "cross"))
        _refuse(besides, "files", besides)
        axes = about["axes"]
        axes = axes if axes is None or isinstance(axes, str) else ",".join(axes)
        yield {"inputs": paths, "dataset": dataset, "axes": axes}
        return
    arrays = _arrays(x, about, besides)
    if arrays is None:
        raise TypeError(
            f"expected an array [..., N, N], a path or a model with texts, not {type(x).__name__}"
        )
    if dataset is not None:
        raise ValueError("dataset: only files have one")
    yield {"arrays": arrays}


def _refuse(about, what, names):
    for name in names:
        if about[name] is not None and about[name] is not False:
            raise ValueError(f"{name}: {what} have none")
