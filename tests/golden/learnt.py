#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/golden/learnt: a small text, and the vocabularies that the trainers of Hugging Face's
`tokenizers` make of it.

Usage: python3 learnt.py [FOLDER]     (needs tokenizers)

  FOLDER/text.txt     the text, read as one
  FOLDER/tokens.txt   the tokens of byte-level BPE in the byte alphabet, in the order of their ids
  FOLDER/merges.txt   its merges
  FOLDER/words.txt    the words of WordLevel behind Lowercase and Whitespace
"""
import json
import os
import random
import sys

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

TOKENS, WORDS = 400, 60


def make_text():
    draw = random.Random(7)
    stems = "walk talk listen open build count measure head layer token matrix rank".split()
    other = ("Größe naïve Москва λόγος 日本語 don't we'll 1999 3.14 \"quoted\" back\\slash aaaa aaaaaaa ---- "
             "------- === <unk> ab.c").split()
    lines = []
    for _ in range(60):
        words = [draw.choice(other) if draw.random() < 0.2 else
                 draw.choice(stems) + draw.choice(["", "s", "ed", "ing", "er"]) for _ in range(draw.randint(3, 9))]
        lines.append(" ".join(words).capitalize() + draw.choice([".", "!", "\r", "  ", " = x\n"]))
    return "\n".join(lines) + "\n"


def by_id(tokenizer):
    vocabulary = json.loads(tokenizer.to_str())["model"]["vocab"]
    assert sorted(vocabulary.values()) == list(range(len(vocabulary)))
    return sorted(vocabulary, key=vocabulary.get)


def write(folder, name, lines):
    with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
        file.write("".join(line + "\n" for line in lines))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "learnt")
    os.makedirs(folder, exist_ok=True)
    text = make_text()
    with open(os.path.join(folder, "text.txt"), "w", encoding="utf-8", newline="") as file:
        file.write(text)

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.train_from_iterator([text], trainers.BpeTrainer(
        vocab_size=TOKENS, min_frequency=2, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    write(folder, "tokens.txt", by_id(bpe))
    merges = json.loads(bpe.to_str())["model"]["merges"]
    write(folder, "merges.txt", (m if isinstance(m, str) else " ".join(m) for m in merges))

    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator([text], trainers.WordLevelTrainer(
        vocab_size=WORDS, special_tokens=["<unk>"], show_progress=False))
    write(folder, "words.txt", by_id(words))


if __name__ == "__main__":
    main()
