#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/training: the losses of eight steps of the paper's own code, of tiny models.

    python3 tests/golden/authors_training.py REPOSITORY [FOLDER]

REPOSITORY is a copy of github.com/minhtannguyen/transformer-mgk, commit 73608b3, whose modules this
script runs in float64, with its optimisers, schedules and dropout 0. NAME.pt has the first weights;
NAME.safetensors has ids [steps, B, N], targets ([steps, B, N], or classes [steps, B, 1]) and losses
[steps], mean of all targets. -1 is padding.
"""

import math
import sys
import types
import warnings
from pathlib import Path
from types import SimpleNamespace

import torch

from golden import Draw, save_expected

STEPS, WARMUP, BATCH, LENGTH = 8, 3, 4, 9
DIM, HEADS, HEAD_DIM, HIDDEN, LAYERS, WORDS, CLASSES = 12, 2, 4, 14, 2, 23, 3
LRA_RATE, LM_RATE = 0.02, 0.01
CUTOFFS = 5, 12


class Distance(torch.nn.Module):
    """Stands for gpytorch's: the squares of Euclidean distances."""

    def _sq_dist(self, x, y, postprocess=False):
        return ((x[..., :, None, :] - y[..., None, :, :]) ** 2).sum(-1)


class Anything(types.ModuleType):
    """A module of which any name can be imported; what it gives is not run."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def stand_in(*names):
    for name in names:
        sys.modules[name] = Anything(name)
        sys.modules[name].__path__ = []


def seed_of(name):
    return Draw(name).generator.initial_seed()


def run(model, optimizer, next_rate, loss_of, batches):
    """One step for each batch; next_rate(step) sets the rate of the step after it."""
    losses = []
    for step, batch in enumerate(batches):
        loss = loss_of(model, batch)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        next_rate(step)
    return torch.tensor(losses, dtype=torch.float64)


# The Long Range Arena.

def lra_config(kind, key2, shifted, prior):
    return SimpleNamespace(
        attn_type=kind, key2=key2, multi_gauss=shifted, hard_em=prior == "hard",
        soft_em=prior == "em", embedding_dim=DIM, transformer_dim=DIM, num_head=HEADS,
        head_dim=HEAD_DIM, transformer_hidden_dim=HIDDEN, num_layers=LAYERS, vocab_size=WORDS,
        max_seq_len=LENGTH, num_classes=CLASSES, dropout_prob=0, attention_dropout=0,
        fixed_pos_emb=False, debug=False, norm_qk=False, tied_weights=False, cls_last_layer=False,
        cls_token=False, mg_layer1=False, mg_layer2=False, save_attn=False, track_kk=False, pi0=0.9,
        split_attn_type=False, add_performer=False, attention_grad_checkpointing=False,
        pooling_mode="MEAN", mixed_precision=False)


def lra_batches(name):
    draw, batches = Draw(name + " batches"), []
    for _ in range(STEPS):
        lengths = draw.ids(BATCH, low=2, high=LENGTH + 1)
        lengths[0] = LENGTH
        ids = draw.ids(BATCH, LENGTH, low=1, high=WORDS)
        ids[torch.arange(LENGTH)[None, :] >= lengths[:, None]] = 0
        batches.append((ids, draw.ids(BATCH, high=CLASSES)))
    return batches


def lra_loss(model, batch):
    ids, label = batch
    return model(ids, (ids != 0).to(torch.float64), label)["loss"].mean()


def lra(name, make, *config):
    torch.manual_seed(seed_of(name))
    model = make(lra_config(*config))
    saved = {"model_state_dict": {n: t.clone() for n, t in model.state_dict().items()}}
    model = model.double().train()
    for module in model.modules():  # their attention computes in float32
        if type(module).__name__ == "Attention":
            module.forward = types.MethodType(double_attention, module)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LRA_RATE, betas=(0.9, 0.999), eps=1e-6,
                                  weight_decay=0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer=optimizer, max_lr=LRA_RATE, pct_start=WARMUP / STEPS, anneal_strategy="linear",
        total_steps=STEPS)
    batches = lra_batches(name)
    losses = run(model, optimizer, lambda step: step + 1 < STEPS and schedule.step(), lra_loss,
                 batches)
    ids = torch.stack([ids.masked_fill(ids == 0, -1) for ids, _ in batches])
    targets = torch.stack([label[:, None] for _, label in batches])
    return saved, {"ids": ids, "targets": targets, "losses": losses}


def double_attention(self, x, mask):
    """Their Attention.forward without its conversions to float32."""
    q, k, v = (self.split_heads(f(x)) for f in (self.W_q, self.W_k, self.W_v))
    if self.key2:
        k = torch.cat([k, self.split_heads(self.W_k2(x))], dim=-1)
    return self.ff(self.combine_heads(self.attn(q, k, v, mask)))


# Language models.

def lm_batches(name):
    draw = Draw(name + " batches")
    return [draw.ids(BATCH, LENGTH + 1, high=WORDS) for _ in range(STEPS)]


def lm_loss(model, batch):
    return model(batch[:, :-1].T.contiguous(), batch[:, 1:].T)[0].mean()


def spread(model):
    """Random weights, larger than theirs, so that eight steps of all designs differ."""
    for name, tensor in model.named_parameters():
        if "layer_norm" not in name and ".pi" not in name:
            torch.nn.init.normal_(tensor, 0, 0.3)


def lm(name, module, mode, **adaptive):
    torch.manual_seed(seed_of(name))
    model = module.MemTransformerLM(
        WORDS, LAYERS, HEADS, DIM, HEAD_DIM, HIDDEN, 0, 0, tgt_len=LENGTH, ext_len=0, mem_len=0,
        attn_type=200 if mode else 2, device="cpu", **adaptive)
    for layer in model.layers if mode else ():  # DecoderLayer does not pass the mode on
        layer.dec_attn = module.MGKAttn(HEADS, DIM, HEAD_DIM, 0, update_mode=mode)
    spread(model)
    saved = {n: t.clone() for n, t in model.state_dict().items()}
    if adaptive:  # a state has no cutoffs, only a whole module has
        saved["crit.cutoffs"] = list(CUTOFFS)
    model = model.double().train()
    model.pos_emb.inv_freq = 1 / 10000 ** (torch.arange(0, DIM, 2).double() / DIM)
    optimizer = torch.optim.Adam(model.parameters(), lr=LM_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS, eta_min=0)

    def next_rate(step):
        if step + 1 < WARMUP:
            optimizer.param_groups[0]["lr"] = LM_RATE * (step + 1) / WARMUP
        else:
            schedule.step(step + 1)

    clipped = optimizer.step

    def step():
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        clipped()

    batches = lm_batches(name)
    losses = run(model, SimpleNamespace(zero_grad=optimizer.zero_grad, step=step), next_rate,
                 lm_loss, batches)
    return saved, {"ids": torch.stack([b[:, :-1] for b in batches]),
                   "targets": torch.stack([b[:, 1:] for b in batches]), "losses": losses}


def runs(repository):
    stand_in("gpytorch", "gpytorch.kernels", "gpytorch.kernels.kernel", "performer_pytorch",
             "utils.cuda_fast_weight_layer", "utils.fast_fast_weight", "utils.fast_transformers",
             "utils.fast_weight")
    sys.modules["gpytorch.kernels.kernel"].Distance = Distance
    torch.version.cuda = torch.version.cuda or "11.0"  # a module of theirs reads it
    sys.path.insert(0, str(repository / "lra"))
    from model_wrapper import ModelForSC
    sys.path.insert(0, str(repository / "language-modeling/lmtool-fwms/src"))
    import mem_transformer
    mem_transformer.pdb = SimpleNamespace(set_trace=lambda: None)
    for prior in ("learned", "em", "hard"):
        yield f"lra_mgk_{prior}", lra("lra mgk " + prior, ModelForSC, "softmax", True, False, prior)
        yield f"lra_smgk_{prior}", lra("lra smgk " + prior, ModelForSC, "softmax", False, True,
                                       prior)
    yield "lra_softmax", lra("lra softmax", ModelForSC, "softmax", False, False, "learned")
    yield "lra_linear", lra("lra linear", ModelForSC, "linear", False, False, "learned")
    yield "lra_mlk", lra("lra mlk", ModelForSC, "linear", True, False, "learned")
    yield "lra_smlk", lra("lra smlk", ModelForSC, "linear", False, True, "learned")
    for mode in (None, "rbf", "rbf2keys", "soft", "soft2keys", "hard", "hard2keys"):
        yield f"lm_{mode or 'softmax'}", lm(f"lm {mode}", mem_transformer, mode)
    for name, divisor in ("adaptive", 1), ("divided", 2):  # train.py ties maps so
        yield "lm_" + name, lm("lm " + name, mem_transformer, None, cutoffs=list(CUTOFFS),
                               div_val=divisor, tie_projs=[False, True, True])


def main():
    warnings.simplefilter("ignore")
    here = Path(__file__).parent
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else here / "training"
    folder.mkdir(parents=True, exist_ok=True)
    for name, (saved, expected) in runs(Path(sys.argv[1])):
        torch.save(saved, folder / f"{name}.pt")
        save_expected(folder / f"{name}.safetensors", expected)
        assert all(math.isfinite(x) for x in expected["losses"])
        print(name, *(f"{x:.6f}" for x in expected["losses"]))


if __name__ == "__main__":
    main()
