/* SPDX-License-Identifier: MIT */
#include "kernels/blas_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

/*
 * A private copy must bind to its own symbols, not to those of the OpenBLAS that the process has.
 * Sanitizers refuse RTLD_DEEPBIND; there the process's OpenBLAS is used. Functions are bound when
 * they are first called, because OpenBLAS has twenty thousand that are never called: to bind all
 * takes a quarter of the time of a short run.
 */
#ifdef MGK_SANITIZED
enum { CAN_COPY = 0, BIND = RTLD_LAZY | RTLD_LOCAL };
#else
enum { CAN_COPY = 1, BIND = RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND };
#endif

static const char *path_of(void *handle)
{
    struct link_map *map = NULL;
    return handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
}

/* Copies the file to memory and returns a descriptor, -1 on failure. */
static int copy_file(const char *path)
{
    struct stat info;
    off_t done = 0;
    int from = open(path, O_RDONLY | O_CLOEXEC);
    int copy = memfd_create("openblas", MFD_CLOEXEC);
    bool copied = from >= 0 && copy >= 0 && fstat(from, &info) == 0;
    while (copied && done < info.st_size)
        copied = sendfile(copy, from, &done, (size_t)(info.st_size - done)) > 0;
    if (from >= 0)
        close(from);
    if (!copied && copy >= 0)
        close(copy);
    return copied ? copy : -1;
}

static void *open_copy(const char *path)
{
    char name[32];
    int copy = copy_file(path);
    if (copy < 0)
        return NULL;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", copy);
    void *handle = dlopen(name, BIND);
    close(copy);
    return handle;
}

static mgk_status open_openblas(const char *name, mgk_blas_library *out)
{
    void *resident = CAN_COPY ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    snprintf(out->path, sizeof(out->path), "%s", path_of(resident));
    out->openblas = resident ? open_copy(out->path) : NULL;
    if (resident)
        dlclose(resident);
    if (out->openblas)
        return STATUS_OK;
    out->openblas = dlopen(name, BIND);
    if (!out->openblas)
        return mgk_fail(STATUS_DEVICE, "OpenBLAS cannot be loaded: %s", dlerror());
    snprintf(out->path, sizeof(out->path), "%s", path_of(out->openblas));
    return STATUS_OK;
}

/* An environment variable and its value before the change. */
typedef struct setting {
    const char *name;
    char *before; /* NULL: it was not set */
} setting;

/* value NULL: unsets it. */
static void set_variable(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static mgk_status change_setting(const char *name, const char *value, setting *out)
{
    const char *before = getenv(name);
    if (before)
        TRY(mgk_copy_string(before, &out->before));
    out->name = name; /* from here on restore_setting restores it */
    set_variable(name, value);
    return STATUS_OK;
}

static void restore_setting(setting *s)
{
    if (s->name)
        set_variable(s->name, s->before);
    mgk_free(s->before);
}

/* Loads with one thread and with `kernels`, NULL for OpenBLAS's choice. */
static mgk_status load(mgk_status (*open)(const char *, mgk_blas_library *), const char *name,
                       const char *kernels, mgk_blas_library *out)
{
    setting threads = {0}, core = {0};
    mgk_status status;
    CHECK(change_setting("OPENBLAS_NUM_THREADS", "1", &threads));
    CHECK(change_setting("OPENBLAS_CORETYPE", kernels, &core));
    status = open(name, out);
out:
    restore_setting(&core);
    restore_setting(&threads);
    return status;
}

mgk_status mgk_blas_library_open(const char *openblas, const char *kernels, mgk_blas_library *out)
{
    *out = (mgk_blas_library){0};
    return load(open_openblas, openblas, kernels, out);
}

static mgk_status open_lapacke(const char *name, mgk_blas_library *out)
{
    out->lapacke = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    return out->lapacke ? STATUS_OK
                        : mgk_fail(STATUS_DEVICE, "LAPACKE cannot be loaded: %s", dlerror());
}

mgk_status mgk_blas_library_add_lapacke(const char *lapacke, const char *kernels,
                                        mgk_blas_library *library)
{
    return load(open_lapacke, lapacke, kernels, library);
}

void mgk_blas_library_close(mgk_blas_library *library)
{
    if (library->lapacke)
        dlclose(library->lapacke);
    if (library->openblas)
        dlclose(library->openblas);
    *library = (mgk_blas_library){0};
}

mgk_status mgk_blas_library_find(const mgk_blas_library *library, const char *name, void *function)
{
    void *symbol = dlsym(library->openblas, name);
    if (!symbol && library->lapacke)
        symbol = dlsym(library->lapacke, name);
    if (!symbol)
        return mgk_fail(STATUS_DEVICE, "%s has no %s", library->path, name);
    memcpy(function, &symbol,
           sizeof(symbol)); /* ISO C cannot cast an object to a function pointer */
    return STATUS_OK;
}
