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
    incoming incoming[2]; /* of each kind, which one thread receives at a time */
    mgk_cluster_fail *fail;
} mpi_state;

/* ---- calls that are started, and waited for ---------------------------------------------------
 */

/* What a call sends and receives. Messages and collective calls do not meet in one communicator,
 * and the process has no other user of this one; to copy it would take up to 0.1 s at the start. */
typedef struct transfer {
    const void *own;
    void *all;
    int size;    /* bytes, of each process in collective calls */
    int to, tag; /* of messages */
    MPI_Message *message;
} transfer;

typedef void starter(const transfer *t, MPI_Request *request);

static void start_send(const transfer *t, MPI_Request *request)
{
    MPI_Isend(t->own, t->size, MPI_BYTE, t->to, t->tag, MPI_COMM_WORLD, request);
}

static void start_receive(const transfer *t, MPI_Request *request)
{
    MPI_Imrecv(t->all, t->size, MPI_BYTE, t->message, request);
}

static void start_gather(const transfer *t, MPI_Request *request)
{
    MPI_Iallgather(t->own, t->size, MPI_BYTE, t->all, t->size, MPI_BYTE, MPI_COMM_WORLD, request);
}

static void start_exchange(const transfer *t, MPI_Request *request)
{
    MPI_Ialltoall(t->own, t->size, MPI_BYTE, t->all, t->size, MPI_BYTE, MPI_COMM_WORLD, request);
}

static void start_broadcast(const transfer *t, MPI_Request *request)
{
    MPI_Ibcast(t->all, t->size, MPI_BYTE, 0, MPI_COMM_WORLD, request);
}

static void start_barrier(const transfer *t, MPI_Request *request)
{
    (void)t;
    MPI_Ibarrier(MPI_COMM_WORLD, request);
}

/* Sleeps longer the longer it is called in turn: 20 µs at first, at most 1 ms. */
static void wait_a_little(long *pause)
{
    *pause = *pause == 0 ? 20000 : *pause * 2 < 1000000 ? *pause * 2 : 1000000;
    nanosleep(&(struct timespec){.tv_nsec = *pause}, NULL);
}

/* Starts a call and sleeps until it is done; other threads call MPI meanwhile. */
static void run(mpi_state *s, starter *start, const transfer *t)
{
    MPI_Request request;
    int done;
    pthread_mutex_lock(&s->lock);
    start(t, &request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&s->lock);
    for (long pause = 0; !done;) {
        wait_a_little(&pause);
        pthread_mutex_lock(&s->lock);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(&s->lock);
    }
}

/* The same, of so many bytes. */
static mgk_status run_sized(mpi_state *s, starter *start, size_t size, transfer t)
{
    if (size > PIECE)
        return s->fail(STATUS_UNSUPPORTED, "%zu bytes at once: MPI is given at most %d", size,
                       PIECE);
    t.size = (int)size;
    run(s, start, &t);
    return STATUS_OK;
}

/* ---- the transport ----------------------------------------------------------------------------
 */

static mgk_status send_message(void *state, int to, mgk_message_kind kind, const void *bytes,
                               size_t size)
{
    return run_sized(state, start_send, size, (transfer){.own = bytes, .to = to, .tag = (int)kind});
}

/* Finds a message, or the one that there was no memory for; false: there is none. */
static bool find_message(mpi_state *s, mgk_message_kind kind, incoming *message)
{
    int there = message->there;
    pthread_mutex_lock(&s->lock);
    if (!there)
        MPI_Improbe(MPI_ANY_SOURCE, (int)kind, MPI_COMM_WORLD, &there, &message->handle,
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
    *from = -1;
    *bytes = NULL;
    *size = 0;
    if (!find_message(s, kind, message))
        return STATUS_OK;
    if (mgk_alloc((size_t)message->length, 1, bytes) != STATUS_OK)
        return s->fail(STATUS_MEMORY, "no memory for a message of %d bytes", message->length);
    run(s, start_receive,
        &(transfer){.all = *bytes, .size = message->length, .message = &message->handle});
    message->there = false;
    *from = message->info.MPI_SOURCE;
    *size = (size_t)message->length;
    return STATUS_OK;
}

static mgk_status gather(void *state, const void *own, size_t size, void *all)
{
    return run_sized(state, start_gather, size, (transfer){.own = own, .all = all});
}

static mgk_status exchange(void *state, const void *parts, size_t size, void *all)
{
    return run_sized(state, start_exchange, size, (transfer){.own = parts, .all = all});
}

static mgk_status broadcast(void *state, void *bytes, size_t size)
{
    for (size_t begun = 0, piece; begun < size; begun += piece) {
        piece = size - begun < PIECE ? size - begun : PIECE;
        TRY(run_sized(state, start_broadcast, piece, (transfer){.all = (char *)bytes + begun}));
    }
    return STATUS_OK;
}

static void close_mpi(mgk_transport *transport)
{
    mpi_state *s = transport->state;
    run(s, start_barrier, &(transfer){0});
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
    find_neighbours(&s->face);
    *out = &s->face;
    return STATUS_OK;
}
