#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/authors: checkpoints as the paper's own code saves them, tiny and random.

    python3 tests/golden/authors.py [FOLDER]

Each checkpoint NAME.pt has a NAME.safetensors with the results of a float64 reference for a batch of
token ids, in the format of tests/golden.h.
"""

import sys
from pathlib import Path

import torch

import authors_lm
import authors_lra
from golden import save_expected


def source_of(module):
    """Drops source code from old containers, which keep that of modules' classes, even PyTorch's
    own."""
    return ["pass\n"], 0, module.__name__ + ".py"


def main():
    torch.serialization.get_source_lines_and_file = source_of
    here = Path(__file__).parent
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else here / "authors"
    folder.mkdir(parents=True, exist_ok=True)
    for part in (authors_lra, authors_lm):
        for name, saved, container, expected in part.checkpoints():
            torch.save(saved, folder / f"{name}.pt", **container)
            save_expected(folder / f"{name}.safetensors", expected)


if __name__ == "__main__":
    main()
