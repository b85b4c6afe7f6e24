# SPDX-License-Identifier: MIT
"""libmgk: its functions, errors, option structures, and jobs that can be followed and stopped."""

import ctypes as c
import enum
import operator
import os
import threading

from mgk_toolkit import PREFIX

from ._header import Header
from ._progress import Progress


def _read_header():
    try:
        with open(os.path.join(PREFIX, "include", "mgk.h"), encoding="utf-8") as file:
            return Header(file.read())
    except FileNotFoundError as failure:
        raise ImportError(
            f"{failure.filename} is missing: install mgk with pip, or set MGK_PREFIX to the folder "
            "of a build or of cmake --install"
        ) from None


header = _read_header()
types = header.types


def _load():
    """Load the library, whose waiting threads go to sleep soon, as those of the programs.

    By default a waiting thread of GNU OpenMP runs in a circle 300,000 times, which slows down
    everything beside it. OpenMP reads the variable while it is loaded, and nothing else sees it.
    """
    chosen = {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & set(os.environ)
    if not chosen:
        os.environ["GOMP_SPINCOUNT"] = "1000"
    try:
        return c.CDLL(os.path.join(PREFIX, "lib", "libmgk.so"))
    finally:
        if not chosen:
            del os.environ["GOMP_SPINCOUNT"]


_library = _load()


def _function(name):
    function = _library[name]  # AttributeError: the library is not that of the header
    function.restype, function.argtypes = header.functions[name]
    return function


_functions = {name: _function(name) for name in header.functions}
__version__ = _functions["mgk_version"]().decode()

#: What went wrong, as in mgk.h.
Status = enum.IntEnum(
    "Status", {name[len("MGK_") :]: value for name, value in header.enums["mgk_result"].items()}
)
Status.__doc__ = "What went wrong: mgk_result of mgk.h."


class Error(Exception):
    """A failure of the library, in one line.

    Attributes
    ----------
    status : Status
        ``INPUT`` (an input is malformed), ``USAGE`` (options that make no sense), ``MEMORY``,
        ``DEVICE``, ``IO`` (a file cannot be read or written), ``EXISTS`` (an output exists).
    """

    def __init__(self, message, status=Status.INPUT):
        super().__init__(message)
        self.status = Status(status)

    def __reduce__(self):
        return type(self), (self.args[0], self.status)


def call(name, *arguments):
    """Call a function that cannot fail."""
    return _functions[name](*arguments)


def check(name, *arguments):
    """Call a function that returns an mgk_result.

    The message of a failure belongs to the thread, so it is taken here.
    """
    result = _functions[name](*arguments)
    if result != Status.OK:
        raise Error(_functions["mgk_error"]().decode("utf-8", "replace"), result)


def take_text(address):
    """The text at an address that the library gave away; it is released."""
    if not address:
        return ""
    try:
        return c.string_at(address).decode("utf-8", "replace")
    finally:
        call("mgk_release", address)


# ---- options ------------------------------------------------------------------------------------


def text_of(value, what):
    """A text or a path as bytes."""
    if isinstance(value, (str, os.PathLike)):
        data = os.fsencode(value)
        if b"\0" in data:
            raise ValueError(f"{what}: a text without null characters is expected")
        return data
    raise TypeError(f"{what}: expected a text or a path, not {_described(value)}")


def _described(value):
    text = repr(value)
    return text if len(text) < 40 else type(value).__name__


def _scalar(kind, value, what):
    if kind is c.c_char_p:
        return text_of(value, what)
    if kind is c.c_bool:
        if isinstance(value, int) or type(value).__name__ in ("bool_", "bool"):
            return bool(value)
        raise TypeError(f"{what}: expected True or False, not {_described(value)}")
    if kind is c.c_double:
        try:
            return float(value if not isinstance(value, (str, bytes)) else None)
        except (TypeError, ValueError):
            raise TypeError(f"{what}: expected a number, not {_described(value)}") from None
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: expected a whole number, not {_described(value)}") from None
    if kind(number).value != number:
        raise ValueError(f"{what}: {number} is out of range")
    return number


def as_list(value, what):
    """One value, or several, as a list."""
    if isinstance(value, (str, bytes, os.PathLike)) or not hasattr(value, "__iter__"):
        return [value]
    values = list(value)
    if not values:
        raise ValueError(f"{what}: at least one is expected")
    return values


def _count_field(structure, name):
    """The field with the length of the array `name`: layer_count for layers."""
    for stem in (name, name[:-1]):
        if hasattr(type(structure), stem + "_count"):
            return stem + "_count"
    raise TypeError(f"{name}: not an option")


def _is_pointer(kind):
    return hasattr(kind, "contents") and hasattr(kind, "_type_")


def fill(structure, **values):
    """Set fields of an option structure; None keeps the default.

    The structure keeps what it points to alive.
    """
    kinds = dict(structure._fields_)
    for name, value in values.items():
        if value is None:
            continue
        kind = kinds[name]
        if isinstance(value, c.Structure) and isinstance(value, kind):
            setattr(structure, name, value)
            keep(structure, value)
        elif _is_pointer(kind):
            values_ = as_list(value, name)
            if name in ("layers", "heads") and len(set(values_)) != len(values_):
                raise ValueError(f"{name}: a number is repeated")
            element = kind._type_
            is_structure = issubclass(element, c.Structure)
            array = (element * len(values_))(
                *(v if is_structure else _scalar(element, v, name) for v in values_)
            )
            keep(structure, array, values_)
            setattr(structure, name, c.cast(array, kind))
            setattr(structure, _count_field(structure, name), len(values_))
        else:
            setattr(structure, name, _scalar(kind, value, name))
    return structure


def keep(structure, *objects):
    """Keep objects alive as long as the structure."""
    structure.__dict__.setdefault("kept", []).extend(objects)


def options(name, **values):
    """An option structure with its defaults, and these fields set."""
    structure = types[name]()
    call(name + "_init", c.byref(structure), c.sizeof(structure))
    return fill(structure, **values)


# ---- jobs ---------------------------------------------------------------------------------------


class _Work(threading.Thread):
    """One call of the library on a thread of its own.

    The caller's thread can then take Ctrl-C: Python runs its handler between instructions only, so
    a thread within the library would not.
    """

    def __init__(self, action):
        super().__init__(name="mgk")
        self.action = action
        self.finished = threading.Event()
        self.result = self.failure = None

    def run(self):
        try:
            self.result = self.action()
        except BaseException as failure:
            self.failure = failure
        finally:
            self.finished.set()


def apart(action):
    """What `action`, a call without a job, returns on a thread of its own.

    Threads that the library starts on the main thread are missing in a forked child, which would
    wait for them for ever.
    """
    work = _Work(action)
    work.start()
    interrupt = None
    while not work.finished.is_set():
        try:
            work.finished.wait()
        except BaseException as failure:
            interrupt = failure
    work.join()
    if interrupt or work.failure:
        raise interrupt or work.failure
    return work.result


def run(structure, action, progress=None, title=""):
    """Run `action`, a call with this option structure, and follow its job.

    Ctrl-C stops the job as soon as it can be stopped, and raises KeyboardInterrupt then: the call
    uses memory of the caller until it returns.
    """
    follower = Progress(progress, title)
    stopping = threading.Event()
    watcher = structure.job.watcher
    kinds = dict(watcher._fields_)

    def report(_, what):
        r = what.contents
        follower.take(
            r.done,
            r.total,
            (r.note or b"").decode("utf-8", "replace"),
            bool(r.milestone),
            bool(r.warning),
        )

    watcher.report = kinds["report"](report)
    watcher.stop = kinds["stop"](lambda _: stopping.is_set())
    work = _Work(action)
    interrupt = None
    work.start()
    while not work.finished.is_set():
        try:
            work.finished.wait(0.1)
            follower.show()
        except BaseException as failure:
            # Ctrl-C, or an error of the caller's progress function.
            interrupt = interrupt or failure
            stopping.set()
    work.join()
    if not interrupt and not work.failure:
        follower.show()
    follower.close()
    if interrupt:
        raise interrupt
    if work.failure:
        raise work.failure
    return work.result
