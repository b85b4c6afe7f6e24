/* SPDX-License-Identifier: MIT */
/* Products of batches against a plain reference in double, and the mixing of heads by them. */
#include "dense_case.h"

/* c = alpha op(a) op(b) + beta c on the host. */
static void reference(const mgk_batched_product *p, const double *a, const double *b, double *c)
{
    for (size_t s = 0; s < p->samples; s++)
        for (size_t h = 0; h < p->heads; h++)
            for (size_t i = 0; i < p->m; i++)
                for (size_t j = 0; j < p->n; j++) {
                    const double *left = a + s * p->a.sample + h * p->a.head;
                    const double *right = b + s * p->b.sample + h * p->b.head;
                    double *out = c + s * p->c.sample + h * p->c.head + i * p->c.row + j;
                    double sum = 0;
                    for (size_t k = 0; k < p->k; k++)
                        sum += left[p->transpose_a ? k * p->a.row + i : i * p->a.row + k] *
                               right[p->transpose_b ? j * p->b.row + k : k * p->b.row + j];
                    *out = p->alpha * sum + (p->beta == 0 ? 0 : p->beta * *out);
                }
}

static void check_product(workspace *space, const mgk_batched_product *p, size_t a_count,
                          size_t b_count, size_t c_count)
{
    double *a = random_values(space, a_count), *b = random_values(space, b_count);
    double *c = random_values(space, c_count);
    for (size_t i = 0; p->beta == 0 && i < c_count; i++)
        c[i] = i % p->c.row < p->n ? NAN : 0; /* is not read */
    void *c_ = upload(space, c_count, c);
    assert_ok(dense(space)->batched_multiply(space->device, p, upload(space, a_count, a),
                                             upload(space, b_count, b), c_));
    reference(p, a, b, c);
    assert_device_close(space, c_count / p->c.row, p->c.row, c_, c);
}

/* Contiguous matrices with gaps behind rows, every combination of transposes. */
static void maps(workspace *space, size_t m, size_t n)
{
    const size_t k = (m + n) % 33, gap = 2; /* includes k = 0 */
    for (int transposes = 0; transposes < 4; transposes++) {
        mgk_batched_product p = {.samples = 2, .heads = 2, .m = m, .n = n, .k = k, .alpha = 0.5};
        p.transpose_a = transposes & 1;
        p.transpose_b = transposes & 2;
        p.beta = transposes == 1 ? 0 : -2;
        size_t a_rows = p.transpose_a ? k : m, b_rows = p.transpose_b ? n : k;
        p.a.row = (p.transpose_a ? m : k) + gap;
        p.b.row = (p.transpose_b ? k : n) + gap;
        p.c.row = n + gap;
        p.a = (mgk_head_strides){2 * a_rows * p.a.row, a_rows * p.a.row, p.a.row};
        p.b = (mgk_head_strides){2 * b_rows * p.b.row, b_rows * p.b.row, p.b.row};
        p.c = (mgk_head_strides){2 * m * p.c.row, m * p.c.row, p.c.row};
        check_product(space, &p, 4 * a_rows * p.a.row + 1, 4 * b_rows * p.b.row + 1,
                      4 * m * p.c.row);
        workspace_release(space);
    }
}

/* Scores of token-major queries and keys, then the output, token-major as well. */
static void tokens(workspace *space, size_t n, size_t keys)
{
    const size_t dim = 5;
    mgk_head_tokens query = {2, n, 3, dim, 3 * dim + 1, NULL},
                    key = {2, keys, 3, dim, 3 * dim, NULL};
    mgk_head_maps scores = {.samples = 2, .heads = 3, .rows = n, .cols = keys};
    mgk_batched_product p = {.samples = 2, .heads = 3, .m = n, .n = keys, .k = dim, .alpha = 1};
    p.transpose_b = true;
    p.a = mgk_token_strides(&query);
    p.b = mgk_token_strides(&key);
    p.c = mgk_map_strides(&scores);
    check_product(space, &p, 2 * n * query.stride, 2 * keys * key.stride, 6 * n * keys);
    mgk_batched_product q = {.samples = 2, .heads = 3, .m = n, .n = dim, .k = keys, .alpha = 1};
    q.alpha = 1 / sqrt((double)keys);
    q.beta = 1;
    q.a = mgk_map_strides(&scores);
    q.b = mgk_token_strides(&key);
    q.c = mgk_token_strides(&query);
    /* Gaps are as random as the rest and must stay. */
    check_product(space, &q, 6 * n * keys, 2 * keys * key.stride, 2 * n * query.stride);
}

/* Factors that all samples or heads share: the projection E [keys, N] of Linformer. */
static void shared(workspace *space, size_t n, size_t keys)
{
    const size_t dim = 7;
    mgk_head_tokens from = {SAMPLES, n, HEADS, dim, HEADS * dim, NULL}, to = from;
    to.tokens = keys;
    mgk_batched_product p = {.samples = SAMPLES, .heads = HEADS, .m = keys, .n = dim, .k = n};
    p.alpha = 1 / sqrt((double)n);
    p.a = (mgk_head_strides){0, 0, n};
    p.b = mgk_token_strides(&from);
    p.c = mgk_token_strides(&to);
    check_product(space, &p, keys * n, SAMPLES * n * from.stride, SAMPLES * keys * to.stride);
}

/* So few and large that C is cut into slices, or that threads have several matrices. */
static void large(workspace *space, size_t m, size_t n)
{
    const size_t k = 257;
    if (m != MGK_TEST_LARGEST && n != MGK_TEST_LARGEST)
        return;
    for (size_t batch = 1; batch <= 5; batch += 2) {
        mgk_batched_product p = {.samples = 1, .heads = batch, .m = m, .n = n, .k = k};
        p.alpha = 1 / sqrt((double)k);
        p.a = (mgk_head_strides){0, m * k, k};
        p.b = (mgk_head_strides){0, n * k, n};
        p.c = (mgk_head_strides){0, m * n, n};
        check_product(space, &p, batch * m * k, batch * n * k, batch * m * n);
        workspace_release(space);
    }
}

/* C of few columns, whole vectors, whose rows are anywhere; m rows, more than one slice of B. */
static void narrow(workspace *space, size_t m, size_t n)
{
    const size_t k = 256 + n, gap = 3;
    for (size_t columns = 16; columns <= 144; columns += 32)
        for (int beta = 0; beta <= 1; beta++) {
            mgk_batched_product p = {.samples = 1, .heads = 2, .m = m, .n = columns, .k = k};
            p.alpha = 1 / sqrt((double)k);
            p.beta = beta;
            p.a = (mgk_head_strides){0, m * (k + gap), k + gap};
            p.b = (mgk_head_strides){0, columns, 2 * columns + gap};
            p.c = (mgk_head_strides){0, m * (columns + gap), columns + gap};
            check_product(space, &p, 2 * m * p.a.row, k * p.b.row, 2 * m * p.c.row);
            workspace_release(space);
        }
}

/* The same of products over few numbers, whole vectors of columns in more than one slice. */
static void shallow(workspace *space, size_t m, size_t n)
{
    const size_t gap = 3;
    for (size_t k = 1; k <= 65; k += 32)
        for (int beta = 0; beta <= 1; beta++) {
            mgk_batched_product p = {.samples = 1, .heads = 2, .m = m, .n = 16 * n, .k = k};
            p.transpose_b = true;
            p.alpha = 1 / sqrt((double)k);
            p.beta = beta;
            p.a = (mgk_head_strides){0, m * (k + gap), k + gap};
            p.b = (mgk_head_strides){0, p.n * (k + gap), k + gap};
            p.c = (mgk_head_strides){0, m * (p.n + gap), p.n + gap};
            check_product(space, &p, 2 * m * p.a.row, 2 * p.n * p.b.row, 2 * m * p.c.row);
            workspace_release(space);
        }
}

/*
 * Mixing of heads, Y_g = Σ_h W_gh X_h, and its gradients dX_h = Σ_g W_gh dY_g and
 * dW_gh = Σ_b <dY_g, X_h>, the latter a product for each sample and column_sums over samples.
 */
enum { MIXED = 3 };

static mgk_batched_product mixing(const layer *subject, bool transposed)
{
    const size_t size = subject->rows * subject->cols;
    const mgk_head_strides x = {HEADS * size, 0, size}, y = {MIXED * size, 0, size};
    mgk_batched_product p = {.samples = SAMPLES, .heads = 1, .n = size, .alpha = 1};
    p.m = transposed ? HEADS : MIXED;
    p.k = transposed ? MIXED : HEADS;
    p.transpose_a = transposed;
    p.a = (mgk_head_strides){0, 0, HEADS};
    p.b = transposed ? y : x;
    p.c = transposed ? x : y;
    return p;
}

static double mixing_value(workspace *space, const layer *subject, const void *packed)
{
    const size_t outputs = SAMPLES * MIXED * subject->rows * subject->cols;
    const void *x = mgk_at(space->device, packed, MIXED * HEADS);
    void *y = zeros(space, outputs);
    mgk_batched_product p = mixing(subject, false);
    assert_ok(dense(space)->batched_multiply(space->device, &p, packed, x, y));
    return weighted(space, subject, outputs, y);
}

static void mixing_gradient(workspace *space, const layer *subject, const void *packed, void *dx)
{
    const size_t size = subject->rows * subject->cols;
    const void *x = mgk_at(space->device, packed, MIXED * HEADS), *dy = subject->weights_;
    mgk_batched_product p = mixing(subject, true);
    assert_ok(dense(space)->batched_multiply(space->device, &p, packed, dy,
                                             mgk_at(space->device, dx, MIXED * HEADS)));
    mgk_batched_product q = {.samples = SAMPLES, .heads = 1, .m = MIXED, .n = HEADS, .k = size};
    q.alpha = 1;
    q.transpose_b = true;
    q.a = (mgk_head_strides){MIXED * size, 0, size};
    q.b = (mgk_head_strides){HEADS * size, 0, size};
    q.c = (mgk_head_strides){MIXED * HEADS, 0, HEADS};
    void *each = zeros(space, SAMPLES * MIXED * HEADS);
    assert_ok(dense(space)->batched_multiply(space->device, &q, dy, x, each));
    assert_ok(space->device->op->column_sums(space->device, SAMPLES, MIXED * HEADS, each, dx));
}

static void mixed_heads(workspace *space, size_t rows, size_t cols)
{
    const size_t size = rows * cols;
    mgk_batched_product p = mixing(&(layer){.rows = rows, .cols = cols}, false);
    check_product(space, &p, MIXED * HEADS, SAMPLES * HEADS * size, SAMPLES * MIXED * size);
    if (space->device->precision == MGK_SINGLE)
        return;
    layer subject = {.rows = rows,
                     .cols = cols,
                     .inputs = MIXED * HEADS + SAMPLES * HEADS * size,
                     .value = mixing_value,
                     .gradient = mixing_gradient};
    check_gradient(space, &subject, SAMPLES * MIXED * size);
}

/* X + W X and X + Wᵀ X over heads, also in place. */
static void mixed_in_place(workspace *space, size_t rows, size_t cols)
{
    const size_t map = rows * cols, count = SAMPLES * HEADS * map;
    const mgk_head_maps maps = {.samples = SAMPLES, .heads = HEADS, .rows = rows, .cols = cols};
    double *mix = random_values(space, HEADS * HEADS), *x = random_values(space, count);
    const void *mix_ = upload(space, HEADS * HEADS, mix);
    for (int choice = 0; choice < 4; choice++) {
        const bool transpose = choice & 1, in_place = choice & 2;
        double *y = host_array(space, count);
        for (size_t e = 0; e < count; e++) {
            const size_t g = e / map % HEADS;
            y[e] = x[e];
            for (size_t h = 0; h < HEADS; h++)
                y[e] += mix[transpose ? h * HEADS + g : g * HEADS + h] * x[e + h * map - g * map];
        }
        void *x_ = upload(space, count, x), *y_ = in_place ? x_ : zeros(space, count);
        assert_ok(dense(space)->mix_heads(space->device, &maps, mix_, transpose, x_, y_));
        assert_device_close(space, count / cols, cols, y_, y);
    }
}

static void added(workspace *space, size_t rows, size_t cols)
{
    const size_t count = rows * cols;
    double *x = random_values(space, count), *y = random_values(space, count);
    void *x_ = upload(space, count, x), *y_ = upload(space, count, y);
    assert_ok(dense(space)->add_scaled(space->device, count, 0.75, x_, -2, y_));
    for (size_t i = 0; i < count; i++)
        y[i] = 0.75 * x[i] - 2 * y[i];
    assert_device_close(space, rows, cols, y_, y);
    for (size_t i = 0; i < count; i++)
        y[i] = NAN;
    y_ = upload(space, count, y);
    assert_ok(dense(space)->add_scaled(space->device, count, 0.5, x_, 0, y_));
    for (size_t i = 0; i < count; i++)
        y[i] = 0.5 * x[i];
    assert_device_close(space, rows, cols, y_, y);
}

int main(void)
{
    check checks[] = {
        {.name = "maps", .run = maps},
        {.name = "tokens", .run = tokens},
        {.name = "shared", .run = shared},
        {.name = "large", .run = large},
        {.name = "narrow", .run = narrow},
        {.name = "shallow", .run = shallow},
        {.name = "added", .run = added},
        {.name = "mixed_heads", .run = mixed_heads},
        {.name = "mixed_in_place", .run = mixed_in_place},
    };
    return run_checks(MGK_SINGLE, MGK_DOUBLE, sizeof checks / sizeof *checks, checks);
}
