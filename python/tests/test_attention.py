# SPDX-License-Identifier: MIT
"""Attention of texts, against mgk-dump and against itself."""

import gc
import json
import multiprocessing
import os
import shutil
import struct
import tempfile
import threading
import unittest
import warnings

import mgk
import numpy as np
from support import BERT, MODEL, T5, TEXTS, TOP, ranks_of


class Attention(unittest.TestCase):
    def test_rows(self):
        a, lengths = mgk.attention(MODEL, TEXTS, return_lengths=True)
        self.assertEqual(a.shape, (2, 6, 4, 23, 23))
        self.assertEqual(a.dtype, np.float32)
        self.assertEqual(lengths.tolist(), [23, 5])
        np.testing.assert_allclose(a[0].sum(-1), 1, atol=1e-5)
        np.testing.assert_allclose(a[1, :, :, :5].sum(-1), 1, atol=1e-5)
        self.assertFalse(a[1, :, :, 5:].any() or a[1, :, :, :, 5:].any())
        self.assertFalse(np.triu(a, 1).any())

    def test_choices(self):
        whole = mgk.attention(MODEL, TEXTS[0], precision="double")
        self.assertEqual(whole.dtype, np.float64)
        part = mgk.attention(MODEL, TEXTS[0], precision="double", layers=[4, 1], heads=2)
        np.testing.assert_array_equal(part, whole[:, [4, 1], 2:3])
        part = mgk.attention(MODEL, TEXTS[0], precision="double", layers=[4, 0, 1], heads=[3, 0])
        np.testing.assert_array_equal(part, whole[:, [4, 0, 1]][:, :, [3, 0]])
        with mgk.Model(MODEL, precision="double") as model:
            (sample,) = model.samples(TEXTS[0], layers=[1, 0])
        np.testing.assert_array_equal(sample.attention, whole[0, [1, 0]])
        for repeated in ({"layers": [0, 0]}, {"heads": [1, 2, 1]}):
            with self.assertRaisesRegex(ValueError, "repeated"):
                mgk.attention(MODEL, TEXTS[0], **repeated)
            with self.assertRaisesRegex(ValueError, "repeated"):
                mgk.dump(MODEL, TEXTS[0], "repeated.h5", **repeated)
        for call in (mgk.ranks, mgk.diversity):
            with self.assertRaisesRegex(ValueError, "layers: a number is repeated"):
                call(MODEL, TEXTS[0], layers=[1, 2, 1])
        for call in (
            mgk.attention,
            mgk.ranks,
            lambda model, texts, length: mgk.dump(model, texts, "long.h5", length=length),
            lambda model, texts, length: list(mgk.Model(model).samples(texts, length=length)),
        ):
            with self.assertRaisesRegex(mgk.Error, "length 257: the model has 256 positions"):
                call(MODEL, TEXTS[0], length=257)
        short = mgk.attention(MODEL, TEXTS[0], precision="double", length=7)
        np.testing.assert_allclose(short, whole[..., :7, :7], atol=1e-12)

    def test_iterator(self):
        with mgk.Model(MODEL) as model:
            samples = list(model.samples(TEXTS))
            together = model.attention(TEXTS)
        for s, sample in enumerate(samples):
            n = sample.tokens.size
            self.assertEqual(sample.tokens.tolist(), list(TEXTS[s].encode()))
            np.testing.assert_array_equal(together[s, :, :, :n, :n], sample.attention)

    def test_ids(self):
        ids = np.full((2, 23), -1)
        for row, text in zip(ids, TEXTS):
            row[: len(text)] = list(text.encode())
        np.testing.assert_array_equal(mgk.attention(MODEL, ids), mgk.attention(MODEL, TEXTS))

    def test_padding_of_ids(self):
        """A mask, -1 and the model's own padding leave the same tokens."""
        left = np.array([[0, 0, 5, 6, 7]])
        expected = mgk.attention(BERT, [[5, 6, 7]])
        mask = (left != 0).astype(int)
        np.testing.assert_array_equal(mgk.attention(BERT, left, attention_mask=mask), expected)
        np.testing.assert_array_equal(mgk.attention(BERT, [[5, 6, 7, 0, 0]]), expected)
        np.testing.assert_array_equal(mgk.attention(BERT, [[5, 6, 7, -1]]), expected)
        ranks = mgk.ranks(BERT, left, attention_mask=mask)
        self.assertEqual(set(ranks["n"]), {3})
        encoding = {"input_ids": left, "attention_mask": mask}
        np.testing.assert_array_equal(mgk.attention(BERT, encoding), expected)
        for wrong in ([[1, 1]], [1, 1, 1, 1, 1]):
            with self.assertRaisesRegex(ValueError, "attention_mask"):
                mgk.attention(BERT, left, attention_mask=wrong)
        with self.assertRaisesRegex(ValueError, "attention_mask"):
            mgk.attention(MODEL, TEXTS, attention_mask=mask)

    def warnings_of(self, call):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            result = call()
        return result, " ".join(str(w.message) for w in seen)

    def check_padding(self, model, ids, expected, note, **how):
        """Attention and ranks leave out the same padding, and say the same."""
        expected, _ = self.warnings_of(
            lambda: mgk.attention(model, [expected], attention_mask=[[1] * len(expected)])
        )
        found, said = self.warnings_of(lambda: mgk.attention(model, [ids], **how))
        np.testing.assert_array_equal(found, expected)
        table, said_too = self.warnings_of(lambda: mgk.ranks(model, [ids], **how))
        self.assertEqual(set(table["n"]), {expected.shape[-1]})
        for text in (said, said_too):
            self.assertIn(note, text)
            self.assertEqual(bool(note), bool(text))

    def test_padding_of_causal_models(self):
        model = os.path.join(TOP, "tests", "golden", "decoders", "mistral")
        self.check_padding(model, [0, 0, 5, 6, 0], [5, 6], "begins with padding, 0, which is left")
        self.check_padding(model, [5, 6, 7], [5, 6, 7], "")
        self.check_padding(model, [0, 5, 0], [0, 5, 0], "", attention_mask=[[1, 1, 1]])
        self.check_padding(BERT, [0, 5, 6, 0], [0, 5, 6], "read as tokens")

    def test_padding_that_ends_texts(self):
        """An id that pads and ends texts is left out at the end, unless a mask or -1 tell."""
        model = os.path.join(TOP, "tests", "golden", "decoders", "mistral")
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(model, folder, dirs_exist_ok=True)
            with open(os.path.join(folder, "config.json"), "r+", encoding="utf-8") as file:
                config = json.load(file)
                file.seek(0)
                json.dump({**config, "eos_token_id": [2, config["pad_token_id"]]}, file)
                file.truncate()
            note = "ends with 0, which pads texts and also begins or ends them"
            self.check_padding(folder, [0, 5, 6, 0], [0, 5, 6], note)
            self.check_padding(folder, [5, 6, 7], [5, 6, 7], "")
            self.check_padding(folder, [5, 6, 0], [5, 6, 0], "", attention_mask=[[1, 1, 1]])
            self.check_padding(folder, [5, 6, 0, -1], [5, 6, 0], "")

    def test_masks_that_are_none(self):
        ids = [[5, 6, 7, 8], [5, 6, 7, 8]]
        ones = [1, 1, 1, 1]
        for row, message in (
            ([0.0, 0.0, -1e9, -1e9], "1 for tokens"),
            ([1, 2, 1, 1], "1 for tokens"),
            ([1, 1, 1, np.nan], "1 for tokens"),
            ([1, 0, 1, 1], "sample 1 has padding between"),
            ([0, 0, 0, 0], "sample 1 has no tokens"),
            ([1, 1, 1], "as many numbers"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                mgk.attention(BERT, ids, attention_mask=[ones, row])
        ragged = [[5, 6, 7], [5, 6]]
        np.testing.assert_array_equal(
            mgk.attention(BERT, ragged, attention_mask=[[0, 1, 1], [1.0, 1.0]]),
            mgk.attention(BERT, [[6, 7], [5, 6]]),
        )
        with self.assertRaisesRegex(ValueError, "as many numbers"):
            mgk.attention(BERT, ragged, attention_mask=[[1, 1, 1], [1, 1, 0]])

    def test_golden(self):
        """The attention that transformers computes for a tiny BERT."""
        with open(os.path.join(BERT, "expected.safetensors"), "rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            header, data = json.loads(file.read(size)), file.read()
        kinds = {"F64": np.float64, "I64": np.int64, "I32": np.int32, "F32": np.float32}
        values = {
            name: np.frombuffer(data[slice(*about["data_offsets"])], kinds[about["dtype"]]).reshape(
                about["shape"]
            )
            for name, about in header.items()
            if name != "__metadata__"
        }
        expected = values["attention"].swapaxes(0, 1)  # [S, L, H, N, N]
        ids = values["ids"].astype(np.int64)
        a, lengths = mgk.attention(BERT, ids, precision="double", return_lengths=True)
        np.testing.assert_array_equal(lengths, (ids >= 0).sum(1))
        for s, n in enumerate(lengths):
            np.testing.assert_allclose(
                a[s, :, :, :n, :n], expected[s, :, :, :n, :n], rtol=0, atol=1e-10
            )

    def test_model(self):
        model = mgk.Model(MODEL)
        self.assertEqual((model.layers, model.heads, model.kind), (6, 4, "mgk"))
        self.assertEqual(model.token_texts(model.tokenize("a\n")), ["a", "\\n"])
        self.assertIn("6 layers", repr(model))
        model.close()
        model.close()
        for use in (
            lambda: model.tokenize("text"),
            lambda: model.token_texts([1]),
            lambda: model.attention("text"),
            lambda: mgk.attention(model, [[1, 2]]),
            lambda: list(model.samples("text")),
        ):
            with self.assertRaisesRegex(ValueError, "the model is closed: open it again"):
                use()
        for call in (mgk.ranks, mgk.diversity):
            with self.assertRaisesRegex(TypeError, "no matrices without texts"):
                call(model)

    def test_threads_share_a_model(self):
        """Each thread gets the attention of its own texts, also of a source of its own."""
        t5 = os.path.join(TOP, "tests", "golden", "hugging_face", "t5")
        sources = [[[5, 6, 7] * n] for n in (1, 2, 3, 4)]
        targets = [[[8, 9] * n] for n in (1, 5, 2, 3)]
        model = mgk.Model(t5, part="cross", device="cpu", threads=1)
        expected = [model.attention(s, targets=t) for s, t in zip(sources, targets)]
        same = []

        def run(i):
            for _ in range(50):
                a = model.attention(sources[i], targets=targets[i])
                same.append(np.array_equal(a, expected[i]))

        threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(same, [True] * 200)

    def test_forks_have_threads_of_their_own(self):
        expected = mgk.attention(MODEL, TEXTS)
        with multiprocessing.get_context("fork").Pool(1) as pool:
            found = pool.apply_async(mgk.attention, (MODEL, TEXTS)).get(60)
        np.testing.assert_array_equal(found, expected)

    def test_memory_is_released(self):
        def resident():
            gc.collect()
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1])

        for _ in range(3):
            mgk.attention(MODEL, TEXTS[1])
        before = resident()
        for _ in range(20):
            mgk.attention(MODEL, TEXTS[1])
        self.assertLess(resident() - before, 5000)  # pages; 20 models have 14,000

    def test_texts_that_are_cut(self):
        with self.assertWarnsRegex(mgk.Warning, "1 of 2 texts .* cut to 6 tokens"):
            mgk.attention(MODEL, TEXTS, length=6)

    def test_a_file_is_not_a_text(self):
        with open("a-text.txt", "w") as file:
            file.write("text")
        with self.assertWarnsRegex(mgk.Warning, "'a-text.txt' is a file, but is read as a text"):
            a = mgk.attention(MODEL, "a-text.txt")
        self.assertEqual(a.shape[-1], len("a-text.txt"))


class Dump(unittest.TestCase):
    def test_a_store_has_the_same_matrices(self):
        mgk.dump(MODEL, TEXTS, "dump.h5", precision="double", layers=[2, 5], force=True)
        stored = mgk.ranks("dump.h5")
        a, lengths = mgk.attention(
            MODEL, TEXTS, precision="double", layers=[2, 5], return_lengths=True
        )
        table = mgk.ranks(a, lengths=lengths)
        self.assertEqual(sorted(set(stored["layer"])), [2, 5])
        for name in ("sample", "head", "n", "rank"):
            np.testing.assert_array_equal(stored[name], table[name])
        np.testing.assert_allclose(stored["sigma_max"], table["sigma_max"], rtol=1e-9)
        with self.assertRaises(mgk.Error) as caught:
            mgk.dump(MODEL, TEXTS, "dump.h5")
        self.assertEqual(caught.exception.status, mgk.Status.EXISTS)

    def test_another_kind(self):
        ids = [[2, 9, 11, 5, 3], [2, 7, 3]]
        run = {"run_as": "performer", "settings": {"features": 8, "feature_draw": "iid"}}
        mgk.dump(BERT, ids, "performer.h5", force=True, seed=3, **run)
        self.assertIn("output_error", str(mgk.describe("performer.h5")))
        table = mgk.ranks(BERT, ids, seed=3, **run)
        np.testing.assert_array_equal(mgk.ranks("performer.h5")["rank"], table["rank"])
        self.assertEqual(table.settings["run"]["run_as"]["features"], 8)
        self.assertLess(mgk.diversity("performer.h5")["value"].size, 10**6)
        with self.assertRaisesRegex(ValueError, "settings: 'feature' is not one of"):
            mgk.ranks(BERT, ids, run_as="performer", settings={"feature": 8})
        with self.assertRaisesRegex(mgk.Error, 'expected "softmax"'):
            mgk.ranks(MODEL, TEXTS, **run)

    def test_another_kind_in_memory(self):
        ids = [[2, 9, 11, 5, 3], [2, 7, 3]]
        run = {"run_as": "performer", "settings": {"features": 8}, "seed": 3}
        plain, performer = mgk.attention(BERT, ids), mgk.attention(BERT, ids, **run)
        mgk.dump(BERT, ids, "performer.h5", force=True, **run)
        with mgk.open("performer.h5") as store:
            np.testing.assert_allclose(performer, store.attention.values, atol=1e-6)
        self.assertGreater(abs(performer - plain).max(), 1e-3)
        other = mgk.attention(BERT, ids, **{**run, "seed": 4})
        self.assertGreater(abs(performer - other).max(), 1e-3)
        with mgk.Model(BERT, **run) as model:
            self.assertEqual(model.kind, "performer")
            np.testing.assert_array_equal(model.attention(ids), performer)
            ranks = mgk.ranks(model, ids)
            np.testing.assert_array_equal(ranks["rank"], mgk.ranks(BERT, ids, **run)["rank"])
            self.assertEqual(ranks.settings["run"]["run_as"]["features"], 8)
            for wrong in ({"run_as": "band"}, {"settings": {"features": 4}}, {"seed": 5}):
                with self.assertRaisesRegex(ValueError, "keeps its own"):
                    mgk.ranks(model, ids, **wrong)
            with self.assertRaisesRegex(ValueError, "run_as: a Model has its own"):
                mgk.attention(model, ids, run_as="band")
        with self.assertRaisesRegex(mgk.Error, "without .run_as"):
            mgk.Model(BERT, settings={"features": 8})

    def test_objects(self):
        mgk.dump(MODEL, TEXTS, "dump.h5", save=["keys", "weights"], force=True)
        told = str(mgk.describe("dump.h5"))
        self.assertIn("key_weights", told)
        self.assertNotIn("queries", told)
        with self.assertRaisesRegex(ValueError, "save"):
            mgk.dump(MODEL, TEXTS, "dump.h5", save="everything")


class Targets(unittest.TestCase):
    """What a decoder writes, as token ids."""

    SOURCES = [[5, 6, 7, 1], [8, 1]]
    LABELS = [[9, 4, 1], [3, 2, 6, 11, 1]]

    def test_parts(self):
        shapes = {"encoder": (4, 4), "decoder": (5, 5), "cross": (5, 4)}
        for part, shape in shapes.items():
            how = {} if part == "encoder" else {"targets": self.LABELS}
            a = mgk.attention(T5, self.SOURCES, part=part, **how)
            self.assertEqual(a.shape[-2:], shape)
            self.assertEqual(a.shape[0], 2)
            ranks = mgk.ranks(T5, self.SOURCES, part=part, **how)
            valid = [(3, 4), (5, 2)] if part == "cross" else [(n, n) for n in ranks["n"][[0, -1]]]
            expected = [ranks_of(a[s, :, :, :q, :k]) for s, (q, k) in enumerate(valid)]
            np.testing.assert_array_equal(ranks["rank"], np.ravel(expected))

    def test_labels_of_transformers(self):
        labels = np.full((2, 6), -100)
        for row, ids in zip(labels, self.LABELS):
            row[: len(ids)] = ids
        expected = mgk.attention(T5, self.SOURCES, part="cross", targets=self.LABELS)
        a = mgk.attention(T5, self.SOURCES, part="cross", targets=labels)
        np.testing.assert_array_equal(a, expected)
        tables = [
            mgk.ranks(T5, self.SOURCES, part="cross", targets=t) for t in (labels, self.LABELS)
        ]
        np.testing.assert_array_equal(tables[0]["sigma_max"], tables[1]["sigma_max"])

    def test_a_start_that_stands_there(self):
        begun = [[0, *ids] for ids in self.LABELS]
        expected = mgk.attention(T5, self.SOURCES, part="cross", targets=self.LABELS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mgk.Warning)
            a = mgk.attention(T5, self.SOURCES, part="cross", targets=begun)
        np.testing.assert_array_equal(a, expected)

    def test_refused(self):
        for targets, error, message in (
            (None, ValueError, "needs targets"),
            (self.LABELS[:1], ValueError, "1 for 2 texts"),
            (["a", "b"], TypeError, "token ids for ids"),
            ([[5], []], ValueError, "targets: number 1 has no tokens"),
            ([[5], [10**6]], mgk.Error, "token id 1000000"),
        ):
            with self.assertRaisesRegex(error, message):
                mgk.attention(T5, self.SOURCES, part="cross", targets=targets)
        with self.assertRaisesRegex(ValueError, "targets"):
            mgk.attention(T5, self.SOURCES, targets=self.LABELS)


class Refusals(unittest.TestCase):
    def test_types(self):
        for texts in (None, 3, np.array(5), b"text", [b"text"], [1.5], [["a", "b"]], [None]):
            with self.assertRaises(TypeError):
                mgk.attention(MODEL, texts)
        for texts in ([], [[]], [""], ["text", ""]):
            with self.assertRaises(ValueError):
                mgk.attention(MODEL, texts)

    def test_options(self):
        for how in ({"layers": 6}, {"heads": -1}, {"device": "tpu"}, {"threads": -1}):
            with self.assertRaises(mgk.Error):
                mgk.attention(MODEL, TEXTS, **how)
        for how in (
            {"layers": "all"},
            {"threads": "two"},
            {"device": 3},
            {"length": 1.5},
            {"progress": 3},
        ):
            with self.assertRaises(TypeError):
                mgk.attention(MODEL, TEXTS, **how)
        for how in (
            {"precision": "half"},
            {"layers": []},
            {"threads": 1 << 40},
            {"length": -1},
            {"length": 0},
        ):
            with self.assertRaises(ValueError):
                mgk.attention(MODEL, TEXTS, **how)

    def test_tokens(self):
        for ids in ([[256]], [[1, -1, 1]]):
            with self.assertRaisesRegex(mgk.Error, "token id"):
                mgk.attention(MODEL, ids)
        for ids in ([[-2]], [[(1 << 32) + 65]]):
            with self.assertRaisesRegex(ValueError, "token id"):
                mgk.attention(MODEL, ids)
        with self.assertRaisesRegex(TypeError, "token ids"):
            mgk.attention(MODEL, {"text": "a"})

    def test_models(self):
        for path in ("missing.safetensors", os.path.join(TOP, "README.md"), "."):
            with self.assertRaises(mgk.Error):
                mgk.attention(path, TEXTS)
        for path in (None, 3, b"model"):
            with self.assertRaises(TypeError):
                mgk.attention(path, TEXTS)

    def test_errors(self):
        with self.assertRaises(mgk.Error) as caught:
            mgk.Model("missing.safetensors")
        self.assertEqual(caught.exception.status, mgk.Status.IO)
        self.assertIn("missing.safetensors", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
