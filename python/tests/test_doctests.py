# SPDX-License-Identifier: MIT
"""The examples in docstrings, run from the top of the repository."""

import doctest
import importlib
import os
import pkgutil
import unittest

import mgk
from support import TOP


class Examples(unittest.TestCase):
    def test_examples(self):
        names = ["mgk"] + [f"mgk.{m.name}" for m in pkgutil.iter_modules(mgk.__path__)]
        before = os.getcwd()
        os.chdir(TOP)
        try:
            results = [doctest.testmod(importlib.import_module(name)) for name in names]
        finally:
            os.chdir(before)
        self.assertEqual(sum(r.failed for r in results), 0)
        self.assertGreater(sum(r.attempted for r in results), 20)

    def test_public_names_have_docstrings(self):
        for name in mgk.__all__:
            self.assertTrue(getattr(mgk, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
