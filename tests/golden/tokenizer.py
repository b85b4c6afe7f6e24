#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/golden/tokenizers: tiny tokenizers of every kind that is read, and what they make of
hard strings. The reference is Hugging Face's `tokenizers`; where a tokenizer is also written as
plain vocabulary files, `transformers` must read those alike.

Usage: python3 tokenizer.py [FOLDER]     (needs tokenizers and transformers)

  FOLDER/strings.txt      a string a line; bytes other than printable ASCII as \\xHH, and backslash
  FOLDER/KIND/ids.txt     "before | after": ids around each sequence; then the ids of each string
  FOLDER/KIND/...         tokenizer.json, and for some kinds the plain files
"""
import collections
import json
import os
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers, processors, trainers

LLAMA = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
         r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA.replace(r"\p{N}{1,3}", r"\p{N}")


def training_text():
    """Sentences of a small grammar, so that parts of words repeat."""
    draw = random.Random(1)
    stems = ("walk talk listen open build count measure head layer token matrix rank weight key "
             "query value kernel river stone winter garden letter number mixture").split()
    endings = ["", "s", "ed", "ing", "er", "ers", "able", "ness", "less"]
    small = "the a of and to in is that it for on with as was at by not this are from".split()
    other = ("Größe façade naïve niño Übung Ærø Ελλάδα λόγος Москва зима שלום مرحبا नमस्ते ไทย "
             "日本語 漢字 한국어 ﬁne don't we'll I'm you've they'd she's 1999 42 3.14 1,000,000").split()
    lines = []
    for _ in range(1500):
        words = []
        for _ in range(draw.randint(4, 14)):
            kind = draw.random()
            word = (draw.choice(small) if kind < 0.4 else
                    draw.choice(other) if kind > 0.93 else draw.choice(stems) + draw.choice(endings))
            words.append(word)
        lines.append(" ".join(words).capitalize() + draw.choice([".", "!", "?", " ...", ";"]))
    return lines


def hard_strings():
    s = ["", " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n\n", " \n ", "\t \t", "a", " a", "a ", "  a  b  "]
    s += ["Hello, world!", "hello world", "HELLO WORLD", "Walking talks, listened; opener?"]
    for contraction in "s t re ve m ll d S T RE VE M LL D Re vE lL".split():
        s += [f"it'{contraction}", f"we'{contraction} go", f"x' {contraction}", f"It’{contraction}"]
    s += ["'", "''", "'s", " 's", "'S's", "don't won't can't", "y'all'd've", "rock 'n' roll", "'ſ long s"]
    s += ["é", "e\u0301", "É", "E\u0301", "ÀÉÎÕÜ àéîõü", "naïve façade Größe", "Å \u212b A\u030a",
          "ạ̈ a\u0308\u0323 a\u0323\u0308", "ǆ ǅ Ǆ", "ß ẞ ss", "İstanbul ı I i", "ΟΔΟΣ ὁδός ς σ Σ", "ﬁ ﬂ ﬃ ﬀ",
          "Ω Ω K K Å", "ñ n\u0303 \u00d1", "q\u0307\u0323 q\u0323\u0307", "\u0301abc", "a\u0301\u0302\u0303\u0304\u0305",
          "ö" * 40, "o\u0308" * 40, "\u0344 \u0308\u0301", "Straße STRASSE", "œuvre Œ æ Æ", "Ⅷ ⅷ ① ② ½ ¾ x² H₂O"]
    s += ["日本語", "漢字かな交じり文", "中文 测试 chinese 中a文b", "㐀㐁 𠀀𠀁 𫝀 𫠠 𫢸 豈更", "walk𫠠talk walk𫤠talk walk𪜀talk", "한국어 텍스트", "한국",
          "カタカナ ｶﾀｶﾅ", "「引用」、。・", "ไทยภาษา", "สวัสดีครับ ก็ดี น้ำ", "ลาว ລາວ", "မြန်မာ", "ខ្មែរ",
          "العربية مَرْحَبًا", "ﷺ ﷲ لا", "עברית שָׁלוֹם", "नमस्ते हिन्दी क्षत्रिय", "தமிழ் மொழி", "తెలుగు ಕನ್ನಡ മലയാളം",
          "বাংলা ো", "ਪੰਜਾਬੀ ગુજરાતી", "ქართული ᲛᲐᲠᲗᲕᲔ", "Ծանոթ հայերեն", "Привет МИР й и\u0306 ё е\u0308",
          "Ґ ґ Ї ї Ў ў", "Ђђ Љљ Њњ", "አማርኛ", "ᚠᚢᚦ", "Ꭰ ꭰ", "각 각 각", "ོ ཱི བོད"]
    s += ["😀", "😀😃😄", "a😀b", "👍🏽 👍🏿", "👨‍👩‍👧‍👦 family", "🏳️‍🌈", "🇩🇪🇫🇷 🇯🇵", "❤ ❤️ ☺︎", "1️⃣ #️⃣",
          "👩🏾‍💻 codes", "\u200d\u200d", "\U0001f1e6", "✓✔︎ → ⇒ ∀x∈ℝ", "∑∫√∞≠≤", "♠♥♦♣", "𝐀𝐁𝒞 𝟙𝟚", "𐍈𐌰", "\U0010ffff \ue000"]
    s += ["\x00", "a\x00b", "\x01\x02 \x07bell", "a\x0bb\x0cc", "\x1b[31mred\x1b[0m", "\x7f", "\x85next\x85line", "\xa0nbsp\xa0",
          "\u2028line\u2029para", "a\u200bb zero", "\ufeffbom", "soft\xadhyphen", "\u2003em\u2009thin\u3000wide",
          "\u200eltr\u200f rtl \u202eabc\u202c", "\u1680ogham\u180emongol", "\ufffd \ufffe \uffff", "a\x1cb\x1dc\x1ed\x1fe", "\u061c\u2066x\u2069"]
    s += ["a" * 99, "a" * 100, "a" * 101, "walk" * 60, "ab" * 700, "the" + "s" * 300, " " * 257, "\n" * 130, "x" * 31, "x" * 30, "é" * 100,
          "é" * 101, "1" * 200, "!" * 150, "talking" * 15, "unwalkable" * 9 + "z", "日" * 101]
    s += ["walk  talk", "walk   talk ", " walk\ttalk\nlisten", "walk \n talk", "walk\n\n\ntalk", "   leading", "trailing   ", "\n leading",
          "trailing \n", "a  \n  b", "\t\ttabs", "if x:\n    return  y\n", "a\r\nb\rc\n", "   \n   \n", " \t\n\r ", "a \u00a0 b", "\u3000\u3000a"]
    s += ["0", "7", "42", "1999", "12345678", "1,000,000.50", "3.14159", "-1", "1e-6", "0x1F", "50%", "$9.99", "10:30", "2021-03-04", "1st 2nd",
          "²³¹", "٣٤٥", "१२३", "Ⅻ", "a1b2c3", "1a 2b", "³½", "１２３"]
    s += ["...", "!!!", "?!?!", "--", "—–-", "(a)", "[b]", "{c}", "<d>", "a.b.c", "e-mail", "user@example.com", "https://x.org/a?b=c&d#e",
          "C++ C# .NET", "a/b\\c", "\"quoted\"", "“curly” ‘single’", "«guillemets»", "a_b_c __init__", "#hash @at", "~`^|", "+-*/=", "¡Hola! ¿Qué?",
          "§ ¶ † ‡ •", "… ‥", "°C µm ±", "© ® ™", "€ £ ¥ ¢", "a'b\"c`d", "′″‴", "٪ ، ؛ ؟", "। ॥", "，。！？", "⁂※", "﹏＿", "a,b;c:d"]
    s += ["[CLS]", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "[cls]", "[CLS", "CLS]", "a[MASK]b", "a [MASK] b", "[MASK][MASK]", "[CLS] walk [SEP]",
          "[ CLS ]", "<s>", "</s>", "<mask>", "a <mask> b", "a  <mask>  b", "x<mask>y", "<pad><unk>", "<|endoftext|>", "walk<|endoftext|>talk",
          "walk <|endoftext|> talk", "<|endoftext|", "<|endoftext|><|endoftext|>", "<|begin_of_text|>hi", "<|eot_id|>\n\n", "<|start_header_id|>user<|end_header_id|>\n\nhello"]
    s += ["newtoken", "a newtoken b", "anewtokenb", "NewToken NEWTOKEN", " newtoken ", "xx lefty yy", "xx   lefty   yy", "xx righty yy",
          "xx   righty   yy", "lefty righty lefty", "righty  lefty", "single", "a single b", "singles", "asingle", "single,single.", "single_", "é single é", "singleé",
          "WÖRD wörd Wörd", "w\u00f6rd wo\u0308rd", "aawordbb", "word words wor", "word wordy wordyx", "both", "  both  both  ", "a both, b", "multi word token here", "multi  word token"]
    s += ["\u2581", "\u2581\u2581a", "a\u2581b \u2581c", " \u2581", "<0x41>", "<0xE2><0x82>", "a<unk>b", "<extra_id_0> a <extra_id_3>b", "``quoted''", "(a)-b", "<bos>x",
          "\uff76\uff9e \uff8a\uff9f \uff76", "\ufdfa\ufdfa", "\u1100\u1161\u11a8", "<|startoftext|>Walk <|ENDOFTEXT|>", "a\xb2\xb3b \xbc", "12345 1 22 333", "!!..,,", "a\u200b b\ufeff",
          "x\u2026y", "<|user|>  walk", "</s>  walk </s>", "<start_of_turn>user\n\n\nwalk<end_of_turn>", "<b>bold<b>", "      six     five", "\t\t\tx", "[MASK] [MASK]", "!\u0301 (\u0301", ">>fr<< walk", ">>xx<<walk", "a >>fr<<b", ">>fr< a", ">>fr<<", "walk </s> >>fr<<a"]
    draw = random.Random(2)
    parts = ["walk", "Talking", " ", "  ", "\n", "é", "e\u0301", "日", "😀", "'s", "'LL", "12", ".", "!?", "[MASK]", "<mask>", "newtoken", "single", "\xa0",
             "ß", "İ", "Σ", "<|endoftext|>", "of the", "\u200d", "ไ", "ש", "\t", "_", "Ω"]
    for _ in range(60):
        s.append("".join(draw.choice(parts) for _ in range(draw.randint(2, 9))))
    encoded = [x.encode("utf-8") for x in s]
    encoded += [b"\xff", b"a\xffb", b"\xc3", b"caf\xe9 latin", b"\xe2\x82", b"\xe2\x82 a", b"\xf0\x9f\x98", b"\xf0\x9f\x98\x80\x80", b"\xed\xa0\x80", b"\xc0\xaf",
                b"\xf4\x90\x80\x80", b"\xe0\x80\xaf", b"\xfe\xfe walk \xfd", b"walk\x80\x81\x82talk", b"\xef\xbb\xbfbom", b"\xf8\x88\x80\x80\x80 x"]
    return encoded


def wordpiece(lowercase, vocabulary, lines):
    """Letters, then the most frequent beginnings and continuations of words; the library's own
    trainer gives a different vocabulary every time."""
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    count = collections.Counter()
    for line in lines:
        for word, _ in t.pre_tokenizer.pre_tokenize_str(t.normalizer.normalize_str(line)):
            for cut in range(1, len(word) + 1):
                count[word[:cut]] += 1
                if cut < len(word):
                    count["##" + word[cut:]] += 1
    ascii_letters = [chr(c) for c in range(33, 127) if not (lowercase and chr(c).isupper())]
    letters = sorted({c for token in count for c in token.removeprefix("##")} | set(ascii_letters))
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + letters + ["##" + c for c in letters if c.isalnum()]
    tokens += sorted((token for token in count if token not in set(tokens)), key=lambda token: (-count[token], token))
    t.model = models.WordPiece({token: i for i, token in enumerate(tokens[:vocabulary])}, unk_token="[UNK]")
    t.add_special_tokens(tokens[:5])
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    t.decoder = decoders.WordPiece()
    return t


def mpnet(lines):
    """WordPiece with the special tokens of RoBERTa."""
    names = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>"]
    t = wordpiece(True, 600, lines)
    pieces = sorted(t.get_vocab(), key=t.get_vocab().get)[5:]

    def rename(tree):
        tree["model"]["vocab"] = {token: i for i, token in enumerate(names + pieces)}
        tree["added_tokens"] = []
    t = edited(t, rename)
    t.add_special_tokens(names[:4] + [AddedToken("<mask>", lstrip=True, normalized=False, special=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return t


def byte_level(vocabulary, lines, special, pre_tokenizer, normalizer=None):
    t = Tokenizer(models.BPE())
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = pre_tokenizer
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=special, show_progress=False,
                                                     initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.decoder = decoders.ByteLevel()
    return t


def edited(tokenizer, edit):
    """A tokenizer with its JSON changed."""
    tree = json.loads(tokenizer.to_str())
    edit(tree)
    return Tokenizer.from_str(json.dumps(tree))


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def plain_bytes():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def make_kinds():
    """Name: (tokenizer, the configuration of its plain files or None)."""
    lines = training_text()
    kinds = {}
    kinds["wordpiece-uncased"] = wordpiece(True, 900, lines), {}
    kinds["wordpiece-cased"] = wordpiece(False, 900, lines), {"do_lower_case": False}

    kinds["mpnet"] = mpnet(lines), {"tokenizer_class": "MPNetTokenizer"}

    t = byte_level(900, lines, ["<|endoftext|>"], pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    kinds["gpt2"] = t, {"tokenizer_class": "GPT2Tokenizer"}

    t = byte_level(600, lines, ["<pad>", "</s>"], pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.post_processor = processors.TemplateProcessing(single="</s> $A", special_tokens=[("</s>", 1)])
    kinds["opt"] = t, {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "bos_token": "</s>", "eos_token": "</s>", "unk_token": "</s>",
                       "pad_token": "<pad>"}

    special = ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, normalized=False, special=True)]
    t = byte_level(900, lines, special, pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    kinds["roberta"] = t, {"tokenizer_class": "RobertaTokenizer"}

    special = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"]
    t = byte_level(900, lines, special, pre_tokenizers.Sequence([split(LLAMA), plain_bytes()]))
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", 0)])])

    def whole_words(tree):
        # A word that no merge reaches, so that only ignore_merges finds it. Merges are also read as
        # pairs.
        tree["model"]["ignore_merges"] = True
        tree["model"]["vocab"]["Ġxyzzy"] = len(tree["model"]["vocab"])
        tree["model"]["vocab"]["HELLO"] = len(tree["model"]["vocab"])
    kinds["llama3"] = edited(t, whole_words), None

    kinds["qwen"] = byte_level(900, lines, ["<|endoftext|>"], pre_tokenizers.Sequence([split(QWEN), plain_bytes()]), normalizers.NFC()), None

    t = Tokenizer(models.WordLevel(unk_token="<unk>"))
    t.normalizer = normalizers.Lowercase()
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.train_from_iterator(lines, trainers.WordLevelTrainer(vocab_size=150, special_tokens=["<unk>"], show_progress=False))
    kinds["word-level"] = t, None

    # Added tokens with every property, some found in normalized text.
    t = wordpiece(True, 600, lines)
    t.add_tokens([AddedToken("newtoken", normalized=False), AddedToken("Wörd", normalized=True), AddedToken("lefty", lstrip=True, normalized=False),
                  AddedToken("righty", rstrip=True, normalized=True), AddedToken("single", single_word=True, normalized=False),
                  AddedToken("both", lstrip=True, rstrip=True, single_word=True), AddedToken("multi word token"), AddedToken("wordy")])
    kinds["added"] = t, None

    # Steps that no other kind has; and bytes that are in no vocabulary.
    t = byte_level(600, lines, ["<unk>"],
                   pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), split(r"[_#]+", "removed"), split(r"[^!]+|!", "removed", True),
                                            pre_tokenizers.Split("()", "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=True)]),
                   normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.NFKC()]))

    def forget(tree):
        model = tree["model"]
        gone = set("0123!xĠ") & set(model["vocab"]) - {"Ġ"}
        model["unk_token"], model["fuse_unk"] = "<unk>", True
        model["merges"] = [m for m in model["merges"] if not gone & set("".join(m))]
        kept = [token for token in model["vocab"] if not gone & set(token)]
        model["vocab"] = {token: i for i, token in enumerate(sorted(kept, key=model["vocab"].get))}
        tree["post_processor"] = None
    kinds["steps"] = edited(t, forget), None
    return kinds


def frame(tokenizer):
    """The ids before and after a sequence."""
    ids, mask = (lambda e: (e.ids, e.special_tokens_mask))(tokenizer.encode("of"))
    inside = [i for i, special in enumerate(mask) if not special]
    return ids[:inside[0]], ids[inside[-1] + 1:]


def write_plain(folder, tokenizer, config, strings):
    """Writes vocab.txt, or vocab.json and merges.txt; returns whether transformers reads them alike."""
    import transformers
    tokenizer.model.save(folder)
    wordpiece_kind = isinstance(tokenizer.model, models.WordPiece)
    if config:
        with open(os.path.join(folder, "tokenizer_config.json"), "w") as file:
            json.dump(config, file)
            file.write("\n")
    if wordpiece_kind:
        kind = getattr(transformers, config.get("tokenizer_class", "BertTokenizerFast"))
        options = {key: value for key, value in config.items() if key != "tokenizer_class"}
        theirs = kind(vocab=os.path.join(folder, "vocab.txt"), **options)
    else:
        kind = getattr(transformers, config["tokenizer_class"])
        # As in roberta-base; the class itself adds them only up to version 4.
        special = {key: value for key, value in config.items() if key != "tokenizer_class"}
        if "Roberta" in config["tokenizer_class"]:
            special["mask_token"] = AddedToken("<mask>", lstrip=True, special=True)
        theirs = kind(vocab=os.path.join(folder, "vocab.json"), merges=os.path.join(folder, "merges.txt"), **special)
    for string in strings:
        text = string.decode("utf-8", errors="replace")
        ours = tokenizer.encode(text, add_special_tokens=False).ids
        if theirs(text, add_special_tokens=False)["input_ids"] != ours:
            print(f"{folder}: transformers reads {text!r} otherwise: {theirs(text, add_special_tokens=False)['input_ids']} {ours}")


def escape(data):
    return "".join(chr(b) if 32 <= b < 127 and b != 92 else f"\\x{b:02x}" for b in data)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizers")
    strings = hard_strings()
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "strings.txt"), "w") as file:
        file.writelines(escape(s) + "\n" for s in strings)
    for name, (tokenizer, config) in make_kinds().items():
        place = os.path.join(folder, name)
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "tokenizer.json"), "w", encoding="utf-8") as file:
            json.dump(json.loads(tokenizer.to_str()), file, ensure_ascii=False, separators=(",", ":"))
            file.write("\n")
        with open(os.path.join(place, "ids.txt"), "w") as file:
            before, after = frame(tokenizer)
            file.write(" ".join(map(str, before)) + " | " + " ".join(map(str, after)) + "\n")
            for string in strings:
                text = string.decode("utf-8", errors="replace")
                file.write(" ".join(map(str, tokenizer.encode(text, add_special_tokens=False).ids)) + "\n")
        if config is not None:
            write_plain(place, tokenizer, config, strings)
    print(f"{len(strings)} strings")


if __name__ == "__main__":
    main()
