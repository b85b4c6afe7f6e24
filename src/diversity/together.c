/* SPDX-License-Identifier: MIT */
#include "diversity/together.h"

#include "diversity/queue.h"
#include "run/shared_samples.h"

static mgk_status run(const mgk_source_input *input, const mgk_diversity_run_options *options)
{
    mgk_status status = mgk_diversity_run(&input->source, options);
    return status == STATUS_NUMERIC || status == STATUS_UNSUPPORTED
               ? mgk_fail_prefix(status, input->name)
               : status;
}

/* One call of several processes. */
typedef struct together {
    const mgk_source_input *input;
    const mgk_diversity_run_options *options; /* those of one process */
    mgk_share *share;
    mgk_diversity_queue queue; /* of rank 0 */
} together;

static void tell_limit(void *state, int threads, int wanted)
{
    const together *t = state;
    t->options->limited(t->options->state, threads, wanted);
}

/* A delivery is the record of a sample. */
static void tell_progress(void *state)
{
    const together *t = state;
    const size_t each = t->input->source.count / t->input->sample_count;
    const size_t samples = t->options->finished + mgk_share_delivered(t->share);
    t->options->progress(t->options->state, each * samples);
}

static void progress(void *state, size_t done)
{
    (void)done; /* by this process */
    tell_progress(state);
}

static mgk_status send(void *state, size_t sample, double *record)
{
    const together *t = state;
    return mgk_diversity_send(t->share, sample, record, mgk_record_size(t->options->layout));
}

/* Rank 0: the records of several processes come in any order. */
static mgk_status receive(void *state, const void *bytes, size_t size)
{
    together *t = state;
    return mgk_diversity_queue_add(&t->queue, bytes, size, t->options->receive, t->options->state);
}

/* This process's part. */
static mgk_status run_part(together *t, size_t step, const mgk_device *device)
{
    const size_t matrices = t->input->source.count * step / t->input->sample_count + 1;
    mgk_shared_samples samples = {.share = t->share, .step = step};
    const mgk_run_part part = mgk_shared_samples_part(&samples, matrices, device);
    mgk_diversity_run_options own = *t->options;
    own.part = &part;
    own.receive = send;
    own.progress = progress;
    own.limited = tell_limit;
    own.state = t;
    return run(t->input, &own);
}

static mgk_status measure_together(mgk_cluster *cluster, const mgk_source_input *input,
                                   const mgk_device *device,
                                   const mgk_diversity_run_options *options)
{
    together t = {.input = input, .options = options, .queue = {.first = options->finished}};
    size_t step;
    TRY(mgk_shared_samples_step(cluster, &input->source, input->sample_count, &step));
    const mgk_share_options shared = {.first = options->finished / step,
                                      .count = mgk_shared_samples_units(input->sample_count, step),
                                      .most = 1, /* records wait for those of samples before */
                                      .receive = receive,
                                      .wait = tell_progress,
                                      .state = &t};
    TRY(mgk_share_begin(cluster, &shared, &t.share));
    mgk_status status = mgk_share_end(t.share, run_part(&t, step, device));
    mgk_diversity_queue_free(&t.queue);
    if (status == STATUS_OK)
        options->progress(options->state, input->source.count);
    return status;
}

mgk_status mgk_diversity_measure(mgk_cluster *cluster, const mgk_source_input *input,
                                 const mgk_device *device, const mgk_diversity_run_options *options)
{
    return cluster ? measure_together(cluster, input, device, options) : run(input, options);
}
