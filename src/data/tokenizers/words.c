/* SPDX-License-Identifier: MIT */
/* Words that are tokens: WordLevel of tokenizer.json, and word lists, as Transformer-XL (Dai et al.
 * 2019) reads WikiText: lines are split at white space, and an end-of-line token follows each.
 * Texts whose letters are tokens, as ESM's (Lin et al. 2023), are split in this way between these.
 */
#include "base/utf8.h"
#include "data/tokenizers/tokenizer_private.h"
#include "data/tokenizers/unicode.h"

/* Like Python's str.split, which counts four ASCII separators as white space. */
static bool is_space(uint32_t code)
{
    return mgk_is_space(code) || (code >= 0x1c && code <= 0x1f);
}

static mgk_status end_line(mgk_token_encoder *encoder)
{
    int32_t id = encoder->tokenizer->end_of_line;
    return id < 0 ? STATUS_OK : mgk_emit(encoder, id);
}

static mgk_status encode_word(mgk_token_encoder *encoder, mgk_span word)
{
    int32_t id = mgk_vocabulary_find(&encoder->tokenizer->vocabulary, word);
    return mgk_emit(encoder, id < 0 ? encoder->tokenizer->unknown : id);
}

mgk_status mgk_split_words(mgk_token_encoder *encoder, mgk_span text,
                           mgk_status (*word)(mgk_token_encoder *encoder, mgk_span word),
                           mgk_status (*line)(mgk_token_encoder *encoder))
{
    size_t start = 0;
    uint32_t code = 0;
    for (size_t at = 0, size; at < text.size; at += size) {
        size = mgk_utf8_read(text.data + at, text.size - at, &code);
        if (!is_space(code))
            continue;
        if (at > start)
            TRY(word(encoder, (mgk_span){text.data + start, at - start}));
        start = at + size;
        if (code == '\r' && start < text.size && text.data[start] == '\n')
            continue; /* CR LF is one line end */
        if (code == '\n' || code == '\r')
            TRY(line(encoder));
    }
    if (text.size > start)
        TRY(word(encoder, (mgk_span){text.data + start, text.size - start}));
    return code == '\n' || code == '\r' ? STATUS_OK : line(encoder);
}

static mgk_status encode(mgk_token_encoder *encoder, mgk_span text)
{
    return mgk_split_words(encoder, text, encode_word, end_line);
}

const mgk_token_model mgk_words = {"words", true, true, encode};
const mgk_token_model mgk_letters = {"letters", true, true, encode};
const mgk_token_model mgk_word_level = {"WordLevel", true, false, encode_word};

mgk_status mgk_tokenizer_read_words(mgk_span list, mgk_tokenizer *tokenizer)
{
    mgk_lines lines = {.rest = list};
    mgk_span line, word;
    int64_t id = 0;
    tokenizer->model = &mgk_words;
    while (mgk_next_line(&lines, &line)) {
        char quoted[MGK_QUOTE_SIZE];
        if (!mgk_next_word(&line, &word))
            return mgk_fail(STATUS_FORMAT, "no list of words: line %zu is blank", lines.number);
        if (mgk_vocabulary_find(&tokenizer->vocabulary, word) >= 0)
            return mgk_fail(STATUS_FORMAT,
                            "no list of words, one a line: in line %zu \"%s\" stands twice",
                            lines.number, mgk_quote(word, quoted));
        TRY(mgk_vocabulary_set(&tokenizer->vocabulary, id++, word));
    }
    static const char *const names[] = {"<unk>", "<UNK>"};
    for (int i = 0; i < 2 && tokenizer->unknown < 0; i++)
        tokenizer->unknown = mgk_vocabulary_find(&tokenizer->vocabulary, (mgk_span){names[i], 5});
    tokenizer->end_of_line = mgk_vocabulary_find(&tokenizer->vocabulary, (mgk_span){"<eos>", 5});
    return STATUS_OK;
}
