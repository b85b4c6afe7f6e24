/* SPDX-License-Identifier: MIT */
#include "kernels/cpu/attention/mixture.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/exp.h"
#include "kernels/cpu/transpose.h"

/* Reals that hold the runs of a block. */
static size_t run_reals(const mgk_mixture_room *room)
{
    return mgk_cpu_padded(room->runs * sizeof(mgk_mixture_run) / sizeof(real));
}

size_t MGK_CPU(mixture_scratch)(const mgk_attention_view *view, const mgk_mixture *mixture,
                                mgk_mixture_use use, const mgk_mixture_room *room, size_t extra)
{
    size_t cols = mgk_cpu_pitch((size_t)mgk_view_keys(view));
    size_t depth = mgk_cpu_padded((size_t)view->dim);
    size_t mixtures = (size_t)view->mixtures, dim = (size_t)view->dim;
    size_t value_dim = (size_t)mgk_view_value_dim(view);
    size_t logits = room->rows * mixtures * room->pitch;
    size_t count = mixtures * (dim + 1) * cols + room->rows * depth + logits + run_reals(room);
    if (use == MGK_MIXTURE_OUTPUT)
        count += cols * mgk_cpu_padded(value_dim);
    if (use == MGK_MIXTURE_BACKWARD)
        count += mixtures * cols * depth + value_dim * cols;
    if (use == MGK_MIXTURE_BACKWARD && mixture->terms.cap > 0)
        count += logits;
    return count + mgk_cpu_padded(extra);
}

static real *take(real **memory, size_t count)
{
    real *piece = *memory;
    *memory += count;
    return piece;
}

/* Rows [keys, dim] of a strided array. */
typedef struct source_rows {
    const real *first;
    size_t stride, dim;
} source_rows;

/* Copies rows, times a scale, to packed [cols, padded dim] and to their transpose; NULL skips one.
 */
static void pack(source_rows source, real scale, const mgk_mixture_head *head, real *packed,
                 real *transposed)
{
    size_t n = head->keys, dim = source.dim, cols = head->cols, depth = mgk_cpu_padded(dim);
    if (packed)
        memset(packed, 0, cols * depth * sizeof(real));
    for (size_t j = 0; packed && j < n; j++)
        for (size_t d = 0; d < dim; d++)
            packed[j * depth + d] = scale * source.first[j * source.stride + d];
    if (!transposed)
        return;
    mgk_transpose(n, dim, source.first, source.stride, transposed, cols);
    for (size_t d = 0; d < dim; d++) {
        real *row = transposed + d * cols;
#pragma omp simd
        for (size_t j = 0; j < n; j++)
            row[j] *= scale;
        memset(row + n, 0, (cols - n) * sizeof(real));
    }
}

static void pack_bias(source_rows key, size_t component, const mgk_mixture_head *head, real *bias)
{
    const mgk_mixture *mixture = head->mixture;
    const real *prior = mixture->prior.values;
    if (prior)
        prior +=
            head->head * mixture->prior.head_stride + component * mixture->prior.component_stride;
    const int32_t *masked = mgk_view_masked(head->view, head->sample);
    for (size_t j = 0; j < head->keys; j++) {
        double sum = 0;
        if (masked && masked[j]) {
            bias[j] = (real)-INFINITY;
            continue;
        }
        if (prior) {
            double p = (double)prior[j * mixture->prior.key_stride];
            sum = p >= 1 ? 0 : p > 0 ? log(p) : -INFINITY;
        }
        if (mixture->gaussian) {
            double square = 0;
            for (size_t d = 0; d < key.dim; d++) {
                double k = (double)key.first[j * key.stride + d];
                square += k * k;
            }
            sum -= 0.5 * mixture->scale[component] * square;
        }
        bias[j] = (real)sum;
    }
    for (size_t j = head->keys; j < head->cols; j++)
        bias[j] = (real)-INFINITY;
}

/* The keys of one component; none without a dot product. */
static source_rows keys_of(const mgk_mixture_head *head, size_t component)
{
    const mgk_attention_view *view = head->view;
    const size_t dim = (size_t)view->dim, token = head->sample * (size_t)mgk_view_keys(view);
    if (dim == 0)
        return (source_rows){0};
    return (source_rows){(const real *)view->key + token * view->key_stride +
                             (component * (size_t)view->heads + head->head) * dim,
                         view->key_stride, dim};
}

static source_rows values_of(const mgk_mixture_head *head)
{
    const mgk_attention_view *view = head->view;
    const size_t dim = (size_t)mgk_view_value_dim(view);
    const size_t token = head->sample * (size_t)mgk_view_keys(view);
    return (source_rows){(const real *)view->value + token * view->value_stride + head->head * dim,
                         view->value_stride, dim};
}

/* Gives a head its arrays. */
static void divide(real *memory, mgk_mixture_use use, mgk_mixture_head *head)
{
    size_t mixtures = (size_t)head->view->mixtures, dim = (size_t)head->view->dim;
    size_t logits = mixtures * head->room.rows * head->room.pitch;
    head->key_t = take(&memory, mixtures * dim * head->cols);
    head->bias = take(&memory, mixtures * head->cols);
    head->query = take(&memory, head->room.rows * head->depth);
    head->logits = take(&memory, logits);
    if (use == MGK_MIXTURE_OUTPUT)
        head->value = take(&memory, head->cols * head->value_depth);
    if (use == MGK_MIXTURE_BACKWARD) {
        head->key = take(&memory, mixtures * head->cols * head->depth);
        head->value_t = take(&memory, (size_t)mgk_view_value_dim(head->view) * head->cols);
    }
    if (use == MGK_MIXTURE_BACKWARD && head->mixture->terms.cap > 0)
        head->slope = take(&memory, logits);
    head->runs = (mgk_mixture_run *)take(&memory, run_reals(&head->room));
    head->scratch = memory;
}

void MGK_CPU(mixture_pack)(const mgk_attention_view *view, const mgk_mixture *mixture,
                           mgk_mixture_use use, size_t sample, size_t head_index,
                           const mgk_mixture_room *room, real *memory, mgk_mixture_head *out)
{
    size_t mixtures = (size_t)view->mixtures, dim = (size_t)view->dim;
    mgk_mixture_head head = {.view = view,
                             .mixture = mixture,
                             .room = *room,
                             .sample = sample,
                             .head = head_index,
                             .n = (size_t)view->lengths[sample],
                             .keys = (size_t)mgk_view_key_lengths(view)[sample],
                             .cols = mgk_cpu_pitch((size_t)mgk_view_key_lengths(view)[sample]),
                             .depth = mgk_cpu_padded(dim),
                             .value_depth = mgk_cpu_padded((size_t)mgk_view_value_dim(view)),
                             .least_scale = mixture->scale[0]};
    divide(memory, use, &head);
    for (size_t r = 1; r < mixtures; r++)
        head.least_scale = fmin(head.least_scale, mixture->scale[r]);
    for (size_t r = 0; r < mixtures; r++) {
        const source_rows key = keys_of(&head, r);
        pack(key, (real)mixture->scale[r], &head,
             head.key ? head.key + r * head.cols * head.depth : NULL,
             head.key_t + r * dim * head.cols);
        pack_bias(key, r, &head, head.bias + r * head.cols);
    }
    if (use != MGK_MIXTURE_LOGITS)
        pack(values_of(&head), 1, &head, head.value, head.value_t);
    *out = head;
}

/* With unequal variances ‖q_i‖² does not cancel between components: adds the remaining term. */
static void add_row_terms(mgk_mixture_head *head, size_t component)
{
    double excess = head->mixture->scale[component] / head->least_scale - 1;
    if (!head->mixture->gaussian || excess == 0)
        return;
    for (size_t i = 0; i < head->rows; i++) {
        real term = (real)(-excess * head->offset[i]);
        real *row = mgk_mixture_row(head, component, i);
#pragma omp simd
        for (size_t j = 0; j < head->width; j++)
            row[j] += term;
    }
}

static double squared_norm(const real *x, size_t dim)
{
    double square = 0;
#pragma omp simd reduction(+ : square)
    for (size_t d = 0; d < dim; d++)
        square += (double)x[d] * (double)x[d];
    return square;
}

/* Rows of zeros follow the queries. */
void MGK_CPU(mixture_queries)(mgk_mixture_head *head, size_t first)
{
    const mgk_attention_view *view = head->view;
    size_t dim = (size_t)view->dim, depth = head->depth, left = head->n - first;
    head->first = first;
    head->rows = left < head->room.rows ? left : head->room.rows;
    if (dim == 0)
        return;
    const real *query = (const real *)view->query + head->head * dim +
                        (head->sample * (size_t)view->tokens + head->first) * view->query_stride;
    memset(head->query, 0, mgk_tile_rows(head->rows) * depth * sizeof(real));
    for (size_t i = 0; i < head->rows; i++) {
        memcpy(head->query + i * depth, query + i * view->query_stride, dim * sizeof(real));
        if (head->mixture->gaussian)
            head->offset[i] = 0.5 * head->least_scale * squared_norm(head->query + i * depth, dim);
    }
}

void MGK_CPU(mixture_logits)(mgk_mixture_head *head, size_t key)
{
    const mgk_attention_view *view = head->view;
    size_t dim = (size_t)view->dim, depth = head->depth, cols = head->cols;
    MGK_CPU(mixture_find_runs)(head, key);
    size_t tiled = mgk_tile_rows(head->rows);
    bool terms = MGK_CPU(mixture_has_terms)(head->mixture);
    for (size_t r = 0; r < (size_t)view->mixtures; r++) {
        for (size_t k = 0; k < head->run_count; k++) {
            const mgk_mixture_run *run = &head->runs[k];
            mgk_tile_multiply(tiled, run->width, dim, (mgk_tile_operand){head->query, depth, 1},
                              head->key_t + r * dim * cols + run->begin, cols,
                              head->bias + r * cols + run->begin, 0,
                              mgk_mixture_row(head, r, 0) + run->at, head->room.pitch);
        }
        add_row_terms(head, r);
        if (terms)
            MGK_CPU(mixture_add_terms)(head, r);
        MGK_CPU(mixture_mask)(head, r);
    }
}

static real row_maximum(const real *row, size_t width)
{
    real maximum = (real)-INFINITY;
#pragma omp simd reduction(max : maximum)
    for (size_t j = 0; j < width; j++)
        maximum = row[j] > maximum ? row[j] : maximum;
    return maximum;
}

/* Maxima ignore NaN: whether row i has no finite maximum because of a NaN. */
static bool has_nan(const mgk_mixture_head *head, size_t i)
{
    for (size_t r = 0; r < (size_t)head->view->mixtures; r++)
        for (size_t j = 0; j < head->width; j++)
            if (isnan(mgk_mixture_row(head, r, i)[j]))
                return true;
    return false;
}

/* See mixture_normalize: a row without scores. */
static double normalize_blank(const mgk_mixture_head *head, size_t i, double *divisor)
{
    real *row = mgk_mixture_row(head, 0, i);
    bool nan = has_nan(head, i);
    size_t visible = MGK_CPU(mixture_see)(head, i, row);
    real entry = nan ? (real)NAN : mgk_mixture_blank(head, visible);
    for (size_t j = 0; j < head->width; j++)
        row[j] = row[j] > 0 ? entry : 0;
    *divisor = 1;
    return nan ? (double)NAN : -INFINITY;
}

double MGK_CPU(mixture_normalize)(const mgk_mixture_head *head, size_t i, double *divisor)
{
    size_t width = head->width, mixtures = (size_t)head->view->mixtures;
    real *row = mgk_mixture_row(head, 0, i);
    real maximum = row_maximum(row, width);
    for (size_t r = 1; r < mixtures; r++) {
        real *other = mgk_mixture_row(head, r, i);
        real largest = row_maximum(other, width);
        maximum = largest > maximum ? largest : maximum;
        if (!head->mixture->hard)
            continue;
#pragma omp simd
        for (size_t j = 0; j < width; j++)
            row[j] = other[j] > row[j] || isnan(other[j]) ? other[j] : row[j];
    }
    if (head->mixture->unnormalized)
        maximum = (real)head->offset[i];
    else if (maximum == (real)-INFINITY)
        return normalize_blank(head, i, divisor);
#pragma omp simd
    for (size_t j = 0; j < width; j++)
        row[j] = mgk_exp(row[j] - maximum);
    for (size_t r = 1; r < mixtures && !head->mixture->hard; r++) {
        const real *other = mgk_mixture_row(head, r, i);
#pragma omp simd
        for (size_t j = 0; j < width; j++)
            row[j] += mgk_exp(other[j] - maximum);
    }
    *divisor = head->mixture->unnormalized ? 1 : (double)mgk_mixture_row_sum(row, width);
    if (head->mixture->normalizer_epsilon > 0 && !head->mixture->unnormalized)
        *divisor += head->mixture->normalizer_epsilon * exp(head->offset[i] - (double)maximum);
    return (double)maximum + log(*divisor);
}

void MGK_CPU(mixture_output)(const mgk_mixture_head *head, const double *divisor, real *output,
                             size_t stride)
{
    size_t dim = (size_t)mgk_view_value_dim(head->view), depth = head->value_depth;
    size_t tiled = mgk_tile_rows(head->rows);
    real *sum = head->scratch; /* [rows, value_depth] */
    if (head->run_count == 0)
        memset(sum, 0, tiled * depth * sizeof(real));
    for (size_t k = 0; k < head->run_count; k++) {
        const mgk_mixture_run *run = &head->runs[k];
        mgk_tile_multiply(tiled, depth, run->width,
                          (mgk_tile_operand){head->logits + run->at, head->room.pitch, 1},
                          head->value + run->begin * depth, depth, k ? sum : NULL, depth, sum,
                          depth);
    }
    for (size_t i = 0; i < head->rows; i++) {
        real inverse = (real)(1 / divisor[i]);
        for (size_t d = 0; d < dim; d++)
            output[(head->first + i) * stride + d] = inverse * sum[i * depth + d];
    }
}
