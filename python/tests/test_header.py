# SPDX-License-Identifier: MIT
"""What Python reads from mgk.h is what a C compiler reads from it."""

import ctypes
import os
import re
import subprocess
import tempfile
import unittest

from mgk import _library
from support import TOP

HEADER = os.path.join(TOP, "src", "mgk.h")


def structures():
    return {
        name: kind
        for name, kind in _library.types.items()
        if isinstance(kind, type) and issubclass(kind, ctypes.Structure)
    }


def program():
    """A C program that prints sizes, offsets and values."""
    lines = []
    for name, kind in structures().items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field, _ in kind._fields_:
            lines.append(
                f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), '
                f"sizeof((({name} *)0)->{field}));"
            )
    for name in _library.header.constants:
        lines.append(f'printf("{name} %d\\n", (int){name});')
    body = "\n    ".join(lines)
    return f'#include <stdio.h>\n#include "{HEADER}"\nint main(void)\n{{\n    {body}\n}}\n'


def expected():
    for name, kind in structures().items():
        yield f"{name} {ctypes.sizeof(kind)}"
        for field, _ in kind._fields_:
            place = getattr(kind, field)
            yield f"{name}.{field} {place.offset} {place.size}"
    for name, value in _library.header.constants.items():
        yield f"{name} {value}"


class Header(unittest.TestCase):
    def test_layouts(self):
        with tempfile.TemporaryDirectory() as folder:
            source, made = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
            with open(source, "w", encoding="utf-8") as file:
                file.write(program())
            subprocess.run([os.environ.get("CC", "cc"), source, "-o", made], check=True)
            printed = subprocess.run([made], check=True, capture_output=True, text=True).stdout
        self.assertEqual(printed.splitlines(), list(expected()))

    def test_nothing_is_left_out(self):
        with open(HEADER, encoding="utf-8") as file:
            text = file.read()
        functions = re.findall(r"^MGK_API [^;]*?(mgk_\w+)\(", text, re.MULTILINE)
        self.assertEqual(functions, list(_library.header.functions))
        self.assertEqual(
            re.findall(r"^typedef struct (\w+) \{", text, re.MULTILINE), list(structures())
        )

    def test_versions(self):
        self.assertEqual(_library.__version__, ".".join(map(str, _library.header.version)))


if __name__ == "__main__":
    unittest.main()
