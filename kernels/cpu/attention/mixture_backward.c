/* SPDX-License-Identifier: MIT */
/*
 * Gradients of softmax attention over biased keys. With A the matrix and G = dO Vᵀ,
 *     dl_ijr = A_ijr (G_ij − dO_i·O_i),   A_ijr = exp(l_ijr − statistic_i),
 * also with a normalizer_epsilon; for unnormalized rows without the difference. A maximum (hard)
 * passes its gradient to the component that attains it. With dropout, m_ij A_ij stands for A_ij in
 * O and dV, and m_ij G_ij for G_ij. From l = scale q·k + bias follow the
 * products dV = Aᵀ dO,  dQ = Σ_r dl_r scale_r K_r,  dK_r = scale_r dl_rᵀ Q; the squares in Gaussian
 * l add −scale_r (Σ_j dl_ijr) q_i and −scale_r (Σ_i dl_ijr) k_jr.
 */
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/cpu/attention/mixture.h"
#include "kernels/cpu/attention/prior.h"
#include "kernels/cpu/exp.h"
#include "kernels/cpu/operations.h"

/*
 * Heads that add to the same matrix `full` take turns at each block, so that the sum has one order:
 * a head waits until the one before it is through with the block. `before` and `own` count the
 * finished blocks of both, SIZE_MAX: all; NULL: nobody to wait for, no turns.
 */
typedef struct turns {
    atomic_size_t *before, *own;
} turns;

static void await_turn(const turns *t, size_t block)
{
    size_t done = t->before ? 0 : SIZE_MAX;
    while (done <= block) {
        done = atomic_load(t->before);
        if (done <= block)
            sched_yield();
    }
}

static void end_turn(const turns *t, size_t blocks)
{
    if (t->own)
        atomic_store(t->own, blocks);
}

/* Matrices of a block: logits, derivatives of the cap, A and G. */
static size_t gradient_matrices(const mgk_attention_view *view, const mgk_mixture *mixture)
{
    size_t mixtures = (size_t)view->mixtures;
    return mixtures + (mixture->terms.cap > 0 ? mixtures : 0) + 2;
}

/* A thread's arrays in the scratch memory of its head. */
typedef struct gradient_head {
    real *doutput;     /* [rows, value_depth] */
    real *dquery;      /* [rows, depth], of all keys */
    real *probability; /* [rows, pitch] A */
    real *dscore;      /* [rows, pitch] G */
    real *dkey;        /* [M, cols, depth] Σ_i dl_ijr q_i */
    real *dvalue;      /* [cols, value_depth] */
    real *dbias;       /* [M, cols] Σ_i dl_ijr */
    bool summed;       /* whether dbias is wanted: of Gaussian scores, and for priors */
    bool squared;      /* whether Σ_r scale_r Σ_j dl_ijr is wanted */
    mgk_mixture_term_gradient terms;
    turns turns;
} gradient_head;

static size_t gradient_reals(const mgk_attention_view *view, const mgk_mixture_room *room)
{
    size_t cols = mgk_cpu_pitch((size_t)mgk_view_keys(view));
    size_t depth = mgk_cpu_padded((size_t)view->dim);
    size_t value_depth = mgk_cpu_padded((size_t)mgk_view_value_dim(view));
    size_t mixtures = (size_t)view->mixtures;
    return room->rows * (depth + value_depth + 2 * room->pitch) +
           cols * (depth * mixtures + value_depth) + mixtures * cols;
}

static gradient_head gradient_arrays(const mgk_mixture_head *head)
{
    size_t rows = head->room.rows, cols = head->cols, depth = head->depth;
    size_t mixtures = (size_t)head->view->mixtures;
    gradient_head g = {.doutput = head->scratch};
    g.dquery = g.doutput + rows * head->value_depth;
    g.probability = g.dquery + rows * depth;
    g.dscore = g.probability + rows * head->room.pitch;
    g.dkey = g.dscore + rows * head->room.pitch;
    g.dvalue = g.dkey + mixtures * cols * depth;
    g.dbias = g.dvalue + cols * head->value_depth;
    memset(g.dkey, 0,
           (cols * (depth * mixtures + head->value_depth) + mixtures * cols) * sizeof(real));
    return g;
}

/* A row without scores: its values have a gradient, its logits (A_ijr = 0) have none. */
static void blank_probability(const mgk_mixture_head *head, size_t i, real *p)
{
    real entry = mgk_mixture_blank(head, MGK_CPU(mixture_see)(head, i, p));
    for (size_t j = 0; j < head->width; j++)
        p[j] *= entry;
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
    real *first = mgk_mixture_row(head, 0, i);
#pragma omp simd
    for (size_t j = 0; j < width; j++)
        p[j] = first[j] = mgk_exp(first[j] - statistic);
    for (size_t r = 1; r < (size_t)head->view->mixtures; r++) {
        real *component = mgk_mixture_row(head, r, i);
#pragma omp simd
        for (size_t j = 0; j < width; j++) {
            component[j] = mgk_exp(component[j] - statistic);
            p[j] += component[j];
        }
    }
}

/* dO_i·O_i; 0 for unnormalized rows. */
static real output_dot(const mgk_mixture_head *head, const real *output, const real *doutput)
{
    real dot = 0;
    if (head->mixture->unnormalized)
        return dot;
#pragma omp simd reduction(+ : dot)
    for (size_t d = 0; d < (size_t)mgk_view_value_dim(head->view); d++)
        dot += output[d] * doutput[d];
    return dot;
}

/* Replaces A_ijr by dl_ijr; dot is dO_i·O_i = Σ_j A_ij G_ij, or 0. */
static void row_gradient(const mgk_mixture_head *head, size_t i, real dot, const real *dscore)
{
    for (size_t r = 0; r < (size_t)head->view->mixtures; r++) {
        real *row = mgk_mixture_row(head, r, i);
#pragma omp simd
        for (size_t j = 0; j < head->width; j++)
            row[j] *= dscore[j] - dot;
    }
}

/* The same, and adds dl_ijr to its column sums. */
static void summed_gradient(const mgk_mixture_head *head, size_t i, real dot, const real *dscore,
                            real *dbias)
{
    for (size_t r = 0; r < (size_t)head->view->mixtures; r++)
        for (size_t k = 0; k < head->run_count; k++) {
            const mgk_mixture_run *run = &head->runs[k];
            real *dlogit = mgk_mixture_row(head, r, i) + run->at;
            real *column = dbias + r * head->cols + run->begin;
            const real *dprobability = dscore + run->at;
#pragma omp simd
            for (size_t j = 0; j < run->width; j++) {
                dlogit[j] *= dprobability[j] - dot;
                column[j] += dlogit[j];
            }
        }
}

/* Σ_r scale_r Σ_j dl_ijr. */
static double scaled_sum(const mgk_mixture_head *head, size_t i)
{
    double sum = 0;
    for (size_t r = 0; r < (size_t)head->view->mixtures; r++)
        sum += head->mixture->scale[r] *
               (double)mgk_mixture_row_sum(mgk_mixture_row(head, r, i), head->width);
    return sum;
}

/* Whether Σ_r scale_r Σ_j dl_ijr can be other than 0 in exact arithmetic. */
static bool squares_matter(const mgk_mixture_head *head)
{
    const mgk_mixture *mixture = head->mixture;
    bool unequal = mixture->normalizer_epsilon > 0 || mixture->unnormalized;
    for (size_t r = 1; r < (size_t)head->view->mixtures; r++)
        unequal = unequal || mixture->scale[r] != mixture->scale[0];
    return mixture->gaussian && unequal;
}

/* What the gradients of one head are made from, and that of its queries, from its first row on. */
typedef struct gradient_rows {
    const real *output, *doutput; /* rows output_stride apart */
    size_t output_stride;
    const real *statistic; /* [N] */
    real *dquery;          /* NULL: no dot product */
} gradient_rows;

/* What the queries of a block have for all of their keys. */
typedef struct gradient_queries {
    real dot[MGK_MIXTURE_MOST_ROWS];       /* dO_i·O_i */
    double squares[MGK_MIXTURE_MOST_ROWS]; /* Σ_r scale_r Σ_j dl_ijr, of the keys so far */
} gradient_queries;

/* Takes the queries that begin with query `first`. */
static gradient_queries take_queries(mgk_mixture_head *head, const gradient_head *g, size_t first,
                                     const gradient_rows *rows)
{
    size_t dim = (size_t)mgk_view_value_dim(head->view), depth = head->value_depth;
    gradient_queries queries = {0};
    MGK_CPU(mixture_queries)(head, first);
    memset(g->doutput, 0, mgk_tile_rows(head->rows) * depth * sizeof(real));
    memset(g->dquery, 0, mgk_tile_rows(head->rows) * head->depth * sizeof(real));
    for (size_t i = 0; i < head->rows; i++) {
        const size_t at = (first + i) * rows->output_stride;
        memcpy(g->doutput + i * depth, rows->doutput + at, dim * sizeof(real));
        queries.dot[i] = output_dot(head, rows->output + at, rows->doutput + at);
    }
    return queries;
}

/* G of the block. */
static void block_dscore(const mgk_mixture_head *head, const gradient_head *g)
{
    size_t dim = (size_t)mgk_view_value_dim(head->view), depth = head->value_depth;
    size_t tiled = mgk_tile_rows(head->rows);
    for (size_t k = 0; k < head->run_count; k++) {
        const mgk_mixture_run *run = &head->runs[k];
        mgk_tile_multiply(tiled, run->width, dim, (mgk_tile_operand){g->doutput, depth, 1},
                          head->value_t + run->begin, head->cols, NULL, 0, g->dscore + run->at,
                          head->room.pitch);
    }
}

/* Adds to dV, dK and dQ what the block gives, from A and dl. */
static void block_products(const mgk_mixture_head *head, const gradient_head *g)
{
    size_t rows = head->rows, tiled = mgk_tile_rows(rows), pitch = head->room.pitch;
    size_t depth = head->depth, value_depth = head->value_depth;
    for (size_t k = 0; k < head->run_count; k++) {
        const mgk_mixture_run *run = &head->runs[k];
        real *dvalue = g->dvalue + run->begin * value_depth;
        /* The rows are the inner dimension here, so exactly `rows` of them. */
        mgk_tile_multiply(run->width, value_depth, rows,
                          (mgk_tile_operand){g->probability + run->at, 1, pitch}, g->doutput,
                          value_depth, dvalue, value_depth, dvalue, value_depth);
        for (size_t r = 0; r < (size_t)head->view->mixtures; r++) {
            const real *dlogits = mgk_mixture_row(head, r, 0) + run->at;
            const size_t key = (r * head->cols + run->begin) * depth;
            mgk_tile_multiply(run->width, depth, rows, (mgk_tile_operand){dlogits, 1, pitch},
                              head->query, depth, g->dkey + key, depth, g->dkey + key, depth);
            mgk_tile_multiply(tiled, depth, run->width, (mgk_tile_operand){dlogits, pitch, 1},
                              head->key + key, depth, g->dquery, depth, g->dquery, depth);
        }
    }
}

/*
 * The block of the queries and of the keys from key `key` on. Blocks that other heads skip, because
 * their queries see none of the keys, have turns all the same: a later one ends them, too.
 */
static void block_gradient(mgk_mixture_head *head, const gradient_head *g, size_t key,
                           const gradient_rows *rows, gradient_queries *queries)
{
    const size_t keys = head->room.keys, most_parts = (size_t)mgk_view_keys(head->view) / keys + 1;
    const size_t turn = head->first / head->room.rows * most_parts + key / keys;
    MGK_CPU(mixture_logits)(head, key);
    if (head->run_count == 0)
        return;
    block_dscore(head, g);
    await_turn(&g->turns, turn);
    for (size_t i = 0; i < head->rows; i++) {
        real *dscore = g->dscore + i * head->room.pitch, dot = queries->dot[i];
        row_probability(head, i, rows->statistic[head->first + i],
                        g->probability + i * head->room.pitch);
        if (head->mixture->dropout > 0)
            MGK_CPU(mixture_drop)(head, i, dscore, g->probability + i * head->room.pitch);
        if (g->terms.bias || g->terms.full || g->terms.side || head->slope)
            MGK_CPU(mixture_term_gradient)(head, i, dscore, dot, &g->terms);
        if (g->summed)
            summed_gradient(head, i, dot, dscore, g->dbias);
        else
            row_gradient(head, i, dot, dscore);
        if (g->squared)
            queries->squares[i] += scaled_sum(head, i);
    }
    end_turn(&g->turns, turn + 1);
    block_products(head, g);
}

static void queries_gradient(mgk_mixture_head *head, const gradient_head *g, size_t first,
                             const gradient_rows *rows)
{
    size_t dim = (size_t)head->view->dim, depth = head->depth;
    gradient_queries queries = take_queries(head, g, first, rows);
    const size_t keys = head->room.keys, end = mgk_mixture_visible(head, head->rows - 1);
    for (size_t key = mgk_mixture_from(head, 0) / keys * keys; key < end; key += keys)
        block_gradient(head, g, key, rows, &queries);
    for (size_t i = 0; rows->dquery && i < head->rows; i++)
        for (size_t d = 0; d < dim; d++)
            rows->dquery[(first + i) * head->view->query_stride + d] =
                g->dquery[i * depth + d] -
                (g->squared ? (real)queries.squares[i] * head->query[i * depth + d] : 0);
}

/* The gradients of key j: of its value, and of component r. */
static real *dvalue_of(const mgk_mixture_head *head, const mgk_attention_gradient *gradient,
                       size_t j)
{
    const mgk_attention_view *view = head->view;
    const size_t token = head->sample * (size_t)mgk_view_keys(view) + j;
    return (real *)gradient->value + token * view->value_stride +
           head->head * (size_t)mgk_view_value_dim(view);
}

static real *dkey_of(const mgk_mixture_head *head, const mgk_attention_gradient *gradient, size_t r,
                     size_t j)
{
    const mgk_attention_view *view = head->view;
    const size_t token = head->sample * (size_t)mgk_view_keys(view) + j;
    return (real *)gradient->key + token * view->key_stride +
           (r * (size_t)view->heads + head->head) * (size_t)view->dim;
}

/* dk_jr and dv_j from their sums; padding gets 0. */
static void write_key_value(const mgk_mixture_head *head, const gradient_head *g,
                            const mgk_attention_gradient *gradient)
{
    const mgk_attention_view *view = head->view;
    size_t dim = (size_t)view->dim, value_dim = (size_t)mgk_view_value_dim(view);
    size_t depth = head->depth, cols = head->cols, mixtures = dim > 0 ? (size_t)view->mixtures : 0;
    for (size_t j = 0; j < head->keys; j++) {
        memcpy(dvalue_of(head, gradient, j), g->dvalue + j * head->value_depth,
               value_dim * sizeof(real));
        for (size_t r = 0; r < mixtures; r++) {
            real *dkey = dkey_of(head, gradient, r, j);
            real scale = (real)head->mixture->scale[r];
            real square = head->mixture->gaussian ? g->dbias[r * cols + j] : 0;
            const real *sum = g->dkey + (r * cols + j) * depth;
            const real *scaled_key = head->key + (r * cols + j) * depth;
            for (size_t d = 0; d < dim; d++)
                dkey[d] = scale * sum[d] - square * scaled_key[d];
        }
    }
    for (size_t j = head->keys; j < (size_t)mgk_view_keys(view); j++) {
        memset(dvalue_of(head, gradient, j), 0, value_dim * sizeof(real));
        for (size_t r = 0; r < mixtures; r++)
            memset(dkey_of(head, gradient, r, j), 0, dim * sizeof(real));
    }
}

/* One call of the operation. */
typedef struct backward_call {
    const mgk_attention_view *view;
    const mgk_mixture *mixture;
    const real *output, *statistic, *doutput;
    size_t output_stride;
    const mgk_attention_gradient *gradient;
    mgk_mixture_room room;
    size_t bias_reals, place_reals; /* M cols and 2 T − 1 */
    real *dbias;                    /* [B, H, bias_reals] for the prior; NULL: none */
    real *dplace;                   /* [B, H, place_reals] for the bias by distance; NULL: none */
    atomic_size_t *blocks;          /* [B, H] for turns; NULL: there is no `full` */
} backward_call;

static turns turns_of(const backward_call *call, size_t sample, size_t index)
{
    const mgk_score_terms *terms = &call->mixture->terms;
    const size_t heads = (size_t)call->view->heads, task = sample * heads + index;
    if (!call->blocks)
        return (turns){0};
    turns out = {.own = call->blocks + task};
    if (terms->full_head_stride == 0 && index + (terms->full_sample_stride == 0 ? sample : 0) > 0)
        out.before = out.own - 1;
    else if (terms->full_head_stride != 0 && terms->full_sample_stride == 0 && sample > 0)
        out.before = out.own - heads;
    return out;
}

static void head_gradient(const backward_call *call, size_t sample, size_t index, real *memory)
{
    const mgk_attention_view *view = call->view;
    const mgk_score_terms *terms = &call->mixture->terms;
    const size_t tokens = (size_t)view->tokens, dim = (size_t)view->dim;
    const size_t task = sample * (size_t)view->heads + index;
    const size_t token =
        sample * tokens * call->output_stride + index * (size_t)mgk_view_value_dim(view);
    mgk_mixture_head head;
    MGK_CPU(mixture_pack)
    (view, call->mixture, MGK_MIXTURE_BACKWARD, sample, index, &call->room, memory, &head);
    gradient_head g = gradient_arrays(&head);
    g.summed = call->mixture->gaussian || call->dbias;
    g.squared = squares_matter(&head);
    g.turns = turns_of(call, sample, index);
    if (call->dplace)
        g.terms.bias = call->dplace + task * call->place_reals;
    if (call->gradient->full)
        g.terms.full = (real *)call->gradient->full + sample * terms->full_sample_stride +
                       index * terms->full_head_stride;
    if (call->gradient->query_side)
        g.terms.side = (real *)call->gradient->query_side +
                       (sample * tokens * (size_t)view->heads + index) * terms->sides;
    gradient_rows rows = {call->output + token, call->doutput + token, call->output_stride,
                          call->statistic + task * tokens, NULL};
    if (dim > 0)
        rows.dquery =
            (real *)call->gradient->query + sample * tokens * view->query_stride + index * dim;
    for (size_t first = 0; first < head.n; first += call->room.rows)
        queries_gradient(&head, &g, first, &rows);
    await_turn(&g.turns, SIZE_MAX - 1); /* a longer one may still be before those that follow */
    end_turn(&g.turns, SIZE_MAX);
    for (size_t i = head.n; rows.dquery && i < tokens; i++)
        memset(rows.dquery + i * view->query_stride, 0, dim * sizeof(real));
    write_key_value(&head, &g, call->gradient);
    for (size_t r = 0; call->dbias && r < (size_t)view->mixtures; r++)
        memcpy(call->dbias + task * call->bias_reals + r * mgk_mixture_sum_pitch(view),
               g.dbias + r * head.cols, head.cols * sizeof(real));
}

/* Heads begin in their order, so that none waits for one that nobody began. */
static void all_gradients(mgk_device *device, const backward_call *call)
{
    const size_t samples = (size_t)call->view->samples, heads = (size_t)call->view->heads;
#pragma omp parallel for schedule(monotonic : dynamic) num_threads(device->threads)
    for (size_t task = 0; task < samples * heads; task++)
        head_gradient(call, task / heads, task % heads,
                      mgk_cpu_scratch(device, omp_get_thread_num()));
}

mgk_status MGK_CPU(mixture_attention_backward)(mgk_device *device, const mgk_attention_view *view,
                                               const mgk_mixture *mixture, const void *output,
                                               const void *statistic, const void *doutput,
                                               size_t output_stride,
                                               const mgk_attention_gradient *gradient)
{
    size_t heads = (size_t)view->heads, tasks = (size_t)view->samples * heads;
    size_t mixtures = (size_t)view->mixtures;
    backward_call call = {
        .view = view,
        .mixture = mixture,
        .output = output,
        .statistic = statistic,
        .doutput = doutput,
        .output_stride = output_stride,
        .gradient = gradient,
        .room = MGK_CPU(mixture_part_room)(view, mixture, gradient_matrices(view, mixture)),
        .bias_reals = mixtures * mgk_mixture_sum_pitch(view),
        .place_reals = 2 * mixture->terms.bias_tokens - 1};
    size_t scratch = MGK_CPU(mixture_scratch)(view, mixture, MGK_MIXTURE_BACKWARD, &call.room,
                                              gradient_reals(view, &call.room));
    mgk_status status = STATUS_OK;
    if (gradient->prior)
        CHECK(mgk_alloc(tasks * call.bias_reals, sizeof(real), &call.dbias));
    if (gradient->bias)
        CHECK(mgk_alloc(tasks * call.place_reals, sizeof(real), &call.dplace));
    if (gradient->full)
        CHECK(mgk_alloc(tasks, sizeof *call.blocks, &call.blocks));
    CHECK(mgk_cpu_reserve_scratch(device, scratch * sizeof(real)));
    all_gradients(device, &call);
    if (call.dbias)
        CHECK(MGK_CPU(add_prior_gradient)(view, &mixture->prior, true, call.dbias,
                                          mgk_mixture_sum_pitch(view), gradient->prior));
    for (size_t i = 0; call.dplace && i < tasks * call.place_reals; i++)
        ((real *)gradient->bias)[i % (heads * call.place_reals)] += call.dplace[i];
out:
    mgk_free(call.blocks);
    mgk_free(call.dplace);
    mgk_free(call.dbias);
    return status;
}
