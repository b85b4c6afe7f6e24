/* SPDX-License-Identifier: MIT */
/*
 * QR of panels alone, with more rows and other clusters than the tests of whole reductions have:
 * rows in registers and in global memory, with one block and with several.
 */
#include <string.h>

#include <vector>

#include "kernels/cuda/spectral/panel.h"

extern "C" {
#include "test.h"
}

enum {
    WIDTH = MGK_BAND_WIDTH,
    PANELS = 2,
    ACROSS = 2,
    DOWN = ACROSS * WIDTH + 3,
    BAND = WIDTH * DOWN + 7
};

/* Panels on the device; `pitch` is more than the rows. */
struct panels_case {
    mgk_device *device;
    size_t rows, pitch, apart;
    std::vector<double> a, v, t, band;
    double scales[PANELS];
};

static double *upload(mgk_device *device, const std::vector<double> &host)
{
    void *there;
    assert_ok(device->op->allocate(device, host.size() * sizeof(double), &there));
    assert_ok(device->op->upload(device, there, host.data(), host.size() * sizeof(double)));
    return (double *)there;
}

static void take(mgk_device *device, double *there, std::vector<double> &host)
{
    assert_ok(device->op->download(device, host.data(), there, host.size() * sizeof(double)));
    device->op->release(device, there);
}

/* Equal panels of different scales: of random entries, but column 5 is 0. */
static panels_case make_case(mgk_device *device, size_t rows)
{
    panels_case c = {};
    uint64_t state = rows;
    c.device = device;
    c.rows = rows;
    c.pitch = rows + 3;
    c.apart = c.pitch * WIDTH + 5;
    c.a.resize(PANELS * c.apart);
    for (size_t e = 0; e < c.apart; e++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double entry = e / c.pitch == 5 ? 0 : (double)(state >> 11) * 0x1p-52 - 1;
        for (size_t p = 0; p < PANELS; p++)
            c.a[p * c.apart + e] = entry;
    }
    for (size_t p = 0; p < PANELS; p++)
        c.scales[p] = ldexp(1, (int)p);
    c.v.assign(PANELS * c.apart, NAN);
    c.t.assign(PANELS * WIDTH * WIDTH, NAN);
    c.band.assign(PANELS * BAND, NAN);
    return c;
}

static void factor(panels_case &c, size_t most_blocks)
{
    double *a = upload(c.device, c.a), *v = upload(c.device, c.v), *t = upload(c.device, c.t);
    double *band = upload(c.device, c.band);
    double *scales = upload(c.device, std::vector<double>(c.scales, c.scales + PANELS));
    mgk_panels panels = {};
    panels.count = PANELS;
    panels.rows = c.rows;
    panels.a = {a, c.pitch, c.apart};
    panels.v = {v, c.pitch, c.apart};
    panels.t = t;
    panels.band = band;
    panels.band_apart = BAND;
    panels.down = DOWN;
    panels.across = ACROSS;
    panels.scales = scales;
    assert_ok(mgk_cuda_factor_panels(c.device, &panels, most_blocks));
    assert_ok(c.device->op->synchronize(c.device));
    take(c.device, v, c.v);
    take(c.device, t, c.t);
    take(c.device, band, c.band);
    c.device->op->release(c.device, a);
    c.device->op->release(c.device, scales);
}

/* V has a unit lower triangle, T is an upper one. */
static void assert_shapes(const panels_case &c, size_t panel)
{
    for (size_t j = 0; j < WIDTH; j++)
        for (size_t i = 0; i <= j; i++) {
            assert_true(c.v[panel * c.apart + j * c.pitch + i] == (i == j ? 1 : 0));
            if (i < j)
                assert_true(c.t[(panel * WIDTH + i) * WIDTH + j] == 0);
        }
}

/* Entry (i, j) of [R; 0]. */
static double entry_of_r(const panels_case &c, size_t panel, size_t i, size_t j)
{
    return i > j ? 0 : c.band[panel * BAND + i * DOWN + j * ACROSS] / c.scales[panel];
}

/* x ← (I − V op(T) Vᵀ) x. */
static void reflect(const panels_case &c, size_t panel, bool transposed, std::vector<double> &x)
{
    const double *v = &c.v[panel * c.apart], *t = &c.t[panel * WIDTH * WIDTH];
    double products[WIDTH] = {}, factors[WIDTH] = {};
    for (size_t k = 0; k < WIDTH; k++)
        for (size_t i = 0; i < c.rows; i++)
            products[k] += v[k * c.pitch + i] * x[i];
    for (size_t k = 0; k < WIDTH; k++)
        for (size_t m = 0; m < WIDTH; m++)
            factors[k] += (transposed ? t[k * WIDTH + m] : t[m * WIDTH + k]) * products[m];
    for (size_t k = 0; k < WIDTH; k++)
        for (size_t i = 0; i < c.rows; i++)
            x[i] -= v[k * c.pitch + i] * factors[k];
}

/* Q [R; 0] = A and Qᵀ A = [R; 0], for Q = I - V T Vᵀ. */
static void assert_factors(const panels_case &c, size_t panel)
{
    const double tolerance = 32 * sqrt((double)c.rows) * 0x1p-53;
    for (size_t j = 0; j < WIDTH; j++) {
        const double *a = &c.a[panel * c.apart + j * c.pitch];
        std::vector<double> there(a, a + c.rows), back(c.rows);
        for (size_t i = 0; i < c.rows; i++)
            back[i] = entry_of_r(c, panel, i, j);
        reflect(c, panel, true, there);
        reflect(c, panel, false, back);
        for (size_t i = 0; i < c.rows; i++) {
            assert_close(there[i], entry_of_r(c, panel, i, j), tolerance, 0);
            assert_close(back[i], a[i], tolerance, 0);
        }
    }
}

static void check(void **state, size_t rows, size_t most_blocks)
{
    panels_case c = make_case((mgk_device *)*state, rows);
    factor(c, most_blocks);
    for (size_t p = 0; p < PANELS; p++) {
        assert_shapes(c, p);
        assert_factors(c, p);
    }
    assert_memory_equal(&c.t[0], &c.t[WIDTH * WIDTH], WIDTH * WIDTH * sizeof(double));
    for (size_t e = 0; e < c.pitch * WIDTH; e++)
        if (e % c.pitch < rows)
            assert_true(c.v[e] == c.v[c.apart + e]);
}

static void rows_in_registers(void **state)
{
    const size_t rows[] = {32, 33, 129, 300, 1000, 4096};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(state, rows[i], MGK_CLUSTER_PORTABLE);
    check(state, 512, 1);
    check(state, 513, 2);
}

static void rows_in_memory(void **state)
{
    check(state, 513, 1);
    check(state, 1100, 1);
    check(state, 1300, 2);
    check(state, 4097, MGK_CLUSTER_PORTABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_registers),
        cmocka_unit_test(rows_in_memory),
    };
    mgk_device *device;
    if (mgk_device_open("cuda", MGK_DOUBLE, 1, &device) != STATUS_OK)
        return 1;
    for (const CMUnitTest &test : tests)
        *const_cast<void **>(&test.initial_state) = device;
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    mgk_device_close(device);
    return failures;
}
