/* SPDX-License-Identifier: MIT */
/*
 * Computes all attention matrices of a batch on a device and copies them to the host: seconds and
 * bytes of repeated runs, and of the copies alone. This is the part of mgk-dump before it writes:
 * the matrices of some samples are computed while those of the samples before are copied.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/progress.h"
#include "base/random.h"
#include "model/core/pass.h"
#include "model/formats/format.h"

enum { MIRRORS = 2, MIRROR_BYTES = 16 << 20 }; /* of a mirror with several samples, at most */

typedef struct job {
    mgk_device *device;
    mgk_model *model;
    mgk_pass *pass;
    mgk_batch batch;
    int32_t *ids, *lengths;      /* of the batch */
    int32_t *heads;              /* 0, 1, …, H − 1 on the device */
    mgk_mirror mirrors[MIRRORS]; /* of [together, H, N, N], used alternately */
    int together;                /* samples */
    size_t each, sent;           /* bytes of a sample; mirrors */
} job;

/* The next mirror, after its previous copy has arrived. */
static mgk_status next_mirror(job *j, mgk_mirror **out)
{
    *out = &j->mirrors[j->sent % MIRRORS];
    return j->sent < MIRRORS ? STATUS_OK : j->device->op->mirror_wait(j->device, *out);
}

/* Sends the first `samples` samples of a mirror. */
static mgk_status send(job *j, const mgk_mirror *mirror, int samples)
{
    mgk_mirror part = *mirror;
    part.bytes = (size_t)samples * j->each;
    j->sent++;
    return j->device->op->mirror_send(j->device, &part);
}

/* The samples of the mirror that begins with sample `first`. */
static int samples_from(const job *j, int first)
{
    const int left = j->batch.sequences - first;
    return left < j->together ? left : j->together;
}

static mgk_status export_layer(void *context, mgk_observed *layer)
{
    job *j = context;
    for (int first = 0; first < j->batch.sequences; first += j->together) {
        const int samples = samples_from(j, first);
        mgk_mirror *mirror;
        TRY(next_mirror(j, &mirror));
        TRY(mgk_observed_matrices(layer, MGK_MATRIX_ATTENTION, first, samples, j->heads,
                                  layer->view.heads, mirror->array));
        TRY(send(j, mirror, samples));
    }
    return STATUS_OK;
}

static mgk_status export_all(job *j)
{
    const mgk_observer observer = {
        .layer = export_layer, .context = j, .layers = j->model->config.layers};
    TRY(mgk_pass_load(j->pass, &j->batch, NULL, 0, 0));
    return mgk_pass_forward(j->pass, &observer);
}

static mgk_status copy_all(job *j)
{
    for (int layer = 0; layer < j->model->config.layers; layer++)
        for (int first = 0; first < j->batch.sequences; first += j->together) {
            mgk_mirror *mirror;
            TRY(next_mirror(j, &mirror));
            TRY(send(j, mirror, samples_from(j, first)));
        }
    return STATUS_OK;
}

/* Random tokens, none of them padding. */
static mgk_status make_batch(job *j, int sequences)
{
    int tokens = j->model->config.length;
    size_t count = (size_t)sequences * (size_t)tokens;
    TRY(mgk_alloc(count, sizeof(*j->ids), &j->ids));
    TRY(mgk_alloc((size_t)sequences, sizeof(*j->lengths), &j->lengths));
    for (size_t i = 0; i < count; i++)
        j->ids[i] =
            (int32_t)mgk_random_below(1, 0, i, (uint64_t)(uint32_t)j->model->config.vocabulary);
    for (int i = 0; i < sequences; i++)
        j->lengths[i] = tokens;
    j->batch = (mgk_batch){sequences, tokens, j->ids, j->lengths, NULL};
    return mgk_pass_create(j->model, sequences, tokens, 0, false, &j->pass);
}

static mgk_status make_room(job *j)
{
    const mgk_operations *op = j->device->op;
    const mgk_config *config = &j->model->config;
    size_t heads = (size_t)config->heads, tokens = (size_t)config->length;
    int32_t *list;
    j->each = heads * tokens * tokens * j->device->real_size;
    j->together = j->each < MIRROR_BYTES ? (int)(MIRROR_BYTES / j->each) : 1;
    for (int i = 0; i < MIRRORS; i++)
        TRY(op->mirror_open(j->device, 1, (size_t)j->together * j->each, &j->mirrors[i]));
    TRY(mgk_alloc(heads, sizeof(*list), &list));
    for (int h = 0; h < config->heads; h++)
        list[h] = h;
    mgk_status status = op->allocate(j->device, heads * sizeof(*list), &j->heads);
    if (status == STATUS_OK)
        status = op->upload(j->device, j->heads, list, heads * sizeof(*list));
    mgk_free(list);
    return status;
}

/* Runs once to warm up, then prints a line for each repetition. */
static mgk_status measure(job *j, const char *name, mgk_status (*run)(job *), int repetitions)
{
    double bytes = (double)j->each * j->model->config.layers * j->batch.sequences;
    for (int i = -1; i < repetitions; i++) {
        double start = mgk_seconds();
        TRY(run(j));
        for (int k = 0; k < MIRRORS; k++)
            TRY(j->device->op->mirror_wait(j->device, &j->mirrors[k]));
        if (i >= 0)
            printf("%s,%.9f,%.0f\n", name, mgk_seconds() - start, bytes);
    }
    return STATUS_OK;
}

static void close_all(job *j)
{
    if (j->heads)
        j->device->op->release(j->device, j->heads);
    for (int i = 0; j->device && i < MIRRORS; i++)
        j->device->op->mirror_close(j->device, 1, &j->mirrors[i]);
    mgk_pass_free(j->pass);
    mgk_model_free(j->model);
    mgk_device_close(j->device);
    mgk_free(j->ids);
    mgk_free(j->lengths);
}

int main(int argc, char **argv)
{
    mgk_status status;
    job j = {0};
    if (argc != 5) {
        fprintf(stderr, "usage: %s MODEL DEVICE SEQUENCES REPETITIONS\n", argv[0]);
        return 2;
    }
    CHECK(mgk_device_open(argv[2], MGK_SINGLE, 0, &j.device));
    CHECK(mgk_model_load(argv[1], NULL, j.device, &j.model));
    CHECK(make_batch(&j, atoi(argv[3])));
    CHECK(make_room(&j));
    CHECK(measure(&j, "export", export_all, atoi(argv[4])));
    CHECK(measure(&j, "copy", copy_all, atoi(argv[4])));
out:
    if (status != STATUS_OK)
        fprintf(stderr, "%s: %s\n", argv[0], mgk_fail_message());
    close_all(&j);
    return status == STATUS_OK ? 0 : 1;
}
