/* SPDX-License-Identifier: MIT */
#include "plot/token_similarity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "run/job.h"
#include "run/recognise.h"

enum { USUAL_TOKENS = 24, NO_CLASS = -1 };

void mgk_token_similarity_free(mgk_token_similarity *s)
{
    mgk_store_close(s->reader);
    mgk_free(s->layers);
    mgk_free(s->heads);
    mgk_free(s->layer_numbers);
    mgk_free(s->head_numbers);
    mgk_free(s->words);
    mgk_reference_free(&s->reference);
    mgk_free(s->sums);
    mgk_free(s->counts);
    mgk_free(s->values);
    mgk_free(s->known);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* A store, and perhaps a reference, in either order. */
static mgk_status sort_inputs(const mgk_plot_options *o, mgk_token_similarity *s)
{
    for (size_t i = 0; i < o->input_count; i++) {
        mgk_file_kind kind;
        TRY(mgk_recognise(o->inputs[i], &kind));
        *(kind == MGK_FILE_ARRAYS ? &s->path : &s->reference_path) = o->inputs[i];
    }
    if (!s->path || o->input_count != (s->reference_path ? 2 : 1))
        return mgk_fail(STATUS_USAGE,
                        "performer 13: expected an attention store, and a matrix of similarities "
                        "as text or none");
    return s->reference_path ? mgk_reference_read(s->reference_path, &s->reference) : STATUS_OK;
}

static mgk_status open_store(const mgk_plot_options *o, mgk_token_similarity *s)
{
    TRY(mgk_store_open(s->path, NULL, &s->reader));
    const mgk_store_description *d = s->store = mgk_store_describe(s->reader);
    if (!mgk_store_has_tokens(s->reader) || !d->token_text.subword ||
        !(d->objects & MGK_STORE_BIT(STORE_ATTENTION)))
        return mgk_fail(STATUS_FORMAT, "%s: expected an attention store with tokens and their text",
                        s->path);
    if (d->cross)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: attention of one sequence to another", s->path);
    TRY(mgk_plot_choose(s->path, "layer", o->layers, o->layer_count, d->layer_index,
                        (size_t)d->layers, &s->layers, &s->layer_numbers, &s->layer_count));
    return mgk_plot_choose(s->path, "head", o->heads, o->head_count, d->head_index,
                           (size_t)d->heads, &s->heads, &s->head_numbers, &s->head_count);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const int32_t x = ((const mgk_similar_word *)a)->id, y = ((const mgk_similar_word *)b)->id;
    return (x > y) - (x < y);
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static mgk_similar_word *find_word(const mgk_token_similarity *s, int32_t id)
{
    const mgk_similar_word key = {.id = id};
    return bsearch(&key, s->words, s->word_count, sizeof(*s->words), by_id);
}

/* Counts the words among sorted ids [count], of which the first may be padding. */
static mgk_status count_words(mgk_token_similarity *s, const int32_t *ids, size_t count)
{
    TRY(mgk_alloc(count, sizeof(*s->words), &s->words));
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0)
            continue;
        if (s->word_count == 0 || s->words[s->word_count - 1].id != ids[i])
            s->words[s->word_count++] = (mgk_similar_word){.id = ids[i], .class = NO_CLASS};
        s->words[s->word_count - 1].count++;
    }
    return s->word_count > 0 ? STATUS_OK
                             : mgk_fail(STATUS_SHAPE, "%s: samples without tokens", s->path);
}

static mgk_status read_words(mgk_token_similarity *s)
{
    mgk_status status;
    const size_t tokens = (size_t)s->store->tokens, samples = (size_t)s->store->samples;
    int32_t *ids = NULL, length;
    mgk_plot_text *texts = NULL;
    CHECK(mgk_alloc(samples * tokens, sizeof(*ids), &ids));
    CHECK(mgk_alloc(tokens, sizeof(*texts), &texts));
    for (size_t i = 0; i < samples; i++)
        CHECK(mgk_store_read_tokens(s->reader, (int32_t)i, ids + i * tokens, &length));
    qsort(ids, samples * tokens, sizeof(*ids), by_number);
    CHECK(count_words(s, ids, samples * tokens));
    for (size_t i = 0; i < samples; i++) {
        CHECK(mgk_store_read_tokens(s->reader, (int32_t)i, ids, &length));
        CHECK(mgk_store_read_token_text(s->reader, (int32_t)i, texts));
        for (int32_t t = 0; t < length; t++) {
            mgk_similar_word *w = find_word(s, ids[t]);
            if (w && !*w->text)
                memcpy(w->text, texts[t], sizeof(w->text));
        }
    }
out:
    mgk_free(ids);
    mgk_free(texts);
    return status;
}

static void add_class(mgk_token_similarity *s, const char *label)
{
    snprintf(s->labels[s->classes], sizeof(mgk_plot_text), "%s", label);
    if (!s->reference_path)
        mgk_plot_make_visible(s->labels[s->classes]);
    s->label_list[s->classes] = s->labels[s->classes];
    s->classes++;
}

/* The tokens of the reference that occur, in its order. A token may have blanks in front. */
static void choose_known(mgk_token_similarity *s, int most)
{
    for (size_t r = 0; r < s->reference.count && s->classes < most; r++) {
        bool occurs = false;
        for (size_t i = 0; i < s->word_count; i++) {
            const char *text = s->words[i].text + strspn(s->words[i].text, " ");
            if (strcmp(text, s->reference.names[r]) == 0) {
                s->words[i].class = s->classes;
                occurs = true;
            }
        }
        if (occurs)
            add_class(s, s->reference.names[r]);
    }
}

static void choose_frequent(mgk_token_similarity *s, int most)
{
    while (s->classes < most) {
        mgk_similar_word *best = NULL;
        for (size_t i = 0; i < s->word_count; i++)
            if (s->words[i].class == NO_CLASS && (!best || s->words[i].count > best->count))
                best = &s->words[i];
        if (!best)
            return;
        best->class = s->classes;
        add_class(s, best->text);
    }
}

static mgk_status choose_words(const mgk_plot_options *o, mgk_token_similarity *s)
{
    const int wanted = o->tokens > 0       ? o->tokens
                       : s->reference_path ? MGK_SIMILAR_TOKENS
                                           : USUAL_TOKENS;
    if (wanted > MGK_SIMILAR_TOKENS)
        return mgk_fail(STATUS_USAGE, "%d tokens: expected at most %d", wanted, MGK_SIMILAR_TOKENS);
    if (s->reference_path)
        choose_known(s, wanted);
    else
        choose_frequent(s, wanted);
    return s->classes >= 2 ? STATUS_OK
                           : mgk_fail(STATUS_SHAPE, "%s: %d of its tokens %s in %s, expected 2",
                                      s->path, s->classes, s->classes == 1 ? "is" : "are",
                                      s->reference_path ? s->reference_path : "the figure");
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Adds the pairs of a matrix [N, N]; classes [length]. */
static void add_matrix(mgk_token_similarity *s, const double *matrix, const int *classes,
                       int32_t length)
{
    const size_t stride = (size_t)s->store->tokens;
    for (int32_t i = 0; i < length; i++) {
        const int32_t seen = s->store->causal ? i + 1 : length;
        for (int32_t j = 0; j < seen; j++) {
            if (i == j || classes[i] == NO_CLASS || classes[j] == NO_CLASS)
                continue;
            const size_t pair = (size_t)(classes[i] * s->classes + classes[j]);
            s->sums[pair] += matrix[(size_t)i * stride + (size_t)j] * seen;
            s->counts[pair]++;
        }
    }
}

static mgk_status add_sample(mgk_token_similarity *s, int32_t sample, double *matrix, int32_t *ids,
                             int *classes)
{
    int32_t length;
    TRY(mgk_store_read_tokens(s->reader, sample, ids, &length));
    for (int32_t t = 0; t < length; t++) {
        const mgk_similar_word *w = find_word(s, ids[t]);
        classes[t] = w ? w->class : NO_CLASS;
    }
    for (size_t l = 0; l < s->layer_count; l++)
        for (size_t h = 0; h < s->head_count; h++) {
            TRY(mgk_store_read_matrix(s->reader, sample, s->layers[l], s->heads[h], STORE_F64,
                                      matrix, NULL));
            add_matrix(s, matrix, classes, length);
        }
    return STATUS_OK;
}

static mgk_status add_samples(const mgk_plot_options *o, mgk_token_similarity *s)
{
    mgk_status status;
    const size_t tokens = (size_t)s->store->tokens, pairs = (size_t)(s->classes * s->classes);
    double *matrix = NULL;
    int32_t *ids = NULL;
    int *classes = NULL;
    CHECK(mgk_alloc(pairs, sizeof(double), &s->sums));
    CHECK(mgk_alloc(pairs, sizeof(double), &s->counts));
    CHECK(mgk_alloc(tokens * tokens, sizeof(*matrix), &matrix));
    CHECK(mgk_alloc(tokens, sizeof(*ids), &ids));
    CHECK(mgk_alloc(tokens, sizeof(*classes), &classes));
    for (int32_t i = 0; i < s->store->samples; i++) {
        CHECK(mgk_job_stopped(&o->job) ? mgk_fail(STATUS_INTERRUPTED, "interrupted") : STATUS_OK);
        CHECK(add_sample(s, i, matrix, ids, classes));
    }
out:
    mgk_free(matrix);
    mgk_free(ids);
    mgk_free(classes);
    return status;
}

/* Both orders of a pair together; NaN where tokens never meet. */
static mgk_status fill_values(mgk_token_similarity *s)
{
    const size_t k = (size_t)s->classes;
    TRY(mgk_alloc(k * k, sizeof(double), &s->values));
    TRY(mgk_alloc(k * k, sizeof(double), &s->known));
    for (size_t a = 0; a < k; a++)
        for (size_t b = 0; b < k; b++) {
            const size_t ab = a * k + b, ba = b * k + a;
            s->values[ab] = (s->sums[ab] + s->sums[ba]) / (s->counts[ab] + s->counts[ba]);
            if (!s->reference_path)
                continue;
            const size_t row = mgk_reference_find(&s->reference, s->labels[a]),
                         col = mgk_reference_find(&s->reference, s->labels[b]);
            s->known[ab] = s->reference.values[row * s->reference.count + col];
        }
    return STATUS_OK;
}

mgk_status mgk_token_similarity_measure(const mgk_plot_options *options, mgk_token_similarity *out)
{
    *out = (mgk_token_similarity){.path = NULL};
    TRY(sort_inputs(options, out));
    TRY(open_store(options, out));
    TRY(read_words(out));
    TRY(choose_words(options, out));
    TRY(add_samples(options, out));
    return fill_values(out);
}

/* Pearson's correlation of values and reference over the pairs of different tokens, *pairs of them;
 * NaN if one does not vary. */
static double correlation(const mgk_token_similarity *s, size_t *pairs)
{
    const size_t k = (size_t)s->classes;
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (int pass = 0; pass < 2; pass++) {
        const double mean_x = pass ? x / (double)*pairs : 0, mean_y = pass ? y / (double)*pairs : 0;
        *pairs = 0;
        for (size_t a = 0; a < k; a++)
            for (size_t b = a + 1; b < k; b++) {
                const double u = s->known[a * k + b], v = s->values[a * k + b];
                if (isnan(u) || isnan(v))
                    continue;
                ++*pairs;
                x += pass ? 0 : u;
                y += pass ? 0 : v;
                xx += pass ? (u - mean_x) * (u - mean_x) : 0;
                yy += pass ? (v - mean_y) * (v - mean_y) : 0;
                xy += pass ? (u - mean_x) * (v - mean_y) : 0;
            }
    }
    return xy / sqrt(xx * yy);
}

void mgk_token_similarity_agreement(const mgk_token_similarity *s, char *text, size_t size)
{
    size_t pairs;
    const double r = correlation(s, &pairs);
    if (isnan(r))
        snprintf(text, size, "no correlation: all pairs are alike, in one of both");
    else
        snprintf(text, size, "correlation %s%.2f over %zu pairs of different tokens",
                 r < 0 ? "\u2212" : "", fabs(r), pairs);
}
