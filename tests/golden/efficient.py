# SPDX-License-Identifier: MIT
"""Writes tiny encoders of Hugging Face whose attention is of another kind than softmax, with random
weights, and what the reference implementation computes from them in double precision, to
hugging_face/ beside this file. Its versions were transformers 5.24 and torch 2.15.

    python tests/golden/efficient.py        (needs torch, transformers and safetensors)

The files have the tensors of encoders.py. Where transformers gives no matrix of attention, `observe`
computes it from the layer's own queries, keys and values, and checks that it gives the layer's output.
"""

import os
import shutil

import numpy
import torch
import transformers
from safetensors.torch import save_file

from hugging_face import HERE, WORDS, batch, double_throughout, scatter

SHAPE = dict(vocab_size=WORDS, hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
             intermediate_size=20)


def heads(x, count):
    """[B, N, C] to [B, H, N, D]"""
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def nystrom(module, x):
    """The matrix of a Nyströmformer's layer for x [B, N, C], all of it valid."""
    count = module.num_attention_heads
    q, k, v = (heads(map(x), count) for map in (module.query, module.key, module.value))
    tokens, dim = q.shape[-2:]

    def weigh(a, b):
        return (a @ b.transpose(-1, -2) / dim ** 0.5).softmax(-1)

    if module.num_landmarks == module.seq_len:
        matrix = weigh(q, k)
    else:
        q_few, k_few = (t.unflatten(-2, (module.num_landmarks, -1)).mean(-2) for t in (q, k))
        matrix = weigh(q, k_few) @ module.iterative_inv(weigh(q_few, k_few)) @ weigh(q_few, k)
    for tap in range(module.conv_kernel_size):
        shift = tap - module.conv_kernel_size // 2
        if abs(shift) < tokens:
            ones = torch.diag(x.new_ones(tokens - abs(shift)), shift)
            matrix = matrix + module.conv.weight[:, 0, tap, 0, None, None] * ones
    return matrix, v


def observe(model, kind, matrix):
    """Collects matrix(module, x) of all modules of a kind, which must give the module's output."""
    found = []

    def hook(module, inputs, keywords, output):
        x = inputs[0] if inputs else keywords["hidden_states"]
        own, values = matrix(module, x)
        attended = (own @ values).transpose(1, 2).flatten(2)
        difference = (attended - output[0]).abs().max()
        assert difference < 1e-12, difference
        found.append(own)

    for module in model.modules():
        if isinstance(module, kind):
            module.register_forward_hook(hook, with_kwargs=True)
    return found


def save(folder, ids, mask, attention, out):
    valid = mask.double()
    pairs = valid[:, None, :, None] * valid[:, None, None, :]
    expected = {
        "ids": torch.where(mask == 1, ids, -1),
        "attention": torch.stack(attention) * pairs,
        "outputs": torch.stack(out.hidden_states[1:]) * valid[:, :, None],
        "hidden": out.last_hidden_state * valid[:, :, None],
    }
    save_file({name: value.double().contiguous() for name, value in expected.items()},
              os.path.join(folder, "expected.safetensors"))


def begin(name, model, seed):
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    scatter(model, seed)
    model.save_pretrained(folder)
    return folder, getattr(model, model.base_model_prefix, model).double().eval()


def write_nystromformer(name, seed, lengths, **settings):
    """Landmarks need texts of full length: padding is part of them in transformers."""
    module = transformers.models.nystromformer.modeling_nystromformer
    config = transformers.NystromformerConfig(max_position_embeddings=lengths[0], **SHAPE, **settings)
    folder, model = begin(name, transformers.NystromformerForMaskedLM(config), seed)
    kind = module.NystromformerSelfAttention
    for own in model.modules():
        if isinstance(own, kind):
            # The first step of the inverse by each matrix, not by the largest sum of a batch and of
            # all heads, which makes a matrix depend on others. It is transformers' second form.
            own.init_option = "exact"
    ids, mask = batch(seed + 1, lengths)
    found = observe(model, kind, lambda own, x: nystrom(own, x))
    with torch.no_grad(), double_throughout():
        out = model(ids, attention_mask=mask, output_hidden_states=True)
    save(folder, ids, mask, found, out)


def write_big_bird(name, seed, lengths, **settings):
    """With the mask of training: of the model's length, with the blocks that it draws in training."""
    module = transformers.models.big_bird.modeling_big_bird
    config = transformers.BigBirdConfig(max_position_embeddings=max(lengths), hidden_dropout_prob=0,
                                        attention_probs_dropout_prob=0, **SHAPE, **settings)
    folder, model = begin(name, transformers.BigBirdForMaskedLM(config), seed)
    for own in model.modules():
        if isinstance(own, module.BigBirdBlockSparseAttention):
            own.train()  # out of training every random block is block 0
    ids, mask = batch(seed + 1, lengths)
    with torch.no_grad(), double_throughout():
        out = model(ids, attention_mask=mask, output_hidden_states=True, output_attentions=True)
    save(folder, ids, mask, out.attentions, out)


def big_bird_plans():
    """[layers, heads, blocks - 2, random]: the blocks that training draws."""
    module = transformers.models.big_bird.modeling_big_bird
    plans = {}
    for tokens, block, random in [(4096, 64, 3), (3072, 64, 3), (1024, 64, 3), (4096, 128, 2),
                                  (640, 32, 4)]:
        config = transformers.BigBirdConfig(max_position_embeddings=tokens, block_size=block,
                                            num_random_blocks=random)
        own = module.BigBirdBlockSparseAttention(config)
        layers = []
        for layer in range(2):
            numpy.random.seed(layer)
            if tokens in [1024, 3072, 4096]:
                drawn = [own._bigbird_block_rand_mask(tokens, tokens, block, block, random,
                                                      last_idx=1024) for _ in range(2)]
            else:
                drawn = own._bigbird_block_rand_mask_with_head(
                    tokens, tokens, block, block, 2,
                    *own._get_rand_attn_plan(tokens, block, random))
            layers.append(torch.tensor(numpy.stack(drawn)))
        plans[f"{tokens}.{block}.{random}"] = torch.stack(layers).double()
    save_file(plans, os.path.join(HERE, "big_bird-plans.safetensors"))


def longformer(module, x, lengths, globals):
    """Matrices for x [B, N, C] whose first tokens are global, and the output that they give."""
    count, window = module.num_heads, module.one_sided_attn_window_size
    tokens = x.shape[1]
    names = ["query", "key", "value"]
    q, k, v = (heads(getattr(module, name)(x), count) for name in names)
    own_q, own_k, own_v = (heads(getattr(module, name + "_global")(x), count) for name in names)
    at = torch.arange(tokens)
    near = ((at[:, None] - at).abs() <= window) | (at < globals)
    valid = at < torch.tensor(lengths)[:, None]
    seen = valid[:, None, None, :]
    local = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill(~(near & seen), -torch.inf)
    wide = (own_q @ own_k.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf)
    rows = (at < globals)[:, None]
    matrix = torch.where(rows, wide, local).softmax(-1).nan_to_num(0)
    output = torch.where(rows, matrix @ own_v, matrix @ v)
    return matrix, output, valid


def write_longformer(name, seed, lengths, globals, model_class, **settings):
    module = transformers.models.longformer.modeling_longformer
    config = transformers.LongformerConfig(max_position_embeddings=16, pad_token_id=1, **SHAPE,
                                           **settings)
    folder, model = begin(name, model_class(config), seed)
    found = []

    def hook(own, inputs, keywords, output):
        x = inputs[0] if inputs else keywords["hidden_states"]
        matrix, attended, valid = longformer(own, x, lengths, globals)
        difference = (attended.transpose(1, 2).flatten(2) - output[0])[valid].abs().max()
        assert difference < 1e-12, difference
        found.append(matrix[..., :max(lengths), :max(lengths)])

    for own in model.modules():
        if isinstance(own, module.LongformerSelfAttention):
            own.register_forward_hook(hook, with_kwargs=True)
    ids, mask = batch(seed + 1, lengths)
    chosen = torch.zeros_like(ids)
    chosen[:, :globals] = 1
    with torch.no_grad(), double_throughout():
        out = model(ids, attention_mask=mask, output_hidden_states=True,
                    global_attention_mask=chosen if globals else None)
    out.hidden_states = [state[:, :max(lengths)] for state in out.hidden_states]
    save(folder, ids, mask, found, out)


def main():
    write_longformer("longformer", 71, [11, 9], 0, transformers.LongformerForMaskedLM,
                     attention_window=4)
    write_longformer("longformer-classifier", 72, [12, 7], 1,
                     transformers.LongformerForSequenceClassification, attention_window=[4, 4])
    write_big_bird("big_bird", 51, [20, 13], block_size=2, num_random_blocks=2)
    write_big_bird("big_bird-full", 52, [14, 9], attention_type="original_full",
                   rescale_embeddings=True, use_bias=False)
    big_bird_plans()
    write_nystromformer("nystromformer", 41, [12, 12], num_landmarks=4, segment_means_seq_len=12,
                        conv_kernel_size=5)
    # As the published model of 512 tokens: as many landmarks as tokens.
    write_nystromformer("nystromformer-softmax", 43, [11, 11], num_landmarks=64,
                        segment_means_seq_len=64, conv_kernel_size=3)


if __name__ == "__main__":
    main()
