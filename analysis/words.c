#include "analysis/words.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool is_special(const char *token)
{
    size_t length = strlen(token);
    return length > 2 && ((token[0] == '[' && token[length - 1] == ']') ||
                          (token[0] == '<' && token[length - 1] == '>'));
}

/* Whether the token goes on with the word of the one before. */
static bool continues(const char *before, const char *token, const char *subword)
{
    if (is_special(token) || is_special(before))
        return false;
    if (strcmp(subword, "##") == 0)
        return strncmp(token, "##", 2) == 0;
    return strcmp(subword, " ") == 0 && !isspace((unsigned char)token[0]);
}

size_t mgk_words_of(const char *const *tokens, size_t count, const char *subword, size_t *words)
{
    size_t word = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && !continues(tokens[i - 1], tokens[i], subword))
            word++;
        words[i] = word;
    }
    return count > 0 ? word + 1 : 0;
}

/* One word's row: the mean of its tokens' rows, summed over the tokens of each word. */
static double entry(const float *rows, size_t stride, size_t row_count, size_t first, size_t end)
{
    double sum = 0;
    for (size_t i = 0; i < row_count; i++)
        for (size_t j = first; j < end; j++)
            sum += (double)rows[i * stride + j];
    return sum / (double)row_count;
}

/* The token behind the last one of the word that `first` begins. */
static size_t end_of(const size_t *words, size_t count, size_t first)
{
    size_t end = first + 1;
    while (end < count && words[end] == words[first])
        end++;
    return end;
}

void mgk_words_merge(const float *matrix, size_t stride, size_t count, const size_t *words,
                     size_t word_count, float *out)
{
    for (size_t row = 0; row < count;) {
        size_t row_end = end_of(words, count, row);
        for (size_t column = 0; column < count;) {
            size_t column_end = end_of(words, count, column);
            double value = entry(matrix + row * stride, stride, row_end - row, column, column_end);
            out[words[row] * word_count + words[column]] = (float)value;
            column = column_end;
        }
        row = row_end;
    }
}
