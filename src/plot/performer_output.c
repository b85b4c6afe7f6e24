/* SPDX-License-Identifier: MIT */
/* Errors of Performers' outputs, on random queries, keys and values. */
#include <math.h>

#include "base/memory.h"
#include "model/core/parameters.h"
#include "plot/performer.h"

/* Streams of random numbers; input i has INPUTS + i. */
enum { INPUTS = 0x70657266 };

static size_t count_of(const mgk_performer_problem *p)
{
    return (size_t)p->draws * (size_t)p->tokens * (size_t)p->dim;
}

static mgk_attention_view view_of(const mgk_performer_problem *p)
{
    const size_t width = (size_t)p->draws * (size_t)p->dim;
    return (mgk_attention_view){.samples = 1,
                                .heads = p->draws,
                                .tokens = p->tokens,
                                .dim = p->dim,
                                .mixtures = 1,
                                .lengths = p->length,
                                .query = p->input[0],
                                .key = p->input[1],
                                .value = p->input[2],
                                .query_stride = width,
                                .key_stride = width,
                                .value_stride = width};
}

static mgk_attention_size size_of(const mgk_performer_problem *p,
                                  const mgk_attention_settings *settings)
{
    return (mgk_attention_size){.heads = p->draws,
                                .tokens = p->tokens,
                                .dim = p->dim,
                                .mixtures = 1,
                                .width = p->draws * p->dim,
                                .length = p->tokens,
                                .layers = 1,
                                .settings = settings};
}

/* The output of a kind's layer, out [tokens, draws, dim]. */
static mgk_status run(const mgk_performer_problem *p, mgk_attention_layer *layer, double *out)
{
    mgk_status status;
    const mgk_attention_view view = view_of(p);
    const mgk_attention_methods *methods = layer->kind->methods;
    const mgk_kind_memory memory = methods->memory(&layer->size, 1, false);
    void *output = NULL;
    layer->kept = layer->scratch = NULL;
    CHECK(p->device->op->allocate(p->device, count_of(p) * sizeof(double), &output));
    if (memory.kept > 0)
        CHECK(p->device->op->allocate(p->device, memory.kept * sizeof(double), &layer->kept));
    if (memory.scratch > 0)
        CHECK(p->device->op->allocate(p->device, memory.scratch * sizeof(double), &layer->scratch));
    CHECK(methods->prepare ? methods->prepare(p->device, &view, layer) : STATUS_OK);
    CHECK(methods->forward(p->device, &view, layer, output, view.value_stride));
    CHECK(mgk_device_download(p->device, output, count_of(p), out));
out:
    p->device->op->release(p->device, output);
    p->device->op->release(p->device, layer->kept);
    p->device->op->release(p->device, layer->scratch);
    return status;
}

static mgk_status draw_inputs(mgk_performer_problem *p)
{
    mgk_status status = STATUS_OK;
    double *values = NULL;
    const int32_t length = p->tokens;
    const size_t count = count_of(p);
    CHECK(mgk_alloc(count, sizeof(*values), &values));
    for (uint64_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < count; k++)
            values[k] = (i < 2 ? p->deviation : 1) * mgk_random_normal(p->seed, INPUTS + i, k);
        CHECK(p->device->op->allocate(p->device, count * sizeof(double), &p->input[i]));
        CHECK(mgk_device_upload(p->device, values, count, p->input[i]));
    }
    CHECK(p->device->op->allocate(p->device, sizeof(length), &p->length));
    CHECK(p->device->op->upload(p->device, p->length, &length, sizeof(length)));
out:
    mgk_free(values);
    return status;
}

mgk_status mgk_performer_problem_open(mgk_device *device, int draws, int tokens, int dim,
                                      double deviation, uint64_t seed, mgk_performer_problem *out)
{
    mgk_performer_problem p = {.device = device,
                               .draws = draws,
                               .tokens = tokens,
                               .dim = dim,
                               .deviation = deviation,
                               .seed = seed};
    const mgk_attention_kind *kind = mgk_attention_find("softmax");
    mgk_attention_layer layer = {.kind = kind, .size = size_of(&p, &kind->defaults)};
    mgk_status status = draw_inputs(&p);
    if (status == STATUS_OK)
        status = mgk_alloc(count_of(&p), sizeof(*p.exact), &p.exact);
    if (status == STATUS_OK)
        status = run(&p, &layer, p.exact);
    *out = p;
    if (status != STATUS_OK)
        mgk_performer_problem_close(out);
    return status;
}

void mgk_performer_problem_close(mgk_performer_problem *p)
{
    for (int i = 0; p->device && i < 3; i++)
        p->device->op->release(p->device, p->input[i]);
    if (p->device)
        p->device->op->release(p->device, p->length);
    mgk_free(p->exact);
    *p = (mgk_performer_problem){.device = NULL};
}

/* Draws the random vectors as a model does, for each draw its own. */
static mgk_status draw_vectors(const mgk_performer_problem *p, const mgk_attention_layer *layer,
                               void **omega)
{
    mgk_status status = STATUS_OK;
    mgk_kind_parameter own[MGK_KIND_PARAMETERS];
    double *values = NULL;
    layer->kind->parameters(&layer->size, own);
    mgk_parameter list = {.axes = own[0].axes,
                          .count = own[0].shape[0] * own[0].shape[1] * own[0].shape[2],
                          .initial = own[0].initial,
                          .value = own[0].value,
                          .drawn = own[0].drawn};
    for (int axis = 0; axis < own[0].axes; axis++)
        list.shape[axis] = own[0].shape[axis];
    const mgk_parameters parameters = {.list = &list, .count = 1, .total = list.count};
    CHECK(mgk_alloc(list.count, sizeof(*values), &values));
    mgk_parameters_draw(&parameters, p->seed, 0, values);
    CHECK(p->device->op->allocate(p->device, list.count * sizeof(double), omega));
    CHECK(mgk_device_upload(p->device, values, list.count, *omega));
out:
    mgk_free(values);
    return status;
}

/* Adds up the squared differences of each draw. */
static void compare(const mgk_performer_problem *p, const double *output, double *errors)
{
    const size_t dim = (size_t)p->dim, draws = (size_t)p->draws, tokens = (size_t)p->tokens;
    for (size_t h = 0; h < draws; h++) {
        double sum = 0;
        for (size_t t = 0; t < tokens; t++)
            for (size_t d = 0; d < dim; d++) {
                const size_t at = (t * draws + h) * dim + d;
                sum += (output[at] - p->exact[at]) * (output[at] - p->exact[at]);
            }
        errors[h] = sum / (double)(tokens * dim);
    }
}

mgk_status mgk_performer_output_errors(const mgk_performer_problem *p, int map, int draw,
                                       int vectors, double *errors)
{
    mgk_status status;
    const mgk_attention_kind *kind = mgk_attention_find("performer");
    mgk_attention_settings settings = kind->defaults;
    settings.features = map == MGK_CHOICE_TRIGONOMETRIC ? 2 * vectors : vectors;
    settings.feature_map = map;
    settings.feature_draw = draw;
    mgk_attention_layer layer = {.kind = kind, .size = size_of(p, &settings)};
    void *omega = NULL;
    double *output = NULL;
    CHECK(draw_vectors(p, &layer, &omega));
    CHECK(mgk_alloc(count_of(p), sizeof(*output), &output));
    layer.parameters[0] = omega;
    CHECK(run(p, &layer, output));
    compare(p, output, errors);
out:
    p->device->op->release(p->device, omega);
    mgk_free(output);
    return status;
}
