/*
 * Tokenizers of other software: text becomes the ids that a model was trained on.
 *
 * Read are the files that Hugging Face's tokenizers leave with a model, and plain lists of words:
 *   tokenizer.json            WordPiece or byte-level BPE, with all their steps
 *   vocab.txt                 WordPiece, a token a line; tokenizer_config.json beside it says how
 *                             text is normalized (do_lower_case, strip_accents,
 *                             tokenize_chinese_chars)
 *   vocab.json + merges.txt   byte-level BPE of GPT-2 or RoBERTa
 *                             beside either: added_tokens.json, special_tokens_map.json and, in
 *                             tokenizer_config.json, added_tokens_decoder, add_bos_token and the
 *                             names of special tokens
 *   a list of words           a word a line, perhaps with a count behind it; "<unk>" stands for
 *                             any other word, "<eos>" for the end of a line where it is listed
 * Kinds are recognised by content. The rules are those of the tokenizers library: the same text
 * gives the same ids. Bytes that are no UTF-8 are read as U+FFFD, as Python's errors="replace"
 * does.
 */
#ifndef MGK_DATA_TOKENIZER_H
#define MGK_DATA_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/buffer.h"

typedef struct mgk_tokenizer mgk_tokenizer;

/*
 * Opens one of the files above, or the best one of a folder (in the order above); released with
 * mgk_tokenizer_close. STATUS_IO: nothing can be read there; STATUS_FORMAT: malformed;
 * STATUS_UNSUPPORTED: a kind or a step that is not known, such as SentencePiece.
 */
mgk_status mgk_tokenizer_open(const char *path, mgk_tokenizer **out);

/* Whether the folder holds a file that mgk_tokenizer_open would take by its name. */
bool mgk_tokenizer_in_folder(const char *folder);

/* Name number `index` of the files in a folder, or beside a file, that a tokenizer may be read
 * from, NULL past the last. */
const char *mgk_tokenizer_file(size_t index);

void mgk_tokenizer_close(mgk_tokenizer *tokenizer); /* NULL is accepted */

/* V: ids are in [0, V). */
int32_t mgk_tokenizer_vocabulary(const mgk_tokenizer *tokenizer);

/* The tokens that a model expects around each sequence, such as [CLS] and [SEP]; often none. */
typedef struct mgk_token_frame {
    const int32_t *before, *after; /* [before_count], [after_count] ids, owned by the tokenizer */
    size_t before_count, after_count;
} mgk_token_frame;

mgk_token_frame mgk_tokenizer_frame(const mgk_tokenizer *tokenizer);

/*
 * The text of a token as a reader wants to see it, UTF-8, owned by the tokenizer: "##ing" of
 * WordPiece as it is, byte-level tokens as their text with its leading space; control characters
 * are written "\n" or "\x07", bytes that are no character "<0xE2>". "" for an id that is none.
 */
const char *mgk_tokenizer_text(const mgk_tokenizer *tokenizer, int32_t id);

/*
 * How tokens make words: "##": one that begins with it continues a word; " ": one that begins with
 * white space begins a word; "": every token is a word. See base/token_text.h.
 */
const char *mgk_tokenizer_subword(const mgk_tokenizer *tokenizer);

/* The memory of one thread that encodes; any number may share a tokenizer, which must outlive it.
 */
typedef struct mgk_token_encoder mgk_token_encoder;

mgk_status mgk_token_encoder_open(const mgk_tokenizer *tokenizer, mgk_token_encoder **out);
void mgk_token_encoder_close(mgk_token_encoder *encoder); /* NULL is accepted */

/*
 * The last place at which a text of `size` bytes can be cut: what is before and what is behind have
 * the ids that they have together, whatever follows. 0: there is none, or none is known for this
 * tokenizer.
 */
size_t mgk_tokenizer_cut(const mgk_tokenizer *tokenizer, const char *text, size_t size);

/*
 * Appends the ids (int32_t) of the text of any `size` bytes, without the frame. STATUS_MEMORY;
 * STATUS_SHAPE: a word of 2 GiB or more; STATUS_UNSUPPORTED: a regular expression of the
 * tokenizer takes too many steps.
 */
mgk_status mgk_token_encode(mgk_token_encoder *encoder, const char *text, size_t size,
                            mgk_buffer *ids);

#endif
