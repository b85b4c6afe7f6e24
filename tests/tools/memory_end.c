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

/* The call stack of an allocation, as hashes of its calls: each of a place of the code and the
 * place that called it. */
typedef struct stack {
    int depth;
    uint64_t calls[DEPTH];
} stack;

static stack stacks[NOTED];
static int64_t noted;

/* How many stacks with a call memory_next has returned: a hash table, whose free places have times
 * 0. */
static struct returned {
    uint64_t call;
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
    if (at >= NOTED)
        return;
    stacks[at].depth = depth;
    for (int i = 0; i < depth; i++) {
        const int caller = i + 1 < depth ? i + 1 : i;
        const void *const call[] = {addresses[i], addresses[caller]};
        stacks[at].calls[i] = mgk_hash(MGK_HASH_START, call, sizeof(call));
    }
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

static struct returned *returned_of(uint64_t call)
{
    size_t at = call % (2 * NOTED);
    while (returned[at].times > 0 && returned[at].call != call)
        at = (at + 1) % (2 * NOTED);
    return &returned[at];
}

static bool has_rare_call(const stack *s, int times)
{
    for (int i = 0; i < s->depth; i++)
        if (returned_of(s->calls[i])->times < times)
            return true;
    return false;
}

/* Whether call i is also a deeper one. */
static bool is_recursive(const stack *s, int i)
{
    for (int k = 0; k < i; k++)
        if (s->calls[k] == s->calls[i])
            return true;
    return false;
}

static void count_calls(const stack *s)
{
    for (int i = 0; i < s->depth; i++) {
        if (is_recursive(s, i))
            continue;
        struct returned *call = returned_of(s->calls[i]);
        if (call->times == 0 && returns++ == NOTED)
            abort();
        *call = (struct returned){s->calls[i], call->times + 1};
    }
}

int64_t memory_next(int64_t at, int times)
{
    for (; at < noted; at++) {
        if (!has_rare_call(&stacks[at], times))
            continue;
        count_calls(&stacks[at]);
        return at;
    }
    return -1;
}

void memory_forget(void)
{
    memset(returned, 0, sizeof(returned));
    returns = 0;
}
