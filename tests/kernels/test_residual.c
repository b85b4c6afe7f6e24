/* SPDX-License-Identifier: MIT */
/* The residual of a factorisation, at every level or on a device, against integer arithmetic. */
#include "kernels/spectral/residual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spectra.h"

static const char *const levels[] = {MGK_CPU_LEVEL_NAMES};
enum { LEVELS = sizeof levels / sizeof *levels, VECTORS = MGK_RESIDUAL_VECTORS, LARGEST = 77 };

__extension__ typedef __int128 wide;

/* Integers that represent C 2^-14, L 2^-8, D 2^-28, b 2^-14, w 2^-16; x = 2^-60, factor = 1/4. */
typedef struct problem {
    size_t n;
    int64_t c[LARGEST][LARGEST], l[LARGEST][LARGEST], d[LARGEST], b[LARGEST];
    int64_t w[VECTORS][LARGEST];
    bool causal, split;
} problem;

static int64_t draw(mgk_random *random, int bits)
{
    return (int64_t)mgk_random_next_below(random, (uint64_t)2 << bits) - ((int64_t)1 << bits);
}

static void make(uint64_t seed, size_t n, bool causal, bool split, problem *p)
{
    mgk_random random = {.seed = seed};
    memset(p, 0, sizeof *p);
    p->n = n;
    p->causal = causal;
    p->split = split;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < (causal ? i + 1 : n); j++)
            p->c[i][j] = draw(&random, 14);
        for (size_t j = 0; j < i; j++)
            p->l[i][j] = draw(&random, 8);
        p->l[i][i] = 256;
        p->d[i] = draw(&random, (int)(4 + i % 24)) | 1;
        p->b[i] = draw(&random, 14);
        for (size_t v = 0; v < VECTORS; v++)
            p->w[v][i] = draw(&random, 9);
    }
}

/* C = D^½ Lᵀ, so that L D Lᵀ = CᵀC and only x remains. */
static void make_exact(uint64_t seed, size_t n, problem *p)
{
    make(seed, n, false, false, p);
    for (size_t i = 0; i < n; i++) {
        const int64_t root = 1 + (int64_t)(i % 60);
        p->d[i] = root * root * 65536;
        for (size_t j = 0; j < n; j++)
            p->c[i][j] = j >= i ? root * p->l[j][i] : 0;
    }
    /* 2^-14 of c is root 2^-6 of l 2^-8, and d is root² 2^-12. */
}

/* 2^60 E w of one entry: L D Lᵀ w and CᵀC w have 2^-60 and 2^-44, b bᵀ w / 4 2^-46, x w 2^-76. */
static double expected(const problem *p, size_t v, size_t i)
{
    wide product = 0, square = 0, split = 0;
    for (size_t k = 0; k < p->n; k++) {
        wide inner = 0, row = 0;
        for (size_t j = 0; j < p->n; j++) {
            inner += (wide)p->l[j][k] * p->w[v][j];
            row += (wide)p->c[k][j] * p->w[v][j];
        }
        product += inner * p->d[k] * p->l[i][k];
        square += row * p->c[k][i];
        split += (wide)p->b[k] * p->w[v][k];
    }
    split = p->split ? split * p->b[i] : 0;
    wide sum = product - square * 65536 + split * 16384;
    return (double)sum * 0x1p-60 + (double)p->w[v][i] * 0x1p-76;
}

typedef struct arrays {
    _Alignas(64) double w[VECTORS * (LARGEST + 16)];
    double c[LARGEST * (LARGEST + 3)], k[LARGEST * (LARGEST + 1)], b[LARGEST];
} arrays;

static mgk_residual describe(const problem *p, arrays *a)
{
    const size_t n = p->n, pitch = mgk_reduction_pitch(n);
    mgk_residual r = {.n = n,
                      .c = a->c,
                      .stride = n + 3,
                      .causal = p->causal,
                      .k = a->k,
                      .k_stride = n + 1,
                      .x = 0x1p-60,
                      .factor = p->split ? 0.25 : 0};
    memset(a, 0xff, sizeof *a); /* NaN wherever nothing may be read */
    memset(a->w, 0, sizeof a->w);
    for (size_t i = 0; i < n; i++) {
        double row = 0, lower = 0;
        for (size_t j = 0; j < n; j++) {
            a->c[i * r.stride + j] = (double)p->c[i][j] * 0x1p-14;
            row += fabs(a->c[i * r.stride + j]);
            if (j < i)
                a->k[i * r.k_stride + j] = (double)p->l[i][j] * 0x1p-8;
            lower += fabs((double)p->l[i][j]) * 0x1p-8;
        }
        a->k[i * r.k_stride + i] = (double)p->d[i] * 0x1p-28;
        a->b[i] = (double)p->b[i] * 0x1p-14;
        r.norm += row * row; /* larger than needed */
        r.growth += lower * lower;
        r.b_squares += p->split ? a->b[i] * a->b[i] : 0;
        for (size_t v = 0; v < VECTORS; v++)
            a->w[v * pitch + i] = (double)p->w[v][i] * 0x1p-16;
    }
    r.b = p->split ? a->b : NULL;
    return r;
}

/* What is tested: the host's functions, or those of a device. */
typedef struct subject {
    mgk_residual_arrays *work;
    workspace *space; /* NULL: the host */
} subject;

/* E w, or C w, of a->w, by the device. */
static void apply_there(workspace *space, bool exactly, const mgk_residual *r, arrays *a)
{
    mgk_device *device = space->device;
    const size_t n = r->n, pitch = mgk_reduction_pitch(n), bytes = VECTORS * n * sizeof(double);
    mgk_residual there = *r;
    double *rows = host_array(space, VECTORS * n);
    for (size_t v = 0; v < VECTORS; v++)
        memcpy(rows + v * n, a->w + v * pitch, n * sizeof *rows);
    double *w = upload_bytes(space, bytes, rows);
    there.c = upload_bytes(space, sizeof a->c, a->c);
    there.k = upload_bytes(space, sizeof a->k, a->k);
    there.b = r->b ? upload_bytes(space, sizeof a->b, a->b) : NULL;
    assert_ok((exactly ? device->op->spectral->exact_images
                       : device->op->spectral->residual_images)(device, &there, VECTORS, w));
    assert_ok(device->op->download(device, rows, w, bytes));
    for (size_t v = 0; v < VECTORS; v++)
        memcpy(a->w + v * pitch, rows + v * n, n * sizeof *rows);
    workspace_release(space);
}

static void apply(const subject *s, const mgk_residual *r, arrays *a)
{
    if (s->space)
        apply_there(s->space, false, r, a);
    else
        mgk_residual_apply(s->work, r, a->w);
}

static void multiply(const subject *s, const mgk_residual *r, arrays *a)
{
    if (s->space)
        apply_there(s->space, true, r, a);
    else
        mgk_residual_multiply(s->work, r, a->w);
}

static void judge(const subject *s, const problem *p)
{
    static arrays a;
    const size_t pitch = mgk_reduction_pitch(p->n);
    const mgk_residual r = describe(p, &a);
    const double noise = mgk_residual_noise(&r);
    apply(s, &r, &a);
    for (size_t v = 0; v < VECTORS; v++) {
        for (size_t i = 0; i < p->n; i++)
            assert_close(a.w[v * pitch + i], expected(p, v, i), noise, 0x1p-50);
        for (size_t i = p->n; i < pitch; i++)
            assert_true(a.w[v * pitch + i] == 0);
    }
}

/* On the device of *state, or if it is NULL on every level of the CPU. */
static void everywhere(void **state, void (*run)(const subject *s))
{
    subject s = {.space = *state};
    if (s.space) {
        run(&s);
        return;
    }
    for (size_t l = 0; l < LEVELS; l++) {
        setenv("MGK_CPU_LEVEL", levels[l], 1);
        assert_ok(mgk_residual_open(LARGEST, &s.work));
        run(&s);
        mgk_residual_close(s.work);
    }
    unsetenv("MGK_CPU_LEVEL");
}

static void check_images(const subject *s)
{
    static problem p;
    for (uint64_t seed = 0; seed < 40; seed++) {
        make(seed, 1 + seed * (LARGEST - 1) / 39, seed % 2, seed % 4 > 1, &p);
        judge(s, &p);
    }
}

static void images_are_exact(void **state)
{
    everywhere(state, check_images);
}

/* Numbers that agree in 60 digits leave a difference of a few digits. */
static void check_differences(const subject *s)
{
    static problem p;
    static arrays a;
    for (size_t n = 1; n <= LARGEST; n += 19) {
        make_exact(n, n, &p);
        mgk_residual r = describe(&p, &a);
        r.x = 0x1p-68;
        apply(s, &r, &a);
        for (size_t v = 0; v < VECTORS; v++)
            for (size_t i = 0; i < n; i++)
                assert_close(a.w[v * mgk_reduction_pitch(n) + i], (double)p.w[v][i] * 0x1p-84,
                             0x1p-90, 0);
    }
}

static void nothing_is_lost_in_differences(void **state)
{
    everywhere(state, check_differences);
}

static void check_products(const subject *s)
{
    static problem p;
    static arrays a;
    for (uint64_t seed = 0; seed < 20; seed++) {
        make(seed, 1 + seed * 4, seed % 2, false, &p);
        const mgk_residual r = describe(&p, &a);
        multiply(s, &r, &a);
        for (size_t v = 0; v < VECTORS; v++)
            for (size_t i = 0; i < p.n; i++) {
                int64_t sum = 0;
                for (size_t j = 0; j < p.n; j++)
                    sum += p.c[i][j] * p.w[v][j];
                assert_true(a.w[v * mgk_reduction_pitch(p.n) + i] == (double)sum * 0x1p-30);
            }
    }
}

static void products_are_rounded_once(void **state)
{
    everywhere(state, check_products);
}

/* More vectors than read a matrix together, and several parts of rows: as one vector at a time. */
static void vectors_are_independent(void **state)
{
    enum { ORDER = 261, COUNT = 5 };
    workspace *space = *state;
    mgk_device *device = space->device;
    const size_t square = ORDER * ORDER, bytes = COUNT * ORDER * sizeof(double);
    mgk_residual_arrays *work;
    double *w = aligned_alloc(64, VECTORS * mgk_reduction_pitch(ORDER) * sizeof *w);
    double *rows = random_values(space, COUNT * ORDER);
    const double *c = random_values(space, square), *k = random_values(space, square);
    const double *b = random_values(space, ORDER);
    mgk_residual r = {.n = ORDER,
                      .c = c,
                      .stride = ORDER,
                      .b = b,
                      .b_squares = 2 * ORDER,
                      .factor = 0.3,
                      .x = 0.7,
                      .k = k,
                      .k_stride = ORDER,
                      .norm = 2.0 * ORDER * ORDER,
                      .growth = 100.0 * ORDER * ORDER}; /* bounds, larger than needed */
    mgk_residual there = r;
    double *images = upload_bytes(space, bytes, rows), *found = host_array(space, COUNT * ORDER);
    there.c = upload_bytes(space, square * sizeof *c, c);
    there.k = upload_bytes(space, square * sizeof *k, k);
    there.b = upload_bytes(space, ORDER * sizeof *b, b);
    assert_ok(device->op->spectral->residual_images(device, &there, COUNT, images));
    assert_ok(device->op->download(device, found, images, bytes));
    assert_ok(mgk_residual_open(ORDER, &work));
    for (size_t v = 0; v < COUNT; v++) {
        memset(w, 0, VECTORS * mgk_reduction_pitch(ORDER) * sizeof *w);
        memcpy(w, rows + v * ORDER, ORDER * sizeof *w);
        mgk_residual_apply(work, &r, w);
        for (size_t i = 0; i < ORDER; i++)
            assert_close(found[v * ORDER + i], w[i], 1e-22 * r.growth, 0x1p-50);
    }
    mgk_residual_close(work);
    free(w);
}

/* Every bit and every place counts. */
static void hashes_differ(void **state)
{
    enum { ROWS = 37, COLUMNS = 70, STRIDE = 73 };
    workspace *space = *state;
    mgk_device *device = space->device;
    double *a = random_values(space, ROWS * STRIDE);
    const size_t bytes = ROWS * STRIDE * sizeof *a, places[] = {0, 69, 36 * 73 + 69};
    double *there = upload_bytes(space, bytes, a);
    uint64_t first, again;
    assert_ok(device->op->spectral->hash_entries(device, ROWS, COLUMNS, STRIDE, there, &first));
    for (size_t i = 0; i < 3; i++) {
        const double before = a[places[i]];
        a[places[i]] = nextafter(before, 9);
        assert_ok(device->op->upload(device, there, a, bytes));
        assert_ok(device->op->spectral->hash_entries(device, ROWS, COLUMNS, STRIDE, there, &again));
        assert_true(again != first);
        a[places[i]] = before;
    }
    a[COLUMNS] = 1; /* between the rows */
    assert_ok(device->op->upload(device, there, a, bytes));
    assert_ok(device->op->spectral->hash_entries(device, ROWS, COLUMNS, STRIDE, there, &again));
    assert_true(again == first);
    const double swapped = a[0];
    a[0] = a[1];
    a[1] = swapped;
    assert_ok(device->op->upload(device, there, a, bytes));
    assert_ok(device->op->spectral->hash_entries(device, ROWS, COLUMNS, STRIDE, there, &again));
    assert_true(again != first);
}

static bool has_residual(const mgk_operations *op)
{
    return op->spectral->residual_images != NULL;
}

static int test_device(void)
{
    workspace space = {0};
#define ON_DEVICE(test) \
    cmocka_unit_test_prestate_setup_teardown(test, NULL, release_workspace, &space)
    const struct CMUnitTest tests[] = {
        ON_DEVICE(images_are_exact),
        ON_DEVICE(nothing_is_lost_in_differences),
        ON_DEVICE(products_are_rounded_once),
        ON_DEVICE(vectors_are_independent),
        ON_DEVICE(hashes_differ),
    };
    return run_where(&space, MGK_DOUBLE, has_residual, sizeof tests / sizeof *tests, tests);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_exact),
        cmocka_unit_test(nothing_is_lost_in_differences),
        cmocka_unit_test(products_are_rounded_once),
    };
    if (getenv("MGK_TEST_DEVICE"))
        return test_device();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
