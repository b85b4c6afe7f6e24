# SPDX-License-Identifier: MIT
"""Models of other software: mgk-dump against transformers and h5py, on a random BERT of usual size.

Two measurements, mgk and PyTorch alternately: from the command to the first matrix of a 400 MB
safetensors file, and the export of 16 samples of 512 tokens, all layers and heads. PyTorch's time
excludes its imports unless stated; mgk-dump's time includes its start and the hash of the model's
file, which it writes into the store.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import measure

THREADS = 2


SAMPLES, TOKENS = {False: 16, True: 2}, {False: 512, True: 64}


def random_bert(folder, quick):
    """A checkpoint of BERT-base's shape: 12 layers, 12 heads, 438 MB. Made in its own process,
    because this process's memory would count as the peak of its children."""
    import numpy as np
    import torch
    import transformers

    torch.manual_seed(1)
    sizes = dict(num_hidden_layers=2, hidden_size=48, intermediate_size=96) if quick else {}
    config = transformers.BertConfig(initializer_range=0.1, **sizes)
    transformers.BertModel(config).save_pretrained(folder)
    shape = SAMPLES[quick], TOKENS[quick]
    ids = np.random.default_rng(1).integers(1000, config.vocab_size, shape)
    np.save(folder / "ids.npy", ids.astype(np.int32))
    np.save(folder / "one.npy", ids[:1, :8].astype(np.int32))


def settle(output):
    output.unlink(missing_ok=True)
    os.sync()


def ours(a, folder, output, ids, *options):
    settle(output)
    seconds, peak, _, _ = measure.run(a.programs / "mgk-dump", folder, "--tokens", folder / ids,
                                      "--threads", THREADS, "--quiet", "-o", output, *options)
    return {"seconds": seconds, "whole": seconds, "synced": seconds, "peak": peak}


def theirs(folder, task, ids, *rest):
    seconds, _, text, _ = measure.run(
        sys.executable, Path(__file__).with_name("hugging_face.py"), task, folder, folder / ids,
        *rest, OMP_NUM_THREADS=str(THREADS), PYTHONDONTWRITEBYTECODE="1")
    result = json.loads(text)
    return dict(result, whole=seconds, synced=result.get("synced", result["seconds"]))


def their_dump(folder, output, ids):
    settle(output)
    return theirs(folder, "dump", ids, output, THREADS, "single")


def row(name, results):
    def column(side, key):
        return measure.spread([result[key] for result in results[side]])

    seconds, noise = column("ours", "seconds")
    usual, their_noise = column("theirs", "seconds")
    synced, whole = column("theirs", "synced")[0], column("theirs", "whole")[0]
    peak, their_peak = column("ours", "peak")[0], column("theirs", "peak")[0]
    imported = column("theirs", "imported")[0]
    return (name, f"{seconds:.2f} ± {noise:.0%}", f"{usual:.2f} ± {their_noise:.0%}",
            f"{synced:.2f}", f"{whole:.2f}", f"{usual / seconds:.2f}", f"{whole / seconds:.2f}",
            f"{peak / 1e6:.0f}", f"{their_peak / 1e6:.0f} ({imported / 1e6:.0f})",
            f"{peak / their_peak:.2f}")


def main():
    if sys.argv[1:2] == ["--make"]:
        random_bert(Path(sys.argv[2]), sys.argv[3] == "True")
        return
    a = measure.parse(measure.arguments(__doc__))
    with tempfile.TemporaryDirectory(dir=a.folder) as name:
        folder, output = Path(name), Path(name) / "attention.h5"
        samples, tokens = SAMPLES[a.quick], TOKENS[a.quick]
        measure.run(sys.executable, __file__, "--make", folder, a.quick)
        megabytes = (folder / "model.safetensors").stat().st_size / 1e6
        first = measure.interleave({
            "ours": lambda: ours(a, folder, output, "one.npy", "--samples", 1, "--length", 8,
                                 "--layers", 0, "--heads", 0),
            "theirs": lambda: theirs(folder, "first", "one.npy", THREADS),
        }, a.repetitions)
        dump = measure.interleave({
            "ours": lambda: ours(a, folder, output, "ids.npy", "--samples", samples),
            "theirs": lambda: their_dump(folder, output, "ids.npy"),
        }, a.repetitions)
    print(f"A checkpoint of {megabytes:.0f} MB, {THREADS} threads, files in {a.folder}:\n")
    measure.table(("", "mgk-dump, s", "transformers, s", "with fsync, s", "with imports, s",
                   "ratio", "ratio with imports", "mgk-dump peak, MB",
                   "transformers peak, MB (after imports)", "peak ratio"),
                  [row("load, and the first matrix", first),
                   row(f"export of {samples} samples of {tokens} tokens", dump)])


if __name__ == "__main__":
    main()
