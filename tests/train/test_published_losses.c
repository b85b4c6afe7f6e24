/* SPDX-License-Identifier: MIT */
/*
 * Training as the paper's own code trains: the losses of eight steps from its weights, with its
 * optimisers and schedules, against those that its code computes; tests/golden/authors_training.py
 * makes both.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/containers/tensors.h"
#include "model/core/pass.h"
#include "model/formats/format.h"
#include "train/schedule.h"

#define TOP MGK_TEST_GOLDEN "/training/"

enum { STEPS = 8, WARMUP = 3, HEAD_DIM = 4 };

typedef struct run_row {
    const char *name, *attention;
    mgk_prior_queries queries;
} run_row;

static const run_row rows[] = {
    {"lra_softmax", NULL, MGK_QUERIES_SEEN},      {"lra_mgk_learned", "mgk", MGK_QUERIES_SEEN},
    {"lra_mgk_em", "mgk", MGK_QUERIES_ALL},       {"lra_mgk_hard", "mgk", MGK_QUERIES_SEEN},
    {"lra_smgk_learned", NULL, MGK_QUERIES_SEEN}, {"lra_smgk_em", NULL, MGK_QUERIES_ALL},
    {"lra_smgk_hard", NULL, MGK_QUERIES_SEEN},    {"lra_linear", "linear", MGK_QUERIES_SEEN},
    {"lra_mlk", "mlk", MGK_QUERIES_SEEN},         {"lra_smlk", NULL, MGK_QUERIES_SEEN},
    {"lm_softmax", NULL, MGK_QUERIES_SEEN},       {"lm_rbf", NULL, MGK_QUERIES_SEEN},
    {"lm_rbf2keys", NULL, MGK_QUERIES_SEEN},      {"lm_soft", NULL, MGK_QUERIES_ALL},
    {"lm_soft2keys", NULL, MGK_QUERIES_ALL},      {"lm_hard", NULL, MGK_QUERIES_SEEN},
    {"lm_hard2keys", NULL, MGK_QUERIES_SEEN},     {"lm_adaptive", NULL, MGK_QUERIES_SEEN},
    {"lm_divided", NULL, MGK_QUERIES_SEEN},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* A model of theirs, and what an update of its weights needs. */
typedef struct training {
    mgk_device *device;
    mgk_model *model;
    mgk_pass *pass;
    bool lm;
    void *gradient, *m, *v;
    mgk_adamw_step *numbers;
    mgk_loss *loss;
    double *ids, *targets, *losses; /* [steps, B, N], [steps, B, N or 1], [steps] */
    size_t samples, tokens, per_sample;
} training;

static double *values_of(const mgk_tensors *file, const char *name, const size_t **shape)
{
    const mgk_tensor_info *info = mgk_tensors_find(file, name);
    double *values;
    assert_non_null(info);
    assert_ok(mgk_alloc(info->count, sizeof(*values), &values));
    assert_ok(mgk_tensors_read(file, info, 0, info->count, MGK_DTYPE_F64, values));
    *shape = info->shape;
    return values;
}

static void *zeros(const training *t, size_t bytes)
{
    void *array;
    assert_ok(t->device->op->allocate(t->device, bytes, &array));
    assert_ok(t->device->op->zero(t->device, array, bytes));
    return array;
}

/* A tensor of theirs, for a parameter [rows, ·]; the first row is the last one if it is reversed.
 */
static void take(const mgk_tensors *file, const char *name, bool reversed, double *out)
{
    const size_t *shape;
    double *values = values_of(file, name, &shape);
    for (size_t row = 0; row < shape[0]; row++)
        memcpy(out + row * shape[1], values + (reversed ? shape[0] - 1 - row : row) * shape[1],
               shape[1] * sizeof(*out));
    mgk_free(values);
}

/* Fills a parameter that is read as a product from the factor that the file has. */
static void take_factor(const mgk_tensors *file, const mgk_parameter *p, double *out)
{
    char name[80];
    int part;
    if (strcmp(p->name, "output.projection.weight") == 0) {
        take(file, "crit.out_projs.0", false, out);
    } else if (strcmp(p->name, "output.clusters.weight") == 0) {
        take(file, "crit.cluster_weight", true, out);
    } else {
        assert_int_equal(sscanf(p->name, "embedding.token.%d.", &part), 1);
        snprintf(name, sizeof(name),
                 strstr(p->name, "projection") ? "word_emb.emb_projs.%d"
                                               : "word_emb.emb_layers.%d.weight",
                 part);
        take(file, name, false, out);
    }
}

static const mgk_parameter *find(const mgk_model *model, const char *name)
{
    for (size_t i = 0; i < model->parameters.count; i++)
        if (strcmp(model->parameters.list[i].name, name) == 0)
            return &model->parameters.list[i];
    return NULL;
}

/* Replaces a model, which is read with products of its tables and maps, by one that has these; its
 * widths are halved. */
static void divide(const char *path, mgk_model **model)
{
    mgk_model *whole = *model;
    mgk_config config = whole->config;
    mgk_tensors *file;
    double *weights;
    config.tied = true;
    config.cutoff_divisor = 2;
    assert_ok(mgk_config_resolve(&config));
    assert_ok(mgk_model_create(&config, 0, whole->device, model));
    assert_ok(mgk_tensors_open(path, &file));
    assert_ok(mgk_alloc((*model)->parameters.total, sizeof(*weights), &weights));
    for (size_t i = 0; i < (*model)->parameters.count; i++) {
        const mgk_parameter *p = &(*model)->parameters.list[i];
        const mgk_parameter *read = find(whole, p->name);
        if (read && strcmp(p->name, "output.clusters.weight") != 0)
            assert_ok(mgk_model_read(whole, read->offset, read->count, weights + p->offset));
        else
            take_factor(file, p, weights + p->offset);
    }
    assert_ok(mgk_model_upload(*model, weights, (*model)->weights));
    mgk_free(weights);
    mgk_tensors_close(file);
    mgk_model_free(whole);
}

static void open_training(const run_row *row, training *t)
{
    char path[512];
    const size_t *shape, *targets, *losses;
    mgk_tensors *expected;
    const mgk_model_options options = {.head_dim = HEAD_DIM, .attention = row->attention};
    *t = (training){0};
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &t->device));
    snprintf(path, sizeof(path), TOP "%s.pt", row->name);
    assert_ok(mgk_model_load(path, &options, t->device, &t->model));
    if (strcmp(row->name, "lm_divided") == 0)
        divide(path, &t->model);
    t->model->config.prior_queries = row->queries;
    t->lm = t->model->config.family == MGK_FAMILY_LM;
    snprintf(path, sizeof(path), TOP "%s.safetensors", row->name);
    assert_ok(mgk_tensors_open(path, &expected));
    t->ids = values_of(expected, "ids", &shape);
    t->targets = values_of(expected, "targets", &targets);
    t->losses = values_of(expected, "losses", &losses);
    assert_int_equal(losses[0], STEPS);
    t->samples = shape[1];
    t->tokens = shape[2];
    t->per_sample = targets[2];
    mgk_tensors_close(expected);
    assert_ok(mgk_pass_create(t->model, (int)t->samples, (int)t->tokens, 0, true, &t->pass));
    const size_t bytes = t->model->parameters.total * t->device->real_size;
    t->gradient = zeros(t, bytes);
    t->m = zeros(t, bytes);
    t->v = zeros(t, bytes);
    t->numbers = zeros(t, sizeof(*t->numbers));
    t->loss = zeros(t, sizeof(*t->loss));
}

static void close_training(training *t)
{
    void *const arrays[] = {t->gradient, t->m, t->v, t->numbers, t->loss};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        t->device->op->release(t->device, arrays[i]);
    mgk_free(t->ids);
    mgk_free(t->targets);
    mgk_free(t->losses);
    mgk_pass_free(t->pass);
    mgk_model_free(t->model);
    mgk_device_close(t->device);
}

/* Loads the batch of a step, counted from 0; returns the number of its targets. */
static size_t load(training *t, size_t step)
{
    const size_t count = t->samples * t->tokens, targets = t->samples * t->per_sample;
    int32_t ids[64], lengths[8] = {0}, wanted[64];
    assert_true(count <= 64 && targets <= 64 && t->samples <= 8);
    for (size_t i = 0; i < count; i++) {
        ids[i] = (int32_t)t->ids[step * count + i];
        lengths[i / t->tokens] += ids[i] >= 0;
    }
    for (size_t i = 0; i < targets; i++)
        wanted[i] = (int32_t)t->targets[step * targets + i];
    const mgk_batch batch = {(int)t->samples, (int)t->tokens, ids, lengths, NULL};
    assert_ok(mgk_pass_load(t->pass, &batch, wanted, 0, step));
    return targets;
}

/* Theirs: AdamW with OneCycleLR, or Adam with a clipped gradient and a cosine from step 0. */
static void update(training *t, int64_t step)
{
    const mgk_decay decay = t->lm ? MGK_DECAY_COSINE_FROM_0 : MGK_DECAY_ONE_CYCLE;
    const double beta1 = mgk_schedule_beta1(decay, 0.9, WARMUP, STEPS, step), beta2 = 0.999;
    const mgk_adamw adamw = {
        .beta1 = beta1, .beta2 = beta2, .epsilon = t->lm ? 1e-8 : 1e-6, .clip = t->lm ? 0.25 : 0};
    *t->numbers =
        (mgk_adamw_step){.rate = mgk_schedule_rate(decay, t->lm ? 0.01 : 0.02, WARMUP, STEPS, step),
                         .correction1 = 1 - pow(beta1, (double)step),
                         .correction2 = 1 - pow(beta2, (double)step)};
    const size_t total = t->model->parameters.total;
    assert_ok(mgk_pass_update_priors(t->pass));
    assert_ok(t->device->op->sum_squares(t->device, total, t->gradient, &t->numbers->squares));
    assert_ok(t->device->op->adamw(t->device, &adamw, t->numbers, total, t->gradient,
                                   t->model->weights, t->m, t->v));
}

static void check_losses(void **state)
{
    const run_row *row = *state;
    training t;
    open_training(row, &t);
    for (size_t step = 0; step < STEPS; step++) {
        const double scale = 1 / (double)load(&t, step);
        *t.loss = (mgk_loss){0};
        assert_ok(t.device->op->zero(t.device, t.gradient,
                                     t.model->parameters.total * t.device->real_size));
        assert_ok(mgk_pass_forward(t.pass, NULL));
        assert_ok(mgk_pass_loss(t.pass, scale, t.loss));
        assert_ok(mgk_pass_backward(t.pass, t.gradient, NULL));
        assert_close(t.loss->sum * scale, t.losses[step], 1e-7, 0);
        update(&t, (int64_t)step + 1);
    }
    close_training(&t);
}

int main(void)
{
    struct CMUnitTest tests[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){.name = rows[i].name,
                                       .test_func = check_losses,
                                       .initial_state = (void *)(size_t)&rows[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
