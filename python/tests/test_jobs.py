# SPDX-License-Identifier: MIT
"""Progress, warnings, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import mgk
import numpy as np
from support import MODEL, TEXTS, attention_like

# Takes minutes unless it is interrupted; says when it has begun.
LONG = """
import sys, numpy, mgk
one = numpy.random.default_rng(0).random((700, 700))
x = numpy.broadcast_to(one / one.sum(-1, keepdims=True), (200, 1, 1, 700, 700))
def told(done, total, note):
    if done > 0:
        print("begun", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(17)
"""


class Interrupt(unittest.TestCase):
    def interrupt(self, call):
        with tempfile.TemporaryDirectory() as folder:
            work = subprocess.Popen(
                [sys.executable, "-c", LONG.format(call=call)],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            self.assertEqual(work.stdout.readline(), "begun\n")
            began = time.monotonic()
            work.send_signal(signal.SIGINT)
            out, err = work.communicate(timeout=60)
            self.assertLess(time.monotonic() - began, 30)
            self.assertEqual((work.returncode, err), (17, ""))
            self.assertEqual(out.splitlines()[-1], "interrupted")
            self.assertEqual(os.listdir(folder), [])

    def test_ranks(self):
        self.interrupt(
            "mgk.ranks(x, axes='sample,layer,head', output='ranks.csv', method='svd', progress=told)"
        )

    def test_diversity(self):
        self.interrupt(
            "mgk.diversity(x, axes='sample,layer,head', output='measures.h5', progress=told)"
        )

    def test_in_another_thread(self):
        """A call that is not on the main thread works."""
        tables = []
        thread = threading.Thread(target=lambda: tables.append(mgk.ranks(np.eye(5))))
        thread.start()
        thread.join()
        self.assertEqual(tables[0]["rank"].tolist(), [5])


class Progress(unittest.TestCase):
    def test_a_function(self):
        told = []
        mgk.ranks(attention_like(4, 1, 2, 9, 9), progress=lambda *what: told.append(what))
        self.assertEqual(told[-1][:2], (8, 8))
        told.clear()
        mgk.attention(MODEL, TEXTS, progress=lambda *what: told.append(what[:2]))
        self.assertEqual(told, [(1, 2), (2, 2)])

    def test_a_function_that_fails(self):
        def fails(*_):
            raise RuntimeError("on purpose")

        with self.assertRaisesRegex(RuntimeError, "on purpose"):
            mgk.ranks(attention_like(4, 1, 2, 9, 9), progress=fails)

    def test_a_bar(self):
        """On a terminal a line, or tqdm's bar; it ends with a new line or is removed."""
        code = LONG.replace("200", "40").format(call="mgk.ranks(x, progress=True, method='svd')")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("ranks:", done.stderr)

    def test_quiet(self):
        code = LONG.replace("200", "4").format(call="mgk.ranks(x, axes='sample,layer,head')")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_warnings(self):
        with self.assertWarnsRegex(mgk.Warning, "samples have 3 to 5 tokens") as caught:
            mgk.diversity(attention_like(2, 1, 2, 5, 5), lengths=[3, 5])
        self.assertEqual(os.path.basename(caught.filename), os.path.basename(__file__))

    def test_padding_without_lengths(self):
        padded = np.zeros((2, 1, 2, 5, 5))
        padded[..., :3] = attention_like(2, 1, 2, 5, 3)
        for measure in (mgk.ranks, mgk.diversity):
            with self.assertWarnsRegex(mgk.Warning, r"columns of 4 matrices are all 0 \(2 of 5"):
                measure(padded)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mgk.ranks(padded[..., :3, :3], lengths=[3, 2])
        self.assertNotIn("columns", " ".join(str(one.message) for one in caught))


class Errors(unittest.TestCase):
    def test_statuses(self):
        for expected, x in ((mgk.Status.IO, "missing.h5"), (mgk.Status.INPUT, MODEL)):
            with self.assertRaises(mgk.Error) as caught:
                mgk.ranks(x)
            self.assertEqual(caught.exception.status, expected)
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaises(mgk.Error) as caught:
            mgk.ranks(np.eye(3), method="guess")
        self.assertEqual(caught.exception.status, mgk.Status.USAGE)

    def test_a_copy(self):
        import pickle

        error = pickle.loads(pickle.dumps(mgk.Error("text", mgk.Status.IO)))
        self.assertEqual((str(error), error.status), ("text", mgk.Status.IO))

    def test_outputs_of_transformers(self):
        class Outputs:
            attentions = (attention_like(1, 2, 3, 3),)

        for given, message in (
            (Outputs(), r"pass outputs\.attentions"),
            ((), 'attn_implementation="eager"'),
            ((None, None), 'attn_implementation="eager"'),
        ):
            for measure in (mgk.ranks, mgk.diversity):
                with self.assertRaisesRegex(TypeError, message):
                    measure(given)

    def test_options(self):
        for how in ({"threshold": "1e-6"}, {"relative": "yes"}, {"matrices": 1.5}, {"output": 3}):
            with self.assertRaises(TypeError):
                mgk.ranks(np.eye(3), **how)
        for how in ({"threshold": []}, {"matrices": -1}, {"seed": -1}, {"output": "a\0b.csv"}):
            with self.assertRaises(ValueError):
                mgk.ranks(np.eye(3), **how)
        for how in ({"attention_mask": [[1], [1]]}, {"lengths": [1]}, {"axes": "head"}):
            with self.assertRaises(ValueError):
                mgk.ranks(MODEL, TEXTS, **how)
        with self.assertRaises(TypeError):
            mgk.ranks(np.eye(3), TEXTS)
        with self.assertRaises(ValueError):
            mgk.ranks(np.eye(3), length=2)


if __name__ == "__main__":
    unittest.main()
