/* SPDX-License-Identifier: MIT */
#include "report/stores.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "report/text.h"
#include "run/array_axes.h"
#include "run/job.h"

/* Bytes of a matrix: the levels of its entries, and the mark of those that are not finite. */
enum { LEVELS = 254, NOT_FINITE = 255 };

mgk_status mgk_report_open_store(const mgk_report_options *options, const char *path,
                                 const mgk_report_reading *reading, bool exact,
                                 mgk_report_store *out)
{
    enum { USUAL_SAMPLES = 4, USUAL_TOKENS = 128 };
    static const mgk_report_reading usual = {.known = false};
    const int32_t samples = options->samples > 0 ? options->samples : USUAL_SAMPLES,
                  tokens = options->tokens > 0 ? options->tokens : USUAL_TOKENS;
    const mgk_report_reading *as = reading ? reading : &usual;
    *out = (mgk_report_store){.path = path, .reading = reading, .exact = exact};
    TRY(mgk_store_open_as(path, as->dataset, as->axes, &out->reader));
    if (as->mask)
        TRY(mgk_store_mask(out->reader, as->mask));
    out->description = mgk_store_describe(out->reader);
    out->causal = out->description->causal || as->causal;
    const mgk_store_description *d = out->description;
    if (!(d->objects & MGK_STORE_BIT(STORE_ATTENTION)))
        return mgk_fail(STATUS_FORMAT, "%s: the store has no \"attention\"", path);
    if (d->cross)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: attention of one sequence to another, which reports do not show "
                        "(mgk-plot attention draws it)",
                        path);
    if (!as->known)
        mgk_array_axes_tell(&options->job, path, out->description, NULL);
    out->samples = d->samples < samples ? d->samples : samples;
    out->tokens = d->tokens < tokens ? d->tokens : tokens;
    return STATUS_OK;
}

void mgk_report_close_store(mgk_report_store *store)
{
    mgk_store_close(store->reader);
}

/* ---- which model ----------------------------------------------------------------------------- */

/* Whether the table of a model names this store. */
static bool is_named(const mgk_plot_measured *model, const mgk_report_store *store)
{
    const char *path = model->values->name, *name = mgk_file_name(path);
    if (!*name)
        return false;
    return store->exact ? strcmp(path, store->path) == 0
                        : strcmp(name, mgk_file_name(store->path)) == 0 ||
                              strcmp(name, store->description->model) == 0;
}

/* Whether the store was read as the table of a model says; one that no table names is read as
 * usual. */
static bool is_read_so(const mgk_report_reading *reading, const mgk_report_store *store)
{
    const char *array = reading->dataset ? reading->dataset : "attention";
    return store->reading ? mgk_report_same_reading(reading, store->reading)
                          : strcmp(array + (*array == '/'), "attention") == 0;
}

/* Whether the files of the two models are known to be the same, or known to differ. */
typedef enum agreement { SAME, OTHER, UNKNOWN } agreement;

static agreement compare_models(const mgk_plot_measured *model, const mgk_report_store *store)
{
    const char *a = model->values->model_sha256, *b = store->description->model_sha256;
    if (!b || !*a || !*b)
        return UNKNOWN;
    return strcmp(a, b) == 0 ? SAME : OTHER;
}

static bool has_numbers(const int32_t *there, int32_t there_count, const int32_t *wanted,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int32_t k = 0;
        while (k < there_count && there[k] != wanted[i])
            k++;
        if (k == there_count)
            return false;
    }
    return true;
}

/* Whether the store has the layers and heads of the table. */
static bool has_heads(const mgk_report_store *store, const mgk_diversity_values *values)
{
    const mgk_store_description *d = store->description;
    return has_numbers(d->layer_index, d->layers, values->layers, values->layout.layers) &&
           has_numbers(d->head_index, d->heads, values->heads, values->layout.heads);
}

/* The store of a model: of those with the same hash, or of those that may be it, the one that the
 * table names. */
static int32_t find_store(const mgk_plot_measured *model, const mgk_report_reading *reading,
                          const mgk_report_store *stores, size_t count)
{
    int32_t same = -1, named = -1, both = -1;
    for (size_t s = count; s-- > 0;) {
        if (!is_read_so(reading, &stores[s]))
            continue;
        const agreement models = compare_models(model, &stores[s]);
        const bool is = is_named(model, &stores[s]) && has_heads(&stores[s], model->values);
        same = models == SAME ? (int32_t)s : same;
        named = is && models == UNKNOWN ? (int32_t)s : named;
        both = is && models == SAME ? (int32_t)s : both;
    }
    return both >= 0 ? both : same >= 0 ? same : named;
}

void mgk_report_match(const mgk_plot_measures *measures, const mgk_report_reading *readings,
                      const mgk_report_store *stores, size_t count, int32_t *out)
{
    for (size_t i = 0; i < measures->count; i++)
        out[i] = find_store(&measures->inputs[i], &readings[i], stores, count);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Memory for one sample. */
typedef struct sample_room {
    float *matrix;                 /* [N, N] */
    unsigned char *levels;         /* [n, n] */
    int32_t *tokens;               /* [N] */
    char (*texts)[MGK_TOKEN_TEXT]; /* [N] */
} sample_room;

static mgk_status make_room(const mgk_report_store *store, sample_room *out)
{
    const size_t all = (size_t)store->description->tokens, shown = (size_t)store->tokens;
    TRY(mgk_alloc(all, all * sizeof(*out->matrix), &out->matrix));
    TRY(mgk_alloc(shown, shown, &out->levels));
    TRY(mgk_alloc(all, sizeof(*out->tokens), &out->tokens));
    return mgk_alloc(all, sizeof(*out->texts), &out->texts);
}

static void free_room(sample_room *room)
{
    mgk_free(room->matrix);
    mgk_free(room->levels);
    mgk_free(room->tokens);
    mgk_free(room->texts);
}

/* Texts of the first n tokens, or null. */
static mgk_status write_texts(FILE *page, const mgk_report_store *store, int32_t sample, int32_t n,
                              sample_room *room)
{
    if (!store->description->token_text.subword) {
        fputs("null", page);
        return STATUS_OK;
    }
    TRY(mgk_store_read_token_text(store->reader, sample, room->texts));
    for (int32_t i = 0; i < n; i++) {
        fputc(i > 0 ? ',' : '[', page);
        mgk_report_string(page, room->texts[i]);
    }
    fputs(n > 0 ? "]" : "[]", page);
    return STATUS_OK;
}

/* Ids of the first n tokens, or null. */
static mgk_status write_ids(FILE *page, const mgk_report_store *store, int32_t sample, int32_t n,
                            sample_room *room)
{
    int32_t length;
    if (!mgk_store_has_tokens(store->reader)) {
        fputs("null", page);
        return STATUS_OK;
    }
    TRY(mgk_store_read_tokens(store->reader, sample, room->tokens, &length));
    mgk_report_integers(page, room->tokens, (size_t)n);
    return STATUS_OK;
}

/* The first n x n entries of a matrix [N, N], rounded. */
typedef struct rounded {
    double peak;   /* the largest magnitude */
    bool negative; /* levels are of −peak to peak, with 0 in their middle; else of 0 to peak */
} rounded;

/* Levels [n, n] on a square-root scale. */
static rounded quantise(const float *matrix, size_t all, size_t n, unsigned char *levels)
{
    rounded out = {0};
    for (size_t i = 0; i < n * n; i++) {
        const double a = matrix[i / n * all + i % n];
        out.peak = isfinite(a) ? fmax(out.peak, fabs(a)) : out.peak;
        out.negative |= isfinite(a) && a < 0;
    }
    const double zero = out.negative ? LEVELS / 2 : 0;
    for (size_t i = 0; i < n * n; i++) {
        const double a = matrix[i / n * all + i % n];
        const double share = out.peak > 0 ? copysign(sqrt(fabs(a) / out.peak), a) : 0;
        levels[i] =
            isfinite(a) ? (unsigned char)lround(zero + (LEVELS - zero) * share) : NOT_FINITE;
    }
    return out;
}

static mgk_status write_matrix(FILE *page, const mgk_report_store *store, int32_t sample,
                               int32_t layer, int32_t head, int32_t n, sample_room *room)
{
    int32_t length;
    TRY(mgk_store_read_matrix(store->reader, sample, layer, head, STORE_F32, room->matrix,
                              &length));
    const rounded matrix =
        quantise(room->matrix, (size_t)store->description->tokens, (size_t)n, room->levels);
    fprintf(page, "%s\n   {\"peak\":", layer + head > 0 ? "," : "");
    mgk_report_real(page, matrix.peak);
    if (matrix.negative)
        fputs(",\"negative\":1", page);
    fputs(",\"levels\":", page);
    mgk_report_base64(page, room->levels, (size_t)n * (size_t)n);
    fputc('}', page);
    return STATUS_OK;
}

static mgk_status write_sample(FILE *page, const mgk_report_store *store, int32_t sample,
                               sample_room *room)
{
    const mgk_store_description *d = store->description;
    int32_t length;
    TRY(mgk_store_read_length(store->reader, sample, &length));
    const int32_t n = length < store->tokens ? length : store->tokens;
    fprintf(page, "%s\n  {\"number\":%ld,\"length\":%ld,\"shown\":%ld", sample > 0 ? "," : "",
            (long)d->sample_index[sample], (long)length, (long)n);
    fputs(",\"texts\":", page);
    TRY(write_texts(page, store, sample, n, room));
    fputs(",\"ids\":", page);
    TRY(write_ids(page, store, sample, n, room));
    fputs(",\"matrices\":[", page);
    for (int32_t layer = 0; layer < d->layers; layer++)
        for (int32_t head = 0; head < d->heads; head++)
            TRY(write_matrix(page, store, sample, layer, head, n, room));
    fputs("]}", page);
    return STATUS_OK;
}

static mgk_status write_samples(FILE *page, const mgk_job *job, const mgk_report_store *store)
{
    sample_room room = {NULL};
    mgk_status status = make_room(store, &room);
    for (int32_t s = 0; s < store->samples && status == STATUS_OK; s++)
        status = mgk_job_stopped(job) ? mgk_fail(STATUS_INTERRUPTED, "interrupted")
                                      : write_sample(page, store, s, &room);
    free_room(&room);
    return status;
}

static mgk_status write_store(FILE *page, const mgk_job *job, const mgk_report_store *store)
{
    const mgk_store_description *d = store->description;
    fputs("\n {\"file\":", page);
    mgk_report_string(page, mgk_file_name(store->path));
    fputs(",\"model\":", page);
    mgk_report_string(page, d->model);
    fputs(",\"attention\":", page);
    mgk_report_string(page, d->attention);
    fprintf(page,
            ",\"causal\":%s,\"text\":%s,\"all\":%ld,\"layers\":", store->causal ? "true" : "false",
            d->token_text.subword ? "true" : "false", (long)d->samples);
    mgk_report_integers(page, d->layer_index, (size_t)d->layers);
    fputs(",\"heads\":", page);
    mgk_report_integers(page, d->head_index, (size_t)d->heads);
    fputs(",\"samples\":[", page);
    TRY(write_samples(page, job, store));
    fputs("]}", page);
    return STATUS_OK;
}

mgk_status mgk_report_stores(FILE *page, const mgk_job *job, const mgk_report_store *stores,
                             size_t count)
{
    fputc('[', page);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            fputc(',', page);
        TRY(write_store(page, job, &stores[i]));
    }
    fputc(']', page);
    return STATUS_OK;
}
