# SPDX-License-Identifier: MIT
"""Code of others, of which single functions and classes are read and run. Nothing of it is kept but
numbers."""

import __future__
import ast
import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch


class Clones:
    """A folder with clones of repositories, whose files are read at the given commits."""

    def __init__(self, folder, commits, **used):
        self.folder = Path(folder)
        self.commits = commits
        self.used = used

    def text(self, repository, path):
        command = ["git", "-C", self.folder / repository, "show",
                   f"{self.commits[repository]}:{path}"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def cell(self, repository, notebook, part):
        """The only cell of a notebook with this part."""
        cells = json.loads(self.text(repository, notebook))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        (found,) = [cell for cell in code if part in cell]
        return found

    def definitions(self, repository, path, *names, replaced=(), **used):
        """Functions, methods or classes of a file, without the rest of it and what it imports.
        Of each pair of *replaced*, the first part of the text is there, and becomes the second."""
        text = self.text(repository, path)
        for old, new in replaced:
            assert old in text, old
            text = text.replace(old, new)
        return definitions(text, *names, **self.used, **used)


def definitions(text, *names, **used):
    """Runs the definitions of these names in the text; *used* is what else they refer to."""
    found = [node for node in ast.walk(ast.parse(text))
             if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in names]
    module = ast.Module(body=found, type_ignores=[])
    flags = __future__.annotations.compiler_flag
    scope = {"np": np, "numpy": np, "torch": torch, **used}
    exec(compile(module, "reference", "exec", flags, dont_inherit=True), scope)
    return SimpleNamespace(**{name: scope[name] for name in names})
