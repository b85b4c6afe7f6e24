/* SPDX-License-Identifier: MIT */
/* Adaptive softmax against its definition, for any blocks. */
#include "test.h"

#include <math.h>

#include "base/random.h"
#include "model/core/adaptive.h"

enum { DIM = 5, WORDS = 23, CLUSTERS = 3, ROWS = 37 };

static const int cutoffs[CLUSTERS] = {12, 13, 18}; /* the first cluster has one word */

/* Weights, biases, hidden states and targets, on the host and on a device. */
typedef struct problem {
    mgk_device *device;
    double words[WORDS * DIM], bias[WORDS], clusters[CLUSTERS * DIM], cluster_bias[CLUSTERS];
    double hidden[ROWS * DIM];
    int32_t targets[ROWS];
    void *arrays[16];
    int count;
    mgk_adaptive output;
    const void *hidden_;
    const int32_t *targets_;
    mgk_loss *loss_;
    mgk_adaptive_gradient gradient;
} problem;

static void draw(double *values, size_t count, uint64_t stream)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (double)(float)mgk_random_normal(1, stream, i);
}

static void *put(problem *p, const void *host, size_t bytes)
{
    void *array;
    assert_ok(p->device->op->allocate(p->device, bytes, &array));
    assert_ok(p->device->op->upload(p->device, array, host, bytes));
    return p->arrays[p->count++] = array;
}

static void *put_reals(problem *p, const double *values, size_t count)
{
    float single[WORDS * DIM + ROWS * DIM];
    for (size_t i = 0; i < count; i++)
        single[i] = (float)values[i];
    bool doubles = p->device->precision == MGK_DOUBLE;
    return put(p, doubles ? (const void *)values : single, count * p->device->real_size);
}

static void open_problem(problem *p, mgk_precision precision, bool biases)
{
    const mgk_loss before = {.sum = 1, .count = 2, .correct = 0};
    *p = (problem){.count = 0};
    draw(p->words, WORDS * DIM, 1);
    draw(p->bias, WORDS, 2);
    draw(p->clusters, CLUSTERS * DIM, 3);
    draw(p->cluster_bias, CLUSTERS, 4);
    draw(p->hidden, ROWS * DIM, 5);
    for (int i = 0; i < ROWS; i++) /* every word at least once, and some rows without a target */
        p->targets[i] = i < WORDS ? i : i % 5 - 2;
    for (int i = 0; i < WORDS * DIM; i++) /* some are easy to guess */
        p->hidden[i] += 2 * p->words[i];
    assert_ok(mgk_device_open("cpu", precision, 2, &p->device));
    p->output = (mgk_adaptive){.dim = DIM,
                               .vocabulary = WORDS,
                               .clusters = CLUSTERS,
                               .cutoffs = cutoffs,
                               .words = put_reals(p, p->words, WORDS * DIM),
                               .cluster_weight = put_reals(p, p->clusters, CLUSTERS * DIM)};
    if (biases) {
        p->output.bias = put_reals(p, p->bias, WORDS);
        p->output.cluster_bias = put_reals(p, p->cluster_bias, CLUSTERS);
    }
    p->hidden_ = put_reals(p, p->hidden, ROWS * DIM);
    p->targets_ = put(p, p->targets, sizeof(p->targets));
    p->loss_ = put(p, &before, sizeof(before));
}

static void close_problem(problem *p)
{
    for (int i = 0; i < p->count; i++)
        p->device->op->release(p->device, p->arrays[i]);
    mgk_device_close(p->device);
}

static double logit(const double *hidden, const double *weights, const double *bias, int row)
{
    double sum = bias ? bias[row] : 0;
    for (int c = 0; c < DIM; c++)
        sum += hidden[c] * weights[row * DIM + c];
    return sum;
}

/* ln of the sum of exponentials over the words first … end − 1. */
static double total(const problem *p, const double *hidden, const double *bias, int first, int end)
{
    double sum = 0;
    for (int w = first; w < end; w++)
        sum += exp(logit(hidden, p->words, bias, w));
    return sum;
}

/* p(w) by definition. */
static double probability(const problem *p, const double *hidden, int word)
{
    bool biases = p->output.bias;
    const double *bias = biases ? p->bias : NULL;
    const double *cluster_bias = biases ? p->cluster_bias : NULL;
    double head = total(p, hidden, bias, 0, cutoffs[0]);
    for (int k = 0; k < CLUSTERS; k++)
        head += exp(logit(hidden, p->clusters, cluster_bias, k));
    double own = exp(logit(hidden, p->words, bias, word));
    for (int k = CLUSTERS - 1; k >= 0; k--) {
        int end = k + 1 < CLUSTERS ? cutoffs[k + 1] : WORDS;
        if (word >= cutoffs[k])
            return exp(logit(hidden, p->clusters, cluster_bias, k)) / head * own /
                   total(p, hidden, bias, cutoffs[k], end);
    }
    return own / head;
}

static void expect(const problem *p, mgk_loss *expected)
{
    *expected = (mgk_loss){.sum = 1, .count = 2};
    for (int i = 0; i < ROWS; i++) {
        const double *hidden = p->hidden + i * DIM;
        int target = p->targets[i];
        if (target < 0)
            continue;
        double own = probability(p, hidden, target), all = 0;
        bool first = target < cutoffs[0];
        for (int w = 0; w < WORDS; w++) {
            all += probability(p, hidden, w);
            first = first && (w >= cutoffs[0] || probability(p, hidden, w) <= own);
        }
        for (int k = 0; k < CLUSTERS; k++)
            first =
                first && logit(hidden, p->clusters, p->output.bias ? p->cluster_bias : NULL, k) <=
                             logit(hidden, p->words, p->output.bias ? p->bias : NULL, target);
        assert_close(all, 1, 1e-12, 0);
        expected->sum -= log(own);
        expected->count++;
        expected->correct += first;
    }
}

static void test_losses(void **state)
{
    (void)state;
    static const size_t blocks[] = {0, 1, 20, 40, 200};
    for (int i = 0; i < 20; i++) {
        problem p;
        mgk_loss expected, found;
        open_problem(&p, i % 2 ? MGK_DOUBLE : MGK_SINGLE, i / 2 % 2);
        p.output.block = blocks[i / 4];
        expect(&p, &expected);
        assert_true(expected.correct > 2 && expected.correct < ROWS / 2);
        assert_ok(mgk_adaptive_loss(p.device, &p.output, ROWS, p.hidden_, p.targets_, p.loss_));
        assert_ok(p.device->op->download(p.device, &found, p.loss_, sizeof(found)));
        assert_close(found.sum, expected.sum, i % 2 ? 1e-12 : 1e-5, 1e-12);
        assert_int_equal(found.count, expected.count);
        assert_int_equal(found.correct, expected.correct);
        close_problem(&p);
    }
}

static void test_no_rows(void **state)
{
    (void)state;
    problem p;
    mgk_loss found;
    open_problem(&p, MGK_DOUBLE, true);
    assert_ok(mgk_adaptive_loss(p.device, &p.output, 0, p.hidden_, p.targets_, p.loss_));
    assert_ok(p.device->op->download(p.device, &found, p.loss_, sizeof(found)));
    assert_true(found.sum == 1 && found.count == 2 && found.correct == 0);
    close_problem(&p);
}

/* The loss with double numbers as they are now on the device. */
static double loss_of(const problem *p)
{
    const mgk_loss none = {.sum = 0};
    mgk_loss found;
    assert_ok(p->device->op->upload(p->device, p->loss_, &none, sizeof(none)));
    assert_ok(mgk_adaptive_loss(p->device, &p->output, ROWS, p->hidden_, p->targets_, p->loss_));
    assert_ok(p->device->op->download(p->device, &found, p->loss_, sizeof(found)));
    return found.sum;
}

/* The numbers of an array and their gradients, which begin with `before`, against differences. */
static void expect_gradient(const problem *p, const void *array, double *values, size_t count,
                            const void *gradient, double before)
{
    static const double step = 1e-5;
    double found[ROWS * DIM];
    assert_true(count <= ROWS * DIM);
    assert_ok(p->device->op->download(p->device, found, gradient, count * sizeof(double)));
    for (size_t i = 0; i < count; i++) {
        const double value = values[i];
        double loss[2];
        for (int side = 0; side < 2; side++) {
            values[i] = value + (side ? step : -step);
            assert_ok(p->device->op->upload(p->device, (void *)(size_t)array, values,
                                            count * sizeof(double)));
            loss[side] = loss_of(p);
        }
        values[i] = value;
        const double slope = (loss[1] - loss[0]) / (2 * step);
        /* the third derivative of a sum of 37 cross-entropies times step², and rounding / step */
        assert_close(found[i], before + p->gradient.scale * slope, 1e-7, 1e-7);
    }
    assert_ok(
        p->device->op->upload(p->device, (void *)(size_t)array, values, count * sizeof(double)));
}

/* Parameters have a gradient before, to which this is added; hidden states do not. */
static void open_gradient(problem *p, bool biases, double before)
{
    double filled[WORDS * DIM];
    for (size_t i = 0; i < WORDS * DIM; i++)
        filled[i] = before;
    p->gradient = (mgk_adaptive_gradient){.scale = 0.25,
                                          .words = put_reals(p, filled, WORDS * DIM),
                                          .cluster_weight = put_reals(p, filled, CLUSTERS * DIM),
                                          .hidden = put_reals(p, p->hidden, ROWS * DIM)};
    if (biases) {
        p->gradient.bias = put_reals(p, filled, WORDS);
        p->gradient.cluster_bias = put_reals(p, filled, CLUSTERS);
    }
}

static void test_gradients(void **state)
{
    static const size_t blocks[] = {0, 20, 40, 200};
    (void)state;
    for (int i = 0; i < 8; i++) {
        problem p;
        const bool biases = i % 2;
        open_problem(&p, MGK_DOUBLE, biases);
        p.output.block = blocks[i / 2];
        open_gradient(&p, biases, 0.5);
        assert_ok(
            mgk_adaptive_backward(p.device, &p.output, ROWS, p.hidden_, p.targets_, &p.gradient));
        expect_gradient(&p, p.output.words, p.words, WORDS * DIM, p.gradient.words, 0.5);
        expect_gradient(&p, p.output.cluster_weight, p.clusters, CLUSTERS * DIM,
                        p.gradient.cluster_weight, 0.5);
        expect_gradient(&p, p.hidden_, p.hidden, ROWS * DIM, p.gradient.hidden, 0);
        if (biases) {
            expect_gradient(&p, p.output.bias, p.bias, WORDS, p.gradient.bias, 0.5);
            expect_gradient(&p, p.output.cluster_bias, p.cluster_bias, CLUSTERS,
                            p.gradient.cluster_bias, 0.5);
        }
        close_problem(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_losses),
                                       cmocka_unit_test(test_gradients),
                                       cmocka_unit_test(test_no_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
