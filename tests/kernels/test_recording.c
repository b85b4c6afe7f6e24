/* SPDX-License-Identifier: MIT */
/* Recorded work against direct calls: training steps of small models, and refusals. */
#include <stdio.h>
#include <string.h>

#include "model/core/pass.h"
#include "workspace.h"

enum { SEQUENCES = 2, TOKENS = 5, WORDS = 9, STEPS = 4, WIDE = 100 };

/* A model in training; the numbers of its step are in device memory. */
typedef struct training {
    mgk_device *device;
    mgk_model *model;
    mgk_pass *pass;
    void *gradient, *m, *v;
    mgk_adamw_step *step;
    mgk_loss *loss;
    int calls; /* of whole_step */
} training;

static mgk_status whole_step(void *context)
{
    training *t = context;
    mgk_device *device = t->device;
    const size_t total = t->model->parameters.total;
    const mgk_adamw settings = {
        .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-8, .decay = 0.1, .clip = 0.5};
    t->calls++;
    TRY(device->op->zero(device, t->gradient, total * device->real_size));
    TRY(mgk_pass_forward(t->pass, NULL));
    TRY(mgk_pass_loss(t->pass, 0.1, t->loss));
    TRY(mgk_pass_backward(t->pass, t->gradient, NULL));
    TRY(device->op->sum_squares(device, total, t->gradient, &t->step->squares));
    return device->op->adamw(device, &settings, t->step, total, t->gradient, t->model->weights,
                             t->m, t->v);
}

static bool is_cpu(const mgk_device *device)
{
    return strncmp(device->name, "cpu", 3) == 0;
}

static mgk_config small_config(const mgk_attention_kind *kind)
{
    mgk_config config;
    mgk_config_defaults(MGK_FAMILY_LM, &config);
    snprintf(config.attention, sizeof config.attention, "%s", kind->name);
    config.layers = 1;
    config.heads = 2;
    config.dim = 6;
    config.head_dim = 3;
    config.hidden = 7;
    config.length = TOKENS;
    config.vocabulary = WORDS;
    config.mixtures = kind->mixture ? 2 : 1;
    config.dropout = 0.3;
    assert_ok(mgk_config_resolve(&config));
    return config;
}

static training start(workspace *space, const mgk_config *config)
{
    training t = {.device = space->device};
    assert_ok(mgk_model_create(config, 7, space->device, &t.model));
    assert_ok(mgk_pass_create(t.model, SEQUENCES, TOKENS, 0, true, &t.pass));
    const size_t total = t.model->parameters.total;
    double *zeros = host_array(space, total);
    t.gradient = upload(space, total, zeros);
    t.m = upload(space, total, zeros);
    t.v = upload(space, total, zeros);
    t.step = upload_bytes(space, sizeof *t.step, zeros);
    t.loss = upload_bytes(space, sizeof *t.loss, zeros);
    return t;
}

/* Uploads the data that change from step to step. */
static void load(training *t, int step)
{
    int32_t ids[SEQUENCES * TOKENS], lengths[SEQUENCES] = {TOKENS, TOKENS - step % TOKENS};
    for (int i = 0; i < SEQUENCES * TOKENS; i++)
        ids[i] = (int32_t)mgk_random_below(1, (uint64_t)step, (uint64_t)i, WORDS);
    const mgk_batch batch = {SEQUENCES, TOKENS, ids, lengths, NULL};
    const mgk_adamw_step numbers = {
        .rate = 0.01 * step, .correction1 = 1 - pow(0.9, step), .correction2 = 1 - pow(0.98, step)};
    assert_ok(mgk_pass_load(t->pass, &batch, ids, 5, (uint64_t)step));
    assert_ok(t->device->op->upload(t->device, t->step, &numbers, sizeof numbers));
}

/* Work that needs more scratch memory than all before. */
static void grow_scratch(workspace *space)
{
    static size_t rows = 4000;
    const size_t cols = 40;
    rows += 64;
    double *zeros = host_array(space, rows * cols);
    assert_ok(space->device->op->column_sums(
        space->device, rows, cols, upload(space, rows * cols, zeros), upload(space, cols, zeros)));
}

/* Returns the weights after some steps, followed by their summed loss. */
static double *train(workspace *space, const mgk_config *config, bool recorded)
{
    mgk_device *device = space->device;
    training t = start(space, config);
    mgk_recording *recording;
    mgk_loss loss;
    assert_ok(device->op->record(device, whole_step, &t, &recording));
    assert_int_equal(t.calls, 0);
    for (int step = 1; step <= STEPS; step++) {
        load(&t, step);
        assert_ok(recorded ? device->op->replay(device, recording) : whole_step(&t));
        if (step == STEPS - 2)
            grow_scratch(space);
    }
    /* On a GPU called once directly, once to be recorded, and once more because scratch memory has
     * moved. */
    assert_int_equal(t.calls, recorded && !is_cpu(device) ? 3 : STEPS);
    assert_ok(device->op->download(device, &loss, t.loss, sizeof loss));
    assert_true(loss.count == STEPS * SEQUENCES * TOKENS);
    double *weights = host_array(space, t.model->parameters.total + 1);
    assert_ok(mgk_model_download(t.model, t.model->weights, weights));
    weights[t.model->parameters.total] = loss.sum;
    device->op->release_recording(device, recording);
    mgk_pass_free(t.pass);
    mgk_model_free(t.model);
    return weights;
}

/* No bit differs, and the steps change the weights. */
static void check_steps(workspace *space, const mgk_config *config)
{
    mgk_model *untrained;
    assert_ok(mgk_model_create(config, 7, space->device, &untrained));
    const size_t total = untrained->parameters.total;
    double *before = host_array(space, total);
    assert_ok(mgk_model_download(untrained, untrained->weights, before));
    double *called = train(space, config, false), *replayed = train(space, config, true);
    assert_memory_equal(replayed, called, (total + 1) * sizeof *called);
    for (size_t i = 0; i <= total; i++)
        assert_true(isfinite(replayed[i]));
    assert_memory_not_equal(replayed, before, total * sizeof *before);
    mgk_model_free(untrained);
}

static int last_mode(const mgk_attention_kind *kind)
{
    if (!kind->mixture)
        return MGK_PRIOR_LEARNED;
    return kind->gaussian ? MGK_PRIOR_HARD : MGK_PRIOR_EM;
}

static void test_steps(void **state)
{
    workspace *space = *state;
    const mgk_attention_kind *kind;
    for (size_t i = 0; (kind = mgk_attention_row(i)); i++)
        for (int mode = MGK_PRIOR_LEARNED; mode <= last_mode(kind); mode++) {
            if (kind->not_causal || !mgk_attention_runs_on(kind, space->device))
                continue;
            mgk_config config = small_config(kind);
            config.prior = (mgk_prior_mode)mode;
            check_steps(space, &config);
            workspace_release(space);
        }
}

/* Work that takes another path at its second call. */
typedef struct detour {
    workspace *space;
    mgk_status (*way)(workspace *);
    int calls;
} detour;

static mgk_status take_detour(void *context)
{
    detour *d = context;
    return ++d->calls == 2 ? d->way(d->space) : STATUS_OK;
}

static mgk_status synchronizes(workspace *space)
{
    return space->device->op->synchronize(space->device);
}

static mgk_status downloads(workspace *space)
{
    int32_t number;
    return space->device->op->download(space->device, &number, space->on_device[0], sizeof number);
}

static mgk_status allocates(workspace *space)
{
    void *array = NULL;
    mgk_status status = space->device->op->allocate(space->device, 100, &array);
    space->device->op->release(space->device, array);
    return status;
}

static mgk_status wants_scratch(workspace *space)
{
    return space->device->op->column_sums(space->device, 1, WIDE, space->on_device[0],
                                          space->on_device[1]);
}

static mgk_status fails(workspace *space)
{
    (void)space;
    return mgk_fail(STATUS_INTERRUPTED, "on purpose");
}

/* Work that cannot be recorded is an error, and the device stays usable. */
static void check_refusal(workspace *space, mgk_status (*way)(workspace *), mgk_status expected)
{
    mgk_device *device = space->device;
    mgk_recording *recording;
    detour work = {space, way, 0};
    double *zeros = host_array(space, WIDE);
    upload(space, WIDE, zeros);
    upload(space, WIDE, zeros);
    assert_ok(device->op->record(device, take_detour, &work, &recording));
    assert_ok(device->op->replay(device, recording));
    assert_fails(device->op->replay(device, recording), expected);
    assert_ok(device->op->replay(device, recording));
    assert_ok(device->op->synchronize(device));
    device->op->release_recording(device, recording);
    workspace_release(space);
}

static void test_refusals(void **state)
{
    workspace *space = *state;
    mgk_status refused = is_cpu(space->device) ? STATUS_OK : STATUS_DEVICE;
    check_refusal(space, synchronizes, refused);
    check_refusal(space, downloads, refused);
    check_refusal(space, allocates, refused);
    check_refusal(space, wants_scratch, refused);
    check_refusal(space, fails, STATUS_INTERRUPTED);
    assert_string_equal(mgk_fail_message(), "on purpose");
    space->device->op->release_recording(space->device, NULL);
}

/* Closes the device. */
static int run_on(mgk_device *device, size_t count, struct CMUnitTest *tests)
{
    workspace space = {.device = device};
    for (size_t i = 0; i < count; i++)
        tests[i].initial_state = &space;
    const int failures = _cmocka_run_group_tests(device->name, tests, count, NULL, NULL);
    mgk_device_close(device);
    return failures;
}

int main(void)
{
    struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals), cmocka_unit_test(test_steps)};
    mgk_device *device;
    int failures = 0;
    for (int precision = MGK_SINGLE; precision <= MGK_DOUBLE; precision++)
        for (int i = 0; (device = open_next_device(&i, (mgk_precision)precision, 1));)
            failures += run_on(device, device->accelerator ? 2 : 1, tests);
    /* On the CPU a replay is a call, and the same for all levels. */
    if (!getenv("MGK_TEST_DEVICE"))
        failures += run_on(open_best_device(MGK_DOUBLE), 2, tests);
    return failures;
}
