/* SPDX-License-Identifier: MIT */
/*
 * Attention composed of the operations of kernels/dense.h: Nyström attention (Xiong et al. 2021),
 *     Y = sm(Q K̃ᵀ) Z sm(Q̃ Kᵀ) V,  Z = the iterated inverse of sm(Q̃ K̃ᵀ),
 * with scores / √D and landmarks Q̃, K̃ that are means of segments. Samples have different lengths,
 * some less than the landmarks.
 */
#include <string.h>

#include "dense_case.h"

enum { STEPS = 6 };

/* Arrays of one pass, on the device. */
typedef struct nystrom {
    workspace *space;
    mgk_head_tokens tokens, landmarks;
    mgk_head_maps left, middle, right; /* [N, m], [m, m], [m, N] */
    const void *q, *k, *v;
    void *q_mean, *k_mean;          /* [B, m, H, D] */
    void *f, *kernel, *inverse, *b; /* the three softmaxes, and Z */
    void *b_v, *z_b_v, *y;
} nystrom;

/* A matrix operand: tokens or maps, with its strides. */
typedef struct operand {
    const void *data;
    mgk_head_strides strides;
    bool transpose;
} operand;

static operand of_tokens(const mgk_head_tokens *shape, const void *data)
{
    return (operand){data, mgk_token_strides(shape), false};
}

static operand of_maps(const mgk_head_maps *shape, const void *data)
{
    return (operand){data, mgk_map_strides(shape), false};
}

static operand transposed(operand x)
{
    x.transpose = true;
    return x;
}

/* c [m, n] = alpha a b + beta c for every head, inner dimension k. */
static void multiply(const nystrom *pass, size_t m, size_t n, size_t k, double alpha, operand a,
                     operand b, double beta, operand c)
{
    mgk_batched_product p = {.samples = SAMPLES, .heads = HEADS, .m = m, .n = n, .k = k};
    p.alpha = alpha;
    p.beta = beta;
    p.transpose_a = a.transpose;
    p.transpose_b = b.transpose;
    p.a = a.strides;
    p.b = b.strides;
    p.c = c.strides;
    assert_ok(
        dense(pass->space)
            ->batched_multiply(pass->space->device, &p, a.data, b.data, (void *)(uintptr_t)c.data));
}

static double score_scale(const nystrom *pass)
{
    return 1 / sqrt((double)pass->tokens.dim);
}

/* out = sm(a bᵀ / √D). */
static void attend(const nystrom *pass, const mgk_head_maps *shape, operand a, operand b, void *out)
{
    multiply(pass, shape->rows, shape->cols, pass->tokens.dim, score_scale(pass), a, transposed(b),
             0, of_maps(shape, out));
    assert_ok(dense(pass->space)->softmax_rows(pass->space->device, shape, out));
}

/* The gradients of attend: da, db += . dmap is overwritten. */
static void attend_backward(const nystrom *pass, const mgk_head_maps *shape, const void *map,
                            void *dmap, operand a, operand b, operand da, operand db)
{
    const size_t dim = pass->tokens.dim;
    assert_ok(
        dense(pass->space)->softmax_rows_backward(pass->space->device, shape, map, dmap, dmap));
    operand scores = of_maps(shape, dmap);
    multiply(pass, shape->rows, dim, shape->cols, score_scale(pass), scores, b, 1, da);
    multiply(pass, shape->cols, dim, shape->rows, score_scale(pass), transposed(scores), a, 1, db);
}

static size_t map_count(const mgk_head_maps *maps)
{
    return SAMPLES * HEADS * maps->rows * maps->cols;
}

static size_t token_count(const mgk_head_tokens *tokens)
{
    return SAMPLES * tokens->tokens * tokens->stride;
}

static void *landmarks_of(const nystrom *pass, const void *x, int32_t *counts)
{
    void *means = zeros(pass->space, token_count(&pass->landmarks));
    assert_ok(dense(pass->space)
                  ->segment_means(pass->space->device, &pass->tokens, pass->landmarks.tokens, x,
                                  means, counts));
    return means;
}

/* x is q, k and v in a row; m landmarks. */
static nystrom forward(workspace *space, const token_case *tokens, size_t m, const void *x)
{
    nystrom pass = {.space = space, .tokens = tokens->device};
    const size_t n = pass.tokens.tokens, dim = pass.tokens.dim;
    int32_t *counts = upload_bytes(space, SAMPLES * sizeof *counts, (int32_t[SAMPLES]){0});
    const int32_t *lengths = pass.tokens.lengths;
    pass.landmarks = (mgk_head_tokens){SAMPLES, m, HEADS, dim, HEADS * dim, counts};
    pass.left = (mgk_head_maps){SAMPLES, HEADS, n, m, lengths, counts, false};
    pass.middle = (mgk_head_maps){SAMPLES, HEADS, m, m, counts, counts, false};
    pass.right = (mgk_head_maps){SAMPLES, HEADS, m, n, counts, lengths, false};
    pass.q = x;
    pass.k = mgk_at(space->device, x, tokens->count);
    pass.v = mgk_at(space->device, x, 2 * tokens->count);
    pass.q_mean = landmarks_of(&pass, pass.q, counts);
    pass.k_mean = landmarks_of(&pass, pass.k, counts);
    pass.f = zeros(space, map_count(&pass.left));
    pass.b = zeros(space, map_count(&pass.right));
    pass.kernel = zeros(space, map_count(&pass.middle));
    pass.inverse = zeros(space, map_count(&pass.middle));
    pass.b_v = zeros(space, token_count(&pass.landmarks));
    pass.z_b_v = zeros(space, token_count(&pass.landmarks));
    pass.y = zeros(space, token_count(&pass.tokens));

    const mgk_head_tokens *few = &pass.landmarks, *all = &pass.tokens;
    attend(&pass, &pass.left, of_tokens(all, pass.q), of_tokens(few, pass.k_mean), pass.f);
    attend(&pass, &pass.middle, of_tokens(few, pass.q_mean), of_tokens(few, pass.k_mean),
           pass.kernel);
    attend(&pass, &pass.right, of_tokens(few, pass.q_mean), of_tokens(all, pass.k), pass.b);
    assert_ok(dense(space)->newton_inverse(space->device, SAMPLES * HEADS, m, STEPS, pass.kernel,
                                           pass.inverse));
    multiply(&pass, m, dim, n, 1, of_maps(&pass.right, pass.b), of_tokens(all, pass.v), 0,
             of_tokens(few, pass.b_v));
    multiply(&pass, m, dim, m, 1, of_maps(&pass.middle, pass.inverse), of_tokens(few, pass.b_v), 0,
             of_tokens(few, pass.z_b_v));
    multiply(&pass, n, dim, m, 1, of_maps(&pass.left, pass.f), of_tokens(few, pass.z_b_v), 0,
             of_tokens(all, pass.y));
    return pass;
}

/* dx, laid out like x, from dy. */
static void backward(const nystrom *pass, const void *dy, void *dx)
{
    workspace *space = pass->space;
    mgk_device *device = space->device;
    const mgk_head_tokens *few = &pass->landmarks, *all = &pass->tokens;
    const size_t n = all->tokens, m = few->tokens, dim = all->dim, count = token_count(all);
    void *dk = mgk_at(device, dx, count), *dv = mgk_at(device, dx, 2 * count);
    void *dq_mean = zeros(space, token_count(few)), *dk_mean = zeros(space, token_count(few));
    void *dz_b_v = zeros(space, token_count(few)), *db_v = zeros(space, token_count(few));
    void *df = zeros(space, map_count(&pass->left)), *db = zeros(space, map_count(&pass->right));
    void *dinverse = zeros(space, map_count(&pass->middle));
    void *dkernel = zeros(space, map_count(&pass->middle));

    multiply(pass, n, m, dim, 1, of_tokens(all, dy), transposed(of_tokens(few, pass->z_b_v)), 0,
             of_maps(&pass->left, df));
    multiply(pass, m, dim, n, 1, transposed(of_maps(&pass->left, pass->f)), of_tokens(all, dy), 0,
             of_tokens(few, dz_b_v));
    multiply(pass, m, m, dim, 1, of_tokens(few, dz_b_v), transposed(of_tokens(few, pass->b_v)), 0,
             of_maps(&pass->middle, dinverse));
    multiply(pass, m, dim, m, 1, transposed(of_maps(&pass->middle, pass->inverse)),
             of_tokens(few, dz_b_v), 0, of_tokens(few, db_v));
    multiply(pass, m, n, dim, 1, of_tokens(few, db_v), transposed(of_tokens(all, pass->v)), 0,
             of_maps(&pass->right, db));
    multiply(pass, n, dim, m, 1, transposed(of_maps(&pass->right, pass->b)), of_tokens(few, db_v),
             0, of_tokens(all, dv));
    assert_ok(dense(space)->newton_inverse_backward(device, SAMPLES * HEADS, m, STEPS, pass->kernel,
                                                    dinverse, dkernel));
    attend_backward(pass, &pass->left, pass->f, df, of_tokens(all, pass->q),
                    of_tokens(few, pass->k_mean), of_tokens(all, dx), of_tokens(few, dk_mean));
    attend_backward(pass, &pass->middle, pass->kernel, dkernel, of_tokens(few, pass->q_mean),
                    of_tokens(few, pass->k_mean), of_tokens(few, dq_mean), of_tokens(few, dk_mean));
    attend_backward(pass, &pass->right, pass->b, db, of_tokens(few, pass->q_mean),
                    of_tokens(all, pass->k), of_tokens(few, dq_mean), of_tokens(all, dk));
    assert_ok(dense(space)->segment_means_backward(device, all, m, dq_mean, dx));
    assert_ok(dense(space)->segment_means_backward(device, all, m, dk_mean, dk));
}

typedef struct nystrom_context {
    token_case tokens;
    size_t landmarks;
} nystrom_context;

static double value(workspace *space, const layer *subject, const void *x)
{
    const nystrom_context *context = subject->context;
    nystrom pass = forward(space, &context->tokens, context->landmarks, x);
    return weighted(space, subject, context->tokens.count, pass.y);
}

static void gradient(workspace *space, const layer *subject, const void *x, void *dx)
{
    const nystrom_context *context = subject->context;
    nystrom pass = forward(space, &context->tokens, context->landmarks, x);
    backward(&pass, subject->weights_, dx);
}

static void differences(workspace *space, size_t tokens, size_t landmarks)
{
    nystrom_context context = {.tokens = ragged_tokens(space, tokens, 5),
                               .landmarks = (landmarks - 1) % 9 + 1};
    layer subject = {.inputs = 3 * context.tokens.count,
                     .context = &context,
                     .value = value,
                     .gradient = gradient};
    check_backward(space, &subject, context.tokens.count);
}

/*
 * As many landmarks as tokens, or more: the landmarks are the tokens, and F = B = the softmax
 * attention A, so that Y = A A⁻¹ A V = A V where the iteration converges; queries that resemble
 * their own keys make A nearly the identity.
 */
static void all_tokens(workspace *space, size_t tokens, size_t surplus)
{
    const size_t dim = 40, n = (tokens - 1) % 40 + 1, m = n + surplus % 3;
    token_case shape = ragged_tokens(space, n, dim);
    const mgk_head_tokens *s = &shape.host;
    double *x = random_values(space, 3 * shape.count), *y = host_array(space, shape.count);
    for (size_t e = 0; e < shape.count; e++)
        x[e] = x[shape.count + e] *= 2;
    nystrom pass = forward(space, &shape, m, upload(space, 3 * shape.count, x));
    for (size_t b = 0; b < SAMPLES; b++)
        for (size_t row = 0; row < (size_t)s->lengths[b] * HEADS; row++) {
            size_t h = row % HEADS, q = token_at(s, s->stride, b, row / HEADS, h);
            double sum = 0, weights[40];
            for (size_t j = 0; j < (size_t)s->lengths[b]; j++) {
                const double *key = x + shape.count + token_at(s, s->stride, b, j, h);
                double dot = 0;
                for (size_t d = 0; d < dim; d++)
                    dot += (x + q)[d] * key[d] / sqrt((double)dim);
                sum += weights[j] = exp(dot);
            }
            for (size_t j = 0; j < (size_t)s->lengths[b]; j++)
                for (size_t d = 0; d < dim; d++)
                    y[q + d] +=
                        weights[j] / sum * x[2 * shape.count + token_at(s, s->stride, b, j, h) + d];
        }
    /* Not rounding but the iteration decides how close: six steps from 1 / (column row). */
    assert_rows_close(SAMPLES * n, s->stride, download(space, shape.count, pass.y), y, 1e-3);
}

int main(void)
{
    check checks[] = {
        {.name = "differences", .run = differences},
        {.name = "all_tokens", .run = all_tokens},
    };
    return run_checks(MGK_SINGLE, MGK_DOUBLE, sizeof checks / sizeof *checks, checks);
}
