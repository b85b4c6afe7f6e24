/* SPDX-License-Identifier: MIT */
#include "cluster/cluster.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cluster/launcher.h"
#include "cluster/processors.h"

/* What each process says of itself. */
typedef struct mgk_verdict {
    int32_t status;
    char host[64], message[1024];
} mgk_verdict;

mgk_status mgk_cluster_prepare(mgk_cluster *cluster, int size)
{
    TRY(mgk_alloc((size_t)size, sizeof(*cluster->verdicts), &cluster->verdicts));
    return mgk_alloc((size_t)size, sizeof(*cluster->flags), &cluster->flags);
}

void mgk_cluster_release(mgk_cluster *cluster)
{
    mgk_free(cluster->verdicts);
    mgk_free(cluster->flags);
}

mgk_status mgk_cluster_join(mgk_cluster **out)
{
    int rank, size;
    mgk_cluster *cluster;
    mgk_status status;
    *out = NULL;
    if (!mgk_launched(&rank, &size))
        return STATUS_OK;
    TRY(mgk_alloc(1, sizeof(*cluster), &cluster));
    CHECK(mgk_cluster_prepare(cluster, size));
    CHECK(mgk_launched_join(&cluster->transport));
    CHECK(mgk_cluster_agree(cluster, mgk_processors_share(cluster)));
    *out = cluster;
    return STATUS_OK;
out:
    if (cluster->transport)
        cluster->transport->close(cluster->transport);
    mgk_cluster_release(cluster);
    mgk_free(cluster);
    return status;
}

void mgk_cluster_leave(mgk_cluster *cluster)
{
    if (!cluster)
        return;
    cluster->transport->close(cluster->transport);
    mgk_cluster_release(cluster);
    mgk_free(cluster);
}

static bool is_same(const mgk_verdict *a, const mgk_verdict *b)
{
    return a->status == b->status && strcmp(a->message, b->message) == 0;
}

/* The process whose failure is reported: the first one that has failed by itself, before those that
 * were asked to stop; −1: none has failed. */
static int find_failure(const mgk_verdict *all, int size)
{
    int found = -1;
    for (int rank = 0; rank < size; rank++) {
        if (all[rank].status == STATUS_OK)
            continue;
        if (all[rank].status != STATUS_INTERRUPTED)
            return rank;
        found = found < 0 ? rank : found;
    }
    return found;
}

static mgk_status report(const mgk_verdict *all, int size, int rank)
{
    const mgk_verdict *failure = &all[rank];
    const mgk_status status = (mgk_status)failure->status;
    int same = 0;
    for (int i = 0; i < size; i++)
        same += is_same(&all[i], failure);
    if (same == size || status == STATUS_INTERRUPTED)
        return mgk_fail(status, "%s", failure->message);
    return mgk_fail(status, "rank %d (%s): %s", rank, failure->host, failure->message);
}

mgk_status mgk_cluster_agree(const mgk_cluster *cluster, mgk_status own)
{
    mgk_verdict mine = {.status = (int32_t)own};
    if (!cluster)
        return own;
    const mgk_transport *transport = cluster->transport;
    const int size = transport->size;
    snprintf(mine.host, sizeof(mine.host), "%s", transport->host);
    if (own != STATUS_OK)
        snprintf(mine.message, sizeof(mine.message), "%s", mgk_fail_message());
    TRY(transport->gather(transport->state, &mine, sizeof(mine), cluster->verdicts));
    const int failed = find_failure(cluster->verdicts, size);
    return failed < 0 ? STATUS_OK : report(cluster->verdicts, size, failed);
}

mgk_status mgk_cluster_or(const mgk_cluster *cluster, unsigned own, unsigned *any)
{
    *any = own;
    if (!cluster)
        return STATUS_OK;
    TRY(mgk_cluster_gather(cluster, &own, sizeof(own), cluster->flags));
    for (int rank = 0; rank < cluster->transport->size; rank++)
        *any |= cluster->flags[rank];
    return STATUS_OK;
}

mgk_status mgk_cluster_gather(const mgk_cluster *cluster, const void *own, size_t size, void *all)
{
    if (cluster)
        return cluster->transport->gather(cluster->transport->state, own, size, all);
    memcpy(all, own, size);
    return STATUS_OK;
}

mgk_status mgk_cluster_broadcast(const mgk_cluster *cluster, void *bytes, size_t size)
{
    return cluster ? cluster->transport->broadcast(cluster->transport->state, bytes, size)
                   : STATUS_OK;
}

mgk_status mgk_cluster_compare(const mgk_cluster *cluster, const char *other, uint64_t hash)
{
    uint64_t expected = hash;
    TRY(mgk_cluster_broadcast(cluster, &expected, sizeof(expected)));
    if (hash == expected)
        return mgk_cluster_agree(cluster, STATUS_OK);
    return mgk_cluster_agree(
        cluster, mgk_fail(STATUS_USAGE, "reads %s than rank 0 under the same name", other));
}

static void take_maximum(double *values, const double *others, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(others[i]) || others[i] > values[i])
            values[i] = others[i];
}

mgk_status mgk_cluster_maximum(const mgk_cluster *cluster, double *values, size_t count)
{
    enum { PIECE = 1 << 14 };
    const size_t size = (size_t)mgk_cluster_size_of(cluster), most = count < PIECE ? count : PIECE;
    double *all = NULL;
    mgk_status status;
    if (!cluster)
        return STATUS_OK;
    CHECK(mgk_cluster_agree(cluster, mgk_alloc(size * most, sizeof(*all), &all)));
    const mgk_transport *transport = cluster->transport;
    for (size_t begun = 0, piece; begun < count; begun += piece) {
        piece = count - begun < most ? count - begun : most;
        CHECK(transport->gather(transport->state, values + begun, piece * sizeof(*all), all));
        for (size_t rank = 0; rank < size; rank++)
            take_maximum(values + begun, all + rank * piece, piece);
    }
out:
    mgk_free(all);
    return status;
}
