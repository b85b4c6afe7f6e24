/* SPDX-License-Identifier: MIT */
#include "kernels/cpu/attention/linear.h"

#include <math.h>
#include <string.h>

enum { CHUNK = MGK_LINEAR_CHUNK };

static size_t depth_of(const mgk_attention_view *view, const mgk_linear *linear)
{
    return mgk_tile_rows(mgk_feature_count(&linear->features, (size_t)view->dim));
}

/* Reals of the arrays that start as zeros, including the caller's. */
static size_t zeroed_reals(const mgk_attention_view *view, const mgk_linear *linear, size_t extra)
{
    size_t dim = (size_t)view->dim, depth = depth_of(view, linear), wide = mgk_cpu_pitch(dim + 1);
    size_t work = MGK_CPU(feature_scratch)(&linear->features, dim);
    return work + 2 * wide * depth + CHUNK * (2 * depth + wide + 2 * CHUNK + 4) +
           mgk_cpu_padded(extra);
}

static size_t chunks_of(const mgk_attention_view *view)
{
    return ((size_t)view->tokens + CHUNK - 1) / CHUNK;
}

size_t MGK_CPU(linear_scratch)(const mgk_attention_view *view, const mgk_linear *linear,
                               size_t extra)
{
    return zeroed_reals(view, linear, extra) + 2 * mgk_cpu_padded((size_t)view->tokens) +
           mgk_cpu_padded(chunks_of(view));
}

static real *take(real **memory, size_t count)
{
    real *piece = *memory;
    *memory += count;
    return piece;
}

static real largest(const real *x, size_t count, real start)
{
    real maximum = start;
#pragma omp simd reduction(max : maximum)
    for (size_t d = 0; d < count; d++)
        maximum = x[d] > maximum ? x[d] : maximum;
    return maximum;
}

/* mixed [D] = Σ_r π_jr k_jr. */
static void mix_key(const mgk_linear_head *head, size_t j, real *mixed)
{
    size_t dim = head->dim;
    memset(mixed, 0, dim * sizeof(real));
    for (size_t r = 0; r < (size_t)head->view->mixtures; r++) {
        const real *key = (const real *)head->view->key + mgk_linear_key_index(head, r, j);
        real p = mgk_linear_prior(head, r, j);
#pragma omp simd
        for (size_t d = 0; d < dim; d++)
            mixed[d] += p * key[d];
    }
}

/* The largest w_r·x' of all keys. */
static real largest_product(mgk_linear_head *head)
{
    const mgk_attention_view *view = head->view;
    real maximum = (real)-INFINITY;
    for (size_t first = 0; first < head->n; first += CHUNK) {
        const size_t left = head->n - first, rows = left < CHUNK ? left : CHUNK;
        mgk_transpose(rows, head->dim,
                      (const real *)view->key + mgk_linear_key_index(head, 0, first),
                      view->key_stride, head->work.input, CHUNK);
        MGK_CPU(feature_project)(&head->work, first);
        for (size_t j = 0; j < rows; j++) {
            const real product = head->work.top[j] + head->work.norm[j];
            maximum = product > maximum ? product : maximum;
        }
    }
    return maximum;
}

/* Divides each column of features [D, CHUNK] by its sum. */
static void divide_by_sums(size_t dim, real *feature)
{
    real sum[MGK_LINEAR_CHUNK] = {0};
    for (size_t d = 0; d < dim; d++)
#pragma omp simd
        for (size_t j = 0; j < CHUNK; j++)
            sum[j] += feature[d * CHUNK + j];
    for (size_t d = 0; d < dim; d++)
        for (size_t j = 0; j < CHUNK; j++)
            feature[d * CHUNK + j] = sum[j] > 0 ? feature[d * CHUNK + j] / sum[j] : 0;
}

/* The scale of all keys; exponentials begin without one, and find it chunk by chunk. */
static mgk_feature_scale scale_keys(mgk_linear_head *head)
{
    const mgk_attention_view *view = head->view;
    real maximum = (real)-INFINITY, *mixed = head->value;
    if (head->work.offset > 0)
        return (mgk_feature_scale){largest_product(head), 1};
    if (!head->is_elu) {
        const bool chosen = head->work.shifts && !(head->linear->fixed_normalizer > 0);
        return (mgk_feature_scale){chosen ? maximum : 0, 1};
    }
    if (head->linear->unit_features)
        return (mgk_feature_scale){0, 1};
    for (size_t j = 0; head->linear->mix_keys && j < head->n; j++) {
        mix_key(head, j, mixed);
        maximum = largest(mixed, head->dim, maximum);
    }
    memset(mixed, 0, head->dim * sizeof(real));
    for (size_t j = 0; !head->linear->mix_keys && j < head->n; j++)
        for (size_t r = 0; r < (size_t)view->mixtures; r++)
            maximum = largest((const real *)view->key + mgk_linear_key_index(head, r, j), head->dim,
                              maximum);
    return mgk_feature_scale_for(head->linear, maximum);
}

void MGK_CPU(linear_begin)(const mgk_attention_view *view, const mgk_linear *linear, size_t sample,
                           size_t head_index, size_t extra, real *memory, mgk_linear_head *out)
{
    size_t dim = (size_t)view->dim;
    mgk_linear_head head = {.view = view,
                            .linear = linear,
                            .sample = sample,
                            .head = head_index,
                            .n = (size_t)view->lengths[sample],
                            .dim = dim,
                            .depth = depth_of(view, linear),
                            .wide = mgk_cpu_pitch(dim + 1),
                            .is_elu = linear->features.map == MGK_FEATURES_ELU,
                            .carry = 1};
    /* Products cover whole vectors and groups of rows: the padding must be finite. */
    memset(memory, 0, zeroed_reals(view, linear, extra) * sizeof(real));
    MGK_CPU(feature_begin)
    (&linear->features, dim, head_index,
     take(&memory, MGK_CPU(feature_scratch)(&linear->features, dim)), &head.work);
    head.state = take(&memory, head.depth * head.wide);
    head.chunk_sum = take(&memory, head.depth * head.wide);
    head.query = take(&memory, head.depth * CHUNK);
    head.feature = take(&memory, head.depth * CHUNK);
    head.value = take(&memory, CHUNK * head.wide);
    head.scores = take(&memory, CHUNK * CHUNK);
    head.within = take(&memory, CHUNK * CHUNK);
    head.enter = take(&memory, CHUNK);
    head.leave = take(&memory, CHUNK);
    head.query_shift = take(&memory, CHUNK);
    head.query_inverse = take(&memory, CHUNK);
    head.scratch = take(&memory, mgk_cpu_padded(extra));
    head.inverse = take(&memory, mgk_cpu_padded((size_t)view->tokens));
    head.own_sum = take(&memory, mgk_cpu_padded((size_t)view->tokens));
    head.shifts = memory;
    head.key_scale = scale_keys(&head);
    for (size_t r = 0; head.work.offset > 0 && r < linear->features.omega_rows; r++)
        head.state[r * head.wide + dim] = (real)linear->feature_sum_epsilon;
    *out = head;
}

static void begin_chunk(mgk_linear_head *head, size_t first)
{
    size_t left = head->n - first;
    head->first = first;
    head->rows = left < CHUNK ? left : CHUNK;
}

/* Scaled elu + 1 of the chunk's queries, x [D, CHUNK]. */
static void elu_queries(mgk_linear_head *head, const real *x)
{
    real top[MGK_LINEAR_CHUNK];
    for (size_t i = 0; i < CHUNK; i++)
        top[i] = (real)-INFINITY;
    for (size_t d = 0; d < head->dim; d++)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++) {
            const real number = x[d * CHUNK + i];
            top[i] = number > top[i] ? number : top[i];
        }
    for (size_t i = 0; i < CHUNK; i++) {
        const mgk_feature_scale scale = head->linear->unit_features
                                            ? (mgk_feature_scale){0, 1}
                                            : mgk_feature_scale_for(head->linear, top[i]);
        head->query_shift[i] = scale.shift;
        head->query_inverse[i] = scale.inverse;
    }
    for (size_t d = 0; d < head->dim; d++)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++)
            head->query[d * CHUNK + i] =
                mgk_feature(x[d * CHUNK + i], mgk_linear_query_scale(head, i));
    if (head->linear->unit_features)
        divide_by_sums(head->dim, head->query);
}

void MGK_CPU(linear_queries)(mgk_linear_head *head, size_t first)
{
    const mgk_attention_view *view = head->view;
    begin_chunk(head, first);
    mgk_transpose(head->rows, head->dim,
                  (const real *)view->query +
                      mgk_linear_token_index(head, view->query_stride, first),
                  view->query_stride, head->work.input, CHUNK);
    if (head->is_elu) {
        elu_queries(head, head->work.input);
        return;
    }
    const bool chosen = head->work.shifts && !(head->linear->fixed_normalizer > 0);
    MGK_CPU(feature_project)(&head->work, first);
    for (size_t i = 0; i < CHUNK; i++) {
        const real most = head->work.offset > 0 ? head->work.norm[i] : 0;
        head->query_shift[i] = chosen ? head->work.top[i] + most : 0;
        head->query_inverse[i] = 1;
    }
    MGK_CPU(feature_finish)(&head->work, head->query_shift, head->query);
}

/* f_j = 0 for the keys of the chunk that no query sees. */
static void mask_keys(mgk_linear_head *head)
{
    const int32_t *masked = mgk_view_masked(head->view, head->sample);
    if (!masked)
        return;
    for (size_t d = 0; d < head->dim * CHUNK; d += CHUNK)
        for (size_t j = 0; j < head->rows; j++)
            head->feature[d + j] = masked[head->first + j] ? 0 : head->feature[d + j];
}

/* Adds one component, whose keys are the input, to the features: its own are divided by their sum.
 */
static void unit_keys(mgk_linear_head *head, const real *prior)
{
    const size_t count = head->dim * CHUNK;
    real *x = head->work.input;
    for (size_t k = 0; k < count; k++)
        x[k] = mgk_feature(x[k], head->key_scale);
    divide_by_sums(head->dim, x);
    for (size_t d = 0; d < count; d += CHUNK)
        for (size_t j = 0; j < CHUNK; j++)
            head->feature[d + j] += prior[j] * x[d + j];
}

/* f_j of elu + 1 for the chunk, from M keys each. */
static void elu_keys(mgk_linear_head *head)
{
    const mgk_attention_view *view = head->view;
    const mgk_feature_scale scale = head->key_scale;
    const bool mix = head->linear->mix_keys;
    const size_t count = head->dim * CHUNK;
    const real *x = head->work.input;
    real *feature = head->feature;
    memset(feature, 0, count * sizeof(real));
    for (size_t r = 0; r < (size_t)view->mixtures; r++) {
        real prior[MGK_LINEAR_CHUNK] = {0};
        for (size_t j = 0; j < head->rows; j++)
            prior[j] = mgk_linear_prior(head, r, head->first + j);
        mgk_transpose(head->rows, head->dim,
                      (const real *)view->key + mgk_linear_key_index(head, r, head->first),
                      view->key_stride, head->work.input, CHUNK);
        if (head->linear->unit_features) {
            unit_keys(head, prior);
            continue;
        }
        for (size_t d = 0; d < count; d += CHUNK)
#pragma omp simd
            for (size_t j = 0; j < CHUNK; j++)
                feature[d + j] += prior[j] * (mix ? x[d + j] : mgk_feature(x[d + j], scale));
    }
    if (mix)
#pragma omp simd
        for (size_t k = 0; k < count; k++)
            feature[k] = mgk_feature(feature[k], scale);
    mask_keys(head);
}

/* The shift of the chunk's keys, which is the largest exponent so far; rescales the state. */
static void choose_shift(mgk_linear_head *head)
{
    const real before = head->key_scale.shift;
    const real shift = largest(head->work.top, head->rows, before);
    if (shift > before) {
        const real factor = mgk_exp(before - shift);
        head->key_scale.shift = shift;
#pragma omp simd
        for (size_t k = 0; k < head->depth * head->wide; k++)
            head->state[k] *= factor;
    }
    head->shifts[head->first / CHUNK] = shift;
}

static void mapped_keys(mgk_linear_head *head)
{
    const mgk_attention_view *view = head->view;
    const size_t chunk = head->first / CHUNK;
    real shift[MGK_LINEAR_CHUNK];
    mgk_transpose(head->rows, head->dim,
                  (const real *)view->key + mgk_linear_key_index(head, 0, head->first),
                  view->key_stride, head->work.input, CHUNK);
    MGK_CPU(feature_project)(&head->work, head->first);
    if (head->shifts_known)
        head->key_scale.shift = head->shifts[chunk];
    else if (head->work.offset > 0)
        head->shifts[chunk] = head->key_scale.shift;
    else if (head->work.shifts && !(head->linear->fixed_normalizer > 0))
        choose_shift(head);
    else
        head->shifts[chunk] = 0;
    for (size_t j = 0; j < CHUNK; j++)
        shift[j] = head->key_scale.shift;
    MGK_CPU(feature_finish)(&head->work, shift, head->feature);
}

/* enter, leave, within and carry of the chunk. */
static void pack_gates(mgk_linear_head *head)
{
    real product = 1;
    for (size_t i = 0; i < head->rows; i++) {
        const real gate = mgk_linear_gate(head, head->first + i);
        real *within = head->within + i * CHUNK;
        memset(within, 0, CHUNK * sizeof(real));
        for (size_t j = 0; j < i; j++)
            within[j] = gate * head->within[(i - 1) * CHUNK + j];
        within[i] = 1 - gate;
        head->enter[i] = product *= gate;
    }
    memcpy(head->leave, head->within + (head->rows - 1) * CHUNK, CHUNK * sizeof(real));
    head->carry = product;
}

void MGK_CPU(linear_keys)(mgk_linear_head *head, size_t first)
{
    const mgk_attention_view *view = head->view;
    begin_chunk(head, first);
    for (size_t j = 0; j < head->rows; j++) {
        real *value = head->value + j * head->wide;
        memcpy(value,
               (const real *)view->value +
                   mgk_linear_token_index(head, view->value_stride, first + j),
               head->dim * sizeof(real));
        value[head->dim] = 1;
    }
    if (head->linear->gate)
        pack_gates(head);
    if (head->is_elu) {
        elu_keys(head);
        head->shifts[first / CHUNK] = head->key_scale.shift;
    } else {
        mapped_keys(head);
    }
}

void MGK_CPU(linear_accumulate)(mgk_linear_head *head, const real *feature, const real *right,
                                real *state)
{
    const size_t cols = mgk_cpu_padded(head->dim), wide = head->wide;
    const real carry = head->carry;
    mgk_tile_multiply(head->depth, cols, head->rows, (mgk_tile_operand){feature, CHUNK, 1}, right,
                      wide, NULL, 0, head->chunk_sum, wide);
    if (cols == head->dim) { /* otherwise the padding has column D */
        real unit[MGK_LINEAR_CHUNK] = {0};
        for (size_t i = 0; i < head->rows; i++)
            unit[i] = right[i * wide + head->dim];
        for (size_t r = 0; r < head->depth; r++) {
            real sum = 0;
#pragma omp simd reduction(+ : sum)
            for (size_t i = 0; i < CHUNK; i++)
                sum += feature[r * CHUNK + i] * unit[i];
            head->chunk_sum[r * wide + head->dim] = sum;
        }
    }
    for (size_t r = 0; r < head->depth * wide; r += wide)
#pragma omp simd
        for (size_t d = 0; d <= head->dim; d++)
            state[r + d] = carry * state[r + d] + head->chunk_sum[r + d];
}

void MGK_CPU(linear_add_keys)(mgk_linear_head *head)
{
    for (size_t j = 0; head->linear->gate && j < head->rows; j++) {
        real *value = head->value + j * head->wide;
#pragma omp simd
        for (size_t d = 0; d <= head->dim; d++)
            value[d] *= head->leave[j];
    }
    MGK_CPU(linear_accumulate)(head, head->feature, head->value, head->state);
}

void MGK_CPU(linear_scores)(const mgk_linear_head *head)
{
    size_t width = mgk_cpu_padded(head->rows);
    mgk_tile_multiply(mgk_tile_rows(head->rows), width,
                      mgk_feature_count(&head->linear->features, head->dim),
                      (mgk_tile_operand){head->query, 1, CHUNK}, head->feature, CHUNK, NULL, 0,
                      head->scores, CHUNK);
    for (size_t i = 0; i < head->rows; i++) {
        real *row = head->scores + i * CHUNK;
        for (size_t j = 0; head->linear->gate && j <= i; j++)
            row[j] *= head->within[i * CHUNK + j];
        memset(row + i + 1, 0, (width - i - 1) * sizeof(real));
    }
}

void MGK_CPU(linear_normalizers)(mgk_linear_head *head)
{
    const real *normalizer = head->state + head->dim;
    real sums[MGK_LINEAR_CHUNK] = {0};
    for (size_t r = 0; r < head->depth; r++)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++)
            sums[i] += head->query[r * CHUNK + i] * normalizer[r * head->wide];
    for (size_t i = 0; i < head->rows; i++) {
        const real *scores = head->scores + i * CHUNK;
        real sum = head->linear->gate ? head->enter[i] * sums[i] : sums[i];
        size_t own = head->view->causal ? i + 1 : 0;
#pragma omp simd reduction(+ : sum)
        for (size_t j = 0; j < own; j++)
            sum += scores[j];
        real inverse = mgk_linear_inverse(head, mgk_linear_query_scale(head, i), sum,
                                          head->own_sum + head->first + i);
        head->inverse[head->first + i] = inverse;
        if (mgk_linear_uniform(head, inverse))
            head->uniform = true;
    }
}
