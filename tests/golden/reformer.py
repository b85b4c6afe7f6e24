# SPDX-License-Identifier: MIT
"""Writes tiny reformers of Hugging Face with random weights, and what the reference implementation
computes from them in double precision, to hugging_face/ beside this file. Its versions were
transformers 5.24 and torch 2.15.

    python tests/golden/reformer.py        (needs torch, transformers and safetensors)

The files have the tensors of encoders.py, and those of language models the loss of hugging_face.py.
Each text is run alone: transformers hashes the padding of a batch, too. Matrices are the outputs of
a layer's own code for values that are columns of the identity.
"""

import os
import shutil
from unittest import mock

import torch
import transformers
from safetensors.torch import save_file

from hugging_face import HERE, WORDS, batch, loss_of, scatter

MODULE = transformers.models.reformer.modeling_reformer
SHAPE = dict(vocab_size=WORDS, hidden_size=12, num_attention_heads=3, attention_head_size=5,
             feed_forward_size=20, axial_pos_shape=[4, 6], axial_pos_embds_dim=[4, 8],
             max_position_embeddings=24, pad_token_id=0)


def matrices(own, keywords):
    """[B, H, N, N] of a layer; its values are replaced by columns of the identity."""
    tokens, dim, heads = (keywords["hidden_states"].shape[1], own.attention_head_size,
                          own.num_attention_heads)
    columns = []
    for first in range(0, tokens, dim):
        values = torch.zeros(1, tokens, heads, dim).double()
        for d in range(min(dim, tokens - first)):
            values[:, first + d, :, d] = 1
        with mock.patch.object(own.value, "forward", lambda x, v=values: v.flatten(2)):
            out = type(own).forward(own, **keywords).hidden_states
        columns.append(out.unflatten(-1, (heads, dim)).transpose(1, 2))
    return torch.cat(columns, -1)[..., :tokens]


def observe(model):
    found = []

    def hook(own, inputs, keywords, output):
        matrix = matrices(own, keywords)
        value = own.value(keywords["hidden_states"])
        value = value.unflatten(-1, (own.num_attention_heads, -1)).transpose(1, 2)
        attended = (matrix @ value).transpose(1, 2).flatten(2)
        difference = (attended - output.hidden_states).abs().max()
        assert difference < 1e-12, difference
        found.append(matrix)

    for module in model.modules():
        if isinstance(module, (MODULE.LSHSelfAttention, MODULE.LocalSelfAttention)):
            module.register_forward_hook(hook, with_kwargs=True)
    return found


def run(model, found, ids):
    """The tensors of one text [1, N]."""
    tokens = ids.shape[1]
    found.clear()
    with torch.no_grad():
        body = getattr(model, model.base_model_prefix, model)
        out = body(ids, output_hidden_states=True)
        matrix = torch.stack(found)[..., :tokens, :tokens]
        logits = model(ids).logits if model is not body else None
    return {"attention": matrix, "outputs": torch.stack(out.hidden_states[1:])[:, :, :tokens],
            "hidden": out.last_hidden_state}, logits


def pad(rows, axes):
    """Texts of different lengths, behind each other, with zeros behind their ends."""
    longest = max(row.shape[axes[0]] for row in rows)
    out = []
    for row in rows:
        for axis in axes:
            shape = list(row.shape)
            shape[axis] = longest - row.shape[axis]
            row = torch.cat([row, row.new_zeros(shape)], axis)
        out.append(row)
    return out


def write(name, model, seed, lengths, double):
    """double: saved in float64, in which transformers then draws rotations, else in float32."""
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    scatter(model, seed)
    model = model.double() if double else model
    model.save_pretrained(folder)
    config = os.path.join(folder, "generation_config.json")
    if os.path.exists(config):
        os.remove(config)
    model = model.double().eval()
    found = observe(model)
    ids, mask = batch(seed + 1, lengths)
    draw = torch.randn

    def randn(shape, device=None, dtype=None):
        return draw(shape, dtype=torch.double if double else torch.float).double()

    parts, loss = [], torch.zeros(2).double()
    with mock.patch.object(MODULE.torch, "randn", randn):
        for row, length in zip(ids, lengths):
            one, logits = run(model, found, row[None, :length])
            parts.append(one)
            if logits is not None and model.config.is_decoder:
                text = row[None, :length]
                loss += loss_of(logits, text, torch.ones_like(text))
    expected = {
        "ids": torch.where(mask == 1, ids, -1),
        "attention": torch.cat(pad([part["attention"] for part in parts], [3, 4]), 1),
        "outputs": torch.cat(pad([part["outputs"] for part in parts], [2]), 1),
        "hidden": torch.cat(pad([part["hidden"] for part in parts], [1]), 0),
    }
    if model.config.is_decoder:
        expected["loss"] = loss
    save_file({name: value.double().contiguous() for name, value in expected.items()},
              os.path.join(folder, "expected.safetensors"))


def main():
    decoder = transformers.ReformerConfig(is_decoder=True, attn_layers=["local", "lsh", "lsh"],
                                          local_attn_chunk_length=2, lsh_attn_chunk_length=4,
                                          num_buckets=4, num_hashes=2, hash_seed=5, **SHAPE)
    write("reformer", transformers.ReformerModelWithLMHead(decoder), 81, [19, 11, 3], True)
    # Fewer than 16 numbers of rotations, which torch draws in another way.
    few = transformers.ReformerConfig(attn_layers=["lsh", "lsh"], lsh_attn_chunk_length=3,
                                      num_buckets=2, num_hashes=1, hash_seed=11, hidden_act="gelu",
                                      axial_pos_embds=False,
                                      **{**SHAPE, "num_attention_heads": 2})
    write("reformer-few", transformers.ReformerModel(few), 82, [14, 9, 1], False)
    encoder = transformers.ReformerConfig(attn_layers=["lsh", "lsh"], lsh_attn_chunk_length=4,
                                          num_buckets=[6], num_hashes=3, hash_seed=7, **SHAPE)
    write("reformer-encoder", transformers.ReformerForMaskedLM(encoder), 83, [18, 7, 2], False)
    # As the published models: factors of buckets, and hashing after local layers of half its chunks.
    factored = transformers.ReformerConfig(is_decoder=True, attn_layers=["local", "local", "lsh"],
                                           local_attn_chunk_length=1, lsh_attn_chunk_length=2,
                                           num_buckets=[4, 2], num_hashes=2, hash_seed=3, **SHAPE)
    write("reformer-factored", transformers.ReformerModelWithLMHead(factored), 84, [17, 10], False)
    ring = transformers.ReformerConfig(attn_layers=["local", "lsh", "local"],
                                       local_attn_chunk_length=4, lsh_attn_chunk_length=4,
                                       num_buckets=4, num_hashes=2, hash_seed=9, **SHAPE)
    write("reformer-ring", transformers.ReformerModel(ring), 85, [18, 7, 5, 3], False)


if __name__ == "__main__":
    main()
