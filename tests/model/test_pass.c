/* SPDX-License-Identifier: MIT */
/* Properties of a pass other than its gradient: reproducible runs, dropout, learning, bad
 * batches. */
#include "test.h"

#include <string.h>
#include <sys/resource.h>

#include "base/memory.h"
#include "model/core/pass_private.h"
#include "model/pass_case.h"
#include "parameter.h"

static mgk_pass *new_pass(const pass_case *c, bool training)
{
    mgk_pass *pass;
    assert_ok(mgk_pass_create(c->model, CASE_SEQUENCES, CASE_TOKENS, 0, training, &pass));
    return pass;
}

static void *new_gradient(const pass_case *c)
{
    void *gradient;
    assert_ok(
        c->device->op->allocate(c->device, c->model->parameters.total * sizeof(double), &gradient));
    return gradient;
}

static void test_inference_equals_training(void **state)
{
    (void)state;
    static const mgk_family families[] = {MGK_FAMILY_ENCODER, MGK_FAMILY_LM};
    for (int i = 0; i < 2; i++) {
        mgk_config config = case_config(families[i], "mgk", 2);
        pass_case c;
        case_open(&c, &config);
        mgk_pass *training = new_pass(&c, true), *inference = new_pass(&c, false);
        double loss = case_loss(&c, training);
        assert_true(loss > 1);
        assert_true(case_loss(&c, inference) == loss);
        mgk_pass_free(training);
        mgk_pass_free(inference);
        case_close(&c);
    }
}

static double loss_of_stream(const pass_case *c, mgk_pass *pass, uint64_t seed, uint64_t stream)
{
    return case_loss_of(pass, &c->batch, c->targets, seed, stream).sum;
}

static void test_dropout(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_ENCODER, "softmax", 1);
    pass_case c;
    case_open(&c, &config);
    mgk_pass *training = new_pass(&c, true);
    double without = loss_of_stream(&c, training, 1, 1);
    assert_true(loss_of_stream(&c, training, 2, 3) == without);
    c.model->config.dropout = 0.5;
    double with = loss_of_stream(&c, training, 1, 1);
    assert_true(with != without);
    assert_true(loss_of_stream(&c, training, 1, 1) == with);
    assert_true(loss_of_stream(&c, training, 2, 1) != with);
    assert_true(loss_of_stream(&c, training, 1, 2) != with);
    mgk_pass *inference = new_pass(&c, false);
    assert_true(loss_of_stream(&c, inference, 1, 1) == without);
    mgk_pass_free(training);
    mgk_pass_free(inference);
    case_close(&c);
}

/* Results do not depend on tokens after a sequence's end, nor on other sequences. */
static void test_padding_is_not_seen(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_ENCODER, "mgk", 2);
    pass_case c;
    case_open(&c, &config);
    mgk_pass *pass = new_pass(&c, false);
    double all = case_loss(&c, pass), sum = 0;
    for (int b = 0; b < CASE_SEQUENCES; b++) {
        mgk_batch one = {1, c.lengths[b], c.ids + b * CASE_TOKENS, c.lengths + b, NULL};
        mgk_loss loss = case_loss_of(pass, &one, c.targets + b, 0, 0);
        assert_int_equal(loss.count, 1);
        sum += loss.sum;
    }
    assert_close(sum, all, 0, 1e-12);
    mgk_pass_free(pass);
    case_close(&c);
}

/* Predictions of a language model do not depend on later tokens. */
/* Final hidden states are 0 for tokens with a masked id, and not for others; of two streams, too.
 */
static void test_masked_tokens_are_cleared(void **state)
{
    (void)state;
    for (int reversible = 0; reversible < 2; reversible++) {
        mgk_config config = case_config(MGK_FAMILY_ENCODER, "softmax", 1);
        pass_case c;
        config.classes = 0;
        config.padding = 3;
        config.padding_masked = true;
        config.reversible = config.pre_norm = reversible;
        case_open(&c, &config);
        c.ids[2] = config.padding;
        mgk_pass *pass = new_pass(&c, false);
        assert_ok(mgk_pass_load(pass, &c.batch, NULL, 0, 0));
        assert_ok(mgk_pass_forward(pass, NULL));
        const size_t width = (size_t)mgk_config_hidden_width(&c.model->config);
        const double *hidden = mgk_pass_hidden(pass);
        for (int i = 0; i < CASE_SEQUENCES * CASE_TOKENS; i++)
            for (size_t k = 0; c.ids[i] >= 0 && k < width; k++)
                assert_true((hidden[(size_t)i * width + k] == 0) == (c.ids[i] == config.padding));
        mgk_pass_free(pass);
        case_close(&c);
    }
}

/* A sequence of which the mask leaves nothing has embeddings of 0, and states that are finite. */
static void test_all_tokens_masked(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_ENCODER, "softmax", 1);
    pass_case c;
    config.classes = 0;
    config.positions = MGK_POSITIONS_ROTARY;
    config.rotary_dim = 2;
    config.mask_token = 3;
    case_open(&c, &config);
    assert_false(mgk_model_has_gradients(c.model));
    for (int t = 0; t < c.lengths[0]; t++)
        c.ids[t] = config.mask_token;
    mgk_pass *pass = new_pass(&c, false);
    assert_ok(mgk_pass_load(pass, &c.batch, NULL, 0, 0));
    assert_ok(mgk_pass_embed(pass, false));
    const size_t width = (size_t)config.dim, count = (size_t)c.lengths[0] * width;
    for (size_t k = 0; k < count; k++)
        assert_true(((const double *)pass->embedded)[k] == 0);
    assert_ok(mgk_pass_forward(pass, NULL));
    const double *hidden = mgk_pass_hidden(pass);
    for (size_t k = 0; k < CASE_SEQUENCES * CASE_TOKENS * width; k++)
        assert_true(isfinite(hidden[k]));
    mgk_pass_free(pass);
    case_close(&c);
}

static void test_language_models_are_causal(void **state)
{
    (void)state;
    static const char *const kinds[] = {"softmax", "mgk", "linear", "smlk"};
    for (int k = 0; k < 4; k++) {
        mgk_config config = case_config(MGK_FAMILY_LM, kinds[k], k % 2 ? 2 : 1);
        pass_case c;
        case_open(&c, &config);
        mgk_pass *pass = new_pass(&c, false);
        for (int i = 3; i < CASE_SEQUENCES * CASE_TOKENS; i++)
            c.targets[i] = -1;
        double before = case_loss(&c, pass);
        c.ids[3] = (c.ids[3] + 1) % CASE_VOCABULARY;
        assert_close(case_loss(&c, pass), before, 0, 1e-14);
        c.ids[2] = (c.ids[2] + 1) % CASE_VOCABULARY;
        assert_true(fabs(case_loss(&c, pass) - before) > 1e-6);
        mgk_pass_free(pass);
        case_close(&c);
    }
}

static void check_empty_sequence(mgk_family family, const char *kind)
{
    const mgk_config config = case_config(family, kind, 1);
    pass_case c;
    case_open(&c, &config);
    mgk_pass *pass = new_pass(&c, true);
    void *gradient = new_gradient(&c);
    for (int t = 0; t < CASE_TOKENS; t++)
        c.ids[CASE_TOKENS + t] = -1;
    c.lengths[1] = 0;
    assert_true(isfinite(case_loss(&c, pass)));
    assert_ok(mgk_pass_backward(pass, gradient, NULL));
    double squares;
    assert_ok(c.device->op->sum_squares(c.device, c.model->parameters.total, gradient, &squares));
    assert_true(isfinite(squares) && squares > 0);
    c.device->op->release(c.device, gradient);
    mgk_pass_free(pass);
    case_close(&c);
}

static void test_empty_sequence(void **state)
{
    (void)state;
    static const char *const kinds[] = {"softmax", "mgk", "linear"};
    for (int k = 0; k < 3; k++) {
        check_empty_sequence(MGK_FAMILY_ENCODER, kinds[k]);
        check_empty_sequence(MGK_FAMILY_LM, kinds[k]);
    }
}

static void test_gradient_is_added_and_scaled(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_LM, "smgk", 2);
    pass_case c;
    case_open(&c, &config);
    size_t total = c.model->parameters.total;
    mgk_pass *pass = new_pass(&c, true);
    double *once = new_gradient(&c), *twice = new_gradient(&c);
    double largest = 0;
    mgk_loss loss = {0};
    loss.sum = -2 * case_loss(&c, pass);
    assert_ok(mgk_pass_backward(pass, once, NULL));
    for (int i = 0; i < 2; i++) {
        assert_ok(mgk_pass_forward(pass, NULL));
        assert_ok(mgk_pass_loss(pass, 0.25, &loss));
        assert_ok(mgk_pass_backward(pass, twice, NULL));
    }
    assert_true(loss.sum == 0); /* each run has added its own loss */
    for (size_t i = 0; i < total; i++) {
        assert_close(twice[i], once[i] / 2, 1e-13, 1e-11);
        largest = fmax(largest, fabs(once[i]));
    }
    assert_true(largest > 0.1);
    c.device->op->release(c.device, once);
    c.device->op->release(c.device, twice);
    mgk_pass_free(pass);
    case_close(&c);
}

static void test_learns(void **state)
{
    (void)state;
    static const char *const kinds[] = {"softmax", "mgk", "smlk"};
    for (int k = 0; k < 3; k++) {
        mgk_config config = case_config(MGK_FAMILY_LM, kinds[k], k ? 2 : 1);
        pass_case c;
        case_open(&c, &config);
        size_t total = c.model->parameters.total;
        mgk_pass *pass = new_pass(&c, true);
        double *gradient = new_gradient(&c), *weights = c.model->weights;
        double before = case_loss(&c, pass), after = before;
        for (int step = 0; step < 20; step++) {
            memset(gradient, 0, total * sizeof(*gradient));
            assert_ok(mgk_pass_backward(pass, gradient, NULL));
            for (size_t i = 0; i < total; i++)
                weights[i] -= 0.01 * gradient[i];
            after = case_loss(&c, pass);
        }
        assert_true(after < 0.8 * before);
        c.device->op->release(c.device, gradient);
        mgk_pass_free(pass);
        case_close(&c);
    }
}

/* Eqn. 11: the new priors are means of responsibilities, which sum to 1 over the components. */
static void test_soft_expectation_moves_priors(void **state)
{
    (void)state;
    static const char *const kinds[] = {"mgk", "smlk"};
    for (int k = 0; k < 2; k++) {
        mgk_config config = case_config(MGK_FAMILY_LM, kinds[k], 2);
        config.prior = MGK_PRIOR_EM;
        config.prior_shape = MGK_PRIOR_HEAD;
        pass_case c;
        case_open(&c, &config);
        mgk_pass *pass = new_pass(&c, true);
        double *gradient = new_gradient(&c), *weights = c.model->weights;
        const mgk_parameter *prior = parameter_named(c.model, "layers.1.attention.prior");
        double before = weights[prior->offset];
        case_loss(&c, pass);
        assert_ok(mgk_pass_backward(pass, gradient, NULL));
        assert_true(weights[prior->offset] == before);
        assert_ok(mgk_pass_update_priors(pass));
        assert_true(weights[prior->offset] != before);
        for (size_t h = 0; h < 2; h++) {
            const double *pi = weights + prior->offset + 2 * h;
            assert_close(pi[0] + pi[1], 1, 1e-12, 0);
            assert_true(pi[0] > 0 && pi[1] > 0);
        }
        for (size_t i = 0; i < prior->count; i++)
            assert_true(gradient[prior->offset + i] == 0);
        c.device->op->release(c.device, gradient);
        mgk_pass_free(pass);
        case_close(&c);
    }
}

static mgk_status count_layer(void *context, mgk_observed *layer)
{
    int *seen = context;
    assert_int_equal(layer->layer, *seen);
    assert_int_equal(layer->view.samples, CASE_SEQUENCES);
    assert_int_equal(layer->view.mixtures, 2);
    assert_non_null(layer->attention.prior.values);
    return ++*seen == 2 ? mgk_fail(STATUS_INTERRUPTED, "enough") : STATUS_OK;
}

static mgk_status see_layer(void *context, mgk_observed *layer)
{
    (void)layer;
    ++*(int *)context;
    return STATUS_OK;
}

static void test_observer(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_ENCODER, "mgk", 2);
    pass_case c;
    int seen = 0;
    mgk_observer observer = {.layer = count_layer, .context = &seen};
    case_open(&c, &config);
    mgk_pass *pass = new_pass(&c, false);
    assert_ok(mgk_pass_load(pass, &c.batch, NULL, 0, 0));
    assert_fails(mgk_pass_forward(pass, &observer), STATUS_INTERRUPTED);
    assert_int_equal(seen, 2);
    seen = 0;
    observer.layers = 2;
    observer.layer = see_layer;
    assert_ok(mgk_pass_forward(pass, &observer));
    assert_int_equal(seen, 2);
    mgk_pass_free(pass);
    case_close(&c);
}

/* An observer that requests matrices of `heads` heads for all samples except the first
 * `skipped`. */
typedef struct asker {
    int heads, skipped, calls;
    int32_t *numbers; /* [heads] */
    double *matrices; /* [heads, N, N] */
} asker;

static mgk_status ask_matrices(void *context, mgk_observed *layer)
{
    asker *a = context;
    const size_t n = (size_t)layer->view.tokens;
    for (int sample = a->skipped; sample < layer->view.samples; sample++) {
        TRY(mgk_observed_matrices(layer, MGK_MATRIX_ATTENTION, sample, 1, a->numbers, a->heads,
                                  a->matrices));
        const bool gave = a->heads == layer->view.heads && a->skipped == 0;
        assert_int_equal(layer->attended, gave ? sample + 1 : 0);
        for (size_t i = 0; i < n && layer->view.lengths[sample] == (int)n; i++) {
            double sum = 0;
            for (size_t j = 0; j < n; j++)
                sum += a->matrices[i * n + j];
            assert_close(sum, 1, 1e-12, 0);
        }
        a->calls++;
    }
    return STATUS_OK;
}

static double loss_with(pass_case *c, mgk_pass *pass, const mgk_observer *observer)
{
    mgk_loss loss = {0};
    assert_ok(mgk_pass_load(pass, &c->batch, c->targets, 3, 5));
    assert_ok(mgk_pass_forward(pass, observer));
    assert_ok(mgk_pass_loss(pass, 1, &loss));
    return loss.sum;
}

/* Matrices of all heads leave the same output as none; matrices of some heads or samples leave the
 * pass's own output. */
static void test_asking_observer(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_ENCODER, "mgk", 2);
    pass_case c;
    case_open(&c, &config);
    int32_t numbers[] = {0, 1};
    asker a = {.numbers = numbers};
    assert_int_equal(config.heads, 2);
    assert_ok(mgk_alloc(2 * CASE_TOKENS * CASE_TOKENS, sizeof(double), &a.matrices));
    const mgk_observer observer = {.layer = ask_matrices, .context = &a};
    mgk_pass *pass = new_pass(&c, false);
    const double expected = loss_with(&c, pass, NULL);
    for (a.heads = 1; a.heads <= 2; a.heads++)
        for (a.skipped = 0; a.skipped <= 1; a.skipped++) {
            a.calls = 0;
            const double found = loss_with(&c, pass, &observer);
            assert_int_equal(a.calls, config.layers * (CASE_SEQUENCES - a.skipped));
            if (a.heads == 1 || a.skipped == 1)
                assert_true(found == expected);
            assert_close(found, expected, 1e-12, 1e-12);
        }
    mgk_free(a.matrices);
    mgk_pass_free(pass);
    case_close(&c);
}

static mgk_status fail_output(mgk_device *device, const mgk_attention_view *view,
                              const mgk_attention_layer *attention, int sample,
                              const int32_t *heads, int count, void *matrices, void *output,
                              size_t output_stride)
{
    (void)device, (void)view, (void)attention, (void)sample, (void)heads, (void)count;
    (void)matrices, (void)output, (void)output_stride;
    return mgk_fail(STATUS_MEMORY, "no room");
}

/* Ignores the failure of the requested matrices. */
static mgk_status ask_in_vain(void *context, mgk_observed *layer)
{
    asker *a = context;
    const mgk_attention_kind *kind = layer->attention.kind;
    mgk_attention_methods methods = *kind->methods;
    mgk_attention_kind failing = *kind;
    methods.matrix_output = fail_output;
    failing.methods = &methods;
    layer->attention.kind = &failing;
    for (int sample = 0; sample < layer->view.samples; sample++)
        a->calls += mgk_observed_matrices(layer, MGK_MATRIX_ATTENTION, sample, 1, a->numbers,
                                          a->heads, a->matrices) == STATUS_MEMORY;
    layer->attention.kind = kind;
    return STATUS_OK;
}

/* Matrices that failed have written no output. */
static void test_failed_matrices(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_ENCODER, "mgk", 2);
    pass_case c;
    case_open(&c, &config);
    int32_t numbers[] = {0, 1};
    asker a = {.heads = 2, .numbers = numbers};
    assert_ok(mgk_alloc(2 * CASE_TOKENS * CASE_TOKENS, sizeof(double), &a.matrices));
    const mgk_observer observer = {.layer = ask_in_vain, .context = &a};
    mgk_pass *pass = new_pass(&c, false);
    const double found = loss_with(&c, pass, &observer);
    assert_true(a.calls > 0);
    assert_true(found == loss_with(&c, pass, NULL));
    mgk_free(a.matrices);
    mgk_pass_free(pass);
    case_close(&c);
}

/* A pass without an observer leaves padding out; its loss and gradient are those of one that has
 * it. */
static void test_padding_is_left_out(void **state)
{
    (void)state;
    static const char *const kinds[] = {"softmax", "mgk", "linformer", "delta", "smgk"};
    for (int k = 0; k < 5; k++)
        for (int pre = 0; pre < 2; pre++) {
            const mgk_family family = k % 2 ? MGK_FAMILY_LM : MGK_FAMILY_ENCODER;
            mgk_config config = case_config(family, kinds[k], 1);
            const mgk_observer nothing = {0};
            pass_case c;
            config.pre_norm = pre;
            case_open(&c, &config);
            const size_t total = c.model->parameters.total;
            mgk_pass *pass = new_pass(&c, true);
            double *packed = new_gradient(&c), *padded = new_gradient(&c), largest = 0;
            const double loss = loss_with(&c, pass, NULL);
            assert_true(pass->packed);
            assert_ok(mgk_pass_backward(pass, packed, NULL));
            assert_close(loss_with(&c, pass, &nothing), loss, 1e-12, 1e-12);
            assert_true(!pass->packed);
            assert_ok(mgk_pass_backward(pass, padded, NULL));
            for (size_t i = 0; i < total; i++) {
                assert_close(packed[i], padded[i], 1e-12, 1e-10);
                largest = fmax(largest, fabs(packed[i]));
            }
            assert_true(largest > 0.1);
            c.device->op->release(c.device, packed);
            c.device->op->release(c.device, padded);
            mgk_pass_free(pass);
            case_close(&c);
        }
}

static void test_bad_batches(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_ENCODER, "mgk", 2);
    config.dual = true;
    pass_case c;
    mgk_pass *pass;
    case_open(&c, &config);
    assert_fails(mgk_pass_create(c.model, 2, 10, 0, false, &pass), STATUS_SHAPE);
    assert_null(pass);
    assert_fails(mgk_pass_create(c.model, 0, 7, 0, false, &pass), STATUS_SHAPE);
    assert_fails(mgk_pass_create(c.model, 3, 7, 0, false, &pass), STATUS_SHAPE);
    assert_ok(mgk_pass_create(c.model, 2, CASE_TOKENS, 0, false, &pass));
    assert_fails(mgk_pass_load(pass, &c.batch, NULL, 0, 0), STATUS_SHAPE);
    c.batch.sequences = 1;
    assert_fails(mgk_pass_load(pass, &c.batch, NULL, 0, 0), STATUS_SHAPE);
    c.batch.sequences = 2;
    c.ids[3] = CASE_VOCABULARY;
    assert_fails(mgk_pass_load(pass, &c.batch, NULL, 0, 0), STATUS_FORMAT);
    c.ids[3] = -2;
    assert_fails(mgk_pass_load(pass, &c.batch, NULL, 0, 0), STATUS_FORMAT);
    c.ids[3] = 0;
    c.lengths[1] = CASE_TOKENS + 1;
    assert_fails(mgk_pass_load(pass, &c.batch, NULL, 0, 0), STATUS_SHAPE);
    c.lengths[1] = -1;
    assert_fails(mgk_pass_load(pass, &c.batch, NULL, 0, 0), STATUS_SHAPE);
    c.lengths[1] = 1;
    c.targets[0] = CASE_CLASSES;
    assert_ok(mgk_pass_load(pass, &c.batch, NULL, 0, 0));
    assert_fails(mgk_pass_load(pass, &c.batch, c.targets, 0, 0), STATUS_FORMAT);
    c.targets[0] = CASE_CLASSES - 1;
    assert_true(case_loss_of(pass, &c.batch, c.targets, 0, 0).count == 1);
    assert_fails(mgk_pass_backward(pass, c.model->weights, NULL), STATUS_USAGE);
    mgk_pass_free(pass);
    case_close(&c);
}

/* Peak memory of this process, in KiB. */
static long peak_memory(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* The positions in a file cost nothing: computed positions are only those of the batch (here 50 MB
 * for all). */
static void test_positions_of_the_pass(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_LM, "softmax", 1);
    pass_case c;
    config.length = 1 << 20;
    case_open(&c, &config);
    long before = peak_memory();
    mgk_pass *pass = new_pass(&c, false);
    case_loss(&c, pass);
    assert_true(peak_memory() - before < 16 * 1024);
    /* Not more tokens than the pass has room for, even if the total is the same. */
    c.batch.sequences = 2;
    c.batch.tokens = CASE_TOKENS + 1;
    assert_fails(mgk_pass_load(pass, &c.batch, NULL, 0, 0), STATUS_SHAPE);
    mgk_pass_free(pass);
    case_close(&c);
}

static size_t allocated;

static mgk_status count_allocation(mgk_device *device, size_t bytes, void *out)
{
    (void)device;
    allocated += bytes;
    return mgk_alloc(bytes, 1, out);
}

/* The predicted bytes are exact, and n times the sequences take at most n times the bytes. */
static void test_bytes_of_a_pass(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool training = i % 2;
        mgk_config config = case_config(i / 2 ? MGK_FAMILY_LM : MGK_FAMILY_ENCODER, "smgk", 2);
        pass_case c;
        size_t one, all, none;
        case_open(&c, &config);
        mgk_operations counting = *c.device->op;
        counting.allocate = count_allocation;
        c.device->op = &counting;
        allocated = 0;
        mgk_pass_free(new_pass(&c, training));
        assert_ok(mgk_pass_bytes(c.model, CASE_SEQUENCES, CASE_TOKENS, 0, training, &all));
        assert_ok(mgk_pass_bytes(c.model, 1, CASE_TOKENS, 0, training, &one));
        assert_int_equal(all, allocated);
        assert_true(one < all);
        assert_true(all <= CASE_SEQUENCES * one);
        assert_fails(mgk_pass_bytes(c.model, 1, 10, 0, training, &none), STATUS_SHAPE);
        case_close(&c);
    }
}

static void test_kinds_that_do_not_exist(void **state)
{
    (void)state;
    mgk_config config = case_config(MGK_FAMILY_LM, "mgk", 2);
    pass_case c;
    mgk_model *model;
    case_open(&c, &config);
    config = c.model->config;
    strcpy(config.attention, "psychic");
    assert_fails(mgk_model_create(&config, 0, c.device, &model), STATUS_UNSUPPORTED);
    assert_null(model);
    strcpy(config.attention, "softmax");
    assert_fails(mgk_model_create(&config, 0, c.device, &model), STATUS_USAGE);
    strcpy(config.attention, "mlk");
    config.prior = MGK_PRIOR_HARD;
    assert_fails(mgk_model_create(&config, 0, c.device, &model), STATUS_USAGE);
    case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inference_equals_training),
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_padding_is_not_seen),
        cmocka_unit_test(test_masked_tokens_are_cleared),
        cmocka_unit_test(test_all_tokens_masked),
        cmocka_unit_test(test_language_models_are_causal),
        cmocka_unit_test(test_empty_sequence),
        cmocka_unit_test(test_gradient_is_added_and_scaled),
        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_soft_expectation_moves_priors),
        cmocka_unit_test(test_observer),
        cmocka_unit_test(test_asking_observer),
        cmocka_unit_test(test_failed_matrices),
        cmocka_unit_test(test_padding_is_left_out),
        cmocka_unit_test(test_bad_batches),
        cmocka_unit_test(test_positions_of_the_pass),
        cmocka_unit_test(test_bytes_of_a_pass),
        cmocka_unit_test(test_kinds_that_do_not_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
