/* SPDX-License-Identifier: MIT */
/*
 * Time of single operations of a device, beside its rates of copying and multiplying: one row of a
 * markdown table each. An operation is queued several times between two synchronisations, after two
 * calls: one to warm up, and one that tells how many are needed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/progress.h"
#include "base/random.h"
#include "kernels/backend.h"

enum { ARRAYS = 16 };

typedef struct bench {
    mgk_device *device;
    const mgk_operations *op;
    bool tiny;
    void *arrays[ARRAYS]; /* of the present operation */
    int count;
} bench;

/* `bytes` of the device that are released after the operation. */
static mgk_status take(bench *b, size_t bytes, void *out)
{
    TRY(b->op->allocate(b->device, bytes, &b->arrays[b->count]));
    *(void **)out = b->arrays[b->count++];
    return STATUS_OK;
}

static void release_all(bench *b)
{
    while (b->count > 0)
        b->op->release(b->device, b->arrays[--b->count]);
}

/* Normal numbers, in the device's precision or float64. The first 2^20 are repeated. */
static mgk_status numbers(bench *b, size_t count, bool wide, void *out)
{
    const size_t most = 1 << 20, part = count < most ? count : most;
    const size_t size = wide ? sizeof(double) : b->device->real_size;
    void *array, *host;
    TRY(take(b, count * size, &array));
    TRY(mgk_alloc(part, sizeof(double), &host));
    for (size_t i = 0; i < part; i++) {
        const double x = mgk_random_normal(1, (uint64_t)b->count, i);
        if (size == sizeof(double))
            ((double *)host)[i] = x;
        else
            ((float *)host)[i] = (float)x;
    }
    mgk_status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i += part)
        status = b->op->upload(b->device, (char *)array + i * size, host,
                               (count - i < part ? count - i : part) * size);
    mgk_free(host);
    *(void **)out = array;
    return status;
}

/* Seconds of a call: the least of three rounds. */
static mgk_status time_of(bench *b, mgk_status (*work)(bench *, void *), void *context,
                          double *seconds)
{
    const double enough = b->tiny ? 0 : 0.05;
    size_t calls = 1;
    double start;
    TRY(work(b, context));
    TRY(b->op->synchronize(b->device));
    start = mgk_seconds();
    TRY(work(b, context));
    TRY(b->op->synchronize(b->device));
    *seconds = mgk_seconds() - start;
    if (*seconds < enough)
        calls = (size_t)(enough / (*seconds + 1e-6)) + 1;
    for (int round = 0; round < 3; round++) {
        start = mgk_seconds();
        for (size_t i = 0; i < calls; i++)
            TRY(work(b, context));
        TRY(b->op->synchronize(b->device));
        const double mean = (mgk_seconds() - start) / (double)calls;
        *seconds = mean < *seconds ? mean : *seconds;
    }
    return STATUS_OK;
}

/* Prints a row; amount / 1e9 of `unit` are copied or computed. A failure is a row, too. */
static void report(bench *b, const char *name, const char *shape,
                   mgk_status (*work)(bench *, void *), void *context, double amount,
                   const char *unit)
{
    double seconds;
    if (time_of(b, work, context, &seconds) == STATUS_OK)
        printf("| %s | %s | %.4g | %.4g %s |\n", name, shape, seconds * 1e3, amount / seconds / 1e9,
               unit);
    else
        printf("| %s | %s | failed | %s |\n", name, shape, mgk_fail_message());
    fflush(stdout);
}

typedef struct copying {
    size_t bytes;
    void *from, *to;
} copying;

static mgk_status copy(bench *b, void *context)
{
    const copying *c = context;
    return b->op->copy(b->device, c->to, c->from, c->bytes);
}

static mgk_status time_copy(bench *b)
{
    copying c = {.bytes = b->tiny ? 1 << 16 : 1 << 30};
    TRY(take(b, c.bytes, &c.from));
    TRY(take(b, c.bytes, &c.to));
    report(b, "copy", b->tiny ? "64 KB" : "1 GiB", copy, &c, 2 * (double)c.bytes, "GB/s");
    return STATUS_OK;
}

typedef struct product {
    size_t n;
    void *a, *b, *c;
} product;

static mgk_status multiply(bench *b, void *context)
{
    const product *p = context;
    return b->op->multiply(b->device, false, true, p->n, p->n, p->n, 1, p->a, p->n, p->b, p->n, 0,
                           p->c, p->n);
}

static mgk_status time_multiply(bench *b)
{
    product p = {.n = b->tiny ? 32 : 4096};
    char shape[64];
    TRY(numbers(b, p.n * p.n, false, &p.a));
    TRY(numbers(b, p.n * p.n, false, &p.b));
    TRY(take(b, p.n * p.n * b->device->real_size, &p.c));
    snprintf(shape, sizeof shape, "%zu³, float%zu", p.n, 8 * b->device->real_size);
    report(b, "product", shape, multiply, &p, 2 * (double)p.n * (double)p.n * (double)p.n,
           "Gflop/s");
    return STATUS_OK;
}

typedef struct attention {
    mgk_attention_view view;
    mgk_mixture mixture;
    mgk_attention_gradient gradient;
    void *output, *doutput, *statistic, *matrix;
    int32_t *heads;
    size_t width;
} attention;

static mgk_status forward(bench *b, void *context)
{
    const attention *a = context;
    return b->op->mixture_attention(b->device, &a->view, &a->mixture, a->output, a->width,
                                    a->statistic);
}

static mgk_status backward(bench *b, void *context)
{
    const attention *a = context;
    return b->op->mixture_attention_backward(b->device, &a->view, &a->mixture, a->output,
                                             a->statistic, a->doutput, a->width, &a->gradient);
}

static mgk_status matrices(bench *b, void *context)
{
    const attention *a = context;
    return b->op->mixture_matrix(b->device, &a->view, &a->mixture, MGK_MATRIX_ATTENTION, 0, 1,
                                 a->heads, a->view.heads, a->matrix);
}

static mgk_status integers(bench *b, size_t count, int32_t first, int32_t step, int32_t **out)
{
    int32_t *host;
    TRY(mgk_alloc(count, sizeof *host, &host));
    for (size_t i = 0; i < count; i++)
        host[i] = first + step * (int32_t)i;
    mgk_status status = take(b, count * sizeof *host, out);
    if (status == STATUS_OK)
        status = b->op->upload(b->device, *out, host, count * sizeof *host);
    mgk_free(host);
    return status;
}

/* Softmax with one key, or Gaussian keys with priors of the heads. */
static mgk_status make_attention(bench *b, int samples, int heads, int tokens, int dim,
                                 int mixtures, bool causal, attention *a)
{
    const size_t rows = (size_t)samples * (size_t)tokens, size = b->device->real_size;
    int32_t *lengths;
    a->width = (size_t)heads * (size_t)dim;
    const size_t keys = a->width * (size_t)mixtures;
    TRY(integers(b, (size_t)samples, tokens, 0, &lengths));
    TRY(integers(b, (size_t)heads, 0, 1, &a->heads));
    a->view = (mgk_attention_view){.samples = samples,
                                   .heads = heads,
                                   .tokens = tokens,
                                   .dim = dim,
                                   .mixtures = mixtures,
                                   .causal = causal,
                                   .lengths = lengths,
                                   .query_stride = a->width,
                                   .key_stride = keys,
                                   .value_stride = a->width};
    TRY(numbers(b, rows * a->width, false, &a->view.query));
    TRY(numbers(b, rows * keys, false, &a->view.key));
    TRY(numbers(b, rows * a->width, false, &a->view.value));
    TRY(numbers(b, rows * a->width, false, &a->doutput));
    TRY(take(b, rows * a->width * size, &a->output));
    TRY(take(b, rows * a->width * size, &a->gradient.query));
    TRY(take(b, rows * keys * size, &a->gradient.key));
    TRY(take(b, rows * a->width * size, &a->gradient.value));
    TRY(take(b, rows * (size_t)heads * size, &a->statistic));
    TRY(take(b, (size_t)heads * (size_t)tokens * (size_t)tokens * size, &a->matrix));
    a->mixture = (mgk_mixture){.gaussian = mixtures > 1};
    for (int r = 0; r < mixtures; r++)
        a->mixture.scale[r] = 1.0 / dim / (r + 1);
    return STATUS_OK;
}

/* Products of a pass over the pairs of queries and keys that are seen, in operations. */
static double operations(const attention *a, double products_of_keys, double products_of_values)
{
    const mgk_attention_view *v = &a->view;
    const double pairs = (double)v->samples * v->heads * v->tokens * v->tokens;
    return pairs * (v->causal ? 0.5 : 1) * 2 * v->dim *
           (products_of_keys * v->mixtures + products_of_values);
}

static mgk_status time_attention(bench *b, int samples, int heads, int tokens, int dim,
                                 int mixtures, bool causal)
{
    attention a = {0};
    char shape[128];
    TRY(make_attention(b, samples, heads, tokens, dim, mixtures, causal, &a));
    snprintf(shape, sizeof shape, "%s B = %d H = %d N = %d D = %d%s",
             mixtures > 1 ? "mgk" : "softmax", samples, heads, tokens, dim,
             causal ? " causal" : "");
    report(b, "attention", shape, forward, &a, operations(&a, 1, 1), "Gflop/s");
    report(b, "its gradients", shape, backward, &a, operations(&a, 3, 2), "Gflop/s");
    report(b, "its matrices, one sample", shape, matrices, &a,
           (double)heads * tokens * tokens * (double)b->device->real_size, "GB/s");
    return STATUS_OK;
}

typedef struct spectra {
    size_t count, n, *orders;
    double *given, *matrices, *sigma, *bands;
} spectra;

/* Spectra overwrite their matrices; copying them is part of the time. */
static mgk_status refill(bench *b, const spectra *s)
{
    return b->op->copy(b->device, s->matrices, s->given, s->count * s->n * s->n * sizeof(double));
}

static mgk_status solve(bench *b, void *context)
{
    const spectra *s = context;
    TRY(refill(b, s));
    return b->op->spectral->singular_values(b->device, s->count, s->n, s->orders, s->matrices,
                                            s->sigma);
}

static mgk_status bisect(bench *b, void *context)
{
    const spectra *s = context;
    TRY(refill(b, s));
    return b->op->spectral->bisected_values(b->device, s->count, s->n, s->orders, s->matrices,
                                            s->sigma);
}

static mgk_status reduce(bench *b, void *context)
{
    const spectra *s = context;
    return b->op->spectral->reduce_to_bands(b->device, s->count, s->n, s->orders, s->given,
                                            s->bands);
}

static mgk_status time_spectra(bench *b, const char *name, mgk_status (*work)(bench *, void *),
                               size_t count, size_t n)
{
    spectra s = {.count = count, .n = n};
    const double products = 8.0 / 3 * (double)count * (double)n * (double)n * (double)n;
    char shape[64];
    TRY(numbers(b, count * n * n, true, &s.given));
    TRY(take(b, count * n * n * sizeof(double), &s.matrices));
    TRY(take(b, count * mgk_band_entries(n) * sizeof(double), &s.bands));
    TRY(mgk_alloc(count, sizeof *s.orders, &s.orders));
    mgk_status status = mgk_alloc(count * n, sizeof *s.sigma, &s.sigma);
    for (size_t i = 0; i < count; i++)
        s.orders[i] = n;
    snprintf(shape, sizeof shape, "%zu × %zu²", count, n);
    if (status == STATUS_OK)
        report(b, name, shape, work, &s, products, "Gflop/s");
    mgk_free(s.orders);
    mgk_free(s.sigma);
    return status;
}

typedef struct factors {
    size_t n, count;
    double *product, *work, *rows;
} factors;

static mgk_status factor(bench *b, void *context)
{
    const factors *f = context;
    size_t positive;
    double growth;
    return b->op->spectral->shifted_inertia(b->device, f->n, f->product, NULL, -1000, 0, f->work,
                                            &positive, &growth);
}

static mgk_status solve_factored(bench *b, void *context)
{
    const factors *f = context;
    return b->op->spectral->solve_factored(b->device, f->n, f->work, f->count, f->rows);
}

static mgk_status time_factors(bench *b, size_t n)
{
    factors f = {.n = n};
    char shape[64];
    TRY(numbers(b, n * n, true, &f.product));
    TRY(take(b, n * n * sizeof(double), &f.work));
    TRY(numbers(b, 32 * n, true, &f.rows));
    snprintf(shape, sizeof shape, "%zu²", n);
    report(b, "inertia", shape, factor, &f, 1.0 / 3 * (double)n * (double)n * (double)n, "Gflop/s");
    for (f.count = 1; f.count <= 32; f.count *= 32) {
        snprintf(shape, sizeof shape, "%zu² × %zu", n, f.count);
        report(b, "solving with the factors", shape, solve_factored, &f,
               (double)n * (double)n * sizeof(double), "GB/s of factors");
    }
    return STATUS_OK;
}

/* The end of an operation's measurements. */
static mgk_status done(bench *b, mgk_status status)
{
    release_all(b);
    return status;
}

static mgk_status time_single(bench *b)
{
    static const int shapes[][6] = {/* B, H, N, D, M, causal */
                                    {96, 8, 256, 16, 1, 1},  {96, 4, 256, 16, 2, 1},
                                    {16, 8, 1024, 32, 1, 0}, {16, 4, 1024, 32, 2, 0},
                                    {4, 8, 4096, 32, 1, 0},  {4, 8, 4096, 64, 1, 0},
                                    {4, 8, 4096, 64, 1, 1},  {4, 8, 4096, 128, 1, 0}};
    const size_t count = b->tiny ? 2 : sizeof shapes / sizeof *shapes;
    TRY(done(b, time_copy(b)));
    TRY(done(b, time_multiply(b)));
    for (size_t i = 0; i < count; i++) {
        const int *s = shapes[i];
        TRY(done(b, b->tiny ? time_attention(b, 2, 2, 20, s[3], s[4], s[5])
                            : time_attention(b, s[0], s[1], s[2], s[3], s[4], s[5])));
    }
    return STATUS_OK;
}

static mgk_status time_double(bench *b)
{
    const mgk_operations *op = b->op;
    const bool tiny = b->tiny;
    TRY(done(b, time_multiply(b)));
    if (op->spectral->bisected_values) {
        TRY(done(b, time_spectra(b, "bisection", bisect, tiny ? 2 : 2048, tiny ? 20 : 256)));
        TRY(done(b, time_spectra(b, "bisection", bisect, tiny ? 2 : 512, tiny ? 20 : 512)));
    }
    TRY(done(b, time_spectra(b, "spectra of the solver", solve, tiny ? 2 : 128, tiny ? 20 : 256)));
    if (op->spectral->reduce_to_bands)
        TRY(done(b, time_spectra(b, "bands", reduce, tiny ? 1 : 32, tiny ? 70 : 4096)));
    return op->spectral->shifted_inertia ? done(b, time_factors(b, tiny ? 70 : 4096)) : STATUS_OK;
}

/* All operations of one precision. */
static mgk_status time_precision(bench *b, const char *name, mgk_precision precision)
{
    TRY(mgk_device_open(name, precision, 0, &b->device));
    b->op = b->device->op;
    mgk_status status = precision == MGK_SINGLE ? time_single(b) : time_double(b);
    mgk_device_close(b->device);
    return status;
}

int main(int argc, char **argv)
{
    bench b = {.tiny = argc == 3 && strcmp(argv[2], "--tiny") == 0};
    const bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
    if (help || argc < 2 || argc > 3 || (argc == 3 && !b.tiny)) {
        fprintf(help ? stdout : stderr, "usage: bench_operations cpu|cuda[:N] [--tiny]\n");
        return help ? 0 : 2;
    }
    if (mgk_device_check(argv[1], 0) != STATUS_OK) {
        fprintf(stderr, "bench_operations: %s\n", mgk_fail_message());
        return 1;
    }
    printf("| operation | shape | ms | rate |\n|---|---|---|---|\n");
    mgk_status status = time_precision(&b, argv[1], MGK_SINGLE);
    if (status == STATUS_OK)
        status = time_precision(&b, argv[1], MGK_DOUBLE);
    if (status != STATUS_OK)
        fprintf(stderr, "bench_operations: %s\n", mgk_fail_message());
    return status == STATUS_OK ? 0 : 1;
}
