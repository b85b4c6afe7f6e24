/* SPDX-License-Identifier: MIT */
/* Heads that are left out of a pass, and the gradient of their outputs, in float64. */
#include "test.h"

#include <string.h>

#include "base/memory.h"
#include "model/pass_case.h"

enum {
    LAYERS = 2,
    HEADS = 2,
    DIM = 6,
    HEAD = 3,
    ROWS = CASE_SEQUENCES * CASE_TOKENS,
    MAP = HEADS * HEAD * HEAD
};

/* Scales what head h of a layer adds to the output projection: its columns of W [C, H D]; or its
 * votes for capsules: its part of the maps [H, H D, D]. */
static void scale_head(const pass_case *c, int layer, int head, double factor)
{
    double *weights;
    assert_ok(mgk_alloc(c->model->parameters.total, sizeof(*weights), &weights));
    assert_ok(mgk_model_download(c->model, c->model->weights, weights));
    const mgk_layer_offsets *offsets = &c->model->parameters.layers[layer];
    double *w = weights + offsets->output.weight;
    for (int i = 0; offsets->votes == MGK_ABSENT && i < DIM; i++)
        for (int d = 0; d < HEAD; d++)
            w[(i * HEADS + head) * HEAD + d] *= factor;
    for (int i = 0; offsets->votes != MGK_ABSENT && i < MAP; i++)
        weights[offsets->votes + (size_t)(head * MAP + i)] *= factor;
    assert_ok(mgk_model_upload(c->model, weights, c->model->weights));
    mgk_free(weights);
}

/* Without those of padding, which mean nothing. */
static void copy_hidden(const pass_case *c, const mgk_pass *pass, double *out)
{
    assert_ok(mgk_device_download(c->device, mgk_pass_hidden(pass), ROWS * DIM, out));
    for (int s = 0; s < CASE_SEQUENCES; s++)
        for (int i = c->lengths[s]; i < CASE_TOKENS; i++)
            memset(out + (size_t)(s * CASE_TOKENS + i) * DIM, 0, DIM * sizeof(*out));
}

static void assert_near(const double *a, const double *b)
{
    for (size_t k = 0; k < ROWS * DIM; k++)
        if (!(fabs(a[k] - b[k]) <= 1e-13 * (1 + fabs(b[k]))))
            fail_msg("number %zu: %.17g, expected %.17g", k, a[k], b[k]);
}

/* ---- removal --------------------------------------------------------------------------------- */

/* The hidden states without heads: those of a model with weights of 0 in their place. */
static void check_removal(const mgk_config *config, const bool removed[LAYERS * HEADS])
{
    static double whole[ROWS * DIM], found[ROWS * DIM], expected[ROWS * DIM];
    pass_case c;
    mgk_pass *pass;
    case_open(&c, config);
    assert_ok(mgk_pass_create(c.model, CASE_SEQUENCES, CASE_TOKENS, 0, false, &pass));
    case_loss(&c, pass);
    copy_hidden(&c, pass, whole);
    mgk_pass_remove_heads(pass, removed);
    const double loss = case_loss(&c, pass);
    copy_hidden(&c, pass, found);
    mgk_pass_remove_heads(pass, NULL);
    for (int i = 0; i < LAYERS * HEADS; i++)
        if (removed[i])
            scale_head(&c, i / HEADS, i % HEADS, 0);
    assert_float_equal(loss, case_loss(&c, pass), 1e-12);
    copy_hidden(&c, pass, expected);
    assert_near(found, expected);
    assert_true(memcmp(found, whole, sizeof(whole)) != 0);
    mgk_pass_free(pass);
    case_close(&c);
}

static void removed_heads_add_nothing(void **state)
{
    (void)state;
    static const bool first[] = {true, false, false, false}, last[] = {false, false, false, true},
                      layer[] = {true, true, false, false}, all[] = {true, true, true, true};
    static const char *const kinds[] = {"softmax", "mgk", "smgk", "linear"};
    for (size_t k = 0; k < 4; k++) {
        const int mixtures = strstr(kinds[k], "mgk") ? 2 : 1;
        const mgk_config lm = case_config(MGK_FAMILY_LM, kinds[k], mixtures);
        mgk_config encoder = case_config(MGK_FAMILY_ENCODER, kinds[k], mixtures);
        check_removal(&lm, first);
        check_removal(&lm, last);
        check_removal(&lm, layer);
        check_removal(&lm, all);
        check_removal(&encoder, last);
        encoder.dual = true;
        check_removal(&encoder, all);
        encoder.aggregate = MGK_AGGREGATION_CAPSULES;
        check_removal(&encoder, first);
        check_removal(&encoder, last);
        check_removal(&encoder, layer);
        mgk_config mixture = lm;
        mixture.gated = true;
        mixture.feed_forward_bias = false;
        mixture.experts = 4;
        mixture.experts_used = 2;
        mixture.experts_shared = 3;
        check_removal(&mixture, first);
        check_removal(&mixture, layer);
        check_removal(&mixture, all);
    }
}

/* ---- a part of the layers -------------------------------------------------------------------- */

typedef struct kept_input {
    mgk_device *device;
    double values[ROWS * DIM];
} kept_input;

static mgk_status keep_first(void *context, int layer, const void *output)
{
    kept_input *kept = context;
    return layer == 0
               ? kept->device->op->copy(kept->device, kept->values, output, sizeof(kept->values))
               : STATUS_OK;
}

static void check_later_layers(mgk_family family, const bool removed[LAYERS * HEADS], int first)
{
    static double expected[ROWS * DIM], found[ROWS * DIM];
    const mgk_config config = case_config(family, "mgk", 2);
    static kept_input kept;
    const mgk_observer observer = {.output = keep_first, .context = &kept};
    pass_case c;
    mgk_pass *pass;
    case_open(&c, &config);
    kept.device = c.device;
    assert_ok(mgk_pass_create(c.model, CASE_SEQUENCES, CASE_TOKENS, 0, false, &pass));
    mgk_pass_remove_heads(pass, removed);
    case_loss(&c, pass);
    copy_hidden(&c, pass, expected);
    mgk_pass_remove_heads(pass, NULL);
    assert_ok(mgk_pass_forward(pass, &observer));
    mgk_pass_remove_heads(pass, removed);
    for (int again = 0; again < 2; again++) {
        assert_ok(mgk_pass_forward_from(pass, first, first > 0 ? kept.values : NULL, NULL));
        copy_hidden(&c, pass, found);
        assert_memory_equal(found, expected, sizeof(found));
    }
    /* What an observer receives of layers without heads is the input of further runs. */
    assert_ok(mgk_pass_forward_from(pass, first, first > 0 ? kept.values : NULL, &observer));
    copy_hidden(&c, pass, found);
    assert_memory_equal(found, expected, sizeof(found));
    assert_ok(mgk_pass_forward_from(pass, 1, kept.values, NULL));
    copy_hidden(&c, pass, found);
    assert_memory_equal(found, expected, sizeof(found));
    mgk_pass_free(pass);
    case_close(&c);
}

static void later_layers_run_again(void **state)
{
    (void)state;
    static const bool early[] = {false, true, true, false}, late[] = {false, false, true, false};
    for (int family = 0; family < 2; family++) {
        check_later_layers(family == 0 ? MGK_FAMILY_LM : MGK_FAMILY_ENCODER, early, 0);
        check_later_layers(family == 0 ? MGK_FAMILY_LM : MGK_FAMILY_ENCODER, late, 1);
    }
}

/* ---- losses of samples ----------------------------------------------------------------------- */

/* The losses of samples are those of batches of one of them. */
static void check_sample_losses(const mgk_config *config, int together, bool training)
{
    mgk_loss losses[CASE_SEQUENCES] = {{0}};
    const bool lm = config->family == MGK_FAMILY_LM;
    pass_case c;
    mgk_pass *pass;
    case_open(&c, config);
    assert_ok(mgk_pass_create(c.model, CASE_SEQUENCES, CASE_TOKENS, 0, training, &pass));
    case_loss(&c, pass);
    assert_ok(mgk_pass_sample_losses(pass, losses));
    for (int i = 0; i < CASE_SEQUENCES / together; i++) {
        const mgk_batch one = {together, CASE_TOKENS, c.ids + i * together * CASE_TOKENS,
                               c.lengths + i * together, NULL};
        const mgk_loss expected =
            case_loss_of(pass, &one, c.targets + (lm ? i * CASE_TOKENS : i), 3, 5);
        assert_int_equal(losses[i].count, expected.count);
        assert_float_equal(losses[i].sum, expected.sum, 1e-12);
    }
    mgk_pass_free(pass);
    case_close(&c);
}

static void every_sample_has_its_loss(void **state)
{
    (void)state;
    const mgk_config lm = case_config(MGK_FAMILY_LM, "softmax", 1);
    mgk_config encoder = case_config(MGK_FAMILY_ENCODER, "softmax", 1);
    check_sample_losses(&lm, 1, false);
    check_sample_losses(&lm, 1, true);
    check_sample_losses(&encoder, 1, false);
    encoder.dual = true;
    check_sample_losses(&encoder, 2, false);
}

/* ---- gradients of heads ---------------------------------------------------------------------- */

/* sum O · ∂L/∂O of each head. */
static mgk_status sum_heads(void *context, int layer, const void *output, const void *gradient)
{
    double *sums = context;
    const double *o = output, *g = gradient; /* on a CPU device memory is host memory */
    for (size_t k = 0; k < ROWS * HEADS * HEAD; k++)
        sums[layer * HEADS + (int)(k / HEAD % HEADS)] += o[k] * g[k];
    return STATUS_OK;
}

/* The gradient with respect to a factor of each head's output, against differences of the loss. */
static void check_head_gradients(const mgk_config *config)
{
    const double h = 1e-5;
    double sums[LAYERS * HEADS] = {0};
    const mgk_gradient_observer observer = {.heads = sum_heads, .context = sums};
    void *gradient;
    pass_case c;
    mgk_pass *pass;
    case_open(&c, config);
    assert_ok(mgk_pass_create(c.model, CASE_SEQUENCES, CASE_TOKENS, 0, true, &pass));
    mgk_pass_freeze(pass);
    assert_ok(
        c.device->op->allocate(c.device, c.model->parameters.total * sizeof(double), &gradient));
    case_loss(&c, pass);
    assert_ok(mgk_pass_backward(pass, gradient, &observer));
    for (int i = 0; i < LAYERS * HEADS; i++) {
        scale_head(&c, i / HEADS, i % HEADS, 1 + h);
        const double above = case_loss(&c, pass);
        scale_head(&c, i / HEADS, i % HEADS, (1 - h) / (1 + h));
        const double below = case_loss(&c, pass);
        scale_head(&c, i / HEADS, i % HEADS, 1 / (1 - h));
        const double expected = (above - below) / (2 * h);
        assert_true(fabs(expected) > 1e-4);
        assert_float_equal(sums[i], expected, 1e-7);
    }
    c.device->op->release(c.device, gradient);
    mgk_pass_free(pass);
    case_close(&c);
}

static void gradients_of_heads_are_those_of_a_factor(void **state)
{
    (void)state;
    mgk_config lm = case_config(MGK_FAMILY_LM, "mgk", 2),
               encoder = case_config(MGK_FAMILY_ENCODER, "softmax", 1);
    check_head_gradients(&lm);
    check_head_gradients(&encoder);
    lm.aggregate = encoder.aggregate = MGK_AGGREGATION_CAPSULES;
    check_head_gradients(&lm);
    check_head_gradients(&encoder);
}

/* A frozen pass computes the loss of the model as it runs, and leaves the model as it is. */
static void frozen_passes_neither_drop_nor_learn(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_LM, "mgk", 2);
    config.dropout = 0.5;
    config.prior = MGK_PRIOR_EM;
    pass_case c;
    mgk_pass *plain, *frozen;
    double *before, *after;
    void *gradient;
    case_open(&c, &config);
    const size_t total = c.model->parameters.total;
    assert_ok(mgk_alloc(total, sizeof(double), &before));
    assert_ok(mgk_alloc(total, sizeof(double), &after));
    assert_ok(c.device->op->allocate(c.device, total * sizeof(double), &gradient));
    assert_ok(mgk_model_download(c.model, c.model->weights, before));
    assert_ok(mgk_pass_create(c.model, CASE_SEQUENCES, CASE_TOKENS, 0, false, &plain));
    assert_ok(mgk_pass_create(c.model, CASE_SEQUENCES, CASE_TOKENS, 0, true, &frozen));
    assert_true(case_loss(&c, frozen) != case_loss(&c, plain));
    mgk_pass_freeze(frozen);
    assert_float_equal(case_loss(&c, frozen), case_loss(&c, plain), 1e-12);
    assert_ok(mgk_pass_backward(frozen, gradient, NULL));
    assert_ok(mgk_model_download(c.model, c.model->weights, after));
    assert_memory_equal(before, after, total * sizeof(double));
    c.device->op->release(c.device, gradient);
    mgk_pass_free(plain);
    mgk_pass_free(frozen);
    mgk_free(before);
    mgk_free(after);
    case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(removed_heads_add_nothing),
        cmocka_unit_test(later_layers_run_again),
        cmocka_unit_test(every_sample_has_its_loss),
        cmocka_unit_test(gradients_of_heads_are_those_of_a_factor),
        cmocka_unit_test(frozen_passes_neither_drop_nor_learn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
