/* SPDX-License-Identifier: MIT */
#include "analysis/counting/engine.h"

#include <math.h>
#include <string.h>

#include "analysis/counting/count.h"
#include "analysis/counting/landmarks.h"
#include "analysis/counting/low_rank.h"
#include "analysis/counting/reduction.h"
#include "analysis/counting/refine.h"
#include "base/memory.h"
#include "kernels/backend.h"
#include "kernels/spectral/rounding.h"
#include "kernels/spectral/spectrum.h"

/*
 * Times relative to computing singular values, for the choice of a rung; they hardly depend on N.
 * The last includes the second bracket of an undecided matrix.
 */
static const double product_cost = 0.1, bracket_cost[MGK_RUNGS] = {0.2, 0.3};
/* The additional time of measuring a small matrix when no bound was tried before (count.c). */
static const double unaided_cost = 0.15;

enum {
    SMALLEST_LOW_RANK = 512,
    LOW_RANK_WORTH = 12, /* n / columns: a basis of more columns costs as much as the product */
    LARGE_NORM = 64, /* ‖A‖² above which roundings are too large for refinement: α is split off */
    SMALLEST_COUNT = 48,  /* rows from which counting is faster */
    LARGEST_BOUND = 1536, /* rows up to which a bound may succeed: δ grows with them */
    MOST_THRESHOLDS = 3,  /* up to which counting is faster */
    SECOND_CHANCE = 32    /* every so many matrices, tries again what failed */
};

struct mgk_engine {
    mgk_spectrum *spectrum; /* NULL: on a device */
    mgk_gram *gram;         /* NULL: nothing is counted */
    mgk_refine *refine;
    mgk_landmarks *landmarks;
    mgk_low_rank *low_rank;
    double *scratch; /* [3 n_max] */
};

mgk_status mgk_engine_open(size_t n_max, bool counts, mgk_engine **out)
{
    mgk_status status;
    mgk_engine *engine = NULL;
    *out = NULL;
    CHECK(mgk_alloc(1, sizeof(*engine), &engine));
    CHECK(mgk_spectrum_open(n_max, &engine->spectrum));
    if (counts) {
        CHECK(mgk_gram_open(n_max, &engine->gram));
        CHECK(mgk_refine_open(n_max, &engine->refine));
        CHECK(mgk_landmarks_open(n_max, &engine->landmarks));
        if (n_max >= SMALLEST_LOW_RANK)
            CHECK(mgk_low_rank_open(n_max, &engine->low_rank));
    }
    CHECK(mgk_alloc(3 * n_max, sizeof(double), &engine->scratch));
    *out = engine;
    engine = NULL;
out:
    mgk_engine_close(engine);
    return status;
}

mgk_status mgk_engine_open_on(mgk_device *device, size_t n_max, mgk_engine **out)
{
    mgk_engine *engine;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*engine), &engine));
    mgk_status status = mgk_gram_open_on(device, n_max, &engine->gram);
    if (status == STATUS_OK)
        status = mgk_refine_open(n_max, &engine->refine);
    if (status == STATUS_OK)
        status = mgk_landmarks_open(n_max, &engine->landmarks);
    if (status != STATUS_OK) {
        mgk_engine_close(engine);
        return status;
    }
    *out = engine;
    return STATUS_OK;
}

void mgk_engine_close(mgk_engine *engine)
{
    if (!engine)
        return;
    mgk_spectrum_close(engine->spectrum);
    mgk_gram_close(engine->gram);
    mgk_refine_close(engine->refine);
    mgk_landmarks_close(engine->landmarks);
    mgk_low_rank_close(engine->low_rank);
    mgk_free(engine->scratch);
    mgk_free(engine);
}

static double chance(const mgk_ladder *ladder, int rung)
{
    return (double)(ladder->held[rung] + 1) / (double)(ladder->tried[rung] + 1);
}

/* Whether to try again what failed: later matrices may differ. */
static bool has_second_chance(const mgk_ladder *ladder)
{
    return ladder->matrices % SECOND_CHANCE == 0;
}

/* The rung to start at, by its cost plus the expected cost of the next rungs if it fails. */
static int first_rung(const mgk_ladder *ladder, size_t order)
{
    const int lowest = order <= LARGEST_BOUND ? 0 : 1;
    double least = 1, cost = 1;
    int first = MGK_RUNGS;
    if (has_second_chance(ladder))
        return lowest;
    for (int rung = MGK_RUNGS - 1; rung >= lowest; rung--) {
        cost = bracket_cost[rung] + (1 - chance(ladder, rung)) * cost;
        const bool unaided = rung > lowest && order < MGK_REFINE_ORDER;
        const double start = product_cost + cost + (unaided ? unaided_cost : 0);
        if (start >= least)
            continue;
        least = start;
        first = rung;
    }
    return first;
}

/* Whether fourth powers of norms of this magnitude keep their digits. */
static bool can_square(double magnitude)
{
    return magnitude > 1e-60 && magnitude < 1e60;
}

static bool can_count(const mgk_engine_task *task, const mgk_rank_row *row, size_t order)
{
    bool can = task->count_only && !task->relative && task->threshold_count <= MOST_THRESHOLDS &&
               order >= SMALLEST_COUNT && can_square(row->frobenius);
    for (size_t t = 0; t < task->threshold_count; t++)
        can &= can_square(task->thresholds[t]) && row->noise_floor < task->thresholds[t];
    return can;
}

/* Counts at one threshold on one rung. */
static bool hold(mgk_engine *engine, int rung, size_t order, double tau, double moved,
                 double storage, mgk_known *known, mgk_rank_count *out)
{
    mgk_certificate certificate = rung == 0 ? MGK_CERTIFICATE_BOUND : MGK_CERTIFICATE_MEASURED;
    bool refined = rung > 0 && order >= MGK_REFINE_ORDER;
    bool held = refined
                    ? mgk_refine_rank(engine->refine, engine->gram, tau, moved, storage, known, out)
                    : mgk_count_rank(engine->gram, tau, moved, storage, certificate, known, out);
    if (held && isnan(out->nearest))
        out->nearest = mgk_landmarks_nearest(engine->landmarks, engine->gram, tau, out->rank);
    return held;
}

/* If the head's last rank was low, a thin basis is cheaper than the product. */
static bool count_low_rank(mgk_engine *engine, const mgk_engine_task *task, mgk_ladder *ladder,
                           size_t order, const double *matrix, double moved, mgk_rank_row *row,
                           mgk_rank_count *counts)
{
    const size_t most = order / LOW_RANK_WORTH;
    size_t used;
    double largest;
    if (order < SMALLEST_LOW_RANK || task->threshold_count != 1 || ladder->columns == 0 ||
        ladder->columns > most ||
        (2 * ladder->low_held < ladder->low_tried && !has_second_chance(ladder)))
        return false;
    ladder->low_tried++;
    if (!mgk_low_rank_count(engine->low_rank, engine->spectrum, order, matrix, ladder->columns,
                            task->thresholds[0], moved, row->noise_floor,
                            mgk_gram_memory(engine->gram), &used, &largest, &counts[0]))
        return false;
    ladder->low_held++;
    ladder->columns = used - used / 8; /* fewer may suffice next time */
    row->method = MGK_METHOD_LOW_RANK;
    mgk_rank_set_largest(row, largest);
    return true;
}

/* The columns expected for the next matrix of the head: slightly more than the rank. */
static void learn_columns(mgk_ladder *ladder, size_t rank)
{
    ladder->columns = rank + rank / 4 + 32;
}

/* Tries the rungs upwards until one succeeds; *moved grows by the change of the matrix. */
static bool count(mgk_engine *engine, const mgk_engine_task *task, mgk_ladder *ladder, size_t order,
                  double *matrix, double *moved, mgk_rank_row *row, mgk_rank_count *counts)
{
    bool held = false;
    int rung = first_rung(ladder, order);
    if (rung == MGK_RUNGS)
        return false;
    const bool refined = rung > 0 && order >= MGK_REFINE_ORDER; /* bears more rounding */
    double deflated;
    mgk_known known[MOST_THRESHOLDS];
    for (size_t t = 0; t < task->threshold_count; t++)
        known[t] = (mgk_known){.most = order};
    mgk_gram_load(engine->gram, order, matrix, refined ? LARGE_NORM : 0, &deflated);
    if (mgk_gram_status(engine->gram) != STATUS_OK)
        return false;
    const double largest = mgk_landmarks_largest(engine->landmarks, engine->gram);
    *moved += deflated;
    for (; rung < MGK_RUNGS && !held; rung++) {
        held = true;
        for (size_t t = 0; t < task->threshold_count && held; t++)
            held = hold(engine, rung, order, task->thresholds[t], *moved, row->noise_floor,
                        &known[t], &counts[t]);
        ladder->tried[rung]++;
        ladder->held[rung] += held;
    }
    row->method = MGK_METHOD_GRAM;
    if (held)
        mgk_rank_set_largest(row, largest);
    return held;
}

/* On a device counting is so much cheaper than singular values that it is always tried. */
mgk_status mgk_engine_certify(mgk_engine *engine, const mgk_engine_task *task, double *matrix,
                              mgk_rank_row *row, mgk_rank_count *counts, double *moved,
                              bool *certain)
{
    mgk_ladder unknown = {0};
    *moved = 0;
    *certain = can_count(task, row, row->n) &&
               count(engine, task, &unknown, row->n, matrix, moved, row, counts);
    return mgk_gram_status(engine->gram);
}

void mgk_engine_count(const mgk_engine_task *task, const mgk_rank_row *row, const double *sigma,
                      double error, mgk_rank_count *counts)
{
    for (size_t t = 0; t < task->threshold_count; t++) {
        double tau = task->thresholds[t], off = error;
        if (task->relative) {
            off += tau * error; /* the error of sigma_1 */
            tau *= row->sigma_max;
        }
        counts[t] = mgk_rank_count_at(row->n, sigma, tau, off, row->noise_floor);
    }
}

/* Where columns or rows were removed, 0 is a singular value as well. */
static void include_zero(double tau, mgk_rank_count *count)
{
    if (fabs(count->nearest - tau) > tau)
        count->nearest = 0;
}

/* Measures and counts from all singular values of a matrix that has moved by `moved`. */
static void finish_spectrum(const mgk_engine_task *task, mgk_ladder *ladder, double moved,
                            const double *sigma, mgk_rank_row *row, mgk_rank_count *counts)
{
    mgk_rank_measure_spectrum(row->n, sigma, row);
    row->method = MGK_METHOD_SVD;
    mgk_engine_count(task, row, sigma,
                     mgk_rank_solver_error(row->sigma_max, row->n + MGK_SOLVER_CONSTANT) + moved,
                     counts);
    if (task->threshold_count > 0)
        learn_columns(ladder, counts[0].rank);
}

/* The matrix, or a copy of it, for changes. */
static double *changeable(const mgk_engine_task *task, size_t n, double *matrix)
{
    if (task->copy && matrix != task->copy)
        memcpy(task->copy, matrix, n * n * sizeof(*matrix));
    return task->copy ? task->copy : matrix;
}

mgk_status mgk_engine_rank(mgk_engine *engine, const mgk_engine_task *task, mgk_ladder *ladder,
                           double *matrix, mgk_rank_row *row, mgk_rank_count *counts, double *sigma)
{
    const size_t n = row->n;
    ladder->matrices++;
    if (can_square(row->frobenius) && mgk_reduce_single_entries(n, matrix, sigma)) {
        finish_spectrum(task, ladder, task->moved, sigma, row, counts);
        return STATUS_OK;
    }
    size_t order = n;
    if (!task->copy || mgk_reduces(n, matrix, engine->scratch)) {
        matrix = changeable(task, n, matrix);
        order = mgk_reduce(n, matrix, engine->scratch);
    }
    if (task->count_only || order > MGK_SPECTRUM_LARGEST_KEPT)
        matrix = changeable(task, n, matrix);
    /* Merged rows are multiplied by a rounded square root. */
    double moved = task->moved + (order < n ? 2 * MGK_ROUNDOFF * row->frobenius : 0);
    if (can_count(task, row, order) &&
        (count_low_rank(engine, task, ladder, order, matrix, moved, row, counts) ||
         count(engine, task, ladder, order, matrix, &moved, row, counts))) {
        if (row->method == MGK_METHOD_GRAM)
            learn_columns(ladder, counts[0].rank);
        for (size_t t = 0; t < task->threshold_count && order < n; t++)
            include_zero(task->thresholds[t], &counts[t]);
        return STATUS_OK;
    }
    TRY(mgk_spectrum_compute(engine->spectrum, order, matrix, sigma));
    for (size_t i = order; i < n; i++)
        sigma[i] = 0;
    finish_spectrum(task, ladder, moved, sigma, row, counts);
    return STATUS_OK;
}
