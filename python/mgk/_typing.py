# SPDX-License-Identifier: MIT
"""Types of the arguments of public functions."""

import os
from typing import Any, Callable, Sequence, Union

#: The path of a file or a folder.
Path = Union[str, "os.PathLike[str]"]
#: Texts, or sequences of token ids.
Texts = Union[str, Sequence[str], Sequence[Sequence[int]], Any]
#: An array of numpy, torch or another library.
Array = Any
#: One whole number, or several.
Numbers = Union[int, Sequence[int]]
#: None, True, False or a function of (done, total, note).
Follow = Union[None, bool, Callable[[int, int, str], object]]
