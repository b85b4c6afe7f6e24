#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a tiny tokenizer of each family of models in tests/golden/tokenizers, configured as the family's
own files are, and what it makes of the hard strings of tokenizer.py, which runs first.

Usage: python3 tokenizer_families.py [FOLDER]

The reference is transformers 5.24 with tokenizers 0.23 and sentencepiece 0.2. The families of SentencePiece
are trained with that library, which writes a .model; transformers reads it, and what it made of it is written
as tokenizer.json. So both files must give the ids.

  FOLDER/FAMILY/ids.txt   as in tokenizer.py
  FOLDER/FAMILY/...       tokenizer.json, the .model, and tokenizer_config.json
"""
import collections
import contextlib
import io
import json
import os
import struct
import sys
import tempfile

import sentencepiece
import transformers
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers, processors

import tokenizer as plain

# A few rules of the kinds that nmt_nfkc has: its own table has 240 KB.
RULES = {"\ufb01": "fi", "\ufb02": "fl", "\ufb00": "ff", "\u2460": "1", "\u2461": "2", "\xbd": "1\u20442", "\xb2": "2", "\u212b": "\xc5",
         "e\u0301": "\xe9", "n\u0303": "\xf1", "o\u0308": "\xf6", "\uff76": "\u30ab", "\uff76\uff9e": "\u30ac", "\uff8a\uff9f": "\u30d1",
         "\uff8a": "\u30cf", "\uff11": "1", "\uff12": "2", "\uff13": "3", "\xa0": " ", "\u3000": " ", "\t": " ", "\n": " ", "\r": " ",
         "\u2028": " ", "\u200b": "", "\ufeff": "", "\x01": "", "\u2026": "...", "\ufdfa": "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647",
         "\u1100\u1161\u11a8": "\uac01", "\u0344": "\u0308\u0301", "\u201c": "\"", "\u201d": "\"", "\uff01": "!", "\u2167": "VIII"}


def train(path, lines, **options):
    """Writes a SentencePiece model."""
    model = io.BytesIO()
    path = os.path.abspath(path)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with open("rules.tsv", "w") as rules:  # the model contains this name
            for old, new in sorted(RULES.items()):
                rules.write(" ".join(f"{ord(c):X}" for c in old) + "\t" + " ".join(f"{ord(c):X}" for c in new) + "\n")
        if options.get("model_type") == "unigram":
            options = {"normalization_rule_tsv": "rules.tsv", **options}
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, num_threads=1, minloglevel=2,
                                                 hard_vocab_limit=False, **{"vocab_size": 450, "character_coverage": 0.998, **options})
    with open(path, "wb") as file:
        file.write(model.getvalue())


BPE = dict(model_type="bpe", byte_fallback=True, vocab_size=700, normalization_rule_name="identity", remove_extra_whitespaces=False,
           allow_whitespace_only_pieces=True, split_digits=True, character_coverage=0.98)
LLAMA = dict(BPE, unk_id=0, bos_id=1, eos_id=2, pad_id=-1)
GEMMA = dict(BPE, pad_id=0, eos_id=1, bos_id=2, unk_id=3, eos_piece="<eos>", bos_piece="<bos>", add_dummy_prefix=False,
             user_defined_symbols=["<mask>", "<start_of_turn>", "<end_of_turn>", "\n", "\n\n", "\u2581\u2581", "\u2581\u2581\u2581\u2581", "<b>"])
UNIGRAM = dict(model_type="unigram")
FAIRSEQ = dict(UNIGRAM, unk_id=0, bos_id=1, eos_id=2, pad_id=-1)
ALBERT = dict(UNIGRAM, pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols=["[CLS]", "[SEP]"],
              user_defined_symbols=["[MASK]", "(", ")", "\"", "-"])
DEBERTA = dict(UNIGRAM, pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]")

# Family: (file, how it is trained, tokenizer_config.json).
PIECES = {
    "llama": ("tokenizer.model", LLAMA, {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False}),
    "gemma": ("tokenizer.model", GEMMA, {"tokenizer_class": "GemmaTokenizer", "add_bos_token": True, "add_eos_token": False}),
    "t5": ("spiece.model", dict(UNIGRAM, pad_id=0, eos_id=1, unk_id=2, bos_id=-1), {"tokenizer_class": "T5Tokenizer", "extra_ids": 4}),
    "albert": ("spiece.model", ALBERT, {"tokenizer_class": "AlbertTokenizer"}),
    "xlm-roberta": ("sentencepiece.bpe.model", FAIRSEQ, {"tokenizer_class": "XLMRobertaTokenizer"}),
    "camembert": ("sentencepiece.bpe.model", FAIRSEQ, {"tokenizer_class": "CamembertTokenizer"}),
    "deberta-v2": ("spm.model", DEBERTA, {"tokenizer_class": "DebertaV2Tokenizer", "do_lower_case": False, "split_by_punct": True}),
}


def metaspace(scheme, split=True):
    return pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme=scheme, split=split)


def template(single, *special):
    return processors.TemplateProcessing(single=single, special_tokens=list(special))


def legacy_llama(tree):
    """As conversions of transformers 4 wrote it for Llama 2, Phi-3 and Mistral."""
    tree["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"},
                                                              {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}
    tree["pre_tokenizer"] = None
    tree["model"]["unk_token"] = "<unk>"
    for token in tree["added_tokens"]:
        token["rstrip"] = token["content"] == "</s>"
    tree["added_tokens"].append({"id": 700, "content": "<|user|>", "single_word": False, "lstrip": False, "rstrip": True, "normalized": False,
                                 "special": True})


def flan_t5(tree):
    """As conversions of transformers 4 wrote it, and with bytes for what is no piece."""
    replace = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\u2581"}
    tree["normalizer"] = {"type": "Sequence", "normalizers": [tree["normalizer"], {"type": "Strip", "strip_left": False, "strip_right": True}, replace]}
    tree["pre_tokenizer"] = {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True, "prepend_scheme": "always"}
    tree["model"]["byte_fallback"] = True
    tree["model"]["vocab"] += [[f"<0x{byte:02X}>", -20.0] for byte in range(256)]


def other_steps(tree):
    """Steps that no family has, and characters without a token: some with bytes, some without."""
    regex = lambda pattern, behavior, invert=False: {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}
    if tree["model"]["type"] == "BPE":
        tree["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "},
                                                                  {"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "NFC"}]}
        tree["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
            {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False},
            {"type": "Punctuation", "behavior": "MergedWithPrevious"}, regex("[aeiou]", "MergedWithNext"), regex("th|he", "Contiguous", True)]}
        tree["model"].update(unk_token="<unk>", fuse_unk=False, ignore_merges=True)
        gone = [f"<0x{byte:02X}>" for byte in range(0x80, 0xC4)]
        tree["model"]["vocab"] = {token: i for token, i in tree["model"]["vocab"].items() if token not in gone}
    else:
        tree["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, {"type": "Prepend", "prepend": "xa "}]}
        tree["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
            {"type": "Whitespace"}, {"type": "CharDelimiterSplit", "delimiter": "k"}, {"type": "Punctuation", "behavior": "Contiguous"},
            {"type": "Digits", "individual_digits": False}, regex("[a-f]*", "MergedWithPrevious", True),
            {"type": "Metaspace", "replacement": "_", "prepend_scheme": "never", "split": True}]}
        tree["model"]["byte_fallback"] = True
        tree["model"]["vocab"] += [[f"<0x{byte:02X}>", -20.0] for byte in range(0x40, 0xE4)]


def byte_families(lines):
    """Families of byte-level BPE whose steps differ."""
    families = {}
    bytes_of = plain.byte_level
    end = "<|endoftext|>"
    spaces = [AddedToken(" " * count, normalized=True) for count in (6, 4, 3, 2)] + [AddedToken("\t\t", normalized=True)]

    t = bytes_of(700, lines, [end], pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    t.add_tokens(spaces)
    families["phi"] = t

    t = bytes_of(700, lines, [end, "<|padding|>"], pre_tokenizers.ByteLevel(add_prefix_space=False), normalizers.NFC())
    t.add_tokens(spaces)
    families["gpt-neox"] = t

    bloom = pre_tokenizers.Sequence([plain.split(" ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"),
                                     pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    families["bloom"] = bytes_of(700, lines, ["<unk>", "<s>", "</s>", "<pad>"], bloom)

    falcon = pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
                                      pre_tokenizers.Digits(individual_digits=False), plain.split("[0-9][0-9][0-9]")])
    families["falcon"] = bytes_of(700, lines, [end], falcon)

    mask = AddedToken("[MASK]", lstrip=True, special=True)
    t = bytes_of(700, lines, ["[UNK]", "[CLS]", "[SEP]", "[PAD]", mask], pre_tokenizers.ByteLevel(add_prefix_space=False), normalizers.NFC())
    t.post_processor = template("[CLS] $A [SEP]", ("[CLS]", 1), ("[SEP]", 2))
    t.add_tokens(spaces)
    families["modernbert"] = t

    t = bytes_of(700, lines, [end, "<|startoftranscript|>", "<|notimestamps|>"], pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.post_processor = template("<|startoftranscript|> <|notimestamps|> $A <|endoftext|>", ("<|startoftranscript|>", 1), ("<|notimestamps|>", 2), (end, 0))
    families["whisper"] = t
    families["clip"] = clip(lines)
    return families


def clip(lines):
    normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    words = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
    split = pre_tokenizers.Sequence([plain.split(words, "removed", True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    count = collections.Counter(word for line in lines for word, _ in split.pre_tokenize_str(normalizer.normalize_str(line)))
    # The library's trainer orders tokens with a suffix differently every time.
    parts = {word: list(word[:-1]) + [word[-1] + "</w>"] for word in count}
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = ["<|startoftext|>", "<|endoftext|>"] + alphabet + [letter + "</w>" for letter in alphabet]
    merges = []
    for _ in range(250):
        pairs = collections.Counter()
        for word, symbols in parts.items():
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += count[word]
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        tokens.append("".join(best))
        for symbols in parts.values():
            for i in range(len(symbols) - 1):
                if tuple(symbols[i:i + 2]) == best:
                    symbols[i:i + 2] = ["".join(best)]
    unknown = [token for i, token in enumerate(tokens) if i % 37 == 36]  # so that some bytes are
    kept = [token for token in tokens if token not in unknown]
    merges = [pair for pair in merges if not {*pair, "".join(pair)} & set(unknown)]
    vocabulary = {token: i for i, token in enumerate(dict.fromkeys(kept))}
    t = Tokenizer(plain.models.BPE(vocabulary, merges, unk_token="<|endoftext|>", end_of_word_suffix="</w>", continuing_subword_prefix="", fuse_unk=False))
    t.normalizer = normalizer
    t.pre_tokenizer = split
    t.add_special_tokens(["<|startoftext|>", "<|endoftext|>"])
    t.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0), trim_offsets=False, add_prefix_space=False)
    return t


def write_ids(place, encode, before, after, strings):
    with open(os.path.join(place, "ids.txt"), "w") as file:
        file.write(" ".join(map(str, before)) + " | " + " ".join(map(str, after)) + "\n")
        for string in strings:
            file.write(" ".join(map(str, encode(string.decode("utf-8", errors="replace")))) + "\n")


def write(place, tokenizer, strings):
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump(json.loads(tokenizer.to_str()), file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")
    write_ids(place, lambda text: tokenizer.encode(text, add_special_tokens=False).ids, *plain.frame(tokenizer), strings)


def write_json(place, name, tree):
    with open(os.path.join(place, name), "w", encoding="utf-8") as file:
        json.dump(tree, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


def write_alone(top, lines, strings):
    """Models without a class, which SentencePiece itself reads."""
    bpe = dict(model_type="bpe", vocab_size=600, byte_fallback=True, normalization_rule_name="identity", character_coverage=0.99,
               user_defined_symbols=["<b>", "[MASK]", "[MAS", "alkin"])
    for name, options in (("pieces-unigram", UNIGRAM), ("pieces-bpe", bpe)):
        place = os.path.join(top, name)
        os.makedirs(place, exist_ok=True)
        train(os.path.join(place, "tokenizer.model"), lines, **options)
        theirs = sentencepiece.SentencePieceProcessor(model_file=os.path.join(place, "tokenizer.model"))
        write_ids(place, theirs.encode, [], [], strings)


def write_marian(top, lines, strings):
    place = os.path.join(top, "marian")
    os.makedirs(place, exist_ok=True)
    source = os.path.join(place, "source.spm")
    train(source, lines, **dict(UNIGRAM, eos_id=0, unk_id=1, bos_id=-1, pad_id=-1))
    pieces = sentencepiece.SentencePieceProcessor(model_file=source)
    names = [pieces.id_to_piece(i) for i in range(pieces.get_piece_size())]
    # The order differs, a piece has no id, and a run of unknown characters has one.
    words = ["</s>", "<unk>"] + sorted(names[2:-1]) + [">>fr<<", "\u65e5\u672c", "<pad>"]
    write_json(place, "vocab.json", {word: i for i, word in enumerate(words)})
    write_json(place, "tokenizer_config.json", {"tokenizer_class": "MarianTokenizer"})
    theirs = transformers.MarianTokenizer(source_spm=source, target_spm=source, vocab=os.path.join(place, "vocab.json"))
    write_ids(place, lambda text: theirs(text, add_special_tokens=False)["input_ids"], [], [0], strings)


def write_llama2c(top, strings):
    """The tokenizer of llama2.c: its export of a model, and its encoding, transcribed."""
    place = os.path.join(top, "llama2c")
    os.makedirs(place, exist_ok=True)
    pieces = sentencepiece.SentencePieceProcessor(model_file=os.path.join(top, "llama", "tokenizer.model"))
    tokens = [pieces.id_to_piece(i).replace("\u2581", " ").encode() for i in range(pieces.get_piece_size())]
    tokens[1], tokens[2] = b"\n<s>\n", b"\n</s>\n"
    scores = [pieces.get_score(i) for i in range(len(tokens))]
    with open(os.path.join(place, "tokenizer.bin"), "wb") as file:
        file.write(struct.pack("<I", max(map(len, tokens))))
        for token, score in zip(tokens, scores):
            file.write(struct.pack("<fI", score, len(token)) + token)
    number = {token: i for i, token in reversed(list(enumerate(tokens)))}

    def encode(text):
        ids = [number[b" "]] if text else []
        for character in text:
            letter = character.encode()
            ids += [number[letter]] if letter in number else [byte + 3 for byte in letter]
        while True:
            pairs = [(number[tokens[a] + tokens[b]], i) for i, (a, b) in enumerate(zip(ids, ids[1:])) if tokens[a] + tokens[b] in number]
            if not pairs:
                return ids
            best, i = max(pairs, key=lambda pair: (scores[pair[0]], -pair[1]))
            ids[i:i + 2] = [best]
    write_ids(place, encode, [1], [], strings)


def write_esm(top, strings):
    """The tokenizer of ESM, whose letters are tokens, with the files of its models."""
    place = os.path.join(top, "esm")
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "vocab.txt"), "w") as file:
        file.write("\n".join(["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>"]))
    write_json(place, "tokenizer_config.json", {"tokenizer_class": "EsmTokenizer"})
    theirs = transformers.EsmTokenizer(vocab_file=os.path.join(place, "vocab.txt"))
    write_ids(place, lambda text: theirs(text, add_special_tokens=False)["input_ids"], [0], [2], strings)


def main():
    top = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizers")
    lines, strings = plain.training_text(), plain.hard_strings()
    for name, (file, options, config) in PIECES.items():
        place = os.path.join(top, name)
        os.makedirs(place, exist_ok=True)
        for old in os.listdir(place):
            os.remove(os.path.join(place, old))
        train(os.path.join(place, file), lines, **options)
        with open(os.path.join(place, "tokenizer_config.json"), "w") as out:
            json.dump(config, out)
            out.write("\n")
        theirs = transformers.AutoTokenizer.from_pretrained(place).backend_tokenizer
        write(place, theirs, strings)
        if name in ("llama", "t5"):
            write(os.path.join(top, "steps-" + name), plain.edited(theirs, other_steps), strings)
        if name == "llama":
            write(os.path.join(top, "llama-legacy"), plain.edited(theirs, legacy_llama), strings)
        if name == "t5":
            write(os.path.join(top, "flan-t5"), plain.edited(theirs, flan_t5), strings)
    write_alone(top, lines, strings)
    write_marian(top, lines, strings)
    write_llama2c(top, strings)
    write_esm(top, strings)
    for name, tokenizer in byte_families(lines).items():
        write(os.path.join(top, name), tokenizer, strings)


if __name__ == "__main__":
    main()
