/* SPDX-License-Identifier: MIT */
#include "train/step.h"

#include <math.h>

#include "base/memory.h"
#include "train/feed.h"

/*
 * Numbers of a step in device memory: the host writes them before the step, the device during it.
 */
typedef struct step_numbers {
    mgk_adamw_step adamw;
    mgk_loss loss;
} step_numbers;

struct mgk_step {
    mgk_train_run *run;
    const mgk_train_settings *settings;
    mgk_feed feed;
    mgk_pass *pass;
    double loss_scale; /* weight of one target in the mean loss */
    double beta1;      /* of the next step */
    step_numbers *numbers;
    mgk_recording *descent, *update;
};

/* Adds the gradient of the loaded micro-batch to run.gradient. */
static mgk_status add_gradient(void *context)
{
    mgk_step *step = context;
    TRY(mgk_pass_forward(step->pass, NULL));
    TRY(mgk_pass_loss(step->pass, step->loss_scale, &step->numbers->loss));
    return mgk_pass_backward(step->pass, step->run->gradient, NULL);
}

/* New soft-E priors, and one AdamW step for every parameter, with decay only for matrices. */
static mgk_status update(void *context)
{
    mgk_step *step = context;
    const mgk_train_settings *s = step->settings;
    const mgk_train_run *run = step->run;
    const mgk_parameters *parameters = &run->model->parameters;
    mgk_device *device = run->model->device;
    mgk_adamw_step *numbers = &step->numbers->adamw;
    mgk_adamw adamw = {
        .beta1 = step->beta1, .beta2 = s->beta2, .epsilon = s->epsilon, .clip = s->clip};
    TRY(mgk_pass_update_priors(step->pass));
    TRY(device->op->sum_squares(device, parameters->total, run->gradient, &numbers->squares));
    for (size_t i = 0; i < parameters->count; i++) {
        const mgk_parameter *p = &parameters->list[i];
        adamw.decay = p->decay ? s->weight_decay : 0;
        TRY(device->op->adamw(
            device, &adamw, numbers, p->count, mgk_at(device, run->gradient, p->offset),
            mgk_at(device, run->model->weights, p->offset), mgk_at(device, run->m, p->offset),
            mgk_at(device, run->v, p->offset)));
    }
    return STATUS_OK;
}

mgk_status mgk_step_create(mgk_train_run *run, const mgk_dataset *data,
                           const mgk_train_settings *settings, mgk_step **out)
{
    mgk_status status;
    mgk_step *step = NULL;
    mgk_model *model = run->model;
    mgk_device *device = model->device;
    *out = NULL;
    CHECK(mgk_alloc(1, sizeof(*step), &step));
    step->run = run;
    step->settings = settings;
    step->beta1 = -1; /* no update is recorded */
    CHECK(mgk_feed_create(data, &model->config, settings->batch, &step->feed));
    const mgk_dataset_shape *shape = &step->feed.shape;
    CHECK(mgk_pass_create(model, settings->batch * (int)shape->sequences, (int)shape->length, 0,
                          true, &step->pass));
    CHECK(mgk_pass_check_dropout(model));
    CHECK(mgk_pass_smooth(step->pass, settings->smoothing));
    if (mgk_regularises(&settings->regularise))
        CHECK(mgk_pass_regularise(step->pass, &settings->regularise, 1.0 / settings->accumulation));
    bool lm = model->config.family == MGK_FAMILY_LM;
    double targets = (double)settings->batch * (lm ? (double)shape->length : 1);
    step->loss_scale = 1.0 / (targets * (double)settings->accumulation);
    CHECK(device->op->allocate(device, sizeof(*step->numbers), &step->numbers));
    CHECK(device->op->record(device, add_gradient, step, &step->descent));
    *out = step;
    step = NULL;
out:
    mgk_step_free(step);
    return status;
}

void mgk_step_free(mgk_step *step)
{
    if (!step)
        return;
    mgk_device *device = step->run->model->device;
    device->op->release_recording(device, step->descent);
    device->op->release_recording(device, step->update);
    device->op->release(device, step->numbers);
    mgk_pass_free(step->pass);
    mgk_feed_free(&step->feed);
    mgk_free(step);
}

/* Computes the gradient of the whole step in run.gradient, and its loss. */
static mgk_status descend(mgk_step *step)
{
    const mgk_train_settings *s = step->settings;
    const mgk_train_run *run = step->run;
    mgk_device *device = run->model->device;
    TRY(device->op->zero(device, run->gradient, run->model->parameters.total * device->real_size));
    for (int micro = 0; micro < s->accumulation; micro++) {
        uint64_t round = (uint64_t)run->step * (uint64_t)s->accumulation + (uint64_t)micro;
        size_t batch_size = (size_t)s->batch;
        mgk_batch batch;
        TRY(mgk_feed_training(&step->feed, s->seed, round * batch_size, batch_size, &batch));
        TRY(mgk_pass_load(step->pass, &batch, step->feed.targets, s->seed, round));
        TRY(device->op->replay(device, step->descent));
    }
    return STATUS_OK;
}

/* A recorded update has one β₁; schedules that change it need a new recording. */
static mgk_status record_update(mgk_step *step, double beta1)
{
    mgk_device *device = step->run->model->device;
    if (step->beta1 == beta1)
        return STATUS_OK;
    device->op->release_recording(device, step->update);
    step->update = NULL;
    step->beta1 = beta1;
    return device->op->record(device, update, step, &step->update);
}

mgk_status mgk_step_take(mgk_step *step, mgk_step_result *result)
{
    const mgk_train_settings *s = step->settings;
    mgk_device *device = step->run->model->device;
    const int64_t number = step->run->step + 1;
    const double beta1 = mgk_schedule_beta1(s->decay, s->beta1, s->warmup, s->steps, number);
    step_numbers numbers = {
        .adamw = {.rate = mgk_schedule_rate(s->decay, s->rate, s->warmup, s->steps, number),
                  .correction1 = 1 - pow(beta1, (double)number),
                  .correction2 = 1 - pow(s->beta2, (double)number)}};
    TRY(device->op->upload(device, step->numbers, &numbers, sizeof(numbers)));
    TRY(descend(step));
    TRY(record_update(step, beta1));
    TRY(device->op->replay(device, step->update));
    TRY(device->op->download(device, &numbers, step->numbers, sizeof(numbers)));
    *result = (mgk_step_result){.loss = numbers.loss,
                                .gradient_norm = sqrt(numbers.adamw.squares),
                                .rate = numbers.adamw.rate};
    mgk_pass_take_terms(step->pass, result->terms);
    for (int term = 0; term < MGK_TERMS; term++)
        result->terms[term] /= s->accumulation;
    if (!isfinite(result->gradient_norm) || !isfinite(numbers.loss.sum))
        return mgk_fail(STATUS_NUMERIC,
                        "training diverged: at step %lld the %s is no finite number; a smaller "
                        "learning rate or a longer warm-up may help",
                        (long long)number, isfinite(numbers.loss.sum) ? "gradient" : "loss");
    step->run->step = step->run->model->step = number;
    return STATUS_OK;
}
