/* SPDX-License-Identifier: MIT */
#include "run/ablation.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

struct mgk_ablation {
    mgk_model_run *run;
    unsigned kinds;
    size_t width;      /* numbers of the hidden states of a sequence: N C */
    void *inputs;      /* on the device: [L − 1, capacity, N, C], of all layers but the first */
    void *whole;       /* on the device: [capacity, N, C], the last hidden states with all heads */
    mgk_loss *losses;  /* on the device: [capacity] */
    double *before;    /* [capacity, N, C], `whole` on the host */
    double *after;     /* the same without the removed heads */
    size_t rows;       /* of logits that are compared at a time */
    double *logits[2]; /* [rows, classes], with all heads and without */
    double *sums;      /* [rows], divergences of a batch */
};

static bool tells(const mgk_ablation *a, mgk_importance which)
{
    return (a->kinds & MGK_IMPORTANCE_BIT(which)) != 0;
}

unsigned mgk_ablation_kinds(const mgk_model_run *run)
{
    const bool unpaired = run->model->config.dual && run->documents != 2;
    unsigned kinds = MGK_IMPORTANCE_BIT(MGK_IMPORTANCE_HIDDEN);
    if (mgk_model_run_has_targets(run))
        kinds |= MGK_IMPORTANCE_BIT(MGK_IMPORTANCE_ABLATION);
    if (mgk_model_has_logits(run->model) && !unpaired)
        kinds |= MGK_IMPORTANCE_BIT(MGK_IMPORTANCE_DIVERGENCE);
    return kinds;
}

mgk_importance mgk_ablation_best(const mgk_model_run *run)
{
    const unsigned kinds = mgk_ablation_kinds(run);
    return kinds & MGK_IMPORTANCE_BIT(MGK_IMPORTANCE_ABLATION)     ? MGK_IMPORTANCE_ABLATION
           : kinds & MGK_IMPORTANCE_BIT(MGK_IMPORTANCE_DIVERGENCE) ? MGK_IMPORTANCE_DIVERGENCE
                                                                   : MGK_IMPORTANCE_HIDDEN;
}

static size_t hidden_width(const mgk_model_run *run)
{
    return (size_t)run->tokens * (size_t)mgk_config_hidden_width(&run->model->config);
}

size_t mgk_ablation_bytes(const mgk_model_run *run, unsigned kinds, bool on_host)
{
    const bool whole = (kinds & MGK_IMPORTANCE_BIT(MGK_IMPORTANCE_DIVERGENCE)) != 0,
               hidden = (kinds & MGK_IMPORTANCE_BIT(MGK_IMPORTANCE_HIDDEN)) != 0;
    const size_t states = (size_t)run->model->config.layers - 1 + (whole ? 1 : 0);
    const size_t numbers = (hidden ? 2 * hidden_width(run) : 0) + (whole ? (size_t)run->tokens : 0);
    const size_t host = numbers * sizeof(double);
    const size_t device = states * hidden_width(run) * run->device->real_size + sizeof(mgk_loss);
    if (!run->device->accelerator)
        return host + device;
    return on_host ? host : device;
}

/* The input of a layer but the first, of the whole batch. */
static void *input_of(const mgk_ablation *a, int layer)
{
    const size_t before = (size_t)(layer - 1) * (size_t)a->run->capacity * a->width;
    return mgk_at(a->run->device, a->inputs, before);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static mgk_status allocate_there(const mgk_ablation *a, size_t states, void *out)
{
    mgk_device *device = a->run->device;
    size_t bytes;
    TRY(mgk_multiply(states * (size_t)a->run->capacity, a->width * device->real_size, &bytes));
    return bytes > 0 ? device->op->allocate(device, bytes, out) : STATUS_OK;
}

/* Those of a language model's large vocabulary, in float64, would take more memory than all else.
 */
static mgk_status allocate_logits(mgk_ablation *a)
{
    enum { BLOCK = 1 << 22 }; /* numbers */
    const size_t rows = (size_t)a->run->capacity * (size_t)a->run->tokens;
    const mgk_logits logits = mgk_pass_logits(a->run->pass);
    const size_t block = BLOCK / logits.classes;
    a->rows = logits.room;
    if (a->run->model->config.family == MGK_FAMILY_LM && block < logits.room)
        a->rows = block > 0 ? block : 1;
    TRY(mgk_alloc(rows, sizeof(double), &a->sums));
    for (int i = 0; i < 2; i++)
        TRY(mgk_alloc(a->rows, logits.classes * sizeof(double), &a->logits[i]));
    return STATUS_OK;
}

static mgk_status allocate(mgk_ablation *a)
{
    mgk_model_run *run = a->run;
    mgk_device *device = run->device;
    const size_t sequences = (size_t)run->capacity;
    TRY(allocate_there(a, (size_t)run->model->config.layers - 1, &a->inputs));
    if (tells(a, MGK_IMPORTANCE_ABLATION))
        TRY(device->op->allocate(device, sequences * sizeof(*a->losses), &a->losses));
    if (tells(a, MGK_IMPORTANCE_HIDDEN)) {
        TRY(mgk_alloc(sequences, a->width * sizeof(double), &a->before));
        TRY(mgk_alloc(sequences, a->width * sizeof(double), &a->after));
    }
    if (!tells(a, MGK_IMPORTANCE_DIVERGENCE))
        return STATUS_OK;
    TRY(allocate_there(a, 1, &a->whole));
    return allocate_logits(a);
}

mgk_status mgk_ablation_open(mgk_model_run *run, unsigned kinds, mgk_ablation **out)
{
    mgk_ablation *a;
    TRY(mgk_alloc(1, sizeof(*a), &a));
    a->run = run;
    a->kinds = kinds;
    a->width = hidden_width(run);
    mgk_status status = allocate(a);
    if (status != STATUS_OK)
        mgk_ablation_close(a);
    else
        *out = a;
    return status;
}

static void release(mgk_device *device, void *array)
{
    if (array)
        device->op->release(device, array);
}

void mgk_ablation_close(mgk_ablation *a)
{
    if (!a)
        return;
    release(a->run->device, a->inputs);
    release(a->run->device, a->whole);
    release(a->run->device, a->losses);
    mgk_free(a->before);
    mgk_free(a->after);
    mgk_free(a->logits[0]);
    mgk_free(a->logits[1]);
    mgk_free(a->sums);
    mgk_free(a);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Keeps the output of a layer as the input of the next one. */
static mgk_status keep_output(void *context, int layer, const void *output)
{
    const mgk_ablation *a = context;
    mgk_device *device = a->run->device;
    if (layer + 1 == a->run->model->config.layers)
        return STATUS_OK;
    return device->op->copy(device, input_of(a, layer + 1), output,
                            mgk_pass_rows(a->run->pass) * (size_t)a->run->model->config.dim *
                                device->real_size);
}

static mgk_observer keeper(mgk_ablation *a)
{
    return (mgk_observer){.output = keep_output, .context = a};
}

mgk_status mgk_ablation_begin(mgk_ablation *a)
{
    mgk_model_run *run = a->run;
    mgk_device *device = run->device;
    const mgk_observer observer = keeper(a);
    const size_t numbers =
        mgk_pass_rows(run->pass) * (size_t)mgk_config_hidden_width(&run->model->config);
    mgk_pass_remove_heads(run->pass, NULL);
    TRY(mgk_pass_forward(run->pass, &observer));
    if (a->whole)
        TRY(device->op->copy(device, a->whole, mgk_pass_hidden(run->pass),
                             numbers * device->real_size));
    return a->before ? mgk_device_download(device, mgk_pass_hidden(run->pass), numbers, a->before)
                     : STATUS_OK;
}

mgk_status mgk_ablation_run(mgk_ablation *a, const bool *removed, int first, bool keep)
{
    mgk_pass *pass = a->run->pass;
    const mgk_observer observer = keeper(a);
    mgk_pass_remove_heads(pass, removed);
    mgk_status status = mgk_pass_forward_from(pass, first, first > 0 ? input_of(a, first) : NULL,
                                              keep ? &observer : NULL);
    mgk_pass_remove_heads(pass, NULL);
    return status;
}

/* ---- loss ------------------------------------------------------------------------------------ */

/* The row of logits with the value of sample s of the batch: that of its sequence, or of its pair.
 * False: the sample is the second one of a pair, whose value the first one has. */
static bool find_row(const mgk_ablation *a, size_t s, size_t *row)
{
    const size_t each = (size_t)mgk_model_run_pair(a->run);
    *row = s / each;
    return s % each == 0;
}

static mgk_status find_losses(mgk_ablation *a, double *values)
{
    mgk_model_run *run = a->run;
    mgk_device *device = run->device;
    const size_t bytes = (size_t)run->capacity * sizeof(mgk_loss);
    TRY(device->op->zero(device, a->losses, bytes));
    TRY(mgk_pass_sample_losses(run->pass, a->losses));
    for (size_t s = 0; s < (size_t)run->count; s++) {
        mgk_loss loss;
        size_t row;
        values[s] = NAN;
        if (!find_row(a, s, &row))
            continue;
        TRY(device->op->download(device, &loss, a->losses + row, sizeof(loss)));
        if (loss.count > 0)
            values[s] = loss.sum / (double)loss.count;
    }
    return STATUS_OK;
}

/* ---- divergence ------------------------------------------------------------------------------ */

static double largest_of(size_t count, const double *x)
{
    double largest = x[0];
    for (size_t k = 1; k < count; k++)
        largest = x[k] > largest || isnan(x[k]) ? x[k] : largest;
    return largest;
}

/* KL(p | q) = sum_k p_k (x_k − y_k) + ln sum exp(y) − ln sum exp(x) of the distributions p and q
 * with logits x and y [count], less their largest ones; exactly 0 for equal logits. */
static double divergence(size_t count, const double *x, const double *y)
{
    const double top_x = largest_of(count, x), top_y = largest_of(count, y);
    double sum_x = 0, sum_y = 0, difference = 0;
    for (size_t k = 0; k < count; k++) {
        const double x_k = x[k] - top_x, y_k = y[k] - top_y, weight = exp(x_k);
        sum_x += weight;
        sum_y += exp(y_k);
        difference += weight * (x_k - y_k);
    }
    const double value = difference / sum_x + (log(sum_y) - log(sum_x));
    return value < 0 ? 0 : value; /* rounding; NaN stays */
}

/* a->sums of all rows of logits. */
static mgk_status diverge(mgk_ablation *a)
{
    mgk_pass *pass = a->run->pass;
    mgk_device *device = a->run->device;
    const mgk_logits logits = mgk_pass_logits(pass);
    const void *hidden[] = {a->whole, mgk_pass_hidden(pass)};
    for (size_t first = 0, count; first < logits.rows; first += count) {
        count = logits.rows - first < a->rows ? logits.rows - first : a->rows;
        for (int i = 0; i < 2; i++) {
            TRY(mgk_pass_compute_logits(pass, hidden[i], first, count));
            TRY(mgk_device_download(device, logits.values, count * logits.classes, a->logits[i]));
        }
#pragma omp parallel for num_threads(device->threads)
        for (size_t r = 0; r < count; r++)
            a->sums[first + r] = divergence(logits.classes, a->logits[0] + r * logits.classes,
                                            a->logits[1] + r * logits.classes);
    }
    return STATUS_OK;
}

static mgk_status find_divergences(mgk_ablation *a, double *values)
{
    const mgk_model_run *run = a->run;
    const bool lm = run->model->config.family == MGK_FAMILY_LM;
    TRY(diverge(a));
    for (size_t s = 0; s < (size_t)run->count; s++) {
        const size_t length = lm ? (size_t)run->lengths[s] : 1;
        size_t row;
        const bool has = find_row(a, s, &row);
        const double *of = a->sums + row * (lm ? (size_t)run->tokens : 1);
        double sum = 0;
        for (size_t i = 0; i < length; i++)
            sum += of[i];
        values[s] = has && length > 0 ? sum / (double)length : NAN;
    }
    return STATUS_OK;
}

/* ---- hidden states --------------------------------------------------------------------------- */

static mgk_status find_changes(mgk_ablation *a, double *values)
{
    const mgk_model_run *run = a->run;
    const size_t dim = (size_t)mgk_config_hidden_width(&run->model->config);
    TRY(mgk_device_download(run->device, mgk_pass_hidden(run->pass), mgk_pass_rows(run->pass) * dim,
                            a->after));
    for (size_t s = 0; s < (size_t)run->count; s++) {
        const double *x = a->before + s * a->width, *y = a->after + s * a->width;
        double change = 0, size = 0;
        for (size_t k = 0; k < (size_t)run->lengths[s] * dim; k++) {
            change += (y[k] - x[k]) * (y[k] - x[k]);
            size += x[k] * x[k];
        }
        values[s] = size > 0 ? sqrt(change / size) : NAN;
    }
    return STATUS_OK;
}

mgk_status mgk_ablation_values(mgk_ablation *a, mgk_importance which, double *values)
{
    return which == MGK_IMPORTANCE_ABLATION     ? find_losses(a, values)
           : which == MGK_IMPORTANCE_DIVERGENCE ? find_divergences(a, values)
                                                : find_changes(a, values);
}
