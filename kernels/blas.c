/* SPDX-License-Identifier: MIT */
#include "kernels/blas.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include "kernels/processor.h"

mgk_blas_table mgk_blas;

static mgk_blas_library loaded;
static mgk_blas_choice chosen;

/*
 * The x86-64 level of OpenBLAS's kernel sets, by name. Sets that are not listed need level 2 or
 * less.
 */
static int level_of(const char *kernels)
{
    static const struct {
        const char *name;
        int level;
    } sets[] = {
        {"SkylakeX", 4}, {"Cooperlake", 4}, {"SapphireRapids", 4}, {"Haswell", 3}, {"Zen", 3}};
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
        if (strcasecmp(kernels, sets[i].name) == 0)
            return sets[i].level;
    return 2;
}

/* Fills *out with the library's description of itself. */
static mgk_status describe(const mgk_blas_library *library, mgk_blas_choice *out)
{
    char *(*get_config)(void), *(*get_kernels)(void);
    *out = (mgk_blas_choice){0};
    TRY(mgk_blas_library_find(library, "openblas_get_config", &get_config));
    TRY(mgk_blas_library_find(library, "openblas_get_corename", &get_kernels));
    const char *config = get_config(); /* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..." */
    size_t name = strcspn(config, " "), version = strcspn(config + name + (config[name] != 0), " ");
    snprintf(out->version, sizeof(out->version), "%.*s", (int)(name + 1 + version), config);
    snprintf(out->kernels, sizeof(out->kernels), "%s", get_kernels());
    snprintf(out->path, sizeof(out->path), "%s", library->path);
    return STATUS_OK;
}

/* No kernel's tile divides these sizes, and each exceeds one register block. */
enum { ROWS = 67, COLS = 61, INNER = 131 };

/* Numbers between -1 and 1 without a pattern. */
static double entry(int which, int row, int col)
{
    return sin(1 + 12.9898 * row + 78.233 * col + 37.719 * which);
}

/*
 * Whether found [ROWS, COLS] is the product. A sum of INNER products has an error of at most INNER
 * roundings of the sum of their magnitudes, and so has the reference.
 */
static bool is_product(const double *a, const double *b, const double *found, double roundoff)
{
    for (int i = 0; i < ROWS; i++) {
        double sum[COLS] = {0}, size[COLS] = {0};
        for (int k = 0; k < INNER; k++)
            for (int j = 0; j < COLS; j++) {
                const double term = a[i * INNER + k] * b[k * COLS + j];
                sum[j] += term;
                size[j] += fabs(term);
            }
        for (int j = 0; j < COLS; j++)
            if (!(fabs(found[i * COLS + j] - sum[j]) <= 2 * INNER * roundoff * size[j]))
                return false;
    }
    return true;
}

/*
 * Whether the process can have the memory of one more thread: OpenBLAS's BUFFER_SIZE, and the
 * stacks and heaps of the threads so far. OpenMP ends the process if a thread gets no stack.
 */
static bool has_room(int threads)
{
    const size_t megabyte = 1 << 20, buffer = 128 * megabyte, stack = 8 * megabyte,
                 heap = 64 * megabyte;
    const size_t bytes = buffer + heap + (size_t)threads * (stack + 2 * heap);
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room != MAP_FAILED && munmap(room, bytes) == 0;
}

static mgk_status fail_room(void)
{
    return mgk_fail(STATUS_MEMORY, "no memory for products: OpenBLAS takes 128 MB of addresses for "
                                   "each thread");
}

/* Multiplies in both precisions: old builds have kernel sets that are wrong on some processors. */
static mgk_status check_products(const mgk_blas_library *library, bool *right)
{
    static double a[ROWS * INNER], b[INNER * COLS], c[ROWS * COLS];
    static float single_a[ROWS * INNER], single_b[INNER * COLS], single_c[ROWS * COLS];
    __typeof__(&cblas_sgemm) sgemm;
    __typeof__(&cblas_dgemm) dgemm;
    if (!has_room(0)) /* OpenBLAS would wait for memory for ever */
        return fail_room();
    TRY(mgk_blas_library_find(library, "cblas_sgemm", &sgemm));
    TRY(mgk_blas_library_find(library, "cblas_dgemm", &dgemm));
    for (int i = 0; i < ROWS * INNER; i++)
        a[i] = single_a[i] = (float)entry(0, i / INNER, i % INNER);
    for (int i = 0; i < INNER * COLS; i++)
        b[i] = single_b[i] = (float)entry(1, i / COLS, i % COLS);
    dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, COLS, INNER, 1, a, INNER, b, COLS, 0, c,
          COLS);
    *right = is_product(a, b, c, 0x1p-53);
    sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, COLS, INNER, 1, single_a, INNER,
          single_b, COLS, 0, single_c, COLS);
    for (int i = 0; i < ROWS * COLS; i++)
        c[i] = (double)single_c[i];
    *right = *right && is_product(a, b, c, 0x1p-24);
    return STATUS_OK;
}

/*
 * Loads OpenBLAS with `kernels`, NULL for its own choice. *good: the kernels exist, have at least
 * `level` and multiply correctly; otherwise nothing stays loaded. `out` describes what was loaded.
 */
static mgk_status attempt(const char *openblas, const char *kernels, int level,
                          mgk_blas_library *library, mgk_blas_choice *out, bool *good)
{
    mgk_status status;
    *good = false;
    TRY(mgk_blas_library_open(openblas, kernels, library));
    CHECK(describe(library, out));
    if (level_of(out->kernels) >= level)
        CHECK(check_products(library, good));
out:
    if (!*good)
        mgk_blas_library_close(library);
    return status;
}

/*
 * Takes the user's choice, even of a lower level than the processor's, but not if products are
 * wrong. *good is false for names that OpenBLAS does not know.
 */
static mgk_status take_users(const char *openblas, const char *kernels, mgk_blas_library *library,
                             mgk_blas_choice *out, bool *good)
{
    TRY(attempt(openblas, kernels, 0, library, out, good));
    out->chooser = MGK_BLAS_BY_USER;
    const bool known = strcasecmp(kernels, out->kernels) == 0;
    if (*good && !known)
        mgk_blas_library_close(library);
    if (known && !*good)
        return mgk_fail(STATUS_DEVICE,
                        "OPENBLAS_CORETYPE=%s: products of %s with these kernels are wrong on this "
                        "processor",
                        kernels, out->version);
    *good = *good && known;
    return STATUS_OK;
}

/*
 * Takes the best kernel set that multiplies correctly: sets of the processor's level first, then of
 * lower levels; on each level OpenBLAS's own choice first.
 */
static mgk_status take_best(const char *openblas, int processor_level, mgk_blas_library *library,
                            mgk_blas_choice *out)
{
    static const char *const sets[] = {NULL, NULL, "Nehalem", "Haswell", "SkylakeX"};
    bool good = false;
    for (int level = processor_level; !good && level >= 0; level--) {
        TRY(attempt(openblas, NULL, level, library, out, &good));
        out->chooser = MGK_BLAS_BY_OPENBLAS;
        if (good || !sets[level])
            continue;
        TRY(attempt(openblas, sets[level], level, library, out, &good));
        out->chooser = MGK_BLAS_BY_TOOLKIT;
    }
    if (good)
        return STATUS_OK;
    return mgk_fail(STATUS_DEVICE, "no kernels of %s multiply correctly on this processor",
                    out->version);
}

static mgk_status fill_table(const mgk_blas_names *names, const char *kernels,
                             mgk_blas_library *library, mgk_blas_table *table)
{
    TRY(mgk_blas_library_add_lapacke(names->lapacke, kernels, library));
#define FIND(prefix, name) TRY(mgk_blas_library_find(library, #prefix #name, &table->name))
    MGK_BLAS_FUNCTIONS(FIND)
#undef FIND
    return STATUS_OK;
}

mgk_status mgk_blas_choose(const mgk_blas_names *names, int processor_level,
                           mgk_blas_library *library, mgk_blas_table *table, mgk_blas_choice *out)
{
    char users[sizeof(out->kernels)];
    const char *variable = getenv("OPENBLAS_CORETYPE");
    bool good = false;
    snprintf(users, sizeof(users), "%s", variable ? variable : "");
    if (*users)
        TRY(take_users(names->openblas, users, library, out, &good));
    if (!good)
        TRY(take_best(names->openblas, processor_level, library, out));
    out->below = level_of(out->kernels) < processor_level;
    mgk_status status = fill_table(names, out->kernels, library, table);
    if (status != STATUS_OK)
        mgk_blas_library_close(library);
    return status;
}

mgk_status mgk_blas_open(void)
{
    static const mgk_blas_names names = {MGK_OPENBLAS_LIBRARY, MGK_LAPACKE_LIBRARY};
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static mgk_status status = STATUS_MEMORY; /* may be temporary: the next call tries again */
    static char failure[1024];
    pthread_mutex_lock(&lock);
    if (status == STATUS_MEMORY) {
        status = mgk_blas_choose(&names, mgk_processor_level(), &loaded, &mgk_blas, &chosen);
        snprintf(failure, sizeof(failure), "%s", mgk_fail_message());
    }
    const mgk_status found = status == STATUS_OK ? STATUS_OK : mgk_fail(status, "%s", failure);
    pthread_mutex_unlock(&lock);
    return found;
}

const mgk_blas_choice *mgk_blas_chosen(void)
{
    return &chosen;
}

mgk_status mgk_blas_reserve(int threads, int *out)
{
    enum { MOST = 64 }; /* threads that OpenBLAS is built for; more are served differently */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static void *buffers[MOST];
    void *(*take)(int), (*give_back)(void *);
    int count = 0;
    *out = threads;
    /* OpenBLAS keeps the buffers it has had. Other builds may hide these two functions. */
    if (mgk_blas_library_find(&loaded, "blas_memory_alloc", &take) != STATUS_OK ||
        mgk_blas_library_find(&loaded, "blas_memory_free", &give_back) != STATUS_OK)
        return STATUS_OK;
    pthread_mutex_lock(&lock);
    while (count < threads && count < MOST && has_room(count) && (buffers[count] = take(0)))
        count++;
    for (int i = 0; i < count; i++)
        give_back(buffers[i]);
    pthread_mutex_unlock(&lock);
    *out = count < MOST ? count : threads;
    return count > 0 ? STATUS_OK : fail_room();
}
