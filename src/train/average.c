/* SPDX-License-Identifier: MIT */
#include "train/average.h"

#include "base/memory.h"

mgk_status mgk_average_check(const mgk_train_settings *s)
{
    if (s->average < 0 || s->average > MGK_AVERAGE_MOST)
        return mgk_fail(STATUS_USAGE, "`average` %d: expected 0 to %d evaluations", s->average,
                        MGK_AVERAGE_MOST);
    if (mgk_averages(s) && s->evaluate_every == 0)
        return mgk_fail(
            STATUS_USAGE,
            "`average` %d: expected a number of steps between evaluations (`evaluate_every`)",
            s->average);
    return STATUS_OK;
}

/* The evaluations of the first steps; the last step may be one between two multiples. */
static int64_t count_evaluations(const mgk_train_settings *s, int64_t step)
{
    return step / s->evaluate_every + (step == s->steps && step % s->evaluate_every != 0);
}

int mgk_average_kept(const mgk_train_settings *s, int64_t step)
{
    if (!mgk_averages(s))
        return 0;
    const int64_t count = count_evaluations(s, step);
    return count < s->average ? (int)count : s->average;
}

mgk_status mgk_average_open(mgk_train_run *run, const mgk_train_settings *s)
{
    mgk_device *device = run->model->device;
    size_t numbers, bytes, all;
    if (!mgk_averages(s))
        return STATUS_OK;
    TRY(mgk_multiply(run->model->parameters.total, (size_t)s->average, &numbers));
    TRY(mgk_multiply(numbers, device->real_size, &all));
    bytes = run->model->parameters.total * device->real_size;
    TRY(device->op->allocate(device, all, &run->recent));
    TRY(device->op->allocate(device, (size_t)s->average * device->real_size, &run->ones));
    return device->op->allocate(device, bytes, &run->mean);
}

/* mean = 1/n Σ of the first n weights that are kept: a product with a row of ones. */
static mgk_status add_up(const mgk_train_run *run, int count)
{
    mgk_device *device = run->model->device;
    const size_t total = run->model->parameters.total, n = (size_t)count;
    double ones[MGK_AVERAGE_MOST];
    for (size_t i = 0; i < n; i++)
        ones[i] = 1;
    TRY(mgk_model_put(run->model, n, ones, run->ones));
    return device->op->multiply(device, false, false, 1, total, n, 1.0 / count, run->ones, n,
                                run->recent, total, 0, run->mean, total);
}

mgk_status mgk_average_take(mgk_train_run *run, const mgk_train_settings *s)
{
    const mgk_parameters *parameters = &run->model->parameters;
    mgk_device *device = run->model->device;
    const size_t total = parameters->total, real = device->real_size;
    if (!mgk_averages(s))
        return STATUS_OK;
    const size_t place = (size_t)((count_evaluations(s, run->step) - 1) % s->average);
    TRY(device->op->copy(device, mgk_at(device, run->recent, place * total), run->model->weights,
                         total * real));
    TRY(add_up(run, mgk_average_kept(s, run->step)));
    for (size_t i = 0; i < parameters->count; i++) {
        const mgk_parameter *p = &parameters->list[i];
        if (p->drawn)
            TRY(device->op->copy(device, mgk_at(device, run->mean, p->offset),
                                 mgk_at(device, run->model->weights, p->offset), p->count * real));
    }
    return STATUS_OK;
}
