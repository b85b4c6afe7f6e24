/* SPDX-License-Identifier: MIT */
/* Dropout of attention against its definition: values that are the identity make the output the
 * matrix itself. The mask is the same on every level, in both precisions and with more threads. */
#include <string.h>

#include "workspace.h"

enum { SAMPLES = 2, HEADS = 3, DIM = 5 };

/* The factor of entry j in row `row` of all matrices. */
static double factor(const mgk_draw *draw, uint64_t site, double rate, size_t row, size_t j,
                     size_t n)
{
    const mgk_random4 block =
        mgk_random_block(draw->seed, draw->stream + site, row * ((n + 3) / 4) + j / 4);
    return block.word[j % 4] >= (uint32_t)ceil(rate * 0x1p32) ? 1 / (1 - rate) : 0;
}

/* Each key's value is its unit vector, in every head. */
static double *unit_values(workspace *space, size_t n)
{
    double *values = host_array(space, SAMPLES * n * HEADS * n);
    memset(values, 0, SAMPLES * n * HEADS * n * sizeof(*values));
    for (size_t t = 0; t < SAMPLES * n; t++)
        for (size_t h = 0; h < HEADS; h++)
            values[(t * HEADS + h) * n + t % n] = 1;
    return values;
}

static void compare(workspace *space, size_t n, bool causal, bool gaussian, double rate)
{
    mgk_device *device = space->device;
    const int32_t lengths[SAMPLES] = {(int32_t)n, (int32_t)(n + 1) / 2}, heads[] = {0, 1, 2};
    const mgk_draw draw = {.seed = 11, .stream = 70, .samples = 3};
    const size_t size = HEADS * n * n, vectors = SAMPLES * n * HEADS * DIM;
    const mgk_attention_view view = {.samples = SAMPLES,
                                     .heads = HEADS,
                                     .tokens = (int)n,
                                     .dim = DIM,
                                     .mixtures = 1,
                                     .value_dim = (int)n,
                                     .causal = causal,
                                     .lengths = upload_bytes(space, sizeof(lengths), lengths),
                                     .query = upload(space, vectors, random_values(space, vectors)),
                                     .key = upload(space, vectors, random_values(space, vectors)),
                                     .value = upload(space, SAMPLES * size, unit_values(space, n)),
                                     .query_stride = HEADS * DIM,
                                     .key_stride = HEADS * DIM,
                                     .value_stride = HEADS * n};
    mgk_mixture mixture = {.scale = {0.4}, .gaussian = gaussian};
    const void *numbers = upload_bytes(space, sizeof(heads), heads);
    void *out = upload(space, SAMPLES * size, unit_values(space, n));
    void *statistic = upload(space, SAMPLES * HEADS * n, host_array(space, SAMPLES * HEADS * n));
    double *matrices[SAMPLES];
    for (int b = 0; b < SAMPLES; b++) {
        void *matrix = upload(space, size, host_array(space, size));
        assert_ok(device->op->mixture_matrix(device, &view, &mixture, MGK_MATRIX_ATTENTION, b, 1,
                                             numbers, HEADS, matrix));
        matrices[b] = download(space, size, matrix);
    }
    mixture.dropout = rate;
    mixture.draw = upload_bytes(space, sizeof(draw), &draw);
    mixture.site = 3;
    assert_ok(device->op->mixture_attention(device, &view, &mixture, out, HEADS * n, statistic));
    const double *found = download(space, SAMPLES * size, out);
    size_t dropped = 0, seen = 0;
    for (size_t b = 0; b < SAMPLES; b++)
        for (size_t h = 0; h < HEADS; h++)
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++) {
                    const double a = matrices[b][(h * n + i) * n + j];
                    const double expected =
                        a * factor(&draw, 3, rate, ((3 + b) * HEADS + h) * n + i, j, n);
                    assert_close(found[((b * n + i) * HEADS + h) * n + j], expected,
                                 space->tolerance, 0);
                    seen += a > 0;
                    dropped += a > 0 && expected == 0;
                }
    if (n > 100)
        assert_close((double)dropped / (double)seen, rate, 0.01, 0);
    workspace_release(space);
}

static void compare_all(workspace *space)
{
    static const size_t sizes[] = {1, 2, 37, 131};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int causal = 0; causal < 2; causal++) {
            compare(space, sizes[i], causal, i % 2, 0.3);
            compare(space, sizes[i], causal, !(i % 2), 0.75);
        }
    if (space->device->precision == MGK_SINGLE && space->device->threads == 1)
        compare(space, 1100, false, false, 0.1); /* words of several draws */
}

static void entries_are_dropped(void **state)
{
    (void)state;
    on_whole_devices(MGK_SINGLE, 3, compare_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(entries_are_dropped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
