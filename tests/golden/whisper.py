# SPDX-License-Identifier: MIT
"""Writes short WAV files of each kind with their samples and a spectrogram, to sounds/ beside this
file, and a tiny whisper with random weights and what the reference implementation computes of two of
them in double precision, to hugging_face/.

    python tests/golden/whisper.py        (needs torch, transformers and safetensors)

sounds/expected.safetensors:
    NAME.wav   [count]           the samples of a file, its channels mixed
    frames     [T, 80]           the first frames of clip.wav as whisper hears it
hugging_face/whisper/expected.safetensors:
    frames     [B, 2 N + 2, M]   of clip.wav and stereo.wav, the first row and the last are zeros
    attention  [L, B, H, N, N]
    outputs    [L - 1, B, N, C]  after each layer but the last
    hidden     [B, N, C]         after the last norm
hugging_face/whisper/decoder.safetensors, as those of sequences.py, with the encoder's frames in
place of source.
"""

import os
import shutil
import struct
import warnings

import numpy as np
import torch
import transformers
from safetensors.torch import save_file

from hugging_face import batch, double_throughout, scatter
from sequences import calm, expect_decoder

HERE = os.path.dirname(os.path.abspath(__file__))
SOUNDS = os.path.join(HERE, "sounds")
RATE = 16000
KINDS = {"clip": (0.25, 1, 16, False), "stereo": (0.05, 2, 24, False), "wide": (0.02, 1, 32, False),
         "real": (0.02, 1, 32, True), "real64": (0.02, 3, 64, True)}


def sing(seconds, channels, seed):
    """Tones that rise, with noise, at most 1 in magnitude."""
    generator = np.random.default_rng(seed)
    t = np.arange(int(seconds * RATE))[:, None] / RATE
    pitch = 200 * (1 + np.arange(channels))
    tones = sum(np.sin(2 * np.pi * k * pitch * t * (1 + t)) / k for k in range(1, 6))
    return np.clip(0.3 * tones + 0.05 * generator.standard_normal((len(t), channels)), -1, 1)


def write_wav(name, seconds, channels, bits, real, seed):
    """real64 has the extensible format and a chunk of odd size before its samples."""
    values = sing(seconds, channels, seed)
    if real:
        stored = values.astype("<f%d" % (bits // 8))
        values, data = stored.astype(np.float64), stored.tobytes()
    else:
        scale = 2.0 ** (bits - 1)
        stored = np.clip(np.round(values * scale), -scale, scale - 1).astype(np.int64)
        values = stored / scale
        data = b"".join(int(x).to_bytes(bits // 8, "little", signed=True) for x in stored.flat)
    kind, size = 3 if real else 1, channels * bits // 8
    form = struct.pack("<HHIIHH", kind, channels, RATE, RATE * size, size, bits)
    extra = b""
    if bits == 64:
        guid = bytes.fromhex("000000001000800000aa00389b71")
        form = struct.pack("<H", 0xFFFE) + form[2:] + struct.pack("<HHIH", 22, bits, 0, kind) + guid
        extra = b"LIST" + struct.pack("<I", 5) + b"INFO." + b"\0"
    chunks = b"fmt " + struct.pack("<I", len(form)) + form + extra \
        + b"data" + struct.pack("<I", len(data)) + data
    with open(os.path.join(SOUNDS, name + ".wav"), "wb") as file:
        file.write(b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks)
    return values.mean(1).astype(np.float32)


def frames_of(extractor, samples):
    """[T, M], in double; they agree with those of transformers to float precision."""
    padded = np.zeros(extractor.n_samples)
    padded[:len(samples)] = samples[:extractor.n_samples]
    window = torch.hann_window(extractor.n_fft, dtype=torch.float64)
    waves = torch.stft(torch.tensor(padded), extractor.n_fft, extractor.hop_length, window=window,
                       return_complex=True)[..., :-1]
    bands = torch.tensor(extractor.mel_filters, dtype=torch.float64).T @ waves.abs() ** 2
    logs = bands.clamp(min=1e-10).log10()
    frames = (torch.maximum(logs, logs.max() - 8) + 4) / 4
    theirs = extractor(samples, sampling_rate=RATE, return_tensors="pt")["input_features"][0]
    assert (frames - theirs).abs().max() < 1e-3, (frames - theirs).abs().max()
    return frames.T.contiguous()


def write_model(recordings):
    folder = os.path.join(HERE, "hugging_face", "whisper")
    shutil.rmtree(folder, ignore_errors=True)
    config = transformers.WhisperConfig(
        vocab_size=37, num_mel_bins=7, encoder_layers=2, encoder_attention_heads=3, d_model=12,
        encoder_ffn_dim=20, decoder_layers=3, decoder_attention_heads=2, decoder_ffn_dim=8,
        max_source_positions=10, max_target_positions=8, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=3, begin_suppress_tokens=None,
        attn_implementation="eager")
    extractor = transformers.WhisperFeatureExtractor(feature_size=7, hop_length=800, n_fft=120,
                                                     chunk_length=1)
    model = transformers.WhisperForConditionalGeneration(config)
    scatter(model, 41)
    calm(model)
    model.save_pretrained(folder)
    extractor.save_pretrained(folder)
    os.remove(os.path.join(folder, "generation_config.json"))
    frames = torch.stack([frames_of(extractor, samples) for samples in recordings])
    with torch.no_grad(), double_throughout():
        out = model.get_encoder().double().eval()(frames.transpose(1, 2), output_attentions=True,
                                                  output_hidden_states=True)
    expected = {
        "frames": torch.nn.functional.pad(frames, (0, 0, 1, 1)),
        "attention": torch.stack(out.attentions),
        "outputs": torch.stack(out.hidden_states[1:-1]),
        "hidden": out.last_hidden_state,
    }
    save_file({name: value.double().contiguous() for name, value in expected.items()},
              os.path.join(folder, "expected.safetensors"))
    targets, valid = batch(43, [3, 7])
    expect_decoder(folder, model, expected["frames"], torch.where(valid == 1, targets, -100),
                   pre_norm=True, input_features=frames.transpose(1, 2))


def main():
    warnings.simplefilter("ignore")  # of bands that are narrower than a wave's distance
    shutil.rmtree(SOUNDS, ignore_errors=True)
    os.makedirs(SOUNDS)
    samples = {name: write_wav(name, *kind, seed)
               for seed, (name, kind) in enumerate(KINDS.items())}
    expected = {name + ".wav": torch.tensor(values) for name, values in samples.items()}
    usual = transformers.WhisperFeatureExtractor()
    expected["frames"] = frames_of(usual, samples["clip"])[:32].contiguous()
    save_file(expected, os.path.join(SOUNDS, "expected.safetensors"))
    write_model([samples["clip"], samples["stereo"]])


main()
