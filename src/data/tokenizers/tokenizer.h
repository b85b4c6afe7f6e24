/* SPDX-License-Identifier: MIT */
/*
 * Tokenizers of other software: they turn text into the ids that a model was trained on. Supported
 * are the files that Hugging Face's tokenizers store with a model, models of SentencePiece, and
 * plain lists of words:
 *
 *   tokenizer.json            WordPiece, BPE, Unigram or WordLevel, with all steps
 *   vocab.txt                 WordPiece, one token per line; tokenizer_config.json next to it
 *                             configures normalization (do_lower_case, strip_accents,
 *                             tokenize_chinese_chars)
 *   vocab.txt of an ESM       one token per line, a letter each, which tokenizer_class
 *                             EsmTokenizer or config.json next to it tells
 *   vocab.json + merges.txt   byte-level BPE of GPT-2 or RoBERTa
 *   tokenizer.model, spiece.model, sentencepiece.bpe.model, spm.model
 *                             BPE or Unigram of SentencePiece. The class that tokenizer_config.json
 *                             names, or the model_type of config.json, decides which ids pieces
 *                             have and which steps a text passes; without both, SentencePiece's own
 *   source.spm + vocab.json   Unigram of SentencePiece with the ids of Marian; target.spm, if it is
 *                             there, for what such a model writes
 *   tokenizer.bin             BPE of llama2.c
 *   a list of words           one word per line, optionally followed by a count; "<unk>" stands for
 *                             any other word, "<eos>", if listed, for the end of a line
 *
 * Those of SentencePiece also read added_tokens.json, special_tokens_map.json and, in
 * tokenizer_config.json, added_tokens_decoder, add_bos_token and the names of special tokens.
 *
 * Kinds are recognised by content. The rules are those of the tokenizers library, and for files
 * without tokenizer.json those of transformers: the same text gives the same ids. Bytes that are
 * not UTF-8 are read as U+FFFD, like Python's errors="replace".
 */
#ifndef MGK_DATA_TOKENIZER_H
#define MGK_DATA_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/buffer.h"

typedef struct mgk_tokenizer mgk_tokenizer;

/*
 * Opens one of the files above, or the first of them (in the order above) in a folder; release *out
 * with mgk_tokenizer_close. STATUS_IO: nothing can be read there; STATUS_FORMAT: malformed;
 * STATUS_UNSUPPORTED: an unknown kind or step.
 */
mgk_status mgk_tokenizer_open(const char *path, mgk_tokenizer **out);

/* The same for the texts that an encoder-decoder model writes, where their tokenizer is another. */
mgk_status mgk_tokenizer_open_target(const char *path, mgk_tokenizer **out);

/*
 * Opens the text of a tokenizer that a model of mgk-train carries: a tokenizer.json, a list of
 * words, or all files of another kind as {"files": {NAME: BASE64, ...}}. Bytes that are not UTF-8
 * stay what they are in byte-level BPE. *text_of writes such a text for a file or folder, with
 * errors as mgk_tokenizer_open has; release it with mgk_free.
 */
mgk_status mgk_tokenizer_open_text(const char *text, mgk_tokenizer **out);
mgk_status mgk_tokenizer_text_of(const char *path, char **text);

/* Leaves out the tokens around each sequence, for language models that were trained without. */
void mgk_tokenizer_drop_frame(mgk_tokenizer *tokenizer);

/* Whether texts may have any bytes: then each byte stays, whether the text is UTF-8 or not. */
bool mgk_tokenizer_keeps_bytes(const mgk_tokenizer *tokenizer);

/* Whether the folder contains a file whose name mgk_tokenizer_open accepts. */
bool mgk_tokenizer_in_folder(const char *folder);

/* Name `index` of the files in a folder from which a tokenizer may be read; NULL past the last. */
const char *mgk_tokenizer_file(size_t index);

void mgk_tokenizer_close(mgk_tokenizer *tokenizer); /* NULL is accepted */

/* What makes tokens of words, "BPE"; static. */
const char *mgk_tokenizer_kind(const mgk_tokenizer *tokenizer);

/* V: ids are in [0, V). */
int32_t mgk_tokenizer_vocabulary(const mgk_tokenizer *tokenizer);

/* How many of these ids, [count], stand for what is not in the vocabulary. */
size_t mgk_tokenizer_count_unknown(const mgk_tokenizer *tokenizer, const int32_t *ids,
                                   size_t count);

/* The tokens that a model expects around each sequence, such as [CLS] and [SEP]; often empty. */
typedef struct mgk_token_frame {
    const int32_t *before, *after; /* [before_count], [after_count] ids, owned by the tokenizer */
    size_t before_count, after_count;
} mgk_token_frame;

mgk_token_frame mgk_tokenizer_frame(const mgk_tokenizer *tokenizer);

/*
 * The readable text of a token, UTF-8, owned by the tokenizer: WordPiece's "##ing" as it is,
 * other tokens as their text with its leading space. Control characters are written "\n" or
 * "\x07", bytes that form no character "<0xE2>". "" for an unused id.
 */
const char *mgk_tokenizer_text(const mgk_tokenizer *tokenizer, int32_t id);

/* How tokens form words: "##": a token that begins with it continues a word; " ": a token that
 * begins with white space begins a word; "": every token is a word. See base/token_text.h. */
const char *mgk_tokenizer_subword(const mgk_tokenizer *tokenizer);

/* The memory of one encoding thread; any number may share a tokenizer, which must outlive them. */
typedef struct mgk_token_encoder mgk_token_encoder;

mgk_status mgk_token_encoder_open(const mgk_tokenizer *tokenizer, mgk_token_encoder **out);
void mgk_token_encoder_close(mgk_token_encoder *encoder); /* NULL is accepted */

/*
 * The last position at which a text of `size` bytes can be cut so that both parts, encoded
 * separately, give the ids of the whole, whatever text follows. 0: no such position is known for
 * this tokenizer.
 */
size_t mgk_tokenizer_cut(const mgk_tokenizer *tokenizer, const char *text, size_t size);

/*
 * Appends the ids (int32_t) of a text of `size` bytes, without the frame. STATUS_MEMORY;
 * STATUS_SHAPE: a word of 2 GiB or more; STATUS_UNSUPPORTED: a regular expression of the tokenizer
 * takes too many steps.
 */
mgk_status mgk_token_encode(mgk_token_encoder *encoder, const char *text, size_t size,
                            mgk_buffer *ids);

#endif
