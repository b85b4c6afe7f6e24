/* SPDX-License-Identifier: MIT */
/* Decoders that attend to a memory, the output of an encoder, in float64: what is refused, what an
 * observer sees, and what does not change the result. */
#include "test.h"

#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "model/pass_case.h"

enum { MEMORY = 5, SOURCE = 8, LAYERS = 2, HEADS = 2, DIM = 6 };
enum { STATES = CASE_SEQUENCES * SOURCE * MEMORY, ROWS = CASE_SEQUENCES * CASE_TOKENS };

/* The last sequence has nothing to attend to. */
static const int32_t source_lengths[CASE_SEQUENCES] = {SOURCE, 3, 1, 0};

typedef struct memory_case {
    pass_case base;
    mgk_pass *pass;
    double hidden[STATES]; /* on the CPU device memory is host memory */
} memory_case;

static mgk_config decoder(bool pre_norm)
{
    mgk_config config = case_config(MGK_FAMILY_LM, "softmax", 1);
    config.memory = MEMORY;
    config.start = 0;
    config.pre_norm = pre_norm;
    config.attention_bias = pre_norm;
    return config;
}

static void open_case(memory_case *c, bool pre_norm)
{
    const mgk_config config = decoder(pre_norm);
    case_open(&c->base, &config);
    for (size_t i = 0; i < STATES; i++)
        c->hidden[i] = mgk_random_normal(13, 0, i);
    assert_ok(mgk_pass_create(c->base.model, CASE_SEQUENCES, CASE_TOKENS, SOURCE, false, &c->pass));
}

static void close_case(memory_case *c)
{
    mgk_pass_free(c->pass);
    case_close(&c->base);
}

static void load(memory_case *c)
{
    assert_ok(mgk_pass_load(c->pass, &c->base.batch, c->base.targets, 0, 0));
    assert_ok(mgk_pass_set_memory(c->pass, SOURCE, source_lengths, c->hidden));
}

/* The final hidden states of valid tokens, 0 elsewhere. */
static void run(memory_case *c, const mgk_observer *observer, double out[ROWS * DIM])
{
    load(c);
    assert_ok(mgk_pass_forward(c->pass, observer));
    assert_ok(mgk_device_download(c->base.device, mgk_pass_hidden(c->pass), ROWS * DIM, out));
    for (int i = 0; i < ROWS; i++)
        if (i % CASE_TOKENS >= c->base.lengths[i / CASE_TOKENS])
            memset(out + (size_t)i * DIM, 0, DIM * sizeof(*out));
}

static void assert_same(const double *a, const double *b, double tolerance)
{
    for (size_t k = 0; k < ROWS * DIM; k++)
        if (!(fabs(a[k] - b[k]) <= tolerance))
            fail_msg("number %zu: %.17g, expected %.17g", k, a[k], b[k]);
}

static void test_refused(void **state)
{
    (void)state;
    memory_case c;
    mgk_pass *pass;
    size_t bytes;
    int32_t lengths[CASE_SEQUENCES] = {0, 0, SOURCE + 1, 0};
    open_case(&c, true);
    mgk_model *model = c.base.model;
    assert_fails(mgk_pass_create(model, 1, 1, 0, false, &pass), STATUS_SHAPE);
    assert_fails(mgk_pass_bytes(model, 1, 1, -1, false, &bytes), STATUS_SHAPE);
    assert_fails(mgk_pass_create(model, 1, 1, 1, true, &pass), STATUS_UNSUPPORTED);
    assert_ok(mgk_pass_load(c.pass, &c.base.batch, NULL, 0, 0));
    assert_fails(mgk_pass_forward(c.pass, NULL), STATUS_USAGE); /* no memory yet */
    assert_fails(mgk_pass_set_memory(c.pass, SOURCE + 1, source_lengths, c.hidden), STATUS_SHAPE);
    assert_fails(mgk_pass_set_memory(c.pass, 0, source_lengths, c.hidden), STATUS_SHAPE);
    assert_fails(mgk_pass_set_memory(c.pass, SOURCE, lengths, c.hidden), STATUS_SHAPE);
    assert_fails(mgk_pass_forward(c.pass, NULL), STATUS_USAGE);
    load(&c);
    assert_ok(mgk_pass_forward(c.pass, NULL));
    assert_ok(mgk_pass_load(c.pass, &c.base.batch, NULL, 0, 0));
    assert_fails(mgk_pass_forward(c.pass, NULL), STATUS_USAGE); /* that of the batch before */
    c.base.device->all_parts = false;
    assert_fails(mgk_pass_create(model, 1, 1, 1, false, &pass), STATUS_UNSUPPORTED);
    assert_non_null(strstr(mgk_fail_message(), "attention to the output of an encoder"));
    close_case(&c);
}

/* A model without a memory takes none. */
static void test_without_memory(void **state)
{
    (void)state;
    const mgk_config config = case_config(MGK_FAMILY_LM, "softmax", 1);
    const mgk_observer cross = {.cross = true};
    const double hidden[STATES] = {0};
    pass_case c;
    mgk_pass *pass;
    case_open(&c, &config);
    assert_fails(mgk_pass_create(c.model, 1, 1, 1, false, &pass), STATUS_SHAPE);
    assert_ok(mgk_pass_create(c.model, CASE_SEQUENCES, CASE_TOKENS, 0, false, &pass));
    assert_ok(mgk_pass_load(pass, &c.batch, NULL, 0, 0));
    assert_fails(mgk_pass_set_memory(pass, 1, source_lengths, hidden), STATUS_USAGE);
    assert_fails(mgk_pass_forward(pass, &cross), STATUS_USAGE);
    mgk_pass_free(pass);
    case_close(&c);
}

static void test_other_kinds_refused(void **state)
{
    (void)state;
    mgk_device *device;
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    for (size_t row = 0; mgk_attention_row(row); row++) {
        mgk_config config = decoder(true);
        mgk_model *model;
        if (mgk_attention_row(row)->not_causal)
            continue;
        strcpy(config.attention, mgk_attention_row(row)->name);
        assert_ok(mgk_config_resolve(&config));
        const bool softmax = strcmp(config.attention, "softmax") == 0;
        const mgk_status status = mgk_model_create(&config, 1, device, &model);
        assert_int_equal(status, softmax ? STATUS_OK : STATUS_USAGE);
        mgk_model_free(model);
    }
    mgk_device_close(device);
}

/* The bytes are those of the allocation: as many sequences take at most as many times as much. */
static void test_bytes(void **state)
{
    (void)state;
    memory_case c;
    size_t one, all, longer;
    open_case(&c, true);
    assert_ok(mgk_pass_bytes(c.base.model, 1, CASE_TOKENS, SOURCE, false, &one));
    assert_ok(mgk_pass_bytes(c.base.model, 64, CASE_TOKENS, SOURCE, false, &all));
    assert_ok(mgk_pass_bytes(c.base.model, 64, CASE_TOKENS, 2 * SOURCE, false, &longer));
    assert_true(one < all && all <= 64 * one);
    assert_int_equal(longer - all, 64 * SOURCE * 2 * DIM * sizeof(double)); /* keys, values */
    close_case(&c);
}

/* Numbers beyond the end of a memory, and what other sequences read, do not count. */
static void test_padding(void **state)
{
    (void)state;
    static double expected[ROWS * DIM], found[ROWS * DIM];
    for (int pre = 0; pre < 2; pre++) {
        memory_case c;
        open_case(&c, pre);
        run(&c, NULL, expected);
        for (size_t i = 0; i < STATES; i++)
            if ((int)(i / MEMORY % SOURCE) >= source_lengths[i / MEMORY / SOURCE])
                c.hidden[i] = 1e6;
        run(&c, NULL, found);
        assert_same(found, expected, 0);
        c.hidden[MEMORY * SOURCE] += 1; /* of the second sequence */
        run(&c, NULL, found);
        for (size_t k = 0; k < ROWS * DIM; k++) {
            const bool second = k / DIM / CASE_TOKENS == 1, valid = k / DIM % CASE_TOKENS < 4;
            assert_true((found[k] != expected[k]) == (second && valid));
        }
        close_case(&c);
    }
}

/* Counts layers, and keeps the rectangular matrices of the last one. */
typedef struct watcher {
    int layers, outputs;
    bool cross;
    double matrices[CASE_SEQUENCES][HEADS * CASE_TOKENS * SOURCE];
} watcher;

static mgk_status watch_layer(void *context, mgk_observed *layer)
{
    static const int32_t heads[HEADS] = {0, 1};
    watcher *w = context;
    assert_int_equal(layer->layer, w->layers++);
    assert_int_equal(mgk_view_keys(&layer->view), w->cross ? SOURCE : CASE_TOKENS);
    assert_int_equal(layer->view.causal, !w->cross);
    for (int b = 0; b < CASE_SEQUENCES; b++)
        TRY(mgk_observed_matrices(layer, MGK_MATRIX_ATTENTION, b, 1, heads, HEADS, w->matrices[b]));
    return STATUS_OK;
}

static mgk_status watch_output(void *context, int layer, const void *output)
{
    watcher *w = context;
    assert_non_null(output);
    assert_int_equal(layer, w->outputs++);
    return STATUS_OK;
}

/* Matrices that an observer asks for leave the same output; the last layer that is observed has the
 * same matrices whether the pass goes on or not, and their rows sum to 1. */
static void test_observer(void **state)
{
    (void)state;
    static double expected[ROWS * DIM], found[ROWS * DIM];
    static watcher whole, cut;
    for (int i = 0; i < 4; i++) {
        const bool cross = i % 2;
        memory_case c;
        open_case(&c, i / 2);
        whole = cut = (watcher){.cross = cross};
        const mgk_observer
            all = {.layer = watch_layer, .context = &whole, .cross = cross, .output = watch_output},
            some = {.layer = watch_layer, .context = &cut, .cross = cross, .layers = LAYERS};
        run(&c, NULL, expected);
        run(&c, &all, found);
        assert_same(found, expected, 1e-13);
        assert_int_equal(whole.layers, LAYERS);
        assert_int_equal(whole.outputs, LAYERS);
        load(&c);
        assert_ok(mgk_pass_forward(c.pass, &some));
        assert_int_equal(cut.layers, LAYERS);
        assert_memory_equal(cut.matrices, whole.matrices, sizeof(cut.matrices));
        for (int b = 0; cross && b < CASE_SEQUENCES; b++)
            for (int row = 0; row < HEADS * CASE_TOKENS; row++) {
                const bool valid = row % CASE_TOKENS < c.base.lengths[b] && source_lengths[b] > 0;
                double sum = 0;
                for (int j = 0; j < SOURCE; j++)
                    sum += whole.matrices[b][row * SOURCE + j];
                assert_close(sum, valid ? 1 : 0, 1e-13, 0);
            }
        close_case(&c);
    }
}

/* Multiplies a parameter by 0. */
static void clear_parameter(const mgk_model *model, const char *name)
{
    for (size_t i = 0; i < model->parameters.count; i++) {
        const mgk_parameter *p = &model->parameters.list[i];
        if (strcmp(p->name, name) == 0) {
            memset((double *)model->weights + p->offset, 0, p->count * sizeof(double));
            return;
        }
    }
    fail_msg("no parameter %s", name);
}

/* Heads are those of the layers' own attention: without all of them a layer still attends to the
 * memory. */
static void test_heads_removed(void **state)
{
    (void)state;
    static double whole[ROWS * DIM], expected[ROWS * DIM], found[ROWS * DIM];
    const bool removed[LAYERS * HEADS] = {false, false, true, true};
    memory_case c;
    open_case(&c, true);
    run(&c, NULL, whole);
    mgk_pass_remove_heads(c.pass, removed);
    run(&c, NULL, found);
    mgk_pass_remove_heads(c.pass, NULL);
    clear_parameter(c.base.model, "layers.1.attention.output.weight");
    run(&c, NULL, expected);
    assert_same(found, expected, 1e-13);
    assert_true(memcmp(found, whole, sizeof(found)) != 0);
    clear_parameter(c.base.model, "layers.1.cross.output.weight");
    run(&c, NULL, found);
    assert_true(memcmp(found, expected, sizeof(found)) != 0);
    close_case(&c);
}

/* A second pass from a layer on reads the same memory. */
typedef struct keeper {
    double first[ROWS * DIM];
} keeper;

static mgk_status keep_first(void *context, int layer, const void *output)
{
    keeper *k = context;
    if (layer == 0)
        memcpy(k->first, output, sizeof(k->first));
    return STATUS_OK;
}

static void test_forward_from(void **state)
{
    (void)state;
    static double expected[ROWS * DIM], found[ROWS * DIM];
    static keeper k;
    memory_case c;
    const mgk_observer observer = {.context = &k, .output = keep_first};
    open_case(&c, false);
    run(&c, &observer, expected);
    assert_ok(mgk_pass_forward_from(c.pass, 1, k.first, NULL));
    memcpy(found, mgk_pass_hidden(c.pass), sizeof(found));
    for (int i = 0; i < ROWS; i++)
        if (i % CASE_TOKENS >= c.base.lengths[i / CASE_TOKENS])
            memset(found + (size_t)i * DIM, 0, DIM * sizeof(*found));
    assert_same(found, expected, 0);
    close_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_other_kinds_refused),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_observer),
        cmocka_unit_test(test_heads_removed),
        cmocka_unit_test(test_forward_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
