# SPDX-License-Identifier: MIT
"""Reports, shown in notebooks."""

from __future__ import annotations

import ctypes as c
import html
import os
from typing import Sequence

from . import _inputs
from ._library import as_list, check, options, run, text_of
from ._table import Table, folder_of_tables, path_of
from ._typing import Follow, Path


class Report:
    """A page about the heads of models, which notebooks show in a frame.

    Attributes
    ----------
    html : str
    """

    def __init__(self, page):
        self.html = page

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 50em; border: 1px solid silver"
        return f'<iframe srcdoc="{html.escape(self.html)}" style="{style}"></iframe>'

    def save(self, path: Path, *, force: bool = False) -> None:
        """Write the page, which any browser opens without a network: .html."""
        if not text_of(path, "path").lower().endswith(b".html"):
            raise ValueError(f"path: expected a name that ends in .html, not {os.fspath(path)!r}")
        page = self.html.encode()
        job = _inputs.job(None, None, 0, force)
        check("mgk_write_output", c.byref(job), text_of(path, "path"), page, len(page))

    def __repr__(self):
        return f"<mgk.Report of {len(self.html.encode()) / 1e6:.1f} MB>"


def report(
    inputs: Path | Table | Sequence[Path | Table],
    *,
    samples: int | None = None,
    tokens: int | None = None,
    progress: Follow = None,
) -> Report:
    """Make one page about the diversity of heads, as mgk-report does.

    Parameters
    ----------
    inputs : path, table of `diversity`, or list of these
        At least one table; and, for matrices and tokens, stores of `dump`.
    samples : int, optional
        Samples of each store whose matrices are shown; 4 by default.
    tokens : int, optional
        Tokens of each sample that are shown; 128 by default.

    Returns
    -------
    Report

    Examples
    --------
    >>> import mgk
    >>> a = mgk.attention("models/lm-mgk-4.safetensors", "A short text.")
    >>> page = mgk.report(mgk.diversity(a, causal=True))
    >>> page.html[:15]
    '<!DOCTYPE html>'
    """
    given = [inputs] if isinstance(inputs, Table) else as_list(inputs, "inputs")
    with folder_of_tables() as folder:
        named = [os.path.join(folder, f"table-{i}.json") for i in range(len(given))]
        paths = [path_of(one, name) for one, name in zip(given, named)]
        output = os.path.join(folder, "report.html")
        o = options(
            "mgk_report_options", inputs=paths, output=output, samples=samples, tokens=tokens
        )
        run(o, lambda: check("mgk_write_report", c.byref(o)), progress, "report")
        with open(output, encoding="utf-8") as file:
            return Report(file.read().replace(folder + os.sep, ""))
