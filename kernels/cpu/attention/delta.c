/* SPDX-License-Identifier: MIT */
/*
 * The delta rule, token by token. With the state S [R, D] and e_t = v_t − S_{t−1}ᵀ k_t,
 *     S_t = S_{t−1} + β_t k_t e_tᵀ,   o_t = scale S_tᵀ q_t.
 * The gradient goes backwards with dS, the gradient of S_t by later outputs:
 *     dS += scale q_t dO_tᵀ,   dq_t = scale S_t dO_t,   de_t = β_t dSᵀ k_t = dv_t,
 *     dβ_t = k_tᵀ dS e_t,      dk_t = β_t dS e_t − S_{t−1} de_t,   dS −= k_t de_tᵀ.
 * The errors e_t are kept, so that S_{t−1} = S_t − β_t k_t e_tᵀ; the states at the ends of chunks
 * are kept, too, so that rounding errors of these differences do not add up.
 *
 * Row i of the matrix: with w = scale q_i, from key i down to key 0, A_ij = β_j w·k_j, and then
 * w −= A_ij k_j. Chunks of rows and keys are products of matrices.
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/tile.h"
#include "kernels/cpu/transpose.h"

/* Tokens between kept states; queries and keys of a block of the matrix. */
enum { CHUNK = 32 };

/* One head of one sample. */
typedef struct delta_head {
    const mgk_attention_view *view;
    const mgk_delta *delta;
    size_t sample, head, n;              /* n: valid tokens */
    size_t features, dim, wide;          /* R, D, and D padded */
    real *restrict state;                /* S [R, wide] */
    real *restrict dstate;               /* dS [R, wide] */
    real *restrict error, *restrict row; /* [wide] e_t or de_t, and a copy of v_t, o_t or dO_t */
    real *errors;                        /* [N, wide] e_t */
    real *kept;                          /* [chunks, R, wide] */
} delta_head;

static size_t feature_count(const mgk_attention_view *view, const mgk_delta *delta)
{
    return delta->features > 0 ? delta->features : (size_t)view->dim;
}

/* Reals of the states and rows of one head. */
static size_t state_reals(const mgk_attention_view *view, const mgk_delta *delta)
{
    return (2 * feature_count(view, delta) + 2) * mgk_cpu_padded((size_t)view->dim);
}

static delta_head begin(const mgk_attention_view *view, const mgk_delta *delta, size_t sample,
                        size_t head, real *memory)
{
    const size_t features = feature_count(view, delta), wide = mgk_cpu_padded((size_t)view->dim);
    memset(memory, 0, state_reals(view, delta) * sizeof(real));
    real *dstate = memory + features * wide, *rows = dstate + features * wide;
    return (delta_head){.view = view,
                        .delta = delta,
                        .sample = sample,
                        .head = head,
                        .n = (size_t)view->lengths[sample],
                        .features = features,
                        .dim = (size_t)view->dim,
                        .wide = wide,
                        .state = memory,
                        .dstate = dstate,
                        .error = rows,
                        .row = rows + wide,
                        .errors = rows + 2 * wide};
}

/* The index of token t in an array [B, N, ·] whose heads have `width` numbers. */
static size_t token_index(const delta_head *h, size_t stride, size_t width, size_t t)
{
    return (h->sample * (size_t)h->view->tokens + t) * stride + h->head * width;
}

static const real *query_of(const delta_head *h, size_t t)
{
    return (const real *)h->view->query + token_index(h, h->view->query_stride, h->features, t);
}

static const real *key_of(const delta_head *h, size_t t)
{
    return (const real *)h->view->key + token_index(h, h->view->key_stride, h->features, t);
}

static real rate_of(const delta_head *h, size_t t)
{
    return ((const real *)h->delta->rate)[token_index(h, h->delta->rate_stride, 1, t)];
}

/* error = e_t from S_{t−1}. */
static void find_error(const delta_head *h, size_t t)
{
    const real *key = key_of(h, t);
    real *restrict error = h->error;
    memcpy(error, (const real *)h->view->value + token_index(h, h->view->value_stride, h->dim, t),
           h->dim * sizeof(real));
    for (size_t r = 0; r < h->features; r++)
#pragma omp simd
        for (size_t d = 0; d < h->wide; d++)
            error[d] -= key[r] * h->state[r * h->wide + d];
}

/* S_t from S_{t−1} and the error; row = scale S_tᵀ q_t. */
static void step(const delta_head *h, size_t t)
{
    const real *key = key_of(h, t), *query = query_of(h, t);
    const real rate = rate_of(h, t), scale = (real)h->delta->scale;
    memset(h->row, 0, h->wide * sizeof(real));
    for (size_t r = 0; r < h->features; r++) {
        real *state = h->state + r * h->wide;
        const real write = rate * key[r], read = scale * query[r];
#pragma omp simd
        for (size_t d = 0; d < h->wide; d++) {
            state[d] += write * h->error[d];
            h->row[d] += read * state[d];
        }
    }
}

mgk_status MGK_CPU(delta_attention)(mgk_device *device, const mgk_attention_view *view,
                                    const mgk_delta *delta, void *output, size_t output_stride)
{
    const size_t heads = (size_t)view->heads, tasks = (size_t)view->samples * heads;
    const size_t bytes = (size_t)view->dim * sizeof(real);
    TRY(mgk_cpu_reserve_scratch(device, state_reals(view, delta) * sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads)
    for (size_t task = 0; task < tasks; task++) {
        const delta_head h = begin(view, delta, task / heads, task % heads,
                                   mgk_cpu_scratch(device, omp_get_thread_num()));
        for (size_t t = 0; t < (size_t)view->tokens; t++) {
            real *out = (real *)output + token_index(&h, output_stride, h.dim, t);
            if (t >= h.n) {
                memset(out, 0, bytes);
                continue;
            }
            find_error(&h, t);
            step(&h, t);
            memcpy(out, h.row, bytes);
        }
    }
    return STATUS_OK;
}

/* The forward pass, which keeps errors and states. */
static void replay(const delta_head *h)
{
    const size_t state = h->features * h->wide;
    for (size_t t = 0; t < h->n; t++) {
        find_error(h, t);
        memcpy(h->errors + t * h->wide, h->error, h->wide * sizeof(real));
        step(h, t);
        if ((t + 1) % CHUNK == 0)
            memcpy(h->kept + t / CHUNK * state, h->state, state * sizeof(real));
    }
}

/* The gradients of token t; S_t becomes S_{t−1}, and dS goes with it. */
static void step_back(const delta_head *h, size_t t, const real *doutput,
                      const mgk_attention_gradient *gradient)
{
    const size_t wide = h->wide;
    const real *key = key_of(h, t), *query = query_of(h, t), *error = h->errors + t * wide;
    const real rate = rate_of(h, t), scale = (real)h->delta->scale;
    real *dquery = (real *)gradient->query + (query - (const real *)h->view->query);
    real *dkey = (real *)gradient->key + (key - (const real *)h->view->key);
    real *derror = h->error, drate = 0;
    memcpy(h->row, doutput, h->dim * sizeof(real));
    memset(derror, 0, wide * sizeof(real));
    for (size_t r = 0; r < h->features; r++) {
        real *dstate = h->dstate + r * wide;
        const real read = scale * query[r], write = rate * key[r];
#pragma omp simd
        for (size_t d = 0; d < wide; d++) {
            dstate[d] += read * h->row[d];
            derror[d] += write * dstate[d];
        }
    }
    for (size_t r = 0; r < h->features; r++) {
        real *state = h->state + r * wide, *dstate = h->dstate + r * wide;
        const real change = mgk_cpu_dot_row(wide, dstate, error), write = rate * key[r];
        dquery[r] = scale * mgk_cpu_dot_row(wide, state, h->row);
        drate += key[r] * change;
#pragma omp simd
        for (size_t d = 0; d < wide; d++) {
            state[d] -= write * error[d];
            dstate[d] -= key[r] * derror[d];
        }
        dkey[r] = rate * change - mgk_cpu_dot_row(wide, state, derror);
    }
    memcpy((real *)gradient->value + token_index(h, h->view->value_stride, h->dim, t), derror,
           h->dim * sizeof(real));
    ((real *)gradient->gate)[token_index(h, h->delta->rate_stride, 1, t)] = drate;
}

static void clear_padding(const delta_head *h, const mgk_attention_gradient *gradient)
{
    const mgk_attention_view *view = h->view;
    for (size_t t = h->n; t < (size_t)view->tokens; t++) {
        memset((real *)gradient->query + token_index(h, view->query_stride, h->features, t), 0,
               h->features * sizeof(real));
        memset((real *)gradient->key + token_index(h, view->key_stride, h->features, t), 0,
               h->features * sizeof(real));
        memset((real *)gradient->value + token_index(h, view->value_stride, h->dim, t), 0,
               h->dim * sizeof(real));
        ((real *)gradient->gate)[token_index(h, h->delta->rate_stride, 1, t)] = 0;
    }
}

mgk_status MGK_CPU(delta_attention_backward)(mgk_device *device, const mgk_attention_view *view,
                                             const mgk_delta *delta, const void *doutput,
                                             size_t output_stride,
                                             const mgk_attention_gradient *gradient)
{
    const size_t heads = (size_t)view->heads, tasks = (size_t)view->samples * heads;
    const size_t tokens = (size_t)view->tokens, wide = mgk_cpu_padded((size_t)view->dim);
    const size_t state = feature_count(view, delta) * wide;
    const size_t scratch = state_reals(view, delta) + tokens * wide + tokens / CHUNK * state;
    TRY(mgk_cpu_reserve_scratch(device, scratch * sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads)
    for (size_t task = 0; task < tasks; task++) {
        delta_head h = begin(view, delta, task / heads, task % heads,
                             mgk_cpu_scratch(device, omp_get_thread_num()));
        h.kept = h.errors + tokens * wide;
        replay(&h);
        for (size_t t = h.n; t-- > 0;) {
            if ((t + 1) % CHUNK == 0)
                memcpy(h.state, h.kept + t / CHUNK * state, state * sizeof(real));
            step_back(&h, t, (const real *)doutput + token_index(&h, output_stride, h.dim, t),
                      gradient);
        }
        clear_padding(&h, gradient);
    }
    return STATUS_OK;
}

/* What the matrix of one head needs besides the head. */
typedef struct delta_products {
    size_t pitch;  /* R padded */
    real *keys;    /* [chunks CHUNK, pitch] keys, 0 behind the last */
    real *readers; /* [chunks, pitch, CHUNK] −G, see find_readers */
    real *rest;    /* [CHUNK, pitch] w of each row of a block */
    real *keys_t;  /* [pitch, CHUNK] the keys of a chunk, transposed */
    real *weight;  /* [CHUNK, CHUNK] −A */
    real *gram;    /* [CHUNK, CHUNK] k_i·k_j of a chunk */
} delta_products;

static size_t chunks_of(const mgk_attention_view *view)
{
    return ((size_t)view->tokens + CHUNK - 1) / CHUNK;
}

static size_t product_reals(const mgk_attention_view *view, size_t features)
{
    return CHUNK * (mgk_cpu_padded(features) * (2 * chunks_of(view) + 2) + 2 * CHUNK);
}

static delta_products prepare_products(const delta_head *h, real *memory)
{
    const size_t features = h->features, pitch = mgk_cpu_padded(features);
    const size_t all = chunks_of(h->view) * CHUNK * pitch;
    delta_products p = {.pitch = pitch, .keys = memory, .readers = memory + all};
    p.rest = p.readers + all;
    p.keys_t = p.rest + CHUNK * pitch;
    p.weight = p.keys_t + CHUNK * pitch;
    p.gram = p.weight + CHUNK * CHUNK;
    memset(memory, 0, product_reals(h->view, features) * sizeof(real));
    for (size_t t = 0; t < h->n; t++)
        memcpy(p.keys + t * pitch, key_of(h, t), features * sizeof(real));
    return p;
}

/* The products of rows [CHUNK, pitch] with the keys in keys_t. */
static void multiply_keys(const delta_products *p, const real *rows, real *out)
{
    mgk_tile_multiply(CHUNK, CHUNK, p->pitch, (mgk_tile_operand){rows, p->pitch, 1}, p->keys_t,
                      CHUNK, NULL, 0, out, CHUNK);
}

/*
 * A row takes the keys of a chunk from the last to the first. With G_j = β_j (k_j − Σ_m (k_m·k_j)
 * G_m) over the later keys m of the chunk, A_ij = w·G_j for the w that came to the chunk: products,
 * which all later rows share. −G = C K with C_j = −β_j (e_j + Σ_m (k_m·k_j) C_m).
 */
static void find_readers(const delta_head *h, const delta_products *p, size_t first)
{
    const size_t count = h->n - first < CHUNK ? h->n - first : CHUNK;
    real *coefficients = p->weight;
    memset(coefficients, 0, CHUNK * CHUNK * sizeof(real));
    for (size_t j = count; j-- > 0;) {
        const real rate = rate_of(h, first + j);
        real *row = coefficients + j * CHUNK;
        row[j] = -rate;
        for (size_t m = j + 1; m < count; m++)
            mgk_cpu_add_row(CHUNK, -rate * p->gram[m * CHUNK + j], coefficients + m * CHUNK, row);
    }
    mgk_tile_multiply(CHUNK, p->pitch, CHUNK, (mgk_tile_operand){coefficients, CHUNK, 1},
                      p->keys + first * p->pitch, p->pitch, NULL, 0, p->rest, p->pitch);
    mgk_transpose(count, p->pitch, p->rest, p->pitch, p->readers + first * p->pitch, CHUNK);
}

/* Rows take the keys of the chunk at `key` with the weights. */
static void take_keys(const delta_products *p, size_t key)
{
    mgk_tile_multiply(CHUNK, p->pitch, CHUNK, (mgk_tile_operand){p->weight, CHUNK, 1},
                      p->keys + key * p->pitch, p->pitch, p->rest, p->pitch, p->rest, p->pitch);
}

/* The same for the rows' own chunk: a product with 0 for later keys, but for one that is NaN. */
static void take_own_keys(const delta_products *p, size_t first, size_t rows)
{
    bool finite = true;
    for (size_t j = 0; j < rows; j++)
        finite = finite && isfinite(p->gram[j * CHUNK + j]);
    if (finite) {
        take_keys(p, first);
        return;
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j <= i; j++)
            mgk_cpu_add_row(p->pitch, p->weight[i * CHUNK + j], p->keys + (first + j) * p->pitch,
                            p->rest + i * p->pitch);
}

/*
 * The weights of the rows and keys of the chunk at `first`, a row's from its own key down: each
 * taken key changes the products of w with the earlier ones.
 */
static void own_weights(const delta_head *h, const delta_products *p, size_t first, size_t rows)
{
    multiply_keys(p, p->rest, p->weight);
    for (size_t i = 0; i < CHUNK; i++) {
        real *row = p->weight + i * CHUNK, taken[CHUNK] = {0};
        for (size_t j = i < rows ? i + 1 : 0; j-- > 0;) {
            taken[j] = -rate_of(h, first + j) * row[j];
            mgk_cpu_add_row(CHUNK, taken[j], p->gram + j * CHUNK, row);
        }
        memcpy(row, taken, sizeof taken);
    }
}

/* The entries of rows and the keys of the chunk at `key`, from the weights. */
static void write_entries(const delta_head *h, const delta_products *p, size_t key, size_t rows,
                          real *matrix)
{
    const size_t tokens = (size_t)h->view->tokens;
    const size_t width = tokens - key < CHUNK ? tokens - key : CHUNK;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < width; j++)
            matrix[i * tokens + key + j] = -p->weight[i * CHUNK + j];
}

/* Rows `first` … of the matrix, after all rows before. */
static void block_of_rows(const delta_head *h, const delta_products *p, size_t first, real *matrix)
{
    const size_t tokens = (size_t)h->view->tokens, pitch = p->pitch, end = first + CHUNK;
    const size_t rows = h->n - first < CHUNK ? h->n - first : CHUNK;
    memset(p->rest, 0, CHUNK * pitch * sizeof(real));
    for (size_t i = 0; i < rows; i++) {
        const real *query = query_of(h, first + i);
        for (size_t r = 0; r < h->features; r++)
            p->rest[i * pitch + r] = (real)h->delta->scale * query[r];
        if (end < tokens)
            memset(matrix + i * tokens + end, 0, (tokens - end) * sizeof(real));
    }
    mgk_transpose(rows, pitch, p->keys + first * pitch, pitch, p->keys_t, CHUNK);
    multiply_keys(p, p->keys + first * pitch, p->gram);
    own_weights(h, p, first, rows);
    take_own_keys(p, first, rows);
    write_entries(h, p, first, rows, matrix);
    for (size_t key = first; key > 0;) {
        key -= CHUNK;
        mgk_tile_multiply(CHUNK, CHUNK, pitch, (mgk_tile_operand){p->rest, pitch, 1},
                          p->readers + key * pitch, CHUNK, NULL, 0, p->weight, CHUNK);
        take_keys(p, key);
        write_entries(h, p, key, rows, matrix);
    }
    find_readers(h, p, first);
}

mgk_status MGK_CPU(delta_matrix)(mgk_device *device, const mgk_attention_view *view,
                                 const mgk_delta *delta, int sample, const int32_t *heads,
                                 int count, void *matrix)
{
    const size_t tokens = (size_t)view->tokens;
    const size_t products = product_reals(view, feature_count(view, delta));
    const size_t scratch = state_reals(view, delta) + products;
    TRY(mgk_cpu_reserve_scratch(device, scratch * sizeof(real)));
#pragma omp parallel for schedule(dynamic) num_threads(device->threads)
    for (int which = 0; which < count; which++) {
        real *out = (real *)matrix + (size_t)which * tokens * tokens;
        const delta_head h = begin(view, delta, (size_t)sample, (size_t)heads[which],
                                   mgk_cpu_scratch(device, omp_get_thread_num()));
        const delta_products p = prepare_products(&h, h.errors);
        for (size_t first = 0; first < h.n; first += CHUNK)
            block_of_rows(&h, &p, first, out + first * tokens);
        memset(out + h.n * tokens, 0, (tokens - h.n) * tokens * sizeof(real));
    }
    return STATUS_OK;
}
