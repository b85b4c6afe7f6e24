/* SPDX-License-Identifier: MIT */
/* Errors of random features as estimates of the softmax kernel. */
#include <math.h>

#include "base/memory.h"
#include "plot/performer.h"

/*
 * The mean of f(w), w normal in the plane, is (1 / 2 pi) sum f(w) exp(-|w|^2 / 2) h^2 over a
 * lattice of step h. Estimates contain exp(w·z) with z = x + y along the first axis, and cos(w·z')
 * with z' = x - y along the second, |z| and |z'| <= 4. Squared they move the weight to 2 |z| <= 8,
 * and turn with frequency 8, which is far from 2 pi / h.
 */
static const double step = 1.0 / 3;
enum { ALONG = 48, ACROSS = 24, COLUMNS = 2 * ACROSS + 1, LATTICE = (2 * ALONG + 1) * COLUMNS };

mgk_status mgk_performer_open(const mgk_job *job, mgk_device **out)
{
    TRY(mgk_device_open(job->device ? job->device : "cpu", MGK_DOUBLE, job->threads, out));
    if (mgk_attention_runs_on(mgk_attention_find("performer"), *out))
        return STATUS_OK;
    mgk_status status = mgk_fail(
        STATUS_UNSUPPORTED, "%s does not run attention \"performer\"; the CPU does", (*out)->name);
    mgk_device_close(*out);
    *out = NULL;
    return status;
}

/* Arrays of one call; those of the device have the points x and y of all angles as tokens. */
typedef struct work {
    double *omega, *weights; /* [LATTICE, 2], [LATTICE] */
    double *points;          /* [count, 2, 2] */
    double *features;        /* [count, 2, R] */
    void *device_omega, *device_points, *device_features;
} work;

static void fill_lattice(work *w)
{
    for (size_t i = 0; i < LATTICE; i++) {
        const double a = step * ((double)(i / COLUMNS) - ALONG),
                     b = step * ((double)(i % COLUMNS) - ACROSS);
        w->omega[2 * i] = a;
        w->omega[2 * i + 1] = b;
        w->weights[i] = step * step / (2 * acos(-1)) * exp(-(a * a + b * b) / 2);
    }
}

/* The layer scales its queries and keys by dim^(-1/4), which vectors of the kernel have behind
 * them. */
static void fill_points(double length, const double *angles, size_t count, work *w)
{
    const double scaled = length * sqrt(sqrt(2.0));
    for (size_t i = 0; i < count; i++) {
        double *x = w->points + 4 * i, *y = x + 2;
        x[0] = y[0] = scaled * cos(angles[i] / 2);
        x[1] = scaled * sin(angles[i] / 2);
        y[1] = -x[1];
    }
}

static mgk_status allocate(mgk_device *device, size_t count, work *w)
{
    size_t points;
    TRY(mgk_multiply(count, 4, &points));
    TRY(mgk_alloc(2 * LATTICE, sizeof(double), &w->omega));
    TRY(mgk_alloc(LATTICE, sizeof(double), &w->weights));
    TRY(mgk_alloc(points, sizeof(double), &w->points));
    TRY(mgk_alloc(points, LATTICE * sizeof(double), &w->features));
    TRY(device->op->allocate(device, 2 * LATTICE * sizeof(double), &w->device_omega));
    TRY(device->op->allocate(device, points * sizeof(double), &w->device_points));
    return device->op->allocate(device, points * LATTICE * sizeof(double), &w->device_features);
}

static void release(mgk_device *device, work *w)
{
    mgk_free(w->omega);
    mgk_free(w->weights);
    mgk_free(w->points);
    mgk_free(w->features);
    device->op->release(device, w->device_omega);
    device->op->release(device, w->device_points);
    device->op->release(device, w->device_features);
}

/* The features of the kind "performer" with this map. */
static mgk_features features_of(int map, const void *omega)
{
    const mgk_attention_kind *kind = mgk_attention_find("performer");
    const mgk_attention_settings settings = {
        .features = map == MGK_CHOICE_TRIGONOMETRIC ? 2 * LATTICE : LATTICE, .feature_map = map};
    const mgk_attention_layer layer = {
        .kind = kind,
        .size = {.heads = 1, .dim = 2, .mixtures = 1, .settings = &settings},
        .parameters = {omega}};
    const mgk_attention_view view = {.heads = 1, .dim = 2, .mixtures = 1};
    return kind->features(&view, &layer).features;
}

/* The mean over w of (estimate - exp(x·y))^2, where the estimate of one vector is R phi(x)·phi(y)
 * over its features. */
static double mean_error(const work *w, size_t point, size_t each, double kernel)
{
    const double *x = w->features + 2 * point * each * LATTICE, *y = x + each * LATTICE;
    double sum = 0;
    for (size_t i = 0; i < LATTICE; i++) {
        double estimate = 0;
        for (size_t k = 0; k < each; k++)
            estimate += x[k * LATTICE + i] * y[k * LATTICE + i];
        const double error = LATTICE * estimate - kernel;
        sum += w->weights[i] * error * error;
    }
    return sum;
}

static mgk_status measure(mgk_device *device, int map, double length, const double *angles,
                          size_t count, work *w, double *out)
{
    const mgk_features features = features_of(map, w->device_omega);
    const size_t each = mgk_feature_count(&features, 2) / LATTICE;
    TRY(device->op->feature_map(device, &features, 1, 2 * count, 1, 2, w->device_points, 2,
                                w->device_features, each * LATTICE));
    TRY(mgk_device_download(device, w->device_features, 2 * count * each * LATTICE, w->features));
    for (size_t i = 0; i < count; i++)
        out[i] = mean_error(w, i, each, exp(length * length * cos(angles[i])));
    return STATUS_OK;
}

mgk_status mgk_performer_kernel_errors(mgk_device *device, double length, const double *angles,
                                       size_t count, double *trigonometric, double *positive)
{
    mgk_status status;
    work w = {.omega = NULL};
    CHECK(allocate(device, count, &w));
    fill_lattice(&w);
    fill_points(length, angles, count, &w);
    CHECK(mgk_device_upload(device, w.omega, 2 * LATTICE, w.device_omega));
    CHECK(mgk_device_upload(device, w.points, 4 * count, w.device_points));
    CHECK(measure(device, MGK_CHOICE_TRIGONOMETRIC, length, angles, count, &w, trigonometric));
    CHECK(measure(device, MGK_CHOICE_POSITIVE, length, angles, count, &w, positive));
out:
    release(device, &w);
    return status;
}
