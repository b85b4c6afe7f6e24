# SPDX-License-Identifier: MIT
"""How well models predict."""

from __future__ import annotations

import contextlib
import ctypes as c
from types import SimpleNamespace
from typing import NamedTuple, Sequence

import numpy as np

from . import _inputs
from ._job import job as _job
from ._library import as_list, call, check, fill, options, run, types
from ._model import Model, is_double
from ._typing import Array, Follow, Path, Texts


class Evaluation(NamedTuple):
    """What `evaluate` returns; NaN is what a model does not have, or what is not known."""

    #: Samples that were run, and tokens of the longest.
    samples: int
    length: int
    #: Predicted tokens, or samples with a class.
    targets: int
    #: Mean of -ln p over the targets.
    loss: float
    #: exp(loss) of a language model.
    perplexity: float
    #: -log2 p of all targets, for each byte of their text.
    bits_per_byte: float
    #: Share of targets to which the model gives the largest p; NaN: an adaptive softmax does not tell.
    accuracy: float


class EvaluationDifference(NamedTuple):
    """What `compare_evaluations` returns: differences b - a, 95 % intervals, and p."""

    #: In nats.
    loss: float
    loss_low: float
    loss_high: float
    loss_p: float
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    accuracy_p: float
    #: Samples with targets.
    samples: int


def _heads(pairs):
    """Heads as the library takes them; None: no heads."""
    try:
        pairs = [tuple(pair) for pair in pairs]
    except TypeError:
        raise TypeError("remove: expected pairs (layer, head)") from None
    if any(len(pair) != 2 for pair in pairs):
        raise TypeError("remove: expected pairs (layer, head)")
    return [fill(types["mgk_head"](), layer=layer, head=head) for layer, head in pairs] or None


def evaluate(
    model: Path | Model,
    texts: Texts | None = None,
    *,
    files: Path | Sequence[Path] | None = None,
    task: str | None = None,
    data: Path | Sequence[Path] | None = None,
    stride: int = 0,
    samples: int = 0,
    length: int | None = None,
    attention_mask: Array | None = None,
    precision: str = "single",
    device: str = "auto",
    threads: int = 0,
    part: str | None = None,
    seed: int = 0,
    run_as: str | None = None,
    settings: dict | None = None,
    targets: Texts | None = None,
    remove: Sequence[tuple[int, int]] = (),
    per_sample: bool = False,
    progress: Follow = None,
) -> Evaluation | tuple[Evaluation, np.ndarray]:
    """Loss and accuracy of a model, and the perplexity of a language model.

    Parameters
    ----------
    model, texts, length, attention_mask, targets
        As for `attention`; each text is a sample.
    files : path or list of paths, in place of texts
        Text files, put end to end and cut into windows of `length` tokens.
    task : {'lm', 'listops', 'retrieval', 'text'}, in place of texts
        Samples of a task of mgk-train, of the files `data`.
    stride : int
        Windows begin so many tokens apart, and each but the first predicts its last `stride`
        tokens alone; 0: they do not overlap.
    samples : int
        Draw so many samples of files or a task, by seed; 0: all of them.
    precision, device, threads, part, progress
        As for `attention`.
    seed : int
        Of the samples, and of what `run_as` draws.
    run_as, settings
        As for `ranks`.
    remove : list of pairs (layer, head)
        Heads whose outputs are taken as 0; head -1 stands for all of the layer.
    per_sample : bool
        Also return a structured array for `compare_evaluations`, with an element for each sample,
        or each pair of documents: `loss`, the sum of -ln p over its `targets`, how many of these
        are `correct` (-1: an adaptive softmax does not tell), and a `hash` of them.

    Examples
    --------
    >>> import mgk
    >>> found = mgk.evaluate("models/lm-mgk-4.safetensors", ["The cat sat on the mat."])
    >>> found.targets, round(found.perplexity, 1)
    (6, 753.8)
    """
    given = [name for name, x in (("texts", texts), ("files", files), ("task", task)) if x is not None]
    if len(given) != 1:
        raise TypeError("expected one of texts, files and task")
    job = _inputs.job_of(model, device, threads, seed, False, part, run_as, settings)
    if isinstance(model, Model):
        precision, model = model.precision, model.path
    with contextlib.ExitStack() as stack:
        if texts is not None:
            if samples:
                raise ValueError("samples: texts are all evaluated")
            source = stack.enter_context(_inputs.texts(texts, attention_mask, length, targets))
        else:
            if attention_mask is not None or targets is not None:
                raise ValueError("attention_mask, targets: they belong to texts")
            source = fill(types["mgk_input"](), task=task, length=length, samples=samples)
            fill(source, text=files and as_list(files, "files"))
            fill(source, data=data and as_list(data, "data"))
        o = options(
            "mgk_evaluate_options",
            job=job,
            model=model,
            input=source,
            stride=stride,
            remove=_heads(remove),
            per_sample=per_sample,
            double_precision=is_double(precision),
        )
        found = types["mgk_evaluation_summary"]()
        run(
            o,
            lambda: check("mgk_evaluate_model", c.byref(o), c.byref(found)),
            progress,
            "evaluation",
        )
    evaluation = Evaluation(*(getattr(found, name) for name in Evaluation._fields))
    return (evaluation, _take_losses(found)) if per_sample else evaluation


def _losses_type():
    return np.dtype(types["mgk_sample_loss"])


def _take_losses(found):
    """The losses of a summary, which are released."""
    try:
        size = found.sample_loss_count * _losses_type().itemsize
        return np.frombuffer(c.string_at(found.sample_losses, size), _losses_type()).copy()
    finally:
        call("mgk_release", found.sample_losses)


def _summary(losses, what):
    """A summary with the losses of samples, which it keeps alive."""
    if getattr(losses, "dtype", None) != _losses_type() or losses.ndim != 1:
        raise TypeError(f"{what}: expected the array that `evaluate` returns with `per_sample`")
    out = types["mgk_evaluation_summary"]()
    out.kept = np.ascontiguousarray(losses)
    kind = dict(out._fields_)["sample_losses"]
    out.sample_losses = c.cast(out.kept.ctypes.data, kind)
    out.sample_loss_count = len(losses)
    return out


def compare_evaluations(
    a: np.ndarray, b: np.ndarray, *, seed: int = 0, threads: int = 0
) -> EvaluationDifference:
    """How the evaluation b differs from a, of the same input.

    Differences of means over targets, the middle 95 % of 10000 bootstrap draws of samples, in
    pairs, and p of Student's t test of the pairs. They tell what other samples would change, not
    what another training would.

    Parameters
    ----------
    a, b : arrays that `evaluate` returns with `per_sample`
        Of two models, or of one with all heads and without some.
    seed : int
        Of the draws.
    threads : int
        0: all cores.

    Examples
    --------
    >>> import mgk
    >>> options = {"files": "models/sample.txt", "samples": 16, "per_sample": True}
    >>> _, a = mgk.evaluate("models/lm-softmax-4.safetensors", **options)
    >>> _, b = mgk.evaluate("models/lm-mgk-4.safetensors", **options)
    >>> found = mgk.compare_evaluations(a, b)
    >>> found.loss_low < found.loss < found.loss_high
    True
    """
    first, second = _summary(a, "a"), _summary(b, "b")
    job = _job(None, threads, seed)
    found = types["mgk_evaluation_difference"]()
    run(
        SimpleNamespace(job=job),
        lambda: check(
            "mgk_compare_evaluations",
            c.byref(first),
            c.byref(second),
            c.byref(job),
            c.byref(found),
        ),
    )
    return EvaluationDifference(
        *(getattr(found, name) for name in EvaluationDifference._fields)
    )
