# SPDX-License-Identifier: MIT
"""Values, tokens and hidden states beside matrices in memory, against numpy."""

import unittest

import mgk
import numpy as np
from support import attention_like

S, L, H, N, D, C = 2, 3, 4, 9, 5, 7
SHARED = 2  # heads of values


class Context(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(1)
        self.a = tuple(attention_like(S, H, N, N, seed=layer) for layer in range(L))
        self.values = [random.standard_normal((S, SHARED, N, D)) for _ in range(L)]
        self.states = [random.standard_normal((S, N, C)) for _ in range(L + 1)]
        self.ids = random.integers(0, 4, (S, N))

    def outputs(self, layer, head):
        """Of one head [S, N, D]."""
        shared = self.values[layer][:, head * SHARED // H]
        return self.a[layer][:, head] @ shared

    def check_pairs(self, table, measure, expected):
        rows = list(table.where(measure=measure))
        self.assertEqual(len(rows), L * H * (H - 1) // 2)
        for row in rows:
            x = self.outputs(row["layer"], row["head"])
            y = self.outputs(row["layer"], row["other_head"])
            self.assertAlmostEqual(row["value"], expected(x, y), 12)

    def test_outputs(self):
        table = mgk.diversity(
            self.a, values=self.values, measures="output_cosine,cka_output,value_cosine"
        )

        def cosine(x, y):
            x, y = (z / np.linalg.norm(z, axis=-1, keepdims=True) for z in (x, y))
            return (x * y).sum(-1).mean()

        def cka(x, y):
            x, y = (z - z.mean(1, keepdims=True) for z in (x, y))
            norm = lambda p, q: np.linalg.norm(p.swapaxes(1, 2) @ q, axis=(1, 2)) ** 2
            return (norm(x, y) / np.sqrt(norm(x, x) * norm(y, y))).mean()

        self.check_pairs(table, "output_cosine", cosine)
        self.check_pairs(table, "cka_output", cka)
        shared = table.where(measure="value_cosine", head=0, other_head=1)
        np.testing.assert_allclose(shared["value"], 1)  # they have the same values

    def test_one_array_for_all_layers(self):
        a = np.stack(self.a)  # layer, sample, head
        how = {"axes": "layer,sample,head", "measures": "cka_output"}
        expected = mgk.diversity(self.a, values=self.values, measures="cka_output")
        halves = np.stack(self.values).astype(np.float16)
        for values in np.stack(self.values), self.values, halves:
            table = mgk.diversity(a, values=values, **how)
            atol = 1e-3 if values is halves else 0
            np.testing.assert_allclose(table["value"], expected["value"], rtol=1e-14, atol=atol)

    def test_tokens(self):
        mask = np.ones((S, N), int)
        mask[0, :2] = 0  # padding in front
        table = mgk.diversity(
            self.a, attention_mask=mask, tokens=self.ids, measures="duplicate_token"
        )
        valid = [row[2:] if number == 0 else row for number, row in enumerate(self.ids)]
        short = mgk.diversity(self.a, attention_mask=mask, tokens=valid, measures="duplicate_token")
        np.testing.assert_array_equal(short["value"], table["value"])
        for row in table:
            shares = []
            for s, first in ((0, 2), (1, 0)):
                a = self.a[row["layer"]][s, row["head"], first:, first:]
                ids = self.ids[s, first:]
                same = np.tril(ids[:, None] == ids, -1)
                shares.append((a * same).sum() / a.sum())
            self.assertAlmostEqual(row["value"], np.mean(shares), 12)

    def test_hidden_states(self):
        def cosine(layer):
            x = self.states[layer + 1]
            x = x / np.linalg.norm(x, axis=-1, keepdims=True)
            products = x @ x.swapaxes(1, 2)
            return (products.sum((1, 2)) - N).mean() / (N * (N - 1))

        for states in self.states, self.states[1:], np.stack(self.states):
            table = mgk.diversity(self.a, hidden_states=states, measures="token_cosine")
            expected = [cosine(layer) for layer in range(L)]
            np.testing.assert_allclose(table["value"], expected, rtol=1e-12)

    def test_dict(self):
        both = mgk.diversity(
            {"one": self.a, "two": self.a[::-1]},
            values={"one": self.values, "two": self.values[::-1]},
            measures="cka_output",
        )
        one, two = (both.where(input=name) for name in ("one", "two"))
        np.testing.assert_allclose(
            one.where(layer=0)["value"], two.where(layer=L - 1)["value"], rtol=1e-14
        )
        with self.assertRaisesRegex(ValueError, "values: nothing for 'two'"):
            mgk.diversity({"one": self.a, "two": self.a}, values={"one": self.values})

    def test_refusals(self):
        def refused(message, error=ValueError, x=self.a, **how):
            with self.assertRaisesRegex(error, message):
                mgk.diversity(x, **how)

        refused("values: 2 layers, the matrices have 3", values=self.values[:2])
        refused("values: 1 samples of 9", values=[v[:1] for v in self.values])
        refused("values: 3 heads, the matrices have 4", values=[np.ones((S, 3, N, D))] * L)
        refused("hidden_states: 1 layers", hidden_states=self.states[:1])
        refused("tokens: 1 samples", tokens=self.ids[:1])
        refused("tokens: expected ids", TypeError, tokens=self.ids * 0.5)
        refused("tokens: sample 0 has 10 ids for 9 valid", tokens=np.ones((S, N + 1), int))
        refused("sample 1 has ids that int32 does not hold", tokens=self.ids + [[0], [2**32]])
        refused("values: a dict belongs", TypeError, values={"one": self.values})
        refused("of one sequence to another", x=[a[..., :5] for a in self.a], tokens=self.ids)
        refused("tokens: files have none", x="file.h5", tokens=self.ids)
        with self.assertRaisesRegex(mgk.Error, "cka_output.*needs values, which this input lacks$"):
            mgk.diversity(self.a, measures="cka_output")


if __name__ == "__main__":
    unittest.main()
