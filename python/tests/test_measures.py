# SPDX-License-Identifier: MIT
"""Ranks, measures and singular values against numpy, and against files of the programs."""

import json
import os
import subprocess
import tempfile
import unittest

import mgk
import mgk_toolkit
import numpy as np
from support import MODEL, TEXTS, TOP, attention_like, ranks_of


def program(name, *arguments):
    path = os.path.join(mgk_toolkit.PREFIX, "bin", name)
    subprocess.run([path, *arguments, "--quiet", "--force"], check=True, stdout=subprocess.DEVNULL)


class SingularValues(unittest.TestCase):
    def test_against_numpy(self):
        for shape in ((5, 5), (1, 1), (3, 2, 17, 17), (2, 0, 4, 4)):
            a = attention_like(*shape) if 0 not in shape else np.empty(shape)
            expected = np.linalg.svd(a, compute_uv=False)
            np.testing.assert_allclose(mgk.singular_values(a), expected, rtol=0, atol=1e-14)
            self.assertEqual(mgk.singular_values(a).shape, shape[:-1])

    def test_layouts(self):
        a = attention_like(2, 9, 9)
        expected = np.linalg.svd(a, compute_uv=False)
        for x in (a.swapaxes(1, 2), np.asfortranarray(a), a[::-1][::-1], a.tolist()):
            np.testing.assert_allclose(mgk.singular_values(x), expected, rtol=0, atol=1e-14)

    def test_refusals(self):
        for x in (np.ones(3), np.ones((2, 3)), 1.0):
            with self.assertRaises(ValueError):
                mgk.singular_values(x)
        with self.assertRaises(mgk.Error) as caught:
            mgk.singular_values([[1.0, np.inf], [0.0, 1.0]])
        self.assertEqual(caught.exception.status, mgk.Status.INPUT)


class Tables(unittest.TestCase):
    def setUp(self):
        a, b = (attention_like(3, 2, 4, 7, 7, seed=seed) for seed in (1, 2))
        self.how = {"axes": "sample,layer,head", "measures": "js,entropy"}
        self.both = {"a": a, "b": b}
        self.table = mgk.diversity(self.both, **self.how)

    def test_files(self):
        for ending in "csv", "json":
            self.table.save("table." + ending, force=True)
            with self.assertRaises(FileExistsError):
                self.table.save("table." + ending)
            again = mgk.open("table." + ending)
            self.assertEqual(again.columns, self.table.columns)
            for name in self.table.columns:
                np.testing.assert_array_equal(again[name], self.table[name])
        self.assertEqual(again.settings, self.table.settings)
        ranks = mgk.ranks(self.both["a"], axes="sample,layer,head")
        ranks.save("table.json", force=True)
        np.testing.assert_array_equal(mgk.open("table.json")["rank"], ranks["rank"])
        for ending in "csv", "json":
            mgk.kinds().save("kinds." + ending, force=True)
        with open("kinds.json") as file:
            self.assertEqual(json.load(file)["matrices"][0]["name"], mgk.kinds()["name"][0])
        with self.assertRaisesRegex(ValueError, "ends in .csv or .json"):
            self.table.save("table.h5")

    def test_order_of_rows(self):
        """It is that of the registry in all files."""
        how = {**self.how, "measures": "js,mean_js,gini,entropy,confidence", "compare": True}
        for ending in "csv", "json", "h5":
            table = mgk.diversity(self.both, output="order." + ending, force=True, **how)
            again = mgk.open("order." + ending)
            for name in ("input", "level", "measure", "layer", "head", "other_head"):
                np.testing.assert_array_equal(again[name], table[name])

    def test_rows(self):
        self.assertEqual(len(self.table[:3]), 3)
        self.assertEqual(self.table[:3].settings, self.table.settings)
        np.testing.assert_array_equal(self.table[[1, 0]]["value"], self.table["value"][[1, 0]])
        for wrong in [[0, 1]], 1.5, ["value"]:
            with self.assertRaises((KeyError, TypeError)):
                self.table[np.array(wrong)]
        large = self.table[self.table["value"] > 0.5]
        self.assertTrue(0 < len(large) < len(self.table) and (large["value"] > 0.5).all())

    def test_about_a_measure(self):
        self.assertIn("JS", self.table.about("js")["formula"])
        self.assertIn("formula", self.table.about("value"))
        with self.assertRaises(KeyError):
            self.table.about("cosine")

    def test_pictures_know_settings(self):
        """Tables of two models are drawn as what they are, from memory as from files."""
        self.how["measures"] = "js"
        joined = mgk.diversity(
            self.both, across_models=True, output="joined.h5", force=True, **self.how
        )
        self.assertEqual(mgk.plot("map", joined).png, mgk.plot("map", "joined.h5").png)
        with self.assertRaisesRegex(mgk.Error, "^table-0.json: compares heads across two models"):
            mgk.report(joined)

    def test_tables_hold_means(self):
        with self.assertRaisesRegex(TypeError, "a table has means alone"):
            mgk.diversity([self.table, self.table], compare=True)


class Ranks(unittest.TestCase):
    def test_thresholds(self):
        a = attention_like(2, 1, 3, 12, 12)
        table = mgk.ranks(a, threshold=[1e-6, 0.05, 0.3])
        for threshold in (1e-6, 0.05, 0.3):
            np.testing.assert_array_equal(
                table.where(threshold=threshold)["rank"], ranks_of(a, threshold).ravel()
            )
        self.assertIn("layer 0", table.summary)

    def test_a_model_that_runs_gives_the_same_as_its_array(self):
        a, lengths = mgk.attention(MODEL, TEXTS, return_lengths=True, precision="double")
        stored = mgk.ranks(a, lengths=lengths)
        streamed = mgk.ranks(MODEL, TEXTS, precision="double")
        for name in ("sample", "layer", "head", "n", "rank"):
            np.testing.assert_array_equal(stored[name], streamed[name])
        for name in ("sigma_max", "sigma_min", "effective_rank"):
            np.testing.assert_allclose(stored[name], streamed[name], rtol=1e-9, atol=1e-13)

    def test_ids(self):
        ids = [list(text.encode()) for text in TEXTS]
        for name in ("rank", "sigma_max"):
            np.testing.assert_array_equal(
                mgk.ranks(MODEL, ids)[name], mgk.ranks(MODEL, TEXTS)[name]
            )

    def test_files(self):
        a = attention_like(2, 3, 2, 6, 6)
        np.save("ranks-in.npy", a)
        table = mgk.ranks("ranks-in.npy", output="ranks-out.csv", force=True)
        np.testing.assert_array_equal(table["rank"], ranks_of(a).ravel())
        again = mgk.open("ranks-out.csv")
        np.testing.assert_array_equal(table["sigma_max"], again["sigma_max"])
        with self.assertRaises(mgk.Error) as caught:
            mgk.ranks("ranks-in.npy", output="ranks-out.csv")
        self.assertEqual(caught.exception.status, mgk.Status.EXISTS)

    def test_a_few_are_drawn(self):
        self.assertEqual(len(mgk.ranks(attention_like(5, 2, 3, 4, 4), matrices=6)), 12)


class Diversity(unittest.TestCase):
    def test_against_the_program(self):
        np.save("diversity-in.npy", attention_like(3, 2, 3, 7, 7))
        program("mgk-diversity", "diversity-in.npy", "-o", "diversity-out.csv")
        expected = mgk.open("diversity-out.csv")
        table = mgk.diversity(np.load("diversity-in.npy"))
        self.assertGreater(len(table), 100)
        self.assertEqual(table["measure"].tolist(), expected["measure"].tolist())
        np.testing.assert_allclose(table["value"], expected["value"], rtol=1e-12)

    def test_entropy(self):
        a = attention_like(2, 2, 3, 7, 7)
        expected = -(a * np.log(a)).sum(-1).mean(-1).mean(0)
        table = mgk.diversity(a, measures=["entropy"])
        self.assertEqual(
            set(mgk.diversity(a, measures="entropy, confidence")["measure"].tolist()),
            {"entropy", "confidence"},
        )
        np.testing.assert_allclose(table["value"], expected.ravel(), rtol=1e-13)

    def test_samples(self):
        a = attention_like(2, 2, 3, 7, 7)
        table = mgk.diversity(a, measures="entropy", per_sample=True)
        self.assertEqual(sorted(set(table["sample"])), [0, 1])
        expected = -(a * np.log(a)).sum(-1).mean(-1)
        np.testing.assert_allclose(table.where(sample=1)["value"], expected[1].ravel(), rtol=1e-9)
        means = mgk.diversity(a, measures="entropy")
        self.assertEqual(table.settings["threshold"], means.settings["threshold"])
        with tempfile.TemporaryDirectory() as folder:
            for name in ("t.csv", "t.json"):
                written = mgk.diversity(
                    a, measures="entropy", per_sample=True, output=os.path.join(folder, name)
                )
                np.testing.assert_array_equal(written["sample"], table["sample"])
                np.testing.assert_allclose(written["value"], table["value"], rtol=1e-9)

    def test_rows_by_values(self):
        a = attention_like(2, 2, 3, 7, 7)
        table = mgk.diversity(a, measures="entropy,js")
        for heads in ({0, 2}, {0: 1, 2: 3}.keys(), (head for head in (0, 2)), [0, 2], range(0, 3, 2)):
            self.assertEqual(len(table.where(measure="entropy", head=heads)), 4)

    def test_tables_of_dicts_are_shown(self):
        for text in (str(mgk.kinds()), mgk.kinds()._repr_html_()):
            self.assertIn("softmax", text)

    def test_curves_are_explained(self):
        table = mgk.diversity(MODEL, TEXTS, measures="js", prune=True, prune_held_out=1, layers=[0])
        self.assertIn("loss without the heads", table.about("prune_importance")["formula"])
        self.assertEqual(set(table.where(measure="prune_random")["samples"]), {1})
        self.assertEqual(table.settings["prune_held_out"], 1)

    def test_comparison(self):
        a, b = attention_like(6, 1, 2, 7, 7), attention_like(6, 1, 2, 7, 7, seed=1)
        table = mgk.diversity({"a": a, "b": b}, measures="entropy", compare=True)
        difference = table.where(level="difference")
        entropy = [-(x * np.log(x)).sum(-1).mean() for x in (a, b)]
        np.testing.assert_allclose(difference["value"], entropy[1] - entropy[0], rtol=1e-10)

    def test_heads_of_two(self):
        def entropy(p):
            return -(p * np.log2(p)).sum(-1)

        a, b = attention_like(3, 2, 2, 7, 7), attention_like(3, 1, 2, 7, 7, seed=1)
        table = mgk.diversity({"a": a, "b": b}, measures="js", across_models=True)
        first = table.settings["second_layers_from"]
        self.assertEqual(first, 2)
        between = [r for r in table if r["layer"] < first <= r["other_layer"]]
        self.assertEqual(len(between), 2 * 2 * 2)
        for row in between:
            p, q = a[:, row["layer"], row["head"]], b[:, row["other_layer"] - 2, row["other_head"]]
            js = entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2
            self.assertAlmostEqual(row["value"], js.mean(), delta=1e-12)

    def test_models(self):
        table = mgk.diversity([MODEL, MODEL], TEXTS, measures=["rank"])
        self.assertEqual(len(set(table["input"])), 2)

    def test_unknown_measure(self):
        with self.assertRaisesRegex(mgk.Error, "no measure"):
            mgk.diversity(np.eye(3), measures="entropie")

    def test_kinds(self):
        kinds = mgk.kinds()
        names = list(kinds["name"])
        self.assertLessEqual({"softmax", "mgk", "linear"}, set(names))
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual(kinds["parameters"][names.index("softmax")], {})
        self.assertEqual(kinds["devices"][names.index("softmax")], "cpu cuda")
        for matrix, reason, parameters in zip(
            kinds["matrix"], kinds["reason"], kinds["parameters"]
        ):
            self.assertEqual(matrix, not reason)
            self.assertTrue(all(isinstance(v, (int, str)) for v in parameters.values()))

    def test_measures(self):
        measures = mgk.measures()
        self.assertIn("entropy", measures["name"])
        self.assertEqual(set(measures["level"]), {"head", "pair", "layer"})


class Tables(unittest.TestCase):
    def setUp(self):
        self.table = mgk.ranks(attention_like(1, 1, 3, 90, 90), method="count")

    def test_columns(self):
        self.assertEqual(self.table.columns[:4], ["sample", "layer", "head", "n"])
        self.assertEqual(len(self.table), 3)
        self.assertEqual([row["head"] for row in self.table], [0, 1, 2])
        self.assertEqual(self.table["rank"].dtype, np.int32)
        self.assertEqual(self.table["method"][0], "gram")
        self.assertTrue(np.isnan(self.table["effective_rank"]).all())
        self.assertIn("sigma", self.table.about("rank")["formula"])
        self.assertEqual(self.table.settings["method"], "count")

    def test_html(self):
        text = self.table._repr_html_()
        self.assertIn("<th>rank</th>", text)
        self.assertNotIn("effective_rank", text)
        self.assertEqual(text.count("<tr>"), 4)

    def test_no_such_column(self):
        with self.assertRaisesRegex(KeyError, "no column 'rnk'; there are sample"):
            self.table["rnk"]

    def test_a_file_of_another_kind(self):
        for path in (MODEL, os.path.join(TOP, "README.md"), "missing.csv"):
            with self.assertRaises(mgk.Error):
                mgk.open(path)


if __name__ == "__main__":
    unittest.main()
