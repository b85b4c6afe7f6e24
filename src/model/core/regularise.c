/* SPDX-License-Identifier: MIT */
#include "model/core/regularise.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/names.h"
#include "base/number.h"
#include "model/core/pass_private.h"

const char *const mgk_term_names[MGK_TERMS] = {"subspace", "position", "output", "pattern"};

struct mgk_regulariser {
    mgk_device *device;
    mgk_regularisation what;
    double scale;
    double sums[MGK_TERMS]; /* of backward passes */
    int32_t *lengths;       /* [B] */
    double *rows, *drows;   /* [T, widest row of a layer] */
    double *maps, *dmaps;   /* [B, H, N, N]; NULL: no term of matrices */

    /* On the device, for terms of matrices. */
    void *map;                                       /* [H, N, N] */
    int32_t *heads;                                  /* [H] */
    void *identity, *didentity, *columns, *dcolumns; /* [T, H, D] */
    void *dqkv, *dkeys;                              /* as those of the pass */
};

bool mgk_regularises(const mgk_regularisation *what)
{
    bool any = false;
    for (int term = 0; term < MGK_TERMS; term++)
        any |= what->weight[term] != 0;
    return any;
}

static mgk_status parse_term(const char *word, size_t length, mgk_regularisation *out)
{
    char name[24], hint[MGK_NAMES_HINT];
    const char *end = word + strcspn(word, "=,");
    double factor = 1;
    snprintf(name, sizeof(name), "%.*s", (int)(end - word), word);
    int term = 0;
    while (term < MGK_TERMS && strcmp(mgk_term_names[term], name) != 0)
        term++;
    if (term == MGK_TERMS) {
        mgk_names_expected(name, mgk_term_names, MGK_TERMS, hint);
        return mgk_fail(STATUS_USAGE, "`regularise` \"%s\": %s", name, hint);
    }
    if (*end == '=' && (!mgk_read_real(end + 1, &end, &factor) || end != word + length ||
                        !(factor > 0 && factor <= FLT_MAX)))
        return mgk_fail(
            STATUS_USAGE,
            "`regularise`: the factor of \"%s\" is \"%.*s\", expected a positive number to 3e38",
            name, (int)(word + length - strchr(word, '=') - 1), strchr(word, '=') + 1);
    if (out->weight[term] != 0)
        return mgk_fail(STATUS_USAGE, "`regularise`: \"%s\" is given twice", name);
    out->weight[term] = factor;
    return STATUS_OK;
}

mgk_status mgk_regularisation_parse(const char *text, mgk_regularisation *out)
{
    *out = (mgk_regularisation){{0}};
    for (const char *word = text; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL)
        TRY(parse_term(word, strcspn(word, ","), out));
    return STATUS_OK;
}

static bool needs_maps(const mgk_regularisation *what)
{
    return what->weight[MGK_TERM_POSITION] != 0 || what->weight[MGK_TERM_PATTERN] != 0;
}

void mgk_regulariser_free(mgk_regulariser *r)
{
    if (!r)
        return;
    void *const arrays[] = {r->map,     r->heads,    r->identity, r->didentity,
                            r->columns, r->dcolumns, r->dqkv,     r->dkeys};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        if (arrays[i])
            r->device->op->release(r->device, arrays[i]);
    mgk_free(r->lengths);
    mgk_free(r->rows);
    mgk_free(r->drows);
    mgk_free(r->maps);
    mgk_free(r->dmaps);
    mgk_free(r);
}

static bool compares_heads(const mgk_regularisation *what)
{
    return what->weight[MGK_TERM_SUBSPACE] != 0 || what->weight[MGK_TERM_POSITION] != 0 ||
           what->weight[MGK_TERM_OUTPUT] != 0;
}

/* The output of such a kind is not the heads' matrices times their values. */
static mgk_status check_layer(const mgk_pass *pass, int index, const mgk_regularisation *what)
{
    const mgk_attention_kind *kind = mgk_model_kind(pass->model, index);
    if (needs_maps(what) && !kind->methods->matrix)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "`regularise`: attention \"%s\" has no N x N matrix, which position and "
                        "pattern need: %s",
                        kind->name, kind->no_matrix);
    if (kind->own_values && (needs_maps(what) || what->weight[MGK_TERM_SUBSPACE] != 0))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "`regularise`: attention \"%s\" has other values than those of its heads: "
                        "expected output alone",
                        kind->name);
    return STATUS_OK;
}

static mgk_status allocate(mgk_device *device, size_t rows, size_t columns, void **out)
{
    size_t bytes;
    TRY(mgk_multiply(rows, columns, &bytes));
    TRY(mgk_multiply(bytes, device->real_size, &bytes));
    TRY(device->op->allocate(device, bytes, out));
    return device->op->zero(device, *out, bytes);
}

static mgk_status open_maps(const mgk_pass *pass, mgk_regulariser *r)
{
    mgk_device *device = pass->model->device;
    const size_t heads = (size_t)pass->model->config.heads, rows = pass->capacity_rows;
    size_t map, count;
    TRY(mgk_multiply(pass->capacity_tokens * pass->capacity_tokens, heads, &map));
    TRY(mgk_multiply(map, pass->capacity_sequences, &count));
    TRY(mgk_alloc(count, sizeof(*r->maps), &r->maps));
    TRY(mgk_alloc(count, sizeof(*r->dmaps), &r->dmaps));
    TRY(allocate(device, map, 1, &r->map));
    TRY(mgk_number_heads(device, heads, &r->heads));
    TRY(allocate(device, rows, pass->width, &r->identity));
    TRY(allocate(device, rows, pass->width, &r->didentity));
    TRY(allocate(device, rows, pass->width, &r->columns));
    TRY(allocate(device, rows, pass->width, &r->dcolumns));
    TRY(allocate(device, rows, pass->qkv_width, &r->dqkv));
    return pass->shifted > 0 ? allocate(device, rows, pass->shifted, &r->dkeys) : STATUS_OK;
}

mgk_status mgk_pass_regularise(mgk_pass *pass, const mgk_regularisation *what, double scale)
{
    mgk_status status;
    mgk_regulariser *r = NULL;
    const mgk_model *model = pass->model;
    size_t numbers;
    if (!pass->training)
        return mgk_fail(STATUS_USAGE, "a pass that does not train has no regularisation");
    if (model->device->accelerator)
        return mgk_fail(STATUS_UNSUPPORTED, "%s does not run `regularise`; the CPU does",
                        model->device->name);
    if (model->config.heads == 1 && compares_heads(what))
        return mgk_fail(STATUS_USAGE, "`regularise`: one head differs from no other: expected "
                                      "pattern alone");
    for (int l = 0; l < model->config.layers; l++)
        TRY(check_layer(pass, l, what));
    CHECK(mgk_alloc(1, sizeof(*r), &r));
    r->device = model->device;
    r->what = *what;
    r->scale = scale;
    CHECK(mgk_alloc(pass->capacity_sequences, sizeof(*r->lengths), &r->lengths));
    CHECK(mgk_multiply(pass->capacity_rows, pass->qkv_width, &numbers));
    CHECK(mgk_alloc(numbers, sizeof(*r->rows), &r->rows));
    CHECK(mgk_alloc(numbers, sizeof(*r->drows), &r->drows));
    if (needs_maps(what))
        CHECK(open_maps(pass, r));
    mgk_regulariser_free(pass->regulariser);
    pass->regulariser = r;
    r = NULL;
out:
    mgk_regulariser_free(r);
    return status;
}

/* Reals of a token's row in the arrays of open_maps. */
static size_t map_columns(const mgk_pass *pass)
{
    const size_t shifted = pass->shifted ? (size_t)pass->model->config.mixtures * pass->width : 0;
    return 4 * pass->width + pass->qkv_width + shifted;
}

/* Sums do not overflow: mgk_pass_set_sizes bounds B H N² and the rows times their widths. */
mgk_status mgk_regularise_bytes(mgk_model *model, const mgk_regularisation *what, int sequences,
                                int tokens, size_t *bytes)
{
    mgk_pass pass = {.training = true};
    const size_t real = model->device->real_size;
    size_t maps;
    *bytes = 0;
    if (!mgk_regularises(what))
        return STATUS_OK;
    TRY(mgk_pass_set_sizes(&pass, model, sequences, tokens, 0));
    TRY(mgk_multiply(pass.capacity_rows, 2 * sizeof(double) * pass.qkv_width, bytes));
    if (!needs_maps(what))
        return STATUS_OK;
    const size_t square = pass.capacity_tokens * (size_t)model->config.heads * pass.capacity_tokens;
    TRY(mgk_multiply(pass.capacity_rows, real * map_columns(&pass), &maps));
    *bytes += maps + square * (2 * sizeof(double) * pass.capacity_sequences + real);
    return STATUS_OK;
}

/* ---- cosines of vectors ------------------------------------------------------------------------
 */

/*
 * With unit vectors u_h and their sum s, Σ u_g·u_h over g ≠ h is ‖s‖² − H, whose derivative by x_h
 * is 2 (s − (s·u_h) u_h) / ‖x_h‖. A vector of zeros has no direction: it counts as cosines of 0. x
 * [H, D]; dx +=, times `factor`. Returns that sum. sum: room for D numbers.
 */
static double add_cosines(size_t heads, size_t dim, const double *x, double factor, double *sum,
                          double *dx)
{
    double square = 0, units = 0;
    memset(sum, 0, dim * sizeof(*sum));
    for (size_t h = 0; h < heads; h++) {
        double norm = 0;
        for (size_t d = 0; d < dim; d++)
            norm += x[h * dim + d] * x[h * dim + d];
        for (size_t d = 0; d < dim && norm > DBL_MIN; d++)
            sum[d] += x[h * dim + d] / sqrt(norm);
        units += norm > DBL_MIN ? 1 : 0;
    }
    for (size_t d = 0; d < dim; d++)
        square += sum[d] * sum[d];
    for (size_t h = 0; h < heads; h++) {
        double norm = 0, dot = 0;
        for (size_t d = 0; d < dim; d++) {
            norm += x[h * dim + d] * x[h * dim + d];
            dot += x[h * dim + d] * sum[d];
        }
        for (size_t d = 0; d < dim && norm > DBL_MIN; d++)
            dx[h * dim + d] += 2 * factor * (sum[d] - dot / norm * x[h * dim + d]) / sqrt(norm);
    }
    return square - units;
}

/*
 * The term of vectors x of all tokens, rows `stride` apart on the device, added to *value; its
 * gradient is added to dx, laid out alike, unless that is NULL.
 */
static mgk_status vector_term(mgk_pass *pass, mgk_term term, const void *x, size_t stride,
                              double *value, void *dx)
{
    mgk_regulariser *r = pass->regulariser;
    mgk_device *device = pass->model->device;
    const size_t heads = (size_t)pass->model->config.heads;
    const size_t dim = (size_t)pass->model->config.head_dim, tokens = (size_t)pass->tokens;
    const size_t count = (mgk_pass_rows(pass) - 1) * stride + pass->width;
    double *sum;
    TRY(mgk_device_download(device, x, count, r->rows));
    if (dx)
        TRY(mgk_device_download(device, dx, count, r->drows));
    TRY(mgk_alloc(dim, sizeof(*sum), &sum));
    for (size_t t = 0; t < mgk_pass_rows(pass); t++) {
        const size_t length = (size_t)r->lengths[t / tokens];
        if (t % tokens >= length)
            continue;
        const double mean =
            1 / ((double)pass->whole * (double)length * (double)heads * (double)heads);
        *value +=
            mean * add_cosines(heads, dim, r->rows + t * stride,
                               r->what.weight[term] * r->scale * mean, sum, r->drows + t * stride);
    }
    mgk_free(sum);
    return dx ? mgk_model_put(pass->model, count, r->drows, dx) : STATUS_OK;
}

/* ---- matrices ----------------------------------------------------------------------------------
 */

/* Σ |a_g a_h| over g ≠ h is (Σ |a_h|)² − Σ a_h². Matrices are `size` = N² apart. */
static double position_entry(size_t heads, size_t size, const double *a, double factor, double *da)
{
    double sum = 0, squares = 0;
    for (size_t h = 0; h < heads; h++) {
        sum += fabs(a[h * size]);
        squares += a[h * size] * a[h * size];
    }
    for (size_t h = 0; h < heads; h++) {
        const double value = a[h * size], sign = value > 0 ? 1 : value < 0 ? -1 : 0;
        da[h * size] += 2 * factor * sign * (sum - fabs(value));
    }
    return sum * sum - squares;
}

static double position_term(const mgk_pass *pass, size_t n, double factor, const double *a,
                            double *da)
{
    const size_t heads = (size_t)pass->model->config.heads, tokens = (size_t)pass->tokens;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            sum += position_entry(heads, tokens * tokens, a + i * tokens + j, factor,
                                  da + i * tokens + j);
    return sum;
}

/* The key of pattern `which` for query i of n; n: none. */
static size_t pattern_key(bool causal, size_t which, size_t i, size_t n)
{
    enum { PREVIOUS, NEXT, FIRST };
    switch (causal && which == NEXT ? FIRST : which) {
    case PREVIOUS:
        return i > 0 ? i - 1 : n;
    case NEXT:
        return i + 1 < n ? i + 1 : n;
    default:
        return 0;
    }
}

static double pattern_term(const mgk_pass *pass, size_t n, double weight, const double *a,
                           double *da)
{
    const bool causal = pass->model->config.causal;
    const size_t heads = (size_t)pass->model->config.heads, tokens = (size_t)pass->tokens;
    const size_t guided = (heads + 1) / 2, patterns = causal ? 2 : 3;
    double total = 0;
    for (size_t h = 0; h < guided; h++) {
        const size_t which = h % patterns, alike = (guided - which + patterns - 1) / patterns;
        const double mean = 1 / ((double)alike * (double)n * (double)n);
        for (size_t i = 0; i < n; i++) {
            const size_t row = (h * tokens + i) * tokens, key = pattern_key(causal, which, i, n);
            for (size_t j = 0; j < n; j++) {
                const double difference = a[row + j] - (j == key ? 1 : 0);
                total += mean * difference * difference;
                da[row + j] += 2 * weight * mean * difference;
            }
        }
    }
    return total;
}

/* Downloads the matrices of all samples; fills dmaps with the gradients of the terms. */
static mgk_status map_terms(mgk_pass *pass, const mgk_attention_view *view,
                            const mgk_attention_layer *layer, double terms[MGK_TERMS])
{
    mgk_regulariser *r = pass->regulariser;
    mgk_device *device = pass->model->device;
    const size_t heads = (size_t)view->heads, tokens = (size_t)view->tokens;
    const size_t size = heads * tokens * tokens;
    const double samples = (double)pass->whole, pairs = (double)heads * (double)heads;
    const double *weight = r->what.weight;
    memset(r->dmaps, 0, (size_t)pass->sequences * size * sizeof(*r->dmaps));
    for (int b = 0; b < pass->sequences; b++) {
        double *a = r->maps + (size_t)b * size, *da = r->dmaps + (size_t)b * size;
        const size_t n = (size_t)r->lengths[b];
        if (n == 0)
            continue;
        TRY(layer->kind->methods->matrix(device, view, layer, MGK_MATRIX_ATTENTION, b, r->heads,
                                         view->heads, r->map));
        TRY(mgk_device_download(device, r->map, size, a));
        if (weight[MGK_TERM_POSITION] != 0)
            terms[MGK_TERM_POSITION] +=
                position_term(pass, n, weight[MGK_TERM_POSITION] * r->scale / (samples * pairs), a,
                              da) /
                (samples * pairs);
        if (weight[MGK_TERM_PATTERN] != 0)
            terms[MGK_TERM_PATTERN] +=
                pattern_term(pass, n, weight[MGK_TERM_PATTERN] * r->scale / samples, a, da) /
                samples;
    }
    return STATUS_OK;
}

/* Columns first, first + 1, … of the identity as the values of all heads, and the gradients of the
 * same columns of the matrices. */
static mgk_status put_columns(mgk_pass *pass, size_t first)
{
    mgk_regulariser *r = pass->regulariser;
    const size_t heads = (size_t)pass->model->config.heads, tokens = (size_t)pass->tokens;
    const size_t dim = (size_t)pass->model->config.head_dim, count = mgk_pass_rows(pass);
    for (size_t t = 0; t < count; t++)
        for (size_t h = 0; h < heads; h++)
            for (size_t d = 0; d < dim; d++) {
                const size_t place = (t * heads + h) * dim + d, column = first + d;
                const size_t row = (t / tokens * heads + h) * tokens + t % tokens;
                r->rows[place] = t % tokens == column ? 1 : 0;
                r->drows[place] = column < tokens ? r->dmaps[row * tokens + column] : 0;
            }
    TRY(mgk_model_put(pass->model, count * pass->width, r->rows, r->identity));
    return mgk_model_put(pass->model, count * pass->width, r->drows, r->dcolumns);
}

/* y += x */
static mgk_status add(const mgk_pass *pass, size_t count, const void *x, void *y)
{
    mgk_device *device = pass->model->device;
    return device->op->dropout_add(device, 1, count, 0, pass->draw, 0, x, y, y);
}

/* Adds the gradients of queries, keys and parameters through the matrices of a layer. */
static mgk_status maps_backward(mgk_pass *pass, int index, const mgk_attention_view *view,
                                const mgk_attention_layer *layer,
                                const mgk_layer_gradient *gradient)
{
    const mgk_regulariser *r = pass->regulariser;
    mgk_device *device = pass->model->device;
    const mgk_attention_methods *methods = layer->kind->methods;
    const mgk_layer_offsets *weights = &pass->model->parameters.layers[index];
    const size_t rows = mgk_pass_rows(pass), dim = (size_t)view->dim;
    const bool shifted = layer->kind->keys == MGK_KEYS_SHIFTED;
    mgk_attention_view columns = *view;
    mgk_layer_gradient into = *gradient;
    columns.value = r->identity;
    columns.value_stride = pass->width;
    into.view.query = r->dqkv;
    into.view.key = shifted ? r->dkeys : mgk_at(device, r->dqkv, pass->width);
    into.view.value = r->didentity;
    into.view.extra = mgk_at(device, r->dqkv, weights->rows - weights->extra);
    into.kept = NULL; /* what the layer above read has had its gradient */
    for (size_t first = 0; first < (size_t)pass->tokens; first += dim) {
        TRY(put_columns(pass, first));
        if (methods->prepare)
            TRY(methods->prepare(device, &columns, layer));
        TRY(methods->forward(device, &columns, layer, r->columns, pass->width));
        TRY(device->op->zero(device, r->dqkv, rows * weights->rows * device->real_size));
        TRY(methods->backward(device, &columns, layer, r->columns, r->dcolumns, pass->width,
                              &into));
        TRY(add(pass, rows * weights->rows, r->dqkv, pass->dqkv));
        if (shifted)
            TRY(add(pass, rows * pass->shifted, r->dkeys, pass->dkeys));
    }
    return STATUS_OK;
}

/* ---- the pass ----------------------------------------------------------------------------------
 */

static mgk_status take_lengths(mgk_pass *pass)
{
    mgk_device *device = pass->model->device;
    return device->op->download(device, pass->regulariser->lengths, pass->lengths,
                                (size_t)pass->sequences * sizeof(int32_t));
}

mgk_status mgk_regularise_outputs(mgk_pass *pass, int index)
{
    mgk_regulariser *r = pass->regulariser;
    if (!r || r->what.weight[MGK_TERM_OUTPUT] == 0)
        return STATUS_OK;
    TRY(take_lengths(pass));
    return vector_term(pass, MGK_TERM_OUTPUT, pass->layers[index].attended, pass->width,
                       &r->sums[MGK_TERM_OUTPUT], pass->dattended);
}

mgk_status mgk_regularise_layer(mgk_pass *pass, int index, const mgk_layer_gradient *gradient)
{
    mgk_regulariser *r = pass->regulariser;
    if (!r)
        return STATUS_OK;
    const mgk_attention_view view = mgk_pass_view(pass, index);
    mgk_attention_layer layer = mgk_pass_attention(pass, index);
    layer.dropout = 0; /* terms are of the whole matrices */
    TRY(take_lengths(pass));
    if (r->what.weight[MGK_TERM_SUBSPACE] != 0)
        TRY(vector_term(pass, MGK_TERM_SUBSPACE, view.value, view.value_stride,
                        &r->sums[MGK_TERM_SUBSPACE], gradient->view.value));
    if (!needs_maps(&r->what))
        return STATUS_OK;
    TRY(map_terms(pass, &view, &layer, r->sums));
    return maps_backward(pass, index, &view, &layer, gradient);
}

mgk_status mgk_pass_terms(mgk_pass *pass, double terms[MGK_TERMS])
{
    const mgk_regulariser *r = pass->regulariser;
    memset(terms, 0, MGK_TERMS * sizeof(*terms));
    if (!r)
        return STATUS_OK;
    TRY(take_lengths(pass));
    for (int l = 0; l < pass->model->config.layers; l++) {
        const mgk_attention_view view = mgk_pass_view(pass, l);
        const mgk_attention_layer layer = mgk_pass_attention(pass, l);
        if (r->what.weight[MGK_TERM_SUBSPACE] != 0)
            TRY(vector_term(pass, MGK_TERM_SUBSPACE, view.value, view.value_stride,
                            &terms[MGK_TERM_SUBSPACE], NULL));
        if (r->what.weight[MGK_TERM_OUTPUT] != 0)
            TRY(vector_term(pass, MGK_TERM_OUTPUT, pass->layers[l].attended, pass->width,
                            &terms[MGK_TERM_OUTPUT], NULL));
        if (needs_maps(&r->what))
            TRY(map_terms(pass, &view, &layer, terms));
    }
    return STATUS_OK;
}

void mgk_pass_take_terms(mgk_pass *pass, double terms[MGK_TERMS])
{
    mgk_regulariser *r = pass->regulariser;
    for (int term = 0; r && term < MGK_TERMS; term++) {
        terms[term] += r->sums[term];
        r->sums[term] = 0;
    }
}
