/* SPDX-License-Identifier: MIT */
#include "cluster/share.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/progress.h"

typedef enum message_kind {
    TAKE,    /* asks for units; the answer is a range */
    ASK,     /* asks whether a process has failed; the answer is a bool */
    DELIVER, /* bytes follow */
    END,     /* the process has ended */
    FAIL     /* the same, with a failure */
} message_kind;

typedef struct message_head {
    uint64_t kind; /* so that the bytes that follow are aligned as arrays are */
} message_head;

typedef struct range {
    uint64_t begin, end;
} range;

static const double patience = 0.1; /* seconds between questions whether a process has failed */

/* Nanoseconds after which rank 0 looks again for messages. Each look interrupts its own work. */
static const long between_looks = 1000000;

struct mgk_share {
    mgk_cluster *cluster;
    mgk_share_options options;
    double asked;         /* when this process has last asked, if it is not rank 0 */
    bool told;            /* it has heard then that a process has failed */
    pthread_mutex_t lock; /* guards the rest, of rank 0 */
    pthread_cond_t ended;
    pthread_t server;
    bool has_server;
    bool stopped;     /* a process has failed */
    size_t next;      /* the first unit that nobody has taken */
    size_t delivered; /* deliveries */
    int working;      /* processes besides rank 0 that have not ended */
    mgk_status status;
    char message[1024]; /* of the first failure to receive */
};

static const mgk_transport *transport_of(const mgk_share *share)
{
    return share->cluster->transport;
}

/* ---- what rank 0 does for all, with the lock held ---------------------------------------------
 */

static void stop_taking(mgk_share *share)
{
    share->stopped = true;
    share->next = share->options.count;
}

/*
 * A quarter of what remains for each process, so that late ranges are small: the last ones to end
 * are one unit apart at most.
 */
static range take_units(mgk_share *share)
{
    const mgk_share_options *o = &share->options;
    const size_t left = o->count - share->next,
                 even = left / (4 * (size_t)transport_of(share)->size);
    size_t some = even < o->most ? even : o->most;
    if (some == 0)
        some = left > 0 ? 1 : 0;
    const range taken = {share->next, share->next + some};
    share->next += some;
    return taken;
}

static void keep_failure(mgk_share *share, mgk_status status)
{
    if (status == STATUS_OK || share->status != STATUS_OK)
        return;
    share->status = status;
    snprintf(share->message, sizeof(share->message), "%s", mgk_fail_message());
    stop_taking(share);
}

static void receive(mgk_share *share, const void *bytes, size_t size)
{
    if (share->status == STATUS_OK)
        keep_failure(share, share->options.receive(share->options.state, bytes, size));
    share->delivered++;
}

static void end_one(mgk_share *share, bool failed)
{
    if (failed)
        stop_taking(share);
    if (--share->working == 0)
        pthread_cond_broadcast(&share->ended);
}

/* ---- the thread that serves the other processes -----------------------------------------------
 */

static mgk_status reply(const mgk_share *share, int to, const void *bytes, size_t size)
{
    const mgk_transport *t = transport_of(share);
    return t->send(t->state, to, MGK_REPLY, bytes, size);
}

static mgk_status give_units(mgk_share *share, int to)
{
    pthread_mutex_lock(&share->lock);
    const range taken = take_units(share);
    pthread_mutex_unlock(&share->lock);
    return reply(share, to, &taken, sizeof(taken));
}

static bool is_stopped(mgk_share *share)
{
    pthread_mutex_lock(&share->lock);
    const bool stopped = share->stopped;
    pthread_mutex_unlock(&share->lock);
    return stopped;
}

static mgk_status tell_stopped(mgk_share *share, int to)
{
    const bool stopped = is_stopped(share);
    return reply(share, to, &stopped, sizeof(stopped));
}

static mgk_status handle(mgk_share *share, int from, const char *bytes, size_t size)
{
    message_head head;
    memcpy(&head, bytes, sizeof(head));
    if (head.kind == TAKE)
        return give_units(share, from);
    if (head.kind == ASK)
        return tell_stopped(share, from);
    pthread_mutex_lock(&share->lock);
    if (head.kind == DELIVER)
        receive(share, bytes + sizeof(head), size - sizeof(head));
    else
        end_one(share, head.kind == FAIL);
    pthread_mutex_unlock(&share->lock);
    return STATUS_OK;
}

static bool is_working(mgk_share *share)
{
    pthread_mutex_lock(&share->lock);
    const bool working = share->working > 0;
    pthread_mutex_unlock(&share->lock);
    return working;
}

static void pause_for(long nanoseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
}

/* Without memory for a message the work fails; the message waits, so that the others end in order.
 */
static void *serve(void *context)
{
    mgk_share *share = context;
    const mgk_transport *t = transport_of(share);
    while (is_working(share)) {
        int from;
        void *bytes;
        size_t size;
        mgk_status status = t->receive(t->state, MGK_REQUEST, &from, &bytes, &size);
        if (from >= 0) {
            status = handle(share, from, bytes, size);
            mgk_free(bytes);
        } else {
            pause_for(between_looks);
        }
        pthread_mutex_lock(&share->lock);
        keep_failure(share, status);
        pthread_mutex_unlock(&share->lock);
    }
    return NULL;
}

/* ---- the functions ----------------------------------------------------------------------------
 */

static mgk_status start_server(mgk_share *share)
{
    if (!mgk_cluster_leads(share->cluster))
        return STATUS_OK;
    if (pthread_create(&share->server, NULL, serve, share) != 0)
        return mgk_fail(STATUS_MEMORY, "cannot start a thread");
    share->has_server = true;
    return STATUS_OK;
}

/* Releases a share that no process works on. */
static void release(mgk_share *share)
{
    pthread_mutex_lock(&share->lock);
    share->working = 0;
    pthread_mutex_unlock(&share->lock);
    if (share->has_server)
        pthread_join(share->server, NULL);
    pthread_cond_destroy(&share->ended);
    pthread_mutex_destroy(&share->lock);
    mgk_free(share);
}

mgk_status mgk_share_begin(mgk_cluster *cluster, const mgk_share_options *options, mgk_share **out)
{
    mgk_share *share;
    mgk_status status = mgk_alloc(1, sizeof(*share), &share);
    *out = NULL;
    if (status == STATUS_OK) {
        *share = (mgk_share){.cluster = cluster,
                             .options = *options,
                             .next = options->first,
                             .asked = mgk_seconds()};
        share->working = mgk_cluster_size_of(cluster) - 1;
        pthread_mutex_init(&share->lock, NULL);
        pthread_cond_init(&share->ended, NULL);
        status = start_server(share);
    }
    status = mgk_cluster_agree(cluster, status);
    if (status == STATUS_OK)
        *out = share;
    else if (share)
        release(share);
    return status;
}

static mgk_status send_to_leader(const mgk_share *share, const void *message, size_t size)
{
    const mgk_transport *t = transport_of(share);
    return t->send(t->state, 0, MGK_REQUEST, message, size);
}

static mgk_status tell_leader(const mgk_share *share, message_kind kind)
{
    const message_head head = {kind};
    return send_to_leader(share, &head, sizeof(head));
}

/* Waits for the answer of rank 0, `out` [size]. */
static mgk_status ask_leader(const mgk_share *share, message_kind kind, void *out, size_t size)
{
    const mgk_transport *t = transport_of(share);
    void *bytes = NULL;
    size_t received;
    int from = -1;
    TRY(tell_leader(share, kind));
    for (long pause = 10000; from < 0; pause = pause * 2 < 1000000 ? pause * 2 : 1000000) {
        TRY(t->receive(t->state, MGK_REPLY, &from, &bytes, &received));
        if (from < 0)
            pause_for(pause);
    }
    memcpy(out, bytes, size);
    mgk_free(bytes);
    return STATUS_OK;
}

mgk_status mgk_share_take(mgk_share *share, size_t *begin, size_t *end)
{
    range taken;
    if (mgk_cluster_leads(share->cluster)) {
        pthread_mutex_lock(&share->lock);
        taken = take_units(share);
        pthread_mutex_unlock(&share->lock);
    } else {
        TRY(ask_leader(share, TAKE, &taken, sizeof(taken)));
    }
    *begin = (size_t)taken.begin;
    *end = (size_t)taken.end;
    return STATUS_OK;
}

mgk_status mgk_share_stopped(mgk_share *share, bool *out)
{
    if (mgk_cluster_leads(share->cluster)) {
        *out = is_stopped(share);
        return STATUS_OK;
    }
    *out = share->told;
    if (!share->told && mgk_seconds() >= share->asked + patience) {
        TRY(ask_leader(share, ASK, &share->told, sizeof(share->told)));
        share->asked = mgk_seconds();
        *out = share->told;
    }
    return STATUS_OK;
}

mgk_status mgk_share_deliver(mgk_share *share, const void *bytes, size_t size)
{
    const message_head head = {DELIVER};
    char *message;
    if (mgk_cluster_leads(share->cluster)) {
        pthread_mutex_lock(&share->lock);
        receive(share, bytes, size);
        pthread_mutex_unlock(&share->lock);
        return STATUS_OK;
    }
    TRY(mgk_alloc(sizeof(head) + size, 1, &message));
    memcpy(message, &head, sizeof(head));
    memcpy(message + sizeof(head), bytes, size);
    mgk_status status = send_to_leader(share, message, sizeof(head) + size);
    mgk_free(message);
    return status;
}

size_t mgk_share_delivered(mgk_share *share)
{
    pthread_mutex_lock(&share->lock);
    const size_t delivered = share->delivered;
    pthread_mutex_unlock(&share->lock);
    return delivered;
}

/* Waits until the other processes have ended, and shows the progress meanwhile. */
static mgk_status wait_for_others(mgk_share *share, bool failed)
{
    pthread_mutex_lock(&share->lock);
    if (failed)
        stop_taking(share);
    while (share->working > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&share->ended, &share->lock, &until);
        pthread_mutex_unlock(&share->lock);
        if (share->options.wait)
            share->options.wait(share->options.state);
        pthread_mutex_lock(&share->lock);
    }
    pthread_mutex_unlock(&share->lock);
    return share->status == STATUS_OK ? STATUS_OK : mgk_fail(share->status, "%s", share->message);
}

mgk_status mgk_share_end(mgk_share *share, mgk_status own)
{
    mgk_cluster *cluster = share->cluster;
    char message[sizeof(share->message)];
    snprintf(message, sizeof(message), "%s", own == STATUS_OK ? "" : mgk_fail_message());
    mgk_status told = mgk_cluster_leads(cluster)
                          ? wait_for_others(share, own != STATUS_OK)
                          : tell_leader(share, own == STATUS_OK ? END : FAIL);
    if (own != STATUS_OK)
        told = mgk_fail(own, "%s", message);
    release(share);
    return mgk_cluster_agree(cluster, told);
}
