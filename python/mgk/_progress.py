# SPDX-License-Identifier: MIT
"""Shows how far a job is: a bar of tqdm where it is installed, else a line."""

import sys
import threading
import time
import warnings

_PATIENCE = 1.0  # seconds before a bar appears: short jobs show none


class Warning(UserWarning):
    """What a reader of results must know, such as texts that were cut."""


def warn(note):
    """Warn about the caller's line, the first that is not in this package.

    Its context managers run in contextlib.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back and (
        frame.f_globals.get("__package__") == __package__
        or frame.f_globals.get("__name__") == "contextlib"
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(note, Warning, stacklevel=level)


def _in_notebook():
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return bool(shell) and hasattr(shell, "kernel")


def _is_followed(wanted):
    if wanted is None:
        return _in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
    return bool(wanted)


class _Line:
    """A line on standard error that is written over."""

    def __init__(self, title, total):
        self.title, self.total, self.written = title, total, 0.0

    def update(self, done, total, note):
        now = time.monotonic()
        if now - self.written < 0.2:
            return
        self.written = now
        share = f"{done} of {total}" if total else ""
        text = " ".join(filter(None, (self.title + ":", share, note)))
        sys.stderr.write(f"\r{text:<60.100}")
        sys.stderr.flush()

    def close(self):
        if self.written:
            sys.stderr.write("\n")
            sys.stderr.flush()


class _Bar:
    """A bar of tqdm, also in notebooks."""

    def __init__(self, title, total):
        from tqdm.auto import tqdm

        self.bar = tqdm(total=total or None, desc=title, leave=False)

    def update(self, done, total, note):
        if total:
            self.bar.total = total
        self.bar.set_postfix_str(note, refresh=False)
        self.bar.update(done - self.bar.n)

    def close(self):
        self.bar.close()


class Progress:
    """Takes the reports of a job on its thread, and shows them on the caller's.

    Parameters
    ----------
    wanted : None, bool or callable
        None shows progress in notebooks and terminals; a function is called with
        (done, total, note), total 0 if it is not known.
    title : str
    """

    def __init__(self, wanted, title):
        if wanted is not None and not callable(wanted) and not isinstance(wanted, bool):
            raise TypeError("progress: expected None, True, False or a function")
        self.call = wanted if callable(wanted) else None
        self.is_shown = not self.call and _is_followed(wanted)
        self.patience = 0 if wanted else _PATIENCE
        self.title = title
        self.begin = time.monotonic()
        self.lock = threading.Lock()
        self.latest = None
        self.warnings = []
        self.bar = None

    def take(self, done, total, note, milestone, warning):
        with self.lock:
            if warning:
                self.warnings.append(note)
            else:
                self.latest = (done, total, "" if milestone else note)

    def show(self):
        with self.lock:
            latest, self.latest = self.latest, None
        if latest is None:
            return
        if self.call:
            self.call(*latest)
        elif self.is_shown and time.monotonic() - self.begin > self.patience:
            self.bar = self.bar or self._open(latest[1])
            self.bar.update(*latest)

    def _open(self, total):
        try:
            return _Bar(self.title, total)
        except ImportError:
            return _Line(self.title, total)

    def close(self):
        if self.bar:
            self.bar.close()
        for note in self.warnings:
            warn(note)
