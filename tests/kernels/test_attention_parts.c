/* SPDX-License-Identifier: MIT */
/* Gradients of attention to so many keys that they are summed part by part, with most of what a
 * mixture may have, against differences of its output along random directions, in float64. The
 * largest cases of test_attention_gradient.c have parts, too, and maxima. */
#include <string.h>

#include "workspace.h"

enum { SAMPLES = 2, HEADS = 2, DIM = 3, VALUE_DIM = 5, MIXTURES = 3 };
enum { WIDTH = HEADS * DIM, VALUE_WIDTH = HEADS * VALUE_DIM };

/* What has a gradient. */
typedef enum input { QUERY, KEY, VALUE, PRIOR, BIAS, FULL, INPUTS } input;

/* One problem: the mixture's own fields, and which inputs there are. */
typedef struct problem {
    size_t tokens, keys; /* keys: 0: as many */
    bool causal, biased, full;
    bool blank; /* priors are 0, so rows are uniform */
    mgk_mixture mixture;
} problem;

typedef struct numbers {
    size_t count[INPUTS]; /* 0: there is no such input */
    const double *host[INPUTS];
    void *device[INPUTS];
} numbers;

static size_t mixtures_of(const problem *p)
{
    return p->mixture.gaussian ? MIXTURES : 1;
}

static size_t keys_of(const problem *p)
{
    return p->keys > 0 ? p->keys : p->tokens;
}

static size_t outputs_of(const problem *p)
{
    return SAMPLES * p->tokens * VALUE_WIDTH;
}

static size_t bias_tokens_of(const problem *p)
{
    return p->tokens > keys_of(p) ? p->tokens : keys_of(p);
}

static numbers draw_numbers(workspace *space, const problem *p)
{
    const size_t keys = keys_of(p), mixtures = mixtures_of(p);
    numbers out = {.count = {SAMPLES * p->tokens * WIDTH, SAMPLES * keys * mixtures * WIDTH,
                             SAMPLES * keys * VALUE_WIDTH}};
    out.count[PRIOR] = p->mixture.gaussian ? HEADS * mixtures * keys : 0;
    out.count[BIAS] = p->biased ? HEADS * (2 * bias_tokens_of(p) - 1) : 0;
    out.count[FULL] = p->full ? p->tokens * keys : 0;
    for (int k = 0; k < INPUTS; k++) {
        double *values = random_values(space, out.count[k]);
        for (size_t i = 0; k == PRIOR && i < out.count[k]; i++)
            values[i] = p->blank     ? 0
                        : i % 7 == 3 ? 1.5 /* clamped */
                                     : 0.125 + 0.75 / (1 + exp(-values[i]));
        out.host[k] = values;
        out.device[k] = out.count[k] > 0 ? upload(space, out.count[k], values) : NULL;
    }
    return out;
}

static mgk_attention_view view_of(workspace *space, const problem *p, const numbers *in)
{
    const int32_t n = (int32_t)p->tokens, lengths[SAMPLES] = {n, n * 2 / 3};
    const int32_t keys = (int32_t)keys_of(p), key_lengths[SAMPLES] = {keys - 1, keys};
    return (mgk_attention_view){
        .samples = SAMPLES,
        .heads = HEADS,
        .tokens = n,
        .dim = DIM,
        .mixtures = (int)mixtures_of(p),
        .causal = p->causal,
        .lengths = upload_bytes(space, sizeof(lengths), lengths),
        .key_tokens = p->keys > 0 ? keys : 0,
        .key_lengths = p->keys > 0 ? upload_bytes(space, sizeof(key_lengths), key_lengths) : NULL,
        .value_dim = VALUE_DIM,
        .query = in->device[QUERY],
        .key = in->device[KEY],
        .value = in->device[VALUE],
        .query_stride = WIDTH,
        .key_stride = mixtures_of(p) * WIDTH,
        .value_stride = VALUE_WIDTH};
}

static mgk_mixture mixture_of(const problem *p, const numbers *in)
{
    mgk_mixture mixture = p->mixture;
    if (mixture.gaussian)
        mixture.prior = (mgk_prior_view){in->device[PRIOR], mixtures_of(p) * keys_of(p), keys_of(p),
                                         1, in->count[PRIOR]};
    mixture.terms.bias = in->device[BIAS];
    mixture.terms.bias_tokens = bias_tokens_of(p);
    mixture.terms.full = in->device[FULL];
    return mixture;
}

/* Σ weight · output after step · direction is added to an input. */
static double loss_at(workspace *space, const problem *p, numbers in, int which,
                      const double *direction, double step, const double *weight)
{
    workspace own = {.device = space->device};
    const size_t outputs = outputs_of(p), rows = SAMPLES * HEADS * p->tokens;
    double *moved = host_array(&own, in.count[which]), sum = 0;
    for (size_t i = 0; i < in.count[which]; i++)
        moved[i] = in.host[which][i] + step * direction[i];
    in.device[which] = upload(&own, in.count[which], moved);
    const mgk_attention_view view = view_of(&own, p, &in);
    const mgk_mixture mixture = mixture_of(p, &in);
    void *output = upload(&own, outputs, host_array(&own, outputs));
    void *statistic = upload(&own, rows, host_array(&own, rows));
    assert_ok(own.device->op->mixture_attention(own.device, &view, &mixture, output, VALUE_WIDTH,
                                                statistic));
    const double *found = download(&own, outputs, output);
    for (size_t i = 0; i < outputs; i++)
        sum += weight[i] * found[i];
    workspace_release(&own);
    return sum;
}

/* Of one input: its gradient against differences. */
static void check_input(workspace *space, const problem *p, const numbers *in, int which,
                        const void *gradient, const double *weight)
{
    const size_t count = in->count[which];
    const double *found = download(space, count, gradient);
    const double *direction = random_values(space, count), h = 1e-4;
    double product = 0, square = 0;
    for (size_t i = 0; i < count; i++) {
        product += found[i] * direction[i];
        square += found[i] * found[i];
    }
    const double near = loss_at(space, p, *in, which, direction, h, weight) -
                        loss_at(space, p, *in, which, direction, -h, weight);
    const double far = loss_at(space, p, *in, which, direction, 2 * h, weight) -
                       loss_at(space, p, *in, which, direction, -2 * h, weight);
    if (p->blank && which != VALUE)
        assert_true(square == 0);
    else
        assert_true(sqrt(square) > 0.1);
    assert_close(product, (8 * near - far) / (12 * h), 1e-6 * sqrt(square) + 1e-8, 0);
}

static void check_problem(workspace *space, const problem *p)
{
    workspace own = {.device = space->device, .stream = space->stream};
    const numbers in = draw_numbers(&own, p);
    const size_t outputs = outputs_of(p), rows = SAMPLES * HEADS * p->tokens;
    const double *weight = random_values(&own, outputs);
    const mgk_attention_view view = view_of(&own, p, &in);
    const mgk_mixture mixture = mixture_of(p, &in);
    void *output = upload(&own, outputs, host_array(&own, outputs));
    void *statistic = upload(&own, rows, host_array(&own, rows));
    void *out[INPUTS];
    for (int k = 0; k < INPUTS; k++)
        out[k] = in.count[k] > 0 ? upload(&own, in.count[k], host_array(&own, in.count[k])) : NULL;
    const mgk_attention_gradient gradient = {.query = out[QUERY],
                                             .key = out[KEY],
                                             .value = out[VALUE],
                                             .prior = out[PRIOR],
                                             .bias = out[BIAS],
                                             .full = out[FULL]};
    const mgk_operations *op = own.device->op;
    assert_ok(op->mixture_attention(own.device, &view, &mixture, output, VALUE_WIDTH, statistic));
    assert_ok(op->mixture_attention_backward(own.device, &view, &mixture, output, statistic,
                                             upload(&own, outputs, weight), VALUE_WIDTH,
                                             &gradient));
    for (int k = 0; k < INPUTS; k += TEST_STEP)
        if (in.count[k] > 0 && !(p->blank && k == PRIOR)) /* priors of 0 have no derivative */
            check_input(&own, p, &in, k, out[k], weight);
    workspace_release(&own);
}

static void check_problems(workspace *space)
{
    const mgk_draw draw = {.seed = 5, .stream = 9};
    const mgk_draw *drawn = upload_bytes(space, sizeof(draw), &draw);
    const mgk_mixture plain = {.scale = {0.5}},
                      dropping = {.scale = {0.5}, .dropout = 0.3, .draw = drawn};
    const mgk_mixture gaussian = {.scale = {0.5, 0.5, 0.5}, .gaussian = true};
    const mgk_mixture unequal = {
        .scale = {0.5, 0.2, 0.3}, .gaussian = true, .normalizer_epsilon = 1e-3};
    const mgk_mixture by_key = {.scale = {0.5}, .terms = {.bias_by_key = true}};
    mgk_mixture window = unequal;
    window.terms.window = 90;
    const problem problems[] = {
        {.tokens = 300, .mixture = plain},
        {.tokens = 300, .mixture = dropping},
        {.tokens = 300, .mixture = plain, .biased = true, .full = true},
        {.tokens = 300, .mixture = {.scale = {0.5}, .terms = {.cap = 2}}},
        {.tokens = 300, .mixture = gaussian},
        {.tokens = 300, .mixture = gaussian, .blank = true},
        {.tokens = 300, .mixture = unequal},
        {.tokens = 300, .mixture = window},
        {.tokens = 200, .keys = 420, .mixture = gaussian},
        {.tokens = 200, .keys = 420, .mixture = by_key, .biased = true, .full = true},
        {.tokens = 420, .keys = 200, .mixture = plain, .causal = true},
        {.tokens = 200, .mixture = {.scale = {0.1}, .unnormalized = true}},
        {.tokens = 1100, .mixture = plain, .causal = true, .full = true},
        {.tokens = 700, .mixture = unequal, .causal = true},
        {.tokens = 1100, .mixture = {.scale = {0.5}, .terms = {.window = 400}}, .biased = true},
    };
    for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
        check_problem(space, &problems[i]);
}

static void gradients_match_differences(void **state)
{
    (void)state;
    on_whole_devices(MGK_DOUBLE, 3, check_problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_match_differences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
