# SPDX-License-Identifier: MIT
"""Reads mgk.h: its structures, enumerations and functions, for ctypes.

The header is installed with the library, so that what Python calls is what the library offers.
It understands the C that mgk.h is written in, and raises an error for anything else.
"""

import ctypes as c
import re

_NUMBERS = {
    "bool": c.c_bool,
    "char": c.c_char,
    "double": c.c_double,
    "float": c.c_float,
    "int": c.c_int,
    "unsigned": c.c_uint,
    "size_t": c.c_size_t,
    "int32_t": c.c_int32,
    "int64_t": c.c_int64,
    "uint64_t": c.c_uint64,
}

_DECLARATION = re.compile(
    r"typedef struct (?P<struct>\w+) \{(?P<fields>.*?)\n\} (?P=struct);"
    r"|typedef struct (?P<opaque>\w+) (?P=opaque);"
    r"|typedef enum (?P<enum>\w+) \{(?P<values>.*?)\n\} (?P=enum);"
    r"|enum \{(?P<constants>.*?)\n\};"
    r"|MGK_API (?P<result>[^;()]*?)(?P<function>mgk_\w+)\((?P<arguments>[^;]*)\);",
    re.DOTALL,
)
_NAME = re.compile(r"(?P<stars>(?:\*(?:const )?)*)(?P<name>\w+)(?:\[(?P<length>\d+)\])?$")


class Header:
    """What a header declares.

    Attributes
    ----------
    types : dict
        Structures as subclasses of `ctypes.Structure`, and enumerations as `ctypes.c_int`.
    constants : dict
        Values of enumerations by name.
    functions : dict
        For each function its result type and its argument types.
    version : tuple of int
    """

    def __init__(self, text):
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
        text = re.sub(r"static inline .*?\n\}", "", text, flags=re.DOTALL)
        self.types = dict(_NUMBERS)
        self.opaque = set()
        self.enums = {}
        self.constants = {}
        self.functions = {}
        self.version = tuple(
            int(re.search(rf"#define MGK_VERSION_{part} (\d+)", text)[1])
            for part in ("MAJOR", "MINOR", "PATCH")
        )
        for found in _DECLARATION.finditer(text):
            self._declare(found.groupdict())

    def _declare(self, found):
        if found["struct"]:
            fields = [f for line in found["fields"].split(";") for f in self._fields(line)]
            self.types[found["struct"]] = type(
                found["struct"], (c.Structure,), {"_fields_": fields}
            )
        elif found["opaque"]:
            self.opaque.add(found["opaque"])
        elif found["enum"]:
            self.types[found["enum"]] = c.c_int
            self.enums[found["enum"]] = self._values(found["values"])
            self.constants.update(self.enums[found["enum"]])
        elif found["constants"]:
            self.constants.update(self._values(found["constants"]))
        else:
            self.functions[found["function"]] = (
                self._type(found["result"].replace("*", " *")),
                [] if found["arguments"] == "void" else self._arguments(found["arguments"]),
            )

    @staticmethod
    def _values(text):
        values, following = {}, 0
        for part in filter(None, (p.strip() for p in text.split(","))):
            name, _, value = (p.strip() for p in part.partition("="))
            following = int(value) if value else following
            values[name] = following
            following += 1
        return values

    def _fields(self, line):
        """The fields of one declaration: ``int layers, heads`` has two."""
        line = " ".join(line.split())
        if not line:
            return
        called = re.fullmatch(r"(\w+) \(\*(\w+)\)\((.*)\)", line)
        if called:
            result, name, arguments = called.groups()
            yield name, c.CFUNCTYPE(self._type(result), *self._arguments(arguments))
            return
        base, declarators = re.fullmatch(r"((?:const )?\w+) (.*)", line).groups()
        for declarator in declarators.split(","):
            found = _NAME.fullmatch(declarator.strip())
            kind = self._type(f"{base} {found['stars']}")
            length = found["length"]
            yield found["name"], kind * int(length) if length else kind

    def _arguments(self, text):
        arguments = (" ".join(a.split()) for a in text.split(","))
        return [self._type(a[: _NAME.search(a).start("name")]) for a in arguments]

    def _type(self, text):
        """The type of ``const char *const *``, written without a name."""
        words = text.replace("*", " * ").split()
        stars = words.count("*")
        is_const, base = words[0] == "const", next(w for w in words if w not in ("const", "*"))
        if base == "void" and stars == 0:
            return None
        if base == "void" or base in self.opaque:
            kind, stars = c.c_void_p, stars - 1
        elif base == "char" and stars > 0:
            # Text that the caller must release is an address.
            kind, stars = (c.c_char_p if is_const else c.c_void_p), stars - 1
        else:
            kind = self.types[base]
        for _ in range(stars):
            kind = c.POINTER(kind)
        return kind
