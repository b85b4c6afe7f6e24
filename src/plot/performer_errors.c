/* SPDX-License-Identifier: MIT */
/*
 * Draws figure 14 of the Performers' paper: the error of a model that runs as another kind against
 * the layer. Errors of a layer's own are those that the store has; against the run of the model as
 * it is, matrices differ by the errors of the layers below too.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/number.h"
#include "plot/measures.h"
#include "plots/charts/curves.h"
#include "run/approximation.h"
#include "run/job.h"
#include "run/recognise.h"

/* Errors of a layer: median and quartiles over samples and heads. */
typedef struct error_line {
    double *lower, *median, *upper; /* [layers] */
} error_line;

typedef struct error_store {
    const char *path;
    mgk_store_reader *reader;
    const mgk_store_description *d;
    int32_t *layers, *numbers, *heads, *head_numbers; /* chosen positions, and numbers */
    size_t layer_count, head_count;
    double *x; /* [layer_count] */
    char title[MGK_PLOT_TITLE];
} error_store;

typedef struct picture {
    const mgk_plot_options *options;
    error_store stores[MGK_GROUPS_MAX]; /* of models that ran as another kind, [count] */
    size_t count;
    error_store own; /* path NULL: none */
    mgk_arena arena;
} picture;

/* The error of a head of a sample, by its positions. */
typedef mgk_status error_fn(const picture *p, const error_store *s, int32_t sample, int32_t layer,
                            int32_t head, double *out);

/* ---- inputs ---------------------------------------------------------------------------------- */

static mgk_status open_store(const char *path, error_store *s)
{
    *s = (error_store){.path = path};
    TRY(mgk_expect_arrays(path, "mgk-dump makes one from a model"));
    TRY(mgk_store_open(path, NULL, &s->reader));
    s->d = mgk_store_describe(s->reader);
    return STATUS_OK;
}

static void close_store(error_store *s)
{
    mgk_store_close(s->reader);
    mgk_free(s->layers);
    mgk_free(s->numbers);
    mgk_free(s->heads);
    mgk_free(s->head_numbers);
}

static mgk_status choose(picture *p, error_store *s)
{
    const mgk_plot_options *o = p->options;
    TRY(mgk_plot_choose(s->path, "layer", o->layers, o->layer_count, s->d->layer_index,
                        (size_t)s->d->layers, &s->layers, &s->numbers, &s->layer_count));
    TRY(mgk_plot_choose(s->path, "head", o->heads, o->head_count, s->d->head_index,
                        (size_t)s->d->heads, &s->heads, &s->head_numbers, &s->head_count));
    TRY(mgk_arena_alloc(&p->arena, s->layer_count, sizeof(double), &s->x));
    for (size_t l = 0; l < s->layer_count; l++)
        s->x[l] = s->numbers[l] + p->options->from_one;
    return STATUS_OK;
}

static bool has_errors(const error_store *s)
{
    return s->d->objects & MGK_STORE_BIT(STORE_OUTPUT_ERROR);
}

static bool same_numbers(const int32_t *a, const int32_t *b, int32_t count)
{
    return memcmp(a, b, (size_t)count * sizeof(*a)) == 0;
}

/* Whether two stores have the same samples, with the same tokens. */
static mgk_status same_samples(picture *p, const error_store *a, const error_store *b, bool *same)
{
    const size_t tokens = (size_t)a->d->tokens;
    int32_t *ids[2], lengths[2];
    *same = a->d->samples == b->d->samples && a->d->tokens == b->d->tokens &&
            same_numbers(a->d->sample_index, b->d->sample_index, a->d->samples);
    if (!*same)
        return STATUS_OK;
    for (int i = 0; i < 2; i++)
        TRY(mgk_arena_alloc(&p->arena, tokens, sizeof(**ids), &ids[i]));
    for (int32_t s = 0; *same && s < a->d->samples; s++) {
        TRY(mgk_store_read_tokens(a->reader, s, ids[0], &lengths[0]));
        TRY(mgk_store_read_tokens(b->reader, s, ids[1], &lengths[1]));
        *same = lengths[0] == lengths[1] && same_numbers(ids[0], ids[1], a->d->tokens);
    }
    return STATUS_OK;
}

/* Errors on other texts, or on longer ones, say nothing about the kinds. */
static mgk_status check_samples(picture *p, const error_store *a, const error_store *b)
{
    bool same;
    TRY(same_samples(p, a, b, &same));
    return same ? STATUS_OK
                : mgk_fail(STATUS_SHAPE, "%s and %s: other samples, or other lengths of them",
                           a->path, b->path);
}

/* The store of the model as it is has the same matrices. */
static mgk_status check_own(picture *p)
{
    const mgk_store_description *a = p->stores[0].d, *b = p->own.d;
    const unsigned attention = MGK_STORE_BIT(STORE_ATTENTION);
    if (p->count > 1)
        return mgk_fail(STATUS_USAGE,
                        "%s: a model as it is, which is compared with one of another kind, not "
                        "with %zu",
                        p->own.path, p->count);
    if (!(a->objects & b->objects & attention) || a->layers != b->layers || a->heads != b->heads ||
        b->cross || !same_numbers(a->layer_index, b->layer_index, a->layers) ||
        !same_numbers(a->head_index, b->head_index, a->heads))
        return mgk_fail(STATUS_SHAPE, "%s and %s: expected matrices of the same layers and heads",
                        p->stores[0].path, p->own.path);
    TRY(check_samples(p, &p->stores[0], &p->own));
    if (a->model_sha256 && b->model_sha256 && strcmp(a->model_sha256, b->model_sha256) != 0)
        return mgk_fail(STATUS_USAGE, "%s and %s: of different models, whose hashes differ",
                        p->stores[0].path, p->own.path);
    return STATUS_OK;
}

/* Puts an open store in its place. */
static mgk_status take_store(picture *p, const error_store *s)
{
    const bool as = has_errors(s);
    if (as && p->count == MGK_GROUPS_MAX)
        return mgk_fail(STATUS_USAGE, "%s: expected at most %d stores", s->path, MGK_GROUPS_MAX);
    if (!as && p->own.path)
        return mgk_fail(STATUS_USAGE, "%s and %s: two models as they are, expected one at most",
                        p->own.path, s->path);
    *(as ? &p->stores[p->count++] : &p->own) = *s;
    return STATUS_OK;
}

static mgk_status open_stores(picture *p)
{
    const mgk_plot_options *o = p->options;
    for (size_t i = 0; i < o->input_count; i++) {
        error_store s;
        mgk_status status = open_store(o->inputs[i], &s);
        if (status == STATUS_OK)
            status = take_store(p, &s);
        if (status != STATUS_OK) {
            close_store(&s);
            return status;
        }
    }
    if (p->count == 0)
        return mgk_fail(
            STATUS_FORMAT,
            "%s: no errors of a model that runs as another kind; mgk-dump makes a store "
            "with them",
            o->inputs[0]);
    for (size_t i = 0; i < p->count; i++)
        TRY(choose(p, &p->stores[i]));
    for (size_t i = 1; i < p->count; i++)
        TRY(check_samples(p, &p->stores[0], &p->stores[i]));
    return p->own.path ? check_own(p) : STATUS_OK;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static mgk_status output_error(const picture *p, const error_store *s, int32_t sample,
                               int32_t layer, int32_t head, double *out)
{
    (void)p;
    return mgk_store_read(s->reader, STORE_OUTPUT_ERROR, sample, layer, head, STORE_F64, out);
}

static mgk_status matrix_error(const picture *p, const error_store *s, int32_t sample,
                               int32_t layer, int32_t head, double *out)
{
    (void)p;
    return mgk_store_read(s->reader, STORE_APPROXIMATION_ERROR, sample, layer, head, STORE_F64,
                          out);
}

/* |A - A'| / |A'| of the matrices of both stores. */
static mgk_status run_error(const picture *p, const error_store *s, int32_t sample, int32_t layer,
                            int32_t head, double *out)
{
    mgk_status status;
    const size_t tokens = (size_t)s->d->tokens;
    double *matrix = NULL, *own = NULL;
    CHECK(mgk_alloc(tokens * tokens, sizeof(*matrix), &matrix));
    CHECK(mgk_alloc(tokens * tokens, sizeof(*own), &own));
    CHECK(mgk_store_read_matrix(s->reader, sample, layer, head, STORE_F64, matrix, NULL));
    CHECK(mgk_store_read_matrix(p->own.reader, sample, layer, head, STORE_F64, own, NULL));
    *out = mgk_relative_error(matrix, own, tokens, tokens, tokens);
out:
    mgk_free(matrix);
    mgk_free(own);
    return status;
}

static mgk_status make_line(picture *p, const error_store *s, error_fn *error, error_line *out)
{
    const size_t layers = s->layer_count, each = (size_t)s->d->samples * s->head_count;
    double *values;
    TRY(mgk_arena_alloc(&p->arena, layers, sizeof(double), &out->lower));
    TRY(mgk_arena_alloc(&p->arena, layers, sizeof(double), &out->median));
    TRY(mgk_arena_alloc(&p->arena, layers, sizeof(double), &out->upper));
    TRY(mgk_arena_alloc(&p->arena, each, sizeof(double), &values));
    for (size_t l = 0; l < layers; l++) {
        double quartiles[3];
        size_t count = 0;
        for (int32_t sample = 0; sample < s->d->samples; sample++) {
            if (mgk_job_stopped(&p->options->job))
                return mgk_fail(STATUS_INTERRUPTED, "interrupted");
            for (size_t h = 0; h < s->head_count; h++) {
                TRY(error(p, s, sample, s->layers[l], s->heads[h], &values[count]));
                count += isfinite(values[count]) && values[count] >= 0; /* -1: not measured */
            }
        }
        mgk_plot_sort_quartiles(values, count, quartiles);
        out->lower[l] = quartiles[0];
        out->median[l] = quartiles[1];
        out->upper[l] = quartiles[2];
    }
    return STATUS_OK;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static bool is_zero(const mgk_curve *curve)
{
    bool zero = true;
    for (size_t i = 0; i < curve->count; i++)
        zero &= curve->y[i] == 0;
    return zero;
}

/* The logarithmic axis has no 0: a line of zeros is told in its label. */
static mgk_status tell_zeros(picture *p, mgk_curve *curve)
{
    enum { LABEL = 2 * MGK_PLOT_TITLE };
    char *label;
    if (!is_zero(curve))
        return STATUS_OK;
    TRY(mgk_arena_alloc(&p->arena, LABEL, 1, &label));
    snprintf(label, LABEL, "%s (0 in all layers)", curve->label);
    curve->label = label;
    return STATUS_OK;
}

static mgk_status check_curves(const picture *p, const mgk_curve *curves, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_zero(&curves[i]))
            return STATUS_OK;
    return mgk_fail(STATUS_NUMERIC, "%s: all errors are 0, which a logarithmic axis cannot show",
                    p->stores[0].path);
}

static mgk_status add_curve(picture *p, const error_store *s, error_fn *error, const char *label,
                            mgk_curve *curves, size_t *count)
{
    error_line line;
    TRY(make_line(p, s, error, &line));
    curves[*count] = (mgk_curve){.label = label,
                                 .x = s->x,
                                 .y = line.median,
                                 .lower = line.lower,
                                 .upper = line.upper,
                                 .count = s->layer_count,
                                 .series = *count,
                                 .markers = true};
    return tell_zeros(p, &curves[(*count)++]);
}

static mgk_status add_curves(picture *p, mgk_curve *curves, size_t *count)
{
    if (p->count == 1) {
        if (p->options->name_count > 0)
            return mgk_fail(STATUS_USAGE, "`names`: of several stores with errors, not of %s alone",
                            p->stores[0].path);
        TRY(add_curve(p, &p->stores[0], output_error, "output A V", curves, count));
        TRY(add_curve(p, &p->stores[0], matrix_error, "matrix A", curves, count));
        return p->own.path ? add_curve(p, &p->stores[0], run_error,
                                       "A, with errors of the layers below", curves, count)
                           : STATUS_OK;
    }
    TRY(mgk_plot_check_names(p->options, p->count));
    for (size_t i = 0; i < p->count; i++) {
        error_store *s = &p->stores[i];
        mgk_plot_file_title(s->path, s->title);
        TRY(add_curve(p, s, output_error, mgk_plot_name(p->options, i, s->title), curves, count));
    }
    return STATUS_OK;
}

static void set_title(mgk_plot *plot, const picture *p)
{
    char model[MGK_PLOT_TITLE], about[2 * MGK_PLOT_TITLE];
    const mgk_store_description *d = p->stores[0].d;
    mgk_plot_file_title(d->model, model);
    for (size_t i = 1; i < p->count; i++)
        if (strcmp(p->stores[i].d->model, d->model) != 0)
            *model = '\0';
    snprintf(about, sizeof(about), "run as %s, %d %s", p->count == 1 ? d->attention : "other kinds",
             d->samples, MGK_NOUN(d->samples, "sample", "samples"));
    mgk_plot_set_title(plot, model, about);
}

mgk_status mgk_performer_errors(mgk_plot *plot)
{
    mgk_status status;
    picture p = {.options = plot->options};
    mgk_curve curves[MGK_GROUPS_MAX + 3];
    static const mgk_legend_entry band = {
        "median and quartiles over samples and heads", {80, 80, 80}, KEY_BAND};
    size_t count = 0;
    CHECK(open_stores(&p));
    CHECK(add_curves(&p, curves, &count));
    CHECK(check_curves(&p, curves, count));
    set_title(plot, &p);
    for (size_t i = 0; i < p.count; i++)
        if (p.stores[i].d->model_sha256)
            mgk_plot_add_hash(plot, p.stores[i].d->model_sha256);
    CHECK(
        mgk_draw_curves(&(mgk_curves){.curves = curves,
                                      .count = count,
                                      .keys = &band,
                                      .key_count = 1,
                                      .x_label = "layer",
                                      .y_label = p.count == 1 ? "relative error (Frobenius)"
                                                              : "relative error of the output A V",
                                      .log_y = true,
                                      .whole_x = true},
                        &plot->picture, plot->options->output));
out:
    for (size_t i = 0; i < p.count; i++)
        close_store(&p.stores[i]);
    close_store(&p.own);
    mgk_arena_free(&p.arena);
    return status;
}
