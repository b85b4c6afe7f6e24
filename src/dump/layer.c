/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "dump/dump.h"
#include "run/vectors.h"

/* One object of one sample of the current layer. */
typedef struct vectors {
    const void *values;       /* of the batch, on the device */
    size_t stride;            /* distance of tokens, in numbers */
    size_t mixtures, most;    /* vectors per head and token; in the store, at least as many */
    const mgk_model_run *run; /* of their tokens */
} vectors;

static mgk_status open_matrices(const mgk_dump *dump, mgk_dump_matrices *matrices)
{
    mgk_device *device = dump->run->device;
    const mgk_model_run *run = dump->run;
    size_t bytes;
    TRY(mgk_multiply(dump->head_count * (size_t)run->tokens,
                     (size_t)mgk_model_run_keys(run)->tokens, &bytes));
    TRY(mgk_multiply(bytes, device->real_size, &bytes));
    if (dump->objects & MGK_STORE_BIT(STORE_ATTENTION))
        TRY(device->op->mirror_open(device, bytes, &matrices->attention));
    if (dump->objects & MGK_STORE_BIT(STORE_SCORES))
        TRY(device->op->mirror_open(device, bytes, &matrices->scores));
    return STATUS_OK;
}

mgk_status mgk_dump_open(mgk_dump *dump)
{
    mgk_device *device = dump->run->device;
    size_t bytes = dump->head_count * sizeof(*dump->heads);
    TRY(device->op->allocate(device, bytes, &dump->device_heads));
    TRY(device->op->upload(device, dump->device_heads, dump->heads, bytes));
    TRY(mgk_alloc((size_t)mgk_store_blocks(dump->writer), sizeof(*dump->matrices),
                  &dump->matrices));
    dump->blocks = mgk_store_blocks(dump->writer);
    for (int i = 0; i < dump->blocks; i++)
        TRY(open_matrices(dump, &dump->matrices[i]));
    return STATUS_OK;
}

void mgk_dump_close(mgk_dump *dump)
{
    mgk_device *device = dump->run->device;
    for (int i = 0; i < dump->blocks; i++) {
        device->op->mirror_close(device, &dump->matrices[i].attention);
        device->op->mirror_close(device, &dump->matrices[i].scores);
    }
    if (dump->device_heads)
        device->op->release(device, dump->device_heads);
    mgk_free(dump->matrices);
    dump->device_heads = NULL;
}

mgk_status mgk_dump_pass_open(const mgk_dump *dump, mgk_model_run *run, mgk_dump_pass *out)
{
    size_t reals;
    *out = (mgk_dump_pass){.dump = dump, .run = run};
    const size_t queries = (size_t)run->tokens, keys = (size_t)mgk_model_run_keys(run)->tokens;
    /* One row may contain the queries, keys and values of a token. */
    TRY(mgk_multiply(queries > keys ? queries : keys, mgk_model_row_width(run->model), &reals));
    return mgk_alloc(reals, run->device->real_size, &out->rows);
}

void mgk_dump_pass_close(mgk_dump_pass *pass)
{
    mgk_free(pass->rows);
    *pass = (mgk_dump_pass){0};
}

/* The largest magnitude of the storage type. */
static double storage_limit(mgk_store_real storage)
{
    return storage == STORE_F16 ? 65504 : storage == STORE_F32 ? (double)FLT_MAX : DBL_MAX;
}

/* Whether every |x| <= limit; false for NaN. */
static bool is_within(const mgk_device *device, const void *values, size_t count, double limit)
{
    int beyond = 0;
    if (device->precision == MGK_DOUBLE) {
        const double *x = values;
#pragma omp parallel for simd reduction(| : beyond) num_threads(device->threads)
        for (size_t i = 0; i < count; i++)
            beyond |= !(fabs(x[i]) <= limit);
    } else {
        const float *x = values;
        float single = limit > (double)FLT_MAX ? FLT_MAX : (float)limit;
#pragma omp parallel for simd reduction(| : beyond) num_threads(device->threads)
        for (size_t i = 0; i < count; i++)
            beyond |= !(fabsf(x[i]) <= single);
    }
    return !beyond;
}

static mgk_status check_values(const mgk_dump_pass *pass, const char *object, const void *values,
                               size_t count, int layer)
{
    static const char *const names[] = {"f16", "f32", "f64"};
    if (is_within(pass->run->device, values, count, storage_limit(pass->dump->storage)))
        return STATUS_OK;
    return mgk_fail(STATUS_NUMERIC,
                    "layer %d: %s are not finite numbers within the range of %s (computed in %s "
                    "precision)",
                    layer, object, names[pass->dump->storage],
                    pass->run->device->precision == MGK_DOUBLE ? "double" : "single");
}

/* Starts computing the matrices, if they are stored, and then copying them; *out is their place. */
static mgk_status begin_matrices(const mgk_dump_pass *pass, mgk_observed *layer,
                                 mgk_matrix_content content, int sample, const mgk_mirror *mirror,
                                 void **out)
{
    mgk_device *device = pass->run->device;
    *out = mirror->host;
    if (!mirror->host)
        return STATUS_OK;
    TRY(mgk_observed_matrices(layer, content, sample, 1, pass->dump->device_heads,
                              (int)pass->dump->head_count, mirror->array));
    return mgk_device_send(device, mirror);
}

static mgk_status end_matrices(const mgk_dump_pass *pass, const char *object, int layer,
                               const mgk_mirror *mirror)
{
    mgk_device *device = pass->run->device;
    if (!mirror->host)
        return STATUS_OK;
    TRY(mgk_device_receive(device, mirror));
    return check_values(pass, object, mirror->host, mirror->bytes / device->real_size, layer);
}

/* Passes the oldest started block to the store. */
static mgk_status end_block(mgk_dump_pass *pass)
{
    mgk_store_block *block = pass->begun[0];
    const mgk_dump_matrices *matrices = &pass->dump->matrices[block->number];
    pass->begun[0] = pass->begun[1];
    pass->begun_count--;
    TRY(end_matrices(pass, "attention weights", matrices->layer, &matrices->attention));
    TRY(end_matrices(pass, "scores", matrices->layer, &matrices->scores));
    return mgk_store_submit(pass->dump->writer, block);
}

mgk_status mgk_dump_flush(mgk_dump_pass *pass)
{
    while (pass->begun_count > 0)
        TRY(end_block(pass));
    return STATUS_OK;
}

/* Copies out [heads, most, N, D] from rows of all heads; padding is 0. */
static mgk_status put_vectors(const mgk_dump_pass *pass, int layer, const mgk_attention_view *view,
                              vectors source, int sample, const char *object, void *out)
{
    mgk_device *device = pass->run->device;
    const size_t tokens = (size_t)source.run->tokens;
    const mgk_vector_rows rows = {.values = pass->rows,
                                  .element = device->real_size,
                                  .length = (size_t)source.run->lengths[sample],
                                  .stride = source.stride,
                                  .heads = (size_t)view->heads,
                                  .mixtures = source.mixtures,
                                  .size = (size_t)view->dim,
                                  .most = source.most};
    const size_t width = rows.mixtures * rows.heads * rows.size;
    if (!out)
        return STATUS_OK;
    if (rows.length > 0)
        TRY(device->op->download(
            device, pass->rows,
            mgk_at(device, source.values, (size_t)sample * tokens * source.stride),
            ((rows.length - 1) * source.stride + width) * device->real_size));
    mgk_vector_rows_take(&rows, pass->dump->heads, pass->dump->head_count, tokens, out);
    return check_values(pass, object, out, pass->dump->head_count * rows.most * tokens * rows.size,
                        layer);
}

static void put_tokens(const mgk_model_run *run, int sample, int32_t *out)
{
    const size_t tokens = (size_t)run->tokens;
    memcpy(out, run->ids + (size_t)sample * tokens, tokens * sizeof(*run->ids));
}

/* Starts a block and finishes one: the same one, or on a GPU the previous one, whose matrices have
 * arrived meanwhile. */
static mgk_status put_sample(mgk_dump_pass *pass, int32_t place, mgk_observed *observed, int sample)
{
    const mgk_attention_view *view = &observed->view;
    const int layer = observed->layer;
    const mgk_model_run *run = pass->run, *keys = mgk_model_run_keys(run);
    const vectors query = {view->query, view->query_stride, 1, 1, run};
    const vectors key = {view->key, view->key_stride, (size_t)view->mixtures, pass->dump->mixtures,
                         keys};
    const vectors value = {view->value, view->value_stride, 1, 1, keys};
    int begun_at_most = run->device->accelerator ? 2 : 1;
    mgk_store_block *block;
    TRY(mgk_store_next_block(pass->dump->writer, &block));
    mgk_dump_matrices *matrices = &pass->dump->matrices[block->number];
    pass->begun[pass->begun_count++] = block;
    matrices->layer = layer;
    block->sample = run->first + sample;
    block->layer = place;
    block->length = run->lengths[sample];
    put_tokens(run, sample, block->tokens);
    if (run->cross) {
        block->key_length = keys->lengths[sample];
        put_tokens(keys, sample, block->key_tokens);
    }
    TRY(begin_matrices(pass, observed, MGK_MATRIX_ATTENTION, sample, &matrices->attention,
                       &block->arrays[STORE_ATTENTION]));
    TRY(begin_matrices(pass, observed, MGK_MATRIX_SCORES, sample, &matrices->scores,
                       &block->arrays[STORE_SCORES]));
    TRY(put_vectors(pass, layer, view, query, sample, "queries", block->arrays[STORE_QUERIES]));
    TRY(put_vectors(pass, layer, view, key, sample, "keys", block->arrays[STORE_KEYS]));
    TRY(put_vectors(pass, layer, view, value, sample, "values", block->arrays[STORE_VALUES]));
    return pass->begun_count == begun_at_most ? end_block(pass) : STATUS_OK;
}

mgk_status mgk_dump_layer(void *context, mgk_observed *layer)
{
    mgk_dump_pass *pass = context;
    for (size_t place = 0; place < pass->dump->layer_count; place++) {
        if (pass->dump->layers[place] != layer->layer)
            continue;
        for (int sample = 0; sample < pass->run->count; sample++)
            TRY(put_sample(pass, (int32_t)place, layer, sample));
    }
    return STATUS_OK;
}
