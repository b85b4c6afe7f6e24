#include "memory_end.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_bool ending, lasts;
static _Atomic memory_asker failing;
static atomic_int_least64_t end, asked;

void *__real_aligned_alloc(size_t alignment, size_t size);
FILE *__real_open_memstream(char **text, size_t *size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
FILE *__wrap_open_memstream(char **text, size_t *size);

static bool is_refused(memory_asker asker)
{
    if (!ending)
        return false;
    const bool one = asker == failing && asked++ == end;
    if (!one && !(lasts && asked > end))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return is_refused(MEMORY_OWN) ? NULL : __real_aligned_alloc(alignment, size);
}

FILE *__wrap_open_memstream(char **text, size_t *size)
{
    return is_refused(MEMORY_OWN) ? NULL : __real_open_memstream(text, size);
}

static void *take(size_t size)
{
    return is_refused(MEMORY_JSON) ? NULL : malloc(size);
}

void memory_watch(void)
{
    cJSON_Hooks hooks = {take, free};
    cJSON_InitHooks(&hooks);
}

void memory_ends_at(memory_asker asker, int64_t at, bool lasting)
{
    failing = asker;
    asked = 0;
    end = at;
    lasts = lasting;
    ending = true;
}

int64_t memory_is_back(void)
{
    ending = false;
    return asked;
}
