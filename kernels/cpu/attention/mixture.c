/* SPDX-License-Identifier: MIT */
#include "kernels/cpu/attention/mixture.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/exp.h"
#include "kernels/cpu/tanh.h"

/* Half of the second-level cache of the smallest supported machines. */
enum { BLOCK_BYTES = 192 * 1024 };

size_t MGK_CPU(mixture_block_rows)(const mgk_attention_view *view, size_t arrays)
{
    size_t row = mgk_cpu_pitch((size_t)mgk_view_keys(view)) * arrays * sizeof(real);
    size_t rows = BLOCK_BYTES / row / MGK_TILE_ROWS * MGK_TILE_ROWS;
    size_t most = mgk_tile_rows((size_t)view->tokens);
    if (most > MGK_MIXTURE_MOST_ROWS)
        most = MGK_MIXTURE_MOST_ROWS;
    return rows < MGK_TILE_ROWS ? MGK_TILE_ROWS : rows < most ? rows : most;
}

size_t MGK_CPU(mixture_scratch)(const mgk_attention_view *view, mgk_mixture_use use,
                                size_t block_rows, size_t extra)
{
    size_t cols = mgk_cpu_pitch((size_t)mgk_view_keys(view));
    size_t depth = mgk_cpu_padded((size_t)view->dim);
    size_t mixtures = (size_t)view->mixtures, dim = (size_t)view->dim;
    size_t count = mixtures * (dim + 1) * cols + block_rows * (depth + mixtures * cols);
    if (use == MGK_MIXTURE_OUTPUT)
        count += cols * depth;
    if (use == MGK_MIXTURE_BACKWARD)
        count += mixtures * cols * depth + dim * cols;
    return count + mgk_cpu_padded(extra);
}

static real *take(real **memory, size_t count)
{
    real *piece = *memory;
    *memory += count;
    return piece;
}

/*
 * Copies rows [keys, dim] of a strided array to packed [cols, depth] and to its transpose; NULL
 * skips one. The transpose handles a few rows at a time: rows whose stride is a large power of two
 * evict each other from the cache.
 */
static void pack(const real *source, size_t stride, real scale, const mgk_mixture_head *head,
                 real *packed, real *transposed)
{
    size_t n = head->keys, dim = (size_t)head->view->dim, cols = head->cols, depth = head->depth;
    if (packed)
        memset(packed, 0, cols * depth * sizeof(real));
    for (size_t j = 0; packed && j < n; j++)
        for (size_t d = 0; d < dim; d++)
            packed[j * depth + d] = scale * source[j * stride + d];
    for (size_t first = 0; transposed && first < cols; first += MGK_LANES)
        for (size_t d = 0; d < dim; d++)
            for (size_t j = first; j < first + MGK_LANES; j++)
                transposed[d * cols + j] = j < n ? scale * source[j * stride + d] : 0;
}

static void pack_bias(const real *key, size_t component, const mgk_mixture_head *head, real *bias)
{
    const mgk_mixture *mixture = head->mixture;
    const real *prior = mixture->prior.values;
    if (prior)
        prior +=
            head->head * mixture->prior.head_stride + component * mixture->prior.component_stride;
    for (size_t j = 0; j < head->keys; j++) {
        double sum = 0;
        if (prior) {
            double p = (double)prior[j * mixture->prior.key_stride];
            sum = p >= 1 ? 0 : p > 0 ? log(p) : -INFINITY;
        }
        if (mixture->gaussian) {
            double square = 0;
            for (size_t d = 0; d < (size_t)head->view->dim; d++) {
                double k = (double)key[j * head->view->key_stride + d];
                square += k * k;
            }
            sum -= 0.5 * mixture->scale[component] * square;
        }
        bias[j] = (real)sum;
    }
    for (size_t j = head->keys; j < head->cols; j++)
        bias[j] = (real)-INFINITY;
}

void MGK_CPU(mixture_pack)(const mgk_attention_view *view, const mgk_mixture *mixture,
                           mgk_mixture_use use, size_t sample, size_t head_index, size_t block_rows,
                           real *memory, mgk_mixture_head *out)
{
    size_t mixtures = (size_t)view->mixtures, dim = (size_t)view->dim;
    size_t token = sample * (size_t)mgk_view_keys(view);
    mgk_mixture_head head = {.view = view,
                             .mixture = mixture,
                             .sample = sample,
                             .head = head_index,
                             .n = (size_t)view->lengths[sample],
                             .keys = (size_t)mgk_view_key_lengths(view)[sample],
                             .cols = mgk_cpu_pitch((size_t)mgk_view_keys(view)),
                             .depth = mgk_cpu_padded(dim),
                             .block_rows = block_rows};
    head.key_t = take(&memory, mixtures * dim * head.cols);
    head.bias = take(&memory, mixtures * head.cols);
    head.query = take(&memory, block_rows * head.depth);
    head.logits = take(&memory, block_rows * mixtures * head.cols);
    if (use == MGK_MIXTURE_OUTPUT)
        head.value = take(&memory, head.cols * head.depth);
    if (use == MGK_MIXTURE_BACKWARD) {
        head.key = take(&memory, mixtures * head.cols * head.depth);
        head.value_t = take(&memory, dim * head.cols);
    }
    head.scratch = memory;
    head.least_scale = mixture->scale[0];
    for (size_t r = 1; r < mixtures; r++)
        head.least_scale = fmin(head.least_scale, mixture->scale[r]);
    for (size_t r = 0; r < mixtures; r++) {
        const real *key = (const real *)view->key + token * view->key_stride +
                          (r * (size_t)view->heads + head_index) * dim;
        pack(key, view->key_stride, (real)mixture->scale[r], &head,
             head.key ? head.key + r * head.cols * head.depth : NULL,
             head.key_t + r * dim * head.cols);
        pack_bias(key, r, &head, head.bias + r * head.cols);
    }
    if (use != MGK_MIXTURE_LOGITS)
        pack((const real *)view->value + token * view->value_stride + head_index * dim,
             view->value_stride, 1, &head, head.value, head.value_t);
    *out = head;
}

/* With unequal variances ‖q_i‖² does not cancel between components: adds the remaining term. */
static void add_row_terms(mgk_mixture_head *head, size_t component)
{
    double excess = head->mixture->scale[component] / head->least_scale - 1;
    if (!head->mixture->gaussian || excess == 0)
        return;
    for (size_t i = 0; i < head->rows; i++) {
        real term = (real)(-excess * mgk_mixture_offset(head, i));
        real *row = mgk_mixture_row(head, component, i);
#pragma omp simd
        for (size_t j = head->begin; j < head->width; j++)
            row[j] += term;
    }
}

/* Adds what a query and the keys from … visible − 1 have for their distance to a row. */
static void add_sides(const mgk_mixture_head *head, size_t i, size_t from, size_t visible,
                      real *row)
{
    const mgk_score_terms *terms = &head->mixture->terms;
    const size_t heads = (size_t)head->view->heads, query = head->first + i;
    const size_t step = heads * terms->sides; /* from token to token */
    const size_t start =
        head->sample * (size_t)head->view->tokens * step + head->head * terms->sides;
    const real *own = (const real *)terms->query_side + start + query * step;
    const real *keys = (const real *)terms->key_side + start;
    const int32_t *places = terms->places + terms->place_tokens - 1;
    for (size_t j = from; j < visible; j++) {
        const int32_t place = places[(ptrdiff_t)j - (ptrdiff_t)query];
        row[j] += own[place] + keys[j * step + (size_t)place];
    }
}

/* See mgk_score_terms. */
static void add_score_terms(mgk_mixture_head *head, size_t component)
{
    const mgk_score_terms *terms = &head->mixture->terms;
    const real cap = (real)terms->cap, inverse = (real)(1 / terms->cap);
    for (size_t i = 0; i < head->rows; i++) {
        real *row = mgk_mixture_row(head, component, i);
        size_t from = mgk_mixture_from(head, i), visible = mgk_mixture_visible(head, i);
        if (terms->cap > 0) {
#pragma omp simd
            for (size_t j = from; j < visible; j++)
                row[j] = cap * mgk_tanh(row[j] * inverse);
        }
        if (terms->bias) {
            const real *bias = (const real *)terms->bias +
                               head->head * (2 * terms->bias_tokens - 1) + terms->bias_tokens - 1;
            const size_t query = terms->bias_by_key ? 0 : head->first + i;
#pragma omp simd
            for (size_t j = from; j < visible; j++)
                row[j] += bias[(ptrdiff_t)j - (ptrdiff_t)query];
        }
        if (terms->places)
            add_sides(head, i, from, visible, row);
    }
}

/* −inf where a row of the block does not see a key. */
static void mask_rows(mgk_mixture_head *head, size_t component)
{
    for (size_t i = 0; i < head->rows; i++) {
        real *row = mgk_mixture_row(head, component, i);
        size_t from = mgk_mixture_from(head, i);
        for (size_t j = head->begin; j < from; j++)
            row[j] = (real)-INFINITY;
        for (size_t j = mgk_mixture_visible(head, i); j < head->width; j++)
            row[j] = (real)-INFINITY;
    }
}

void MGK_CPU(mixture_logits)(mgk_mixture_head *head, size_t first)
{
    const mgk_attention_view *view = head->view;
    size_t dim = (size_t)view->dim, depth = head->depth, cols = head->cols;
    size_t left = head->n - first;
    head->first = first;
    head->rows = left < head->block_rows ? left : head->block_rows;
    head->begin = mgk_mixture_from(head, 0) / MGK_LANES * MGK_LANES;
    head->width = mgk_cpu_padded(mgk_mixture_visible(head, head->rows - 1));
    const mgk_score_terms *terms = &head->mixture->terms;
    size_t tiled = mgk_tile_rows(head->rows);

    const real *query = (const real *)view->query + head->head * dim +
                        (head->sample * (size_t)view->tokens + first) * view->query_stride;
    memset(head->query, 0, tiled * depth * sizeof(real));
    for (size_t i = 0; i < head->rows; i++)
        memcpy(head->query + i * depth, query + i * view->query_stride, dim * sizeof(real));

    for (size_t r = 0; r < (size_t)view->mixtures; r++) {
        const size_t start = r * cols + head->begin;
        mgk_tile_multiply(tiled, head->width - head->begin, dim,
                          (mgk_tile_operand){head->query, depth, 1},
                          head->key_t + r * dim * cols + head->begin, cols, head->bias + start, 0,
                          mgk_mixture_row(head, r, 0) + head->begin, cols);
        add_row_terms(head, r);
        if (terms->cap > 0 || terms->bias || terms->places)
            add_score_terms(head, r);
        if (view->causal || terms->window > 0)
            mask_rows(head, r);
    }
}

static real row_maximum(const real *row, size_t begin, size_t width)
{
    real maximum = (real)-INFINITY;
#pragma omp simd reduction(max : maximum)
    for (size_t j = begin; j < width; j++)
        maximum = row[j] > maximum ? row[j] : maximum;
    return maximum;
}

/* Maxima ignore NaN: whether row i has no finite maximum because of a NaN. */
static bool has_nan(const mgk_mixture_head *head, size_t i)
{
    for (size_t r = 0; r < (size_t)head->view->mixtures; r++)
        for (size_t j = head->begin; j < head->width; j++)
            if (isnan(mgk_mixture_row(head, r, i)[j]))
                return true;
    return false;
}

double MGK_CPU(mixture_normalize)(const mgk_mixture_head *head, size_t i, double *divisor)
{
    size_t begin = head->begin, width = head->width, mixtures = (size_t)head->view->mixtures;
    real *row = mgk_mixture_row(head, 0, i);
    real maximum = row_maximum(row, begin, width);
    for (size_t r = 1; r < mixtures; r++) {
        real *other = mgk_mixture_row(head, r, i);
        real largest = row_maximum(other, begin, width);
        maximum = largest > maximum ? largest : maximum;
        if (!head->mixture->hard)
            continue;
#pragma omp simd
        for (size_t j = begin; j < width; j++)
            row[j] = other[j] > row[j] || isnan(other[j]) ? other[j] : row[j];
    }
    if (maximum == (real)-INFINITY) {
        size_t from = mgk_mixture_from(head, i), visible = mgk_mixture_visible(head, i);
        real entry = has_nan(head, i) ? (real)NAN : mgk_mixture_blank(head, i);
        for (size_t j = begin; j < width; j++)
            row[j] = j >= from && j < visible ? entry : 0;
        *divisor = 1;
        return isnan(entry) ? (double)NAN : -INFINITY;
    }
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = begin; j < width; j++) {
        row[j] = mgk_exp(row[j] - maximum);
        sum += row[j];
    }
    for (size_t r = 1; r < mixtures && !head->mixture->hard; r++) {
        const real *other = mgk_mixture_row(head, r, i);
#pragma omp simd reduction(+ : sum)
        for (size_t j = begin; j < width; j++) {
            real e = mgk_exp(other[j] - maximum);
            row[j] += e;
            sum += e;
        }
    }
    *divisor = (double)sum;
    if (head->mixture->normalizer_epsilon > 0)
        *divisor +=
            head->mixture->normalizer_epsilon * exp(mgk_mixture_offset(head, i) - (double)maximum);
    return (double)maximum + log(*divisor);
}

void MGK_CPU(mixture_output)(const mgk_mixture_head *head, const double *divisor, real *output,
                             size_t stride)
{
    size_t dim = (size_t)head->view->dim, depth = head->depth;
    real *sum = head->scratch; /* [block_rows, depth] */
    mgk_tile_multiply(mgk_tile_rows(head->rows), depth, head->width - head->begin,
                      (mgk_tile_operand){head->logits + head->begin, head->cols, 1},
                      head->value + head->begin * depth, depth, NULL, 0, sum, depth);
    for (size_t i = 0; i < head->rows; i++) {
        real inverse = (real)(1 / divisor[i]);
        for (size_t d = 0; d < dim; d++)
            output[(head->first + i) * stride + d] = inverse * sum[i * depth + d];
    }
}
