/* SPDX-License-Identifier: MIT */
/*
 * Two threads of a process send: one waits because too many bytes are under way, the other sends a
 * short message when they have just gone. Whichever thread finds that they have, the waiting one
 * goes on, without a further message.
 * Usage: mpirun -n 2 mpi_senders
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/memory.h"
#include "cluster/transport.h"

/* Bytes from which on a sender waits, and messages that are not of this size. */
enum { LONG = 20 << 20, SHORT = 1, LAST = 2, ROUNDS = 10 };

static const double patience = 10; /* seconds until a sender counts as asleep for good */

typedef struct sender {
    mgk_transport *transport;
    char *bytes; /* [LONG] */
    atomic_bool gone;
} sender;

static mgk_status fail(mgk_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    return status;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

/* The size of the next message, whose *bytes are released with mgk_free. */
static size_t take(mgk_transport *t, mgk_message_kind kind, void **bytes)
{
    int from = -1;
    size_t size = 0;
    while (from < 0) {
        if (t->receive(t->state, kind, &from, bytes, &size) != STATUS_OK)
            return LAST;
        if (from < 0)
            rest();
    }
    return size;
}

/* Rank 0 answers long messages, at once, so that the other process knows that they have come. */
static void answer(mgk_transport *t)
{
    for (size_t size = 0; size != LAST;) {
        void *bytes = NULL;
        size = take(t, MGK_REQUEST, &bytes);
        if (size == LONG)
            t->send(t->state, 1, MGK_REPLY, "", SHORT);
        mgk_free(bytes);
    }
}

static void *send_long(void *context)
{
    sender *s = context;
    s->transport->send(s->transport->state, 0, MGK_REQUEST, s->bytes, LONG);
    s->gone = true;
    return NULL;
}

/* Whether the sender of a long message goes on. */
static bool goes_on(sender *s)
{
    pthread_t thread;
    void *reply = NULL;
    s->gone = false;
    if (pthread_create(&thread, NULL, send_long, s) != 0)
        return false;
    take(s->transport, MGK_REPLY, &reply);
    mgk_free(reply);
    s->transport->send(s->transport->state, 0, MGK_REQUEST, "", SHORT);
    for (const double start = seconds(); !s->gone && seconds() < start + patience;)
        rest();
    if (!s->gone)
        return false;
    pthread_join(thread, NULL);
    return true;
}

int main(void)
{
    sender s = {0};
    int round = 0;
    if (mgk_mpi_library_open(fail, &s.transport) != STATUS_OK)
        return 1;
    if (s.transport->rank == 0) {
        answer(s.transport);
    } else {
        if (mgk_alloc(LONG, 1, &s.bytes) != STATUS_OK)
            return 1;
        while (round < ROUNDS && goes_on(&s))
            round++;
        if (round < ROUNDS) {
            fprintf(stderr, "mpi_senders: a thread waits for messages that have gone\n");
            return 1; /* and mpirun ends the other process */
        }
        s.transport->send(s.transport->state, 0, MGK_REQUEST, "  ", LAST);
        mgk_free(s.bytes);
    }
    s.transport->close(s.transport);
    return 0;
}
