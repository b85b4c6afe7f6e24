/* SPDX-License-Identifier: MIT */
#include "run/approximation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

mgk_status mgk_approximation_create(size_t samples, size_t layers, size_t heads,
                                    mgk_approximation **out)
{
    mgk_status status;
    size_t count;
    mgk_approximation *errors = NULL;
    *out = NULL;
    CHECK(mgk_alloc(1, sizeof(*errors), &errors));
    *errors = (mgk_approximation){.samples = samples, .layers = layers, .heads = heads};
    CHECK(mgk_multiply(samples * layers, heads, &count));
    CHECK(mgk_alloc(count, sizeof(*errors->matrix), &errors->matrix));
    CHECK(mgk_alloc(count, sizeof(*errors->output), &errors->output));
    for (size_t i = 0; i < count; i++)
        errors->matrix[i] = errors->output[i] = -1;
    CHECK(mgk_alloc(layers * heads, sizeof(*errors->left_out), &errors->left_out));
    *out = errors;
    errors = NULL;
out:
    mgk_approximation_free(errors);
    return status;
}

void mgk_approximation_free(mgk_approximation *errors)
{
    if (!errors)
        return;
    mgk_free(errors->matrix);
    mgk_free(errors->output);
    mgk_free(errors->left_out);
    mgk_free(errors);
}

static bool has(const int32_t *numbers, size_t count, size_t number)
{
    size_t i = 0;
    while (i < count && (size_t)numbers[i] != number)
        i++;
    return i < count;
}

void mgk_approximation_choose(mgk_approximation *errors, const int32_t *layers, size_t layer_count,
                              const int32_t *heads, size_t head_count)
{
    for (size_t l = 0; errors && l < errors->layers; l++)
        for (size_t h = 0; h < errors->heads; h++)
            errors->left_out[l * errors->heads + h] =
                !has(layers, layer_count, l) || (heads && !has(heads, head_count, h));
}

/* A layer's attention of both kinds. */
typedef struct comparison {
    mgk_device *device;
    const mgk_observed *layer;
    const bool *left_out; /* [H] */
    mgk_attention_layer own;
    void *kept, *scratch;      /* of the model's own kind, on the device */
    void *matrix, *own_matrix; /* [N, N], on the device */
    void *output, *own_output; /* [B, N, H, D], on the device */
    int32_t *heads;            /* [H], on the device */
    double *values[2];         /* two matrices, or two outputs of a sample, on the host */
} comparison;

static void close_comparison(comparison *c)
{
    void *const arrays[] = {c->kept,   c->scratch,    c->matrix, c->own_matrix,
                            c->output, c->own_output, c->heads};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        if (arrays[i])
            c->device->op->release(c->device, arrays[i]);
    mgk_free(c->values[0]);
    mgk_free(c->values[1]);
}

static mgk_status allocate(comparison *c, size_t reals, void **out)
{
    size_t bytes;
    if (reals == 0)
        return STATUS_OK;
    TRY(mgk_multiply(reals, c->device->real_size, &bytes));
    return c->device->op->allocate(c->device, bytes, out);
}

static mgk_status open_comparison(comparison *c, const mgk_attention_kind *own)
{
    const mgk_attention_view *view = &c->layer->view;
    const size_t tokens = (size_t)view->tokens, width = (size_t)view->heads * (size_t)view->dim;
    const size_t square = tokens * tokens, row = tokens * width;
    c->own = c->layer->attention;
    c->own.kind = own;
    c->own.pattern = NULL;
    c->own.below = NULL;
    const mgk_kind_memory memory = own->methods->memory(&c->own.size, view->samples, false);
    TRY(allocate(c, memory.kept, &c->kept));
    TRY(allocate(c, memory.scratch, &c->scratch));
    c->own.kept = c->kept;
    c->own.scratch = c->scratch;
    TRY(allocate(c, square, &c->matrix));
    TRY(allocate(c, square, &c->own_matrix));
    TRY(allocate(c, (size_t)view->samples * row, &c->output));
    TRY(allocate(c, (size_t)view->samples * row, &c->own_output));
    TRY(mgk_number_heads(c->device, (size_t)view->heads, &c->heads));
    for (int i = 0; i < 2; i++)
        TRY(mgk_alloc(square > row ? square : row, sizeof(double), &c->values[i]));
    return STATUS_OK;
}

double mgk_relative_error(const double *x, const double *y, size_t rows, size_t columns,
                          size_t stride)
{
    double difference = 0, norm = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            const size_t at = i * stride + j;
            difference += (x[at] - y[at]) * (x[at] - y[at]);
            norm += y[at] * y[at];
        }
    return difference == 0 ? 0 : sqrt(difference / norm);
}

/* Matrices are 0 outside of the valid tokens. */
static mgk_status compare_matrices(comparison *c, int sample, int head, double *error)
{
    mgk_device *device = c->device;
    const mgk_attention_view *view = &c->layer->view;
    const mgk_attention_layer *attention = &c->layer->attention;
    const size_t tokens = (size_t)view->tokens;
    TRY(attention->kind->methods->matrix(device, view, attention, MGK_MATRIX_ATTENTION, sample,
                                         c->heads + head, 1, c->matrix));
    TRY(c->own.kind->methods->matrix(device, view, &c->own, MGK_MATRIX_ATTENTION, sample,
                                     c->heads + head, 1, c->own_matrix));
    TRY(mgk_device_download(device, c->matrix, tokens * tokens, c->values[0]));
    TRY(mgk_device_download(device, c->own_matrix, tokens * tokens, c->values[1]));
    *error = mgk_relative_error(c->values[0], c->values[1], tokens, tokens, tokens);
    return STATUS_OK;
}

static mgk_status compute_outputs(comparison *c)
{
    const mgk_attention_view *view = &c->layer->view;
    const mgk_attention_methods *own = c->own.kind->methods;
    const size_t stride = (size_t)view->heads * (size_t)view->dim;
    if (own->prepare)
        TRY(own->prepare(c->device, view, &c->own));
    TRY(own->forward(c->device, view, &c->own, c->own_output, stride));
    return c->layer->attention.kind->methods->forward(c->device, view, &c->layer->attention,
                                                      c->output, stride);
}

/* The errors of a sample's heads, [H] each. Outputs are 0 for padding. */
static mgk_status compare_sample(comparison *c, int sample, double *matrix, double *output)
{
    const mgk_attention_view *view = &c->layer->view;
    const size_t tokens = (size_t)view->tokens, dim = (size_t)view->dim;
    const size_t width = (size_t)view->heads * dim, before = (size_t)sample * tokens * width;
    for (int head = 0; head < view->heads; head++)
        if (!c->left_out[head])
            TRY(compare_matrices(c, sample, head, &matrix[head]));
    TRY(mgk_device_download(c->device, mgk_at(c->device, c->output, before), tokens * width,
                            c->values[0]));
    TRY(mgk_device_download(c->device, mgk_at(c->device, c->own_output, before), tokens * width,
                            c->values[1]));
    for (size_t head = 0; head < (size_t)view->heads; head++)
        if (!c->left_out[head])
            output[head] = mgk_relative_error(c->values[0] + head * dim, c->values[1] + head * dim,
                                              tokens, dim, width);
    return STATUS_OK;
}

mgk_status mgk_approximation_measure(mgk_approximation *errors, const mgk_attention_kind *own,
                                     const mgk_observed *layer, size_t first, size_t count)
{
    mgk_status status;
    const bool *left_out = errors->left_out + (size_t)layer->layer * errors->heads;
    comparison c = {.device = layer->device, .layer = layer, .left_out = left_out};
    if (!memchr(left_out, false, errors->heads * sizeof(*left_out)))
        return STATUS_OK;
    CHECK(open_comparison(&c, own));
    CHECK(compute_outputs(&c));
    for (size_t sample = 0; sample < count; sample++) {
        const size_t place =
            ((first + sample) * errors->layers + (size_t)layer->layer) * errors->heads;
        CHECK(compare_sample(&c, (int)sample, errors->matrix + place, errors->output + place));
    }
out:
    close_comparison(&c);
    return status;
}

/* -1, not measured, is less than any error. */
mgk_status mgk_approximation_merge(mgk_approximation *errors, const mgk_cluster *cluster)
{
    const size_t count = errors->samples * errors->layers * errors->heads;
    TRY(mgk_cluster_maximum(cluster, errors->matrix, count));
    return mgk_cluster_maximum(cluster, errors->output, count);
}

/* Two matrices on the device, and in double on the host; outputs and statistics of the batch. */
mgk_status mgk_approximation_bytes(const mgk_model *model, int sequences, int tokens, size_t *bytes)
{
    const size_t n = (size_t)tokens, real = model->device->real_size;
    const size_t width = (size_t)model->config.heads * (size_t)model->config.head_dim;
    size_t outputs;
    TRY(mgk_multiply(n * n, 2 * (real + sizeof(double)), bytes));
    TRY(mgk_multiply((size_t)sequences * n, 3 * width * real, &outputs));
    *bytes += outputs;
    return STATUS_OK;
}

/* The mean and the largest of the measured errors; false: there are none. */
static bool summarize(const mgk_approximation *errors, const double *values, double *mean,
                      double *largest)
{
    const size_t all = errors->samples * errors->layers * errors->heads;
    size_t count = 0;
    *mean = *largest = 0;
    for (size_t i = 0; i < all; i++) {
        if (values[i] < 0)
            continue;
        *mean += values[i];
        /* A result that is not a number is the largest, and stays so. */
        if (isnan(values[i]) || values[i] > *largest)
            *largest = values[i];
        count++;
    }
    *mean /= (double)(count > 0 ? count : 1);
    return count > 0;
}

bool mgk_approximation_text(const mgk_approximation *errors, const char *kinds, char *text,
                            size_t size)
{
    double mean, largest, output_mean, output_largest;
    if (!summarize(errors, errors->matrix, &mean, &largest) ||
        !summarize(errors, errors->output, &output_mean, &output_largest))
        return false;
    snprintf(text, size,
             "run as %.80s: relative error of matrices %.3g on average, at most %.3g; of outputs "
             "%.3g, at most %.3g",
             kinds, mean, largest, output_mean, output_largest);
    return true;
}
