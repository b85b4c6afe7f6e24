/* SPDX-License-Identifier: MIT */
/* Integers from content, and what follows them, against direct transcriptions in double. */
#include <string.h>

#include "dense_case.h"

static int32_t *empty_ids(workspace *space, size_t count)
{
    int32_t *ids = host_bytes(space, count, sizeof *ids);
    for (size_t i = 0; i < count; i++)
        ids[i] = -7; /* is overwritten everywhere */
    return upload_bytes(space, count * sizeof *ids, ids);
}

static const int32_t *download_ids(workspace *space, size_t count, const int32_t *ids)
{
    int32_t *host = host_bytes(space, count, sizeof *host);
    assert_ok(space->device->op->download(space->device, host, ids, count * sizeof *host));
    return host;
}

/* The position of the largest score that was not taken, or −1; NaN counts as less than −∞. */
static int32_t take_largest(size_t n, const double *scores, bool *taken)
{
    int32_t best = -1;
    for (size_t j = 0; j < n; j++)
        if (!taken[j] &&
            (best < 0 || scores[j] > scores[best] || (isnan(scores[best]) && !isnan(scores[j]))))
            best = (int32_t)j;
    if (best >= 0)
        taken[best] = true;
    return best;
}

/* Scores with many equal ones, infinities and NaN. */
static void top_rows(workspace *space, size_t n, size_t u)
{
    const size_t lines = SAMPLES * HEADS;
    const int32_t *lengths = ragged(space, n);
    double *scores = random_values(space, lines * n);
    for (size_t e = 0; e < lines * n; e++)
        scores[e] = e % 17 == 5 ? NAN : e % 13 == 4 ? -INFINITY : floor(3 * scores[e]);
    int32_t *index_ = empty_ids(space, lines * u);
    assert_ok(dense(space)->top_rows(space->device, SAMPLES, HEADS, n,
                                     upload_ids(space, SAMPLES, lengths), u,
                                     upload(space, lines * n, scores), index_));
    const int32_t *index = download_ids(space, lines * u, index_);
    for (size_t line = 0; line < lines; line++) {
        bool *taken = host_bytes(space, n, sizeof *taken);
        for (size_t i = 0; i < u; i++)
            assert_int_equal(index[line * u + i],
                             take_largest((size_t)lengths[line / HEADS], scores + line * n, taken));
    }
}

static void query_sparsity(workspace *space, size_t tokens, size_t others)
{
    const size_t dim = 6, lines = SAMPLES * HEADS;
    token_case queries = ragged_tokens(space, tokens, dim);
    token_case keys = ragged_tokens(space, others, dim);
    double *q = random_values(space, queries.count), *k = random_values(space, keys.count);
    spoil_tokens(&queries.host, q);
    spoil_tokens(&keys.host, k);
    void *out_ = upload(space, lines * tokens, random_values(space, lines * tokens));
    assert_ok(dense(space)->query_sparsity(space->device, &queries.device, &keys.device,
                                           upload(space, queries.count, q),
                                           upload(space, keys.count, k), out_));
    const double *out = download(space, lines * tokens, out_);
    for (size_t e = 0; e < lines * tokens; e++) {
        size_t i = e % tokens, h = e / tokens % HEADS, b = e / tokens / HEADS;
        size_t n = (int64_t)i < queries.host.lengths[b] ? (size_t)keys.host.lengths[b] : 0;
        const double *query = q + token_at(&queries.host, queries.host.stride, b, i, h);
        double largest = -INFINITY, sum = 0;
        for (size_t j = 0; j < n; j++) {
            double score = 0;
            for (size_t d = 0; d < dim; d++)
                score += query[d] * k[token_at(&keys.host, keys.host.stride, b, j, h) + d];
            largest = fmax(largest, score);
            sum += score;
        }
        if (n == 0)
            assert_true(out[e] == -INFINITY);
        else
            assert_close(out[e], largest - sum / (double)n, 20 * space->tolerance, 0);
    }
}

static double sign(double x)
{
    return x > 0 ? 1 : -1;
}

/* The nearest centroid of each of n points [n, dim]; returns nothing for no points. */
static void nearest(size_t n, size_t clusters, size_t dim, const double *points,
                    const double *centroids, int32_t *cluster)
{
    for (size_t t = 0; t < n; t++) {
        double least = INFINITY;
        for (size_t c = 0; c < clusters; c++) {
            double distance = 0;
            for (size_t d = 0; d < dim; d++)
                distance += pow(points[t * dim + d] - centroids[c * dim + d], 2);
            if (distance < least) {
                least = distance;
                cluster[t] = (int32_t)c;
            }
        }
    }
}

static void recentre(size_t n, size_t clusters, size_t dim, bool signs, const double *points,
                     const int32_t *cluster, double *centroids)
{
    for (size_t c = 0; c < clusters; c++)
        for (size_t d = 0; d < dim; d++) {
            double sum = 0, count = 0;
            for (size_t t = 0; t < n; t++)
                if (cluster[t] == (int32_t)c) {
                    sum += points[t * dim + d];
                    count++;
                }
            if (count > 0)
                centroids[c * dim + d] = signs ? sign(sum) : sum / count;
        }
}

/* One head of one sample on the host: its points and centroids. */
static void check_head(workspace *space, const token_case *shape, const mgk_k_means *means,
                       size_t b, size_t h, const double *x, const double *start,
                       const double *found, const int32_t *cluster, const int32_t *sizes)
{
    const mgk_head_tokens *s = &shape->host;
    const size_t n = (size_t)s->lengths[b], dim = s->dim, clusters = means->clusters;
    double *points = host_array(space, n * dim + 1), *centroids = host_array(space, clusters * dim);
    int32_t *expected = host_bytes(space, n + 1, sizeof *expected);
    int32_t *counted = host_bytes(space, clusters, sizeof *counted);
    for (size_t e = 0; e < n * dim; e++) {
        double value = x[token_at(s, s->stride, b, e / dim, h) + e % dim];
        points[e] = means->signs ? sign(value) : value;
    }
    for (size_t e = 0; e < clusters * dim; e++) {
        double value = start[((b * clusters + e / dim) * HEADS + h) * dim + e % dim];
        centroids[e] = means->signs ? sign(value) : value;
    }
    for (int step = 0; step < means->updates; step++) {
        nearest(n, clusters, dim, points, centroids, expected);
        recentre(n, clusters, dim, means->signs, points, expected, centroids);
    }
    nearest(n, clusters, dim, points, centroids, expected);
    for (size_t t = 0; t < s->tokens; t++) {
        int32_t own = cluster[(b * HEADS + h) * s->tokens + t];
        assert_int_equal(own, t < n ? expected[t] : -1);
        if (t < n)
            counted[own]++;
    }
    for (size_t c = 0; c < clusters; c++)
        assert_int_equal(sizes[(b * HEADS + h) * clusters + c], counted[c]);
    for (size_t e = 0; e < clusters * dim; e++)
        assert_close(found[((b * clusters + e / dim) * HEADS + h) * dim + e % dim], centroids[e],
                     space->tolerance * 10, 0);
}

/* Points around 4 places, so that rounding does not decide; or signs, which are exact. */
static void k_means(workspace *space, size_t tokens, size_t clusters)
{
    clusters = (clusters - 1) % 7 + 1;
    for (int updates = 0; updates < 4; updates++) {
        const size_t dim = updates == 3 ? 70 : 9; /* more signs than a word has bits */
        token_case shape = ragged_tokens(space, tokens, dim);
        mgk_k_means means = {.clusters = clusters, .updates = updates, .signs = updates % 2};
        size_t count = SAMPLES * clusters * HEADS * dim, lines = SAMPLES * HEADS;
        double *x = random_values(space, shape.count), *start = random_values(space, count);
        for (size_t r = 0; r < SAMPLES * tokens; r++)
            x[r * shape.host.stride + r % 4] += 8;
        spoil_tokens(&shape.host, x);
        void *centroids = upload(space, count, start);
        int32_t *cluster = empty_ids(space, lines * tokens);
        int32_t *sizes = empty_ids(space, lines * clusters);
        assert_ok(dense(space)->k_means(space->device, &shape.device, &means,
                                        upload(space, shape.count, x), centroids, cluster, sizes));
        const double *found = download(space, count, centroids);
        const int32_t *chosen = download_ids(space, lines * tokens, cluster);
        const int32_t *counted = download_ids(space, lines * clusters, sizes);
        for (size_t line = 0; line < lines; line++)
            check_head(space, &shape, &means, line / HEADS, line % HEADS, x, start, found, chosen,
                       counted);
        workspace_release(space);
    }
}

static void group_means(workspace *space, size_t tokens, size_t groups)
{
    const size_t dim = 5, lines = SAMPLES * HEADS, count = SAMPLES * groups * HEADS * dim;
    token_case shape = ragged_tokens(space, tokens, dim);
    int32_t *group = random_ids(space, lines * tokens, (int32_t)groups + 1);
    int32_t *sizes = host_bytes(space, lines * groups, sizeof *sizes);
    double *x = random_values(space, shape.count), *y = host_array(space, count);
    spoil_tokens(&shape.host, x);
    for (int pass = 0; pass < 2; pass++)
        for (size_t e = 0; e < lines * tokens; e++) {
            size_t t = e % tokens, line = e / tokens, b = line / HEADS, h = line % HEADS;
            if ((int64_t)t >= shape.host.lengths[b] || group[e] < 0 || group[e] >= (int32_t)groups)
                continue;
            int32_t *size = sizes + line * groups + (size_t)group[e];
            *size += pass == 0;
            for (size_t d = 0; pass == 1 && d < dim; d++)
                y[((b * groups + (size_t)group[e]) * HEADS + h) * dim + d] +=
                    x[token_at(&shape.host, shape.host.stride, b, t, h) + d] / *size;
        }
    void *y_ = upload(space, count, random_values(space, count));
    assert_ok(dense(space)->group_means(
        space->device, &shape.device, groups, upload_ids(space, lines * tokens, group),
        upload_ids(space, lines * groups, sizes), upload(space, shape.count, x), y_));
    assert_device_close(space, SAMPLES * groups, HEADS * dim, y_, y);
}

/* Number j of [xR, −xR], or if `second` of [xS, −xS], for one token and round. */
static double rotated(const mgk_head_tokens *s, const mgk_lsh *lsh, const double *token,
                      const double *rotation, size_t round, bool second, size_t j)
{
    const size_t half = (second ? lsh->parts : lsh->buckets) / 2;
    const size_t each = (lsh->buckets + lsh->parts) / 2, from = second ? lsh->buckets / 2 : 0;
    double sum = 0;
    for (size_t d = 0; d < s->dim; d++)
        sum += token[d] * rotation[(d * lsh->hashes + round) * each + from + j % half];
    return j < half ? sum : -sum;
}

/* The bucket has the largest number, or one that rounding cannot tell from it. */
static void check_bucket(const workspace *space, const mgk_head_tokens *s, const mgk_lsh *lsh,
                         const double *token, const double *rotation, size_t round, int32_t bucket)
{
    const size_t own[] = {(size_t)bucket % lsh->buckets, (size_t)bucket / lsh->buckets};
    assert_in_range(bucket, 0, lsh->buckets * (lsh->parts > 0 ? lsh->parts : 1) - 1);
    for (int second = 0; second < (lsh->parts > 0 ? 2 : 1); second++) {
        double largest = -INFINITY;
        for (size_t j = 0; j < (second ? lsh->parts : lsh->buckets); j++)
            largest = fmax(largest, rotated(s, lsh, token, rotation, round, second, j));
        assert_close(rotated(s, lsh, token, rotation, round, second, own[second]), largest,
                     space->tolerance, space->tolerance);
    }
}

static void lsh_buckets(workspace *space, size_t tokens, size_t buckets)
{
    for (int variant = 0; variant < 4; variant++) {
        const bool shared = variant % 2;
        token_case shape = ragged_tokens(space, tokens, 11);
        const mgk_head_tokens *s = &shape.host;
        mgk_lsh lsh = {
            .hashes = 3, .buckets = 2 * buckets, .parts = variant < 2 ? 0 : 6, .shared = shared};
        size_t each = s->dim * lsh.hashes * (lsh.buckets + lsh.parts) / 2,
               count = SAMPLES * HEADS * 3 * tokens;
        double *x = random_values(space, shape.count), *r = random_values(space, HEADS * each);
        spoil_tokens(s, x);
        lsh.rotations = upload(space, HEADS * each, r);
        int32_t *bucket_ = empty_ids(space, count);
        assert_ok(dense(space)->lsh_buckets(space->device, &shape.device, &lsh,
                                            upload(space, shape.count, x), bucket_));
        const int32_t *bucket = download_ids(space, count, bucket_);
        for (size_t e = 0; e < count; e++) {
            size_t t = e % tokens, round = e / tokens % 3, h = e / tokens / 3 % HEADS;
            size_t b = e / tokens / 3 / HEADS;
            bool valid = (int64_t)t < s->lengths[b];
            const double *token = x + token_at(s, s->stride, b, t, h);
            if (valid)
                check_bucket(space, s, &lsh, token, r + (shared ? 0 : h * each), round, bucket[e]);
            else
                assert_int_equal(bucket[e], -1);
        }
        workspace_release(space);
    }
}

/* Of equal numbers the first: rotations that are all the same, for positive and negative tokens. */
static void equal_buckets(workspace *space, size_t half, size_t dim)
{
    double *x = host_array(space, 2 * dim), *r = host_array(space, dim * half);
    for (size_t d = 0; d < dim; d++) {
        x[d] = 1;
        x[dim + d] = -1;
    }
    for (size_t e = 0; e < dim * half; e++)
        r[e] = 1;
    mgk_head_tokens shape = {1, 2, 1, dim, dim, NULL};
    mgk_lsh lsh = {.hashes = 1, .buckets = 2 * half, .rotations = upload(space, dim * half, r)};
    int32_t *bucket_ = empty_ids(space, 2);
    assert_ok(
        dense(space)->lsh_buckets(space->device, &shape, &lsh, upload(space, 2 * dim, x), bucket_));
    const int32_t *bucket = download_ids(space, 2, bucket_);
    assert_int_equal(bucket[0], 0);
    assert_int_equal(bucket[1], half);
}

/* x −= ln Σ exp x over a line of `count` entries, `step` apart, of which `maps` has the valid. */
static void normalize(const mgk_head_maps *maps, size_t first, size_t count, size_t step, double *x)
{
    double sum = 0;
    for (size_t e = first; e < first + count * step; e += step)
        if (element_valid(maps, e))
            sum += exp(x[e]);
    for (size_t e = first; e < first + count * step; e += step)
        if (element_valid(maps, e) && sum > 0)
            x[e] -= log(sum);
}

static void sinkhorn(workspace *space, size_t rows, size_t cols)
{
    for (int causal = 0; causal < 2; causal++) {
        map_case maps = ragged_maps(space, rows, cols, causal);
        double *x = random_values(space, maps.count);
        for (size_t e = 0; e < maps.count; e++)
            x[e] = e % 11 == 3 ? -INFINITY : 3 * x[e];
        spoil_maps(&maps.host, maps.count, x);
        void *x_ = upload(space, maps.count, x);
        assert_ok(dense(space)->sinkhorn(space->device, &maps.device, 5, x_));
        for (size_t m = 0; m < SAMPLES * HEADS; m++)
            for (int step = 0; step < 5; step++) {
                for (size_t i = 0; i < rows; i++)
                    normalize(&maps.host, (m * rows + i) * cols, cols, 1, x);
                for (size_t j = 0; j < cols; j++)
                    normalize(&maps.host, m * rows * cols + j, rows, cols, x);
            }
        for (size_t e = 0; e < maps.count; e++)
            x[e] = element_valid(&maps.host, e) ? exp(x[e]) : 0;
        assert_device_close(space, maps.count / cols, cols, x_, x);
        workspace_release(space);
    }
}

/* Logits of any size: the exponential of none of them overflows. */
static void sinkhorn_of_large(workspace *space, size_t n, size_t unused)
{
    (void)unused;
    mgk_head_maps maps = {.samples = 1, .heads = 1, .rows = n, .cols = n};
    double *x = host_array(space, n * n);
    for (size_t e = 0; e < n * n; e++)
        x[e] = e / n == e % n ? 10000 : -10000;
    void *x_ = upload(space, n * n, x);
    assert_ok(dense(space)->sinkhorn(space->device, &maps, 3, x_));
    for (size_t e = 0; e < n * n; e++)
        x[e] = e / n == e % n;
    assert_device_close(space, n, n, x_, x);
}

int main(void)
{
    check checks[] = {
        {.name = "query_sparsity", .run = query_sparsity},
        {.name = "top_rows", .run = top_rows},
        {.name = "k_means", .run = k_means},
        {.name = "group_means", .run = group_means},
        {.name = "lsh_buckets", .run = lsh_buckets},
        {.name = "equal_buckets", .run = equal_buckets},
        {.name = "sinkhorn", .run = sinkhorn},
        {.name = "large", .run = sinkhorn_of_large},
    };
    return run_checks(MGK_SINGLE, MGK_DOUBLE, sizeof checks / sizeof *checks, checks);
}
