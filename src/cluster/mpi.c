/* SPDX-License-Identifier: MIT */
/*
 * The transport over MPI. MPI is asked for one call at a time (MPI_THREAD_SERIALIZED, which every
 * MPI has), so that a lock surrounds each call, and no call waits.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "cluster/transport.h"

/* The most bytes of one collective call or message; longer arrays go in pieces. */
enum { PIECE = 1 << 28 };

/* A message that has been found and not received. */
typedef struct incoming {
    bool there;
    MPI_Message handle;
    MPI_Status info;
    int length;
} incoming;

typedef struct mpi_state {
    mgk_transport face;
    pthread_mutex_t lock;
    /* Messages and collective calls do not meet. */
    MPI_Comm messages, collective;
    incoming incoming[2]; /* of each kind, which one thread receives at a time */
    mgk_cluster_fail *fail;
} mpi_state;

/* Sleeps longer the longer it is called in turn: 20 µs at first, at most 1 ms. */
static void wait_a_little(long *pause)
{
    *pause = *pause == 0 ? 20000 : *pause * 2 < 1000000 ? *pause * 2 : 1000000;
    nanosleep(&(struct timespec){.tv_nsec = *pause}, NULL);
}

/* Waits for a request that has been started. */
static void finish(mpi_state *s, MPI_Request *request)
{
    int done = 0;
    for (long pause = 0;;) {
        pthread_mutex_lock(&s->lock);
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(&s->lock);
        if (done)
            return;
        wait_a_little(&pause);
    }
}

static mgk_status send_message(void *state, int to, mgk_message_kind kind, const void *bytes,
                               size_t size)
{
    mpi_state *s = state;
    MPI_Request request;
    if (size > PIECE)
        return s->fail(STATUS_UNSUPPORTED, "a message of %zu bytes: at most %d can be sent", size,
                       PIECE);
    pthread_mutex_lock(&s->lock);
    MPI_Isend(bytes, (int)size, MPI_BYTE, to, (int)kind, s->messages, &request);
    pthread_mutex_unlock(&s->lock);
    finish(s, &request);
    return STATUS_OK;
}

/* Finds a message, or the one that there was no memory for; false: there is none. */
static bool find_message(mpi_state *s, mgk_message_kind kind, incoming *message)
{
    int there = message->there;
    pthread_mutex_lock(&s->lock);
    if (!there)
        MPI_Improbe(MPI_ANY_SOURCE, (int)kind, s->messages, &there, &message->handle,
                    &message->info);
    if (there)
        MPI_Get_count(&message->info, MPI_BYTE, &message->length);
    pthread_mutex_unlock(&s->lock);
    return message->there = there;
}

static mgk_status receive_message(void *state, mgk_message_kind kind, int *from, void **bytes,
                                  size_t *size)
{
    mpi_state *s = state;
    incoming *message = &s->incoming[kind];
    MPI_Request request;
    *from = -1;
    *bytes = NULL;
    *size = 0;
    if (!find_message(s, kind, message))
        return STATUS_OK;
    if (mgk_alloc((size_t)message->length, 1, bytes) != STATUS_OK)
        return s->fail(STATUS_MEMORY, "no memory for a message of %d bytes", message->length);
    pthread_mutex_lock(&s->lock);
    MPI_Imrecv(*bytes, message->length, MPI_BYTE, &message->handle, &request);
    pthread_mutex_unlock(&s->lock);
    finish(s, &request);
    message->there = false;
    *from = message->info.MPI_SOURCE;
    *size = (size_t)message->length;
    return STATUS_OK;
}

static mgk_status gather(void *state, const void *own, size_t size, void *all)
{
    mpi_state *s = state;
    MPI_Request request;
    if (size > PIECE)
        return s->fail(STATUS_UNSUPPORTED, "%zu bytes of each rank: at most %d can be gathered",
                       size, PIECE);
    pthread_mutex_lock(&s->lock);
    MPI_Iallgather(own, (int)size, MPI_BYTE, all, (int)size, MPI_BYTE, s->collective, &request);
    pthread_mutex_unlock(&s->lock);
    finish(s, &request);
    return STATUS_OK;
}

static mgk_status exchange(void *state, const void *parts, size_t size, void *all)
{
    mpi_state *s = state;
    MPI_Request request;
    if (size > PIECE)
        return s->fail(STATUS_UNSUPPORTED, "%zu bytes for each rank: at most %d can be exchanged",
                       size, PIECE);
    pthread_mutex_lock(&s->lock);
    MPI_Ialltoall(parts, (int)size, MPI_BYTE, all, (int)size, MPI_BYTE, s->collective, &request);
    pthread_mutex_unlock(&s->lock);
    finish(s, &request);
    return STATUS_OK;
}

static mgk_status broadcast(void *state, void *bytes, size_t size)
{
    mpi_state *s = state;
    for (size_t begun = 0, piece; begun < size; begun += piece) {
        MPI_Request request;
        piece = size - begun < PIECE ? size - begun : PIECE;
        pthread_mutex_lock(&s->lock);
        MPI_Ibcast((char *)bytes + begun, (int)piece, MPI_BYTE, 0, s->collective, &request);
        pthread_mutex_unlock(&s->lock);
        finish(s, &request);
    }
    return STATUS_OK;
}

static void close_mpi(mgk_transport *transport)
{
    mpi_state *s = transport->state;
    MPI_Request request;
    pthread_mutex_lock(&s->lock);
    MPI_Ibarrier(s->collective, &request);
    pthread_mutex_unlock(&s->lock);
    finish(s, &request);
    MPI_Comm_free(&s->messages);
    MPI_Comm_free(&s->collective);
    MPI_Finalize();
    pthread_mutex_destroy(&s->lock);
    mgk_free(s);
}

/* The processes of this machine, and the place of this one among them. */
static void find_neighbours(mgk_transport *face)
{
    MPI_Comm local;
    char name[MPI_MAX_PROCESSOR_NAME];
    int length;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    MPI_Comm_rank(local, &face->local_rank);
    MPI_Comm_size(local, &face->local_size);
    MPI_Comm_free(&local);
    MPI_Get_processor_name(name, &length);
    length = length < (int)sizeof(face->host) ? length : (int)sizeof(face->host) - 1;
    memcpy(face->host, name, (size_t)length);
    face->host[length] = '\0';
}

__attribute__((visibility("default"))) mgk_status mgk_mpi_library_open(mgk_cluster_fail *fail,
                                                                       mgk_transport **out)
{
    int begun, provided;
    mpi_state *s;
    *out = NULL;
    MPI_Initialized(&begun);
    if (begun)
        return fail(STATUS_DEVICE, "MPI has been started by this process already");
    if (mgk_alloc(1, sizeof(*s), &s) != STATUS_OK)
        return fail(STATUS_MEMORY, "no memory for MPI");
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    if (provided < MPI_THREAD_SERIALIZED) {
        MPI_Finalize();
        mgk_free(s);
        return fail(STATUS_DEVICE, "this MPI cannot be called by several threads");
    }
    pthread_mutex_init(&s->lock, NULL);
    s->fail = fail;
    s->face = (mgk_transport){.state = s,
                              .send = send_message,
                              .receive = receive_message,
                              .gather = gather,
                              .exchange = exchange,
                              .broadcast = broadcast,
                              .close = close_mpi};
    MPI_Comm_rank(MPI_COMM_WORLD, &s->face.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s->face.size);
    MPI_Comm_dup(MPI_COMM_WORLD, &s->messages);
    MPI_Comm_dup(MPI_COMM_WORLD, &s->collective);
    find_neighbours(&s->face);
    *out = &s->face;
    return STATUS_OK;
}
