# SPDX-License-Identifier: MIT
"""Writes tiny language models of Hugging Face with random weights, and what the reference
implementation computes from them in double precision, to decoders/ beside this file.

    python tests/golden/decoders.py [NAME ...]        (transformers 5.24, torch and safetensors)

Each folder has the checkpoint as transformers saves it, and expected.safetensors with
    ids        [B, N]            token ids, -1 behind a sequence's end
    attention  [L, B, H, N, N]   of the valid tokens, 0 elsewhere
    outputs    [L, B, N, C]      after each layer, 0 behind the end
    hidden     [B, N, C]         after the last layer and its norm, 0 behind the end
    loss       [2]               sum of -ln p of the next tokens, and their number
"""

import contextlib
import os
import shutil
import sys
from unittest import mock

import torch
import transformers
from safetensors.torch import save_file

from hugging_face import WORDS, batch, loss_of, with_older_config

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "decoders")


@contextlib.contextmanager
def double_throughout():
    """Makes models in double precision, also where transformers names float32 in any case."""
    torch.set_default_dtype(torch.float64)
    bloom = transformers.models.bloom.modeling_bloom
    gelu = torch.nn.functional.gelu
    # bloom's own GELU has 0.79788456 in place of sqrt(2 / pi).
    with mock.patch.object(bloom, "bloom_gelu_forward", lambda x: gelu(x, approximate="tanh")), \
            mock.patch.object(torch, "float32", torch.float64), \
            mock.patch.object(torch, "float", torch.float64), \
            mock.patch.object(torch.Tensor, "float", torch.Tensor.double):
        yield
    torch.set_default_dtype(torch.float32)


def scatter(model, seed):
    """Weights like those of a trained model: no zero biases, no unit gains, different scores."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator, dtype=torch.float32)
            if weight.dim() == 1 and name.endswith("weight"):
                weight.copy_(float(weight.mean() > 0.5) + 0.2 * noise)  # gains start at 1 or 0
            elif weight.dim() == 1:
                weight.copy_(0.3 * noise)
            else:
                weight.copy_(noise * 1.5 / weight.shape[-1] ** 0.5)


def layers_of(model):
    base = model.base_model
    for path in ("language_model.layers", "text_model.layers", "layers", "h", "decoder.layers"):
        with contextlib.suppress(AttributeError):
            return base.get_submodule(path)
    raise AttributeError("no layers")


@contextlib.contextmanager
def alibi_once():
    """falcon's eager attention adds ALiBi twice, in the mask and by itself; its others do not."""
    attention = transformers.models.falcon.modeling_falcon.FalconAttention
    forward = attention.forward

    def patched(self, states, alibi, **options):
        return forward(self, states, alibi=None if alibi is None else 0 * alibi, **options)

    with mock.patch.object(attention, "forward", patched):
        yield


def run(model, ids, mask, attentions=True):
    """The output of a model, and that of each layer."""
    seen = []
    hooks = [layer.register_forward_hook(
        lambda module, inputs, out: seen.append(out[0] if isinstance(out, tuple) else out))
        for layer in layers_of(model)]
    with torch.no_grad():
        out = model(ids, attention_mask=mask, output_attentions=attentions,
                    output_hidden_states=True, use_cache=False)
    for hook in hooks:
        hook.remove()
    return out, seen


def paste(whole, part, row):
    """Replaces the beginning of a row by what was computed of this row alone."""
    whole[row][tuple(slice(0, size) for size in part.shape[1:])] = part[0]


def run_alone(model, ids, mask):
    """The same as run for sequences that do not know of each other."""
    out, outputs = run(model, ids, mask)
    for row, length in enumerate(mask.sum(1).tolist()):
        own, own_outputs = run(model, ids[row:row + 1, :length], mask[row:row + 1, :length])
        for whole, part in zip([*out.attentions, *outputs, out.hidden_states[-1], out.logits],
                               [*own.attentions, *own_outputs, own.hidden_states[-1], own.logits]):
            paste(whole, part, row)
    return out, outputs


def write(name, kind, config, seed, older=None, check="eager", alone=False, **saving):
    """`older`: entries of config.json as earlier versions wrote them; `check`: the implementation of
    attention that is compared with; `alone`: what is expected of each sequence without the others;
    `saving`: of save_pretrained."""
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        return
    for part in (config, config.get_text_config()):
        part._attn_implementation = part._experts_implementation = "eager"
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    with double_throughout():
        model = kind(config)
    scatter(model, seed)
    tied = config.tie_word_embeddings
    model.save_pretrained(folder, state_dict={key: value.float()
                                              for key, value in model.state_dict().items()
                                              if not (tied and key == "lm_head.weight")},
                          **saving)
    os.remove(os.path.join(folder, "generation_config.json"))
    if older:
        with_older_config(folder, **older)
    ids, mask = batch(seed + 1)
    read = kind.from_pretrained(folder, attn_implementation=check, dtype=torch.float32)
    single, _ = run(read.eval(), ids, mask, check == "eager")
    with double_throughout(), alibi_once():
        out, outputs = run(model.eval(), ids, mask)
    # The same weights and settings, read back and without the replacements above.
    difference = (out.hidden_states[-1] - single.hidden_states[-1])[mask == 1].abs().max()
    assert difference < 2e-4, (name, difference)
    if alone:
        with double_throughout():
            out, outputs = run_alone(model, ids, mask)
    valid = mask.double()
    pairs = valid[:, None, :, None] * valid[:, None, None, :]
    expected = {
        "ids": torch.where(mask == 1, ids, -1),
        "attention": torch.stack(out.attentions) * pairs,
        "outputs": torch.stack(outputs) * valid[:, :, None],
        "hidden": (outputs[-1] if name == "opt-mapped" else out.hidden_states[-1])
                  * valid[:, :, None],  # opt maps its last states, which belongs to its output
        "loss": loss_of(out.logits, ids, mask),
    }
    save_file({key: value.double().contiguous() for key, value in expected.items()},
              os.path.join(folder, "expected.safetensors"))
    print(name)


SHAPE = dict(vocab_size=WORDS, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
             intermediate_size=20, max_position_embeddings=64, num_key_value_heads=2,
             pad_token_id=0, bos_token_id=1, eos_token_id=2)


def shape(**values):
    return {**SHAPE, **values}


def write_llama_like():
    t = transformers
    yarn = {"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0,
            "original_max_position_embeddings": 16}
    rope = {"rope_type": "proportional", "rope_theta": 50.0, "partial_rotary_factor": 0.5,
            "factor": 2.0}
    write("llama-proportional", t.LlamaForCausalLM,
          t.LlamaConfig(**shape(head_dim=8, rope_parameters=rope)), 31)
    write("smollm3", t.SmolLM3ForCausalLM,
          t.SmolLM3Config(**shape(num_hidden_layers=3, no_rope_layers=[1, 0, 1], head_dim=6,
                                  attention_bias=True, rope_parameters=dict(yarn))), 74)
    write("smollm3-window", t.SmolLM3ForCausalLM,
          t.SmolLM3Config(**shape(num_hidden_layers=4, num_key_value_heads=4, mlp_bias=True,
                                  use_sliding_window=True, sliding_window=3,
                                  tie_word_embeddings=False)), 75,
          older={"no_rope_layers": None, "layer_types": None})
    write("mistral", t.MistralForCausalLM, t.MistralConfig(**shape(head_dim=6, sliding_window=4)),
          32)
    write("qwen2", t.Qwen2ForCausalLM,
          t.Qwen2Config(**shape(rope_parameters=yarn, use_sliding_window=True, sliding_window=3,
                                max_window_layers=1, num_key_value_heads=4)), 33)
    write("qwen3", t.Qwen3ForCausalLM,
          t.Qwen3Config(**shape(head_dim=8, attention_bias=True, use_sliding_window=True,
                                sliding_window=5, tie_word_embeddings=True,
                                layer_types=["sliding_attention", "full_attention"],
                                rope_parameters={"rope_type": "dynamic", "factor": 2.0,
                                                 "rope_theta": 1000.0})), 34)
    write("gemma", t.GemmaForCausalLM, t.GemmaConfig(**shape(head_dim=6, num_key_value_heads=1)),
          35, older={"hidden_act": "gelu", "rope_theta": 10000.0})
    write("gemma2", t.Gemma2ForCausalLM,
          t.Gemma2Config(**shape(head_dim=6, num_hidden_layers=3, sliding_window=4,
                                 query_pre_attn_scalar=9, attn_logit_softcapping=2.0,
                                 final_logit_softcapping=3.0)), 36,
          older={"layer_types": None, "rope_theta": 10000.0})
    local = {"full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1000.0},
             "sliding_attention": {"rope_type": "default", "rope_theta": 20.0}}
    gemma3 = dict(head_dim=6, num_hidden_layers=3, sliding_window=4, query_pre_attn_scalar=7)
    write("gemma3", t.Gemma3ForCausalLM,
          t.Gemma3TextConfig(**shape(rope_parameters=local, **gemma3,
                                     layer_types=["sliding_attention", "full_attention",
                                                  "sliding_attention"])), 37)
    write("gemma3-older", t.Gemma3ForCausalLM,
          t.Gemma3TextConfig(**shape(sliding_window_pattern=2, **gemma3, rope_parameters=local)),
          38, older={"layer_types": None, "sliding_window_pattern": 2, "rope_theta": 1000.0,
                     "rope_local_base_freq": 20.0,
                     "rope_scaling": {"rope_type": "linear", "factor": 4.0}})
    write("phi", t.PhiForCausalLM,
          t.PhiConfig(**shape(hidden_size=32, qk_layernorm=True,
                              rope_parameters={"rope_theta": 100.0, "rope_type": "default",
                                               "partial_rotary_factor": 0.5})), 39)
    write("phi-older", t.PhiForCausalLM, t.PhiConfig(**shape(hidden_size=32)), 40,
          older={"rope_theta": 10000.0, "partial_rotary_factor": 0.5})
    long = {"rope_type": "longrope", "rope_theta": 100.0, "short_factor": [1.0, 1.5],
            "long_factor": [2.0, 3.0]}
    for name, original, seed in (("phi3", 6, 41), ("phi3-short", 16, 42)):
        write(name, t.Phi3ForCausalLM,
              t.Phi3Config(**shape(rope_parameters=dict(long), sliding_window=5,
                                   original_max_position_embeddings=original)), seed, alone=True)
    write("phi3-partial", t.Phi3ForCausalLM,
          t.Phi3Config(**shape(hidden_size=32, rope_parameters={
              "rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.75})), 43)
    write("olmo", t.OlmoForCausalLM, t.OlmoConfig(**shape()), 44)
    write("olmo2", t.Olmo2ForCausalLM, t.Olmo2Config(**shape(rope_parameters={
        "rope_type": "llama3", "rope_theta": 50.0, "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 16})), 45)
    olmo3 = {"full_attention": yarn, "sliding_attention": {"rope_type": "default",
                                                           "rope_theta": 20.0}}
    write("olmo3", t.Olmo3ForCausalLM,
          t.Olmo3Config(**shape(num_hidden_layers=3, sliding_window=4, rope_parameters=olmo3,
                                layer_types=["full_attention", "sliding_attention",
                                             "full_attention"])), 76)
    write("olmo3-older", t.Olmo3ForCausalLM,
          t.Olmo3Config(**shape(num_hidden_layers=4, sliding_window=3, num_key_value_heads=4,
                                rope_parameters={"full_attention": yarn | {
                                    "rope_theta": 500000.0, "attention_factor": 1.2}})), 77,
          older={"layer_types": None, "rope_theta": 500000.0,
                 "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "attention_factor": 1.2,
                                  "original_max_position_embeddings": 16}})
    write("granite", t.GraniteForCausalLM,
          t.GraniteConfig(**shape(embedding_multiplier=3.0, logits_scaling=2.5, mlp_bias=True,
                                  residual_multiplier=0.4, attention_multiplier=0.3)), 46)
    write("cohere", t.CohereForCausalLM, t.CohereConfig(**shape(logit_scale=0.2)), 47)
    write("cohere2", t.Cohere2ForCausalLM,
          t.Cohere2Config(**shape(num_hidden_layers=3, sliding_window=4, logit_scale=0.5,
                                  attention_bias=True,
                                  layer_types=["full_attention", "sliding_attention",
                                               "full_attention"],
                                  rope_parameters={"rope_type": "linear", "rope_theta": 50.0,
                                                   "factor": 2.0})), 78)
    write("cohere2-older", t.Cohere2ForCausalLM,
          t.Cohere2Config(**shape(num_hidden_layers=2, sliding_window=3, sliding_window_pattern=2,
                                  head_dim=6, tie_word_embeddings=False)), 79,
          older={"layer_types": None, "sliding_window_pattern": 2})
    glm = dict(head_dim=8, rms_norm_eps=1e-5)
    write("glm", t.GlmForCausalLM,
          t.GlmConfig(**shape(attention_bias=False, rope_parameters={
              "rope_type": "default", "rope_theta": 50.0, "partial_rotary_factor": 0.75}, **glm)),
          84)
    write("glm-older", t.GlmForCausalLM,
          t.GlmConfig(**shape(tie_word_embeddings=True, head_dim=12)), 85,
          older={"rope_theta": 10000.0})
    write("glm4", t.Glm4ForCausalLM,
          t.Glm4Config(**shape(partial_rotary_factor=1.0, num_key_value_heads=4, **glm)), 86)
    write("glm4-half", t.Glm4ForCausalLM, t.Glm4Config(**shape(**glm)), 87)
    write("stablelm", t.StableLmForCausalLM,
          t.StableLmConfig(**shape(hidden_size=32, use_qkv_bias=True, use_parallel_residual=True)),
          48)
    write("stablelm-serial", t.StableLmForCausalLM, t.StableLmConfig(**shape(hidden_size=32)), 49)
    write("starcoder2", t.Starcoder2ForCausalLM, t.Starcoder2Config(**shape(sliding_window=4)), 50)


def write_mixtures():
    """Checkpoints have a tensor for each expert, unless they are saved as the modules have them."""
    t = transformers
    write("mixtral", t.MixtralForCausalLM,
          t.MixtralConfig(**shape(head_dim=6, sliding_window=4, num_local_experts=5,
                                  num_experts_per_tok=2)), 64)
    write("mixtral-fused", t.MixtralForCausalLM,
          t.MixtralConfig(**shape(num_local_experts=3, num_experts_per_tok=3)), 65,
          save_original_format=False)
    qwen = dict(intermediate_size=44, moe_intermediate_size=12)
    write("qwen2_moe", t.Qwen2MoeForCausalLM,
          t.Qwen2MoeConfig(**shape(num_experts=5, num_experts_per_tok=2,
                                   shared_expert_intermediate_size=28, **qwen)), 70)
    write("qwen2_moe-window", t.Qwen2MoeForCausalLM,
          t.Qwen2MoeConfig(**shape(num_experts=3, num_experts_per_tok=2, norm_topk_prob=True,
                                   shared_expert_intermediate_size=6, qkv_bias=False,
                                   use_sliding_window=True, sliding_window=4, **qwen)), 71,
          save_original_format=False)
    write("qwen3_moe", t.Qwen3MoeForCausalLM,
          t.Qwen3MoeConfig(**shape(head_dim=8, num_experts=7, num_experts_per_tok=3,
                                   norm_topk_prob=True, **qwen)), 66)
    write("qwen3_moe-window", t.Qwen3MoeForCausalLM,
          t.Qwen3MoeConfig(**shape(num_experts=4, num_experts_per_tok=1, use_sliding_window=True,
                                   sliding_window=3, attention_bias=True,
                                   tie_word_embeddings=True, **qwen)), 67,
          older={"rope_theta": 10000.0}, save_original_format=False)
    write("olmoe", t.OlmoeForCausalLM,
          t.OlmoeConfig(**shape(num_experts=6, num_experts_per_tok=4)), 68)
    write("olmoe-normalised", t.OlmoeForCausalLM,
          t.OlmoeConfig(**shape(num_experts=4, num_experts_per_tok=2, norm_topk_prob=True,
                                tie_word_embeddings=True)), 69)


def write_seeing():
    """Language models that also see pictures, without a picture."""
    t = transformers
    small = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2)
    square = dict(image_size=4, patch_size=2, **small)
    siglip, clip = t.SiglipVisionConfig(**square), t.CLIPVisionConfig(projection_dim=8, **square)
    qwen = dict(depth=1, hidden_size=8, num_heads=2, intermediate_size=8, patch_size=2)

    def see(name, kind, words, pictures, seed, older=None, **more):
        config = getattr(t, kind + "Config")(text_config=words, vision_config=pictures, **more)
        write(name, getattr(t, kind + "ForConditionalGeneration"), config, seed, older)

    see("llava", "Llava", t.LlamaConfig(**SHAPE), clip, 101)
    see("llava_next", "LlavaNext", t.MistralConfig(**SHAPE), clip, 102)
    see("llava_onevision", "LlavaOnevision", t.Qwen2Config(**SHAPE), siglip, 103)
    see("gemma3-seeing", "Gemma3", t.Gemma3TextConfig(**shape(
        head_dim=6, sliding_window=4, final_logit_softcapping=0.5)),  # a cap that is not used
        siglip, 104, mm_tokens_per_image=1)
    see("mistral3", "Mistral3", t.MistralConfig(**shape(head_dim=6)),
        t.PixtralVisionConfig(**square), 105, tie_word_embeddings=False)
    see("internvl", "InternVL", t.Qwen2Config(**SHAPE),
        t.InternVLVisionConfig(**small, image_size=[4, 4], patch_size=[2, 2]), 107,
        tie_word_embeddings=False)
    see("idefics3", "Idefics3", t.LlamaConfig(**SHAPE), t.Idefics3VisionConfig(**square), 108)
    see("smolvlm", "SmolVLM", t.LlamaConfig(**SHAPE), t.SmolVLMVisionConfig(**square), 109,
        tie_word_embeddings=True)
    # A quarter of the frequencies for each of two directions, a half for the third.
    rope = {"rope_type": "default", "rope_theta": 100.0, "mrope_section": [1, 1, 2]}
    wide = shape(hidden_size=32)
    pictures = t.Qwen2VLVisionConfig(depth=1, embed_dim=8, hidden_size=32, num_heads=2,
                                     patch_size=2, mlp_ratio=1)
    see("qwen2_vl", "Qwen2VL", t.Qwen2VLTextConfig(**wide, rope_parameters=dict(rope)), pictures,
        110, older={"text_config": None, "rope_theta": 100.0, "rms_norm_eps": 1e-5,
                    "rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}, **wide})
    see("qwen2_5_vl", "Qwen2_5_VL",
        t.Qwen2_5_VLTextConfig(**wide, rope_parameters=dict(rope), use_sliding_window=True,
                               sliding_window=4, max_window_layers=1),
        t.Qwen2_5_VLVisionConfig(**qwen, out_hidden_size=32), 111)
    see("qwen3_vl", "Qwen3VL",
        t.Qwen3VLTextConfig(**shape(head_dim=8), rope_parameters=rope | {"mrope_interleaved": True}),
        t.Qwen3VLVisionConfig(**qwen, out_hidden_size=16, num_position_embeddings=4,
                              deepstack_visual_indexes=[]), 112)


def write_gpt_like():
    t = transformers
    write("gptj", t.GPTJForCausalLM,
          t.GPTJConfig(vocab_size=WORDS, n_embd=24, n_layer=2, n_head=3, n_positions=16,
                       rotary_dim=4), 51)
    write("codegen", t.CodeGenForCausalLM,
          t.CodeGenConfig(vocab_size=WORDS, n_embd=24, n_layer=2, n_head=4, n_positions=16,
                          rotary_dim=4, activation_function="gelu"), 80)
    # Three heads of 8 numbers: a quarter of the queries ends within a head.
    write("codegen-three", t.CodeGenForCausalLM,
          t.CodeGenConfig(vocab_size=WORDS, n_embd=24, n_layer=2, n_head=3, n_positions=16,
                          rotary_dim=6, n_inner=20, tie_word_embeddings=True), 81)
    bigcode = dict(vocab_size=WORDS, n_embd=24, n_layer=2, n_head=4, n_positions=16)
    write("gpt_bigcode", t.GPTBigCodeForCausalLM, t.GPTBigCodeConfig(**bigcode), 82)
    write("gpt_bigcode-heads", t.GPTBigCodeForCausalLM,
          t.GPTBigCodeConfig(multi_query=False, n_inner=20, tie_word_embeddings=False, **bigcode),
          83)
    neo = dict(vocab_size=WORDS, hidden_size=18, num_heads=3, max_position_embeddings=16)
    write("gpt_neo", t.GPTNeoForCausalLM,
          t.GPTNeoConfig(num_layers=3, window_size=4,
                         attention_types=[[["global", "local"], 1], [["local"], 1]], **neo), 72)
    write("gpt_neo-global", t.GPTNeoForCausalLM,
          t.GPTNeoConfig(num_layers=2, intermediate_size=20, attention_types=[[["global"], 2]],
                         tie_word_embeddings=False, activation_function="relu", **neo), 73)
    neox = dict(vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                intermediate_size=20, max_position_embeddings=16)
    write("gpt_neox", t.GPTNeoXForCausalLM, t.GPTNeoXConfig(**neox), 52)
    write("gpt_neox-serial", t.GPTNeoXForCausalLM,
          t.GPTNeoXConfig(use_parallel_residual=False, attention_bias=False, hidden_act="gelu_fast",
                          rope_parameters={"rope_type": "default", "rope_theta": 500.0,
                                           "partial_rotary_factor": 0.5}, **neox), 53,
          older={"rotary_pct": 0.5, "rotary_emb_base": 500})
    bloom = dict(vocab_size=WORDS, hidden_size=18, n_layer=2, n_head=3)
    write("bloom", t.BloomForCausalLM, t.BloomConfig(**bloom), 54)
    falcon = dict(vocab_size=WORDS, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
                  max_position_embeddings=16)
    write("falcon", t.FalconForCausalLM, t.FalconConfig(**falcon), 55)
    write("falcon-new", t.FalconForCausalLM,
          t.FalconConfig(new_decoder_architecture=True, num_kv_heads=2, ffn_hidden_size=20,
                         bias=True, **falcon), 56)
    write("falcon-new-one-norm", t.FalconForCausalLM,
          t.FalconConfig(new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1,
                         **falcon), 57)
    write("falcon-alibi", t.FalconForCausalLM,
          t.FalconConfig(alibi=True, multi_query=False, parallel_attn=False, bias=True, **falcon),
          58, check="sdpa")
    write("falcon-alibi-12", t.FalconForCausalLM,
          t.FalconConfig(alibi=True, multi_query=False, parallel_attn=False, bias=True,
                         **falcon | {"num_attention_heads": 12, "hidden_size": 24}), 63, check="sdpa")
    opt = dict(vocab_size=WORDS, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
               ffn_dim=20, max_position_embeddings=16)
    write("opt-mapped", t.OPTForCausalLM,
          t.OPTConfig(do_layer_norm_before=False, word_embed_proj_dim=12, **opt), 62)
    opt["word_embed_proj_dim"] = 16
    write("opt", t.OPTForCausalLM, t.OPTConfig(**opt), 59)
    write("opt-post", t.OPTForCausalLM,
          t.OPTConfig(do_layer_norm_before=False, enable_bias=False, activation_function="gelu",
                      **opt), 60)
    write("opt-bare-norms", t.OPTForCausalLM, t.OPTConfig(layer_norm_elementwise_affine=False, **opt),
          61)


def main():
    write_llama_like()
    write_mixtures()
    write_seeing()
    write_gpt_like()


if __name__ == "__main__":
    main()
