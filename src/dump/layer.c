/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdlib.h>
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

static mgk_status open_matrices(const mgk_dump *dump, mgk_store_object object, mgk_mirror **out)
{
    mgk_device *device = dump->run->device;
    const mgk_model_run *run = dump->run;
    const size_t blocks = (size_t)dump->blocks;
    size_t bytes;
    if (!(dump->objects & MGK_STORE_BIT(object)))
        return STATUS_OK;
    TRY(mgk_multiply(dump->head_count * (size_t)run->tokens,
                     (size_t)mgk_model_run_keys(run)->tokens, &bytes));
    TRY(mgk_multiply(bytes, device->real_size, &bytes));
    TRY(mgk_alloc(blocks, sizeof(**out), out));
    return device->op->mirror_open(device, blocks, bytes, *out);
}

static void close_matrices(const mgk_dump *dump, mgk_mirror **mirrors)
{
    mgk_device *device = dump->run->device;
    if (*mirrors)
        device->op->mirror_close(device, (size_t)dump->blocks, *mirrors);
    mgk_free(*mirrors);
    *mirrors = NULL;
}

/* So many samples that those before them can be on their way, and one block remains for writing. */
static int samples_together(const mgk_dump *dump)
{
    return dump->run->device->accelerator ? (dump->blocks - 1) / 2 : 1;
}

mgk_status mgk_dump_open(mgk_dump *dump)
{
    mgk_device *device = dump->run->device;
    size_t bytes = dump->head_count * sizeof(*dump->heads);
    TRY(device->op->allocate(device, bytes, &dump->device_heads));
    TRY(device->op->upload(device, dump->device_heads, dump->heads, bytes));
    dump->blocks = mgk_store_blocks(dump->writer);
    dump->together = samples_together(dump);
    TRY(open_matrices(dump, STORE_ATTENTION, &dump->attention));
    return open_matrices(dump, STORE_SCORES, &dump->scores);
}

void mgk_dump_close(mgk_dump *dump)
{
    mgk_device *device = dump->run->device;
    close_matrices(dump, &dump->attention);
    close_matrices(dump, &dump->scores);
    if (dump->device_heads)
        device->op->release(device, dump->device_heads);
    dump->device_heads = NULL;
}

mgk_status mgk_dump_pass_open(const mgk_dump *dump, mgk_model_run *run, mgk_dump_pass *out)
{
    size_t reals;
    *out = (mgk_dump_pass){.dump = dump, .run = run};
    const size_t queries = (size_t)run->tokens, keys = (size_t)mgk_model_run_keys(run)->tokens;
    TRY(mgk_alloc((size_t)dump->blocks, sizeof(*out->begun), &out->begun));
    /* One row may contain the queries, keys and values of a token. */
    TRY(mgk_multiply(queries > keys ? queries : keys, mgk_model_row_width(run->model), &reals));
    return mgk_alloc(reals, run->device->real_size, &out->rows);
}

void mgk_dump_pass_close(mgk_dump_pass *pass)
{
    mgk_free(pass->begun);
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

/* What has a wider range than the numbers that are stored. */
static const char *name_wider(const mgk_dump_pass *pass)
{
    const bool single = pass->run->device->precision == MGK_SINGLE;
    if (pass->dump->storage == STORE_F16)
        return "; f32 has a wider range (`dtype`)";
    if (single)
        return "; double precision has a wider range (`double_precision`)";
    return pass->dump->storage == STORE_F32 ? "; f64 has a wider range (`dtype`)" : "";
}

static mgk_status check_values(const mgk_dump_pass *pass, const char *object, const void *values,
                               size_t count, int layer)
{
    static const char *const names[] = {"f16", "f32", "f64"};
    if (is_within(pass->run->device, values, count, storage_limit(pass->dump->storage)))
        return STATUS_OK;
    return mgk_fail(STATUS_NUMERIC,
                    "layer %d: %s are not finite numbers within the range of %s (computed in %s "
                    "precision)%s",
                    layer, object, names[pass->dump->storage],
                    pass->run->device->precision == MGK_DOUBLE ? "double" : "single",
                    name_wider(pass));
}

/* Starts computing the matrices of samples `first` and those after it, if they are stored, and then
 * copying them to blocks [count], whose numbers follow one another. */
static mgk_status begin_matrices(const mgk_dump_pass *pass, mgk_observed *layer,
                                 mgk_matrix_content content, int first, mgk_store_block **blocks,
                                 int count)
{
    mgk_device *device = pass->run->device;
    const mgk_dump *dump = pass->dump;
    const bool attention = content == MGK_MATRIX_ATTENTION;
    const mgk_mirror *all = attention ? dump->attention : dump->scores;
    if (!all)
        return STATUS_OK;
    const mgk_mirror *mirrors = all + blocks[0]->number;
    TRY(mgk_observed_matrices(layer, content, first, count, dump->device_heads,
                              (int)dump->head_count, mirrors[0].array));
    for (int i = 0; i < count; i++) {
        blocks[i]->arrays[attention ? STORE_ATTENTION : STORE_SCORES] = mirrors[i].host;
        TRY(mgk_device_send(device, &mirrors[i]));
    }
    return STATUS_OK;
}

/* The largest magnitude that the storage type rounds to 0. */
static double storage_nothing(mgk_store_real storage)
{
    return storage == STORE_F16 ? 0x1p-25 : storage == STORE_F32 ? 0x1p-150 : 0;
}

static bool is_nothing(const mgk_device *device, const void *row, size_t count, double limit)
{
    size_t i = 0;
    if (device->precision == MGK_DOUBLE)
        while (i < count && fabs(((const double *)row)[i]) <= limit)
            i++;
    else
        while (i < count && (double)fabsf(((const float *)row)[i]) <= limit)
            i++;
    return i == count;
}

/* Counts rows of valid queries whose scores the storage type cannot hold; not of kinds that make
 * rows of zeros themselves. */
static void count_lost_rows(mgk_dump_pass *pass, const mgk_store_block *block)
{
    const mgk_model_run *run = pass->run;
    const size_t queries = (size_t)run->tokens, keys = (size_t)mgk_model_run_keys(run)->tokens;
    const double limit = storage_nothing(pass->dump->storage);
    if (!pass->dump->scores || mgk_kinds_may_be_blank(run->model->config.attention))
        return;
    const void *scores = pass->dump->scores[block->number].host;
    for (size_t h = 0; h < pass->dump->head_count; h++)
        for (size_t i = 0; i < (size_t)block->length; i++)
            pass->lost_rows += is_nothing(
                run->device, mgk_at(run->device, scores, (h * queries + i) * keys), keys, limit);
}

static mgk_status end_matrices(const mgk_dump_pass *pass, const char *object,
                               const mgk_store_block *block, const mgk_mirror *mirrors)
{
    mgk_device *device = pass->run->device;
    if (!mirrors)
        return STATUS_OK;
    const mgk_mirror *mirror = &mirrors[block->number];
    TRY(mgk_device_receive(device, mirror));
    return check_values(pass, object, mirror->host, mirror->bytes / device->real_size,
                        pass->dump->layers[block->layer]);
}

/* Passes the oldest started block to the store. */
static mgk_status end_block(mgk_dump_pass *pass)
{
    mgk_store_block *block = pass->begun[0];
    pass->begun_count--;
    memmove(pass->begun, pass->begun + 1, (size_t)pass->begun_count * sizeof(*pass->begun));
    TRY(end_matrices(pass, "attention weights", block, pass->dump->attention));
    TRY(end_matrices(pass, "scores", block, pass->dump->scores));
    count_lost_rows(pass, block);
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

/* Copies what a block holds besides matrices. */
static mgk_status fill_block(const mgk_dump_pass *pass, int32_t place, const mgk_observed *observed,
                             int sample, mgk_store_block *block)
{
    const mgk_attention_view *view = &observed->view;
    const int layer = observed->layer;
    const mgk_model_run *run = pass->run, *keys = mgk_model_run_keys(run);
    const vectors query = {view->query, view->query_stride, 1, 1, run};
    const vectors key = {view->key, view->key_stride, (size_t)view->mixtures, pass->dump->mixtures,
                         keys};
    const vectors value = {view->value, view->value_stride, 1, 1, keys};
    block->sample = run->first + sample;
    block->layer = place;
    block->length = run->lengths[sample];
    put_tokens(run, sample, block->tokens);
    if (run->cross) {
        block->key_length = keys->lengths[sample];
        put_tokens(keys, sample, block->key_tokens);
    }
    TRY(put_vectors(pass, layer, view, query, sample, "queries", block->arrays[STORE_QUERIES]));
    TRY(put_vectors(pass, layer, view, key, sample, "keys", block->arrays[STORE_KEYS]));
    return put_vectors(pass, layer, view, value, sample, "values", block->arrays[STORE_VALUES]);
}

static int by_number(const void *a, const void *b)
{
    return (*(mgk_store_block *const *)a)->number - (*(mgk_store_block *const *)b)->number;
}

/* Takes blocks [count] from the store, in the order of their numbers. */
static mgk_status take_blocks(mgk_dump_pass *pass, int count, mgk_store_block ***out)
{
    mgk_store_block **blocks = *out = pass->begun + pass->begun_count;
    for (int i = 0; i < count; i++)
        TRY(mgk_store_next_block(pass->dump->writer, &blocks[i]));
    qsort(blocks, (size_t)count, sizeof(*blocks), by_number);
    pass->begun_count += count;
    return STATUS_OK;
}

/* Starts blocks and finishes others: the same ones, or on a GPU those before, whose matrices have
 * arrived meanwhile. One call computes the matrices of blocks whose numbers follow one another. */
static mgk_status put_samples(mgk_dump_pass *pass, int32_t place, mgk_observed *observed, int first,
                              int count)
{
    const int left_begun = pass->run->device->accelerator ? pass->dump->together : 0;
    mgk_store_block **blocks;
    TRY(take_blocks(pass, count, &blocks));
    for (int i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && blocks[end]->number == blocks[end - 1]->number + 1;)
            end++;
        TRY(begin_matrices(pass, observed, MGK_MATRIX_ATTENTION, first + i, blocks + i, end - i));
        TRY(begin_matrices(pass, observed, MGK_MATRIX_SCORES, first + i, blocks + i, end - i));
    }
    for (int i = 0; i < count; i++)
        TRY(fill_block(pass, place, observed, first + i, blocks[i]));
    while (pass->begun_count > left_begun)
        TRY(end_block(pass));
    return STATUS_OK;
}

mgk_status mgk_dump_layer(void *context, mgk_observed *layer)
{
    mgk_dump_pass *pass = context;
    const int count = pass->run->count, most = pass->dump->together;
    for (size_t place = 0; place < pass->dump->layer_count; place++) {
        if (pass->dump->layers[place] != layer->layer)
            continue;
        for (int first = 0; first < count; first += most)
            TRY(put_samples(pass, (int32_t)place, layer, first,
                            most < count - first ? most : count - first));
    }
    return STATUS_OK;
}
