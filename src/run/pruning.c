/* SPDX-License-Identifier: MIT */
#include "run/pruning.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "run/job.h"

/* A pruning at work. */
typedef struct pruner {
    const mgk_pruning *p;
    mgk_model_run *run;
    const mgk_job *job;
    mgk_ablation *ablation;
    bool *removed;  /* [L, H] */
    double *values; /* [capacity] */
    mgk_diversity_means *out;
    size_t batches;
    size_t done, total; /* runs */
} pruner;

static size_t head_count(const pruner *r)
{
    return r->p->layer_count * r->p->head_count;
}

static void add_values(const pruner *r, size_t i)
{
    const size_t first = r->p->first_sample, begin = (size_t)r->run->first;
    for (size_t s = first > begin ? first - begin : 0; s < (size_t)r->run->count; s++)
        mgk_diversity_means_add_value(r->out, i, isinf(r->values[s]) ? NAN : r->values[s]);
}

/* Value i of the means is that of the last run. */
static mgk_status take_value(pruner *r, size_t i)
{
    if (mgk_job_stopped(r->job))
        return mgk_fail(STATUS_INTERRUPTED, "interrupted");
    TRY(mgk_ablation_values(r->ablation, r->p->which, r->values));
    add_values(r, i);
    r->p->progress(r->p->state, ++r->done, r->total);
    return STATUS_OK;
}

/* Runs an order on the batch. */
static mgk_status run_batch(pruner *r, size_t number)
{
    const size_t heads = head_count(r), each = heads + 1;
    const size_t *order = r->p->orders + number * heads;
    const size_t of_layer = (size_t)r->run->model->config.heads;
    const size_t layers = (size_t)r->run->model->config.layers;
    memset(r->removed, 0, layers * of_layer * sizeof(*r->removed));
    TRY(mgk_ablation_begin(r->ablation));
    TRY(take_value(r, number * each));
    for (size_t k = 0; k < heads; k++) {
        const int layer = r->p->layers[order[k] / r->p->head_count];
        const int head = r->p->heads[order[k] % r->p->head_count];
        r->removed[(size_t)layer * of_layer + (size_t)head] = true;
        TRY(mgk_ablation_run(r->ablation, r->removed, layer, true));
        TRY(take_value(r, number * each + k + 1));
    }
    return STATUS_OK;
}

static mgk_status run_orders(pruner *r)
{
    const size_t first = r->p->finished;
    for (size_t i = first; i < r->p->order_count; i++) {
        const bool loads = i == first || r->batches > 1; /* a single batch stays loaded */
        if (loads)
            mgk_model_run_begin_at(r->run, (int)r->p->first_sample);
        for (size_t b = 0; b < r->batches; b++) {
            bool end;
            if (loads)
                TRY(mgk_model_run_load(r->run, r->job, &end));
            TRY(run_batch(r, i));
        }
        TRY(r->p->receive(r->p->state, i));
    }
    return STATUS_OK;
}

mgk_status mgk_prune(mgk_model_run *run, mgk_ablation *ablation, const mgk_job *job,
                     const mgk_pruning *p, mgk_diversity_means *out)
{
    pruner r = {.p = p, .run = run, .job = job, .ablation = ablation, .out = out};
    mgk_status status;
    const size_t capacity = (size_t)run->capacity;
    mgk_model_run_begin_at(run, (int)p->first_sample);
    r.batches = ((size_t)(run->samples - run->first) + capacity - 1) / capacity;
    r.total = r.batches * p->order_count * (head_count(&r) + 1);
    r.done = r.total / p->order_count * p->finished;
    CHECK(mgk_alloc((size_t)run->model->config.layers,
                    (size_t)run->model->config.heads * sizeof(*r.removed), &r.removed));
    CHECK(mgk_alloc((size_t)run->capacity, sizeof(double), &r.values));
    CHECK(run_orders(&r));
out:
    mgk_free(r.removed);
    mgk_free(r.values);
    return status;
}
