/* SPDX-License-Identifier: MIT */
/*
 * Attention between words, from attention between their tokens (Clark et al. 2019): attention to a
 * word is the sum over its tokens, attention from a word is the mean, so that rows still sum to 1.
 */
#ifndef MGK_ANALYSIS_WORDS_H
#define MGK_ANALYSIS_WORDS_H

#include <stddef.h>

/*
 * Numbers the words: words [count] is 0 for the first token, then the same or one more. `subword`
 * is that of base/token_text.h. Special tokens, "[...]" and "<...>", are separate words, but
 * "<0xC3>", a byte of a character, is not special. Where words begin at white space, tokens of
 * white space alone belong to the following word. Returns the number of words.
 */
size_t mgk_words_of(const char *const *tokens, size_t count, const char *subword, size_t *words);

/*
 * Writes the text of a word of `count` >= 1 tokens to out [size], without sub-word marks and
 * leading white space, with its byte tokens joined to characters. Valid UTF-8, truncated to fit.
 */
void mgk_words_join(const char *const *tokens, size_t count, const char *subword, char *out,
                    size_t size);

/*
 * Merges a matrix [count, count], rows `stride` apart, to out [word_count, word_count], packed. out
 * may be the matrix itself, which is then overwritten.
 */
void mgk_words_merge(const float *matrix, size_t stride, size_t count, const size_t *words,
                     size_t word_count, float *out);

#endif
