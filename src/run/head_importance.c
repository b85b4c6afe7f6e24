/* SPDX-License-Identifier: MIT */
#include "run/head_importance.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "run/job.h"

struct mgk_head_importance {
    mgk_model_run *run;
    unsigned kinds;
    const int32_t *layers;
    size_t layer_count, heads; /* H of the model */
    const int32_t *chosen;     /* [chosen_count], numbers of heads */
    size_t chosen_count;
    mgk_ablation *ablation;          /* NULL: only the gradient is wanted */
    bool *removed;                   /* [L, H] */
    double *whole;                   /* [capacity], the loss with all heads */
    double *samples;                 /* [capacity], of one ablation */
    double *values[MGK_IMPORTANCES]; /* [capacity, layer_count, H] */

    /* The gradient, of one sample, or pair of samples, at a time. */
    mgk_pass *pass;            /* trains; NULL: not wanted */
    void *weights;             /* on the device: gradients of the weights, not used */
    mgk_loss *loss;            /* on the device */
    double *output, *gradient; /* [B, N, H, D] of a layer */
    size_t first, count;       /* the samples of the batch */
};

static const unsigned gradient_bit = MGK_IMPORTANCE_BIT(MGK_IMPORTANCE_GRADIENT);

unsigned mgk_head_importance_kinds(const mgk_model_run *run)
{
    const unsigned kinds = run->cross ? 0 : mgk_ablation_kinds(run);
    const bool loss = (kinds & MGK_IMPORTANCE_BIT(MGK_IMPORTANCE_ABLATION)) != 0;
    return kinds | (loss && mgk_model_has_gradients(run->model) ? gradient_bit : 0);
}

/* ---- memory ---------------------------------------------------------------------------------- */

size_t mgk_head_importance_bytes(const mgk_model_run *run, unsigned kinds, size_t layer_count,
                                 bool on_host)
{
    const size_t heads = layer_count * (size_t)run->model->config.heads;
    const bool counts = on_host || !run->device->accelerator;
    size_t bytes = 0;
    for (unsigned which = 0; which < MGK_IMPORTANCES && counts; which++)
        bytes += kinds & MGK_IMPORTANCE_BIT(which) ? heads * sizeof(double) : 0;
    if (kinds & ~gradient_bit)
        bytes += mgk_ablation_bytes(run, kinds & ~gradient_bit, on_host);
    return bytes;
}

static mgk_status open_gradient(mgk_head_importance *h)
{
    mgk_model_run *run = h->run;
    mgk_device *device = run->device;
    const mgk_config *config = &run->model->config;
    const size_t rows = (size_t)mgk_model_run_pair(run) * (size_t)run->tokens;
    const size_t width = h->heads * (size_t)config->head_dim;
    size_t bytes;
    TRY(mgk_pass_create(run->model, mgk_model_run_pair(run), run->tokens, 0, true, &h->pass));
    mgk_pass_freeze(h->pass);
    TRY(mgk_multiply(run->model->parameters.total, device->real_size, &bytes));
    TRY(device->op->allocate(device, bytes, &h->weights));
    TRY(device->op->allocate(device, sizeof(*h->loss), &h->loss));
    TRY(mgk_alloc(rows, width * sizeof(double), &h->output));
    return mgk_alloc(rows, width * sizeof(double), &h->gradient);
}

static mgk_status allocate(mgk_head_importance *h)
{
    const size_t samples = (size_t)h->run->capacity;
    const size_t all = (size_t)h->run->model->config.layers;
    size_t numbers;
    TRY(mgk_multiply(samples, h->layer_count, &numbers));
    TRY(mgk_alloc(all, h->heads * sizeof(*h->removed), &h->removed));
    TRY(mgk_alloc(samples, sizeof(double), &h->whole));
    TRY(mgk_alloc(samples, sizeof(double), &h->samples));
    for (unsigned which = 0; which < MGK_IMPORTANCES; which++)
        if (h->kinds & MGK_IMPORTANCE_BIT(which))
            TRY(mgk_alloc(numbers, h->heads * sizeof(double), &h->values[which]));
    if (h->kinds & ~gradient_bit)
        TRY(mgk_ablation_open(h->run, h->kinds & ~gradient_bit, &h->ablation));
    return h->kinds & gradient_bit ? open_gradient(h) : STATUS_OK;
}

mgk_status mgk_head_importance_open(mgk_model_run *run, unsigned kinds, const int32_t *layers,
                                    size_t layer_count, const int32_t *heads, size_t head_count,
                                    mgk_head_importance **out)
{
    mgk_head_importance *h;
    TRY(mgk_alloc(1, sizeof(*h), &h));
    h->run = run;
    h->kinds = kinds;
    h->layers = layers;
    h->layer_count = layer_count;
    h->chosen = heads;
    h->chosen_count = head_count;
    h->heads = (size_t)run->model->config.heads;
    run->loads_targets = mgk_model_run_has_targets(run);
    mgk_status status = allocate(h);
    if (status != STATUS_OK)
        mgk_head_importance_close(h);
    else
        *out = h;
    return status;
}

void mgk_head_importance_close(mgk_head_importance *h)
{
    if (!h)
        return;
    mgk_device *device = h->run->device;
    mgk_ablation_close(h->ablation);
    mgk_pass_free(h->pass);
    if (h->weights)
        device->op->release(device, h->weights);
    if (h->loss)
        device->op->release(device, h->loss);
    for (int which = 0; which < MGK_IMPORTANCES; which++)
        mgk_free(h->values[which]);
    mgk_free(h->removed);
    mgk_free(h->whole);
    mgk_free(h->samples);
    mgk_free(h->output);
    mgk_free(h->gradient);
    mgk_free(h);
}

mgk_ablation *mgk_head_importance_ablation(const mgk_head_importance *h)
{
    return h ? h->ablation : NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

static double *values_of(const mgk_head_importance *h, mgk_importance which, size_t sample,
                         size_t place)
{
    return h->values[which] + (sample * h->layer_count + place) * h->heads;
}

const double *mgk_head_importance_values(const mgk_head_importance *h, mgk_importance which,
                                         size_t sample, size_t place)
{
    return values_of(h, which, sample, place);
}

static mgk_status ablate_head(mgk_head_importance *h, size_t place, size_t head)
{
    const int layer = h->layers[place];
    bool *removed = &h->removed[(size_t)layer * h->heads + head];
    *removed = true;
    mgk_status status = mgk_ablation_run(h->ablation, h->removed, layer, false);
    *removed = false;
    TRY(status);
    for (unsigned which = 0; which < MGK_IMPORTANCES; which++) {
        if (!(h->kinds & ~gradient_bit & MGK_IMPORTANCE_BIT(which)))
            continue;
        TRY(mgk_ablation_values(h->ablation, (mgk_importance)which, h->samples));
        for (size_t s = 0; s < (size_t)h->run->count; s++)
            values_of(h, (mgk_importance)which, s, place)[head] =
                h->samples[s] - (which == MGK_IMPORTANCE_ABLATION ? h->whole[s] : 0);
    }
    return STATUS_OK;
}

static mgk_status ablate(mgk_head_importance *h, const mgk_job *job)
{
    TRY(mgk_ablation_begin(h->ablation));
    if (h->kinds & MGK_IMPORTANCE_BIT(MGK_IMPORTANCE_ABLATION))
        TRY(mgk_ablation_values(h->ablation, MGK_IMPORTANCE_ABLATION, h->whole));
    for (size_t i = 0; i < h->layer_count * h->chosen_count; i++) {
        if (mgk_job_stopped(job))
            return mgk_fail(STATUS_INTERRUPTED, "interrupted");
        TRY(ablate_head(h, i / h->chosen_count, (size_t)h->chosen[i % h->chosen_count]));
    }
    return STATUS_OK;
}

/* ---- the gradient ---------------------------------------------------------------------------- */

/* Where a layer is in the list; layer_count: it is not. */
static size_t find_layer(const mgk_head_importance *h, int layer)
{
    size_t place = 0;
    while (place < h->layer_count && h->layers[place] != layer)
        place++;
    return place;
}

/* ∂L/∂ξ of a head, ξ a factor of its output O: the sum of O · ∂L/∂O over all tokens. */
static mgk_status take_gradient(void *context, int layer, const void *output, const void *gradient)
{
    mgk_head_importance *h = context;
    mgk_device *device = h->run->device;
    const size_t dim = (size_t)h->run->model->config.head_dim, width = h->heads * dim;
    const size_t rows = (size_t)mgk_model_run_pair(h->run) * (size_t)h->run->tokens;
    const size_t place = find_layer(h, layer);
    if (place == h->layer_count)
        return STATUS_OK;
    TRY(mgk_device_download(device, output, rows * width, h->output));
    TRY(mgk_device_download(device, gradient, rows * width, h->gradient));
    for (size_t head = 0; head < h->heads; head++) {
        double sum = 0;
        for (size_t r = 0; r < rows; r++)
            for (size_t k = r * width + head * dim; k < r * width + (head + 1) * dim; k++)
                sum += h->output[k] * h->gradient[k];
        values_of(h, MGK_IMPORTANCE_GRADIENT, h->first, place)[head] = fabs(sum);
    }
    return STATUS_OK;
}

/* Empties the values; of a pair only the first sample gets them. */
static void leave_empty(const mgk_head_importance *h)
{
    for (size_t s = h->first; s < h->first + h->count; s++)
        for (size_t i = 0; i < h->layer_count * h->heads; i++)
            values_of(h, MGK_IMPORTANCE_GRADIENT, s, 0)[i] = NAN;
}

/* The sample, or pair of samples, from h->first on. */
static mgk_status differentiate(mgk_head_importance *h)
{
    mgk_model_run *run = h->run;
    const size_t tokens = (size_t)run->tokens, before = h->first * tokens;
    const mgk_gradient_observer observer = {.heads = take_gradient, .context = h};
    const mgk_batch batch = {.sequences = mgk_model_run_pair(run),
                             .tokens = run->tokens,
                             .ids = run->ids + before,
                             .lengths = run->lengths + h->first};
    const bool lm = run->model->config.family == MGK_FAMILY_LM;
    const int32_t *targets =
        run->targets + (lm ? before : h->first / (size_t)mgk_model_run_pair(run));
    size_t count = 0;
    for (size_t i = 0; i < (lm ? tokens : 1); i++)
        count += targets[i] >= 0;
    leave_empty(h);
    if (count == 0)
        return STATUS_OK;
    TRY(mgk_pass_load(h->pass, &batch, targets, 0, 0));
    TRY(mgk_pass_forward(h->pass, NULL));
    TRY(mgk_pass_loss(h->pass, 1 / (double)count, h->loss));
    return mgk_pass_backward(h->pass, h->weights, &observer);
}

static mgk_status differentiate_all(mgk_head_importance *h, const mgk_job *job)
{
    const size_t samples = (size_t)h->run->count, each = (size_t)mgk_model_run_pair(h->run);
    for (h->first = 0; h->first < samples; h->first += each) {
        h->count = samples - h->first < each ? samples - h->first : each;
        if (mgk_job_stopped(job))
            return mgk_fail(STATUS_INTERRUPTED, "interrupted");
        TRY(differentiate(h));
    }
    return STATUS_OK;
}

mgk_status mgk_head_importance_measure(mgk_head_importance *h, const mgk_job *job)
{
    if (h->ablation)
        TRY(ablate(h, job));
    return h->pass ? differentiate_all(h, job) : STATUS_OK;
}
