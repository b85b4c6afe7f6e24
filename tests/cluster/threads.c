/* SPDX-License-Identifier: MIT */
#include "cluster/threads.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "test.h"

typedef struct letter {
    struct letter *next;
    int from;
    size_t size;
    char bytes[];
} letter;

typedef struct office {
    int size;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    letter *boxes[TEST_RANKS][2]; /* by rank and kind, oldest first */
    const void *offered[TEST_RANKS];
    int entered, left; /* of the present collective call */
} office;

typedef struct desk {
    mgk_transport face;
    mgk_cluster cluster;
    office *office;
    void (*work)(mgk_cluster *cluster, void *context);
    void *context;
} desk;

static mgk_status post(void *state, int to, mgk_message_kind kind, const void *bytes, size_t size)
{
    desk *d = state;
    letter *written = malloc(sizeof(*written) + size);
    if (!written)
        return mgk_fail(STATUS_MEMORY, "no memory for a letter");
    *written = (letter){.from = d->face.rank, .size = size};
    memcpy(written->bytes, bytes, size);
    pthread_mutex_lock(&d->office->lock);
    letter **end = &d->office->boxes[to][kind];
    while (*end)
        end = &(*end)->next;
    *end = written;
    pthread_mutex_unlock(&d->office->lock);
    return STATUS_OK;
}

static mgk_status fetch(void *state, mgk_message_kind kind, int *from, void **bytes, size_t *size)
{
    desk *d = state;
    pthread_mutex_lock(&d->office->lock);
    letter *got = d->office->boxes[d->face.rank][kind];
    if (got)
        d->office->boxes[d->face.rank][kind] = got->next;
    pthread_mutex_unlock(&d->office->lock);
    *from = got ? got->from : -1;
    *bytes = NULL;
    *size = got ? got->size : 0;
    if (!got)
        return STATUS_OK;
    mgk_status status = mgk_alloc(got->size, 1, bytes);
    if (status == STATUS_OK)
        memcpy(*bytes, got->bytes, got->size);
    free(got);
    return status;
}

/* Waits until all have offered their bytes, then copies, then waits until all have copied. */
static void meet(desk *d, const void *offered, void (*copy)(desk *d, void *to, size_t size),
                 void *to, size_t size)
{
    office *o = d->office;
    pthread_mutex_lock(&o->lock);
    while (o->left > 0) /* the call before is not over */
        pthread_cond_wait(&o->changed, &o->lock);
    o->offered[d->face.rank] = offered;
    o->entered++;
    pthread_cond_broadcast(&o->changed);
    while (o->entered < o->size)
        pthread_cond_wait(&o->changed, &o->lock);
    copy(d, to, size);
    if (++o->left == o->size)
        o->entered = o->left = 0;
    pthread_cond_broadcast(&o->changed);
    while (o->left > 0)
        pthread_cond_wait(&o->changed, &o->lock);
    pthread_mutex_unlock(&o->lock);
}

static void copy_all(desk *d, void *to, size_t size)
{
    for (int rank = 0; rank < d->office->size; rank++)
        memcpy((char *)to + (size_t)rank * size, d->office->offered[rank], size);
}

/* The part of each for this one. */
static void copy_parts(desk *d, void *to, size_t size)
{
    const size_t own = (size_t)d->face.rank * size;
    for (int rank = 0; rank < d->office->size; rank++)
        memcpy((char *)to + (size_t)rank * size, (const char *)d->office->offered[rank] + own,
               size);
}

static void copy_first(desk *d, void *to, size_t size)
{
    if (d->face.rank > 0)
        memcpy(to, d->office->offered[0], size);
}

static mgk_status gather(void *state, const void *own, size_t size, void *all)
{
    meet(state, own, copy_all, all, size);
    return STATUS_OK;
}

static mgk_status exchange(void *state, const void *parts, size_t size, void *all)
{
    meet(state, parts, copy_parts, all, size);
    return STATUS_OK;
}

static mgk_status broadcast(void *state, void *bytes, size_t size)
{
    meet(state, bytes, copy_first, bytes, size);
    return STATUS_OK;
}

static void *run(void *context)
{
    desk *d = context;
    d->work(&d->cluster, d->context);
    return NULL;
}

static void open_desk(office *o, int rank, desk *d)
{
    d->face = (mgk_transport){.rank = rank,
                              .size = o->size,
                              .local_rank = rank,
                              .local_size = o->size,
                              .state = d,
                              .send = post,
                              .receive = fetch,
                              .gather = gather,
                              .exchange = exchange,
                              .broadcast = broadcast};
    snprintf(d->face.host, sizeof(d->face.host), "host%d", rank);
    d->office = o;
    d->cluster.transport = &d->face;
    assert_ok(mgk_cluster_prepare(&d->cluster, o->size));
}

void test_run_cluster(int size, void (*work)(mgk_cluster *cluster, void *context), void *context)
{
    office o = {
        .size = size, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    desk desks[TEST_RANKS] = {0};
    pthread_t threads[TEST_RANKS];
    for (int rank = 0; rank < size; rank++) {
        open_desk(&o, rank, &desks[rank]);
        desks[rank].work = work;
        desks[rank].context = context;
    }
    for (int rank = 0; rank < size; rank++)
        assert_int_equal(pthread_create(&threads[rank], NULL, run, &desks[rank]), 0);
    for (int rank = 0; rank < size; rank++)
        pthread_join(threads[rank], NULL);
    for (int rank = 0; rank < size; rank++) {
        assert_null(o.boxes[rank][MGK_REQUEST]);
        assert_null(o.boxes[rank][MGK_REPLY]);
        mgk_cluster_release(&desks[rank].cluster);
    }
}
