# SPDX-License-Identifier: MIT
"""Evaluation, of texts, files and tasks."""

import math
import os
import tempfile
import unittest

import mgk
import numpy as np
from support import BERT, MODEL, TEXTS


class Evaluate(unittest.TestCase):
    def test_texts(self):
        one = [mgk.evaluate(MODEL, text, precision="double") for text in TEXTS]
        both = mgk.evaluate(MODEL, TEXTS, precision="double")
        self.assertEqual([e.targets for e in one], [22, 4])
        self.assertEqual((both.samples, both.length, both.targets), (2, 23, 26))
        total = sum(e.loss * e.targets for e in one)
        self.assertAlmostEqual(both.loss, total / 26, places=12)
        self.assertAlmostEqual(both.perplexity, math.exp(both.loss), places=9)
        self.assertAlmostEqual(both.bits_per_byte, both.loss / math.log(2), places=12)
        ids = [np.frombuffer(text.encode(), np.uint8) for text in TEXTS]
        again = mgk.evaluate(mgk.Model(MODEL, precision="double"), ids)
        self.assertAlmostEqual(again.loss, both.loss, places=12)
        self.assertTrue(math.isnan(again.bits_per_byte))
        rows = np.array([ids[0][:9], ids[0][9:18]])
        self.assertEqual(mgk.evaluate(MODEL, rows).targets, 16)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "text.txt")
            with open(path, "w", encoding="ascii") as file:
                file.write(" ".join(TEXTS) * 4)
            size = os.path.getsize(path)
            apart = mgk.evaluate(MODEL, files=path, length=20)
            sliding = mgk.evaluate(MODEL, files=[path], length=20, stride=5)
            task = mgk.evaluate(MODEL, task="lm", data=path, length=20, stride=5)
            some = mgk.evaluate(MODEL, files=path, length=20, samples=2)
        self.assertEqual((apart.targets, sliding.targets, some.samples), (size - 1, size - 1, 2))
        self.assertLess(sliding.loss, apart.loss)
        self.assertEqual(task, sliding)

    def test_heads_are_removed(self):
        whole = mgk.evaluate(MODEL, TEXTS)
        one = mgk.evaluate(MODEL, TEXTS, remove=[(0, 1)])
        all_ = mgk.evaluate(MODEL, TEXTS, remove=[(0, -1), (1, -1)])
        self.assertEqual(mgk.evaluate(MODEL, TEXTS, remove=np.array([[0, 1]])), one)
        self.assertEqual(mgk.evaluate(MODEL, TEXTS, remove=[]), whole)
        self.assertEqual(len({whole.loss, one.loss, all_.loss}), 3)
        with self.assertRaisesRegex(mgk.Error, "head 9: heads are 0 to"):
            mgk.evaluate(MODEL, TEXTS, remove=[(0, 9)])
        for wrong in (3, [(0,)], [1, 2]):
            with self.assertRaisesRegex(TypeError, "pairs"):
                mgk.evaluate(MODEL, TEXTS, remove=wrong)
        with self.assertRaisesRegex(TypeError, "whole number"):
            mgk.evaluate(MODEL, TEXTS, remove=[(0, 0.5)])

    def test_differences(self):
        texts = [f"{text} {i} {text[i:]}" for i in range(8) for text in TEXTS]
        whole, a = mgk.evaluate(MODEL, texts, per_sample=True)
        without, b = mgk.evaluate(MODEL, texts, remove=[(0, 1)], per_sample=True)
        self.assertEqual((len(a), a["targets"].sum()), (16, whole.targets))
        self.assertAlmostEqual(a["loss"].sum() / a["targets"].sum(), whole.loss, places=12)
        one = mgk.evaluate(MODEL, texts[3])
        self.assertAlmostEqual(a["loss"][3] / a["targets"][3], one.loss, places=5)
        found = mgk.compare_evaluations(a, b, seed=1)
        self.assertAlmostEqual(found.loss, without.loss - whole.loss, places=6)
        self.assertAlmostEqual(found.accuracy, without.accuracy - whole.accuracy, places=12)
        self.assertEqual(found.samples, 16)
        # The same draws in numpy, whose seed is another one; and the t test of the pairs.
        difference, targets = b["loss"] - a["loss"], a["targets"]
        drawn = np.random.default_rng(0).integers(16, size=(10000, 16))
        draws = difference[drawn].sum(axis=1) / targets[drawn].sum(axis=1)
        low, high = np.quantile(draws, [0.025, 0.975])
        self.assertAlmostEqual(found.loss_low, low, delta=0.1 * (high - low))
        self.assertAlmostEqual(found.loss_high, high, delta=0.1 * (high - low))
        rest = difference - found.loss * targets
        error = math.sqrt(16 / 15 * (rest**2).sum()) / targets.sum()
        far = np.abs(np.random.default_rng(1).standard_t(15, 200000)) > abs(found.loss) / error
        self.assertAlmostEqual(found.loss_p, far.mean(), delta=0.01)
        with self.assertWarnsRegex(mgk.Warning, "fewer than 12 samples"):
            self.assertEqual(mgk.compare_evaluations(a[:5], b[:5]).samples, 5)
        with self.assertRaisesRegex(mgk.Error, "evaluations of 16 and 5 samples"):
            mgk.compare_evaluations(a, b[:5])
        with self.assertRaisesRegex(mgk.Error, "sample 0 has other targets"):
            mgk.compare_evaluations(a, a[::-1])
        broken = a.copy()
        broken["loss"][2] = math.nan
        with self.assertRaisesRegex(mgk.Error, "the loss of sample 2 is not finite"):
            mgk.compare_evaluations(a, broken)
        for wrong in (whole, 3, a["loss"], a.reshape(4, 4)):
            with self.assertRaisesRegex(TypeError, "b: expected the array that"):
                mgk.compare_evaluations(a, wrong)

    def test_refusals(self):
        for wrong in ({}, {"texts": TEXTS, "task": "lm"}):
            with self.assertRaisesRegex(TypeError, "one of texts, files and task"):
                mgk.evaluate(MODEL, **wrong)
        with self.assertRaisesRegex(ValueError, "samples"):
            mgk.evaluate(MODEL, TEXTS, samples=1)
        with self.assertRaisesRegex(mgk.Error, "belongs to windows of a text"):
            mgk.evaluate(MODEL, TEXTS, stride=2)
        with self.assertRaisesRegex(mgk.Error, "no targets for this model"):
            mgk.evaluate(BERT, [[3, 4, 5]])


if __name__ == "__main__":
    unittest.main()
