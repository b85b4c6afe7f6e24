# SPDX-License-Identifier: MIT
"""Pictures."""

import os
import unittest

import mgk
import numpy as np
from support import MODEL, attention_like


class Pictures(unittest.TestCase):
    def test_an_array(self):
        a = attention_like(2, 2, 3, 8, 8)
        picture = mgk.plot("attention", a, sample=1, layers=[1], heads=[0, 2])
        self.assertTrue(picture._repr_png_().startswith(b"\x89PNG\r\n\x1a\n"))
        np.save("plot-in.npy", a)
        same = mgk.plot(
            "attention", "plot-in.npy", sample=1, layers=1, heads=[0, 2], title="sample 1"
        )
        turned = mgk.plot(
            "attention",
            a.swapaxes(0, 1),
            axes="layer,sample,head",
            sample=1,
            layers=[1],
            heads=[0, 2],
        )
        self.assertEqual(repr(picture), repr(same))
        self.assertEqual(picture.png, turned.png)
        self.assertIn("pixels", repr(picture))

    def test_padding_is_not_drawn(self):
        a = attention_like(2, 1, 2, 8, 8)
        short = mgk.plot("attention", a, sample=1, lengths=[8, 5])
        mask = np.array([[1] * 8, [1] * 5 + [0] * 3])
        self.assertEqual(mgk.plot("attention", a, sample=1, attention_mask=mask).png, short.png)
        self.assertEqual(
            mgk.plot("attention", a[1:, :, :, :5, :5], title="sample 1").png, short.png
        )
        self.assertNotEqual(mgk.plot("attention", a, sample=1).png, short.png)
        with self.assertRaisesRegex(ValueError, "sample: 2 of 2"):
            mgk.plot("attention", a, sample=2)

    def test_saving(self):
        picture = mgk.plot("weights", MODEL, layers=0)
        for name, begin in (("w.png", b"\x89PNG"), ("w.pdf", b"%PDF"), ("w.svg", b"<?xml")):
            picture.save(name, force=True)
            with open(name, "rb") as file:
                self.assertEqual(file.read(len(begin)), begin)
            with self.assertRaises(mgk.Error) as caught:
                picture.save(name)
            self.assertEqual(caught.exception.status, mgk.Status.EXISTS)

    def test_tables(self):
        mgk.ranks(attention_like(4, 2, 2, 8, 8), output="plot-ranks.csv", force=True)
        self.assertIn(b"IHDR", mgk.plot("ranks", "plot-ranks.csv").png)
        mgk.diversity(attention_like(4, 2, 2, 8, 8), output="plot-measures.csv", force=True)
        self.assertIn(b"IHDR", mgk.plot("heads", "plot-measures.csv", measure="entropy").png)

    def test_tables_in_memory(self):
        a = attention_like(4, 2, 3, 8, 8)
        measures = mgk.diversity(a, output="plot-same.csv", force=True)
        for kind in ("pairs", "heads"):
            same = mgk.plot(kind, "plot-same.csv")
            self.assertEqual(mgk.plot(kind, measures).png, same.png)
        ranks = mgk.ranks(a, output="plot-same-ranks.csv", force=True)
        names = ["a", "b"]
        same = mgk.plot("ranks", ["plot-same-ranks.csv"] * 2, names=names)
        self.assertEqual(mgk.plot("ranks", [ranks, ranks], names=names).png, same.png)

    def test_without_inputs(self):
        self.assertEqual(mgk.plot("performer", figure=2).png[1:4], b"PNG")
        with self.assertRaisesRegex(mgk.Error, "no input, expected files of mgk-diversity"):
            mgk.plot("heads")

    def test_arrays_that_are_not_drawn(self):
        a = attention_like(2, 1, 2, 8, 8)
        for kind, drawn in (("heads", "mgk.diversity"), ("ranks", "mgk.ranks"), ("cost", "files")):
            with self.assertRaisesRegex(TypeError, f"{kind} draws .*{drawn}.*, not arrays"):
                mgk.plot(kind, a)

    def test_refusals(self):
        with self.assertRaisesRegex(ValueError, "kind"):
            mgk.plot("attentions", MODEL)
        for name in ("colour", "output", "size", "job"):
            with self.assertRaisesRegex(TypeError, name):
                mgk.plot("weights", MODEL, **{name: "x"})
        with self.assertRaises(mgk.Error):
            mgk.plot("weights", "missing.safetensors")
        with self.assertRaises(ValueError):
            mgk.plot("attention", attention_like(2, 3, 4, 4))
        self.assertFalse(os.path.exists("x"))

    def test_labels(self):
        """Texts of the tokens of an array: those of the sample's valid ones are drawn."""
        a = attention_like(2, 1, 2, 6, 6)
        words = ["[PAD]", "The", "cat", "sat", "on\nit", "."]
        mask = [[0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]]
        how = {"axes": "sample,layer,head", "attention_mask": np.array(mask)}
        plain = mgk.plot("attention", a, **how)
        labelled = mgk.plot("attention", a, labels=words, **how)
        self.assertNotEqual(plain.png, labelled.png)
        labelled.save("labels.svg", force=True)
        other = mgk.plot("attention", a, labels=["another", *words[1:]], **how)
        self.assertEqual(other.png, labelled.png)  # the first is padding
        with self.assertRaisesRegex(ValueError, "labels: 2 texts for square matrices of 6 tokens"):
            mgk.plot("attention", a, labels=words[:2], **how)


if __name__ == "__main__":
    unittest.main()
