/* SPDX-License-Identifier: MIT */
/*
 * How the processes of a cluster talk: mpi.c, in a library of its own, libmgk_mpi. Waiting
 * processes sleep, for MPI's own waiting would take the cores from those that work. Several threads
 * may call the functions; of the collective ones, which all processes call in the same order, one
 * at a time.
 */
#ifndef MGK_CLUSTER_TRANSPORT_H
#define MGK_CLUSTER_TRANSPORT_H

#include <stddef.h>

#include "base/status.h"

/* Messages to rank 0, and from it: a process waits for one kind alone. */
typedef enum mgk_message_kind { MGK_REQUEST, MGK_REPLY } mgk_message_kind;

typedef struct mgk_transport {
    int rank, size;
    int local_rank, local_size; /* among the processes of this machine */
    char host[64];              /* name of this machine */
    void *state;

    /* Sends bytes [size] to a process; they may be reused on return. Messages of one kind between
     * two processes keep their order. */
    mgk_status (*send)(void *state, int to, mgk_message_kind kind, const void *bytes, size_t size);

    /* Takes a message that has come. *bytes [*size], released with mgk_free; *from −1: there is
     * none. By one thread at a time of each kind. STATUS_MEMORY: the message waits for the next
     * call. */
    mgk_status (*receive)(void *state, mgk_message_kind kind, int *from, void **bytes,
                          size_t *size);

    /* Collective: all [ranks, size] receives `own` [size] of each process. */
    mgk_status (*gather)(void *state, const void *own, size_t size, void *all);

    /* Collective: all [ranks, size] receives the part of each process for this one, parts [ranks,
     * size] of which are for all. */
    mgk_status (*exchange)(void *state, const void *parts, size_t size, void *all);

    /* Collective: bytes [size] of rank 0 replace those of the others. */
    mgk_status (*broadcast)(void *state, void *bytes, size_t size);

    /* Collective: leaves the cluster and releases the transport. */
    void (*close)(struct mgk_transport *transport);
} mgk_transport;

typedef mgk_status mgk_cluster_fail(mgk_status status, const char *format, ...);

/*
 * The entry of libmgk_mpi: joins the processes that were started with this one. `fail` is the
 * program's mgk_fail, so that the program finds the messages. STATUS_DEVICE: MPI cannot be used
 * here.
 */
typedef mgk_status mgk_transport_entry(mgk_cluster_fail *fail, mgk_transport **out);
mgk_transport_entry mgk_mpi_library_open;

#endif
