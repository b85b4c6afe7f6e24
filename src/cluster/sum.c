/* SPDX-License-Identifier: MIT */
#include "cluster/sum.h"

#include <string.h>

#include "base/memory.h"

/* Bytes that are summed at a time, in all parts; long arrays go in pieces. */
enum { PIECE = 1 << 24 };

struct mgk_summation {
    const mgk_cluster *cluster;
    size_t part;    /* bytes of a part at most, a multiple of 8 */
    void *parts;    /* [ranks, part] of this process; then the sums of all */
    void *received; /* [ranks, part] of all for this process; then their sum */
};

mgk_status mgk_summation_create(const mgk_cluster *cluster, mgk_summation **out)
{
    mgk_status status;
    mgk_summation *s = NULL;
    const size_t ranks = (size_t)mgk_cluster_size_of(cluster);
    *out = NULL;
    CHECK(mgk_alloc(1, sizeof(*s), &s));
    s->cluster = cluster;
    s->part = (PIECE / ranks / sizeof(double) + 1) * sizeof(double);
    CHECK(mgk_alloc(ranks, s->part, &s->parts));
    CHECK(mgk_alloc(ranks, s->part, &s->received));
    *out = s;
    s = NULL;
out:
    mgk_summation_free(s);
    return status;
}

void mgk_summation_free(mgk_summation *summation)
{
    if (!summation)
        return;
    mgk_free(summation->parts);
    mgk_free(summation->received);
    mgk_free(summation);
}

/* The sum of parts [ranks, count] replaces the first of them. */
static void add_single(size_t ranks, size_t count, float *parts)
{
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t rank = 0; rank < ranks; rank++)
            sum += (double)parts[rank * count + i];
        parts[i] = (float)sum;
    }
}

static void add_double(size_t ranks, size_t count, double *parts)
{
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t rank = 0; rank < ranks; rank++)
            sum += parts[rank * count + i];
        parts[i] = sum;
    }
}

/* Sums up to ranks · part bytes. */
static mgk_status sum_piece(mgk_summation *s, size_t element, size_t count, void *values)
{
    const mgk_transport *transport = s->cluster->transport;
    const size_t ranks = (size_t)transport->size, each = (count + ranks - 1) / ranks;
    memcpy(s->parts, values, count * element);
    memset((char *)s->parts + count * element, 0, (ranks * each - count) * element);
    TRY(transport->exchange(transport->state, s->parts, each * element, s->received));
    if (element == sizeof(float))
        add_single(ranks, each, s->received);
    else
        add_double(ranks, each, s->received);
    TRY(transport->gather(transport->state, s->received, each * element, s->parts));
    memcpy(values, s->parts, count * element);
    return STATUS_OK;
}

mgk_status mgk_summation_run(mgk_summation *s, size_t element, size_t count, void *values)
{
    if (!s->cluster)
        return STATUS_OK;
    const size_t most = s->part / element * (size_t)s->cluster->transport->size;
    for (size_t begun = 0, piece; begun < count; begun += piece) {
        piece = count - begun < most ? count - begun : most;
        TRY(sum_piece(s, element, piece, (char *)values + begun * element));
    }
    return STATUS_OK;
}
