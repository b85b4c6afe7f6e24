/* SPDX-License-Identifier: MIT */
#include "memory_end.h"

#include <cjson/cJSON.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { NOTED = 1 << 16, DEPTH = 64 };

static atomic_bool ending, lasts;
static _Atomic memory_asker failing;
static atomic_int_least64_t end, asked;
static uint64_t calls[NOTED]; /* hashes of the call stacks of allocations */
static int64_t noted;

/* How often memory_next has returned each call stack: a hash table, whose free places have times 0.
 */
static struct returned {
    uint64_t calls;
    int times;
} returned[2 * NOTED];
static int64_t returns; /* different ones */

void *__real_aligned_alloc(size_t alignment, size_t size);
FILE *__real_open_memstream(char **text, size_t *size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
FILE *__wrap_open_memstream(char **text, size_t *size);

/* Of the functions in this program only those of mgk.h are exported, and have names. */
static bool is_public(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) && info.dli_sname && strncmp(info.dli_sname, "mgk_", 4) == 0;
}

static void note_calls(int64_t at)
{
    void *addresses[DEPTH];
    const int all = backtrace(addresses, DEPTH);
    int depth = all;
    while (depth > 0 && !is_public(addresses[depth - 1]))
        depth--;
    if (depth == 0) /* a thread of its own */
        depth = all;
    if (at < NOTED)
        calls[at] = mgk_hash(MGK_HASH_START, addresses, (size_t)depth * sizeof(void *));
}

static bool is_refused(memory_asker asker)
{
    if (!ending)
        return false;
    const int64_t number = asker == failing ? asked++ : -1;
    if (number >= 0 && end == MEMORY_NEVER)
        note_calls(number);
    const bool one = number == end;
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
    if (end == MEMORY_NEVER)
        noted = asked < NOTED ? asked : NOTED;
    return asked;
}

static struct returned *returned_of(uint64_t stack)
{
    size_t at = stack % (2 * NOTED);
    while (returned[at].times > 0 && returned[at].calls != stack)
        at = (at + 1) % (2 * NOTED);
    return &returned[at];
}

int64_t memory_next(int64_t at, int times)
{
    for (; at < noted; at++) {
        struct returned *stack = returned_of(calls[at]);
        if (stack->times >= times || (stack->times == 0 && returns == NOTED))
            continue;
        returns += stack->times == 0;
        *stack = (struct returned){calls[at], stack->times + 1};
        return at;
    }
    return -1;
}

void memory_forget(void)
{
    memset(returned, 0, sizeof(returned));
    returns = 0;
}
