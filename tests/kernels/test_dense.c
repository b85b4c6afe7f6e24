/* SPDX-License-Identifier: MIT */
/* The operations of kernels/dense.h against direct transcriptions in double. */
#include <string.h>

#include "dense_case.h"

/* Softmax of the valid entries of x, 0 elsewhere; independent of the operation. */
static double *softmax_reference(workspace *space, const mgk_head_maps *maps, const double *x)
{
    const size_t lines = SAMPLES * HEADS * maps->rows;
    double *y = host_array(space, lines * maps->cols);
    for (size_t line = 0; line < lines; line++) {
        double largest = -INFINITY, sum = 0;
        for (int pass = 0; pass < 3; pass++)
            for (size_t e = line * maps->cols; e < (line + 1) * maps->cols; e++) {
                if (!element_valid(maps, e) || x[e] == -INFINITY)
                    continue;
                if (pass == 0)
                    largest = fmax(largest, x[e]);
                else if (pass == 1)
                    sum += exp(x[e] - largest);
                else
                    y[e] = exp(x[e] - largest) / sum;
            }
    }
    return y;
}

static void softmax(workspace *space, size_t rows, size_t cols)
{
    for (int causal = 0; causal < 2; causal++) {
        map_case maps = ragged_maps(space, rows, cols, causal);
        double *x = random_values(space, maps.count), *dy = random_values(space, maps.count);
        for (size_t e = 0; e < maps.count; e++)
            x[e] = e % 11 == 3 ? -INFINITY : x[e] * 5 + (e / cols % 3 == 1 ? 3000 : -3000);
        for (size_t j = 0; j < cols; j++)
            x[map_at(&maps.host, 2, 1, 0, j)] = -INFINITY;
        spoil_maps(&maps.host, maps.count, x);
        spoil_maps(&maps.host, maps.count, dy);
        void *x_ = upload(space, maps.count, x);
        assert_ok(dense(space)->softmax_rows(space->device, &maps.device, x_));
        double *y = softmax_reference(space, &maps.host, x);
        /* float32 stands for 3000 + s with an error that the uploaded values do not have. */
        if (space->device->precision == MGK_SINGLE) {
            float rounded;
            for (size_t e = 0; e < maps.count; e++) {
                rounded = (float)x[e];
                x[e] = (double)rounded;
            }
            y = softmax_reference(space, &maps.host, x);
        }
        assert_device_close(space, maps.count / cols, cols, x_, y);

        void *dy_ = upload(space, maps.count, dy);
        y = download(space, maps.count, x_);
        assert_ok(dense(space)->softmax_rows_backward(space->device, &maps.device, x_, dy_, dy_));
        for (size_t line = 0; line < maps.count / cols; line++) {
            double mean = 0;
            for (size_t e = line * cols; e < (line + 1) * cols; e++)
                mean += element_valid(&maps.host, e) ? dy[e] * y[e] : 0;
            for (size_t e = line * cols; e < (line + 1) * cols; e++)
                dy[e] = element_valid(&maps.host, e) ? y[e] * (dy[e] - mean) : 0;
        }
        assert_device_close(space, maps.count / cols, cols, dy_, dy);
        workspace_release(space);
    }
}

/* A NaN makes its row NaN, whatever else is there, and no other row. */
static void softmax_of_nan(workspace *space, size_t rows, size_t cols)
{
    mgk_head_maps maps = {.samples = 1, .heads = 1, .rows = rows, .cols = cols};
    for (int others = 0; others < 2; others++) {
        double *x = random_values(space, rows * cols);
        for (size_t j = 0; j < cols; j++)
            x[j] = j == cols / 2 ? NAN : others ? -INFINITY : x[j];
        void *x_ = upload(space, rows * cols, x);
        assert_ok(dense(space)->softmax_rows(space->device, &maps, x_));
        const double *y = download(space, rows * cols, x_);
        for (size_t e = 0; e < rows * cols; e++)
            assert_true(e < cols ? isnan(y[e]) : isfinite(y[e]));
    }
}

static void segments(workspace *space, size_t tokens, size_t dim)
{
    const size_t counts[] = {1, 5, tokens, tokens + 2};
    for (size_t choice = 0; choice < 4; choice++) {
        const size_t m = counts[choice], cols = HEADS * dim;
        token_case shape = ragged_tokens(space, tokens, dim);
        double *x = random_values(space, shape.count), *y = host_array(space, SAMPLES * m * cols);
        spoil_tokens(&shape.host, x);
        void *y_ = upload(space, SAMPLES * m * cols, random_values(space, SAMPLES * m * cols));
        int32_t *found = upload_bytes(space, SAMPLES * sizeof *found, (int32_t[SAMPLES]){0});
        assert_ok(dense(space)->segment_means(space->device, &shape.device, m,
                                              upload(space, shape.count, x), y_, found));
        int32_t counted[SAMPLES];
        assert_ok(space->device->op->download(space->device, counted, found, sizeof counted));
        for (size_t b = 0; b < SAMPLES; b++) {
            size_t n = (size_t)shape.host.lengths[b], c = n < m ? n : m;
            assert_int_equal(counted[b], c);
            for (size_t s = 0; s < c; s++)
                for (size_t t = s * n / c; t < (s + 1) * n / c; t++)
                    for (size_t e = 0; e < cols; e++)
                        y[(b * m + s) * cols + e] += x[(b * tokens + t) * shape.host.stride + e] /
                                                     (double)((s + 1) * n / c - s * n / c);
        }
        assert_device_close(space, SAMPLES * m, cols, y_, y);
        workspace_release(space);
    }
}

/* Means of every span, found by its first token and length. */
static void tree(workspace *space, size_t tokens, size_t dim)
{
    const size_t cols = HEADS * dim, spans = mgk_tree_place(mgk_tree_levels(tokens), tokens);
    token_case shape = ragged_tokens(space, tokens, dim);
    double *x = random_values(space, shape.count);
    double *y = host_array(space, SAMPLES * spans * cols);
    spoil_tokens(&shape.host, x);
    void *y_ = upload(space, SAMPLES * spans * cols, random_values(space, SAMPLES * spans * cols));
    assert_ok(
        dense(space)->tree_means(space->device, &shape.device, upload(space, shape.count, x), y_));
    for (size_t b = 0; b < SAMPLES; b++) {
        size_t span = b * spans;
        for (size_t first = 0; first < tokens; first++)
            for (size_t length = 1; length == 1 || (length < tokens && first % length == 0);
                 length *= 2, span++) {
                size_t n = (size_t)shape.host.lengths[b];
                size_t end = first + length < n ? first + length : n;
                for (size_t t = first; t < end; t++)
                    for (size_t e = 0; e < cols; e++)
                        y[span * cols + e] +=
                            x[(b * tokens + t) * shape.host.stride + e] / (double)(end - first);
            }
        assert_int_equal(span, (b + 1) * spans);
    }
    assert_device_close(space, SAMPLES * spans, cols, y_, y);
}

/*
 * Weights of spans, of more rows than are spread at once, become those of tokens. `dim` stands for
 * tokens of padding.
 */
static void spread(workspace *space, size_t tokens, size_t dim)
{
    enum { ROWS = 21 };
    const size_t spans = mgk_tree_place(mgk_tree_levels(tokens), tokens);
    const size_t length = tokens - dim % tokens;
    const int32_t lengths[2] = {(int32_t)length, -1};
    double *weight = random_values(space, ROWS * spans);
    double *y = host_array(space, ROWS * tokens);
    void *y_ = upload(space, ROWS * tokens, random_values(space, ROWS * tokens));
    assert_ok(dense(space)->tree_spread(space->device, ROWS, tokens, upload_ids(space, 2, lengths),
                                        upload(space, ROWS * spans, weight), y_));
    size_t span = 0;
    for (size_t first = 0; first < tokens; first++)
        for (size_t size = 1; size == 1 || (size < tokens && first % size == 0);
             size *= 2, span++) {
            const size_t end = first + size < length ? first + size : length;
            for (size_t i = 0; i < ROWS; i++)
                for (size_t t = first; t < end; t++)
                    y[i * tokens + t] += weight[i * spans + span] / (double)(end - first);
        }
    assert_int_equal(span, spans);
    assert_device_close(space, ROWS, tokens, y_, y);
}

/* c [m, m] = a b. */
static void multiply(size_t m, const double *a, const double *b, double *c)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            c[i * m + j] = 0;
            for (size_t k = 0; k < m; k++)
                c[i * m + j] += a[i * m + k] * b[k * m + j];
        }
}

/* out = scale I − x. */
static void from_identity(size_t m, double scale, const double *x, double *out)
{
    for (size_t e = 0; e < m * m; e++)
        out[e] = (e / m == e % m ? scale : 0) - x[e];
}

static void newton_reference(workspace *space, size_t m, int steps, const double *k, double *z)
{
    double row = 0, column = 0;
    double *p = host_array(space, m * m), *a = host_array(space, m * m);
    double *b = host_array(space, m * m);
    for (size_t i = 0; i < m; i++) {
        double rows = 0, columns = 0;
        for (size_t j = 0; j < m; j++) {
            rows += fabs(k[i * m + j]);
            columns += fabs(k[j * m + i]);
        }
        row = fmax(row, rows);
        column = fmax(column, columns);
    }
    for (size_t e = 0; e < m * m; e++)
        z[e] = row * column > 0 ? k[e % m * m + e / m] / (row * column) : 0;
    for (int s = 0; s < steps; s++) {
        multiply(m, k, z, p);
        from_identity(m, 7, p, a);
        multiply(m, p, a, b);
        from_identity(m, 15, b, a);
        multiply(m, p, a, b);
        from_identity(m, 13, b, a);
        multiply(m, z, a, b);
        for (size_t e = 0; e < m * m; e++)
            z[e] = b[e] / 4;
    }
}

/*
 * Attention of landmarks to themselves: nearly the identity for even matrices, so that the
 * iteration converges; matrix 2 has fewer landmarks and matrix 3 none.
 */
static double *landmark_maps(workspace *space, size_t count, size_t m)
{
    double *k = random_values(space, count * m * m);
    for (size_t i = 0; i < count; i++) {
        size_t valid = i == 2 ? (m + 1) / 2 : i == 3 ? 0 : m;
        for (size_t r = 0; r < m; r++) {
            double sum = 0, *row = k + (i * m + r) * m;
            for (size_t c = 0; c < m; c++) {
                bool inside = r < valid && c < valid;
                row[c] = inside ? exp(row[c] + (r == c && i % 2 == 0 ? 6 : 0)) : 0;
                sum += row[c];
            }
            for (size_t c = 0; c < m && sum > 0; c++)
                row[c] = (double)(float)(row[c] / sum);
        }
    }
    return k;
}

static void newton(workspace *space, size_t rows, size_t cols)
{
    const size_t m = 1 + (rows + cols) % 40, count = 5, size = m * m;
    double *k = landmark_maps(space, count, m), *z = host_array(space, count * size);
    void *z_ = upload(space, count * size, z), *k_ = upload(space, count * size, k);
    assert_ok(dense(space)->newton_inverse(space->device, count, m, 6, k_, z_));
    for (size_t i = 0; i < count; i++) {
        newton_reference(space, m, 6, k + i * size, z + i * size);
        double largest = 1; /* rounding errors of a step spread over the matrix */
        for (size_t e = i * size; e < (i + 1) * size; e++)
            largest = fmax(largest, fabs(z[e]));
        const double *found = download(space, count * size, z_);
        for (size_t e = i * size; e < (i + 1) * size; e++)
            assert_close(found[e], z[e], 20 * space->tolerance * largest, 0);
    }
    /* The first is inverted: K Z = I. */
    double *product = host_array(space, size), *identity = host_array(space, size);
    from_identity(m, 1, identity, identity);
    multiply(m, k, download(space, count * size, z_), product);
    assert_rows_close(m, m, product, identity, 1e-3);
}

static void shifted(workspace *space, size_t rows, size_t cols)
{
    const size_t m = 1 + (rows + cols) % 67, count = 4, size = m * m;
    double *x = random_values(space, count * size), *identity = host_array(space, size);
    double *product = host_array(space, size), *sum = host_array(space, size);
    for (size_t e = 0; e < count * size; e++)
        x[e] = (double)(float)(x[e] * 0.3 / sqrt((double)m));
    for (size_t e = 0; e < size; e++)
        x[2 * size + e] = e / m == e % m ? -1 : 0; /* X + I = 0 is singular */
    x[3 * size] = NAN;
    void *z_ = upload(space, count * size, x);
    assert_ok(dense(space)->shifted_inverse(space->device, count, m, 1, z_, z_));
    const double *z = download(space, count * size, z_);
    from_identity(m, 1, identity, identity);
    for (size_t i = 0; i < 2; i++) {
        for (size_t e = 0; e < size; e++)
            sum[e] = x[i * size + e] + (e / m == e % m ? 1 : 0);
        multiply(m, sum, z + i * size, product);
        assert_rows_close(m, m, product, identity, space->tolerance);
    }
    for (size_t e = 2 * size; e < 3 * size; e++)
        assert_true(isnan(z[e]));
    assert_true(isnan(z[3 * size]));
}

/* Pivots are needed: the identity with its rows in reverse order, plus 1 on the diagonal. */
static void pivoted(workspace *space, size_t rows, size_t cols)
{
    const size_t m = 2 * ((rows + cols) % 20 + 1), size = m * m;
    double *x = host_array(space, size), *z = host_array(space, size);
    for (size_t i = 0; i < m; i++)
        x[i * m + m - 1 - i] = z[i * m + m - 1 - i] = 1; /* its own inverse */
    void *x_ = upload(space, size, x);
    assert_ok(dense(space)->shifted_inverse(space->device, 1, m, 0, x_, x_));
    assert_device_close(space, m, m, x_, z);
}

static void token_kernels(workspace *space, size_t tokens, size_t dim)
{
    const size_t kernels[] = {1, 4, 33};
    for (size_t choice = 0; choice < 6; choice++) {
        token_case shape = ragged_tokens(space, tokens, 1 + dim % 9);
        const mgk_head_tokens *s = &shape.host;
        mgk_token_kernel kernel = {.taps = kernels[choice / 2], .causal = choice % 2};
        size_t y_stride = HEADS * s->dim, count = SAMPLES * tokens * y_stride;
        int64_t offset = (int64_t)(kernel.causal ? kernel.taps - 1 : (kernel.taps - 1) / 2);
        double *w = random_values(space, HEADS * kernel.taps);
        double *x = random_values(space, shape.count), *y = random_values(space, count);
        spoil_tokens(s, x);
        void *y_ = upload(space, count, y);
        kernel.weight = upload(space, HEADS * kernel.taps, w);
        assert_ok(dense(space)->convolve_tokens(space->device, &shape.device, &kernel,
                                                upload(space, shape.count, x), y_, y_stride));
        for (size_t b = 0; b < SAMPLES; b++)
            for (int64_t t = 0; t < s->lengths[b]; t++)
                for (size_t h = 0; h < HEADS; h++)
                    for (size_t k = 0; k < kernel.taps; k++) {
                        int64_t from = t + (int64_t)k - offset;
                        for (size_t d = 0; from >= 0 && from < s->lengths[b] && d < s->dim; d++)
                            y[token_at(s, y_stride, b, (size_t)t, h) + d] +=
                                w[h * kernel.taps + k] *
                                x[token_at(s, s->stride, b, (size_t)from, h) + d];
                    }
        assert_device_close(space, SAMPLES * tokens, y_stride, y_, y);
        workspace_release(space);
    }
}

/* y at one entry, from the formula. */
static double convolved(const mgk_head_maps *maps, const double *w, double bias, const double *x,
                        size_t b, size_t g, size_t i, size_t j)
{
    double sum = bias;
    for (size_t h = 0; h < HEADS; h++)
        for (size_t a = 0; a < (maps->causal ? 2U : 3U); a++)
            for (size_t c = 0; c < 3; c++)
                if (i + a >= 1 && j + c >= 1 && map_valid(maps, b, i + a - 1, j + c - 1))
                    sum += w[((g * HEADS + h) * 3 + a) * 3 + c] *
                           x[map_at(maps, b, h, i + a - 1, j + c - 1)];
    return sum;
}

static void map_kernels(workspace *space, size_t rows, size_t cols)
{
    for (int choice = 0; choice < 2; choice++) {
        map_case maps = ragged_maps(space, rows, cols, choice == 1);
        double *w = random_values(space, HEADS * HEADS * 9), *bias = random_values(space, HEADS);
        double *x = random_values(space, maps.count), *y = host_array(space, maps.count);
        spoil_maps(&maps.host, maps.count, x);
        void *y_ = upload(space, maps.count, random_values(space, maps.count));
        assert_ok(dense(space)->convolve_maps(
            space->device, &maps.device, upload(space, HEADS * HEADS * 9, w),
            choice ? NULL : upload(space, HEADS, bias), upload(space, maps.count, x), y_));
        for (size_t e = 0; e < maps.count; e++) {
            size_t g = e / cols / rows % HEADS, b = e / cols / rows / HEADS;
            if (element_valid(&maps.host, e))
                y[e] = convolved(&maps.host, w, choice ? 0 : bias[g], x, b, g, e / cols % rows,
                                 e % cols);
        }
        assert_device_close(space, maps.count / cols, cols, y_, y);
        workspace_release(space);
    }
}

/* In causal maps no row depends on rows and columns that come later. */
static void causal_kernels(workspace *space, size_t n, size_t seen)
{
    if (seen >= n)
        return;
    map_case maps = ragged_maps(space, n, n, true);
    void *w = upload(space, HEADS * HEADS * 9, random_values(space, HEADS * HEADS * 9));
    double *x = random_values(space, maps.count), *y[2];
    for (int changed = 0; changed < 2; changed++) {
        for (size_t e = 0; changed && e < maps.count; e++)
            if (e / n % n >= seen || e % n >= seen)
                x[e] += 1;
        void *y_ = zeros(space, maps.count);
        assert_ok(dense(space)->convolve_maps(space->device, &maps.device, w, NULL,
                                              upload(space, maps.count, x), y_));
        y[changed] = download(space, maps.count, y_);
    }
    for (size_t e = 0; e < maps.count; e++)
        if (e / n % n < seen)
            assert_true(y[0][e] == y[1][e]);
}

static void gathered(workspace *space, size_t tokens, size_t count)
{
    const size_t dim = 5, y_stride = HEADS * dim + 1, y_count = SAMPLES * count * y_stride;
    token_case shape = ragged_tokens(space, tokens, dim);
    const mgk_head_tokens *s = &shape.host;
    int32_t *index = random_ids(space, SAMPLES * HEADS * count, (int32_t)tokens + 1);
    const int32_t *index_ = upload_ids(space, SAMPLES * HEADS * count, index);
    double *x = random_values(space, shape.count), *y = random_values(space, y_count);
    double *sum = random_values(space, shape.count);
    void *y_ = upload(space, y_count, y), *sum_ = upload(space, shape.count, sum);
    assert_ok(dense(space)->gather_tokens(space->device, &shape.device, count, index_,
                                          upload(space, shape.count, x), y_, y_stride));
    for (size_t row = 0; row < SAMPLES * count * HEADS; row++) {
        size_t h = row % HEADS, i = row / HEADS % count, b = row / HEADS / count;
        int32_t t = index[(b * HEADS + h) * count + i];
        bool present = t >= 0 && t < (int32_t)tokens;
        for (size_t d = 0; d < dim; d++) {
            size_t at = (b * count + i) * y_stride + h * dim + d;
            size_t from = present ? token_at(s, s->stride, b, (size_t)t, h) + d : 0;
            y[at] = present ? x[from] : 0;
            if (present)
                sum[from] += y[at];
        }
    }
    assert_device_close(space, SAMPLES * count, y_stride, y_, y);
    assert_ok(dense(space)->scatter_add_tokens(space->device, &shape.device, count, index_, y_,
                                               y_stride, sum_));
    assert_device_close(space, SAMPLES * tokens, s->stride, sum_, sum);
}

/* Rows are added in an order of their own to some of those of y. */
static void weighed(workspace *space, size_t tokens, size_t count)
{
    const size_t rows = count < tokens ? count : tokens, dim = 5;
    double *x = random_values(space, rows * dim), *weight = random_values(space, rows);
    double *y = random_values(space, tokens * dim);
    int32_t *index = random_ids(space, rows, 1);
    void *y_ = upload(space, tokens * dim, y);
    for (size_t i = 0; i < rows; i++) {
        index[i] = (int32_t)(tokens - 1 - i);
        for (size_t d = 0; d < dim; d++)
            y[(size_t)index[i] * dim + d] += weight[i] * x[i * dim + d];
    }
    assert_ok(dense(space)->add_weighed_rows(
        space->device, rows, dim, upload_ids(space, rows, index), upload(space, rows, weight),
        upload(space, rows * dim, x), y_));
    assert_device_close(space, tokens, dim, y_, y);
}

static void expanded(workspace *space, size_t rows, size_t dim)
{
    double *x = random_values(space, rows * (dim + 1)), *m = random_values(space, HEADS * dim);
    double *y = host_array(space, rows * HEADS * dim);
    void *y_ = upload(space, rows * HEADS * dim, random_values(space, rows * HEADS * dim));
    assert_ok(dense(space)->expand_heads(space->device, rows, HEADS, dim,
                                         upload(space, rows * (dim + 1), x), dim + 1,
                                         upload(space, HEADS * dim, m), y_));
    for (size_t e = 0; e < rows * HEADS * dim; e++)
        y[e] = x[e / dim / HEADS * (dim + 1) + e % dim] * m[e % (HEADS * dim)];
    assert_device_close(space, rows, HEADS * dim, y_, y);
}

/* The most inputs and outputs of routing. */
enum { ROUTED = 5 };

/* v of the routing of one row of votes u [inputs, outputs, dim], as it is written in dense.h. */
static void route_row(const mgk_capsules *k, const double *u, double *v)
{
    double b[ROUTED][ROUTED] = {{0}};
    for (int t = 0; t < k->steps; t++) {
        double sum[ROUTED] = {0}, norm[ROUTED] = {0};
        for (size_t i = 0; i < k->inputs; i++)
            for (size_t j = 0; j < k->outputs; j++)
                sum[i] += exp(b[i][j]);
        for (size_t j = 0; j < k->outputs; j++) {
            for (size_t d = 0; d < k->dim; d++) {
                v[j * k->dim + d] = 0;
                for (size_t i = 0; i < k->inputs; i++)
                    v[j * k->dim + d] +=
                        exp(b[i][j]) / sum[i] * u[(i * k->outputs + j) * k->dim + d];
                norm[j] += v[j * k->dim + d] * v[j * k->dim + d];
            }
            for (size_t d = 0; d < k->dim; d++)
                v[j * k->dim + d] *= sqrt(norm[j]) / (1 + norm[j]);
            for (size_t i = 0; i < k->inputs; i++)
                for (size_t d = 0; d < k->dim; d++)
                    b[i][j] += u[(i * k->outputs + j) * k->dim + d] * v[j * k->dim + d];
        }
    }
}

/* Votes near 1 / √dim, and none in the second row. */
static void routed(workspace *space, size_t rows, size_t dim)
{
    for (int steps = 1; steps < 5; steps++) {
        const mgk_capsules k = {.rows = rows,
                                .inputs = 1 + rows % ROUTED,
                                .outputs = ROUTED - rows % ROUTED,
                                .dim = dim,
                                .steps = steps};
        const size_t width = k.outputs * dim, votes = k.inputs * width;
        double *u = random_values(space, rows * votes), *y = host_array(space, rows * width);
        for (size_t e = 0; e < rows * votes; e++)
            u[e] = e / votes == 1 ? 0 : u[e] * 2 / sqrt((double)dim);
        for (size_t row = 0; row < rows; row++)
            route_row(&k, u + row * votes, y + row * width);
        void *y_ = upload(space, rows * width, random_values(space, rows * width));
        assert_ok(
            dense(space)->route_capsules(space->device, &k, upload(space, rows * votes, u), y_));
        assert_device_close(space, rows, width, y_, y);
        workspace_release(space);
    }
}

int main(void)
{
    check checks[] = {
        {.name = "softmax", .run = softmax},
        {.name = "softmax_of_nan", .run = softmax_of_nan},
        {.name = "segments", .run = segments},
        {.name = "tree", .run = tree},
        {.name = "spread", .run = spread},
        {.name = "newton", .run = newton},
        {.name = "shifted", .run = shifted},
        {.name = "pivoted", .run = pivoted},
        {.name = "token_kernels", .run = token_kernels},
        {.name = "map_kernels", .run = map_kernels},
        {.name = "causal_kernels", .run = causal_kernels},
        {.name = "gathered", .run = gathered},
        {.name = "weighed", .run = weighed},
        {.name = "expanded", .run = expanded},
        {.name = "routed", .run = routed},
    };
    return run_checks(MGK_SINGLE, MGK_DOUBLE, sizeof checks / sizeof *checks, checks);
}
