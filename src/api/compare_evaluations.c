/* SPDX-License-Identifier: MIT */
/* mgk_compare_evaluations: what another model predicts better or worse, with intervals. */
#include <math.h>
#include <stdio.h>

#include "analysis/measures/bootstrap.h"
#include "api/api.h"
#include "base/cores.h"
#include "base/memory.h"
#include "run/job.h"

enum { COMPARED = 2 }; /* loss and accuracy */

/* The means of each sample, NaN without targets, and their numbers. */
static void fill_means(const mgk_evaluation_summary *s, double *means, double *targets)
{
    for (size_t i = 0; i < s->sample_loss_count; i++) {
        const mgk_sample_loss *sample = &s->sample_losses[i];
        const double count = sample->targets > 0 ? (double)sample->targets : NAN;
        means[i * COMPARED] = sample->loss / count;
        /* Where it is not known, NaN would leave the sample out; see has_accuracy. */
        means[i * COMPARED + 1] = (double)(sample->correct < 0 ? 0 : sample->correct) / count;
        targets[i] = (double)sample->targets;
    }
}

static mgk_status check_sample(size_t i, const mgk_sample_loss *a, const mgk_sample_loss *b)
{
    if (a->hash != b->hash || a->targets != b->targets || a->targets < 0)
        return mgk_fail(STATUS_SHAPE,
                        "sample %zu has other targets in the two evaluations: the same input is "
                        "needed, and the same tokens and `length`",
                        i);
    if (!isfinite(a->loss) || !isfinite(b->loss))
        return mgk_fail(STATUS_NUMERIC, "the loss of sample %zu is not finite", i);
    return STATUS_OK;
}

static mgk_status check_pair(const mgk_evaluation_summary *a, const mgk_evaluation_summary *b)
{
    int64_t targets = 0;
    if (!a->sample_losses || !b->sample_losses)
        return mgk_fail(STATUS_USAGE, "only evaluations with `per_sample` can be compared");
    if (a->sample_loss_count != b->sample_loss_count)
        return mgk_fail(STATUS_SHAPE,
                        "evaluations of %zu and %zu samples cannot be compared: the same input is "
                        "needed, and the same tokens and `length`",
                        a->sample_loss_count, b->sample_loss_count);
    for (size_t i = 0; i < a->sample_loss_count; i++) {
        TRY(check_sample(i, &a->sample_losses[i], &b->sample_losses[i]));
        targets += a->sample_losses[i].targets;
    }
    if (targets == 0)
        return mgk_fail(STATUS_SHAPE, "evaluations without targets cannot be compared");
    return STATUS_OK;
}

static mgk_status compare_means(const mgk_evaluation_summary *a, const mgk_evaluation_summary *b,
                                const mgk_job *job, mgk_difference out[COMPARED])
{
    const size_t count = a->sample_loss_count;
    const int threads = job->threads > 0 ? job->threads : mgk_default_threads();
    double *numbers; /* means of a, means of b, targets */
    TRY(mgk_alloc(count, (2 * COMPARED + 1) * sizeof(double), &numbers));
    double *of_b = numbers + count * COMPARED, *targets = of_b + count * COMPARED;
    fill_means(a, numbers, targets);
    fill_means(b, of_b, targets);
    const mgk_sample_values means[] = {{.count = count, .values = numbers, .weights = targets},
                                       {.count = count, .values = of_b, .weights = targets}};
    mgk_status status =
        mgk_bootstrap(&means[0], &means[1], COMPARED, true, job->seed, threads, out);
    mgk_free(numbers);
    return status;
}

/* Whether it is known what the model thinks most likely. */
static bool has_accuracy(const mgk_evaluation_summary *s)
{
    for (size_t i = 0; i < s->sample_loss_count; i++)
        if (s->sample_losses[i].correct < 0)
            return false;
    return true;
}

static void tell_few_samples(const mgk_job *job, size_t samples)
{
    char note[160];
    if (!mgk_bootstrap_is_narrow(samples))
        return;
    snprintf(note, sizeof(note), MGK_NARROW_INTERVALS, MGK_BOOTSTRAP_SAMPLES);
    mgk_job_report(job, &(mgk_report){.note = note, .milestone = true, .warning = true});
}

static mgk_status compare(const mgk_evaluation_summary *a, const mgk_evaluation_summary *b,
                          const mgk_job *job, mgk_evaluation_difference *out)
{
    mgk_difference d[COMPARED];
    if (!a || !b || !out)
        return mgk_fail(STATUS_USAGE, "two evaluations and room for their difference are needed");
    job = mgk_job_or_default(job);
    TRY(mgk_job_check(job));
    TRY(check_pair(a, b));
    if (mgk_job_stopped(job))
        return mgk_fail(STATUS_INTERRUPTED, "interrupted before evaluations were compared");
    TRY(compare_means(a, b, job, d));
    if (!has_accuracy(a) || !has_accuracy(b))
        d[1].value = d[1].low = d[1].high = d[1].p = NAN;
    tell_few_samples(job, d[0].samples);
    *out = (mgk_evaluation_difference){.loss = d[0].value,
                                       .loss_low = d[0].low,
                                       .loss_high = d[0].high,
                                       .loss_p = d[0].p,
                                       .accuracy = d[1].value,
                                       .accuracy_low = d[1].low,
                                       .accuracy_high = d[1].high,
                                       .accuracy_p = d[1].p,
                                       .samples = (int64_t)d[0].samples};
    return STATUS_OK;
}

mgk_result mgk_compare_evaluations(const mgk_evaluation_summary *a, const mgk_evaluation_summary *b,
                                   const mgk_job *job, mgk_evaluation_difference *difference)
{
    return mgk_api_result(compare(a, b, job, difference));
}
