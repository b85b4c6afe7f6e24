/* SPDX-License-Identifier: MIT */
/* Biases by distance that a kind computes from a few numbers of each head. */
#include "base/memory.h"
#include "kernels/attention/primitives.h"

/* The table on the host, and the kind's parameters. */
typedef struct distance_table {
    int count;                             /* parameters */
    double *own[MGK_KIND_PARAMETERS];      /* [H] each */
    double *gradient[MGK_KIND_PARAMETERS]; /* [H] each */
    double *table;                         /* [H, 2 N - 1] */
    double *memory;
} distance_table;

size_t mgk_distance_count(const mgk_attention_size *size)
{
    return (size_t)size->heads * (2 * (size_t)size->tokens - 1);
}

/* Allocates, and reads the parameters. Release t->memory. */
static mgk_status make_table(mgk_device *device, const mgk_attention_layer *layer,
                             distance_table *t)
{
    const size_t heads = (size_t)layer->size.heads;
    mgk_kind_parameter rows[MGK_KIND_PARAMETERS];
    t->count = layer->kind->parameters ? layer->kind->parameters(&layer->size, rows) : 0;
    TRY(mgk_alloc(mgk_distance_count(&layer->size) + 2 * (size_t)t->count * heads,
                  sizeof(*t->memory), &t->memory));
    double *next = t->memory;
    mgk_status status = STATUS_OK;
    for (int p = 0; status == STATUS_OK && p < t->count; p++, next += 2 * heads) {
        t->own[p] = next;
        t->gradient[p] = next + heads;
        status = mgk_device_download(device, layer->parameters[p], heads, t->own[p]);
    }
    t->table = next;
    return status;
}

/* The bias of place `at` of a head's table, and its derivatives. */
static double bias_at(const mgk_attention_layer *layer, const distance_table *t, int head, int at,
                      double slopes[MGK_KIND_PARAMETERS])
{
    double own[MGK_KIND_PARAMETERS] = {0};
    for (int p = 0; p < t->count; p++)
        own[p] = t->own[p][head];
    return layer->kind->distance(&layer->size, head, at - (layer->size.tokens - 1), own, slopes);
}

mgk_status mgk_distance_fill(mgk_device *device, const mgk_attention_layer *layer, void *table)
{
    const int places = 2 * layer->size.tokens - 1;
    double slopes[MGK_KIND_PARAMETERS];
    distance_table t = {0};
    mgk_status status = make_table(device, layer, &t);
    if (status == STATUS_OK) {
        for (int h = 0; h < layer->size.heads; h++)
            for (int at = 0; at < places; at++)
                t.table[(size_t)h * (size_t)places + (size_t)at] =
                    bias_at(layer, &t, h, at, slopes);
        status = mgk_device_upload(device, t.table, mgk_distance_count(&layer->size), table);
    }
    mgk_free(t.memory);
    return status;
}

/* Adds to the gradients of a head, for its row of the table's gradient. */
static void add_gradient(const mgk_attention_layer *layer, const distance_table *t, int head)
{
    const int places = 2 * layer->size.tokens - 1;
    double slopes[MGK_KIND_PARAMETERS] = {0};
    for (int at = 0; at < places; at++) {
        bias_at(layer, t, head, at, slopes);
        for (int p = 0; p < t->count; p++)
            t->gradient[p][head] +=
                slopes[p] * t->table[(size_t)head * (size_t)places + (size_t)at];
    }
}

mgk_status mgk_distance_backward(mgk_device *device, const mgk_attention_layer *layer,
                                 const void *dtable, void *const *parameters)
{
    const size_t heads = (size_t)layer->size.heads;
    distance_table t = {0};
    mgk_status status = make_table(device, layer, &t);
    if (status == STATUS_OK)
        status = mgk_device_download(device, dtable, mgk_distance_count(&layer->size), t.table);
    for (int p = 0; status == STATUS_OK && p < t.count; p++)
        status = mgk_device_download(device, parameters[p], heads, t.gradient[p]);
    for (int h = 0; status == STATUS_OK && h < layer->size.heads; h++)
        add_gradient(layer, &t, h);
    for (int p = 0; status == STATUS_OK && p < t.count; p++)
        status = mgk_device_upload(device, t.gradient[p], heads, parameters[p]);
    mgk_free(t.memory);
    return status;
}
