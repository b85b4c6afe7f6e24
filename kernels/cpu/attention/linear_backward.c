/* SPDX-License-Identifier: MIT */
/*
 * Gradients of linear attention in O(N). With g'_i = [dO_i, −dO_i·o_i] / Z_i, the gradient of
 * query i's numerators and normalizer (its last number is 0 where Z_i is a constant),
 *     dφ(q_i) = Σ_j (g'_i·v'_j) f_j       = S g'_i        S  = Σ_j f_j v'_jᵀ      (keys seen)
 *     df_j    = Σ_i (g'_i·v'_j) φ(q_i)    = dS v'_j       dS = Σ_i φ(q_i) g'_iᵀ   (queries seeing)
 *     dv_j    = Σ_i (φ(q_i)·f_j) g_i      = f_j dS,
 * and dπ_jr = df_j·φ(k_jr), dk_jr = π_jr df_j φ'(k_jr); of mixed keys k_j = Σ_r π_jr k_jr it is
 * dk_j = df_j φ'(k_j), dπ_jr = dk_j·k_jr and dk_jr = π_jr dk_j. Causal sums run forwards for
 * queries and backwards for keys, with the pairs inside a chunk made explicit as in the output.
 *
 * Going backwards, shifts of keys fall from chunk to chunk, and dS is rescaled by at most 1.
 *
 * Gate l is a factor of the pairs j < l <= i, and 1 − g_l of the pairs (i, l). With the sums
 * ρ_i = dφ(q_i)·φ(q_i) and κ_j = df_j·f_j of a pair's gradient times its score over the keys and
 * the queries, dg_l = Σ_(t >= l) (ρ_t − κ_t) / g_l − κ_l / (1 − g_l).
 */
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/cpu/attention/linear.h"
#include "kernels/cpu/attention/prior.h"
#include "kernels/cpu/operations.h"

enum { CHUNK = MGK_LINEAR_CHUNK };

/* The arrays for the gradients of one head: the caller's, and scratch memory. */
typedef struct gradient_head {
    const real *output, *doutput;
    size_t output_stride;
    const mgk_attention_gradient *gradient;
    real *dprior;     /* [M, N] of this head and sample; NULL: not requested */
    real *weighted;   /* [CHUNK, wide] g'_i */
    real *weighted_t; /* [wide, CHUNK] */
    real *value_t;    /* [wide, CHUNK] v'_j */
    real *dscores;    /* [CHUNK, CHUNK] g'_i·v'_j, of query pass its transpose */
    real *dfeature;   /* [depth, CHUNK] dφ(q_i) or df_j */
    real *dvalue;     /* [CHUNK, wide] */
    real *dinput;     /* [D padded to tiles, CHUNK] dq_i or dk_j */
    real *drow;       /* [CHUNK, wide] its transpose, of elu + 1 that of dfeature */
    real *dstate;     /* dS [depth, wide] */
    real *row_sums;   /* [N] ρ_i, with a gate */
    double later;     /* Σ of ρ_t − κ_t over the tokens after the chunk */
} gradient_head;

static size_t gradient_reals(const mgk_attention_view *view, const mgk_linear *linear)
{
    size_t dim = (size_t)view->dim, wide = mgk_cpu_pitch(dim + 1);
    size_t depth = mgk_tile_rows(mgk_feature_count(&linear->features, dim));
    return CHUNK * (5 * wide + CHUNK + depth + mgk_tile_rows(dim)) + depth * wide +
           mgk_cpu_padded((size_t)view->tokens);
}

static void gradient_arrays(const mgk_linear_head *head, gradient_head *g)
{
    size_t wide = head->wide;
    g->weighted = head->scratch;
    g->weighted_t = g->weighted + CHUNK * wide;
    g->value_t = g->weighted_t + wide * CHUNK;
    g->dscores = g->value_t + wide * CHUNK;
    g->dfeature = g->dscores + CHUNK * CHUNK;
    g->dvalue = g->dfeature + head->depth * CHUNK;
    g->drow = g->dvalue + CHUNK * wide;
    g->dinput = g->drow + CHUNK * wide;
    g->dstate = g->dinput + mgk_tile_rows(head->dim) * CHUNK;
    g->row_sums = g->dstate + head->depth * wide;
}

/* g' of the chunk's queries, and its transpose. */
static void weigh_gradient(const mgk_linear_head *head, const gradient_head *g)
{
    size_t dim = head->dim;
    for (size_t i = 0; i < head->rows; i++) {
        size_t at = mgk_linear_token_index(head, g->output_stride, head->first + i);
        const real *output = g->output + at, *doutput = g->doutput + at;
        real inverse = head->inverse[head->first + i], dot = 0;
        real *weighted = g->weighted + i * head->wide;
#pragma omp simd reduction(+ : dot)
        for (size_t d = 0; d < dim; d++) {
            weighted[d] = inverse * doutput[d];
            dot += weighted[d] * output[d];
        }
        weighted[dim] = head->own_sum[head->first + i] == 0 ? 0 : -dot;
    }
    mgk_transpose(head->rows, dim + 1, g->weighted, head->wide, g->weighted_t, CHUNK);
}

/* Rows of the chunk [CHUNK, wide] times factor [CHUNK]. */
static void scale_rows(const mgk_linear_head *head, const real *factor, real *rows)
{
    for (size_t i = 0; i < head->rows; i++)
#pragma omp simd
        for (size_t d = 0; d <= head->dim; d++)
            rows[i * head->wide + d] *= factor[i];
}

/* Columns of [rows, CHUNK] times factor [CHUNK]. */
static void scale_columns(size_t rows, const real *factor, real *columns)
{
    for (size_t r = 0; r < rows; r++)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++)
            columns[r * CHUNK + i] *= factor[i];
}

/*
 * dscores of the chunk's pairs j <= i, else 0, with their gates; rows are queries, or keys if
 * `by_key`.
 */
static void pair_gradients(const mgk_linear_head *head, const gradient_head *g, bool by_key)
{
    const real *left = by_key ? head->value : g->weighted;
    const real *right = by_key ? g->weighted_t : g->value_t;
    mgk_tile_multiply(mgk_tile_rows(head->rows), mgk_cpu_padded(head->rows), head->dim + 1,
                      (mgk_tile_operand){left, head->wide, 1}, right, CHUNK, NULL, 0, g->dscores,
                      CHUNK);
    for (size_t a = 0; a < head->rows; a++) {
        real *row = g->dscores + a * CHUNK;
        for (size_t b = 0; head->linear->gate && b < head->rows; b++)
            row[b] *= by_key ? head->within[b * CHUNK + a] : head->within[a * CHUNK + b];
        for (size_t b = by_key ? 0 : a + 1; b < (by_key ? a : head->rows); b++)
            row[b] = 0;
    }
}

/* sums [CHUNK] = Σ_r a_r b_r over [R, CHUNK]. */
static void product_sums(const mgk_linear_head *head, const real *a, const real *b, real *sums)
{
    real total[MGK_LINEAR_CHUNK] = {0};
    for (size_t k = 0; k < head->depth * CHUNK; k += CHUNK)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++)
            total[i] += a[k + i] * b[k + i];
    memcpy(sums, total, sizeof total);
}

/* dq_i of the chunk from dφ(q_i). */
static void write_query(const mgk_linear_head *head, const gradient_head *g)
{
    const size_t stride = head->view->query_stride, dim = head->dim;
    real *dquery = (real *)g->gradient->query + mgk_linear_token_index(head, stride, head->first);
    if (head->linear->gate) {
        real sums[MGK_LINEAR_CHUNK];
        product_sums(head, g->dfeature, head->query, sums);
        memcpy(g->row_sums + head->first, sums, head->rows * sizeof(real));
    }
    if (!head->is_elu) {
        MGK_CPU(feature_gradient)(&head->work, head->query, g->dfeature, g->dinput);
        mgk_transpose(dim, head->rows, g->dinput, CHUNK, dquery, stride);
        return;
    }
    for (size_t d = 0; d < dim; d++)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++)
            g->dinput[d * CHUNK + i] =
                g->dfeature[d * CHUNK + i] *
                mgk_feature_slope(head->query[d * CHUNK + i], mgk_linear_query_scale(head, i));
    mgk_transpose(dim, head->rows, g->dinput, CHUNK, dquery, stride);
}

/* dS = carry dS + Σ φ(q_i) g'_iᵀ over the chunk, as the keys before it see the queries. */
static void add_queries(mgk_linear_head *head, const gradient_head *g)
{
    if (head->linear->gate)
        scale_rows(head, head->enter, g->weighted);
    MGK_CPU(linear_accumulate)(head, head->query, g->weighted, g->dstate);
}

/* Queries first to last; if causal, S grows meanwhile, otherwise dS is summed here. */
static void query_gradients(mgk_linear_head *head, const gradient_head *g)
{
    size_t dim = head->dim, wide = head->wide;
    bool causal = head->view->causal;
    for (size_t first = 0; !causal && first < head->n; first += CHUNK) {
        MGK_CPU(linear_keys)(head, first);
        MGK_CPU(linear_add_keys)(head);
    }
    for (size_t first = 0; first < head->n; first += CHUNK) {
        if (causal)
            MGK_CPU(linear_keys)(head, first);
        MGK_CPU(linear_queries)(head, first);
        const size_t cols = mgk_cpu_padded(head->rows);
        if (causal)
            MGK_CPU(linear_scores)(head);
        MGK_CPU(linear_normalizers)(head);
        weigh_gradient(head, g);
        mgk_tile_multiply(head->depth, cols, dim + 1, (mgk_tile_operand){head->state, wide, 1},
                          g->weighted_t, CHUNK, NULL, 0, g->dfeature, CHUNK);
        if (causal) {
            if (head->linear->gate)
                scale_columns(head->depth, head->enter, g->dfeature);
            pair_gradients(head, g, true);
            mgk_tile_multiply(head->depth, cols, head->rows,
                              (mgk_tile_operand){head->feature, CHUNK, 1}, g->dscores, CHUNK,
                              g->dfeature, CHUNK, g->dfeature, CHUNK);
            MGK_CPU(linear_add_keys)(head);
        } else {
            add_queries(head, g);
        }
        write_query(head, g);
    }
}

/* dk_jr and dπ_jr of elu + 1 from df_j. */
static void write_elu_key(const mgk_linear_head *head, const gradient_head *g)
{
    const mgk_attention_view *view = head->view;
    const size_t dim = head->dim;
    const mgk_feature_scale scale = head->key_scale;
    mgk_transpose(dim, head->rows, g->dfeature, CHUNK, g->drow, head->wide);
    for (size_t j = 0; j < head->rows; j++) {
        const size_t token = head->first + j;
        const real *dfeature = g->drow + j * head->wide;
        for (size_t r = 0; r < (size_t)view->mixtures; r++) {
            size_t at = mgk_linear_key_index(head, r, token);
            const real *key = (const real *)view->key + at;
            real *dkey = (real *)g->gradient->key + at;
            real p = mgk_linear_prior(head, r, token), dot = 0;
#pragma omp simd reduction(+ : dot)
            for (size_t d = 0; d < dim; d++) {
                real feature = mgk_feature(key[d], scale);
                dot += dfeature[d] * feature;
                dkey[d] = p * dfeature[d] * mgk_feature_slope(feature, scale);
            }
            if (g->dprior)
                g->dprior[r * (size_t)view->tokens + token] = dot;
        }
    }
}

/* The same where φ is that of mixed keys, which the chunk has. */
static void write_mixed_key(const mgk_linear_head *head, const gradient_head *g)
{
    const mgk_attention_view *view = head->view;
    const size_t dim = head->dim;
    for (size_t j = 0; j < head->rows; j++) {
        const size_t token = head->first + j;
        real *dmixed = g->drow + j * head->wide;
        for (size_t d = 0; d < dim; d++)
            dmixed[d] = g->dfeature[d * CHUNK + j] *
                        mgk_feature_slope(head->feature[d * CHUNK + j], head->key_scale);
        for (size_t r = 0; r < (size_t)view->mixtures; r++) {
            const size_t at = mgk_linear_key_index(head, r, token);
            const real *key = (const real *)view->key + at, p = mgk_linear_prior(head, r, token);
            real *dkey = (real *)g->gradient->key + at, dot = 0;
#pragma omp simd reduction(+ : dot)
            for (size_t d = 0; d < dim; d++) {
                dot += dmixed[d] * key[d];
                dkey[d] = p * dmixed[d];
            }
            if (g->dprior)
                g->dprior[r * (size_t)view->tokens + token] = dot;
        }
    }
}

/* The gradient of the chunk's gates, last to first. */
static void write_gates(const mgk_linear_head *head, gradient_head *g)
{
    real sums[MGK_LINEAR_CHUNK];
    product_sums(head, g->dfeature, head->feature, sums);
    for (size_t j = head->rows; j-- > 0;) {
        const size_t token = head->first + j;
        const double gate = (double)mgk_linear_gate(head, token), key = (double)sums[j];
        g->later += (double)g->row_sums[token] - key;
        const double decay = gate > 0 ? g->later / gate : 0;
        const double entry = gate < 1 ? key / (1 - gate) : 0;
        ((real *)g->gradient->gate)[mgk_linear_gate_index(head, token)] = (real)(decay - entry);
    }
}

/* dv_j, dk_j and the gates' gradient of the chunk. */
static void write_key_value(const mgk_linear_head *head, gradient_head *g)
{
    const mgk_attention_view *view = head->view;
    for (size_t j = 0; j < head->rows; j++)
        memcpy((real *)g->gradient->value +
                   mgk_linear_token_index(head, view->value_stride, head->first + j),
               g->dvalue + j * head->wide, head->dim * sizeof(real));
    if (head->linear->gate)
        write_gates(head, g);
    if (head->is_elu) {
        if (head->linear->mix_keys)
            write_mixed_key(head, g);
        else
            write_elu_key(head, g);
        return;
    }
    MGK_CPU(feature_gradient)(&head->work, head->feature, g->dfeature, g->dinput);
    mgk_transpose(head->dim, head->rows, g->dinput, CHUNK,
                  (real *)g->gradient->key + mgk_linear_key_index(head, 0, head->first),
                  view->key_stride);
}

/* df_j and dv_j of the chunk from the queries behind it. */
static void gather_later(const mgk_linear_head *head, const gradient_head *g)
{
    const size_t dim = head->dim, wide = head->wide;
    mgk_transpose(head->rows, dim + 1, head->value, wide, g->value_t, CHUNK);
    mgk_tile_multiply(head->depth, mgk_cpu_padded(head->rows), dim + 1,
                      (mgk_tile_operand){g->dstate, wide, 1}, g->value_t, CHUNK, NULL, 0,
                      g->dfeature, CHUNK);
    mgk_tile_multiply(mgk_tile_rows(head->rows), mgk_cpu_padded(dim),
                      mgk_feature_count(&head->linear->features, dim),
                      (mgk_tile_operand){head->feature, 1, CHUNK}, g->dstate, wide, NULL, 0,
                      g->dvalue, wide);
    if (head->linear->gate) {
        scale_columns(head->depth, head->leave, g->dfeature);
        scale_rows(head, head->leave, g->dvalue);
    }
}

/* Adds the queries of the chunk itself. */
static void gather_own(const mgk_linear_head *head, const gradient_head *g)
{
    weigh_gradient(head, g);
    pair_gradients(head, g, false);
    mgk_tile_multiply(head->depth, mgk_cpu_padded(head->rows), head->rows,
                      (mgk_tile_operand){head->query, CHUNK, 1}, g->dscores, CHUNK, g->dfeature,
                      CHUNK, g->dfeature, CHUNK);
    mgk_tile_multiply(mgk_tile_rows(head->rows), mgk_cpu_padded(head->dim), head->rows,
                      (mgk_tile_operand){head->scores, 1, CHUNK}, g->weighted, head->wide,
                      g->dvalue, head->wide, g->dvalue, head->wide);
}

/* dS in the units of the shift of `chunk`. */
static void enter_shift(const mgk_linear_head *head, size_t chunk, const gradient_head *g)
{
    const real factor = mgk_exp(head->shifts[chunk] - head->shifts[chunk + 1]);
    for (size_t k = 0; factor != 1 && k < head->depth * head->wide; k++)
        g->dstate[k] *= factor;
}

/* Keys and values last to first; if causal, dS grows meanwhile. */
static void key_gradients(mgk_linear_head *head, gradient_head *g)
{
    size_t chunks = (head->n + CHUNK - 1) / CHUNK;
    bool causal = head->view->causal;
    for (size_t chunk = 0; !causal && chunk < chunks; chunk++)
        head->shifts[chunk] = head->key_scale.shift;
    head->shifts_known = true;
    for (size_t chunk = chunks; chunk-- > 0;) {
        if (causal)
            MGK_CPU(linear_queries)(head, chunk * CHUNK);
        MGK_CPU(linear_keys)(head, chunk * CHUNK);
        if (causal && chunk + 1 < chunks)
            enter_shift(head, chunk, g);
        gather_later(head, g);
        if (causal) {
            MGK_CPU(linear_scores)(head);
            gather_own(head, g);
            add_queries(head, g);
        }
        write_key_value(head, g);
    }
}

static void add_value(const mgk_linear_head *head, const gradient_head *g, size_t j,
                      const real *sum)
{
    real *dvalue =
        (real *)g->gradient->value + mgk_linear_token_index(head, head->view->value_stride, j);
    for (size_t d = 0; d < head->dim; d++)
        dvalue[d] += sum[d];
}

/* Uniform rows, whose scores have vanished: dv_j += Σ_i dO_i / (keys i sees). */
static void add_uniform(const mgk_linear_head *head, const gradient_head *g)
{
    size_t dim = head->dim;
    bool causal = head->view->causal;
    real *sum = g->dvalue;
    memset(sum, 0, dim * sizeof(real));
    for (size_t i = head->n; i-- > 0;) {
        const real *doutput = g->doutput + mgk_linear_token_index(head, g->output_stride, i);
        if (mgk_linear_uniform(head, head->inverse[i]))
            for (size_t d = 0; d < dim; d++)
                sum[d] += doutput[d] / (real)mgk_linear_visible(head, i);
        if (causal)
            add_value(head, g, i, sum);
    }
    for (size_t j = 0; !causal && j < head->n; j++)
        add_value(head, g, j, sum);
}

static void clear_padding(const mgk_linear_head *head, const mgk_attention_gradient *gradient)
{
    const mgk_attention_view *view = head->view;
    size_t bytes = (size_t)view->dim * sizeof(real);
    for (size_t j = head->n; j < (size_t)view->tokens; j++) {
        memset((real *)gradient->query + mgk_linear_token_index(head, view->query_stride, j), 0,
               bytes);
        memset((real *)gradient->value + mgk_linear_token_index(head, view->value_stride, j), 0,
               bytes);
        for (size_t r = 0; r < (size_t)view->mixtures; r++)
            memset((real *)gradient->key + mgk_linear_key_index(head, r, j), 0, bytes);
        if (head->linear->gate)
            ((real *)gradient->gate)[mgk_linear_gate_index(head, j)] = 0;
    }
}

mgk_status MGK_CPU(linear_attention_backward)(mgk_device *device, const mgk_attention_view *view,
                                              const mgk_linear *linear, const void *output,
                                              const void *doutput, size_t output_stride,
                                              const mgk_attention_gradient *gradient)
{
    size_t heads = (size_t)view->heads, tasks = (size_t)view->samples * heads;
    size_t prior_reals = (size_t)view->mixtures * (size_t)view->tokens;
    size_t extra = gradient_reals(view, linear);
    mgk_status status = STATUS_OK;
    real *dprior = NULL; /* [B, H, M, N] */
    if (gradient->prior)
        CHECK(mgk_alloc(tasks * prior_reals, sizeof(real), &dprior));
    CHECK(mgk_cpu_reserve_scratch(device,
                                  MGK_CPU(linear_scratch)(view, linear, extra) * sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads)
    for (size_t task = 0; task < tasks; task++) {
        mgk_linear_head head;
        MGK_CPU(linear_begin)
        (view, linear, task / heads, task % heads, extra,
         mgk_cpu_scratch(device, omp_get_thread_num()), &head);
        gradient_head g = {.output = output,
                           .doutput = doutput,
                           .output_stride = output_stride,
                           .gradient = gradient,
                           .dprior = dprior ? dprior + task * prior_reals : NULL};
        gradient_arrays(&head, &g);
        query_gradients(&head, &g);
        key_gradients(&head, &g);
        if (head.uniform)
            add_uniform(&head, &g);
        clear_padding(&head, gradient);
    }
    if (dprior)
        CHECK(MGK_CPU(add_prior_gradient)(view, &linear->prior, false, dprior, (size_t)view->tokens,
                                          gradient->prior));
out:
    mgk_free(dprior);
    return status;
}
