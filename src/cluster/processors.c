/* SPDX-License-Identifier: MIT */
#include "cluster/processors.h"

#include <omp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/cores.h"
#include "base/memory.h"

/* The processors that a process may use. */
typedef struct usable {
    char host[sizeof(((mgk_transport *)0)->host)];
    cpu_set_t set;
} usable;

/* The processes of this machine that may use a processor. */
static int count_users(const usable *all, int size, const char *host, size_t processor)
{
    int users = 0;
    for (int rank = 0; rank < size; rank++)
        users += strcmp(all[rank].host, host) == 0 && CPU_ISSET(processor, &all[rank].set);
    return users;
}

static double count_own(const usable *all, int size, const usable *own)
{
    double processors = 0;
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &own->set))
            processors += 1.0 / count_users(all, size, own->host, i);
    return processors;
}

mgk_status mgk_processors_share(const mgk_cluster *cluster)
{
    const mgk_transport *transport = cluster->transport;
    usable own = {.host = ""}, *all;
    memcpy(own.host, transport->host, sizeof(own.host));
    if (sched_getaffinity(0, sizeof(own.set), &own.set) != 0)
        CPU_ZERO(&own.set);
    TRY(mgk_cluster_agree(cluster, mgk_alloc((size_t)transport->size, sizeof(*all), &all)));
    mgk_status status = transport->gather(transport->state, &own, sizeof(own), all);
    const double share = status == STATUS_OK ? count_own(all, transport->size, &own) : 0;
    const int allowed = mgk_default_threads();
    if (share > 0 && share < allowed && !getenv("OMP_NUM_THREADS"))
        omp_set_num_threads(share < 1.5 ? 1 : (int)(share + 0.5));
    mgk_free(all);
    return status;
}
