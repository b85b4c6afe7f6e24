# SPDX-License-Identifier: MIT
"""The programs and the library of mgk, as ``cmake --install`` lays them out.

``PREFIX`` is the folder with bin, lib, libexec and include: this one in an installed wheel;
``MGK_PREFIX`` in the environment names another, such as a build folder.
"""

import os
import sys

PREFIX = os.environ.get("MGK_PREFIX") or os.path.dirname(os.path.abspath(__file__))


def main():
    """Run the program that this command is named after, in place of Python."""
    program = os.path.join(PREFIX, "bin", os.path.basename(sys.argv[0]))
    os.execv(program, [program] + sys.argv[1:])
