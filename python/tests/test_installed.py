# SPDX-License-Identifier: MIT
"""What a wheel contains works where it is put: what CMake installs of it, beside the package."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import mgk_toolkit
from support import MODEL, TOP

CHECK = """
import sys, mgk
assert mgk.__file__.startswith(sys.argv[1]), mgk.__file__
mgk.ranks("attention.h5", matrices=2)    # reads HDF5 through the probe program
print(mgk.attention(sys.argv[2], "text").shape)
"""


class Installed(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("mgk", "mgk_toolkit"):
            shutil.copytree(
                os.path.join(TOP, "python", name),
                os.path.join(self.folder, name),
                ignore=shutil.ignore_patterns("__pycache__"),
            )
        prefix = os.path.join(self.folder, "mgk_toolkit")
        subprocess.run(
            ["cmake", "--install", mgk_toolkit.PREFIX, "--component", "run", "--prefix", prefix],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self.environment = {k: v for k, v in os.environ.items() if k != "MGK_PREFIX"}
        self.environment["PYTHONPATH"] = self.folder

    def run_here(self, *command):
        return subprocess.run(
            command,
            check=True,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

    def test_package_and_programs(self):
        script = os.path.join(self.folder, "mgk-dump")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\nfrom mgk_toolkit import main\nmain()\n")
        os.chmod(script, 0o755)
        text = os.path.join(TOP, "models", "sample.txt")
        arguments = ["--text", text, "--samples", "1", "--layers", "0", "--quiet"]
        self.run_here(script, MODEL, *arguments, "-o", "attention.h5")
        printed = self.run_here(sys.executable, "-c", CHECK, self.folder, MODEL)
        self.assertEqual(printed, "(1, 6, 4, 4, 4)\n")

    def test_every_program_has_a_command(self):
        with open(os.path.join(TOP, "pyproject.toml"), encoding="utf-8") as file:
            commands = re.findall(r'^(mgk[\w-]*) = "mgk_toolkit:main"$', file.read(), re.MULTILINE)
        programs = os.listdir(os.path.join(self.folder, "mgk_toolkit", "bin"))
        self.assertEqual(sorted(commands), sorted(programs))


class NotInstalled(unittest.TestCase):
    def test_what_to_do_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            ended = subprocess.run(
                [sys.executable, "-c", "import mgk"],
                env={**os.environ, "MGK_PREFIX": folder},
                stderr=subprocess.PIPE,
                text=True,
            )
        last = ended.stderr.splitlines()[-1]
        self.assertRegex(last, "^ImportError: .*mgk.h is missing: .*pip, or set MGK_PREFIX")


if __name__ == "__main__":
    unittest.main()
