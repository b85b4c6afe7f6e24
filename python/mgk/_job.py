# SPDX-License-Identifier: MIT
"""Where and how a call runs: the mgk_job."""

import ctypes as c

from ._library import fill, keep, types


def job(device, threads, seed=0, force=False, part=None, run_as=None, settings=None):
    """An mgk_job."""
    out = fill(
        types["mgk_job"](),
        device=device,
        threads=threads,
        seed=seed,
        force=force,
        part=part,
        run_as=run_as,
    )
    if settings:
        given = fill(types["mgk_kind_settings"](), **_known(settings))
        keep(out, given)
        out.settings = c.pointer(given)
    return out


def _known(settings):
    names = [name for name, _ in types["mgk_kind_settings"]._fields_ if name != "reserved"]
    for name in settings:
        if name not in names:
            raise ValueError(f"settings: {name!r} is not one of {', '.join(names)}")
    return settings
