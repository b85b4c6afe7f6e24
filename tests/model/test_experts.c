/* SPDX-License-Identifier: MIT */
/* Mixtures of experts: the equations written out, and which experts tokens use. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/pass_case.h"

enum { DIM = 6, HIDDEN = 7, MOST_EXPERTS = 9, ROWS = CASE_SEQUENCES * CASE_TOKENS };

/* One layer whose attention adds nothing: x + mixture(norm x) of the embedded tokens x. */
static mgk_config mixture_config(int experts, int used, bool normalized, int shared)
{
    mgk_config config = case_config(MGK_FAMILY_LM, "softmax", 1);
    config.layers = 1;
    config.pre_norm = config.gated = true;
    config.final_norm = config.feed_forward_bias = false;
    config.norm = MGK_NORMALIZATION_RMS;
    config.activation = MGK_ACTIVATION_SILU;
    config.positions = MGK_POSITIONS_NONE;
    config.embedding_scale = 1;
    config.experts = experts;
    config.experts_used = used;
    config.experts_normalized = normalized;
    config.experts_shared = shared;
    return config;
}

/* The weights of a model, on the host. */
typedef struct weights {
    const mgk_model *model;
    double *all;
} weights;

static double *find(const weights *w, const char *name)
{
    const mgk_parameters *parameters = &w->model->parameters;
    for (size_t i = 0; i < parameters->count; i++)
        if (strcmp(parameters->list[i].name, name) == 0)
            return w->all + parameters->list[i].offset;
    fail_msg("no parameter \"%s\"", name);
    return NULL;
}

static weights open_weights(const mgk_model *model)
{
    weights w = {.model = model};
    assert_ok(mgk_alloc(model->parameters.total, sizeof(*w.all), &w.all));
    assert_ok(mgk_model_download(model, model->weights, w.all));
    memset(find(&w, "layers.0.attention.output.weight"), 0,
           (size_t)DIM * DIM * sizeof(double)); /* [C, H D] */
    assert_ok(mgk_model_upload(model, w.all, model->weights));
    return w;
}

static double dot(const double *a, const double *b, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* y += weight W_out (silu(W_gate x) W_in x). */
static void add_block(const double *gate, const double *in, const double *out, int hidden,
                      double weight, const double *x, double *y)
{
    for (int f = 0; f < hidden; f++) {
        const double g = dot(gate + f * DIM, x, DIM);
        const double h = g / (1 + exp(-g)) * dot(in + f * DIM, x, DIM);
        for (int c = 0; c < DIM; c++)
            y[c] += weight * out[c * hidden + f] * h;
    }
}

/* How many tokens used each expert. */
typedef struct uses {
    int tokens[MOST_EXPERTS];
} uses;

/* What a token's state x becomes. */
static void write_layer(const weights *w, const double *x, double *y, uses *used)
{
    const mgk_config *config = &w->model->config;
    const int experts = config->experts, shared = config->experts_shared;
    const double *gain = find(w, "layers.0.norm2.weight");
    const double *router = find(w, "layers.0.feed_forward.router.weight");
    const double *gate = find(w, "layers.0.feed_forward.experts.gate.weight");
    const double *in = find(w, "layers.0.feed_forward.experts.in.weight");
    const double *out = find(w, "layers.0.feed_forward.experts.out.weight");
    const double scale = 1 / sqrt(dot(x, x, DIM) / DIM + config->norm_epsilon);
    double normed[DIM], p[MOST_EXPERTS], sum = 0, chosen = 0;
    bool uses_expert[MOST_EXPERTS] = {false};
    for (int c = 0; c < DIM; c++)
        normed[c] = gain[c] * x[c] * scale;
    for (int e = 0; e < experts; e++)
        sum += p[e] = exp(dot(router + e * DIM, normed, DIM));
    for (int i = 0; i < config->experts_used; i++) {
        int best = -1;
        for (int e = 0; e < experts; e++)
            if (!uses_expert[e] && (best < 0 || p[e] > p[best]))
                best = e;
        uses_expert[best] = true;
        chosen += p[best];
        used->tokens[best]++;
    }
    memcpy(y, x, DIM * sizeof(*y));
    for (int e = 0; e < experts; e++)
        if (uses_expert[e])
            add_block(gate + e * HIDDEN * DIM, in + e * HIDDEN * DIM, out + e * HIDDEN * DIM,
                      HIDDEN, p[e] / (config->experts_normalized ? chosen : sum), normed, y);
    if (shared > 0) {
        const double s = dot(find(w, "layers.0.feed_forward.shared.router.weight"), normed, DIM);
        add_block(find(w, "layers.0.feed_forward.shared.gate.weight"),
                  find(w, "layers.0.feed_forward.shared.in.weight"),
                  find(w, "layers.0.feed_forward.shared.out.weight"), shared, 1 / (1 + exp(-s)),
                  normed, y);
    }
}

/* The states of a batch against the equations; padding has none. */
static void compare(const pass_case *c, const mgk_batch *batch, const weights *w,
                    const void *states, uses *used)
{
    double found[ROWS * DIM], expected[DIM];
    const int tokens = batch->tokens;
    assert_ok(mgk_device_download(c->device, states,
                                  (size_t)batch->sequences * (size_t)tokens * DIM, found));
    *used = (uses){{0}};
    for (int row = 0; row < batch->sequences * tokens; row++) {
        if (row % tokens >= batch->lengths[row / tokens])
            continue;
        write_layer(w, find(w, "embedding.token.weight") + batch->ids[row] * DIM, expected, used);
        for (int k = 0; k < DIM; k++)
            assert_close(found[row * DIM + k], expected[k], 1e-13, 1e-13);
    }
}

static mgk_status keep_output(void *context, int layer, const void *output)
{
    (void)layer;
    *(const void **)context = output;
    return STATUS_OK;
}

/* With padding among the rows, which an observer sees, and without. */
static void check_batch(const pass_case *c, const mgk_batch *batch, const weights *w, uses *used)
{
    const void *states = NULL;
    const mgk_observer observer = {.output = keep_output, .context = &states};
    double first[ROWS * DIM], again[ROWS * DIM];
    const size_t count = (size_t)batch->sequences * (size_t)batch->tokens * DIM;
    mgk_pass *pass;
    assert_ok(mgk_pass_create(c->model, batch->sequences, batch->tokens, 0, false, &pass));
    assert_ok(mgk_pass_load(pass, batch, NULL, 0, 0));
    assert_ok(mgk_pass_forward(pass, &observer));
    compare(c, batch, w, states, used);
    assert_ok(mgk_pass_forward(pass, NULL));
    compare(c, batch, w, mgk_pass_hidden(pass), used);
    assert_ok(mgk_device_download(c->device, mgk_pass_hidden(pass), count, first));
    assert_ok(mgk_pass_forward(pass, NULL));
    assert_ok(mgk_device_download(c->device, mgk_pass_hidden(pass), count, again));
    assert_memory_equal(first, again, count * sizeof(*first));
    mgk_pass_free(pass);
}

/* The model's batch, and one of a single token. */
static uses check(const mgk_config *config, bool tie)
{
    pass_case c;
    uses used, alone;
    case_open(&c, config);
    weights w = open_weights(c.model);
    if (tie) {
        memset(find(&w, "layers.0.feed_forward.router.weight"), 0,
               (size_t)config->experts * DIM * sizeof(double));
        assert_ok(mgk_model_upload(c.model, w.all, c.model->weights));
    }
    const mgk_batch one = {1, 1, c.ids, (const int32_t[]){1}, NULL};
    check_batch(&c, &one, &w, &alone);
    check_batch(&c, &c.batch, &w, &used);
    mgk_free(w.all);
    case_close(&c);
    return used;
}

static void equations(void **state)
{
    (void)state;
    static const int cases[][2] = {{1, 1}, {5, 1}, {5, 2}, {5, 5}, {9, 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int normalized = 0; normalized < 2; normalized++)
            for (int shared = 0; shared <= 10; shared += 5) {
                const mgk_config config =
                    mixture_config(cases[i][0], cases[i][1], normalized, shared);
                const uses used = check(&config, false);
                int sum = 0, least = ROWS;
                for (int e = 0; e < cases[i][0]; e++) {
                    sum += used.tokens[e];
                    least = used.tokens[e] < least ? used.tokens[e] : least;
                }
                assert_int_equal(sum, 17 * cases[i][1]); /* tokens that are not padding */
                if (cases[i][0] == 5 && cases[i][1] == 1)
                    assert_int_equal(least, 0); /* an expert that no token uses */
            }
}

/* Equal scores: the first experts, however many there are. */
static void ties(void **state)
{
    (void)state;
    const mgk_config config = mixture_config(9, 2, true, 0);
    const uses used = check(&config, true);
    for (int e = 0; e < 9; e++)
        assert_int_equal(used.tokens[e], e < 2 ? 17 : 0);
}

/* Matrices of experts are not called as those of a block, whose shape they may have: a training
 * that starts from a mixture would take them. */
static void names(void **state)
{
    (void)state;
    pass_case c;
    const mgk_config config = mixture_config(3, 2, false, 0);
    case_open(&c, &config);
    for (size_t i = 0; i < c.model->parameters.count; i++)
        for (int k = 0; k < 3; k++) {
            static const char *const own[] = {"gate", "in", "out"};
            char name[64];
            snprintf(name, sizeof(name), "layers.0.feed_forward.%s.weight", own[k]);
            assert_string_not_equal(c.model->parameters.list[i].name, name);
        }
    case_close(&c);
}

/* A pass of a mixture asks for the memory of the wider of its blocks. */
static void memory(void **state)
{
    (void)state;
    size_t bytes[3];
    static const int shared[] = {0, HIDDEN, 40};
    for (int i = 0; i < 3; i++) {
        pass_case c;
        const mgk_config config = mixture_config(3, 2, false, shared[i]);
        case_open(&c, &config);
        assert_ok(mgk_pass_bytes(c.model, 2, CASE_TOKENS, 0, false, &bytes[i]));
        assert_false(mgk_model_has_gradients(c.model));
        case_close(&c);
    }
    assert_true(bytes[0] < bytes[2] && bytes[1] < bytes[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equations), cmocka_unit_test(ties),
                                       cmocka_unit_test(names), cmocka_unit_test(memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
