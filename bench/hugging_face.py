# SPDX-License-Identifier: MIT
"""A user's code with transformers: a model, its attention, a file. Runs in its own process.

    python hugging_face.py dump MODEL IDS OUTPUT THREADS PRECISION     all matrices, to HDF5
    python hugging_face.py first MODEL IDS THREADS                     loading, and one matrix

IDS is a .npy with one sequence per row. Prints JSON: seconds of each part, and the memory of the
imports alone.
"""

import json
import os
import resource
import sys
import time

BATCH_TOKENS = 2048  # of a batch in PyTorch, as in mgk-dump


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def load(path, precision):
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers.AutoModel.from_pretrained(
        path, attn_implementation="eager",
        dtype=torch.float64 if precision == "double" else torch.float32).eval()


def attentions(model, ids):
    import torch

    with torch.no_grad():
        return model(torch.tensor(ids).long(), output_attentions=True).attentions


def dump(path, ids, output, precision):
    """All matrices of all sequences, one batch at a time."""
    import h5py
    import numpy as np
    import torch

    ids = np.load(ids)
    count, n = ids.shape
    batch = max(1, BATCH_TOKENS // n)
    start = time.perf_counter()
    model = load(path, precision)
    loaded = time.perf_counter() - start
    config = model.config
    with h5py.File(output, "w") as file:
        data = file.create_dataset(
            "attention",
            (count, config.num_hidden_layers, config.num_attention_heads, n, n),
            "f8" if precision == "double" else "f4")
        for first in range(0, count, batch):
            matrices = attentions(model, ids[first : first + batch])
            data[first : first + batch] = torch.stack(matrices, 1).numpy()
    seconds = time.perf_counter() - start
    with open(output, "rb") as file:
        os.fsync(file.fileno())
    return {"loaded": loaded, "seconds": seconds, "synced": time.perf_counter() - start}


def first_matrix(path, ids):
    import numpy as np

    start = time.perf_counter()
    model = load(path, "single")
    loaded = time.perf_counter() - start
    matrix = attentions(model, np.load(ids)[:1])[0][0, 0]
    assert abs(float(matrix[0].sum()) - 1) < 1e-4
    return {"loaded": loaded, "seconds": time.perf_counter() - start}


def main():
    begun = time.perf_counter()
    import h5py  # noqa: F401, its import belongs to the others
    import torch
    import transformers  # noqa: F401
    import transformers.models.bert.modeling_bert  # noqa: F401, loaded lazily otherwise

    imports = time.perf_counter() - begun
    imported = peak()
    task, model, ids, *rest = sys.argv[1:]
    if task == "dump":
        output, threads, precision = rest
        torch.set_num_threads(int(threads))
        result = dump(model, ids, output, precision)
    else:
        torch.set_num_threads(int(rest[0]))
        result = first_matrix(model, ids)
    print(json.dumps(dict(result, imports=imports, imported=imported, peak=peak())))


if __name__ == "__main__":
    main()
