# SPDX-License-Identifier: MIT
"""Writes tiny checkpoints of Hugging Face's families with random weights, and what the reference
implementation computes from them in double precision, to hugging_face/ beside this file.

    python tests/golden/hugging_face.py        (needs torch, transformers and safetensors)

Each family gets a folder: the checkpoint as transformers saves it, and expected.safetensors with
    ids        [B, N]            token ids, -1 behind a sequence's end
    attention  [L, B, H, N, N]   of the valid tokens, 0 elsewhere
    hidden     [B, N, C]         after the last layer and its norm, 0 behind the end
    loss       [2]               language models: sum of -ln p of the next tokens, and their number
"""

import contextlib
import json
import os
import shutil
from unittest import mock

import torch
import transformers
from safetensors.torch import load_file, save_file

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hugging_face")
LENGTHS = [9, 6, 1]
WORDS = 37


def scatter(model, seed):
    """Weights like those of a trained model: no zero biases, no unit gains, different scores."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if weight.dim() == 1 and name.endswith("weight"):
                weight.copy_(1 + 0.2 * noise)
            elif weight.dim() == 1:
                weight.copy_(0.3 * noise)
            else:
                weight.copy_(noise * 1.5 / (weight.shape or [1])[-1] ** 0.5)


@contextlib.contextmanager
def double_throughout():
    """Keeps double precision where transformers converts to float32 whatever the model's type."""
    softmax = torch.nn.functional.softmax

    def norm(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)
                                             + self.variance_epsilon)

    def angles(self, x, position_ids):
        frequency = frequencies(self.config)
        angle = position_ids[:, :, None].double() * torch.cat([frequency, frequency])
        return angle.cos(), angle.sin()

    llama = transformers.models.llama.modeling_llama
    with mock.patch.object(torch.nn.functional, "softmax",
                           lambda x, dim=None, dtype=None: softmax(x, dim=dim)), \
            mock.patch.object(llama.LlamaRMSNorm, "forward", norm), \
            mock.patch.object(llama.LlamaRotaryEmbedding, "forward", angles):
        yield


def frequencies(config):
    """Frequencies of rotary positions, in double: base^(-2d/D), scaled according to `rope_type`."""
    rope = config.rope_parameters
    dim = config.head_dim
    plain = rope["rope_theta"] ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    if rope["rope_type"] == "linear":
        return plain / rope["factor"]
    if rope["rope_type"] != "llama3":
        return plain
    turns = rope["original_max_position_embeddings"] * plain / (2 * torch.pi)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return plain * (kept + (1 - kept) / rope["factor"])


def batch(seed, lengths=LENGTHS):
    generator = torch.Generator().manual_seed(seed)
    longest = max(lengths)
    ids = torch.randint(3, WORDS, (len(lengths), longest), generator=generator)
    mask = torch.zeros(len(lengths), longest, dtype=torch.long)
    for row, length in enumerate(lengths):
        mask[row, :length] = 1
    return ids, mask


def loss_of(logits, ids, mask):
    sums = torch.nn.functional.cross_entropy(
        logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    valid = mask[:, 1:].flatten().double()
    return torch.stack([(sums * valid).sum(), valid.sum()])


def expect(folder, model, seed, language_model):
    ids, mask = batch(seed)
    model.eval()
    with torch.no_grad():
        single = model(ids, attention_mask=mask, output_hidden_states=True)
    with torch.no_grad(), double_throughout():
        out = model.double()(ids, attention_mask=mask, output_attentions=True,
                             output_hidden_states=True)
    # The replacements above compute the same as transformers' own code.
    difference = (out.hidden_states[-1] - single.hidden_states[-1])[mask == 1].abs().max()
    assert difference < 1e-4, difference
    valid = mask.double()
    pairs = valid[:, None, :, None] * valid[:, None, None, :]
    expected = {
        "ids": torch.where(mask == 1, ids, -1).double(),
        "attention": torch.stack([a * pairs for a in out.attentions]),
        "hidden": out.hidden_states[-1] * valid[:, :, None],
    }
    if language_model:
        expected["loss"] = loss_of(out.logits, ids, mask)
    save_file({name: value.double().contiguous() for name, value in expected.items()},
              os.path.join(folder, "expected.safetensors"))


def write(name, model, seed, language_model=False, **options):
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    scatter(model, seed)
    model.save_pretrained(folder, **options)
    expect(folder, model, seed + 1, language_model)
    for unneeded in ("generation_config.json",):
        path = os.path.join(folder, unneeded)
        if os.path.exists(path):
            os.remove(path)
    return folder


def as_older_versions_saved(folder):
    """pytorch_model.bin in the container of torch before 1.6, norms with gamma and beta."""
    path = os.path.join(folder, "model.safetensors")
    state = {name.replace("LayerNorm.weight", "LayerNorm.gamma")
             .replace("LayerNorm.bias", "LayerNorm.beta"): value
             for name, value in load_file(path).items()}
    torch.save(state, os.path.join(folder, "pytorch_model.bin"),
               _use_new_zipfile_serialization=False)
    os.remove(path)


def with_older_config(folder, **values):
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    config.pop("rope_parameters", None)
    config.update(values)
    with open(path, "w") as file:
        json.dump(config, file, indent=2)


def main():
    eager = {"attn_implementation": "eager"}
    encoder = dict(vocab_size=WORDS, hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
                   intermediate_size=20, max_position_embeddings=16, **eager)

    bert = transformers.BertConfig(type_vocab_size=2, **encoder)
    write("bert", transformers.BertModel(bert), 1)
    masked = transformers.BertConfig(type_vocab_size=3, hidden_act="gelu_new", **encoder)
    folder = write("bert-masked-lm", transformers.BertForMaskedLM(masked), 2)
    as_older_versions_saved(folder)

    roberta = transformers.RobertaConfig(type_vocab_size=1, pad_token_id=1, **encoder)
    write("roberta", transformers.RobertaForMaskedLM(roberta), 3, max_shard_size="6KB")
    causal = transformers.BertConfig(is_decoder=True, hidden_act="silu", **encoder)
    write("bert-decoder", transformers.BertModel(causal), 10)
    distilbert = transformers.DistilBertConfig(vocab_size=WORDS, dim=12, n_layers=2, n_heads=2,
                                               hidden_dim=20, max_position_embeddings=16, **eager)
    write("distilbert", transformers.DistilBertModel(distilbert), 4)

    gpt2 = transformers.GPT2Config(vocab_size=WORDS, n_embd=12, n_layer=2, n_head=3, n_positions=16,
                                   **eager)
    write("gpt2", transformers.GPT2LMHeadModel(gpt2), 5, language_model=True)

    untied = transformers.GPT2Config(vocab_size=WORDS, n_embd=12, n_layer=2, n_head=2, n_positions=16,
                                     n_inner=20, activation_function="relu",
                                     tie_word_embeddings=False, **eager)
    write("gpt2-untied", transformers.GPT2LMHeadModel(untied), 9, language_model=True)

    decoder = dict(vocab_size=WORDS, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
                   intermediate_size=20, max_position_embeddings=64, **eager)
    llama3 = {"rope_type": "llama3", "rope_theta": 5000.0, "factor": 8.0, "low_freq_factor": 1.0,
              "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
    llama = transformers.LlamaConfig(num_key_value_heads=2, head_dim=6, rope_parameters=llama3,
                                     **decoder)
    write("llama", transformers.LlamaForCausalLM(llama), 6, language_model=True)
    linear = {"rope_type": "linear", "rope_theta": 100.0, "factor": 2.0}
    tied = transformers.LlamaConfig(num_key_value_heads=1, attention_bias=True, mlp_bias=True,
                                    tie_word_embeddings=True, rope_parameters=linear, **decoder)
    folder = write("llama-tied", transformers.LlamaForCausalLM(tied), 7, language_model=True)
    with_older_config(folder, rope_theta=100.0, rope_scaling={"type": "linear", "factor": 2.0})
    bare = transformers.LlamaConfig(**decoder)
    write("llama-bare", transformers.LlamaModel(bare), 8)


if __name__ == "__main__":
    main()
