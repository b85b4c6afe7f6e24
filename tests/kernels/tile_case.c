/* SPDX-License-Identifier: MIT */
#include "tile_case.h"

enum { B = TILE_SAMPLES, H = TILE_HEADS, TILE = MGK_PATTERN_TILE };

static int keys_of(const tile_shape *shape)
{
    return shape->keys > 0 ? shape->keys : shape->queries;
}

/* T of the bias by distance: one more than is needed. */
static size_t bias_tokens(const tile_shape *shape)
{
    int keys = keys_of(shape);
    return (size_t)(keys > shape->queries ? keys : shape->queries) + 1;
}

static size_t variant_of(const tile_shape *shape, int sample, int head)
{
    size_t heads = shape->by_head ? H : 1;
    return (shape->by_sample ? (size_t)sample * heads : 0) + (shape->by_head ? (size_t)head : 0);
}

static bool variant_sees(size_t variant, int i, int j)
{
    const uint64_t stream = 1000 + variant, row = (uint64_t)i, key = (uint64_t)j;
    if (mgk_random_below(2, stream, row, 8) == 0)
        return false;
    /* A third of the tiles is missing, a third is full, a third has half of its pairs. */
    const uint64_t fill = mgk_random_below(3, stream, row / TILE << 16 | key / TILE, 3);
    return fill == 1 || (fill == 2 && mgk_random_below(4, stream, row << 16 | key, 2) == 1);
}

bool tile_case_sees(const tile_shape *shape, int sample, int head, int i, int j)
{
    return !shape->pattern || variant_sees(variant_of(shape, sample, head), i, j);
}

/* Adds the keys of a row from the last to the first, every third twice. */
static void rule(const void *context, int head, int query, mgk_pattern_row *row)
{
    for (int j = *(const int *)context; j-- > 0;)
        for (int again = 0; again < 1 + (j % 3 == 0) && variant_sees((size_t)head, query, j);
             again++)
            mgk_pattern_add_key(row, j);
}

static void make_pattern(workspace *space, tile_case *problem)
{
    const tile_shape *shape = &problem->shape;
    const int keys = keys_of(shape);
    const size_t heads = shape->by_head ? H : 1, samples = shape->by_sample ? B : 1;
    const size_t stride = (size_t)(shape->queries + TILE - 1) / TILE + 1;
    const mgk_pattern_shape sizes = {(int)(heads * samples), shape->queries, keys, false};
    assert_ok(mgk_pattern_build(&sizes, rule, &keys, &problem->pattern));
    problem->pattern.head_stride = shape->by_head ? stride : 0;
    problem->pattern.sample_stride = shape->by_sample ? heads * stride : 0;
    problem->tiles = (size_t)problem->pattern.starts[heads * samples * stride - 1];
    if (shape->tile_logits)
        problem->tile_logits = random_values(space, problem->tiles * TILE * TILE);
}

static void set_lengths(tile_case *problem)
{
    const int n = problem->shape.queries, keys = keys_of(&problem->shape);
    for (int b = 0; b < B; b++) {
        bool half = problem->shape.ragged && b == 1, none = problem->shape.ragged && b == 2;
        problem->lengths[b] = half ? (n + 1) / 2 : none ? 0 : n;
        problem->key_lengths[b] = half ? (keys + 1) / 2 : none ? 0 : keys;
    }
}

tile_case tile_case_make(workspace *space, tile_shape shape)
{
    if (shape.mixtures == 0)
        shape.mixtures = 1;
    tile_case out = {.shape = shape};
    const size_t n = (size_t)shape.queries, keys = (size_t)keys_of(&shape);
    const size_t dim = (size_t)shape.dim, mixtures = (size_t)shape.mixtures;
    const size_t value_dim = shape.value_dim > 0 ? (size_t)shape.value_dim : dim;
    const size_t variants = (size_t)((shape.full_by_sample ? B : 1) * (shape.full_by_head ? H : 1));
    out.count[TILE_QUERY] = B * n * H * dim;
    out.count[TILE_KEY] = B * keys * mixtures * H * dim;
    out.count[TILE_VALUE] = B * keys * H * value_dim;
    out.count[TILE_PRIOR] = shape.prior ? H * mixtures * keys : 0;
    out.count[TILE_BIAS] = shape.bias ? H * (2 * bias_tokens(&shape) - 1) : 0;
    out.count[TILE_FULL] = shape.full ? variants * n * keys : 0;
    for (int k = 0; k < TILE_INPUTS; k++)
        out.input[k] = random_values(space, out.count[k]);
    for (size_t i = 0; i < out.count[TILE_PRIOR]; i++)
        out.input[TILE_PRIOR][i] = i % keys < (keys + 1) / 2 ? 0.125 * (double)(1 + i % 7) : 0;
    out.outputs = B * n * H * value_dim;
    out.rows = B * H * n;
    out.matrix = n * keys;
    set_lengths(&out);
    if (shape.pattern)
        make_pattern(space, &out);
    return out;
}

void tile_case_release(tile_case *problem)
{
    mgk_pattern_release(&problem->pattern);
}

static double scale_of(const tile_shape *shape, int component)
{
    return shape->dim == 0 ? 1 : 1 / sqrt(shape->dim) + (shape->gaussian ? 0.25 * component : 0);
}

static bool sees(const tile_case *problem, int b, int h, int i, int j)
{
    const tile_shape *shape = &problem->shape;
    return j < problem->key_lengths[b] && (!shape->causal || j <= i) &&
           (shape->window == 0 || abs(i - j) < shape->window) && tile_case_sees(shape, b, h, i, j);
}

/* The logit that the pattern's tile has for a pair that is seen. */
static double tile_logit(const tile_case *problem, int b, int h, int i, int j)
{
    const mgk_pattern *pattern = &problem->pattern;
    if (!problem->tile_logits)
        return 0;
    int32_t t = pattern->starts[(size_t)b * pattern->sample_stride +
                                (size_t)h * pattern->head_stride + (size_t)(i / TILE)];
    while (pattern->columns[t] != j / TILE)
        t++;
    return problem->tile_logits[(t * TILE + i % TILE) * TILE + j % TILE];
}

static double logit(const tile_case *problem, int b, int h, int i, int j, int r)
{
    const tile_shape *shape = &problem->shape;
    const size_t n = (size_t)shape->queries, keys = (size_t)keys_of(shape);
    const size_t dim = (size_t)shape->dim, tokens = bias_tokens(shape);
    const size_t row = (size_t)i, col = (size_t)j, sample = (size_t)b, head = (size_t)h;
    const size_t component = (size_t)r, mixtures = (size_t)shape->mixtures;
    const double *q = problem->input[TILE_QUERY] + ((sample * n + row) * H + head) * dim;
    const double *k = problem->input[TILE_KEY] +
                      (((sample * keys + col) * mixtures + component) * H + head) * dim;
    double x = 0;
    for (size_t d = 0; d < dim; d++)
        x += shape->gaussian ? -0.5 * (q[d] - k[d]) * (q[d] - k[d]) : q[d] * k[d];
    x *= scale_of(shape, r);
    if (shape->prior)
        x += log(fmin(1, problem->input[TILE_PRIOR][(head * mixtures + component) * keys + col]));
    if (shape->cap > 0)
        x = shape->cap * tanh(x / shape->cap);
    if (shape->bias)
        x += problem->input[TILE_BIAS]
                           [head * (2 * tokens - 1) + tokens - 1 + col - (shape->by_key ? 0 : row)];
    if (shape->full) {
        size_t variant = (shape->full_by_sample ? sample * (shape->full_by_head ? H : 1) : 0) +
                         (shape->full_by_head ? head : 0);
        x += problem->input[TILE_FULL][(variant * n + row) * keys + col];
    }
    return x + tile_logit(problem, b, h, i, j);
}

static double score(const tile_case *problem, int b, int h, int i, int j)
{
    double sum = 0, most = 0;
    for (int r = 0; r < problem->shape.mixtures; r++) {
        double s = exp(logit(problem, b, h, i, j, r));
        sum += s;
        most = fmax(most, s);
    }
    return problem->shape.hard ? most : sum;
}

/* Row i of the matrices. */
static void define_row(const tile_case *problem, int b, int h, int i, double *scores,
                       double *attention)
{
    const tile_shape *shape = &problem->shape;
    const int keys = keys_of(shape);
    double sum = shape->epsilon;
    int visible = 0;
    for (int j = 0; j < keys; j++)
        if (sees(problem, b, h, i, j)) {
            visible++;
            sum += scores[j] = score(problem, b, h, i, j);
        }
    for (int j = 0; j < keys; j++) {
        if (!sees(problem, b, h, i, j))
            continue;
        attention[j] = shape->unnormalized ? scores[j] : sum > 0 ? scores[j] / sum : 1.0 / visible;
    }
}

void tile_case_reference(const tile_case *problem, double *scores, double *attention,
                         double *output)
{
    const tile_shape *shape = &problem->shape;
    const size_t n = (size_t)shape->queries, keys = (size_t)keys_of(shape);
    const size_t value_dim = problem->outputs / (B * n * H);
    for (size_t b = 0; b < B; b++)
        for (size_t h = 0; h < H; h++)
            for (size_t i = 0; i < (size_t)problem->lengths[b]; i++) {
                const size_t at = ((b * H + h) * n + i) * keys;
                double *out = output + ((b * n + i) * H + h) * value_dim;
                define_row(problem, (int)b, (int)h, (int)i, scores + at, attention + at);
                for (size_t j = 0; j < keys; j++)
                    for (size_t d = 0; d < value_dim; d++)
                        out[d] +=
                            attention[at + j] *
                            problem->input[TILE_VALUE][((b * keys + j) * H + h) * value_dim + d];
            }
}

void tile_case_reference_prior(const tile_case *problem, double *prior)
{
    const tile_shape *shape = &problem->shape;
    const int keys = keys_of(shape);
    for (int h = 0; h < H; h++)
        for (int r = 0; r < shape->mixtures; r++)
            for (int j = 0; j < keys; j++) {
                const size_t at = (size_t)((h * shape->mixtures + r) * keys + j);
                double sum = 0, count = 0;
                for (int b = 0; b < B; b++)
                    for (int i = 0; i < problem->lengths[b]; i++) {
                        double all = sees(problem, b, h, i, j) ? score(problem, b, h, i, j) : 0;
                        count += all > 0;
                        sum += all > 0 ? exp(logit(problem, b, h, i, j, r)) / all : 0;
                    }
                prior[at] = count > 0 ? sum / count : problem->input[TILE_PRIOR][at];
            }
}

static void upload_inputs(workspace *space, const tile_case *problem, void *input[TILE_INPUTS])
{
    for (int k = 0; k < TILE_INPUTS; k++)
        input[k] =
            problem->count[k] > 0 ? upload(space, problem->count[k], problem->input[k]) : NULL;
}

void tile_case_upload(workspace *space, const tile_case *problem, mgk_attention_view *view,
                      mgk_mixture *mixture, mgk_pattern *pattern)
{
    const tile_shape *shape = &problem->shape;
    const size_t keys = (size_t)keys_of(shape), mixtures = (size_t)shape->mixtures;
    const size_t value_dim = problem->outputs / (B * (size_t)shape->queries * H);
    void *input[TILE_INPUTS];
    upload_inputs(space, problem, input);
    *view = (mgk_attention_view){
        .samples = B,
        .heads = H,
        .tokens = shape->queries,
        .key_tokens = shape->keys,
        .dim = shape->dim,
        .value_dim = shape->value_dim,
        .mixtures = shape->mixtures,
        .causal = shape->causal,
        .lengths = upload_bytes(space, sizeof problem->lengths, problem->lengths),
        .key_lengths = upload_bytes(space, sizeof problem->key_lengths, problem->key_lengths),
        .query = input[TILE_QUERY],
        .key = input[TILE_KEY],
        .value = input[TILE_VALUE],
        .query_stride = (size_t)(H * shape->dim),
        .key_stride = mixtures * H * (size_t)shape->dim,
        .value_stride = H * value_dim};
    *mixture = (mgk_mixture){
        .gaussian = shape->gaussian,
        .hard = shape->hard,
        .unnormalized = shape->unnormalized,
        .normalizer_epsilon = shape->epsilon,
        .terms = {.window = shape->window,
                  .cap = shape->cap,
                  .bias = input[TILE_BIAS],
                  .bias_tokens = bias_tokens(shape),
                  .bias_by_key = shape->by_key,
                  .full = input[TILE_FULL],
                  .full_sample_stride =
                      shape->full_by_sample ? problem->matrix * (shape->full_by_head ? H : 1) : 0,
                  .full_head_stride = shape->full_by_head ? problem->matrix : 0}};
    for (int r = 0; r < shape->mixtures; r++)
        mixture->scale[r] = scale_of(shape, r);
    if (shape->prior)
        mixture->prior = (mgk_prior_view){input[TILE_PRIOR], mixtures * keys, keys, 1,
                                          problem->count[TILE_PRIOR]};
    *pattern = problem->pattern;
    if (problem->tile_logits)
        pattern->logits = upload(space, problem->tiles * TILE * TILE, problem->tile_logits);
    if (shape->pattern)
        mixture->pattern = pattern;
}
