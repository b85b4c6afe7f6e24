#include "kernels/blas_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

/*
 * A private copy must bind to itself, not to the one that the process has. Sanitizers refuse that
 * flag; there the process's own is used.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CAN_COPY = 0, BIND = RTLD_NOW | RTLD_LOCAL };
#else
enum { CAN_COPY = 1, BIND = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND };
#endif

static const char *path_of(void *handle)
{
    struct link_map *map = NULL;
    return handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
}

/* A copy of the file in memory, as a descriptor; -1 where it cannot be made. */
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
    void *resident = CAN_COPY ? dlopen(name, RTLD_NOW | RTLD_NOLOAD) : NULL;
    snprintf(out->path, sizeof(out->path), "%s", path_of(resident));
    out->openblas = resident ? open_copy(out->path) : NULL;
    if (resident)
        dlclose(resident);
    if (out->openblas)
        return STATUS_OK;
    out->openblas = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!out->openblas)
        return mgk_fail(STATUS_DEVICE, "OpenBLAS cannot be loaded: %s", dlerror());
    snprintf(out->path, sizeof(out->path), "%s", path_of(out->openblas));
    return STATUS_OK;
}

static bool is_setting(const char *entry, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/* An environment for the time of loading. */
typedef struct environment {
    struct environment *before; /* of an earlier loading */
    char kernels[64];           /* "OPENBLAS_CORETYPE=..." */
    char *entries[];
} environment;

/*
 * The process's environment with other settings. It takes the place of that one instead of changing
 * it: a thread that reads the environment meanwhile finds all of either. For the same reason it is
 * never released.
 */
static mgk_status replace_environment(const char *kernels, char ***before)
{
    static char one_thread[] = "OPENBLAS_NUM_THREADS=1";
    static environment *kept;
    environment *new;
    size_t count = 0, used = 0;
    while (environ && environ[count])
        count++;
    TRY(mgk_alloc(1, sizeof(*new) + (count + 3) * sizeof(char *), &new));
    new->entries[used++] = one_thread;
    snprintf(new->kernels, sizeof(new->kernels), "OPENBLAS_CORETYPE=%s", kernels ? kernels : "");
    if (kernels)
        new->entries[used++] = new->kernels;
    for (size_t i = 0; i < count; i++)
        if (!is_setting(environ[i], "OPENBLAS_NUM_THREADS") &&
            !(kernels && is_setting(environ[i], "OPENBLAS_CORETYPE")))
            new->entries[used++] = environ[i];
    new->before = kept;
    kept = new;
    *before = environ;
    environ = new->entries;
    return STATUS_OK;
}

mgk_status mgk_blas_library_open(const char *openblas, const char *kernels, mgk_blas_library *out)
{
    char **before;
    *out = (mgk_blas_library){0};
    TRY(replace_environment(kernels, &before));
    mgk_status status = open_openblas(openblas, out);
    environ = before;
    return status;
}

mgk_status mgk_blas_library_add_lapacke(const char *lapacke, mgk_blas_library *library)
{
    char **before;
    TRY(replace_environment(NULL, &before));
    library->lapacke = dlopen(lapacke, RTLD_NOW | RTLD_LOCAL);
    environ = before;
    return library->lapacke ? STATUS_OK
                            : mgk_fail(STATUS_DEVICE, "LAPACKE cannot be loaded: %s", dlerror());
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
    memcpy(function, &symbol, sizeof(symbol)); /* ISO C has no cast from an object to a function */
    return STATUS_OK;
}
