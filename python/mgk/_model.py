# SPDX-License-Identifier: MIT
"""A model in memory, and the attention of texts."""

from __future__ import annotations

import contextlib
import ctypes as c
import functools
import operator
import os
import threading
from typing import Iterator, NamedTuple, Sequence

import numpy as np

from ._arrays import block_of, remember
from ._job import job
from ._library import Error, apart, as_list, call, check, text_of
from ._progress import Progress, warn
from ._typing import Array, Follow, Numbers, Path, Texts

_MOST = (1 << 31) - 1
_NO_IDS = ([-1], [-100])
_PRECISIONS = {"single": False, "double": True}


class Sample(NamedTuple):
    """Token ids [N], int32, and attention [L, H, N, N] of one text."""

    tokens: np.ndarray
    attention: np.ndarray


def is_double(precision):
    """Whether to compute in float64."""
    try:
        return _PRECISIONS[precision]
    except (KeyError, TypeError):
        raise ValueError(f"precision: expected 'single' or 'double', not {precision!r}") from None


def _numbers(values, what):
    """A C array of whole numbers, and its length; None: all."""
    if values is None:
        return None, 0
    try:
        numbers = [operator.index(v) for v in as_list(values, what)]
    except TypeError:
        raise TypeError(f"{what}: expected whole numbers, not {values!r}") from None
    if any(not -_MOST <= v <= _MOST for v in numbers):
        raise ValueError(f"{what}: a number is out of range")
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"{what}: a number is repeated")
    return (c.c_int * len(numbers))(*numbers), len(numbers)


def texts_of(texts, mask=None):
    """A list of texts, or of sequences of ids, and whether their padding is told: a mask left it
    out, or it is -1.

    What a tokenizer of transformers returns has ids and mask.
    """
    if hasattr(texts, "keys"):
        if "input_ids" not in texts:
            raise TypeError("texts: expected a list of str, or token ids")
        mask = texts.get("attention_mask") if mask is None else mask
        texts = texts["input_ids"]
    if isinstance(texts, str):
        texts = [texts]
    is_scalar = getattr(texts, "ndim", 1) == 0
    if isinstance(texts, bytes) or not hasattr(texts, "__iter__") or is_scalar:
        raise TypeError(f"texts: expected a list of str, not {type(texts).__name__}")
    if hasattr(texts, "detach"):
        texts = texts.detach().cpu()
    if hasattr(texts, "numpy"):
        texts = texts.numpy()
    texts = list(texts)
    if texts and isinstance(texts[0], str) and len(texts[0]) < 1024 and os.path.isfile(texts[0]):
        warn(f"texts: {texts[0]!r} is a file, but is read as a text; open(...).read() reads files")
    if not texts:
        raise ValueError("texts: at least one is expected")
    return (texts, _has_own_padding(texts)) if mask is None else (_unpadded(texts, mask), True)


def _has_own_padding(texts):
    return any(
        not isinstance(text, str) and np.asarray(text).reshape(-1)[-1:].tolist() in _NO_IDS
        for text in texts
    )


def targets_of(targets, texts):
    """What a decoder writes, one for each text and of the same kind, as `texts_of` gives it; or
    None."""
    if targets is None:
        return None
    targets, told = texts_of(targets)
    if len(targets) != len(texts):
        raise ValueError(f"targets: {len(targets)} for {len(texts)} texts")
    if {isinstance(one, str) for one in texts} != {isinstance(one, str) for one in targets}:
        raise TypeError("targets: expected str for texts, token ids for ids")
    return targets, told


def _unpadded(texts, mask):
    """The ids where the mask is 1: a block in each row."""
    if hasattr(mask, "detach"):
        mask = mask.detach().cpu()
    mask = [np.asarray(row) for row in mask] if hasattr(mask, "__iter__") else []
    rows = [text if isinstance(text, str) else np.asarray(text) for text in texts]
    if any(isinstance(row, str) for row in rows) or (
        [row.shape for row in rows] != [row.shape for row in mask]
    ):
        raise ValueError("attention_mask: expected as many numbers as there are token ids")
    blocks = [block_of(row, number) for number, row in enumerate(mask)]
    return [row[first : first + length] for row, (first, length) in zip(rows, blocks)]


def ids_of(text):
    """A sequence of token ids, without -1 at its end, or -100, as labels of transformers have."""
    ids = np.asarray(text)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise TypeError("texts: expected str, or sequences of token ids")
    last = np.flatnonzero((ids != -1) & (ids != -100))
    ids = ids[: last[-1] + 1] if last.size else ids[:0]
    if ids.size and not -1 <= ids.min() <= ids.max() <= _MOST:
        raise ValueError("texts: a token id is out of range")
    return ids


def _length(length):
    """A number of tokens, or None."""
    if length is None:
        return None
    try:
        number = operator.index(length)
    except TypeError:
        raise TypeError(f"length: expected a whole number, not {length!r}") from None
    if not 0 < number <= _MOST:
        raise ValueError(f"length: expected a positive number, not {number}")
    return number


def _alone(method):
    """Lets one thread at a time into the library's network; others wait."""

    @functools.wraps(method)
    def wait(self, *arguments, **options):
        with self._lock:
            return method(self, *arguments, **options)

    return wait


class Model:
    """A model in memory. Threads may share it: it runs one text at a time.

    Parameters
    ----------
    path : str or path
        A checkpoint that the toolkit reads: a file or a folder.
    precision : {'single', 'double'}
        Of the computation; attention is float32 or float64 accordingly.
    device : str
        'auto', 'cpu', 'cuda' or 'cuda:N'.
    threads : int
        0: all cores.
    part : {'text', 'vision', 'encoder', 'decoder', 'cross'}, optional
        'text' or 'vision' of a folder that has both, as clip's. Of an encoder-decoder model the
        encoder (default), the decoder's attention to itself, or its attention to the encoder.
    run_as : str, optional
        Run a model of softmax with this kind of attention in all layers, "performer", or with one
        for each, "band,band,performer".
    settings : dict, optional
        Of these kinds, such as {"features": 256}; `kinds` lists them.
    seed : int
        Of the random features and patterns of `run_as`.

    Examples
    --------
    >>> import mgk
    >>> model = mgk.Model("models/lm-mgk-4.safetensors")
    >>> model.layers, model.heads
    (6, 4)
    >>> [sample.attention.shape for sample in model.samples(["a text", "another"])]
    [(6, 4, 3, 3), (6, 4, 2, 2)]
    """

    def __init__(
        self,
        path: Path,
        *,
        precision: str = "single",
        device: str = "auto",
        threads: int = 0,
        part: str | None = None,
        run_as: str | None = None,
        settings: dict | None = None,
        seed: int = 0,
    ):
        self._address = c.c_void_p()
        self._lock = threading.RLock()
        self.precision = precision
        self.path = path
        self.part = part
        self.run_as, self.settings, self.seed = run_as, settings, seed
        runs = job(device, threads, seed, part=part, run_as=run_as, settings=settings)
        check(
            "mgk_network_open",
            text_of(path, "model"),
            c.byref(runs),
            is_double(precision),
            c.byref(self._address),
        )
        self._describe()

    def _describe(self):
        shape = call("mgk_network_shape_of", self._address)
        #: The kind of attention: "softmax", "mgk", …
        self.kind = shape.attention.decode()
        self.layers, self.heads = shape.layers, shape.heads
        #: The most tokens that it reads.
        self.length = shape.length
        self.vocabulary = shape.vocabulary
        self.causal = shape.causal
        self._padding = shape.padding
        self._padding_word = shape.padding_word
        self._cross = shape.cross
        self._source = _Encoder(self) if shape.has_source else None

    def close(self) -> None:
        """Release the memory of the model."""
        with getattr(self, "_lock", contextlib.nullcontext()):
            address, self._address = getattr(self, "_address", None), c.c_void_p()
            if getattr(self, "_source", None):
                self._source._address = c.c_void_p()
            if address:
                call("mgk_network_close", address)

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def _network(self):
        """The address of the model; ValueError if it is closed."""
        if not self._address:
            raise ValueError(f"the model is closed: open it again, mgk.Model({str(self.path)!r})")
        return self._address

    def __repr__(self):
        return (
            f"<mgk.Model {str(self.path)!r}: {self.kind}, {self.layers} layers of "
            f"{self.heads} heads, {self.length} positions>"
        )

    @_alone
    def tokenize(self, text: str, length: int | None = None) -> np.ndarray:
        """Token ids of a text, int32, with those that the model expects around it.

        Cut to `length`, by default the model's own.
        """
        if not isinstance(text, str):
            raise TypeError(f"text: expected a str, not {type(text).__name__}")
        data = text.encode("utf-8")
        ids, count = c.POINTER(c.c_int32)(), c.c_int()
        check(
            "mgk_network_tokenize_cut",
            self._network,
            data,
            len(data),
            self.length if length is None else _length(length),
            c.byref(ids),
            c.byref(count),
        )
        try:
            return np.array(ids[: count.value], np.int32)
        finally:
            call("mgk_release", ids)

    @_alone
    def token_texts(self, tokens: Sequence[int]) -> list[str]:
        """The text of each token, for people."""
        text, texts = c.c_char_p(), []
        for token in tokens:
            check("mgk_network_token_text", self._network, operator.index(token), c.byref(text))
            texts.append(text.value.decode("utf-8", "replace"))
        return texts

    def _without_padding(self, rows):
        """Sequences of ids without padding: of causal models at the beginning, too, where it cannot
        be a token. Warnings say what was left out, or read as tokens."""
        left = (self.causal or self._source is not None) and not self._padding_word
        out, led, ended = [], 0, 0
        for row in rows:
            valid = np.flatnonzero(row != self._padding)
            first, last = (valid[0], valid[-1] + 1) if valid.size else (0, 0)
            led += first > 0 and not self._padding_word
            ended += last < row.size and self._padding_word
            out.append(row[first if left else 0 : last])
        one = len(rows) == 1
        if led:
            warn(
                f"{led} of {len(rows)} {'sequence begins' if one else 'sequences begin'} with padding, {self._padding}, "
                + ("which is left out" if left else "read as tokens: pass the attention_mask")
            )
        if ended:
            warn(
                f"{ended} of {len(rows)} {'sequence ends' if one else 'sequences end'} with "
                f"{self._padding}, which pads texts and also begins or ends them: left out as padding; attention_mask says which it is"
            )
        return out

    def _all_ids(self, given, length, name="texts"):
        """Token ids of each text; a warning says how many are cut."""
        texts, told = given
        most = self.length if length is None else length
        if most > self.length:
            raise Error(f"length {most}: the model has {self.length} positions")
        whole = [None if isinstance(text, str) else ids_of(text) for text in texts]
        if not told and self._padding >= 0 and not any(ids is None for ids in whole):
            whole = self._without_padding(whole)
        ids = [
            self.tokenize(text, length) if of is None else np.ascontiguousarray(of[:most], np.int32)
            for text, of in zip(texts, whole)
        ]
        for number, sample in enumerate(ids):
            if sample.size == 0:
                raise ValueError(f"{name}: number {number} has no tokens")
        cut = sum(
            (len(self.tokenize(text, _MOST)) if of is None else of.size) > most
            for text, of, sample in zip(texts, whole, ids)
            if sample.size == most
        )
        if cut:
            what = "text is" if len(ids) == 1 else "texts are"
            warn(f"{cut} of {len(ids)} {what} cut to {most} tokens")
        return ids

    def _pairs(self, given, targets, length):
        """The source's ids, or None, and the ids that are run, of each text."""
        targets = targets_of(targets, given[0])
        if self._source is None:
            if targets is not None:
                raise ValueError("targets: they belong to the parts 'decoder' and 'cross'")
            return [(None, ids) for ids in self._all_ids(given, length)]
        if targets is None:
            raise ValueError(f"part {self.part!r} needs targets: what the decoder writes")
        sources = self._source._all_ids(given, length)
        labels = self._all_ids(targets, length, "targets")
        return list(zip(sources, [self._shifted(ids) for ids in labels]))

    @_alone
    def _shifted(self, ids):
        """What the decoder reads to write these ids."""
        ids, count = ids.copy(), c.c_int(ids.size)
        place = ids.ctypes.data_as(c.POINTER(c.c_int32))
        check("mgk_network_shift", self._network, place, c.byref(count))
        return ids[: count.value]

    @_alone
    def _attention(self, ids, layers, heads, source=None):
        """Attention [L, H, N, N] of token ids, float64; of a source [L, H, N, M]."""
        if source is not None:
            place = source.ctypes.data_as(c.POINTER(c.c_int32))
            apart(lambda: check("mgk_network_encode", self._network, place, source.size))
        layers, layer_count = _numbers(layers, "layers")
        heads, head_count = _numbers(heads, "heads")
        shape = (
            layer_count or self.layers,
            head_count or self.heads,
            ids.size,
            source.size if self._cross else ids.size,
        )
        out = np.empty(shape)
        apart(
            lambda: check(
                "mgk_network_attention_of",
                self._network,
                ids.ctypes.data_as(c.POINTER(c.c_int32)),
                ids.size,
                layers,
                layer_count,
                heads,
                head_count,
                out.ctypes.data_as(c.POINTER(c.c_double)),
            )
        )
        # The library gives them in the order of the model.
        for axis, chosen in enumerate((layers, heads)):
            if chosen and list(chosen) != sorted(chosen):
                out = out.take(np.argsort(np.argsort(chosen)), axis)
        return out

    @property
    def _dtype(self):
        return np.float64 if is_double(self.precision) else np.float32

    def samples(
        self,
        texts: Texts,
        *,
        targets: Texts | None = None,
        layers: Numbers | None = None,
        heads: Numbers | None = None,
        length: int | None = None,
        attention_mask: Array | None = None,
    ) -> Iterator[Sample]:
        """Yield a `Sample` for each text; memory does not grow with their number."""
        pairs = self._pairs(texts_of(texts, attention_mask), targets, _length(length))
        for source, ids in pairs:
            matrices = self._attention(ids, layers, heads, source)
            yield Sample(ids, matrices.astype(self._dtype))

    def attention(
        self,
        texts: Texts,
        *,
        targets: Texts | None = None,
        layers: Numbers | None = None,
        heads: Numbers | None = None,
        length: int | None = None,
        attention_mask: Array | None = None,
        return_lengths: bool = False,
        progress: Follow = None,
    ) -> np.ndarray | tuple[np.ndarray, ...]:
        """Attention of all texts, as `mgk.attention` gives it."""
        pairs = self._pairs(texts_of(texts, attention_mask), targets, _length(length))
        lengths = np.array([ids.size for _, ids in pairs], np.int32)
        keys = np.array([s.size for s, _ in pairs], np.int32) if self._cross else lengths
        follower = Progress(progress, "attention")
        out = None
        try:
            for sample, (source, ids) in enumerate(pairs):
                matrices = self._attention(ids, layers, heads, source)
                if out is None:
                    room = (len(pairs), *matrices.shape[:2], lengths.max(), keys.max())
                    out = np.zeros(room, self._dtype)
                out[sample, :, :, : lengths[sample], : keys[sample]] = matrices
                follower.take(sample + 1, len(pairs), "", False, False)
                follower.show()
        finally:
            follower.close()
        remember(out)
        if not return_lengths:
            return out
        return (out, lengths, keys) if self._cross else (out, lengths)


class _Encoder(Model):
    """The encoder of a decoder, which tokenises the source; the decoder owns its memory."""

    def __init__(self, decoder):
        self._address = c.c_void_p(call("mgk_network_encoder", decoder._address))
        self._lock = decoder._lock
        self.precision, self.path, self.part = decoder.precision, decoder.path, "encoder"
        self.run_as, self.settings, self.seed = None, None, 0
        self._describe()

    def close(self) -> None:
        self._address = c.c_void_p()

    __del__ = close


def attention(
    model: Path | Model,
    texts: Texts,
    *,
    layers: Numbers | None = None,
    heads: Numbers | None = None,
    length: int | None = None,
    attention_mask: Array | None = None,
    precision: str = "single",
    device: str = "auto",
    threads: int = 0,
    part: str | None = None,
    run_as: str | None = None,
    settings: dict | None = None,
    seed: int = 0,
    targets: Texts | None = None,
    return_lengths: bool = False,
    progress: Follow = None,
) -> np.ndarray | tuple[np.ndarray, ...]:
    """Attention matrices of texts.

    Parameters
    ----------
    model : str, path or Model
        A checkpoint that the toolkit reads, or a model that is in memory already.
    texts : str, list of str, or token ids
        One sample each, tokenised as the model expects. Ids, in lists or an array, are taken as
        they are, without -1 and the model's padding at their end, and of causal models at their
        beginning.
    layers, heads : int or list of int, optional
        All by default; they count from 0, and come in the order given.
    length : int, optional
        Cut texts to so many tokens; by default to the positions of the model.
    precision : {'single', 'double'}
        Compute and return float32, or float64.
    attention_mask : array, optional
        1 for tokens and 0 for padding, as tokenizers give it, with one block of ones in each row.
        Padding is left out: with padding on the left, rows and columns move to the front.
    device, threads, part, run_as, settings, seed
        As for `Model`, which has its own.
    targets : list of str, or token ids, optional
        For part 'decoder' or 'cross': what the decoder writes for each text. It reads its start
        token and all tokens of the target but the last.
    return_lengths : bool
        Return the number of tokens of each text, too.
    progress : None, bool or callable
        None shows progress in notebooks and terminals; a function gets (done, total, note).

    Returns
    -------
    ndarray [S, L, H, N, N]
        Entry [s, l, h, i, j] is the weight that token i gives to token j in head h of layer l of
        text s. N is that of the longest text; after the end of a shorter one entries are 0.
    lengths : ndarray [S]
        Only with return_lengths; with part 'cross' the tokens of targets [S], then those of texts
        [S]. There matrices are [targets' tokens, texts' tokens].

    See Also
    --------
    Model.samples : one text after another, without holding all.

    Examples
    --------
    >>> import mgk
    >>> a = mgk.attention("models/lm-mgk-4.safetensors", ["The cat sat on the mat."])
    >>> a.shape
    (1, 6, 4, 7, 7)
    >>> float(a[0, 2, 1, 5].sum().round(3))
    1.0
    """
    if not isinstance(model, Model):
        with Model(
            model,
            precision=precision,
            device=device,
            threads=threads,
            part=part,
            run_as=run_as,
            settings=settings,
            seed=seed,
        ) as opened:
            return attention(
                opened,
                texts,
                targets=targets,
                layers=layers,
                heads=heads,
                length=length,
                attention_mask=attention_mask,
                return_lengths=return_lengths,
                progress=progress,
            )
    for name, given in {"part": part, "run_as": run_as, "settings": settings}.items():
        if given is not None:
            raise ValueError(f"{name}: a Model has its own")
    return model.attention(
        texts,
        targets=targets,
        layers=layers,
        heads=heads,
        length=length,
        attention_mask=attention_mask,
        return_lengths=return_lengths,
        progress=progress,
    )
