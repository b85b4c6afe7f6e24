# SPDX-License-Identifier: MIT
"""Files of the toolkit: stores as xarray, tables as tables."""

from __future__ import annotations

import ctypes as c
import json
import os
from typing import Any

from ._library import Error, check, take_text, text_of
from ._table import read
from ._typing import Path


def describe(path: Path) -> dict:
    """What a file is: a model, an attention store, a table; a dict, as ``mgk-info --json``."""
    address = c.c_void_p()
    check("mgk_describe_file", text_of(path, "path"), None, True, c.byref(address))
    return json.loads(take_text(address.value))


def open(path: Path) -> Any:
    """Open a file of the toolkit.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    xarray.Dataset or Table
        A Dataset of an attention store, which reads from the file as it is used (close it, or use
        it in a ``with`` statement), or the table in a file of mgk-rank or mgk-diversity.

    Examples
    --------
    >>> import mgk
    >>> with mgk.open("attention.h5") as store:  # doctest: +SKIP
    ...     store["attention"].sel(layer=3)
    """
    try:
        return read(path)
    except Error:
        if not os.path.isfile(path):
            raise
    kind = describe(path).get("kind", "")
    if kind != "attention store":
        raise Error(
            f"{os.fspath(path)}: expected an attention store or a table, not {kind or 'this'}"
        )
    try:
        import xarray
    except ImportError:
        raise ImportError(
            "mgk.open reads attention stores through xarray: pip install xarray h5netcdf h5py"
        ) from None
    try:
        return xarray.open_dataset(path, engine="h5netcdf")
    except (ImportError, ValueError) as failure:
        if "h5netcdf" in str(failure) or "h5py" in str(failure):
            raise ImportError(
                "mgk.open reads attention stores through h5netcdf and h5py: pip install h5netcdf h5py"
            ) from None
        raise
