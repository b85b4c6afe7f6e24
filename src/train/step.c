/* SPDX-License-Identifier: MIT */
#include "train/step.h"

#include <math.h>

#include "base/memory.h"
#include "train/combine.h"
#include "train/feed.h"
#include "train/portion.h"

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
    size_t recorded;   /* samples of the batches that `descent` is for; 0: it is not recorded */
    double beta1;      /* of the next step */
    step_numbers *numbers;
    mgk_recording *descent, *update;
    mgk_combination *combination; /* of several processes, else NULL */
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
    const int sequences = mgk_portion_most(settings) * (int)shape->sequences;
    CHECK(mgk_pass_create(model, sequences, (int)shape->length, 0, true, &step->pass));
    CHECK(mgk_pass_check_dropout(model));
    CHECK(mgk_pass_smooth(step->pass, settings->smoothing));
    if (mgk_regularises(&settings->regularise))
        CHECK(mgk_pass_regularise(step->pass, &settings->regularise, 1.0 / settings->accumulation));
    bool lm = model->config.family == MGK_FAMILY_LM;
    double targets = (double)settings->batch * (lm ? (double)shape->length : 1);
    step->loss_scale = 1.0 / (targets * (double)settings->accumulation);
    CHECK(device->op->allocate(device, sizeof(*step->numbers), &step->numbers));
    CHECK(mgk_combination_create(settings->cluster, step->pass, run, &step->combination));
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
    mgk_combination_free(step->combination);
    mgk_pass_free(step->pass);
    mgk_feed_free(&step->feed);
    mgk_free(step);
}

/* Draws random features anew before the step that follows every so many; draw 0 is that of the new
 * model. So what is evaluated and saved has the features that the step before has used. */
static mgk_status redraw(const mgk_step *step)
{
    const mgk_train_settings *s = step->settings;
    const int64_t done = step->run->step;
    if (s->redraw_every == 0 || done == 0 || done % s->redraw_every != 0)
        return STATUS_OK;
    return mgk_model_redraw(step->run->model, s->seed, (uint64_t)(done / s->redraw_every));
}

/* A recording is for batches of one size. */
static mgk_status record_descent(mgk_step *step, size_t samples)
{
    mgk_device *device = step->run->model->device;
    if (step->recorded == samples)
        return STATUS_OK;
    device->op->release_recording(device, step->descent);
    step->descent = NULL;
    step->recorded = samples;
    return device->op->record(device, add_gradient, step, &step->descent);
}

/* Adds the gradient of this process's part of a micro-batch. Each process reads all of it: where
 * dropout begins follows from the lengths of the sequences before. */
static mgk_status descend_batch(mgk_step *step, int micro)
{
    const mgk_train_settings *s = step->settings;
    const mgk_portion own = mgk_portion_of_batch(s, micro);
    const uint64_t round = (uint64_t)step->run->step * (uint64_t)s->accumulation + (uint64_t)micro;
    const size_t size = (size_t)s->batch, samples = (size_t)(own.end - own.begin);
    mgk_device *device = step->run->model->device;
    mgk_batch whole;
    mgk_feed_part part;
    if (samples == 0)
        return STATUS_OK;
    TRY(mgk_feed_training(&step->feed, s->seed, round * size, size, &whole));
    mgk_feed_share(&step->feed, &whole, own.begin, own.end, &part);
    TRY(mgk_pass_load_share(step->pass, &part.batch, &part.place, part.targets, s->seed, round));
    TRY(record_descent(step, samples));
    return device->op->replay(device, step->descent);
}

/* Computes the gradient of this process's portion in run.gradient, and its loss. */
static mgk_status descend(mgk_step *step, const step_numbers *begin)
{
    const mgk_train_run *run = step->run;
    mgk_device *device = run->model->device;
    TRY(redraw(step));
    TRY(device->op->upload(device, step->numbers, begin, sizeof(*begin)));
    TRY(device->op->zero(device, run->gradient, run->model->parameters.total * device->real_size));
    for (int micro = 0; micro < step->settings->accumulation; micro++)
        TRY(descend_batch(step, micro));
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

/* Clips the gradient and moves the weights. */
static mgk_status advance(mgk_step *step, double beta1, mgk_step_result *result)
{
    mgk_device *device = step->run->model->device;
    step_numbers numbers;
    TRY(record_update(step, beta1));
    TRY(device->op->replay(device, step->update));
    TRY(device->op->download(device, &numbers, step->numbers, sizeof(numbers)));
    result->loss = numbers.loss;
    result->gradient_norm = sqrt(numbers.adamw.squares);
    return STATUS_OK;
}

static mgk_status check_finite(const mgk_step_result *result, int64_t number)
{
    if (isfinite(result->gradient_norm) && isfinite(result->loss.sum))
        return STATUS_OK;
    return mgk_fail(STATUS_NUMERIC,
                    "training diverged: at step %lld the %s is no finite number; a smaller "
                    "learning rate or a longer warm-up may help",
                    (long long)number, isfinite(result->loss.sum) ? "gradient" : "loss");
}

mgk_status mgk_step_take(mgk_step *step, mgk_step_result *result)
{
    const mgk_train_settings *s = step->settings;
    const int64_t number = step->run->step + 1;
    const double beta1 = mgk_schedule_beta1(s->decay, s->beta1, s->warmup, s->steps, number);
    const step_numbers numbers = {
        .adamw = {.rate = mgk_schedule_rate(s->decay, s->rate, s->warmup, s->steps, number),
                  .correction1 = 1 - pow(beta1, (double)number),
                  .correction2 = 1 - pow(s->beta2, (double)number)}};
    *result = (mgk_step_result){.rate = numbers.adamw.rate};
    mgk_status status = descend(step, &numbers);
    mgk_pass_take_terms(step->pass, result->terms);
    TRY(mgk_combine(step->combination, status, &step->numbers->loss, result->terms));
    for (int term = 0; term < MGK_TERMS; term++)
        result->terms[term] /= s->accumulation;
    TRY(advance(step, beta1, result));
    TRY(check_finite(result, number));
    step->run->step = step->run->model->step = number;
    return STATUS_OK;
}
