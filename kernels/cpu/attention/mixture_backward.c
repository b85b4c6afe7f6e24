/* SPDX-License-Identifier: MIT */
/*
 * Gradients of softmax attention over biased keys. With A the matrix and G = dO Vᵀ,
 *     dl_ijr = A_ijr (G_ij − dO_i·O_i),   A_ijr = exp(l_ijr − statistic_i),
 * also with a normalizer_epsilon. A maximum (hard) passes its gradient to the component that
 * attains it. From l = scale q·k + bias follow the products
 *     dV = Aᵀ dO,  dQ = Σ_r dl_r scale_r K_r,  dK_r = scale_r dl_rᵀ Q;
 * the squares in Gaussian l add −scale_r (Σ_j dl_ijr) q_i and −scale_r (Σ_i dl_ijr) k_jr.
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/cpu/attention/mixture.h"
#include "kernels/cpu/exp.h"
#include "kernels/cpu/operations.h"

/* A thread's arrays in the scratch memory of its head. */
typedef struct gradient_head {
    real *doutput;     /* [block_rows, depth] */
    real *dquery;      /* [block_rows, depth] */
    real *probability; /* [block_rows, cols] A */
    real *dscore;      /* [block_rows, cols] G */
    real *dkey;        /* [M, cols, depth] Σ_i dl_ijr q_i */
    real *dvalue;      /* [cols, depth] */
    real *dbias;       /* [M, cols] Σ_i dl_ijr */
} gradient_head;

static size_t gradient_reals(const mgk_attention_view *view, size_t rows)
{
    size_t cols = mgk_cpu_pitch((size_t)view->tokens), depth = mgk_cpu_padded((size_t)view->dim);
    size_t mixtures = (size_t)view->mixtures;
    return 2 * rows * (depth + cols) + cols * depth * (mixtures + 1) + mixtures * cols;
}

static gradient_head gradient_arrays(const mgk_mixture_head *head)
{
    size_t rows = head->block_rows, cols = head->cols, depth = head->depth;
    size_t mixtures = (size_t)head->view->mixtures;
    gradient_head g;
    g.doutput = head->scratch;
    g.dquery = g.doutput + rows * depth;
    g.probability = g.dquery + rows * depth;
    g.dscore = g.probability + rows * cols;
    g.dkey = g.dscore + rows * cols;
    g.dvalue = g.dkey + mixtures * cols * depth;
    g.dbias = g.dvalue + cols * depth;
    memset(g.dkey, 0, (cols * depth * (mixtures + 1) + mixtures * cols) * sizeof(real));
    return g;
}

/* A row without scores: its values have a gradient, its logits (A_ijr = 0) have none. */
static void blank_probability(const mgk_mixture_head *head, size_t i, real *p)
{
    size_t visible = mgk_mixture_visible(head, i);
    for (size_t j = 0; j < head->width; j++)
        p[j] = j < visible ? mgk_mixture_blank(head, i) : 0;
    for (size_t r = 0; r < (size_t)head->view->mixtures; r++)
        memset(mgk_mixture_row(head, r, i), 0, head->width * sizeof(real));
}

/* The first of equal components is the maximum. Row 0 holds the index of the largest meanwhile. */
static void hard_probability(const mgk_mixture_head *head, size_t i, real statistic, real *p)
{
    size_t width = head->width, mixtures = (size_t)head->view->mixtures;
    real *winner = mgk_mixture_row(head, 0, i);
    memcpy(p, winner, width * sizeof(real));
    memset(winner, 0, width * sizeof(real));
    for (size_t r = 1; r < mixtures; r++) {
        const real *other = mgk_mixture_row(head, r, i);
#pragma omp simd
        for (size_t j = 0; j < width; j++) {
            winner[j] = other[j] > p[j] ? (real)r : winner[j];
            p[j] = other[j] > p[j] ? other[j] : p[j];
        }
    }
#pragma omp simd
    for (size_t j = 0; j < width; j++)
        p[j] = mgk_exp(p[j] - statistic);
    for (size_t r = mixtures; r-- > 0;) {
        real *component = mgk_mixture_row(head, r, i);
#pragma omp simd
        for (size_t j = 0; j < width; j++)
            component[j] = winner[j] == (real)r ? p[j] : 0;
    }
}

/* p [width] = A_i from the logits, which are replaced by A_ijr. */
static void row_probability(const mgk_mixture_head *head, size_t i, real statistic, real *p)
{
    size_t width = head->width;
    if (statistic == (real)-INFINITY) {
        blank_probability(head, i, p);
        return;
    }
    if (head->mixture->hard) {
        hard_probability(head, i, statistic, p);
        return;
    }
    memset(p, 0, width * sizeof(real));
    for (size_t r = 0; r < (size_t)head->view->mixtures; r++) {
        real *component = mgk_mixture_row(head, r, i);
#pragma omp simd
        for (size_t j = 0; j < width; j++) {
            component[j] = mgk_exp(component[j] - statistic);
            p[j] += component[j];
        }
    }
}

static real output_dot(const mgk_mixture_head *head, const real *output, const real *doutput)
{
    real dot = 0;
#pragma omp simd reduction(+ : dot)
    for (size_t d = 0; d < (size_t)head->view->dim; d++)
        dot += output[d] * doutput[d];
    return dot;
}

/*
 * Replaces A_ijr by dl_ijr and accumulates its column sums; dot is dO_i·O_i = Σ_j A_ij G_ij.
 * Returns Σ_r scale_r Σ_j dl_ijr.
 */
static double row_gradient(const mgk_mixture_head *head, size_t i, real dot, const real *dscore,
                           real *dbias)
{
    size_t width = head->width;
    double scaled = 0;
    for (size_t r = 0; r < (size_t)head->view->mixtures; r++) {
        real *row = mgk_mixture_row(head, r, i), *column = dbias + r * head->cols;
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t j = 0; j < width; j++) {
            row[j] *= dscore[j] - dot;
            column[j] += row[j];
            sum += row[j];
        }
        scaled += head->mixture->scale[r] * (double)sum;
    }
    return scaled;
}

/* Whether Σ_r scale_r Σ_j dl_ijr can be other than 0 in exact arithmetic. */
static bool squares_matter(const mgk_mixture_head *head)
{
    const mgk_mixture *mixture = head->mixture;
    bool unequal = mixture->normalizer_epsilon > 0;
    for (size_t r = 1; r < (size_t)head->view->mixtures; r++)
        unequal = unequal || mixture->scale[r] != mixture->scale[0];
    return mixture->gaussian && unequal;
}

static void block_gradient(mgk_mixture_head *head, gradient_head *g, size_t first,
                           const real *output, const real *statistic, const real *doutput,
                           size_t output_stride, real *dquery)
{
    size_t dim = (size_t)head->view->dim, depth = head->depth, cols = head->cols;
    MGK_CPU(mixture_logits)(head, first);
    size_t rows = head->rows, tiled = mgk_tile_rows(rows), width = head->width;
    memset(g->doutput, 0, tiled * depth * sizeof(real));
    for (size_t i = 0; i < rows; i++)
        memcpy(g->doutput + i * depth, doutput + (first + i) * output_stride, dim * sizeof(real));
    mgk_tile_multiply(tiled, width, dim, (mgk_tile_operand){g->doutput, depth, 1}, head->value_t,
                      cols, NULL, 0, g->dscore, cols);
    double squares[MGK_MIXTURE_MOST_ROWS];
    for (size_t i = 0; i < rows; i++) {
        real *p = g->probability + i * cols;
        row_probability(head, i, statistic[first + i], p);
        squares[i] = row_gradient(
            head, i, output_dot(head, output + (first + i) * output_stride, g->doutput + i * depth),
            g->dscore + i * cols, g->dbias);
    }
    /* The rows are the inner dimension here, so exactly `rows` of them. */
    mgk_tile_multiply(width, depth, rows, (mgk_tile_operand){g->probability, 1, cols}, g->doutput,
                      depth, g->dvalue, depth, g->dvalue, depth);
    for (size_t r = 0; r < (size_t)head->view->mixtures; r++) {
        const real *dlogits = mgk_mixture_row(head, r, 0);
        real *dkey = g->dkey + r * cols * depth;
        mgk_tile_multiply(width, depth, rows, (mgk_tile_operand){dlogits, 1, cols}, head->query,
                          depth, dkey, depth, dkey, depth);
        mgk_tile_multiply(tiled, depth, width, (mgk_tile_operand){dlogits, cols, 1},
                          head->key + r * cols * depth, depth, r ? g->dquery : NULL, depth,
                          g->dquery, depth);
    }
    bool squared = squares_matter(head);
    for (size_t i = 0; i < rows; i++)
        for (size_t d = 0; d < dim; d++)
            dquery[(first + i) * head->view->query_stride + d] =
                g->dquery[i * depth + d] -
                (squared ? (real)squares[i] * head->query[i * depth + d] : 0);
}

/* dk_jr and dv_j from their sums; padding gets 0. */
static void write_key_value(const mgk_mixture_head *head, const gradient_head *g,
                            const mgk_attention_gradient *gradient)
{
    const mgk_attention_view *view = head->view;
    size_t dim = (size_t)view->dim, depth = head->depth, cols = head->cols;
    size_t token = head->sample * (size_t)view->tokens;
    for (size_t j = 0; j < (size_t)view->tokens; j++) {
        real *dvalue =
            (real *)gradient->value + (token + j) * view->value_stride + head->head * dim;
        memcpy(dvalue, g->dvalue + j * depth, dim * sizeof(real));
        for (size_t r = 0; r < (size_t)view->mixtures; r++) {
            real *dkey = (real *)gradient->key + (token + j) * view->key_stride +
                         (r * (size_t)view->heads + head->head) * dim;
            real scale = (real)head->mixture->scale[r];
            real square = head->mixture->gaussian ? g->dbias[r * cols + j] : 0;
            const real *sum = g->dkey + (r * cols + j) * depth;
            const real *scaled_key = head->key + (r * cols + j) * depth;
            for (size_t d = 0; d < dim; d++)
                dkey[d] = scale * sum[d] - square * scaled_key[d];
        }
    }
}

/*
 * dπ = Σ dl / π over the samples and the dimensions that the prior does not have; a clamped prior
 * has no gradient.
 */
static void add_prior_gradient(const mgk_attention_view *view, const mgk_prior_view *prior,
                               const real *dbias, real *dprior)
{
    size_t heads = (size_t)view->heads, tokens = (size_t)view->tokens;
    size_t mixtures = (size_t)view->mixtures, cols = mgk_cpu_pitch(tokens);
    for (size_t b = 0; b < (size_t)view->samples; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t r = 0; r < mixtures; r++)
                for (size_t j = 0; j < (size_t)view->lengths[b]; j++) {
                    size_t at = h * prior->head_stride + r * prior->component_stride +
                                j * prior->key_stride;
                    real p = ((const real *)prior->values)[at];
                    if (p > 0 && p <= 1)
                        dprior[at] += dbias[((b * heads + h) * mixtures + r) * cols + j] / p;
                }
}

mgk_status MGK_CPU(mixture_attention_backward)(mgk_device *device, const mgk_attention_view *view,
                                               const mgk_mixture *mixture, const void *output,
                                               const void *statistic, const void *doutput,
                                               size_t output_stride,
                                               const mgk_attention_gradient *gradient)
{
    size_t heads = (size_t)view->heads, tokens = (size_t)view->tokens, dim = (size_t)view->dim;
    size_t tasks = (size_t)view->samples * heads, mixtures = (size_t)view->mixtures;
    size_t rows = MGK_CPU(mixture_block_rows)(view, mixtures + 2);
    size_t scratch =
        MGK_CPU(mixture_scratch)(view, MGK_MIXTURE_BACKWARD, rows, gradient_reals(view, rows));
    size_t bias_reals = mixtures * mgk_cpu_pitch(tokens);
    real *dbias = NULL;
    if (gradient->prior)
        TRY(mgk_alloc(tasks * bias_reals, sizeof(real), &dbias));
    mgk_status status = mgk_cpu_reserve_scratch(device, scratch * sizeof(real));
    if (status != STATUS_OK)
        goto out;
#pragma omp parallel for schedule(dynamic) num_threads(device->threads)
    for (size_t task = 0; task < tasks; task++) {
        size_t sample = task / heads, head_index = task % heads;
        mgk_mixture_head head;
        MGK_CPU(mixture_pack)
        (view, mixture, MGK_MIXTURE_BACKWARD, sample, head_index, rows,
         mgk_cpu_scratch(device, omp_get_thread_num()), &head);
        gradient_head g = gradient_arrays(&head);
        size_t token = sample * tokens * output_stride + head_index * dim;
        real *dquery =
            (real *)gradient->query + sample * tokens * view->query_stride + head_index * dim;
        for (size_t first = 0; first < head.n; first += rows)
            block_gradient(&head, &g, first, (const real *)output + token,
                           (const real *)statistic + task * tokens, (const real *)doutput + token,
                           output_stride, dquery);
        for (size_t i = head.n; i < tokens; i++)
            memset(dquery + i * view->query_stride, 0, dim * sizeof(real));
        write_key_value(&head, &g, gradient);
        if (dbias)
            memcpy(dbias + task * bias_reals, g.dbias, bias_reals * sizeof(real));
    }
    if (dbias)
        add_prior_gradient(view, &mixture->prior, dbias, gradient->prior);
out:
    mgk_free(dbias);
    return status;
}
