# SPDX-License-Identifier: MIT
"""Tensors of torch; skipped where it is missing."""

import unittest

import mgk
import numpy as np
from mgk import _arrays
from support import attention_like, ranks_of

try:
    import torch
except ImportError:
    torch = None


@unittest.skipIf(torch is None, "torch is missing")
class Tensors(unittest.TestCase):
    def setUp(self):
        self.a = attention_like(2, 3, 4, 7, 7)
        self.expected = ranks_of(self.a)

    def test_outputs_of_a_model(self):
        attentions = tuple(torch.tensor(self.a[:, l], requires_grad=True) for l in range(3))
        mask = torch.ones(2, 7, dtype=torch.int64)
        table = mgk.ranks(attentions, attention_mask=mask)
        np.testing.assert_array_equal(table["rank"], self.expected.ravel())

    def test_no_copies(self):
        for dtype in (torch.float32, torch.float64):
            tensor = torch.tensor(self.a, dtype=dtype)
            array = _arrays.matrices(tensor.permute(1, 0, 2, 3, 4), axes="layer,sample,head")
            self.assertEqual(array.layers[0], tensor.data_ptr())
            self.assertEqual(array.layers[1], tensor[:, 1].data_ptr())

    def test_half(self):
        for dtype in (torch.float16, torch.bfloat16):
            tensor = torch.tensor(self.a, dtype=dtype)
            with self.assertRaisesRegex(mgk.Error, "f16, whose rounding"):
                mgk.ranks(tensor, axes="sample,layer,head")
            exact = mgk.diversity(tensor.double().numpy(), axes="sample,layer,head", measures="js")
            same = mgk.diversity(tensor, axes="sample,layer,head", measures="js")
            np.testing.assert_array_equal(same["value"], exact["value"])
            table = mgk.ranks(tensor, allow_half=True, axes="sample,layer,head")
            self.assertEqual(len(table), 24)

    def test_bits_of_half(self):
        """They are those of torch, whatever the strides."""
        for dtype in (torch.float16, torch.bfloat16):
            tensor = torch.tensor(self.a).to(dtype).transpose(-1, -2)
            table = mgk.ranks(tensor, allow_half=True, axes="sample,layer,head", threshold=0.05)
            expected = ranks_of(tensor.double().numpy(), 0.05)
            np.testing.assert_array_equal(table["rank"], expected.ravel())
            values = mgk.singular_values(tensor)
            np.testing.assert_allclose(
                values, np.linalg.svd(tensor.double().numpy(), compute_uv=False), atol=1e-12
            )

    def test_hidden_states_of_half(self):
        a = torch.tensor(self.a).unbind(1)
        states = torch.randn(3, 2, 7, 8).bfloat16()
        how = {"measures": "token_cosine"}
        exact = mgk.diversity(a, hidden_states=states.float(), **how)["value"]
        for given in states, list(states):
            np.testing.assert_array_equal(
                mgk.diversity(a, hidden_states=given, **how)["value"], exact
            )

    def test_stacked_layers(self):
        """They are not taken for samples."""
        stacked = torch.stack([torch.tensor(self.a[:, l]) for l in range(3)])
        with self.assertRaisesRegex(ValueError, "'sample,layer,head' or 'layer,sample,head'"):
            mgk.ranks(stacked)
        table = mgk.ranks(stacked, axes="layer,sample,head")
        np.testing.assert_array_equal(table["rank"], self.expected.ravel())

    def test_singular_values(self):
        tensor = torch.tensor(self.a)
        expected = torch.linalg.svdvals(tensor).numpy()
        np.testing.assert_allclose(mgk.singular_values(tensor), expected, rtol=0, atol=1e-13)


if __name__ == "__main__":
    unittest.main()
