# SPDX-License-Identifier: MIT
"""Arrays of any layout: the same matrices give the same rows."""

import unittest
import warnings

import mgk
import numpy as np
from mgk import _arrays
from support import MODEL, attention_like, ranks_of

S, L, H, N = 3, 2, 4, 9


def rows(table):
    """Ranks [S, L, H] of a table."""
    out = np.full((S, L, H), -1)
    for row in table:
        out[row["sample"], row["layer"], row["head"]] = row["rank"]
    return out


class Layouts(unittest.TestCase):
    def setUp(self):
        self.a = attention_like(S, L, H, N, N)
        self.a[1, 0, 2] = 1 / N  # rank 1
        self.a[2, 1, 3] = np.eye(N)
        self.expected = ranks_of(self.a)
        self.assertGreater(len(np.unique(self.expected)), 2)

    def check(self, x, **how):
        np.testing.assert_array_equal(rows(mgk.ranks(x, **how)), self.expected)

    def test_usual_axes(self):
        self.check(self.a)
        self.check(self.a, axes="sample,layer,head")
        self.check(self.a.astype(np.float32), threshold=1e-5)

    def test_other_orders(self):
        self.check(self.a.transpose(1, 0, 2, 3, 4), axes="layer,sample,head")
        self.check(self.a.transpose(2, 1, 0, 3, 4), axes="head,layer,sample")
        self.check(
            np.ascontiguousarray(self.a.transpose(1, 2, 0, 3, 4)), axes=("layer", "head", "sample")
        )

    def test_strides(self):
        wide = np.zeros((S, L, 2 * H, N, 2 * N))
        wide[:, :, ::2, :, ::2] = self.a
        self.check(wide[:, :, ::2, :, ::2])
        turned = np.ascontiguousarray(self.a[::-1, :, :, ::-1])
        self.check(turned[::-1, :, :, ::-1])
        transposed = np.ascontiguousarray(np.swapaxes(self.a, 3, 4))
        self.check(np.swapaxes(transposed, 3, 4))

    def test_byte_order(self):
        self.check(self.a.astype(">f8"))

    def test_layers_as_transformers_gives_them(self):
        self.check(tuple(self.a[:, layer] for layer in range(L)))
        self.check([self.a[:, 0], np.asfortranarray(self.a[:, 1])])

    def test_fewer_axes(self):
        table = mgk.ranks(self.a[0, 1], axes="head")
        np.testing.assert_array_equal(table["rank"], self.expected[0, 1])
        np.testing.assert_array_equal(table["head"], np.arange(H))
        table = mgk.ranks(self.a[:, 0], axes="sample,head")
        np.testing.assert_array_equal(table["rank"], self.expected[:, 0].ravel())
        self.assertEqual(mgk.ranks(self.a[0, 0, 0])["rank"].tolist(), [self.expected[0, 0, 0]])

    def test_layers_are_chosen(self):
        table = mgk.ranks(self.a, layers=1)
        self.assertEqual(set(table["layer"]), {1})
        np.testing.assert_array_equal(table["rank"], self.expected[:, 1].ravel())

    def test_heads_are_chosen(self):
        table = mgk.ranks(self.a, heads=[1])
        self.assertEqual(set(table["head"]), {1})
        np.testing.assert_array_equal(table["rank"], self.expected[:, :, 1].ravel())
        table = mgk.diversity(self.a, heads=[0, 1], measures="js", allow_zero_rows=True)
        self.assertEqual(set(zip(table["head"], table["other_head"])), {(0, 1)})

    def test_no_copies(self):
        for dtype in (np.float32, np.float64):
            a = self.a.astype(dtype)
            array = _arrays.matrices(a)
            self.assertEqual(array.layers[0], a.ctypes.data)
            self.assertEqual(array.layers[1], a[:, 1].ctypes.data)

    def test_names(self):
        table = mgk.diversity({"a": self.a, "b": self.a}, measures="entropy")
        self.assertEqual(set(table["input"]), {"a", "b"})
        first, second = table.where(input="a")["value"], table.where(input="b")["value"]
        np.testing.assert_array_equal(first, second)


class Guesses(unittest.TestCase):
    """Axes that nobody named are a guess, and a warning says so."""

    def warnings_of(self, x, **how):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            mgk.ranks(x, **how)
        self.assertEqual({w.filename for w in seen} - {__file__}, set())
        return [str(w.message) for w in seen if w.category is mgk.Warning]

    def test_three_axes(self):
        a = attention_like(S, L, H, N, N)
        (note,) = self.warnings_of(a)
        self.assertIn("axes are read as sample,layer,head, which is a guess", note)
        self.assertIn("axes='layer,sample,head'", note)
        self.assertEqual(len(self.warnings_of({"a": a, "b": a})), 2)
        self.assertEqual(self.warnings_of(a, axes="sample,layer,head"), [])
        self.assertEqual(self.warnings_of(tuple(a[:, layer] for layer in range(L))), [])
        self.assertEqual(self.warnings_of(a[:1, :1]), [])

    def test_arrays_of_attention(self):
        a = mgk.attention(MODEL, ["abc", "def"])
        self.assertEqual(self.warnings_of(a), [])
        self.assertEqual(self.warnings_of(a[:, 1:3]), [])
        self.assertEqual(len(self.warnings_of(a.swapaxes(0, 1))), 1)
        self.assertEqual(len(self.warnings_of(a.copy())), 1)


class Masks(unittest.TestCase):
    def setUp(self):
        self.lengths = [N, 4, 6]
        self.a = attention_like(S, L, H, N, N)
        self.right = np.zeros((S, N), int)
        self.left = np.zeros((S, N), int)
        self.expected = []
        for s, n in enumerate(self.lengths):
            self.right[s, :n] = 1
            self.left[s, N - n :] = 1

    def test_padding_at_the_end(self):
        expected = [ranks_of(self.a[s, :, :, :n, :n]) for s, n in enumerate(self.lengths)]
        for how in ({"attention_mask": self.right}, {"lengths": self.lengths}):
            table = mgk.ranks(self.a, **how)
            np.testing.assert_array_equal(table["rank"], np.ravel(expected))
            np.testing.assert_array_equal(table["n"], np.repeat(self.lengths, L * H))

    def test_padding_at_the_beginning(self):
        expected = [ranks_of(self.a[s, :, :, N - n :, N - n :]) for s, n in enumerate(self.lengths)]
        table = mgk.ranks(self.a, attention_mask=self.left)
        np.testing.assert_array_equal(table["rank"], np.ravel(expected))
        right = mgk.ranks(self.a, attention_mask=self.right)
        self.assertFalse(np.array_equal(table["sigma_max"], right["sigma_max"]))

    def test_a_hole(self):
        self.right[1] = [1, 1, 0, 1, 0, 0, 0, 0, 0]
        with self.assertRaisesRegex(ValueError, "sample 1 has padding between"):
            mgk.ranks(self.a, attention_mask=self.right)

    def test_wrong_shapes(self):
        for how in (
            {"attention_mask": self.right[:, 1:]},
            {"lengths": [1, 2]},
            {"lengths": [1, 2, 10]},
            {"lengths": [1, 2, 0]},
            {"lengths": [1, 2, 1 << 40]},
            {"attention_mask": np.zeros_like(self.right)},
            {"attention_mask": self.right, "lengths": self.lengths},
            {"attention_mask": 2 * self.right},
        ):
            with self.assertRaises(ValueError):
                mgk.ranks(self.a, **how)
        for lengths in ([1.5, 1, 1], [True, True, True]):
            with self.assertRaisesRegex(TypeError, "lengths: expected whole numbers"):
                mgk.ranks(self.a, lengths=lengths)


class Cross(unittest.TestCase):
    """Attention of one sequence to another: more keys than queries, or fewer."""

    def setUp(self):
        self.wide = attention_like(S, L, H, 5, N)
        self.wide[1, 0, 2] = 1 / N  # rank 1
        self.tall = np.ascontiguousarray(attention_like(S, L, H, N, 4))
        self.tall[2, 1, 3] = np.eye(4)[np.arange(N) % 4]

    def test_ranks(self):
        for a in (self.wide, self.tall, self.wide.transpose(0, 1, 2, 4, 3)):
            table = mgk.ranks(a)
            np.testing.assert_array_equal(rows(table), ranks_of(a))
            self.assertEqual(set(table["n"]), {min(a.shape[-2:])})
            sigma = np.linalg.svd(a, compute_uv=False)
            np.testing.assert_allclose(table["sigma_min"], sigma[..., -1].ravel(), atol=1e-14)

    def test_layers_as_transformers_gives_them(self):
        table = mgk.ranks(tuple(self.wide[:, layer] for layer in range(L)))
        np.testing.assert_array_equal(rows(table), ranks_of(self.wide))

    def test_lengths_of_both_sides(self):
        lengths, keys = [5, 2, 3], [N, 4, 1]
        mask = np.zeros((S, N), int)
        for s, k in enumerate(keys):
            mask[s, N - k :] = 1
        table = mgk.ranks(self.wide, attention_mask=mask, lengths=lengths)
        parts = [self.wide[s, :, :, :n, N - k :] for s, (n, k) in enumerate(zip(lengths, keys))]
        np.testing.assert_array_equal(table["rank"], np.ravel([ranks_of(p) for p in parts]))
        orders = np.minimum(lengths, keys)
        np.testing.assert_array_equal(table["n"], np.repeat(orders, L * H))
        largest = [np.linalg.svd(p, compute_uv=False)[..., 0].ravel() for p in parts]
        np.testing.assert_allclose(table["sigma_max"], np.ravel(largest), atol=1e-14)
        with self.assertWarnsRegex(mgk.Warning, "rows of padded queries count"):
            only = mgk.ranks(self.wide, attention_mask=mask)
        np.testing.assert_array_equal(only["n"], np.repeat(np.minimum(5, keys), L * H))

    def test_square_matrices(self):
        square = attention_like(S, L, H, N, N)
        lengths, keys = [5, 2, 3], [N, 4, 1]
        mask = (np.arange(N) < np.array(keys)[:, None]).astype(int)
        how = {"axes": "sample,layer,head", "attention_mask": mask, "lengths": lengths}
        table = mgk.ranks(square, cross=True, **how)
        parts = [square[s, :, :, :n, :k] for s, (n, k) in enumerate(zip(lengths, keys))]
        np.testing.assert_array_equal(table["rank"], np.ravel([ranks_of(p) for p in parts]))
        measures = mgk.diversity(square, cross=True, **how)["measure"]
        self.assertIn("entropy", measures)
        self.assertNotIn("distance", measures)
        with self.assertRaisesRegex(ValueError, "cross=True"):
            mgk.ranks(square, **how)
        with self.assertRaisesRegex(ValueError, "cross: files"):
            mgk.ranks("missing.h5", cross=True)

    def test_masks_of_the_other_side(self):
        for how in ({"attention_mask": np.ones((S, 5), int)}, {"lengths": [6, 5, 5]}):
            with self.assertRaisesRegex(ValueError, "of the keys|expected 1 to 5"):
                mgk.ranks(self.wide, **how)

    def test_measures(self):
        table = mgk.diversity(self.wide, measures=["entropy", "normalized_entropy", "js"])
        a = self.wide
        entropy = -(a * np.log(a)).sum(-1).mean(-1)
        for measure, expected in (
            ("entropy", entropy),
            ("normalized_entropy", entropy / np.log(N)),
        ):
            found = table.where(measure=measure)["value"]
            np.testing.assert_allclose(found, expected.mean(0).ravel(), rtol=1e-12)
        with self.assertRaisesRegex(mgk.Error, "queries and keys of one sequence"):
            mgk.diversity(self.wide, measures="distance")
        with self.assertRaisesRegex(mgk.Error, "no causal mask"):
            mgk.diversity(self.wide, causal=True)

    def test_pictures(self):
        picture = mgk.plot("attention", self.wide, sample=1, lengths=[5, 3, 5], layers=[0])
        self.assertEqual(picture.png[1:4], b"PNG")


class ByName(unittest.TestCase):
    def test_masks(self):
        """Each of several inputs may have its own."""
        a, b = attention_like(2, 4, 6, 6), attention_like(3, 4, 5, 5, seed=1)
        lengths = {"a": [6, 4], "b": [5, 3, 2]}
        table = mgk.diversity(
            {"a": a, "b": b}, axes="sample,head", lengths=lengths, measures="entropy"
        )
        for name, x in ("a", a), ("b", b):
            one = mgk.diversity(x, axes="sample,head", lengths=lengths[name], measures="entropy")
            np.testing.assert_array_equal(table.where(input=name)["value"], one["value"])
        with self.assertRaisesRegex(ValueError, "lengths: nothing for 'b'"):
            mgk.ranks({"a": a, "b": b}, axes="sample,head", lengths={"a": [6, 4]})


class Refusals(unittest.TestCase):
    def test_ambiguous_axes(self):
        with self.assertRaisesRegex(ValueError, "'sample,head' or 'layer,head'"):
            mgk.ranks(attention_like(2, 3, 4, 4))
        with self.assertRaisesRegex(ValueError, "'sample' or 'head'"):
            mgk.diversity(attention_like(2, 4, 4))

    def test_an_array_of_another_library(self):
        class Tensor:
            def __array__(self, *_, **__):
                return attention_like(2, 3, 4, 5, 5)

        with self.assertRaisesRegex(ValueError, "'sample,layer,head' or 'layer,sample,head'"):
            mgk.ranks(Tensor())
        self.assertEqual(mgk.ranks(Tensor(), axes="layer,sample,head")["layer"].max(), 1)

    def test_wrong_axes(self):
        a = attention_like(2, 3, 4, 4)
        for axes in ("sample", "sample,sample", "sample,token", "sample,layer,head", ""):
            with self.assertRaisesRegex(ValueError, "axes"):
                mgk.ranks(a, axes=axes)
        with self.assertRaisesRegex(ValueError, "layers"):
            mgk.ranks([a, a], axes="layer,head")

    def test_wrong_shapes(self):
        for x in (np.ones(3), np.ones((0, 3, 3)), np.ones((2, 0, 0)), np.ones((2, 0, 3))):
            with self.assertRaises(ValueError):
                mgk.ranks(x, axes="head" if x.ndim == 3 else None)
        with self.assertRaisesRegex(ValueError, "layer 1 has shape"):
            mgk.ranks([np.ones((1, 2, 3, 3)), np.ones((1, 2, 4, 4))])

    def test_wrong_types(self):
        for x in (None, 3, np.eye(3, dtype=int), np.eye(3, dtype=complex), object(), b"path", []):
            with self.assertRaises((TypeError, ValueError)):
                mgk.ranks(x)

    def test_a_dataset(self):
        class Dataset:
            dims = {"sample": 1, "layer": 2}
            data_vars = {}

        for call in (mgk.ranks, mgk.diversity, mgk.singular_values):
            with self.assertRaisesRegex(TypeError, "not a Dataset: pass the variable"):
                call(Dataset())

    def test_half(self):
        a = attention_like(1, 1, 2, 5, 5).astype(np.float16)
        with self.assertRaisesRegex(mgk.Error, "f16, whose rounding"):
            mgk.ranks(a)
        self.assertEqual(len(mgk.ranks(a, allow_half=True)), 2)

    def test_half_beside_wider_layers(self):
        a = attention_like(1, 2, 5, 5)
        with self.assertRaisesRegex(ValueError, "layers of 16 bits and others"):
            mgk.ranks([a, a.astype(np.float16)])
        self.assertEqual(len(mgk.ranks([a, a.astype(np.float32)])), 4)

    def test_labels_that_count_otherwise(self):
        class Labelled:
            dims = ("layer", "head", "query", "key")
            coords = {"layer": np.array([3, 5]), "head": np.array([0, 1])}

            def __array__(self, dtype=None, copy=None):
                return attention_like(2, 2, 5, 5)

        with self.assertWarnsRegex(mgk.Warning, "has layer 3, 5: the table counts from 0"):
            self.assertEqual(sorted(set(mgk.ranks(Labelled())["layer"])), [0, 1])
        Labelled.coords = {"layer": np.array([0, 1])}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            mgk.ranks(Labelled())

    def test_too_many_matrices(self):
        for number in (2**31, 2**32 + 1):
            with self.assertRaisesRegex(ValueError, "matrices: .* is out of range"):
                mgk.ranks(attention_like(1, 1, 2, 5, 5), matrices=number)

    def test_masked_entries(self):
        a = np.ma.array(attention_like(1, 1, 2, 5, 5))
        self.assertEqual(len(mgk.ranks(a)), 2)
        a[0, 0, 0, 1, 2] = np.ma.masked
        with self.assertRaisesRegex(ValueError, "masked entries"):
            mgk.ranks(a)

    def test_bad_entries(self):
        a = attention_like(1, 1, 2, 5, 5)
        a[0, 0, 1, 2, 3] = np.nan
        with self.assertRaisesRegex(mgk.Error, "array: .*nan"):
            mgk.ranks(a)
        a[0, 0, 1, 2] = 0
        with self.assertRaises(mgk.Error):
            mgk.ranks(a)
        self.assertEqual(mgk.ranks(a, allow_zero_rows=True)["zero_rows"].tolist(), [0, 1])


if __name__ == "__main__":
    unittest.main()
