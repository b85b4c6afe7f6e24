/* SPDX-License-Identifier: MIT */
#include "cluster/launcher.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Of Open MPI's mpirun, of MPICH's and Intel's, and of srun; an mpirun within a job of Slurm sets
 * its own besides those of Slurm, which count other things. */
static const struct {
    const char *size, *rank;
} launchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                 {"PMI_SIZE", "PMI_RANK"},
                 {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};

/* A number from 0 on of the environment; −1: there is none. */
static int read_number(const char *name)
{
    const char *text = getenv(name);
    char *end;
    if (!text || *text < '0' || *text > '9')
        return -1;
    const long value = strtol(text, &end, 10);
    return *end == '\0' && value < INT_MAX ? (int)value : -1;
}

bool mgk_launched(int *rank, int *size)
{
    const char *wish = getenv("MGK_CLUSTER");
    *rank = 0;
    *size = 1;
    if (wish && strcmp(wish, "off") == 0)
        return false;
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        const int all = read_number(launchers[i].size), own = read_number(launchers[i].rank);
        if (all < 1 || own < 0 || own >= all)
            continue;
        *rank = own;
        *size = all;
        return all > 1;
    }
    return false;
}

static mgk_status find_entry(int size, mgk_transport_entry **entry)
{
    void *library = dlopen("libmgk_mpi.so." MGK_VERSION, RTLD_NOW | RTLD_GLOBAL);
    void *symbol = library ? dlsym(library, "mgk_mpi_library_open") : NULL;
    if (!symbol)
        return mgk_fail(STATUS_DEVICE,
                        "started as %d processes, which only a build with MPI can share work among "
                        "(cmake -DMGK_MPI=ON): %s",
                        size, dlerror());
    memcpy(entry, &symbol, sizeof symbol); /* ISO C cannot cast an object to a function pointer */
    return STATUS_OK;
}

mgk_status mgk_launched_join(mgk_transport **out)
{
    int rank, size;
    mgk_transport_entry *entry = NULL;
    *out = NULL;
    mgk_launched(&rank, &size);
    if (getenv("MGK_CLUSTER"))
        return mgk_fail(STATUS_USAGE, "MGK_CLUSTER=%s in the environment: expected off",
                        getenv("MGK_CLUSTER"));
    TRY(find_entry(size, &entry));
    TRY(entry(mgk_fail, out));
    const int joined = (*out)->size;
    if (joined == size)
        return STATUS_OK;
    (*out)->close(*out);
    *out = NULL;
    return mgk_fail(
        STATUS_DEVICE,
        "started as %d processes, of which MPI has joined %d: start them by the mpirun of "
        "the same MPI, or by srun with its pmix",
        size, joined);
}
