# SPDX-License-Identifier: MIT
"""Writes tiny encoder-decoders of text of Hugging Face with random weights, and what the reference
implementation computes in their encoders in double precision, to hugging_face/ beside this file.

    python tests/golden/sequences.py        (needs torch, transformers and safetensors)

Each folder has the checkpoint as transformers saves it, and expected.safetensors as those of
encoders.py.
"""

import contextlib
import os
import shutil
from unittest import mock

import torch
import transformers

from encoders import EAGER, expect
from hugging_face import HERE, LENGTHS, WORDS, batch, scatter


@contextlib.contextmanager
def double_norms():
    """T5's norms keep double precision."""
    def norm(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)
                                             + self.variance_epsilon)

    with mock.patch.object(transformers.models.t5.modeling_t5.T5LayerNorm, "forward", norm), \
            mock.patch.object(transformers.models.mt5.modeling_mt5.MT5LayerNorm, "forward", norm):
        yield


def write(name, model, seed, sizes=LENGTHS, pre_norm=False, sinusoids=False):
    """sinusoids: positions stay as they are computed."""
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    scatter(model, seed)
    if sinusoids:
        positions = model.get_encoder().embed_positions
        positions.weight = torch.nn.Parameter(positions.create_weight(), requires_grad=False)
    model.save_pretrained(folder)
    ids, mask = batch(seed + 1, sizes)
    with double_norms():
        expect(folder, model.get_encoder(), ids, mask, pre_norm=pre_norm)
    for unneeded in ("generation_config.json",):
        path = os.path.join(folder, unneeded)
        if os.path.exists(path):
            os.remove(path)


def main():
    sizes = dict(vocab_size=WORDS, d_model=12, d_kv=5, d_ff=20, num_layers=2, num_decoder_layers=1,
                 num_heads=2, relative_attention_num_buckets=8, relative_attention_max_distance=12,
                 **EAGER)
    # Long enough for every class of distances.
    lengths = [18, 5]
    t5 = transformers.T5Config(**sizes)
    write("t5", transformers.T5ForConditionalGeneration(t5), 31, lengths, pre_norm=True)
    flan = transformers.T5Config(feed_forward_proj="gated-gelu", tie_word_embeddings=False, **sizes)
    write("t5-encoder", transformers.T5EncoderModel(flan), 32, lengths, pre_norm=True)
    mt5 = transformers.MT5Config(tie_word_embeddings=False, **sizes)
    write("mt5", transformers.MT5ForConditionalGeneration(mt5), 33, lengths, pre_norm=True)

    sizes = dict(vocab_size=WORDS, d_model=12, encoder_layers=2, encoder_attention_heads=3,
                 encoder_ffn_dim=20, decoder_layers=1, decoder_attention_heads=2,
                 decoder_ffn_dim=8, max_position_embeddings=16, pad_token_id=1, eos_token_id=2,
                 decoder_start_token_id=2, **EAGER)
    bart = transformers.BartConfig(**sizes)
    write("bart", transformers.BartForConditionalGeneration(bart), 34)
    mbart = transformers.MBartConfig(scale_embedding=True, activation_function="relu", **sizes)
    write("mbart", transformers.MBartModel(mbart), 35, pre_norm=True)
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
