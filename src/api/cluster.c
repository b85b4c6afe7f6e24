/* SPDX-License-Identifier: MIT */
#include "cluster/cluster.h"

#include "api/api.h"
#include "cluster/launcher.h"
#include "run/arguments.h"

mgk_result mgk_cluster_started(int *rank, int *size)
{
    mgk_status status = mgk_check_place("place for the rank", rank);
    if (status == STATUS_OK)
        status = mgk_check_place("place for the size", size);
    if (status == STATUS_OK)
        mgk_launched(rank, size);
    return mgk_api_result(status);
}

mgk_result mgk_cluster_open(mgk_cluster **out)
{
    mgk_status status = mgk_check_place("place for the cluster", out);
    return mgk_api_result(status == STATUS_OK ? mgk_cluster_join(out) : status);
}

/* The first that processes do together in any job is to agree. */
mgk_result mgk_cluster_refuse(mgk_cluster *cluster, const char *why)
{
    mgk_status status = mgk_check_place("reason", why);
    if (status == STATUS_OK)
        status = mgk_fail(STATUS_UNSUPPORTED, "%s", why);
    return mgk_api_result(mgk_cluster_agree(cluster, status));
}

void mgk_cluster_close(mgk_cluster *cluster)
{
    mgk_cluster_leave(cluster);
}
