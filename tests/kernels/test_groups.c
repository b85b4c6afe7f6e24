/* SPDX-License-Identifier: MIT */
/* Operations for attention within groups, against direct transcriptions in double. */
#include "dense_case.h"

static void unit_tokens(workspace *space, size_t tokens, size_t dim)
{
    token_case shape = ragged_tokens(space, tokens, dim);
    const size_t count = SAMPLES * tokens * HEADS * dim;
    double *x = random_values(space, shape.count), *y = host_array(space, count);
    spoil_tokens(&shape.host, x);
    for (size_t e = 0; e < count; e++) {
        const size_t b = e / dim / HEADS / tokens, t = e / dim / HEADS % tokens;
        const double *token = x + token_at(&shape.host, shape.host.stride, b, t, e / dim % HEADS);
        double squares = 0;
        for (size_t d = 0; d < dim; d++)
            squares += token[d] * token[d];
        y[e] = (int64_t)t < shape.host.lengths[b]
                   ? token[e % dim] / sqrt(squares / (double)dim + 0.25)
                   : 0;
    }
    void *y_ = upload(space, count, random_values(space, count));
    assert_ok(dense(space)->unit_tokens(space->device, &shape.device, 0.25,
                                        upload(space, shape.count, x), y_));
    assert_device_close(space, SAMPLES * tokens, HEADS * dim, y_, y);
}

enum { GROUPS = 3 };

static void weigh_groups(workspace *space, size_t tokens, size_t dim)
{
    token_case shape = ragged_tokens(space, tokens, dim);
    const size_t lines = SAMPLES * HEADS, width = HEADS * dim, count = SAMPLES * tokens * width;
    const int32_t *group = random_ids(space, lines * tokens, GROUPS);
    const double *weight = random_values(space, lines * GROUPS);
    const double *x = random_values(space, shape.count);
    double *y = random_values(space, count);
    void *y_ = upload(space, count, y);
    for (size_t e = 0; e < count; e++) {
        const size_t b = e / width / tokens, t = e / width % tokens, h = e / dim % HEADS;
        const size_t line = b * HEADS + h;
        const int32_t own = group[line * tokens + t];
        if (own >= 0)
            y[e] += weight[line * GROUPS + (size_t)own] *
                    x[token_at(&shape.host, shape.host.stride, b, t, h) + e % dim];
    }
    assert_ok(dense(space)->weigh_groups(
        space->device, &shape.device, GROUPS, upload_ids(space, lines * tokens, group),
        upload(space, lines * GROUPS, weight), upload(space, shape.count, x), y_, width));
    assert_device_close(space, SAMPLES * tokens, width, y_, y);
}

/* Whether a query sees another token in any group. */
static bool sees_other(const mgk_group_mask *mask, const int32_t *query, const int32_t *key,
                       int32_t own)
{
    for (size_t g = 0; g < mask->groups; g++)
        for (size_t i = 0; i < mask->queries; i++)
            for (size_t k = 0; query[g * mask->queries + i] == own && k < mask->keys; k++) {
                const int32_t j = key[g * mask->keys + k];
                if (j >= 0 && j != own && !(mask->causal && j > own))
                    return true;
            }
    return false;
}

/* Few tokens, so that some are in several groups, and some see themselves alone. */
static void group_mask(workspace *space, size_t queries, size_t keys)
{
    const size_t lines = SAMPLES * HEADS, own = GROUPS * queries, seen = GROUPS * keys;
    for (int causal = 0; causal < 2; causal++) {
        const int32_t *query = random_ids(space, lines * own, 9);
        const int32_t *key = random_ids(space, lines * seen, 9);
        const mgk_group_mask mask = {SAMPLES,
                                     HEADS,
                                     9,
                                     GROUPS,
                                     queries,
                                     keys,
                                     causal,
                                     upload_ids(space, lines * own, query),
                                     upload_ids(space, lines * seen, key)};
        const size_t count = lines * own * keys;
        void *out_ = upload(space, count, random_values(space, count));
        assert_ok(dense(space)->group_mask(space->device, &mask, out_));
        const double *out = download(space, count, out_);
        for (size_t e = 0; e < count; e++) {
            const size_t k = e % keys, i = e / keys % queries, h = e / keys / queries % HEADS;
            const size_t g = e / keys / queries / HEADS % GROUPS;
            const size_t line = e / keys / queries / HEADS / GROUPS * HEADS + h;
            const int32_t q = query[line * own + g * queries + i];
            const int32_t j = key[line * seen + g * keys + k];
            const bool visible =
                q >= 0 && j >= 0 && !(causal && j > q) &&
                (j != q || !sees_other(&mask, query + line * own, key + line * seen, q));
            assert_true(out[e] == (visible ? 0 : -INFINITY));
        }
        workspace_release(space);
    }
}

/* Parts of very different sums, of which some are empty. */
static void merge_parts(workspace *space, size_t tokens, size_t rows)
{
    enum { DIM = 5 };
    const size_t lines = SAMPLES * HEADS, own = GROUPS * rows, count = lines * own * DIM;
    const size_t stride = HEADS * DIM + 2;
    const int32_t *index = random_ids(space, lines * own, (int32_t)tokens);
    double *statistic = random_values(space, lines * own), *y = random_values(space, count);
    double *out = host_array(space, SAMPLES * tokens * stride);
    double *merged = host_array(space, lines * own);
    for (size_t e = 0; e < lines * own; e++)
        statistic[e] = e % 5 == 2 ? -INFINITY : 40 * statistic[e] + (e % 7 == 0 ? 1000 : 0);
    for (size_t e = 0; e < lines * own; e++) {
        const size_t line = e / own, r = e % own, b = line / HEADS, h = line % HEADS;
        double most = -INFINITY, sum = 0;
        size_t at = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t other = 0; other < own; other++) {
                const size_t place =
                    ((b * GROUPS + other / rows) * HEADS + h) * rows + other % rows;
                at = other == r ? place : at;
                if (index[line * own + other] != index[e])
                    continue;
                if (pass == 0)
                    most = fmax(most, statistic[place]);
                else
                    sum += exp(statistic[place] - most);
            }
        merged[at] = index[e] < 0 || most == -INFINITY ? statistic[at] : most + log(sum);
        for (size_t d = 0; index[e] >= 0 && most > -INFINITY && d < DIM; d++)
            out[(b * tokens + (size_t)index[e]) * stride + h * DIM + d] +=
                exp(statistic[at] - most) / sum * y[((b * own + r) * HEADS + h) * DIM + d];
    }
    const mgk_parts parts = {
        SAMPLES, HEADS, tokens, DIM, GROUPS, rows, upload_ids(space, lines * own, index)};
    void *statistic_ = upload(space, lines * own, statistic);
    void *out_ = zeros(space, SAMPLES * tokens * stride);
    assert_ok(dense(space)->merge_parts(space->device, &parts, statistic_, upload(space, count, y),
                                        out_, stride));
    /* A single statistic of 1000 has an error of 3e-5, and so has a weight. */
    const double *found = download(space, lines * own, statistic_);
    const double tolerance = space->device->precision == MGK_DOUBLE ? 1e-12 : 2e-4;
    for (size_t e = 0; e < lines * own; e++)
        assert_true(found[e] == merged[e] || fabs(found[e] - merged[e]) <= tolerance);
    assert_rows_close(SAMPLES * tokens, stride, download(space, SAMPLES * tokens * stride, out_),
                      out, tolerance);
}

int main(void)
{
    check checks[] = {
        {.name = "unit_tokens", .run = unit_tokens},
        {.name = "weigh_groups", .run = weigh_groups},
        {.name = "group_mask", .run = group_mask},
        {.name = "merge_parts", .run = merge_parts},
    };
    return run_checks(MGK_SINGLE, MGK_DOUBLE, sizeof checks / sizeof *checks, checks);
}
