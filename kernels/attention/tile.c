/* SPDX-License-Identifier: MIT */
/*
 * The tile primitive: a softmax over the keys that a query sees. A kind gives the logits by its
 * function `tile`, and with `distance` a bias; `kept` ends with the statistic of each row.
 */
#include <math.h>
#include <string.h>

#include "kernels/attention/primitives.h"

mgk_status mgk_zero_rows(mgk_device *device, size_t rows, size_t width, size_t stride, void *reals)
{
    if (width == stride)
        return device->op->zero(device, reals, rows * width * device->real_size);
    for (size_t row = 0; row < rows; row++)
        TRY(device->op->zero(device, mgk_at(device, reals, row * stride),
                             width * device->real_size));
    return STATUS_OK;
}

static mgk_mixture scores(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    mgk_mixture mixture = layer->kind->tile(view, layer);
    mixture.normalizer_epsilon = layer->normalizer_epsilon;
    mixture.dropout = layer->dropout;
    mixture.draw = layer->draw;
    mixture.site = layer->site;
    if (layer->kind->distance) {
        mixture.terms.bias = layer->kept;
        mixture.terms.bias_tokens = (size_t)layer->size.tokens;
    }
    return mixture;
}

/* What the operations read: of positional kinds neither queries nor keys. */
static mgk_attention_view seen(const mgk_device *device, const mgk_attention_view *view,
                               const mgk_attention_layer *layer)
{
    mgk_attention_view out =
        layer->kind->replaced ? layer->kind->replaced(device, view, layer) : *view;
    if (layer->kind->positional) {
        out.value_dim = mgk_view_value_dim(view);
        out.dim = 0;
        out.query = out.key = NULL;
    }
    return out;
}

size_t mgk_tile_statistics(const mgk_attention_size *size, int samples)
{
    return (size_t)samples * (size_t)size->heads * (size_t)size->tokens;
}

static mgk_kind_memory memory(const mgk_attention_size *size, int samples, bool training)
{
    (void)training;
    return (mgk_kind_memory){.kept = mgk_tile_statistics(size, samples)};
}

/* Kept: the table, then the statistics. */
static mgk_kind_memory distance_memory(const mgk_attention_size *size, int samples, bool training)
{
    const size_t table = mgk_distance_count(size);
    return (mgk_kind_memory){.kept = table + mgk_tile_statistics(size, samples),
                             .scratch = training ? table : 0};
}

static mgk_status fill_distances(mgk_device *device, const mgk_attention_view *view,
                                 const mgk_attention_layer *layer)
{
    (void)view;
    return mgk_distance_fill(device, layer, layer->kept);
}

/* The end of what the kind keeps. */
static void *statistics(const mgk_device *device, const mgk_attention_view *view,
                        const mgk_attention_layer *layer)
{
    const size_t kept = layer->kind->methods->memory(&layer->size, view->samples, false).kept;
    return mgk_at(device, layer->kept, kept - mgk_tile_statistics(&layer->size, view->samples));
}

mgk_status mgk_tile_forward(mgk_device *device, const mgk_attention_view *view,
                            const mgk_attention_layer *layer, void *output, size_t output_stride)
{
    const mgk_mixture mixture = scores(view, layer);
    const mgk_attention_view own = seen(device, view, layer);
    return device->op->mixture_attention(device, &own, &mixture, output, output_stride,
                                         statistics(device, view, layer));
}

bool mgk_attention_drops(const mgk_attention_kind *kind)
{
    return kind->methods->forward == mgk_tile_forward &&
           kind->methods->backward == mgk_tile_backward;
}

/* Positional kinds: the gradients that the operation does not write. */
static mgk_status zero_unused(mgk_device *device, const mgk_attention_view *view,
                              const mgk_attention_gradient *gradient)
{
    const size_t rows = (size_t)view->samples * (size_t)view->tokens;
    const size_t width = (size_t)view->heads * (size_t)view->dim;
    TRY(mgk_zero_rows(device, rows, width, view->query_stride, gradient->query));
    return mgk_zero_rows(device, rows, width, view->key_stride, gradient->key);
}

mgk_status mgk_tile_backward(mgk_device *device, const mgk_attention_view *view,
                             const mgk_attention_layer *layer, const void *output,
                             const void *doutput, size_t output_stride,
                             const mgk_layer_gradient *gradient)
{
    const mgk_mixture mixture = scores(view, layer);
    const mgk_attention_view own = seen(device, view, layer);
    mgk_attention_gradient into = gradient->view;
    if (layer->kind->positional) {
        TRY(zero_unused(device, view, &into));
        into.query = into.key = NULL;
    }
    if (mixture.terms.full)
        into.full = gradient->parameters[0];
    const bool learned = layer->kind->distance && layer->kind->parameters;
    if (learned) {
        into.bias = layer->scratch;
        TRY(device->op->zero(device, into.bias,
                             mgk_distance_count(&layer->size) * device->real_size));
    }
    TRY(device->op->mixture_attention_backward(device, &own, &mixture, output,
                                               statistics(device, view, layer), doutput,
                                               output_stride, &into));
    return learned ? mgk_distance_backward(device, layer, into.bias, gradient->parameters)
                   : STATUS_OK;
}

static mgk_status matrices(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, mgk_matrix_content content, int first,
                           int samples, const int32_t *heads, int count, void *out)
{
    const mgk_mixture mixture = scores(view, layer);
    const mgk_attention_view own = seen(device, view, layer);
    return device->op->mixture_matrix(device, &own, &mixture, content, first, samples, heads, count,
                                      out);
}

mgk_status mgk_tile_matrix(mgk_device *device, const mgk_attention_view *view,
                           const mgk_attention_layer *layer, mgk_matrix_content content, int sample,
                           const int32_t *heads, int count, void *out)
{
    return matrices(device, view, layer, content, sample, 1, heads, count, out);
}

mgk_status mgk_tile_matrix_output(mgk_device *device, const mgk_attention_view *view,
                                  const mgk_attention_layer *layer, int sample,
                                  const int32_t *heads, int count, void *out, void *output,
                                  size_t output_stride)
{
    const mgk_mixture mixture = scores(view, layer);
    const mgk_attention_view own = seen(device, view, layer);
    return device->op->mixture_matrix_output(device, &own, &mixture, sample, heads, count, out,
                                             output, output_stride);
}

/* Of the paper's code. */
static const double published_epsilon = 1e-6;

static mgk_status add_responsibilities(mgk_device *device, const mgk_attention_view *view,
                                       const mgk_attention_layer *layer, double *sums)
{
    mgk_mixture mixture = scores(view, layer);
    mgk_attention_view all = *view;
    if (layer->prior_of_all) {
        if (!device->all_parts)
            return mgk_fail(STATUS_UNSUPPORTED,
                            "soft-E priors of all queries are for the CPU alone");
        all.causal = false;
        mixture.share_epsilon = published_epsilon;
    }
    return device->op->responsibilities(device, &all, &mixture, sums);
}

#define TILE_OF(of_memory) \
    MGK_TILE, .matrices = matrices, .backward = mgk_tile_backward, .memory = of_memory
const mgk_attention_methods mgk_tile_methods = {TILE_OF(memory)};
const mgk_attention_methods mgk_mixture_methods = {TILE_OF(memory),
                                                   .add_responsibilities = add_responsibilities};
const mgk_attention_methods mgk_distance_methods = {TILE_OF(distance_memory),
                                                    .prepare = fill_distances};

double mgk_tile_flops(const mgk_attention_kind *kind, const mgk_attention_size *size)
{
    const double row = (double)size->heads * size->tokens * size->dim;
    double pairs = 0;
    const mgk_pattern_shape shape = mgk_attention_pattern_shape(kind, size);
    mgk_pattern pattern;
    if (mgk_attention_pattern(kind, size, &pattern) != STATUS_OK)
        return 0; /* without memory for its pattern a model cannot run either */
    for (int head = 0; head < size->heads; head++)
        pairs += mgk_pattern_pairs(&pattern, &shape, kind->pattern_of_head ? head : 0);
    mgk_pattern_release(&pattern);
    return pairs * (4.0 * size->dim + 5) + row;
}

mgk_mixture mgk_dot_products(const mgk_attention_view *view)
{
    return (mgk_mixture){.scale = {1 / sqrt(view->dim)}};
}

mgk_mixture mgk_tile_scores(const mgk_attention_view *view, const mgk_attention_layer *layer)
{
    mgk_mixture out = mgk_dot_products(view);
    out.pattern = layer->pattern;
    return out;
}

mgk_attention_view mgk_other_queries(const mgk_attention_view *view, size_t count,
                                     const int32_t *lengths, const void *queries)
{
    mgk_attention_view out = *view;
    out.tokens = (int)count;
    out.lengths = lengths;
    out.key_tokens = mgk_view_keys(view);
    out.key_lengths = mgk_view_key_lengths(view);
    out.query = queries;
    out.query_stride = (size_t)(view->heads * view->dim);
    return out;
}
