# SPDX-License-Identifier: MIT
"""Writes tiny vision transformers of Hugging Face with random weights, pictures, and what Pillow and
the reference implementation make of them in double precision, to hugging_face/vit* and pictures/.

    python tests/golden/vit.py        (needs torch, transformers, safetensors, numpy and Pillow)

A model's expected.safetensors has
    patches    [B, N, 3 P^2]     of the pictures in SAMPLES, channel, row, column; zeros for the class
    attention  [L, B, H, N, N]
    hidden     [B, N, C]         after the last norm
and pictures/resized.safetensors the pixels [S, S, 3] of pictures, a tensor "photo.png/bicubic/7" for
each filter and side. The other pictures are resized to tell their colours.
"""

import os
import shutil
import struct
import zlib
from unittest import mock

import numpy as np
import torch
import transformers
from PIL import Image
from safetensors.torch import save_file

import encoders
from hugging_face import HERE as MODELS, batch, double_throughout, scatter

PICTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pictures")
FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
SIDES = [2, 7, 23]
SAMPLES = ["photo.png", "palette.png"]


def photo(height, width):
    """Waves with noise and a hard edge, so that no two filters agree."""
    generator = np.random.default_rng(1)
    y, x = np.mgrid[0:height, 0:width].astype(float)
    waves = np.stack([np.sin(x / 5 + c) * np.cos(y / (4 + c)) for c in range(3)], axis=-1)
    pixels = 128 + 90 * waves + generator.normal(0, 12, (height, width, 3))
    pixels[5:11, 8:20] = [250, 3, 60]
    return pixels.clip(0, 255).astype(np.uint8)


def write_png(name, pixels, bits, interlaced):
    """Colours of 8 or 16 bits, in one pass or in seven: kinds that Pillow does not write."""
    height, width = pixels.shape[:2]
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2),
              (1, 0, 2, 1)] if interlaced else [(0, 0, 1, 1)]
    kind = {8: ">u1", 16: ">u2"}[bits]
    rows = b"".join(b"\0" + row.astype(kind).tobytes()
                    for top, left, down, right in passes
                    for row in pixels[top::down, left::right] if row.size)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I",
                                                                       zlib.crc32(kind + data))

    with open(os.path.join(PICTURES, name), "wb") as file:
        header = struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, interlaced)
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
                   + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_pictures():
    """A picture of every kind; returns their names."""
    shutil.rmtree(PICTURES, ignore_errors=True)
    os.makedirs(PICTURES)
    pixels = photo(19, 31)
    image = Image.fromarray(pixels)
    small = image.resize((9, 6))
    alpha = Image.fromarray(photo(6, 9)[:, :, 0])
    with_alpha, grey_alpha = small.copy(), small.convert("L")
    with_alpha.putalpha(alpha)
    grey_alpha.putalpha(alpha)
    kinds = {
        "photo.png": (image, {}),
        "palette.png": (small.quantize(11), {"transparency": 3}),
        "palette-2.png": (small.quantize(4), {"bits": 2}),
        "grey.png": (small.convert("L"), {}),
        "grey-1.png": (small.convert("1"), {}),
        "grey-alpha.png": (grey_alpha, {}),
        "alpha.png": (with_alpha, {}),
        "transparent.png": (small, {"transparency": small.getpixel((3, 3))}),
        "column.png": (image.crop((10, 0, 11, 19)), {}),
    }
    for name, (picture, options) in kinds.items():
        picture.save(os.path.join(PICTURES, name), **options)
    write_png("interlaced.png", pixels[:13, :11], 8, True)
    wide = pixels[:6, :9].astype(np.uint16) * 256 + pixels[6:12, :9]
    write_png("wide.png", wide, 16, False)
    return list(kinds) + ["interlaced.png", "wide.png"]


def rgb(name):
    """The picture without its transparency, which new versions of transformers lay on white."""
    return Image.fromarray(np.asarray(Image.open(os.path.join(PICTURES, name)).convert("RGB")))


def write_resized(names):
    resized = {}
    for name in names:
        for filter, number in FILTERS.items():
            for side in SIDES if name == "photo.png" else [5] if filter == "bilinear" else []:
                bytes_ = np.asarray(rgb(name).resize((side, side), resample=number))
                resized[f"{name}/{filter}/{side}"] = torch.tensor(bytes_).half()
    save_file(resized, os.path.join(PICTURES, "resized.safetensors"))


def prepared(processor, name):
    """The picture, resized and cut by Pillow, as the processor says: [S, S, 3], bytes."""
    image = rgb(name)
    size = dict(processor.size)
    if processor.do_resize and "shortest_edge" in size:
        edge, (width, height) = size["shortest_edge"], image.size
        short = min(width, height)
        image = image.resize((edge * width // short, edge * height // short),
                             resample=processor.resample)
    elif processor.do_resize:
        image = image.resize((size["width"], size["height"]), resample=processor.resample)
    if processor.do_center_crop:
        crop = dict(processor.crop_size)["height"]
        left, top = (image.size[0] - crop) // 2, (image.size[1] - crop) // 2
        image = image.crop((left, top, left + crop, top + crop))
    return np.asarray(image)


def pixels_of(processor):
    """Returns [B, 3, S, S], in double; it agrees with transformers' own processor to float
    precision."""
    values = np.stack([prepared(processor, name) for name in SAMPLES]).astype(np.float64)
    values = values * processor.rescale_factor - np.array(processor.image_mean)
    values = (values / np.array(processor.image_std)).transpose(0, 3, 1, 2)
    theirs = processor([rgb(name) for name in SAMPLES], return_tensors="np")["pixel_values"]
    assert abs(values - theirs).max() < 1e-5
    return torch.tensor(values)


def patches_of(pixels, patch):
    samples, channels, side, _ = pixels.shape
    across = side // patch
    cut = pixels.reshape(samples, channels, across, patch, across, patch)
    return cut.permute(0, 2, 4, 1, 3, 5).reshape(samples, across * across, -1)


def write_model(name, model, seed, processor):
    folder = os.path.join(MODELS, name)
    shutil.rmtree(folder, ignore_errors=True)
    scatter(model, seed)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    if hasattr(model, "text_model"):  # two models, of text and of pictures
        encoders.expect(folder, model.text_model, *batch(seed + 1), "text.safetensors")
        model = model.vision_model
    model = getattr(model, model.base_model_prefix, model).double().eval()
    pixels = pixels_of(processor)
    interpolate = torch.nn.functional.interpolate
    with torch.no_grad(), double_throughout(), mock.patch.object(
            torch.nn.functional, "interpolate", lambda x, **k: interpolate(x.double(), **k)):
        out = model(pixels, output_attentions=True, output_hidden_states=True)
    patches = patches_of(pixels, model.config.patch_size)
    extra = out.last_hidden_state.shape[1] - patches.shape[1]
    zeros = torch.zeros(patches.shape[0], extra, patches.shape[2], dtype=patches.dtype)
    save_file({"patches": torch.cat([zeros, patches], dim=1).contiguous(),
               "attention": torch.stack(out.attentions).contiguous(),
               "outputs": torch.stack(out.hidden_states[1:]).contiguous(),
               "hidden": out.last_hidden_state.contiguous()},
              os.path.join(folder, "expected.safetensors"))


def main():
    shape = dict(hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
                 attn_implementation="eager")
    write_resized(write_pictures())
    classifier = transformers.ViTConfig(image_size=12, patch_size=4, **shape)
    write_model("vit", transformers.ViTForImageClassification(classifier), 11,
                transformers.ViTImageProcessorPil(size={"height": 12, "width": 12},
                                                  image_mean=[0.5] * 3, image_std=[0.5] * 3))
    bare = transformers.ViTConfig(image_size=9, patch_size=3, qkv_bias=False,
                                  hidden_act="gelu_new", **shape)
    write_model("vit-bare", transformers.ViTModel(bare, add_pooling_layer=False), 12,
                transformers.ViTImageProcessorPil(size={"height": 9, "width": 9}, resample=3,
                                                  image_mean=[0.485, 0.456, 0.406],
                                                  image_std=[0.229, 0.224, 0.225]))
    teacher = transformers.DeiTConfig(image_size=8, patch_size=4, hidden_act="relu", **shape)
    write_model("deit", transformers.DeiTForImageClassificationWithTeacher(teacher), 13,
                transformers.DeiTImageProcessorPil(size={"height": 11, "width": 11},
                                                   crop_size={"height": 8, "width": 8}))
    plain = {key: value for key, value in shape.items() if key != "intermediate_size"}
    dino = transformers.Dinov2Config(image_size=8, patch_size=4, mlp_ratio=2, **plain)
    write_model("dinov2", transformers.Dinov2Model(dino), 14,
                transformers.BitImageProcessorPil(size={"shortest_edge": 9},
                                                  crop_size={"height": 8, "width": 8}))
    # Positions of 4 x 4 patches, interpolated to 3 x 3.
    gated = transformers.Dinov2Config(image_size=16, patch_size=4, use_swiglu_ffn=True, mlp_ratio=2,
                                      **plain)
    write_model("dinov2-gated", transformers.Dinov2Model(gated), 15,
                transformers.BitImageProcessorPil(size={"shortest_edge": 14},
                                                  crop_size={"height": 12, "width": 12}))
    registers = transformers.Dinov2WithRegistersConfig(image_size=8, patch_size=4, mlp_ratio=2,
                                                       num_register_tokens=2, qkv_bias=False, **plain)
    write_model("dinov2-registers", transformers.Dinov2WithRegistersModel(registers), 16,
                transformers.BitImageProcessorPil(size={"shortest_edge": 8},
                                                  crop_size={"height": 8, "width": 8}))
    clip = transformers.CLIPVisionConfig(image_size=12, patch_size=4, **shape)
    write_model("clip-vision", transformers.CLIPVisionModel(clip), 17,
                transformers.CLIPImageProcessorPil(size={"shortest_edge": 13},
                                                   crop_size={"height": 12, "width": 12}))
    siglip = transformers.SiglipVisionConfig(image_size=12, patch_size=4, **shape)
    write_model("siglip-vision", transformers.SiglipVisionModel(siglip), 18,
                transformers.SiglipImageProcessorPil(size={"height": 12, "width": 12}))
    words = dict(vocab_size=37, max_position_embeddings=16, **shape)
    both = transformers.CLIPConfig(text_config=words, projection_dim=4, attn_implementation="eager",
                                   vision_config=dict(image_size=8, patch_size=4, **shape))
    write_model("clip", transformers.CLIPModel(both), 19,
                transformers.CLIPImageProcessorPil(size={"shortest_edge": 8},
                                                   crop_size={"height": 8, "width": 8}))
    both = transformers.SiglipConfig(text_config=dict(projection_size=12, **words),
                                     attn_implementation="eager",
                                     vision_config=dict(image_size=8, patch_size=4, **shape))
    write_model("siglip", transformers.SiglipModel(both), 20,
                transformers.SiglipImageProcessorPil(size={"height": 8, "width": 8}))


main()
