/*
 * Attention between words, from attention between the tokens that they were split into (Clark et
 * al. 2019): attention to a word is the sum over its tokens, attention from it the mean, so that
 * rows which sum to 1 still do.
 */
#ifndef MGK_ANALYSIS_WORDS_H
#define MGK_ANALYSIS_WORDS_H

#include <stddef.h>

/*
 * The word that each token belongs to: words [count], 0 for the first token, then the same or one
 * more. `subword` is that of base/token_text.h; "[...]" and "<...>", as special tokens look, are
 * words of their own, but "<0xC3>", a byte of a character, is not special. Where words begin at
 * white space, tokens of nothing else belong to the word that follows. Returns the number of words.
 */
size_t mgk_words_of(const char *const *tokens, size_t count, const char *subword, size_t *words);

/*
 * The text of a word of `count` tokens, at least one, into out [size]: without the marks of
 * sub-words and the white space in front, its bytes made characters again. Valid UTF-8, cut where
 * it does not fit.
 */
void mgk_words_join(const char *const *tokens, size_t count, const char *subword, char *out,
                    size_t size);

/*
 * Merges a matrix [count, count], rows `stride` apart, into out [word_count, word_count], rows
 * close together. out may be the matrix itself if the caller gives up the rest of it.
 */
void mgk_words_merge(const float *matrix, size_t stride, size_t count, const size_t *words,
                     size_t word_count, float *out);

#endif
