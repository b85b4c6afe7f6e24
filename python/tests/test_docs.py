# SPDX-License-Identifier: MIT
"""The examples of docs/python.md and of the notebook run, and print what they say they print."""

import ast
import contextlib
import io
import json
import os
import re
import unittest
import warnings

import mgk
import mgk_toolkit
from support import TOP

OPTIONAL = ("torch", "xarray", "h5netcdf", "pandas")


@contextlib.contextmanager
def folder():
    """A folder with the models, where examples run; its programs are those of the library."""
    before, path = os.getcwd(), os.environ["PATH"]
    os.makedirs("examples", exist_ok=True)
    os.chdir("examples")
    if not os.path.lexists("models"):
        os.symlink(os.path.join(TOP, "models"), "models")
    os.environ["PATH"] = os.path.join(mgk_toolkit.PREFIX, "bin") + os.pathsep + path
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mgk.Warning)
            yield
    finally:
        os.chdir(before)
        os.environ["PATH"] = path


def is_missing(code):
    """A package that the code needs and that is not there."""
    for name in OPTIONAL:
        wanted = f"import {name}" in code or (name == "xarray" and "mgk.open(store)" in code)
        if wanted or (name == "pandas" and "to_pandas()" in code):
            try:
                __import__(name)
            except ImportError:
                return name
    return None


def examples():
    with open(os.path.join(TOP, "docs", "python.md"), encoding="utf-8") as file:
        return re.findall(r"^```python\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


class Docs(unittest.TestCase):
    def test_page(self):
        names, left_out = {}, []
        with folder():
            for code in examples():
                missing = is_missing(code)
                if missing:
                    left_out.append(missing)
                    continue
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(code, "docs/python.md", "exec"), names)
                for said in re.findall(r"print\(.*\) +# ([^\n:]*)", code):
                    if not said.startswith("columns"):
                        self.assertIn(said.strip(), printed.getvalue())
        self.assertGreater(len(names), 8)
        if left_out:
            print(f"docs/python.md: examples left out without {', '.join(left_out)}")

    def test_notebook(self):
        """Its cells run in order, and show tables and pictures.

        They run without Jupyter, whose packages would take more than all others of the tests.
        """
        path = os.path.join(TOP, "python", "examples", "heads.ipynb")
        with open(path, encoding="utf-8") as file:
            notebook = json.load(file)
        self.assertEqual(notebook["nbformat"], 4)
        names, shown = {}, []
        with folder():
            for cell in notebook["cells"]:
                self.assertIn(cell["cell_type"], ("markdown", "code"))
                if cell["cell_type"] == "code":
                    shown.append(run_cell("".join(cell["source"]), names))
        self.assertTrue(any(hasattr(s, "_repr_png_") and s._repr_png_() for s in shown))
        self.assertTrue(any(hasattr(s, "_repr_html_") and s._repr_html_() for s in shown))


def run_cell(code, names):
    """Run a cell; the value of its last expression, as a notebook shows it."""
    body = ast.parse(code).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return last and eval(compile(ast.Expression(last.value), "cell", "eval"), names)


if __name__ == "__main__":
    unittest.main()
