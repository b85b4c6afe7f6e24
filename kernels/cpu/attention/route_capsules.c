/* SPDX-License-Identifier: MIT */
/* Capsules that are made of votes by agreement, and the gradient through all steps. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/cpu/attention/dense.h"
#include "kernels/cpu/exp.h"

/* What a step computes: c [inputs, outputs], s and v [outputs, dim]. */
typedef struct step {
    real *c, *s, *v;
} step;

static size_t step_size(const mgk_capsules *k)
{
    return k->inputs * k->outputs + 2 * k->outputs * k->dim;
}

static step step_at(const mgk_capsules *k, real *memory)
{
    real *sums = memory + k->inputs * k->outputs;
    return (step){memory, sums, sums + k->outputs * k->dim};
}

/* c = exp b / Σ exp b. */
static void couple(size_t outputs, const real *b, real *c)
{
    real most = b[0], sum = 0;
    for (size_t j = 1; j < outputs; j++)
        most = b[j] > most ? b[j] : most;
    for (size_t j = 0; j < outputs; j++) {
        c[j] = mgk_exp(b[j] - most);
        sum += c[j];
    }
    for (size_t j = 0; j < outputs; j++)
        c[j] /= sum;
}

static void take_step(const mgk_capsules *k, const real *u, const real *b, const step *to)
{
    const size_t dim = k->dim, outputs = k->outputs;
    memset(to->s, 0, outputs * dim * sizeof(real));
    memset(to->v, 0, outputs * dim * sizeof(real));
    for (size_t i = 0; i < k->inputs; i++)
        couple(outputs, b + i * outputs, to->c + i * outputs);
    for (size_t pair = 0; pair < k->inputs * outputs; pair++)
        mgk_cpu_add_row(dim, to->c[pair], u + pair * dim, to->s + pair % outputs * dim);
    for (size_t j = 0; j < outputs; j++) {
        const real *s = to->s + j * dim;
        const real square = mgk_cpu_dot_row(dim, s, s);
        mgk_cpu_add_row(dim, (real)sqrt((double)square) / (1 + square), s, to->v + j * dim);
    }
}

/* b_ij += u_ij·v_j. */
static void add_agreement(const mgk_capsules *k, const real *u, const real *v, real *b)
{
    for (size_t pair = 0; pair < k->inputs * k->outputs; pair++)
        b[pair] += mgk_cpu_dot_row(k->dim, u + pair * k->dim, v + pair % k->outputs * k->dim);
}

mgk_status MGK_CPU(route_capsules)(mgk_device *device, const mgk_capsules *k, const void *u,
                                   void *y)
{
    const size_t pairs = k->inputs * k->outputs, width = k->outputs * k->dim;
    TRY(mgk_cpu_reserve_scratch(device, (pairs + step_size(k)) * sizeof(real)));
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (k->rows * pairs * k->dim >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t row = 0; row < k->rows; row++) {
        const real *votes = (const real *)u + row * pairs * k->dim;
        real *b = mgk_cpu_scratch(device, omp_get_thread_num());
        const step now = step_at(k, b + pairs);
        memset(b, 0, pairs * sizeof(real));
        for (int t = 0; t < k->steps; t++) {
            if (t > 0)
                add_agreement(k, votes, now.v, b);
            take_step(k, votes, b, &now);
        }
        memcpy((real *)y + row * width, now.v, width * sizeof(real));
    }
    return STATUS_OK;
}

/*
 * dv becomes ds: with n = ‖s‖ and f = n / (1 + n²),
 *     ds = f dv + f' / n (s·dv) s,   f' = (1 − n²) / (1 + n²)²; 0 where n is 0.
 */
static void squash_backward(size_t dim, const real *s, real *dv)
{
    const real square = mgk_cpu_dot_row(dim, s, s), n = (real)sqrt((double)square);
    const real slope = (1 - square) / ((1 + square) * (1 + square));
    const real along = n == 0 ? 0 : slope / n * mgk_cpu_dot_row(dim, s, dv);
    for (size_t d = 0; d < dim; d++)
        dv[d] = n / (1 + square) * dv[d] + along * s[d];
}

/* du += through b_ij += u_ij·v_j, of which db is the gradient; dv = Σ_i db_ij u_ij. */
static void agreement_backward(const mgk_capsules *k, const real *u, const real *v, const real *db,
                               real *du, real *dv)
{
    memset(dv, 0, k->outputs * k->dim * sizeof(real));
    for (size_t pair = 0; pair < k->inputs * k->outputs; pair++) {
        const size_t at = pair % k->outputs * k->dim;
        mgk_cpu_add_row(k->dim, db[pair], u + pair * k->dim, dv + at);
        mgk_cpu_add_row(k->dim, db[pair], v + at, du + pair * k->dim);
    }
}

/* du and db += through a step, of which dv is the gradient; dv becomes ds, dc [outputs] is room. */
static void step_backward(const mgk_capsules *k, const real *u, const step *of, real *dv, real *dc,
                          real *du, real *db)
{
    const size_t dim = k->dim, outputs = k->outputs;
    for (size_t j = 0; j < outputs; j++)
        squash_backward(dim, of->s + j * dim, dv + j * dim);
    for (size_t i = 0; i < k->inputs; i++) {
        const real *c = of->c + i * outputs;
        real mean = 0;
        for (size_t j = 0; j < outputs; j++) {
            const size_t at = (i * outputs + j) * dim;
            dc[j] = mgk_cpu_dot_row(dim, dv + j * dim, u + at);
            mean += c[j] * dc[j];
            mgk_cpu_add_row(dim, c[j], dv + j * dim, du + at);
        }
        for (size_t j = 0; j < outputs; j++)
            db[i * outputs + j] += c[j] * (dc[j] - mean);
    }
}

/* One row; memory as reserved below. */
static void route_backward(const mgk_capsules *k, const real *u, const real *dy, real *memory,
                           real *du)
{
    const size_t pairs = k->inputs * k->outputs, width = k->outputs * k->dim;
    real *b = memory, *db = b + pairs, *dc = db + pairs, *dv = dc + k->outputs, *steps = dv + width;
    memset(memory, 0, 2 * pairs * sizeof(real));
    memset(du, 0, pairs * k->dim * sizeof(real));
    memcpy(dv, dy, width * sizeof(real));
    for (int t = 0; t < k->steps; t++) {
        const step now = step_at(k, steps + (size_t)t * step_size(k));
        if (t > 0)
            add_agreement(k, u, step_at(k, steps + (size_t)(t - 1) * step_size(k)).v, b);
        take_step(k, u, b, &now);
    }
    for (int t = k->steps - 1; t >= 0; t--) {
        const step now = step_at(k, steps + (size_t)t * step_size(k));
        if (t < k->steps - 1)
            agreement_backward(k, u, now.v, db, du, dv);
        step_backward(k, u, &now, dv, dc, du, db);
    }
}

mgk_status MGK_CPU(route_capsules_backward)(mgk_device *device, const mgk_capsules *k,
                                            const void *u, const void *dy, void *du)
{
    const size_t pairs = k->inputs * k->outputs, width = k->outputs * k->dim;
    const size_t memory = 2 * pairs + k->outputs + width + (size_t)k->steps * step_size(k);
    TRY(mgk_cpu_reserve_scratch(device, memory * sizeof(real)));
#pragma omp parallel for schedule(static) \
    num_threads(device->threads) if (k->rows * pairs * k->dim >= MGK_CPU_PARALLEL_ELEMENTS)
    for (size_t row = 0; row < k->rows; row++)
        route_backward(k, (const real *)u + row * pairs * k->dim, (const real *)dy + row * width,
                       mgk_cpu_scratch(device, omp_get_thread_num()),
                       (real *)du + row * pairs * k->dim);
    return STATUS_OK;
}
