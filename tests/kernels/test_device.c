/* SPDX-License-Identifier: MIT */
/* Features of a device other than arithmetic: mirrors, memory, TF32. */
#include <math.h>
#include <stdio.h>

#include "workspace.h"

/* Sets x [count] = value (first + 1), value (first + 2), … on the device. */
static void fill(workspace *space, void *x, size_t count, double value)
{
    mgk_device *device = space->device;
    double *host = host_array(space, count);
    for (size_t i = 0; i < count; i++)
        host[i] = value * (double)(i + 1);
    assert_ok(device->op->copy(device, x, upload(space, count, host), count * device->real_size));
}

static void assert_filled(const mgk_device *device, const void *x, size_t count, double value)
{
    for (size_t i = 0; i < count; i++) {
        double found = device->precision == MGK_DOUBLE ? ((const double *)x)[i]
                                                       : (double)((const float *)x)[i];
        if (!(fabs(found - value * (double)(i + 1)) <= 0))
            fail_msg("[%zu]: %g, expected %g", i, found, value * (double)(i + 1));
    }
}

/* Two mirrors used alternately, as in an export: one is copied while the other is filled. Their
 * arrays follow one another: what the first one is filled with reaches into the second. */
static void mirrors_take_turns(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    const size_t count = rows * cols;
    mgk_mirror mirrors[2];
    assert_ok(device->op->mirror_open(device, 2, count * device->real_size, mirrors));
    for (int i = 0; i < 2; i++)
        assert_int_equal(mirrors[i].bytes, count * device->real_size);
    fill(space, mirrors[0].array, 2 * count, 1);
    for (int i = 0; i < 2; i++)
        assert_ok(device->op->mirror_send(device, &mirrors[i]));
    for (int i = 0; i < 2; i++)
        assert_ok(device->op->mirror_wait(device, &mirrors[i]));
    assert_filled(device, mirrors[0].host, 2 * count, 1);
    for (int round = 0; round < 5; round++) {
        const mgk_mirror *now = &mirrors[round % 2], *before = &mirrors[(round + 1) % 2];
        fill(space, now->array, count, round + 1);
        assert_ok(device->op->mirror_send(device, now));
        if (round == 0)
            continue;
        assert_ok(device->op->mirror_wait(device, before));
        assert_filled(device, before->host, count, round);
    }
    device->op->mirror_close(device, 2, mirrors); /* while a copy is running */
}

/* A mirror that was sent twice contains the last data; one of no bytes contains nothing. */
static void mirrors_send_again(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    mgk_mirror mirror, empty, none = {0};
    assert_ok(device->op->mirror_open(device, 1, rows * cols * device->real_size, &mirror));
    assert_ok(device->op->mirror_open(device, 1, 0, &empty));
    assert_ok(device->op->mirror_wait(device, &mirror)); /* nothing was sent */
    for (int value = 1; value <= 2; value++) {
        fill(space, mirror.array, rows * cols, value);
        assert_ok(device->op->mirror_send(device, &mirror));
        assert_ok(device->op->mirror_wait(device, &mirror));
        assert_filled(device, mirror.host, rows * cols, value);
    }
    assert_ok(device->op->mirror_send(device, &empty));
    assert_ok(device->op->mirror_wait(device, &empty));
    device->op->mirror_close(device, 1, &mirror);
    device->op->mirror_close(device, 1, &empty);
    device->op->mirror_close(device, 1, &none);
    assert_null(mirror.array);
    assert_null(mirror.host);
}

static void knows_its_memory(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    size_t left = 0, total = 0;
    (void)rows, (void)cols;
    assert_ok(device->op->memory(device, &left, &total));
    assert_true(left > 0);
    assert_true(left <= total);
    assert_true(total >= (size_t)1 << 26); /* true for any machine that runs this */
}

static bool is_cpu(const mgk_device *device)
{
    return strncmp(device->name, "cpu", 3) == 0;
}

/* Computes (1 + 2^-12) 1, which TF32 rounds to 1; returns the largest error. */
static double product(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    double *a = host_array(space, rows), *b = host_array(space, cols);
    for (size_t i = 0; i < rows; i++)
        a[i] = 1 + ldexp(1, -12);
    for (size_t j = 0; j < cols; j++)
        b[j] = 1;
    void *c = upload(space, rows * cols, host_array(space, rows * cols));
    assert_ok(device->op->multiply(device, false, false, rows, cols, 1, 1, upload(space, rows, a),
                                   1, upload(space, cols, b), cols, 0, c, cols));
    double worst = 0, *found = download(space, rows * cols, c);
    for (size_t i = 0; i < rows * cols; i++)
        worst = fmax(worst, fabs(found[i] - a[0]));
    return worst;
}

/* Products are exact to the last bit unless TF32 is allowed. */
static void tf32_is_a_choice(workspace *space, size_t rows, size_t cols)
{
    mgk_device *device = space->device;
    assert_true(product(space, rows, cols) <= 0);
    if (is_cpu(device) || device->precision == MGK_DOUBLE) {
        assert_fails(device->op->allow_tf32(device), STATUS_USAGE);
        assert_false(device->tf32);
        assert_null(strstr(device->name, "TF32"));
        return;
    }
    mgk_device *other;
    assert_ok(mgk_device_open(getenv("MGK_TEST_DEVICE"), MGK_SINGLE, 1, &other));
    assert_ok(other->op->allow_tf32(other));
    assert_ok(other->op->allow_tf32(other));
    assert_true(other->tf32);
    assert_non_null(strstr(other->name, " with TF32"));
    assert_null(strstr(strstr(other->name, "TF32") + 1, "TF32"));
    workspace rounded = {.device = other};
    assert_true(product(&rounded, rows, cols) <= ldexp(1, -11));
    workspace_release(&rounded);
    mgk_device_close(other);
    assert_true(product(space, rows, cols) <= 0);
}

static bool is_device(int number)
{
    mgk_device *found;
    char name[32];
    snprintf(name, sizeof(name), "cuda:%d", number);
    const bool there = mgk_device_open(name, MGK_SINGLE, 1, &found) == STATUS_OK;
    if (there)
        mgk_device_close(found);
    return there;
}

/* Several processes take one GPU after another, the first one again after the last; a number, and
 * the CPU, are the same for all. */
static void processes_take_turns(workspace *space, size_t rows, size_t cols)
{
    (void)rows, (void)cols;
    int count = 0;
    while (!is_cpu(space->device) && is_device(count))
        count++;
    for (int turn = 0; turn < 4; turn++) {
        mgk_device *found;
        char expected[32] = "cpu";
        assert_ok(mgk_device_open_in_turn(count ? "cuda" : "cpu", turn, MGK_SINGLE, 1, &found));
        if (count)
            snprintf(expected, sizeof(expected), "cuda:%d (", turn % count);
        assert_int_equal(strncmp(found->name, expected, strlen(expected)), 0);
        mgk_device_close(found);
    }
    if (count == 0)
        return;
    mgk_device *first;
    assert_ok(mgk_device_open_in_turn("cuda:0", 3, MGK_SINGLE, 1, &first));
    assert_int_equal(strncmp(first->name, "cuda:0 (", 8), 0);
    mgk_device_close(first);
}

int main(void)
{
    check checks[] = {
        {.name = "mirrors_take_turns", .run = mirrors_take_turns},
        {.name = "mirrors_send_again", .run = mirrors_send_again},
        {.name = "knows_its_memory", .run = knows_its_memory},
        {.name = "tf32_is_a_choice", .run = tf32_is_a_choice},
        {.name = "processes_take_turns", .run = processes_take_turns},
    };
    return run_checks(MGK_SINGLE, MGK_DOUBLE, sizeof checks / sizeof *checks, checks);
}
