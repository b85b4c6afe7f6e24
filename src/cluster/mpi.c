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

/* The most bytes of one collective call or message; longer arrays go in pieces. The bytes of
 * messages under way from which on a sender waits. Nanoseconds between looks whether they have
 * gone. */
enum { PIECE = 1 << 28, UNDER_WAY = 1 << 24, BETWEEN_LOOKS = 1000000 };

/* A message that has been found and not received. */
typedef struct incoming {
    bool there;
    MPI_Message handle;
    MPI_Status info;
    int length;
} incoming;

/* A message on its way. */
typedef struct outgoing {
    struct outgoing *next;
    MPI_Request request;
    size_t size;
    char bytes[];
} outgoing;

typedef struct mpi_state {
    mgk_transport face;
    pthread_mutex_t lock;
    outgoing *oldest, **newest; /* messages on their way; *newest: the end of the list */
    size_t under_way;           /* their bytes */
    pthread_cond_t changed;     /* the list, or `closing` */
    pthread_t mover;            /* waits for them in place of the senders */
    bool closing;
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

static mgk_status check_size(const mpi_state *s, size_t size)
{
    return size <= PIECE ? STATUS_OK
                         : s->fail(STATUS_UNSUPPORTED, "%zu bytes at once: MPI is given at most %d",
                                   size, PIECE);
}

/* The same, of so many bytes. */
static mgk_status run_sized(mpi_state *s, starter *start, size_t size, transfer t)
{
    TRY(check_size(s, size));
    t.size = (int)size;
    run(s, start, &t);
    return STATUS_OK;
}

/* ---- the transport ----------------------------------------------------------------------------
 */

/* Releases the messages that have gone; false: none has. The caller holds the lock. */
static bool release_gone(mpi_state *s)
{
    bool any = false;
    while (s->oldest) {
        outgoing *first = s->oldest;
        int gone;
        MPI_Test(&first->request, &gone, MPI_STATUS_IGNORE);
        if (!gone)
            return any;
        s->under_way -= first->size;
        s->oldest = first->next;
        mgk_free(first);
        any = true;
    }
    s->newest = &s->oldest;
    return any;
}

/* MPI moves a message while it is asked about it: by this thread, for the others compute. It asks
 * once in a while alone, because that interrupts one of them. Short messages have mostly gone when
 * the next one is sent. */
static void *move_messages(void *state)
{
    mpi_state *s = state;
    pthread_mutex_lock(&s->lock);
    while (s->oldest || !s->closing) {
        if (!s->oldest) {
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        pthread_mutex_unlock(&s->lock);
        nanosleep(&(struct timespec){.tv_nsec = BETWEEN_LOOKS}, NULL);
        pthread_mutex_lock(&s->lock);
        if (release_gone(s))
            pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Sends a message without waiting until the receiver asks for it, which may be a millisecond later:
 * the sender waits only if too many are on their way. */
static mgk_status send_message(void *state, int to, mgk_message_kind kind, const void *bytes,
                               size_t size)
{
    mpi_state *s = state;
    outgoing *message;
    TRY(check_size(s, size));
    if (mgk_alloc(1, sizeof(*message) + size, &message) != STATUS_OK)
        return s->fail(STATUS_MEMORY, "no memory for a message of %zu bytes", size);
    message->size = size;
    memcpy(message->bytes, bytes, size);
    const transfer t = {.own = message->bytes, .size = (int)size, .to = to, .tag = (int)kind};
    pthread_mutex_lock(&s->lock);
    start_send(&t, &message->request);
    *s->newest = message;
    s->newest = &message->next;
    s->under_way += size;
    /* Whoever finds that messages have gone wakes the senders that wait for it. */
    if (release_gone(s) || s->oldest)
        pthread_cond_broadcast(&s->changed);
    while (s->under_way > UNDER_WAY)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    return STATUS_OK;
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
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->mover, NULL);
    run(s, start_barrier, &(transfer){0});
    MPI_Finalize();
    pthread_cond_destroy(&s->changed);
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

/* Open MPI loads the libraries of all networks that it knows; two of them then time the processor's
 * clock for 0.1 s each. Processes of one machine need none: they share memory. What the user has
 * chosen in the environment, as `mpirun --mca` does, stays. */
static void leave_out_networks(void)
{
    const char *all = getenv("OMPI_COMM_WORLD_SIZE"), *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (all && here && strcmp(all, here) == 0)
        setenv("OMPI_MCA_pml", "ob1", 0);
}

/* Whether srun has started this process without a plugin for MPI. Open MPI would end it, with a
 * page about how both are built. */
static bool lacks_plugin(void)
{
#ifdef OPEN_MPI
    return getenv("SLURM_STEP_NUM_TASKS") && !getenv("OMPI_COMM_WORLD_SIZE") &&
           !getenv("PMIX_RANK") && !getenv("PMI_RANK");
#else
    return false;
#endif
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
    if (lacks_plugin())
        return fail(STATUS_DEVICE,
                    "srun has started %s processes that Open MPI cannot join: start them by srun "
                    "with its plugin pmix, or the one for which this MPI was built",
                    getenv("SLURM_STEP_NUM_TASKS"));
    if (mgk_alloc(1, sizeof(*s), &s) != STATUS_OK)
        return fail(STATUS_MEMORY, "no memory for MPI");
    leave_out_networks();
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->newest = &s->oldest;
    const bool serial = provided >= MPI_THREAD_SERIALIZED;
    if (!serial || pthread_create(&s->mover, NULL, move_messages, s) != 0) {
        MPI_Finalize();
        mgk_free(s);
        return serial ? fail(STATUS_MEMORY, "cannot start a thread for MPI")
                      : fail(STATUS_DEVICE, "this MPI cannot be called by several threads");
    }
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
