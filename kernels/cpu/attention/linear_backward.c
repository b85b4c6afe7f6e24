/* SPDX-License-Identifier: MIT */
/*
 * Gradients of linear attention in O(N). With g'_i = [dO_i, −dO_i·o_i] / Z_i, the gradient of
 * query i's numerators and normalizer,
 *     dφ(q_i) = Σ_j (g'_i·v'_j) f_j       = g'_i T        T  = Σ_j v'_j f_jᵀ      (keys seen)
 *     df_j    = Σ_i (g'_i·v'_j) φ(q_i)    = v'_j dT       dT = Σ_i g'_i φ(q_i)ᵀ   (queries seeing)
 *     dv_j    = Σ_i (φ(q_i)·f_j) g_i      = f_j dTᵀ,
 * and dπ_jr = df_j·φ(k_jr), dk_jr = π_jr df_j φ'(k_jr). Causal sums run forwards for queries
 * and backwards for keys, with the pairs inside a chunk made explicit as in the output.
 */
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/cpu/attention/linear.h"
#include "kernels/cpu/operations.h"

/* The arrays for the gradients of one head: the caller's, and scratch memory. */
typedef struct gradient_head {
    const real *output, *doutput;
    size_t output_stride;
    const mgk_attention_gradient *gradient;
    real *dprior;   /* [M, N] of this head and sample; NULL: not requested */
    real *weighted; /* [MGK_LINEAR_CHUNK, wide] g'_i */
    real *value_t;  /* [wide, MGK_LINEAR_CHUNK] v'_j */
    real *dscores;  /* [MGK_LINEAR_CHUNK, MGK_LINEAR_CHUNK] g'_i·v'_j */
    real *dfeature; /* [MGK_LINEAR_CHUNK, depth] dφ(q_i) or df_j */
    real *dvalue;   /* [MGK_LINEAR_CHUNK, depth] */
    real *dstate;   /* dT [wide, depth] */
    real *dstate_t; /* its transpose without the normalizer [D, depth] */
} gradient_head;

static size_t gradient_reals(const mgk_attention_view *view)
{
    size_t depth = mgk_cpu_padded((size_t)view->dim);
    size_t wide = mgk_cpu_padded((size_t)view->dim + 1), chunk = MGK_LINEAR_CHUNK;
    return chunk * (2 * wide + chunk + 2 * depth) + (wide + (size_t)view->dim) * depth;
}

static void gradient_arrays(const mgk_linear_head *head, gradient_head *g)
{
    size_t depth = head->depth, wide = head->wide, chunk = MGK_LINEAR_CHUNK;
    g->weighted = head->scratch;
    g->value_t = g->weighted + chunk * wide;
    g->dscores = g->value_t + wide * chunk;
    g->dfeature = g->dscores + chunk * chunk;
    g->dvalue = g->dfeature + chunk * depth;
    g->dstate = g->dvalue + chunk * depth;
    g->dstate_t = g->dstate + wide * depth;
}

/* g' of the chunk's queries. */
static void weigh_gradient(const mgk_linear_head *head, const gradient_head *g)
{
    size_t dim = (size_t)head->view->dim;
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
        weighted[dim] = -dot;
    }
}

/* The chunk's pairs: φ(q_i)·f_j and its gradient. */
static void pair_scores(const mgk_linear_head *head, const gradient_head *g)
{
    size_t dim = (size_t)head->view->dim;
    mgk_linear_transpose(head->rows, dim + 1, head->value, head->wide, g->value_t,
                         MGK_LINEAR_CHUNK);
    MGK_CPU(linear_scores)
    (head, g->weighted, head->wide, dim + 1, g->value_t, g->dscores);
}

static void write_query(const mgk_linear_head *head, const gradient_head *g)
{
    size_t stride = head->view->query_stride;
    for (size_t i = 0; i < head->rows; i++) {
        const real *feature = head->query + i * head->depth;
        const real *dfeature = g->dfeature + i * head->depth;
        mgk_feature_scale scale = head->query_scale[i];
        real *dquery =
            (real *)g->gradient->query + mgk_linear_token_index(head, stride, head->first + i);
#pragma omp simd
        for (size_t d = 0; d < (size_t)head->view->dim; d++)
            dquery[d] = dfeature[d] * mgk_feature_slope(feature[d], scale);
    }
}

/* Queries first to last; if causal, T grows meanwhile, otherwise dT is summed here. */
static void query_gradients(mgk_linear_head *head, const gradient_head *g)
{
    size_t dim = (size_t)head->view->dim, depth = head->depth;
    bool causal = head->view->causal;
    for (size_t first = 0; !causal && first < head->n; first += MGK_LINEAR_CHUNK) {
        MGK_CPU(linear_keys)(head, first);
        MGK_CPU(linear_accumulate)(head, head->value, head->feature, head->state);
    }
    for (size_t first = 0; first < head->n; first += MGK_LINEAR_CHUNK) {
        MGK_CPU(linear_queries)(head, first);
        size_t tiled = mgk_tile_rows(head->rows);
        if (causal) {
            MGK_CPU(linear_keys)(head, first);
            MGK_CPU(linear_scores)(head, head->query, depth, dim, head->feature_t, head->scores);
        }
        MGK_CPU(linear_normalizers)(head);
        weigh_gradient(head, g);
        mgk_tile_multiply(tiled, depth, dim + 1, (mgk_tile_operand){g->weighted, head->wide, 1},
                          head->state, depth, NULL, 0, g->dfeature, depth);
        if (causal) {
            pair_scores(head, g);
            mgk_tile_multiply(tiled, depth, head->rows,
                              (mgk_tile_operand){g->dscores, MGK_LINEAR_CHUNK, 1}, head->feature,
                              depth, g->dfeature, depth, g->dfeature, depth);
            MGK_CPU(linear_accumulate)(head, head->value, head->feature, head->state);
        } else {
            MGK_CPU(linear_accumulate)(head, g->weighted, head->query, g->dstate);
        }
        write_query(head, g);
    }
}

/* dk_jr, dπ_jr and dv_j of the chunk from df_j and dv_j. */
static void write_key_value(const mgk_linear_head *head, const gradient_head *g)
{
    const mgk_attention_view *view = head->view;
    size_t dim = (size_t)view->dim;
    mgk_feature_scale scale = head->key_scale;
    for (size_t j = 0; j < head->rows; j++) {
        size_t token = head->first + j;
        const real *dfeature = g->dfeature + j * head->depth;
        memcpy((real *)g->gradient->value + mgk_linear_token_index(head, view->value_stride, token),
               g->dvalue + j * head->depth, dim * sizeof(real));
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

/* Keys and values last to first; if causal, dT grows meanwhile. */
static void key_gradients(mgk_linear_head *head, const gradient_head *g)
{
    size_t dim = (size_t)head->view->dim, depth = head->depth;
    size_t chunks = (head->n + MGK_LINEAR_CHUNK - 1) / MGK_LINEAR_CHUNK;
    bool causal = head->view->causal;
    for (size_t chunk = chunks; chunk-- > 0;) {
        MGK_CPU(linear_keys)(head, chunk * MGK_LINEAR_CHUNK);
        size_t tiled = mgk_tile_rows(head->rows);
        if (causal || chunk == chunks - 1)
            mgk_linear_transpose(dim, dim, g->dstate, depth, g->dstate_t, depth);
        mgk_tile_multiply(tiled, depth, dim + 1, (mgk_tile_operand){head->value, head->wide, 1},
                          g->dstate, depth, NULL, 0, g->dfeature, depth);
        mgk_tile_multiply(tiled, depth, dim, (mgk_tile_operand){head->feature, depth, 1},
                          g->dstate_t, depth, NULL, 0, g->dvalue, depth);
        if (causal) {
            MGK_CPU(linear_queries)(head, chunk * MGK_LINEAR_CHUNK);
            MGK_CPU(linear_scores)(head, head->query, depth, dim, head->feature_t, head->scores);
            weigh_gradient(head, g);
            pair_scores(head, g);
            mgk_tile_multiply(tiled, depth, head->rows,
                              (mgk_tile_operand){g->dscores, 1, MGK_LINEAR_CHUNK}, head->query,
                              depth, g->dfeature, depth, g->dfeature, depth);
            mgk_tile_multiply(tiled, depth, head->rows,
                              (mgk_tile_operand){head->scores, 1, MGK_LINEAR_CHUNK}, g->weighted,
                              head->wide, g->dvalue, depth, g->dvalue, depth);
            MGK_CPU(linear_accumulate)(head, g->weighted, head->query, g->dstate);
        }
        write_key_value(head, g);
    }
}

static void add_value(const mgk_linear_head *head, const gradient_head *g, size_t j,
                      const real *sum)
{
    real *dvalue =
        (real *)g->gradient->value + mgk_linear_token_index(head, head->view->value_stride, j);
    for (size_t d = 0; d < (size_t)head->view->dim; d++)
        dvalue[d] += sum[d];
}

/* Uniform rows, whose scores have vanished: dv_j += Σ_i dO_i / (keys i sees). */
static void add_uniform(const mgk_linear_head *head, const gradient_head *g)
{
    size_t dim = (size_t)head->view->dim;
    bool causal = head->view->causal;
    real *sum = g->dvalue;
    memset(sum, 0, dim * sizeof(real));
    for (size_t i = head->n; i-- > 0;) {
        const real *doutput = g->doutput + mgk_linear_token_index(head, g->output_stride, i);
        if (head->inverse[i] == 0)
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
    }
}

/* dprior += parts [B, H, M, N], always in the same order; a clamped prior has no gradient. */
static mgk_status add_prior_gradient(const mgk_attention_view *view, const mgk_prior_view *prior,
                                     const real *parts, real *dprior)
{
    size_t heads = (size_t)view->heads, tokens = (size_t)view->tokens;
    size_t mixtures = (size_t)view->mixtures;
    double *total;
    TRY(mgk_alloc(prior->count, sizeof *total, &total));
    for (size_t row = 0; row < (size_t)view->samples * heads * mixtures; row++) {
        size_t r = row % mixtures, h = row / mixtures % heads, b = row / mixtures / heads;
        double *own = total + h * prior->head_stride + r * prior->component_stride;
        for (size_t j = 0; j < (size_t)view->lengths[b]; j++)
            own[j * prior->key_stride] += (double)parts[row * tokens + j];
    }
    for (size_t at = 0; at < prior->count; at++) {
        real p = ((const real *)prior->values)[at];
        if (p >= 0 && p <= 1)
            dprior[at] += (real)total[at];
    }
    mgk_free(total);
    return STATUS_OK;
}

mgk_status MGK_CPU(linear_attention_backward)(mgk_device *device, const mgk_attention_view *view,
                                              const mgk_linear *linear, const void *output,
                                              const void *doutput, size_t output_stride,
                                              const mgk_attention_gradient *gradient)
{
    size_t heads = (size_t)view->heads, tasks = (size_t)view->samples * heads;
    size_t prior_reals = (size_t)view->mixtures * (size_t)view->tokens;
    size_t extra = gradient_reals(view);
    mgk_status status = STATUS_OK;
    real *dprior = NULL; /* [B, H, M, N] */
    if (gradient->prior)
        CHECK(mgk_alloc(tasks * prior_reals, sizeof(real), &dprior));
    CHECK(mgk_cpu_reserve_scratch(device, MGK_CPU(linear_scratch)(view, extra) * sizeof(real)));
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
        CHECK(add_prior_gradient(view, &linear->prior, dprior, gradient->prior));
out:
    mgk_free(dprior);
    return status;
}
