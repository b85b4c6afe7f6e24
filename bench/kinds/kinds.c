/* SPDX-License-Identifier: MIT */
/*
 * Time and memory of the attention of a kind, without projections: bench_kinds KIND N [HEADS DIM
 * REPETITIONS THREADS [SETTING=NUMBER ...]], in float32, one sample, bidirectional if the kind is.
 * Prints one line of JSON: milliseconds of a forward pass and of a training step (forward and
 * backward), the least of the repetitions, and the bytes that a layer keeps for its gradient and
 * needs meanwhile, with queries, keys, values, output and their gradients.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/random.h"
#include "kernels/attention.h"

typedef struct bench {
    mgk_device *device;
    mgk_attention_settings settings;
    mgk_attention_view view;
    mgk_attention_layer layer;
    mgk_layer_gradient gradient;
    mgk_pattern pattern;
    void *output, *doutput;
    size_t width, bytes;
} bench;

static void check(mgk_status status)
{
    if (status == STATUS_OK)
        return;
    fprintf(stderr, "bench_kinds: %s\n", mgk_fail_message());
    exit(EXIT_FAILURE);
}

/* Reals on the device: normal numbers times `scale`, plus `offset`. */
static void *numbers(bench *b, size_t count, double scale, double offset, uint64_t stream)
{
    float *host;
    void *array = NULL;
    if (count == 0)
        return NULL;
    check(mgk_alloc(count, sizeof(*host), &host));
    for (size_t i = 0; i < count; i++)
        host[i] = (float)(offset + scale * mgk_random_normal(1, stream, i));
    check(b->device->op->allocate(b->device, count * sizeof(*host), &array));
    check(b->device->op->upload(b->device, array, host, count * sizeof(*host)));
    mgk_free(host);
    b->bytes += count * sizeof(*host);
    return array;
}

static void read_settings(bench *b, const mgk_attention_kind *kind, int count, char **arguments)
{
    b->settings = kind->defaults;
    for (int i = 0; i < count; i++)
        for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name; row++) {
            const size_t length = strlen(row->name);
            if (strncmp(arguments[i], row->name, length) == 0 && arguments[i][length] == '=')
                mgk_attention_setting_put(&b->settings, row, atoi(arguments[i] + length + 1));
        }
}

static void make_parameters(bench *b)
{
    const mgk_attention_kind *kind = b->layer.kind;
    mgk_kind_parameter own[MGK_KIND_PARAMETERS] = {{0}};
    const int count = kind->parameters ? kind->parameters(&b->layer.size, own) : 0;
    for (int i = 0; i < count; i++) {
        const bool constant = own[i].initial == MGK_INITIAL_CONSTANT;
        size_t size = 1;
        for (int axis = 0; axis < own[i].axes; axis++)
            size *= own[i].shape[axis];
        b->layer.parameters[i] = numbers(b, size, constant ? 0 : own[i].value,
                                         constant ? own[i].value : 0, 10 + (uint64_t)i);
        if (!own[i].drawn)
            b->gradient.parameters[i] = numbers(b, size, 0, 0, 0);
    }
}

static void make(bench *b, int tokens, int heads, int dim)
{
    const mgk_attention_kind *kind = b->layer.kind;
    const size_t width = (size_t)heads * (size_t)dim, count = (size_t)tokens * width;
    const int32_t length = tokens;
    void *lengths;
    check(b->device->op->allocate(b->device, sizeof(length), &lengths));
    check(b->device->op->upload(b->device, lengths, &length, sizeof(length)));
    b->layer.size = (mgk_attention_size){.heads = heads,
                                         .tokens = tokens,
                                         .dim = dim,
                                         .mixtures = 1,
                                         .width = (int)width,
                                         .length = tokens,
                                         .layers = 1,
                                         .causal = kind->causal_only,
                                         .settings = &b->settings};
    const size_t extra = kind->extra ? (size_t)kind->extra(&b->layer.size) : 0;
    if (kind->check)
        check(kind->check(&b->layer.size));
    b->view = (mgk_attention_view){.samples = 1,
                                   .heads = heads,
                                   .tokens = tokens,
                                   .dim = dim,
                                   .mixtures = 1,
                                   .causal = kind->causal_only,
                                   .lengths = lengths,
                                   .query = numbers(b, count, 1, 0, 1),
                                   .key = numbers(b, count, 1, 0, 2),
                                   .value = numbers(b, count, 1, 0, 3),
                                   .extra = numbers(b, (size_t)tokens * extra, 1, 0, 4),
                                   .query_stride = width,
                                   .key_stride = width,
                                   .value_stride = width,
                                   .extra_stride = extra,
                                   .extra_width = extra};
    b->gradient.view =
        (mgk_attention_gradient){.query = numbers(b, count, 0, 0, 0),
                                 .key = numbers(b, count, 0, 0, 0),
                                 .value = numbers(b, count, 0, 0, 0),
                                 .extra = numbers(b, (size_t)tokens * extra, 0, 0, 0)};
    const mgk_kind_memory memory = kind->methods->memory(&b->layer.size, 1, true);
    b->layer.kept = numbers(b, memory.kept, 0, 0, 0);
    b->layer.scratch = numbers(b, memory.scratch, 0, 0, 0);
    b->output = numbers(b, count, 0, 0, 0);
    b->doutput = numbers(b, count, 1, 0, 5);
    b->width = width;
    make_parameters(b);
    if (!kind->pattern)
        return;
    check(mgk_attention_pattern(kind, &b->layer.size, &b->pattern));
    b->layer.pattern = &b->pattern;
}

static void run(bench *b, bool step)
{
    const mgk_attention_methods *methods = b->layer.kind->methods;
    if (methods->prepare)
        check(methods->prepare(b->device, &b->view, &b->layer));
    check(methods->forward(b->device, &b->view, &b->layer, b->output, b->width));
    if (step)
        check(methods->backward(b->device, &b->view, &b->layer, b->output, b->doutput, b->width,
                                &b->gradient));
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double least(bench *b, bool step, int repetitions)
{
    double best = 0;
    run(b, step);
    for (int i = 0; i < repetitions; i++) {
        const double start = seconds();
        run(b, step);
        const double time = seconds() - start;
        best = i == 0 || time < best ? time : best;
    }
    return 1e3 * best;
}

int main(int count, char **arguments)
{
    const int numbers_given = count < 7 ? count : 7;
    int value[7] = {0, 0, 1024, 2, 32, 5, 2};
    bench b = {0};
    for (int i = 2; i < numbers_given; i++)
        value[i] = atoi(arguments[i]);
    b.layer.kind = count > 1 ? mgk_attention_find(arguments[1]) : NULL;
    if (!b.layer.kind || b.layer.kind->mixture) {
        fprintf(stderr, "usage: bench_kinds KIND N [HEADS DIM REPETITIONS THREADS "
                        "[SETTING=NUMBER ...]]\n");
        return EXIT_FAILURE;
    }
    read_settings(&b, b.layer.kind, count > 7 ? count - 7 : 0, arguments + 7);
    check(mgk_device_open("cpu", MGK_SINGLE, value[6], &b.device));
    make(&b, value[2], value[3], value[4]);
    const double forward = least(&b, false, value[5]), step = least(&b, true, value[5]);
    printf("{\"kind\": \"%s\", \"tokens\": %d, \"forward_ms\": %.4f, \"step_ms\": %.4f, "
           "\"bytes\": %zu}\n",
           b.layer.kind->name, value[2], forward, step, b.bytes);
    return EXIT_SUCCESS;
}
