/* SPDX-License-Identifier: MIT */
#include "golden.h"

#include <string.h>

#include "base/memory.h"
#include "model/containers/tensors.h"
#include "model/core/pass.h"
#include "model/core/pass_private.h"
#include "test.h"

/* A checkpoint on the CPU, where device memory is host memory. */
typedef struct golden_run {
    const char *checkpoint;
    mgk_tensors *expected;
    mgk_device *device;
    mgk_model *model;
    double tolerance;
    mgk_batch batch;
    double *attention, *scores, *cross; /* NULL: not expected */
    double *layers;                     /* outputs of `layer_count` layers; NULL: not expected */
    size_t layer_count;
    double *ids, *input; /* one of them is NULL */
    int32_t *tokens, *lengths, *targets, *heads;
    int outputs;             /* layers whose output was observed */
    const void *last_output; /* of the last of them */
    const char *encoder;     /* of a decoder; NULL: the model has none */
} golden_run;

/* The expected tensor [*count]; NULL: none. Release with mgk_free. */
static double *expected_values(const golden_run *run, const char *name, const size_t **shape)
{
    const mgk_tensor_info *info = mgk_tensors_find(run->expected, name);
    double *values;
    if (!info)
        return NULL;
    *shape = info->shape;
    assert_ok(mgk_alloc(info->count, sizeof(*values), &values));
    assert_ok(mgk_tensors_read(run->expected, info, 0, info->count, MGK_DTYPE_F64, values));
    return values;
}

static double value_at(const golden_run *run, const void *reals, size_t index)
{
    return run->device->precision == MGK_DOUBLE ? ((const double *)reals)[index]
                                                : (double)((const float *)reals)[index];
}

static double largest(size_t count, const double *values)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(values[i]));
    return most;
}

/* Errors are relative to the largest of each `width` expected numbers, if it is above 1. */
static void compare_vectors(const golden_run *run, const char *what, const void *actual,
                            size_t offset, const double *expected, size_t count, size_t width)
{
    for (size_t i = 0; i < count; i++) {
        const double a = value_at(run, actual, offset + i), b = expected[i];
        const double scale = fmax(1, largest(width, expected + i / width * width));
        if (!isfinite(a) || !isfinite(b) || !(fabs(a - b) <= run->tolerance * scale))
            fail_msg("%s: %s [%zu] in %s precision: %.17g, expected %.17g", run->checkpoint, what,
                     i, run->device->precision == MGK_DOUBLE ? "double" : "single", a, b);
    }
}

static void compare(const golden_run *run, const char *what, const void *actual, size_t offset,
                    const double *expected, size_t count)
{
    compare_vectors(run, what, actual, offset, expected, count, 1);
}

/* Compares one object of a layer, [B, H, N, keys], in the rows of valid tokens. */
static mgk_status compare_matrices(const golden_run *run, const mgk_observed *layer,
                                   mgk_matrix_content content, const double *expected)
{
    const mgk_attention_view *view = &layer->view;
    size_t n = (size_t)view->tokens, heads = (size_t)view->heads;
    size_t keys = (size_t)mgk_view_keys(view);
    void *matrices;
    if (!expected)
        return STATUS_OK;
    TRY(mgk_alloc(heads * n * keys, run->device->real_size, &matrices));
    for (int b = 0; b < view->samples; b++) {
        size_t sample = (size_t)layer->layer * (size_t)view->samples + (size_t)b;
        assert_ok(layer->attention.kind->methods->matrix(
            run->device, view, &layer->attention, content, b, run->heads, view->heads, matrices));
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < (size_t)run->lengths[b]; i++)
                compare(run, content == MGK_MATRIX_ATTENTION ? "attention" : "scores", matrices,
                        (h * n + i) * keys, expected + ((sample * heads + h) * n + i) * keys, keys);
    }
    mgk_free(matrices);
    return STATUS_OK;
}

static mgk_status compare_layer(void *context, mgk_observed *layer)
{
    const golden_run *run = context;
    TRY(compare_matrices(run, layer, MGK_MATRIX_ATTENTION, run->attention));
    return compare_matrices(run, layer, MGK_MATRIX_SCORES, run->scores);
}

static mgk_status compare_cross(void *context, mgk_observed *layer)
{
    const golden_run *run = context;
    return compare_matrices(run, layer, MGK_MATRIX_ATTENTION, run->cross);
}

/* Makes tokens, lengths and next tokens from the expected ids of this name; for pictures like
 * mgk_pictures_read. */
static void make_batch(golden_run *run, const char *ids)
{
    const size_t *shape;
    run->ids = expected_values(run, ids, &shape);
    if (!run->ids)
        run->input = expected_values(run, "patches", &shape);
    if (!run->ids && !run->input)
        run->input = expected_values(run, "frames", &shape);
    assert_true(run->ids || run->input);
    size_t samples = shape[0], n = run->model->config.sound.bands > 0 ? shape[1] / 2 - 1 : shape[1];
    assert_ok(mgk_alloc(samples * n, sizeof(int32_t), &run->tokens));
    assert_ok(mgk_alloc(samples * n, sizeof(int32_t), &run->targets));
    assert_ok(mgk_alloc(samples, sizeof(int32_t), &run->lengths));
    for (size_t i = 0; i < samples * n; i++) {
        run->tokens[i] = run->ids ? (int32_t)run->ids[i] : (int32_t)(i % n);
        run->targets[i] = run->ids && i % n + 1 < n ? (int32_t)run->ids[i + 1] : -1;
        run->lengths[i / n] += run->tokens[i] >= 0;
    }
    run->batch = (mgk_batch){(int)samples, (int)n, run->tokens, run->lengths, run->input};
}

static void compare_hidden(const golden_run *run, const mgk_pass *pass)
{
    const size_t *shape;
    double *hidden = expected_values(run, "hidden", &shape);
    const size_t width = (size_t)mgk_config_hidden_width(&run->model->config);
    size_t row = (size_t)run->batch.tokens * width;
    assert_non_null(hidden);
    for (int b = 0; b < run->batch.sequences; b++)
        compare(run, "hidden", pass->output, (size_t)b * row, hidden + (size_t)b * row,
                (size_t)run->lengths[b] * width);
    mgk_free(hidden);
}

/* Logits of a language model [B, N, V], of all rows at a time. */
static void compare_word_logits(const golden_run *run, mgk_pass *pass, const double *expected)
{
    const size_t words = (size_t)run->model->config.vocabulary;
    const size_t row = (size_t)run->batch.tokens * words;
    assert_int_equal(mgk_pass_logits(pass).most, mgk_pass_rows(pass));
    assert_ok(mgk_pass_compute_logits(pass, pass->output, 0, mgk_pass_rows(pass)));
    for (int b = 0; b < run->batch.sequences; b++)
        compare(run, "logits", pass->logits, (size_t)b * row, expected + (size_t)b * row,
                (size_t)run->lengths[b] * words);
}

static void compare_outputs(const golden_run *run, mgk_pass *pass)
{
    const size_t *shape;
    double *loss = expected_values(run, "loss", &shape);
    double *logits = expected_values(run, "logits", &shape);
    mgk_loss found = {0};
    const mgk_config *config = &run->model->config;
    assert_true(config->family == MGK_FAMILY_LM ? loss != NULL : config->classes == 0 || logits);
    assert_true(config->family == MGK_FAMILY_LM || !loss);
    if (loss || logits)
        assert_ok(mgk_pass_loss(pass, 1, &found));
    if (loss) {
        assert_int_equal(found.count, (int64_t)loss[1]);
        assert_close(found.sum / (double)found.count, loss[0] / loss[1], run->tolerance,
                     run->tolerance);
    }
    if (logits && config->memory > 0)
        compare_word_logits(run, pass, logits);
    else if (logits)
        compare(run, "logits", pass->logits, 0, logits, shape[0] * shape[1]);
    mgk_free(logits);
    mgk_free(loss);
}

/* Outputs come in the order of layers, and are those expected, of as many layers as are. In single
 * precision small numbers of a vector have the rounding of its large ones, which reach 14:
 * PyTorch's phi3 in float32 differs by up to 8.5e-6 max(1, |x|) from itself in float64. */
static mgk_status count_output(void *context, int layer, const void *output)
{
    golden_run *run = context;
    const size_t dim = (size_t)run->model->config.dim, row = (size_t)run->batch.tokens * dim;
    const size_t width = run->device->precision == MGK_DOUBLE ? 1 : dim;
    assert_int_equal(layer, run->outputs++);
    for (size_t b = 0; (size_t)layer < run->layer_count && b < (size_t)run->batch.sequences; b++)
        compare_vectors(run, "output of a layer", output, b * row,
                        run->layers + ((size_t)layer * (size_t)run->batch.sequences + b) * row,
                        (size_t)run->lengths[b] * dim, width);
    run->last_output = output;
    return STATUS_OK;
}

/* A post-norm model's final hidden states, which have been compared, are the last layer's output;
 * others normalise it. */
static void check_outputs(const golden_run *run, const mgk_pass *pass)
{
    const mgk_config *config = &run->model->config;
    assert_int_equal(run->outputs, config->layers);
    assert_true((run->last_output == pass->output) == !mgk_config_has_final_norm(config));
}

/* The targets of a decoder; its input is the start and the targets but the last. */
static void take_targets(golden_run *run)
{
    const size_t *shape, n = (size_t)run->batch.tokens;
    const int start = run->model->config.start;
    double *targets = expected_values(run, "targets", &shape);
    assert_non_null(targets);
    for (size_t b = 0; b < (size_t)run->batch.sequences; b++)
        for (size_t t = 0; t < n; t++) {
            const size_t at = b * n + t, last = b * n + (size_t)run->lengths[b] - 1;
            run->targets[at] = (int32_t)targets[at];
            assert_int_equal(run->targets[at] < 0, t >= (size_t)run->lengths[b]);
            if (run->targets[at] >= 0)
                assert_int_equal(run->tokens[at], t > 0       ? run->targets[at - 1]
                                                  : start < 0 ? (int32_t)targets[last]
                                                              : start);
        }
    mgk_free(targets);
}

/* What the pass of a model needs, and what it gives. */
static void open_run(golden_run *run, const char *expected, const mgk_model_options *options,
                     mgk_precision precision)
{
    assert_ok(mgk_tensors_open(expected, &run->expected));
    assert_ok(mgk_device_open("cpu", precision, 1, &run->device));
    assert_ok(mgk_model_load(run->checkpoint, options, run->device, &run->model));
}

static void close_run(golden_run *run)
{
    mgk_model_free(run->model);
    mgk_device_close(run->device);
    mgk_tensors_close(run->expected);
    mgk_free(run->attention);
    mgk_free(run->cross);
    mgk_free(run->layers);
    mgk_free(run->scores);
    mgk_free(run->ids);
    mgk_free(run->input);
    mgk_free(run->tokens);
    mgk_free(run->targets);
    mgk_free(run->lengths);
    mgk_free(run->heads);
}

/* Runs an encoder on the source of a decoder; the hidden states are those of the pass. */
static void run_encoder(golden_run *run, const char *expected, mgk_precision precision,
                        mgk_pass **pass)
{
    open_run(run, expected, NULL, precision);
    make_batch(run, "source");
    assert_ok(mgk_pass_create(run->model, run->batch.sequences, run->batch.tokens, 0, false, pass));
    assert_ok(mgk_pass_load(*pass, &run->batch, NULL, 0, 0));
    assert_ok(mgk_pass_forward(*pass, NULL));
}

static void expect_all(golden_run *run)
{
    const size_t *shape;
    run->cross = expected_values(run, "cross", &shape);
    assert_true((run->cross != NULL) == (run->encoder != NULL));
    run->scores = expected_values(run, "scores", &shape);
    run->layers = expected_values(run, "outputs", &shape);
    run->layer_count = run->layers ? shape[0] : 0;
    run->attention = expected_values(run, "attention", &shape);
    assert_non_null(run->attention);
    assert_int_equal(shape[0], run->model->config.layers);
    assert_int_equal(shape[2], run->model->config.heads);
    assert_ok(mgk_alloc((size_t)run->model->config.heads, sizeof(*run->heads), &run->heads));
    for (int h = 0; h < run->model->config.heads; h++)
        run->heads[h] = h;
}

/* One forward pass observes one kind of attention. */
static void compare_passes(golden_run *run, mgk_pass *pass)
{
    const mgk_observer observer = {.layer = compare_layer, .context = run, .output = count_output};
    const mgk_observer cross = {
        .layer = compare_cross, .context = run, .cross = true, .output = count_output};
    if (run->encoder) {
        assert_ok(mgk_pass_forward(pass, &cross));
        run->outputs = 0;
    }
    assert_ok(mgk_pass_forward(pass, &observer));
    compare_hidden(run, pass);
    check_outputs(run, pass);
    compare_outputs(run, pass);
}

static void check_precision(const char *checkpoint, const mgk_model_options *options,
                            const char *encoder, const char *expected, mgk_precision precision)
{
    golden_run run = {.checkpoint = checkpoint,
                      .tolerance = precision == MGK_DOUBLE ? 1e-10 : 1e-5,
                      .encoder = encoder};
    golden_run source = {.checkpoint = encoder};
    mgk_pass *pass, *memory = NULL;
    open_run(&run, expected, options, precision);
    make_batch(&run, "ids");
    expect_all(&run);
    if (encoder) {
        run_encoder(&source, expected, precision, &memory);
        take_targets(&run);
    }
    const bool words = run.model->config.family == MGK_FAMILY_LM;
    assert_ok(mgk_pass_create(run.model, run.batch.sequences, run.batch.tokens, source.batch.tokens,
                              false, &pass));
    assert_ok(mgk_pass_load(pass, &run.batch, words ? run.targets : NULL, 0, 0));
    if (encoder)
        assert_ok(mgk_pass_set_memory(pass, source.batch.tokens, source.lengths,
                                      mgk_pass_hidden(memory)));
    compare_passes(&run, pass);
    mgk_pass_free(pass);
    mgk_pass_free(memory);
    close_run(&run);
    if (encoder)
        close_run(&source);
}

void golden_check(const char *checkpoint, const mgk_model_options *options, const char *expected)
{
    check_precision(checkpoint, options, NULL, expected, MGK_DOUBLE);
    check_precision(checkpoint, options, NULL, expected, MGK_SINGLE);
}

void golden_check_decoder(const char *checkpoint, const mgk_model_options *options,
                          const char *encoder, const char *expected)
{
    check_precision(checkpoint, options, encoder, expected, MGK_DOUBLE);
    check_precision(checkpoint, options, encoder, expected, MGK_SINGLE);
}
