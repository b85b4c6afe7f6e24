/* SPDX-License-Identifier: MIT */
/* Labels attention with its tokens, or with words if sub-words are merged; and selects a part of
 * it. */
#include <stdio.h>
#include <string.h>

#include "analysis/measures/words.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "data/datasets/lines.h"
#include "plot/plot.h"

/* Reads the tokens of a file, one per line, into texts [count]. */
static mgk_status read_lines(const char *path, const mgk_mapping *file, size_t count,
                             mgk_plot_text *texts)
{
    mgk_lines lines = {.rest = {(const char *)file->data, file->size}};
    mgk_span line;
    while (mgk_next_line(&lines, &line))
        if (lines.number <= count)
            mgk_utf8_copy(line.data, line.size, texts[lines.number - 1], MGK_TOKEN_TEXT);
    if (lines.number != count)
        return mgk_fail(STATUS_SHAPE, "%s: %zu %s for matrices of %zu %s", path, lines.number,
                        MGK_NOUN(lines.number, "line", "lines"), count,
                        MGK_NOUN(count, "token", "tokens"));
    return STATUS_OK;
}

enum { MOST_BYTES = 1 << 28 }; /* size limit of a file of labels: more tokens than can be drawn */

static mgk_status read_file(const char *path, size_t count, mgk_plot_text *texts)
{
    mgk_mapping file;
    TRY(mgk_map_limited(path, MOST_BYTES, &file));
    mgk_status status = read_lines(path, &file, count, texts);
    mgk_unmap_file(&file);
    return status;
}

static mgk_status read_texts(const mgk_plot_options *o, const char *path, mgk_store_reader *reader,
                             int32_t sample, mgk_plot_matrices *m, const char **subword)
{
    const mgk_store_description *d = mgk_store_describe(reader);
    TRY(mgk_alloc((size_t)d->tokens, sizeof(*m->texts), &m->texts));
    *subword = "##";
    if (o->labels_file)
        return read_file(o->labels_file, m->panels.rows, m->texts);
    if (!d->token_text.subword)
        return mgk_fail(STATUS_FORMAT,
                        "%s: the file has no text of its tokens (`labels_file` gives one a line)",
                        path);
    *subword = d->token_text.subword;
    return mgk_store_read_token_text(reader, sample, m->texts);
}

/* Merges texts and matrices in place, because the results are smaller. */
static mgk_status merge_words(const char *subword, mgk_plot_matrices *m)
{
    mgk_panels *panels = &m->panels;
    size_t count = panels->rows, *words;
    TRY(mgk_alloc(count, sizeof(*words), &words));
    size_t word_count = mgk_words_of(m->labels, count, subword, words);
    for (size_t p = 0; p < panels->layers * panels->heads; p++) {
        float *matrix = m->values + p * panels->matrix_stride;
        mgk_words_merge(matrix, panels->row_stride, count, words, word_count, matrix);
    }
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && words[end] == words[first];)
            end++;
        mgk_words_join(m->labels + first, end - first, subword, m->texts[words[first]],
                       MGK_TOKEN_TEXT);
    }
    mgk_free(words);
    panels->rows = panels->cols = panels->row_stride = word_count;
    return STATUS_OK;
}

/* A visible replacement for a character; NULL: it is visible already. */
static const char *visible(char c, bool leading)
{
    if (c == ' ')
        return leading ? "\xe2\x90\xa3" : NULL; /* open box */
    if (c == '\n')
        return "\xe2\x86\xb5"; /* arrow down and to the left */
    if (c == '\t')
        return "\xe2\x87\xa5"; /* arrow to a bar */
    return (unsigned char)c < 0x20 || c == 0x7f ? "?" : NULL;
}

/* Leading white space marks the first token of a word, so it is drawn. */
void mgk_plot_make_visible(mgk_plot_text text)
{
    char out[3 * MGK_TOKEN_TEXT];
    size_t used = 0, spaces = strspn(text, " ");
    for (size_t i = 0; text[i]; i++) {
        const char *mark = visible(text[i], i < spaces);
        size_t size = mark ? strlen(mark) : 1;
        memcpy(out + used, mark ? mark : text + i, size);
        used += size;
    }
    mgk_utf8_copy(out, used, text, MGK_TOKEN_TEXT);
}

static mgk_status crop(const mgk_plot_options *o, const char *path, mgk_panels *panels)
{
    if (o->last == 0 && o->first == 0)
        return STATUS_OK;
    if ((size_t)o->last > panels->rows)
        return mgk_fail(STATUS_SHAPE, "%s: range %d:%d, but there %s %zu %s", path, o->first,
                        o->last, MGK_NOUN(panels->rows, "is", "are"), panels->rows,
                        o->words ? MGK_NOUN(panels->rows, "word", "words")
                                 : MGK_NOUN(panels->rows, "token", "tokens"));
    panels->first = (size_t)o->first;
    panels->rows = panels->cols = (size_t)(o->last - o->first);
    panels->f32 += panels->first * (panels->row_stride + 1);
    if (panels->labels)
        panels->labels += panels->first;
    return STATUS_OK;
}

/* Labels [count], pointers to texts. */
static mgk_status point_at(mgk_plot_text *texts, size_t count, const char ***labels)
{
    TRY(mgk_alloc(count, sizeof(**labels), labels));
    for (size_t i = 0; i < count; i++)
        (*labels)[i] = texts[i];
    return STATUS_OK;
}

/* Labels cross-attention: rows with the queries' tokens, columns with the keys'. */
static mgk_status label_cross(const mgk_plot_options *o, const char *path, mgk_store_reader *reader,
                              int32_t sample, mgk_plot_matrices *m)
{
    mgk_panels *panels = &m->panels;
    const char *subword;
    if (o->words || o->labels_file || o->first != 0 || o->last != 0)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: attention of one sequence to another is drawn whole: %s is about the "
                        "tokens of one sequence",
                        path,
                        o->words         ? "`words`"
                        : o->labels_file ? "`labels_file`"
                                         : "`last`");
    if (!o->labels)
        return STATUS_OK;
    TRY(read_texts(o, path, reader, sample, m, &subword));
    const int32_t keys = mgk_store_keys(mgk_store_describe(reader));
    TRY(mgk_alloc((size_t)keys, sizeof(*m->key_texts), &m->key_texts));
    TRY(mgk_store_read_key_token_text(reader, sample, m->key_texts));
    TRY(point_at(m->texts, panels->rows, &m->labels));
    TRY(point_at(m->key_texts, panels->cols, &m->key_labels));
    for (size_t i = 0; i < panels->rows; i++)
        mgk_plot_make_visible(m->texts[i]);
    for (size_t j = 0; j < panels->cols; j++)
        mgk_plot_make_visible(m->key_texts[j]);
    panels->labels = m->labels;
    panels->col_labels = m->key_labels;
    return STATUS_OK;
}

mgk_status mgk_plot_label(const mgk_plot_options *o, const char *path, mgk_store_reader *reader,
                          int32_t sample, mgk_plot_matrices *m)
{
    const char *subword;
    if (m->cross)
        return label_cross(o, path, reader, sample, m);
    if (!o->labels && !o->words && !o->labels_file)
        return crop(o, path, &m->panels);
    TRY(read_texts(o, path, reader, sample, m, &subword));
    TRY(point_at(m->texts, m->panels.rows, &m->labels));
    if (o->words)
        TRY(merge_words(subword, m));
    for (size_t i = 0; i < m->panels.rows; i++)
        mgk_plot_make_visible(m->texts[i]);
    m->panels.labels = m->labels;
    return crop(o, path, &m->panels);
}
