/* SPDX-License-Identifier: MIT */
#include "kernels/cpu/attention/features.h"

#include <string.h>
#include <tgmath.h>

#include "kernels/cpu/attention/feature_function.h"
#include "kernels/cpu/sincos.h"
#include "kernels/feature.h"

enum { CHUNK = MGK_LINEAR_CHUNK };

/* Rows of `projected`. */
static size_t projected_rows(const mgk_features *features, size_t dim)
{
    if (features->map == MGK_FEATURES_DPFP)
        return 2 * dim;
    return features->omega ? features->omega_rows : dim;
}

static bool projects(const mgk_features *features)
{
    return features->omega && features->map != MGK_FEATURES_COSINE &&
           features->map != MGK_FEATURES_DPFP && features->map != MGK_FEATURES_ELU;
}

/* Whether ‖x'‖² is in an exponent. */
static bool is_exponential(const mgk_features *features)
{
    return features->map == MGK_FEATURES_POSITIVE || features->map == MGK_FEATURES_HYPERBOLIC ||
           features->map == MGK_FEATURES_TRIGONOMETRIC;
}

size_t MGK_CPU(feature_scratch)(const mgk_features *features, size_t dim)
{
    size_t rows = mgk_tile_rows(projected_rows(features, dim));
    size_t omega = projects(features) ? rows * mgk_cpu_pitch(dim) : 0;
    return omega + (mgk_tile_rows(dim) + rows + 2) * CHUNK;
}

void MGK_CPU(feature_begin)(const mgk_features *features, size_t dim, size_t head, real *memory,
                            mgk_feature_work *out)
{
    mgk_feature_work work = {.features = features,
                             .dim = dim,
                             .rows = projected_rows(features, dim),
                             .shifts = is_exponential(features),
                             .pitch = mgk_cpu_pitch(dim),
                             .scale = 1};
    if (features->input_scale > 0)
        work.scale = (real)features->input_scale;
    else if (is_exponential(features))
        work.scale = (real)(1 / sqrt(sqrt((double)dim)));
    if (features->map == MGK_FEATURES_POSITIVE)
        work.offset = (real)features->epsilon;
    if (projects(features)) {
        const real *omega = (const real *)features->omega + head * features->omega_head_stride;
        work.omega = memory;
        memory += mgk_tile_rows(work.rows) * work.pitch;
        for (size_t r = 0; r < work.rows; r++)
            for (size_t d = 0; d < dim; d++)
                work.omega[r * work.pitch + d] = work.scale * omega[r * features->omega_stride + d];
    }
    work.input = memory;
    work.projected = work.input + mgk_tile_rows(dim) * CHUNK;
    work.norm = work.projected + mgk_tile_rows(work.rows) * CHUNK;
    work.top = work.norm + CHUNK;
    *out = work;
}

/* out [CHUNK] = Σ_r a_r b_r over rows [rows, CHUNK]. */
static void dot_columns(size_t rows, const real *restrict a, const real *restrict b, real *out)
{
    real sum[MGK_LINEAR_CHUNK] = {0};
    for (size_t r = 0; r < rows; r++)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++)
            sum[i] += a[r * CHUNK + i] * b[r * CHUNK + i];
    memcpy(out, sum, sizeof sum);
}

/* y = [relu(x), relu(−x)], and the sum of all products y_e y_(e − r) in `norm`. */
static void split_signs(mgk_feature_work *work)
{
    const size_t half = work->dim * CHUNK, width = 2 * work->dim;
    const real *x = work->input;
    real *y = work->projected;
#pragma omp simd
    for (size_t k = 0; k < half; k++) {
        real positive = x[k] < 0 ? 0 : x[k], negative = x[k] < 0 ? -x[k] : 0; /* keeps NaN */
        y[k] = positive;
        y[half + k] = negative;
    }
    memset(work->norm, 0, CHUNK * sizeof(real));
    if (!work->features->unit_sum)
        return;
    for (size_t roll = 1; roll <= (size_t)work->features->rolls; roll++)
        for (size_t e = 0; e < width; e++) {
            const real *a = y + e * CHUNK, *b = y + (e + width - roll % width) % width * CHUNK;
#pragma omp simd
            for (size_t i = 0; i < CHUNK; i++)
                work->norm[i] += a[i] * b[i];
        }
}

/* u = x / (‖x‖ + ε). */
static void to_sphere(mgk_feature_work *work)
{
    const real epsilon = (real)work->features->epsilon;
    real factor[MGK_LINEAR_CHUNK];
    dot_columns(work->dim, work->input, work->input, work->norm);
#pragma omp simd
    for (size_t i = 0; i < CHUNK; i++) {
        const real length = sqrt(work->norm[i]), divisor = length + epsilon / work->scale;
        work->norm[i] = length;
        factor[i] = divisor == 0 ? 0 : 1 / (divisor * work->scale);
    }
    for (size_t d = 0; d < work->dim; d++)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++)
            work->input[d * CHUNK + i] *= factor[i];
}

/* top = the largest of the signs · u_r, less ‖x'‖²/2. */
static void largest_exponent(mgk_feature_work *work, bool both_signs)
{
    real top[MGK_LINEAR_CHUNK];
    for (size_t i = 0; i < CHUNK; i++)
        top[i] = (real)-INFINITY;
    for (size_t r = 0; r < work->rows; r++)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++) {
            const real u = work->projected[r * CHUNK + i];
            const real size = both_signs && u < 0 ? -u : u;
            top[i] = size > top[i] ? size : top[i];
        }
#pragma omp simd
    for (size_t i = 0; i < CHUNK; i++)
        work->top[i] = top[i] - work->norm[i];
}

static void place_tokens(mgk_feature_work *work, size_t first)
{
    const double step = 1.5707963267948966 / work->features->horizon;
    for (size_t i = 0; i < CHUNK; i++) {
        work->norm[i] = (real)cos(step * (double)(first + i));
        work->top[i] = (real)sin(step * (double)(first + i));
    }
}

void MGK_CPU(feature_project)(mgk_feature_work *work, size_t first)
{
    const mgk_feature_kind map = work->features->map;
    if (map == MGK_FEATURES_DPFP)
        split_signs(work);
    if (map == MGK_FEATURES_COSINE)
        place_tokens(work, first);
    if (map == MGK_FEATURES_SPHERE)
        to_sphere(work);
    if (work->shifts) {
        const real half = (real)0.5 * work->scale * work->scale;
        dot_columns(work->dim, work->input, work->input, work->norm);
        for (size_t i = 0; i < CHUNK; i++)
            work->top[i] = work->norm[i] *= half;
    }
    if (work->omega)
        mgk_tile_multiply(mgk_tile_rows(work->rows), CHUNK, work->dim,
                          (mgk_tile_operand){work->omega, work->pitch, 1}, work->input, CHUNK, NULL,
                          0, work->projected, CHUNK);
    else if (map == MGK_FEATURES_KERNEL)
        for (size_t k = 0; k < work->dim * CHUNK; k++)
            work->projected[k] = work->scale * work->input[k];
    if (map == MGK_FEATURES_POSITIVE || map == MGK_FEATURES_HYPERBOLIC)
        largest_exponent(work, map == MGK_FEATURES_HYPERBOLIC);
}

/* feature = factor (exp(sign u − ‖x'‖²/2 − shift) + offset). */
static void exponentials(const mgk_feature_work *work, real sign, real factor, const real *shift,
                         real *restrict feature)
{
    const real *restrict u = work->projected;
    real less[MGK_LINEAR_CHUNK];
    for (size_t i = 0; i < CHUNK; i++)
        less[i] = work->norm[i] + shift[i];
    for (size_t r = 0; r < work->rows; r++)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++)
            feature[r * CHUNK + i] =
                factor * (mgk_exp(sign * u[r * CHUNK + i] - less[i]) + work->offset);
}

/* [sin u, cos u] factor, with exp(‖x'‖²/2 − shift) if the map has shifts. */
static void waves(const mgk_feature_work *work, const real *shift, real *feature)
{
    const size_t half = work->rows * CHUNK;
    const real factor = (real)(1 / sqrt((double)work->rows));
    real weight[MGK_LINEAR_CHUNK];
    for (size_t i = 0; i < CHUNK; i++)
        weight[i] = work->shifts ? factor * mgk_exp(work->norm[i] - shift[i]) : factor;
    mgk_sincos_row(half, work->projected, feature, feature + half);
    for (size_t r = 0; r < 2 * work->rows; r++)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++)
            feature[r * CHUNK + i] *= weight[i];
}

/* [relu(x) cos θ, relu(x) sin θ] */
static void cosine_features(const mgk_feature_work *work, real *feature)
{
    for (size_t d = 0; d < work->dim; d++) {
        real *first = feature + d * CHUNK, *second = first + work->dim * CHUNK;
        const real *x = work->input + d * CHUNK;
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++) {
            const real positive = x[i] < 0 ? 0 : x[i]; /* keeps NaN */
            first[i] = positive * work->norm[i];
            second[i] = positive * work->top[i];
        }
    }
}

static void cosine_gradient(const mgk_feature_work *work, const real *dfeature, real *dinput)
{
    for (size_t d = 0; d < work->dim; d++) {
        const real *first = dfeature + d * CHUNK, *second = first + work->dim * CHUNK;
        const real *x = work->input + d * CHUNK;
        real *dx = dinput + d * CHUNK;
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++) {
            const real slope = first[i] * work->norm[i] + second[i] * work->top[i];
            dx[i] = x[i] > 0 ? slope : 0;
        }
    }
}

/* factor [CHUNK]: 1 / sum of a token's features, 0 for 0; without unit_sum 1. */
static void dpfp_factors(const mgk_feature_work *work, real *factor)
{
    for (size_t i = 0; i < CHUNK; i++) {
        const real inverse = work->norm[i] == 0 ? 0 : 1 / work->norm[i];
        factor[i] = work->features->unit_sum ? inverse : 1;
    }
}

static void dpfp_features(const mgk_feature_work *work, real *feature)
{
    const size_t width = 2 * work->dim;
    const real *y = work->projected;
    real factor[MGK_LINEAR_CHUNK];
    dpfp_factors(work, factor);
    for (size_t roll = 1; roll <= (size_t)work->features->rolls; roll++)
        for (size_t e = 0; e < width; e++, feature += CHUNK) {
            const real *a = y + e * CHUNK, *b = y + (e + width - roll % width) % width * CHUNK;
#pragma omp simd
            for (size_t i = 0; i < CHUNK; i++)
                feature[i] = factor[i] * (a[i] * b[i]);
        }
}

/* The gradient of y, and from it that of x; a unit sum takes its share from every feature. */
static void dpfp_gradient(const mgk_feature_work *work, const real *feature, const real *dfeature,
                          real *dinput)
{
    const size_t width = 2 * work->dim, rolls = (size_t)work->features->rolls;
    const real *y = work->projected;
    real factor[MGK_LINEAR_CHUNK], share[MGK_LINEAR_CHUNK] = {0};
    dpfp_factors(work, factor);
    if (work->features->unit_sum)
        dot_columns(width * rolls, feature, dfeature, share);
    for (size_t e = 0; e < width; e++) {
        real dy[MGK_LINEAR_CHUNK] = {0};
        for (size_t roll = 1; roll <= rolls; roll++) {
            const size_t before = (e + width - roll % width) % width, after = (e + roll) % width;
            const real *own = dfeature + ((roll - 1) * width + e) * CHUNK;
            const real *other = dfeature + ((roll - 1) * width + after) * CHUNK;
#pragma omp simd
            for (size_t i = 0; i < CHUNK; i++)
                dy[i] += (own[i] - share[i]) * y[before * CHUNK + i] +
                         (other[i] - share[i]) * y[after * CHUNK + i];
        }
        const size_t d = e % work->dim * CHUNK;
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++) {
            const real x = work->input[d + i], slope = factor[i] * dy[i];
            if (e < work->dim)
                dinput[d + i] = x > 0 ? slope : 0;
            else
                dinput[d + i] -= x < 0 ? slope : 0;
        }
    }
}

static void elu_features(const mgk_feature_work *work, real *feature)
{
    const mgk_feature_scale scale = {0, 1};
#pragma omp simd
    for (size_t k = 0; k < work->dim * CHUNK; k++)
        feature[k] = mgk_feature(work->input[k], scale);
}

static void elu_gradient(const mgk_feature_work *work, const real *feature, const real *dfeature,
                         real *dinput)
{
    const mgk_feature_scale scale = {0, 1};
#pragma omp simd
    for (size_t k = 0; k < work->dim * CHUNK; k++)
        dinput[k] = dfeature[k] * mgk_feature_slope(feature[k], scale);
}

void MGK_CPU(feature_finish)(mgk_feature_work *work, const real *shift, real *feature)
{
    const double count = (double)mgk_feature_count(work->features, work->dim);
    const real factor = (real)(1 / sqrt(count));
    switch (work->features->map) {
    case MGK_FEATURES_POSITIVE:
        exponentials(work, 1, factor, shift, feature);
        break;
    case MGK_FEATURES_HYPERBOLIC:
        exponentials(work, 1, factor, shift, feature);
        exponentials(work, -1, factor, shift, feature + work->rows * CHUNK);
        break;
    case MGK_FEATURES_TRIGONOMETRIC:
    case MGK_FEATURES_SPHERE:
        waves(work, shift, feature);
        break;
    case MGK_FEATURES_KERNEL:
        MGK_CPU(feature_values)(work->features, work->rows * CHUNK, work->projected, feature);
        break;
    case MGK_FEATURES_COSINE:
        cosine_features(work, feature);
        break;
    case MGK_FEATURES_DPFP:
        dpfp_features(work, feature);
        break;
    case MGK_FEATURES_ELU:
        elu_features(work, feature);
        break;
    }
}

/* du in the first rows of dfeature; total [CHUNK] = the gradient of −‖x'‖²/2. */
static void exponential_gradient(const mgk_feature_work *work, const real *feature, real *dfeature,
                                 real *total)
{
    const size_t half = work->rows * CHUNK;
    const bool both = work->features->map == MGK_FEATURES_HYPERBOLIC;
    real sum[MGK_LINEAR_CHUNK] = {0};
    for (size_t r = 0; r < half; r += CHUNK)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++) {
            const real plus = dfeature[r + i] * feature[r + i];
            const real minus = both ? dfeature[half + r + i] * feature[half + r + i] : 0;
            dfeature[r + i] = plus - minus;
            sum[i] += plus + minus;
        }
    memcpy(total, sum, sizeof sum);
}

/* The same for [sin u, cos u], whose weight has exp(+‖x'‖²/2). */
static void wave_gradient(const mgk_feature_work *work, const real *feature, real *dfeature,
                          real *total)
{
    const size_t half = work->rows * CHUNK;
    real sum[MGK_LINEAR_CHUNK] = {0};
    for (size_t r = 0; r < half; r += CHUNK)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++) {
            const real sine = feature[r + i], cosine = feature[half + r + i];
            const real dsine = dfeature[r + i], dcosine = dfeature[half + r + i];
            sum[i] -= dsine * sine + dcosine * cosine;
            dfeature[r + i] = dsine * cosine - dcosine * sine;
        }
    memcpy(total, sum, sizeof sum);
}

/* dx = (du − u (u·du) (1 + ε/‖x‖)) / (‖x‖ + ε) for u = x / (‖x‖ + ε), in place. */
static void from_sphere(const mgk_feature_work *work, real *dinput)
{
    const real epsilon = (real)work->features->epsilon / work->scale;
    real dot[MGK_LINEAR_CHUNK], factor[MGK_LINEAR_CHUNK];
    dot_columns(work->dim, work->input, dinput, dot);
    for (size_t i = 0; i < CHUNK; i++) {
        const real length = work->norm[i];
        const bool zero = length == 0;
        factor[i] = zero ? 0 : 1 / ((length + epsilon) * work->scale);
        dot[i] = zero ? 0 : dot[i] * work->scale * work->scale * (1 + epsilon / length);
    }
    for (size_t d = 0; d < work->dim; d++)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++)
            dinput[d * CHUNK + i] =
                factor[i] * (dinput[d * CHUNK + i] - dot[i] * work->input[d * CHUNK + i]);
}

void MGK_CPU(feature_gradient)(const mgk_feature_work *work, const real *feature, real *dfeature,
                               real *dinput)
{
    const mgk_feature_kind map = work->features->map;
    real total[MGK_LINEAR_CHUNK] = {0};
    if (map == MGK_FEATURES_ELU) {
        elu_gradient(work, feature, dfeature, dinput);
        return;
    }
    if (map == MGK_FEATURES_COSINE) {
        cosine_gradient(work, dfeature, dinput);
        return;
    }
    if (map == MGK_FEATURES_DPFP) {
        dpfp_gradient(work, feature, dfeature, dinput);
        return;
    }
    if (map == MGK_FEATURES_KERNEL)
        MGK_CPU(feature_slopes)(work->features, work->rows * CHUNK, work->projected, dfeature);
    else if (map == MGK_FEATURES_POSITIVE || map == MGK_FEATURES_HYPERBOLIC)
        exponential_gradient(work, feature, dfeature, total);
    else
        wave_gradient(work, feature, dfeature, total);
    if (work->omega)
        mgk_tile_multiply(mgk_tile_rows(work->dim), CHUNK, work->rows,
                          (mgk_tile_operand){work->omega, 1, work->pitch}, dfeature, CHUNK, NULL, 0,
                          dinput, CHUNK);
    else
        for (size_t k = 0; k < work->dim * CHUNK; k++)
            dinput[k] = work->scale * dfeature[k];
    if (map == MGK_FEATURES_SPHERE)
        from_sphere(work, dinput);
    const real square = work->scale * work->scale;
    for (size_t d = 0; work->shifts && d < work->dim; d++)
#pragma omp simd
        for (size_t i = 0; i < CHUNK; i++)
            dinput[d * CHUNK + i] -= square * total[i] * work->input[d * CHUNK + i];
}
