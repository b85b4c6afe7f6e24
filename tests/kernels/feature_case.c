/* SPDX-License-Identifier: MIT */
#include "feature_case.h"

#include <string.h>

const map_row feature_maps[FEATURE_MAPS] = {
    {"elu", {.map = MGK_FEATURES_ELU}},
    {"positive", {.map = MGK_FEATURES_POSITIVE, .omega_rows = 1}},
    {"hyperbolic", {.map = MGK_FEATURES_HYPERBOLIC, .omega_rows = 1}},
    {"trigonometric", {.map = MGK_FEATURES_TRIGONOMETRIC, .omega_rows = 1}},
    {"sphere", {.map = MGK_FEATURES_SPHERE, .omega_rows = 1}},
    {"sphere, scaled",
     {.map = MGK_FEATURES_SPHERE, .omega_rows = 1, .input_scale = 0.5, .epsilon = 0.25}},
    {"relu",
     {.map = MGK_FEATURES_KERNEL, .function = MGK_FEATURE_RELU, .omega_rows = 1, .epsilon = 1e-3}},
    {"relu of the vector itself",
     {.map = MGK_FEATURES_KERNEL, .function = MGK_FEATURE_RELU, .epsilon = 1e-3}},
    {"sigmoid", {.map = MGK_FEATURES_KERNEL, .function = MGK_FEATURE_SIGMOID, .omega_rows = 1}},
    {"exp",
     {.map = MGK_FEATURES_KERNEL,
      .function = MGK_FEATURE_EXP,
      .omega_rows = 1,
      .input_scale = 0.5,
      .epsilon = 1e-3}},
    {"abs", {.map = MGK_FEATURES_KERNEL, .function = MGK_FEATURE_ABS, .omega_rows = 1}},
    {"gelu",
     {.map = MGK_FEATURES_KERNEL, .function = MGK_FEATURE_GELU, .omega_rows = 1, .epsilon = 0.5}},
    {"cos", {.map = MGK_FEATURES_KERNEL, .function = MGK_FEATURE_COS, .omega_rows = 1}},
    {"tanh",
     {.map = MGK_FEATURES_KERNEL, .function = MGK_FEATURE_TANH, .omega_rows = 1, .epsilon = 0.5}},
    {"identity", {.map = MGK_FEATURES_KERNEL, .function = MGK_FEATURE_IDENTITY, .epsilon = 1}},
    {"cosine", {.map = MGK_FEATURES_COSINE, .horizon = 107}},
    {"dpfp", {.map = MGK_FEATURES_DPFP, .rolls = 3}},
    {"dpfp of unit sum", {.map = MGK_FEATURES_DPFP, .rolls = 2, .unit_sum = true}},
};

feature_case feature_make(workspace *space, const map_row *row, int tokens, int dim,
                          size_t omega_rows)
{
    feature_case p = {.name = row->name,
                      .tokens = tokens,
                      .dim = dim,
                      .features = row->features,
                      .stride = (size_t)(HEADS * dim) + GAP,
                      .gate_stride = HEADS + 1,
                      .lengths = {(int32_t)tokens, (int32_t)((2 * tokens + 2) / 3)}};
    const size_t rows = (size_t)(SAMPLES * tokens);
    for (int k = 0; k < ARRAYS; k++) {
        p.count[k] = rows * (k == GATE ? p.gate_stride : p.stride);
        p.host[k] = random_values(space, p.count[k]);
    }
    for (size_t i = 0; i < p.count[GATE]; i++)
        p.host[GATE][i] = (double)(float)(1 / (1 + exp(-1 - p.host[GATE][i])));
    if (p.features.omega_rows > 0) {
        p.features.omega_rows = omega_rows;
        p.features.omega_stride = (size_t)dim + 1;
        p.features.omega_head_stride = omega_rows * p.features.omega_stride;
        p.omega = random_values(space, HEADS * p.features.omega_head_stride);
        p.features.omega = p.omega;
        /* Signed features: kernels that are far from 0, so that sums of rows are, too. */
        for (size_t i = 0;
             mgk_features_signed(&p.features) && i < HEADS * p.features.omega_head_stride; i++)
            p.omega[i] *= 0.25;
    }
    return p;
}

static double function_value(mgk_feature_function f, double u)
{
    switch (f) {
    case MGK_FEATURE_RELU:
        return fmax(u, 0);
    case MGK_FEATURE_SIGMOID:
        return 1 / (1 + exp(-u));
    case MGK_FEATURE_EXP:
        return exp(u);
    case MGK_FEATURE_ABS:
        return fabs(u);
    case MGK_FEATURE_GELU:
        return u * 0.5 * erfc(-u / sqrt(2));
    case MGK_FEATURE_COS:
        return cos(u);
    case MGK_FEATURE_TANH:
        return tanh(u);
    case MGK_FEATURE_IDENTITY:
        break;
    }
    return u;
}

static void dpfp(const feature_case *p, const double *x, double *phi)
{
    const int width = 2 * p->dim, rolls = p->features.rolls;
    double y[256], sum = 0;
    for (int d = 0; d < p->dim; d++) {
        y[d] = fmax(x[d], 0);
        y[p->dim + d] = fmax(-x[d], 0);
    }
    for (int r = 1; r <= rolls; r++)
        for (int e = 0; e < width; e++)
            sum += phi[(r - 1) * width + e] = y[e] * y[(e - r + rolls * width) % width];
    for (int e = 0; p->features.unit_sum && sum > 0 && e < width * rolls; e++)
        phi[e] /= sum;
}

/* w_r·(scale x) */
static double projection(const feature_case *p, int head, size_t r, const double *x, double scale)
{
    const double *w =
        p->omega + (size_t)head * p->features.omega_head_stride + r * p->features.omega_stride;
    double sum = 0;
    for (int d = 0; d < p->dim; d++)
        sum += w[d] * scale * x[d];
    return sum;
}

void feature_reference(const feature_case *p, int head, int position, const double *x, double *phi)
{
    const mgk_features *f = &p->features;
    const size_t m = f->omega_rows;
    const bool exponential =
        f->map >= MGK_FEATURES_POSITIVE && f->map <= MGK_FEATURES_TRIGONOMETRIC;
    double scale = f->input_scale > 0 ? f->input_scale : exponential ? pow(p->dim, -0.25) : 1;
    double square = 0, angle = 1.57079632679489661923 * position / f->horizon;
    for (int d = 0; d < p->dim; d++)
        square += scale * scale * x[d] * x[d];
    if (f->map == MGK_FEATURES_SPHERE)
        scale /= sqrt(square) + f->epsilon;
    if (f->map == MGK_FEATURES_DPFP)
        dpfp(p, x, phi);
    for (int d = 0; f->map == MGK_FEATURES_COSINE && d < p->dim; d++) {
        phi[d] = fmax(x[d], 0) * cos(angle);
        phi[p->dim + d] = fmax(x[d], 0) * sin(angle);
    }
    for (int d = 0; f->map == MGK_FEATURES_ELU && d < p->dim; d++)
        phi[d] = x[d] > 0 ? x[d] + 1 : exp(x[d]);
    for (int d = 0; f->map == MGK_FEATURES_KERNEL && m == 0 && d < p->dim; d++)
        phi[d] = function_value(f->function, scale * x[d]) + f->epsilon;
    for (size_t r = 0; r < m; r++) {
        const double u = projection(p, head, r, x, scale), root = sqrt((double)m);
        if (f->map == MGK_FEATURES_POSITIVE)
            phi[r] = exp(u - square / 2) / root;
        if (f->map == MGK_FEATURES_HYPERBOLIC) {
            phi[r] = exp(u - square / 2) / sqrt(2.0 * (double)m);
            phi[m + r] = exp(-u - square / 2) / sqrt(2.0 * (double)m);
        }
        if (f->map == MGK_FEATURES_TRIGONOMETRIC || f->map == MGK_FEATURES_SPHERE) {
            const double weight = f->map == MGK_FEATURES_SPHERE ? 1 : exp(square / 2);
            phi[r] = weight * sin(u) / root;
            phi[m + r] = weight * cos(u) / root;
        }
        if (f->map == MGK_FEATURES_KERNEL)
            phi[r] = function_value(f->function, u) + f->epsilon;
    }
}

/* Adds epsilon exp(m) / √R to the features of one side, POSITIVE: m of each token, or of all. */
static void add_offsets(const feature_case *p, int sample, int head, int side, double *phi)
{
    const size_t rows = p->features.omega_rows, n = (size_t)p->lengths[sample];
    double most = -INFINITY, largest[128];
    for (size_t t = 0; t < n; t++) {
        const double *x =
            p->host[side] + ((size_t)(sample * p->tokens) + t) * p->stride + head * p->dim;
        largest[t] = -INFINITY;
        for (size_t r = 0; r < rows; r++)
            largest[t] = fmax(largest[t], projection(p, head, r, x, pow(p->dim, -0.25)));
        most = fmax(most, largest[t]);
    }
    for (size_t k = 0; k < n * rows; k++)
        phi[k] +=
            p->features.epsilon * exp(side == KEY ? most : largest[k / rows]) / sqrt((double)rows);
}

/* scores and attention [N, N] of one head; condition [N] = Σ |s_ij| / Z_i of each row. */
static void reference_matrix(workspace *space, const feature_case *p, int sample, int head,
                             double *scores, double *attention, double *condition)
{
    const size_t n = (size_t)p->tokens, features = mgk_feature_count(&p->features, (size_t)p->dim);
    const size_t valid = (size_t)p->lengths[sample], base = (size_t)sample * n;
    double *phi[2] = {host_array(space, n * features), host_array(space, n * features)};
    for (int side = 0; side < 2; side++)
        for (size_t t = 0; t < valid; t++)
            feature_reference(p, head, (int)t,
                              p->host[side] + (base + t) * p->stride + head * p->dim,
                              phi[side] + t * features);
    for (int side = 0; p->features.map == MGK_FEATURES_POSITIVE && side < 2; side++)
        add_offsets(p, sample, head, side, phi[side]);
    for (size_t i = 0; i < valid; i++) {
        double sum = 0, sizes = 0, decay = 1;
        for (size_t j = p->causal ? i + 1 : valid; j-- > 0;) {
            double s = 0, size = 0;
            for (size_t r = 0; r < features; r++) {
                s += phi[QUERY][i * features + r] * phi[KEY][j * features + r];
                size += fabs(phi[QUERY][i * features + r] * phi[KEY][j * features + r]);
            }
            const double gate = p->host[GATE][(base + j) * p->gate_stride + (size_t)head];
            const double weight = p->gated ? (1 - gate) * decay : 1;
            decay *= gate;
            sum += scores[i * n + j] = weight * s;
            sizes += weight * size;
        }
        double divisor = p->fixed_normalizer > 0 ? p->fixed_normalizer : sum + p->epsilon;
        if (p->least_sum > 0 && divisor < p->least_sum)
            divisor = p->least_sum;
        const bool blank = divisor == 0, uniform = blank && !mgk_features_sparse(&p->features) &&
                                                   !mgk_features_signed(&p->features);
        condition[i] = blank ? 1 : sizes / fabs(divisor);
        for (size_t j = 0; j < n; j++)
            attention[i * n + j] = blank ? 0 : scores[i * n + j] / divisor;
        for (size_t j = 0, visible = p->causal ? i + 1 : valid; uniform && j < n; j++)
            attention[i * n + j] = j < visible ? 1 / (double)visible : 0;
    }
}

placed feature_place(workspace *space, const feature_case *p)
{
    placed out = {.linear = {.features = p->features,
                             .normalizer_epsilon = p->epsilon,
                             .fixed_normalizer = p->fixed_normalizer,
                             .least_sum = p->least_sum}};
    out.view = (mgk_attention_view){.samples = SAMPLES,
                                    .heads = HEADS,
                                    .tokens = p->tokens,
                                    .dim = p->dim,
                                    .mixtures = 1,
                                    .causal = p->causal,
                                    .lengths = upload_bytes(space, sizeof p->lengths, p->lengths),
                                    .query = upload(space, p->count[QUERY], p->host[QUERY]),
                                    .key = upload(space, p->count[KEY], p->host[KEY]),
                                    .value = upload(space, p->count[VALUE], p->host[VALUE]),
                                    .query_stride = p->stride,
                                    .key_stride = p->stride,
                                    .value_stride = p->stride};
    if (p->omega)
        out.linear.features.omega = upload(space, HEADS * p->features.omega_head_stride, p->omega);
    if (p->gated) {
        out.linear.gate = upload(space, p->count[GATE], p->host[GATE]);
        out.linear.gate_stride = p->gate_stride;
    }
    out.output = upload(space, p->count[OUTPUT], p->host[OUTPUT]);
    return out;
}

const double *feature_output(workspace *space, const feature_case *p)
{
    placed on = feature_place(space, p);
    assert_ok(space->device->op->linear_attention(space->device, &on.view, &on.linear, on.output,
                                                  p->stride));
    return download(space, p->count[OUTPUT], on.output);
}

void feature_differentiate(workspace *space, const feature_case *p, const double *weight,
                           double *result[GATE + 1])
{
    placed on = feature_place(space, p);
    void *gradient[GATE + 1];
    assert_ok(space->device->op->linear_attention(space->device, &on.view, &on.linear, on.output,
                                                  p->stride));
    for (int k = 0; k <= GATE; k++)
        gradient[k] = upload(space, p->count[k], p->host[k]); /* is overwritten */
    const mgk_attention_gradient into = {.query = gradient[QUERY],
                                         .key = gradient[KEY],
                                         .value = gradient[VALUE],
                                         .gate = gradient[GATE]};
    assert_ok(space->device->op->linear_attention_backward(
        space->device, &on.view, &on.linear, on.output, upload(space, p->count[OUTPUT], weight),
        p->stride, &into));
    for (int k = 0; k <= GATE; k++)
        result[k] = download(space, p->count[k], gradient[k]);
}

/* |actual − expected| of a row of the matrix or the output, in roundings of the sum behind it. */
static void assert_row(const feature_case *p, const char *what, size_t i, size_t count,
                       const double *actual, const double *expected, double tolerance)
{
    for (size_t c = 0; c < count; c++)
        if (!isfinite(actual[c]) || !(fabs(actual[c] - expected[c]) <= tolerance))
            fail_msg("%s, %s: N %d causal %d gated %d [%zu, %zu]: %.17g, expected %.17g", p->name,
                     what, p->tokens, p->causal, p->gated, i, c, actual[c], expected[c]);
}

static void check_output(workspace *space, const feature_case *p, const double *output, int sample,
                         int head, const double *attention, const double *condition)
{
    const size_t n = (size_t)p->tokens, valid = (size_t)p->lengths[sample];
    double *row = host_array(space, (size_t)p->dim);
    for (size_t i = 0; i < n; i++) {
        double largest = 0;
        for (int d = 0; d < p->dim; d++)
            row[d] = 0;
        for (size_t j = 0; j < valid; j++)
            for (int d = 0; d < p->dim; d++) {
                const size_t at =
                    ((size_t)sample * n + j) * p->stride + (size_t)(head * p->dim + d);
                row[d] += attention[i * n + j] * p->host[VALUE][at];
                largest = fmax(largest, fabs(p->host[VALUE][at]));
            }
        const double error = space->tolerance * fmax(1, condition[i] * condition[i]) * largest;
        assert_row(p, "output", i, (size_t)p->dim,
                   output + ((size_t)sample * n + i) * p->stride + head * p->dim, row, error);
    }
}

static void check_factors(workspace *space, const feature_case *p, const placed *on, int sample,
                          int32_t head, const double *attention, const double *condition)
{
    const size_t n = (size_t)p->tokens;
    const size_t depth = mgk_feature_count(&p->features, (size_t)p->dim) + 1;
    void *left = upload(space, n * depth, host_array(space, n * depth));
    void *right = upload(space, n * depth, host_array(space, n * depth));
    double *product = host_array(space, n);
    assert_ok(space->device->op->linear_factors(space->device, &on->view, &on->linear, sample,
                                                &head, 1, left, right));
    const double *l = download(space, n * depth, left), *r = download(space, n * depth, right);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            product[j] = 0;
            for (size_t d = 0; d < depth; d++)
                product[j] += l[i * depth + d] * r[j * depth + d];
        }
        assert_row(p, "factors", i, n, product, attention + i * n,
                   space->tolerance * fmax(1, condition[i] * condition[i]));
    }
}

void feature_compare(workspace *space, const feature_case *p)
{
    const size_t n = (size_t)p->tokens;
    const double *output = feature_output(space, p);
    for (int which = 0; which < SAMPLES * HEADS; which++) {
        const int sample = which / HEADS;
        const int32_t head = which % HEADS;
        if (p->tokens > 33 && sample == head) /* two of the four */
            continue;
        double *scores = host_array(space, n * n), *attention = host_array(space, n * n);
        double *condition = host_array(space, n);
        void *matrix = upload(space, n * n, host_array(space, n * n));
        const placed on = feature_place(space, p);
        reference_matrix(space, p, sample, head, scores, attention, condition);
        assert_ok(space->device->op->linear_matrix(space->device, &on.view, &on.linear,
                                                   MGK_MATRIX_ATTENTION, sample, 1, &head, 1,
                                                   matrix));
        const double *actual = download(space, n * n, matrix);
        for (size_t i = 0; i < n; i++)
            assert_row(p, "matrix", i, n, actual + i * n, attention + i * n,
                       space->tolerance * fmax(1, condition[i] * condition[i]));
        assert_ok(space->device->op->linear_matrix(space->device, &on.view, &on.linear,
                                                   MGK_MATRIX_SCORES, sample, 1, &head, 1, matrix));
        actual = download(space, n * n, matrix);
        for (size_t i = 0; i < n; i++) {
            double largest = 1;
            for (size_t j = 0; j < n; j++)
                largest = fmax(largest, fabs(scores[i * n + j]));
            assert_row(p, "scores", i, n, actual + i * n, scores + i * n,
                       4 * space->tolerance * largest);
        }
        check_output(space, p, output, sample, head, attention, condition);
        if (!p->causal)
            check_factors(space, p, &on, sample, head, attention, condition);
    }
    workspace_release(space);
}

static double loss(workspace *space, const feature_case *p, const double *weight)
{
    const double *output = feature_output(space, p);
    double sum = 0;
    for (int b = 0; b < SAMPLES; b++)
        for (int t = 0; t < p->tokens; t++)
            for (int c = 0; c < HEADS * p->dim; c++) {
                const size_t at = (size_t)(b * p->tokens + t) * p->stride + (size_t)c;
                sum += weight[at] * output[at];
            }
    return sum;
}

bool feature_counts(const feature_case *p, int array, size_t at)
{
    return array == GATE ? at % p->gate_stride < HEADS : at % p->stride < (size_t)(HEADS * p->dim);
}

void feature_compare_gradient(workspace *space, feature_case *p)
{
    const double step = 1e-7; /* small: a relu that changes sign on the way has no derivative */
    const double *weight = random_values(space, p->count[OUTPUT]);
    double *gradient[GATE + 1];
    feature_differentiate(space, p, weight, gradient);
    for (int k = 0; k < (p->gated ? GATE + 1 : GATE); k++) {
        const double *direction = random_values(space, p->count[k]);
        double *values = p->host[k], *moved = host_array(space, p->count[k]);
        double expected = 0, size = 0, ends[2];
        for (size_t at = 0; at < p->count[k]; at++)
            if (feature_counts(p, k, at)) {
                expected += gradient[k][at] * direction[at];
                size += fabs(gradient[k][at] * direction[at]);
            }
        p->host[k] = moved;
        for (int end = 0; end < 2; end++) {
            for (size_t at = 0; at < p->count[k]; at++)
                moved[at] = values[at] + (end ? step : -step) * direction[at];
            ends[end] = loss(space, p, weight);
        }
        p->host[k] = values;
        const double difference = (ends[1] - ends[0]) / (2 * step);
        assert_true(size > 0 || p->tokens == 1);
        if (!isfinite(expected) || !(fabs(difference - expected) <= 1e-6 * size + 1e-7))
            fail_msg("%s, array %d: N %d D %d causal %d gated %d: %.10g, difference %.10g", p->name,
                     k, p->tokens, p->dim, p->causal, p->gated, expected, difference);
    }
}
