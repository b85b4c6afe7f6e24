# SPDX-License-Identifier: MIT
"""Writes tiny encoder-decoders of text of Hugging Face with random weights, and what the reference
implementation computes of them in double precision, to hugging_face/ beside this file.

    python tests/golden/sequences.py        (needs torch, transformers and safetensors)

Each folder has the checkpoint as transformers saves it, and of the encoder expected.safetensors as
those of encoders.py. Of the decoder, decoder.safetensors has
    source     [B, M]            token ids of the encoder, -1 behind a sequence's end
    targets    [B, N]            token ids that are to be predicted, -1 behind a sequence's end
    ids        [B, N]            the decoder's input: the start, and the targets but the last
    attention  [L, B, H, N, N]   of the valid tokens, 0 elsewhere
    cross      [L, B, H, N, M]   the same, of attention to the encoder
    outputs    [., B, N, C]      after each layer (pre-norm: but the last), 0 behind the end
    hidden     [B, N, C]         after the last layer and its norm, 0 behind the end
    logits     [B, N, V]         of models that have an output layer, 0 behind the end
    loss       [2]               the same: sum of -ln p of the targets, and their number
"""

import contextlib
import json
import os
import shutil
from unittest import mock

import torch
import transformers
from safetensors.torch import load_file, save_file

from encoders import EAGER, expect
from hugging_face import HERE, LENGTHS, WORDS, batch, double_throughout, scatter


@contextlib.contextmanager
def double_norms():
    """T5's norms keep double precision."""
    def norm(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)
                                             + self.variance_epsilon)

    with mock.patch.object(transformers.models.t5.modeling_t5.T5LayerNorm, "forward", norm), \
            mock.patch.object(transformers.models.mt5.modeling_mt5.MT5LayerNorm, "forward", norm):
        yield


def calm(model):
    """Maps that let errors of single precision grow less on the way through encoder and decoder."""
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(0.6)


def shifted(model, targets):
    """The decoder's input for targets, which end with -100."""
    if model.config.model_type == "mbart":
        return transformers.models.mbart.modeling_mbart.shift_tokens_right(
            targets, model.config.pad_token_id)
    return transformers.models.bart.modeling_bart.shift_tokens_right(
        targets, model.config.pad_token_id, model.config.decoder_start_token_id)


def expect_decoder(folder, model, source, targets, pre_norm=False, **memory):
    """source: [B, M], -1 behind the end, or frames; memory: arguments of the encoder."""
    ids, valid = shifted(model, targets), targets >= 0
    with torch.no_grad(), double_throughout(), double_norms():
        out = model.double().eval()(decoder_input_ids=ids, decoder_attention_mask=valid.long(),
                                    use_cache=False, output_attentions=True,
                                    output_hidden_states=True, **memory)
    rows = valid.double()
    frames = source.dim() == 3
    keys = torch.ones(out.cross_attentions[0].shape[::3]) if frames else (source >= 0)
    states = torch.stack(out.decoder_hidden_states) * rows[:, :, None]
    expected = {
        "frames" if frames else "source": source,
        "targets": torch.where(valid, targets, -1),
        "ids": torch.where(valid, ids, -1),
        "attention": torch.stack(out.decoder_attentions) * rows[:, None, :, None],
        "cross": torch.stack(out.cross_attentions) * rows[:, None, :, None]
                 * keys.double()[:, None, None, :],
        "outputs": states[1:-1 if pre_norm else None],
        "hidden": states[-1],
    }
    if "logits" in out:
        logs = torch.log_softmax(out.logits, -1)
        chosen = logs.gather(2, targets.clamp(min=0)[:, :, None])[:, :, 0] * rows
        expected["logits"] = out.logits * rows[:, :, None]
        expected["loss"] = torch.stack([-chosen.sum(), rows.sum()])
    save_file({name: value.double().clone() for name, value in expected.items()},
              os.path.join(folder, "decoder.safetensors"))


def as_older_versions_saved(folder, model, seed):
    """An output layer of its own, which newer versions do not make; it is not scaled."""
    path = os.path.join(folder, "model.safetensors")
    generator = torch.Generator().manual_seed(seed)
    output = torch.randn(model.lm_head.weight.shape, generator=generator) / 4
    model.lm_head.weight = torch.nn.Parameter(output)
    save_file({"lm_head.weight": output, **load_file(path)}, path)
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    del config["scale_decoder_outputs"], config["num_decoder_layers"]
    config["tie_word_embeddings"] = False
    with open(path, "w") as file:
        json.dump(config, file, indent=2)


def write(name, model, seed, sizes=LENGTHS, target_sizes=(4, 8, 5), pre_norm=False, sinusoids=False,
          older=False):
    """sinusoids: positions stay as they are computed."""
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    scatter(model, seed)
    calm(model)
    if sinusoids:
        for side in (model.get_encoder(), model.get_decoder()):
            positions = side.embed_positions
            positions.weight = torch.nn.Parameter(positions.create_weight(), requires_grad=False)
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias.normal_(generator=torch.Generator().manual_seed(seed))
    model.save_pretrained(folder)
    if older:
        as_older_versions_saved(folder, model, seed)
    ids, mask = batch(seed + 1, sizes)
    with double_norms():
        expect(folder, model.get_encoder(), ids, mask, pre_norm=pre_norm)
    if model.config.is_encoder_decoder:
        targets, valid = batch(seed + 2, list(target_sizes))
        words = getattr(model.config, "decoder_vocab_size", WORDS)
        targets = torch.where(valid == 1, 3 + (targets - 3) % (words - 3), -100)
        expect_decoder(folder, model, torch.where(mask == 1, ids, -1), targets, pre_norm,
                       input_ids=ids, attention_mask=mask)
    for unneeded in ("generation_config.json",):
        path = os.path.join(folder, unneeded)
        if os.path.exists(path):
            os.remove(path)


def main():
    sizes = dict(vocab_size=WORDS, d_model=12, d_kv=5, d_ff=20, num_layers=2,
                 num_heads=2, relative_attention_num_buckets=8, relative_attention_max_distance=12,
                 decoder_start_token_id=0, **EAGER)
    # Long enough for every class of distances.
    lengths = dict(sizes=[18, 5], target_sizes=[6, 13], pre_norm=True)
    t5 = transformers.T5Config(num_decoder_layers=3, **sizes)
    write("t5", transformers.T5ForConditionalGeneration(t5), 31, **lengths)
    flan = transformers.T5Config(feed_forward_proj="gated-gelu", tie_word_embeddings=False, **sizes)
    write("t5-encoder", transformers.T5EncoderModel(flan), 32, **lengths)
    mt5 = transformers.MT5Config(tie_word_embeddings=False, **sizes)
    write("mt5", transformers.MT5ForConditionalGeneration(mt5), 53, **lengths)
    flan = transformers.T5Config(feed_forward_proj="gated-gelu", tie_word_embeddings=False, **sizes)
    write("t5-untied", transformers.T5ForConditionalGeneration(flan), 63, older=True, **lengths)

    sizes = dict(vocab_size=WORDS, d_model=12, encoder_layers=2, encoder_attention_heads=3,
                 encoder_ffn_dim=20, decoder_layers=1, decoder_attention_heads=2,
                 decoder_ffn_dim=8, max_position_embeddings=16, pad_token_id=1, eos_token_id=2,
                 decoder_start_token_id=2, **EAGER)
    bart = transformers.BartConfig(**{**sizes, "decoder_layers": 3})
    write("bart", transformers.BartForConditionalGeneration(bart), 34)
    mbart = transformers.MBartConfig(scale_embedding=True, activation_function="relu",
                                     **{**sizes, "decoder_layers": 3})
    write("mbart", transformers.MBartForConditionalGeneration(mbart), 35, pre_norm=True)
    marian = transformers.MarianConfig(scale_embedding=True, activation_function="swish", **sizes)
    write("marian", transformers.MarianMTModel(marian), 36, sinusoids=True)
    # Its own embeddings, and positions in the file.
    own = transformers.MarianConfig(share_encoder_decoder_embeddings=False, tie_word_embeddings=False,
                                    decoder_vocab_size=7, **sizes)
    write("marian-own", transformers.MarianModel(own), 37)
    pegasus = transformers.PegasusConfig(scale_embedding=True, **{**sizes, "d_model": 15,
                                         "decoder_attention_heads": 3})
    write("pegasus", transformers.PegasusForConditionalGeneration(pegasus), 38, pre_norm=True,
          sinusoids=True)


if __name__ == "__main__":
    main()
