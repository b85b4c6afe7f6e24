# SPDX-License-Identifier: MIT
"""How diverse, or redundant, is the attention of a transformer?

>>> import mgk
>>> a = mgk.attention("models/lm-mgk-4.safetensors", ["The cat sat on the mat."])
>>> table = mgk.ranks(a)
>>> bool(table["rank"].max() <= a.shape[-1])
True

`attention` runs a model on texts; `ranks`, `diversity` and `singular_values` measure arrays of any
library, files, or a model that runs; `evaluate` says how well it predicts; `plot` draws,
`report` makes a page, `dump` writes files and `open` opens them. The programs of the toolkit, such
as mgk-dump, are installed with this package.
"""

from ._dump import dump
from ._evaluate import Evaluation, EvaluationDifference, compare_evaluations, evaluate
from ._library import Error, Status, __version__
from ._measure import diversity, kinds, measures, ranks, singular_values
from ._model import Model, Sample, attention
from ._plot import Picture, plot
from ._progress import Warning
from ._report import Report, report
from ._store import describe, open
from ._table import Table

__all__ = [
    "Error",
    "Evaluation",
    "EvaluationDifference",
    "Model",
    "Picture",
    "Report",
    "Sample",
    "Status",
    "Table",
    "Warning",
    "attention",
    "compare_evaluations",
    "describe",
    "diversity",
    "dump",
    "evaluate",
    "kinds",
    "measures",
    "open",
    "plot",
    "ranks",
    "report",
    "singular_values",
]
