# SPDX-License-Identifier: MIT
"""Tables of results, by column."""

from __future__ import annotations

import contextlib
import csv
import ctypes as c
import html
import io
import json
import os
import tempfile
from typing import Any, Iterable, Iterator

import numpy as np

from ._library import Error, call, check, text_of, types
from ._typing import Path


# What a point of a curve of `prune` is.
_PRUNING = {
    "formula": "the loss without the heads removed so far (of prune_*_divergence and _hidden what "
    "importance_divergence and importance_hidden are), the mean over samples of each sample's mean",
    "unit": "",
    "source": "Michel et al. 2019",
}


class Table:
    """Rows and named columns.

    Columns of numbers are numpy arrays: float64 with NaN, or int32 with -1, where a row has no
    value. Columns of words are arrays of str, "" where a row has none.

    Examples
    --------
    >>> import numpy, mgk
    >>> table = mgk.ranks(numpy.eye(4))
    >>> table["rank"]
    array([4], dtype=int32)
    >>> "effective_rank" in table.columns
    True
    """

    def __init__(self, columns, about=None, settings=None):
        self._columns = columns
        self._about = about or {}
        #: The settings of the run, as far as they are known.
        self.settings = settings or {}

    @classmethod
    def _take(cls, address):
        """The table at an address that the library gave away; it is closed."""
        try:
            column, columns, about = types["mgk_table_column"](), {}, {}
            rows = call("mgk_table_rows", address)
            for index in range(call("mgk_table_columns", address)):
                check("mgk_table_get_column", address, index, c.byref(column))
                name = column.name.decode()
                columns[name] = _values(column, rows)
                about[name] = {
                    field: (getattr(column, field) or b"").decode()
                    for field in ("formula", "unit", "source")
                }
            settings = call("mgk_table_settings", address)
            return cls(columns, about, json.loads(settings) if settings else None)
        finally:
            call("mgk_table_close", address)

    @property
    def columns(self) -> list[str]:
        """The names of the columns, a list."""
        return list(self._columns)

    def __getitem__(self, name: str | slice | np.ndarray) -> np.ndarray | Table:
        """A column by name; or some rows, by a slice, their numbers or a mask, as a table."""
        if isinstance(name, (slice, list, np.ndarray)):
            return self._rows(name)
        try:
            return self._columns[name]
        except (KeyError, TypeError):
            raise KeyError(f"no column {name!r}; there are {', '.join(self._columns)}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Rows, as dicts."""
        for values in zip(*self._columns.values()):
            yield dict(zip(self._columns, values))

    def about(self, name: str) -> dict[str, str]:
        """What a column, or a measure of the table, is: a dict of its formula, unit and source."""
        if "measure" in self and name in self["measure"]:
            from ._measure import measures

            for row in measures().where(name=name):
                return {key: row[key] for key in ("formula", "unit", "source")}
            if name.startswith("prune_"):
                return dict(_PRUNING)
        self[name]
        return dict(self._about.get(name, {}))

    def where(self, **values: Any) -> Table:
        """The rows with these values.

        Examples
        --------
        >>> import numpy, mgk
        >>> table = mgk.ranks(numpy.stack([numpy.eye(4), numpy.ones((4, 4)) / 4]), axes="head")
        >>> table.where(head=1)["rank"]
        array([1], dtype=int32)
        """
        chosen = np.ones(len(self), bool)
        for name, value in values.items():
            if isinstance(value, Iterable) and not isinstance(value, (str, bytes, np.ndarray)):
                value = list(value)
            chosen &= np.isin(self[name], value)
        return self._rows(chosen)

    def _rows(self, chosen):
        if not isinstance(chosen, slice):
            chosen = np.asarray(chosen)
            if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
                raise TypeError("expected the name of a column, or numbers or a mask of rows")
        return Table({n: v[chosen] for n, v in self._columns.items()}, self._about, self.settings)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with the same columns."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas needs pandas: pip install pandas") from None
        return pandas.DataFrame(self._columns)

    def save(self, path: Path, *, force: bool = False) -> None:
        """Write a file: .csv, or .json, which has the settings, too.

        `open`, `plot`, `report` and the programs read those of `ranks` and `diversity`. The samples
        behind means are in the file that their `output` names.
        """
        ending = os.path.splitext(os.fspath(path))[1]
        if ending not in (".csv", ".json"):
            raise ValueError(f"path: expected a name that ends in .csv or .json, not {path!r}")
        text = self._csv() if ending == ".csv" else self._json()
        with open(path, "wb" if force else "xb") as file:
            file.write(text.encode("utf-8", "replace"))

    def _csv(self):
        text = io.StringIO(newline="")
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(self._columns)
        rows.writerows(zip(*(map(_word, values) for values in self._columns.values())))
        return text.getvalue()

    def _json(self):
        rows = "values" if "measure" in self else "matrices"
        cells = zip(*(map(_json, values) for values in self._columns.values()))
        names = [json.dumps(name) for name in self._columns]
        lines = ("{" + ", ".join(map(": ".join, zip(names, row))) + "}" for row in cells)
        body = ",\n".join(lines)
        return f'{{"settings": {json.dumps(self.settings)},\n"{rows}": [{body}]}}\n'

    def __repr__(self):
        return f"<mgk.Table of {len(self)} rows: {', '.join(self._columns)}>"

    def __str__(self, most=12):
        """The first rows; columns without any value are left out."""
        names = [n for n in self._columns if _is_told(self[n])]
        if not names:
            return repr(self)
        shown = range(min(most, len(self)))
        columns = [[n, *(_text(self[n][row]) for row in shown)] for n in names]
        widths = [max(map(len, cells)) for cells in columns]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths)) for row in zip(*columns)]
        return "\n".join(lines + ([f"{len(self)} rows"] if len(self) > most else []))

    def _repr_html_(self, most=12):
        names = [n for n in self._columns if _is_told(self[n])]
        head = "".join(f"<th>{html.escape(n)}</th>" for n in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_text(self[n][row]))}</td>" for n in names) + "</tr>"
            for row in range(min(most, len(self)))
        )
        rest = f"<p>{len(self)} rows</p>" if len(self) > most else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _is_told(values):
    """Whether any row has a value."""
    if values.dtype.kind == "f":
        return not np.isnan(values).all()
    return bool((values != ("" if values.dtype.kind in "OU" else -1)).any())


def _text(value):
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{name}={number}" for name, number in value.items())
    is_missing = value != value if isinstance(value, np.floating) else value == -1
    return "" if is_missing else f"{value:.6g}"


def _word(value):
    """A cell of a CSV file: all digits, or nothing where there is no value."""
    if isinstance(value, np.integer):
        return "" if value == -1 else str(value)
    if isinstance(value, np.floating):
        return "" if np.isnan(value) else repr(float(value))
    return str(value)


def _json(value):
    """A cell of a JSON file, which has null where there is no number."""
    if isinstance(value, (np.integer, np.floating)):
        return (_word(value) or "null") if np.isfinite(value) else "null"
    if isinstance(value, (bool, np.bool_)):
        return json.dumps(bool(value))
    return json.dumps(value if isinstance(value, dict) else str(value)) if value else "null"


def _values(column, rows):
    """The values of a column, copied."""
    if column.reals:
        return np.ctypeslib.as_array(column.reals, (rows,)).copy() if rows else np.empty(0)
    if rows == 0:
        return np.empty(0, np.int32)
    numbers = np.ctypeslib.as_array(column.integers, (rows,)).copy()
    if not column.words:
        return numbers
    words = [column.words[i].decode("utf-8", "replace") for i in range(column.word_count)] + [""]
    return np.array(words, dtype=object)[numbers]


def path_of(given, path):
    """The path of a file that is given; a table is written to `path`."""
    if not isinstance(given, Table):
        return os.fspath(given)
    given.save(path)
    return path


@contextlib.contextmanager
def folder_of_tables():
    """A folder for tables on their way to the library, whose messages do not tell where it is."""
    with tempfile.TemporaryDirectory(prefix="mgk-") as folder:
        try:
            yield folder
        except Error as failure:
            raise Error(failure.args[0].replace(folder + os.sep, ""), failure.status) from None


def read(path):
    """The table in a rank file, or in a file of mgk-diversity."""
    address = c.c_void_p()
    check("mgk_table_open", text_of(path, "path"), c.byref(address))
    return Table._take(address)
