# SPDX-License-Identifier: MIT
"""Writes tiny encoders of text of Hugging Face with random weights, and what the reference
implementation computes from them in double precision, to hugging_face/ beside this file.

    python tests/golden/encoders.py        (needs torch, transformers and safetensors)

Each folder has the checkpoint as transformers saves it, and expected.safetensors with
    ids        [B, N]            token ids, -1 behind a sequence's end
    attention  [L, B, H, N, N]   of the valid tokens, 0 elsewhere
    outputs    [·, B, N, C]      after each layer (pre-norm: but the last), 0 behind the end
    hidden     [B, N, C]         after the last layer and its norm, 0 behind the end
"""

import os
import shutil
from unittest import mock

import torch
import transformers
from safetensors.torch import load_file, save_file

from hugging_face import HERE, LENGTHS, WORDS, batch, double_throughout, scatter

EAGER = {"attn_implementation": "eager"}
SHAPE = dict(vocab_size=WORDS, hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
             intermediate_size=20, max_position_embeddings=16, **EAGER)


def angles(self, x, position_ids, layer_type):
    """Cosines and sines of rotary positions of one kind of layer, in double precision."""
    base = self.config.rope_parameters[layer_type]["rope_theta"]
    dim = self.config.hidden_size // self.config.num_attention_heads
    frequency = base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    angle = position_ids[:, :, None].double() * torch.cat([frequency, frequency])
    return angle.cos(), angle.sin()


def expect(folder, model, ids, mask, file="expected.safetensors", pre_norm=False):
    """pre_norm: transformers gives the last state after the norm, not after the layer."""
    model = getattr(model, model.base_model_prefix, model).double().eval()
    modern = transformers.models.modernbert.modeling_modernbert
    deberta = transformers.models.deberta_v2.modeling_deberta_v2
    rotate = transformers.models.llama.modeling_llama.apply_rotary_pos_emb  # keeps the precision
    with torch.no_grad(), double_throughout(), \
            mock.patch.object(modern.ModernBertRotaryEmbedding, "forward", angles), \
            mock.patch.object(modern, "apply_rotary_pos_emb", rotate), \
            mock.patch.object(torch.Tensor, "float", torch.Tensor.double), \
            mock.patch.object(deberta, "scaled_size_sqrt",
                              lambda x, n: torch.tensor(x.shape[-1] * n).double().sqrt()):
        out = model(ids, attention_mask=mask, output_attentions=True, output_hidden_states=True)
    valid = mask.double()
    pairs = valid[:, None, :, None] * valid[:, None, None, :]
    expected = {
        "ids": torch.where(mask == 1, ids, -1),
        "attention": torch.stack(out.attentions) * pairs,
        "outputs": torch.stack(out.hidden_states[1:-1 if pre_norm else None]) * valid[:, :, None],
        "hidden": out.last_hidden_state * valid[:, :, None],
    }
    save_file({name: value.double().contiguous() for name, value in expected.items()},
              os.path.join(folder, file))


def write(name, model, seed, padding=None, times=1, mask_token=None):
    """padding, mask_token: ids that are put inside of the sequences, which are repeated so many
    times."""
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    scatter(model, seed)
    model.save_pretrained(folder)
    ids, mask = batch(seed + 1)
    ids, mask = ids.repeat(1, times), torch.cat([mask] * times, 1).sort(1, descending=True).values
    if padding is not None:
        ids[0, 0] = ids[0, 3] = ids[0, 4] = ids[1, 2] = padding
    if mask_token is not None:
        ids[0, 2] = ids[0, 5] = ids[1, 1] = mask_token
        ids[mask == 0] = model.config.pad_token_id  # tokens of the mask count there, too
    expect(folder, model, ids, mask, pre_norm=model.config.model_type in ("modernbert", "esm"))


def with_frequencies_of_layers(name):
    """As transformers before 5 saved esm: each layer has the frequencies of rotary positions, and
    there is a table of positions that does nothing."""
    path = os.path.join(HERE, name, "model.safetensors")
    state = load_file(path)
    own = next(key for key in state if key.endswith("rotary_embeddings.inv_freq"))
    frequencies = state.pop(own)
    for layer in range(SHAPE["num_hidden_layers"]):
        state[f"encoder.layer.{layer}.attention.self.rotary_embeddings.inv_freq"] = \
            frequencies.clone()
    state["embeddings.position_embeddings.weight"] = torch.ones(16, SHAPE["hidden_size"])
    save_file(state, path, metadata={"format": "pt"})


def write_esm():
    shape = dict(pad_token_id=1, mask_token_id=32, **SHAPE)
    rotary = transformers.EsmConfig(position_embedding_type="rotary", token_dropout=True, **shape)
    write("esm", transformers.EsmForMaskedLM(rotary), 36, mask_token=32)
    rounded = transformers.EsmConfig(position_embedding_type="rotary", emb_layer_norm_before=True,
                                     rope_theta=50.0, **shape)
    model = transformers.EsmModel(rounded)
    model.rotary_embeddings.inv_freq = model.rotary_embeddings.inv_freq.half().float()
    write("esm-rounded", model, 37, mask_token=32)
    with_frequencies_of_layers("esm-rounded")
    learned = transformers.EsmConfig(token_dropout=True, emb_layer_norm_before=True, **shape)
    write("esm-learned", transformers.EsmModel(learned), 38, mask_token=32)
    write("esm-learned-padded", transformers.EsmModel(learned), 39, mask_token=32, padding=1)


def main():
    xlm = transformers.XLMRobertaConfig(type_vocab_size=1, pad_token_id=1, **SHAPE)
    write("xlm-roberta", transformers.XLMRobertaForMaskedLM(xlm), 21)
    write("xlm-roberta-padded", transformers.XLMRobertaModel(xlm), 22, padding=1)
    camembert = transformers.CamembertConfig(type_vocab_size=1, pad_token_id=1, **SHAPE)
    write("camembert", transformers.CamembertModel(camembert), 23, padding=1)
    bert = transformers.BertConfig(pad_token_id=0, **SHAPE)
    write("bert-padded", transformers.BertModel(bert), 24, padding=0)
    data2vec = transformers.Data2VecTextConfig(pad_token_id=1, **SHAPE)
    write("data2vec-text", transformers.Data2VecTextModel(data2vec), 34, padding=1)
    ernie = transformers.ErnieConfig(use_task_id=False, **SHAPE)
    write("ernie", transformers.ErnieForMaskedLM(ernie), 35)
    electra = transformers.ElectraConfig(embedding_size=8, **SHAPE)
    write("electra", transformers.ElectraForPreTraining(electra), 25)
    wide = transformers.ElectraConfig(embedding_size=12, **SHAPE)
    write("electra-wide", transformers.ElectraModel(wide), 26)
    albert = transformers.AlbertConfig(embedding_size=8, num_hidden_groups=2,
                                       **{**SHAPE, "num_hidden_layers": 5})
    write("albert", transformers.AlbertForMaskedLM(albert), 27)
    mpnet = transformers.MPNetConfig(pad_token_id=1, **{**SHAPE, "max_position_embeddings": 34})
    write("mpnet", transformers.MPNetForMaskedLM(mpnet), 31, padding=1, times=3)
    relative = dict(relative_attention=True, pos_att_type=["c2p", "p2c"], share_att_key=True)
    deberta = transformers.DebertaV2Config(position_buckets=6, max_relative_positions=24,
                                           norm_rel_ebd="layer_norm", position_biased_input=False,
                                           **relative, **{**SHAPE, "max_position_embeddings": 34})
    write("deberta-v2", transformers.DebertaV2ForMaskedLM(deberta), 32, times=3)
    plain = transformers.DebertaV2Config(max_relative_positions=5, **relative, **SHAPE)
    write("deberta-v2-plain", transformers.DebertaV2Model(plain), 33)
    clip = transformers.CLIPTextConfig(**SHAPE)
    write("clip-text", transformers.CLIPTextModel(clip), 28)
    modern = transformers.ModernBertConfig(local_attention=4, pad_token_id=0, cls_token_id=1,
                                           sep_token_id=2, bos_token_id=1, eos_token_id=2,
                                           **{**SHAPE, "num_hidden_layers": 4})
    write("modernbert", transformers.ModernBertForMaskedLM(modern), 29)
    biased = transformers.ModernBertConfig(local_attention=5, norm_bias=True, attention_bias=True,
                                           mlp_bias=True, global_attn_every_n_layers=2,
                                           pad_token_id=0, cls_token_id=1, sep_token_id=2,
                                           bos_token_id=1, eos_token_id=2, **SHAPE)
    write("modernbert-biased", transformers.ModernBertModel(biased), 30)
    write_esm()


if __name__ == "__main__":
    main()
