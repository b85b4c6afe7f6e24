/* SPDX-License-Identifier: MIT */
#include "base/claims.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

typedef enum claim_kind { CLAIM_INPUT, CLAIM_OUTPUT, CLAIM_LOCK } claim_kind;

/*
 * The identity of a file: its device and inode, or, if it does not exist yet, its folder and name.
 */
typedef struct identity {
    dev_t device;
    ino_t number;
    const char *name; /* part of a path; NULL: the file exists */
} identity;

typedef struct mgk_claim {
    claim_kind kind;
    const char *path;
    identity file;
    identity place; /* of a lock: folder and name, for existing locks too */
    int descriptor; /* of a held lock; −1 */
} mgk_claim;

static bool is_same(const identity *a, const identity *b)
{
    return a->device == b->device && a->number == b->number && !a->name == !b->name &&
           (!a->name || strcmp(a->name, b->name) == 0);
}

/* The folder and name of a path; *there is false if the folder does not exist. */
static mgk_status locate(const char *path, identity *out, bool *there)
{
    struct stat info;
    char *folder;
    const char *name = mgk_file_name(path);
    *there = false;
    if (!mgk_is_file_name(name))
        return STATUS_OK;
    TRY(mgk_folder_of(path, &folder));
    *there = stat(folder, &info) == 0;
    mgk_free(folder);
    if (*there)
        *out = (identity){info.st_dev, info.st_ino, name};
    return STATUS_OK;
}

/* *there is false if neither the file nor its folder exists. */
static mgk_status identify(const char *path, identity *out, bool *there)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return locate(path, out, there);
    *out = (identity){info.st_dev, info.st_ino, NULL};
    *there = true;
    return STATUS_OK;
}

static const mgk_claim *find(const mgk_claim_list *list, const identity *file)
{
    for (size_t i = 0; i < list->count; i++)
        if (is_same(file, &list->claims[i].file))
            return &list->claims[i];
    return NULL;
}

static mgk_status append(mgk_claims *claims, mgk_claim_list *list, claim_kind kind,
                         const char *path, const identity *file)
{
    TRY(mgk_arena_grow(&claims->arena, list->count, sizeof(*list->claims), &list->room,
                       &list->claims));
    mgk_claim *claim = &list->claims[list->count];
    *claim = (mgk_claim){.kind = kind, .file = *file, .descriptor = -1};
    TRY(mgk_arena_text(&claims->arena, path, strlen(path), &claim->path));
    if (file->name)
        claim->file.name = mgk_file_name(claim->path);
    claim->place.name = mgk_file_name(claim->path); /* set even without a folder */
    if (kind == CLAIM_LOCK) {
        bool there;
        TRY(locate(claim->path, &claim->place, &there));
    }
    list->count++;
    return STATUS_OK;
}

/* Inputs may be numerous: they are compared only with outputs. */
static mgk_status add(mgk_claims *claims, claim_kind kind, const char *path, const identity *file)
{
    static const char *const kinds[] = {
        [CLAIM_INPUT] = "input", [CLAIM_OUTPUT] = "output", [CLAIM_LOCK] = "lock"};
    const bool input = kind == CLAIM_INPUT;
    const mgk_claim *other = find(&claims->outputs, file);
    if (!other && !input)
        other = find(&claims->inputs, file);
    if (other)
        return mgk_fail(STATUS_USAGE, "%s: is the same file as the %s %s",
                        input ? other->path : path, kinds[input ? kind : other->kind],
                        input ? path : other->path);
    return append(claims, input ? &claims->inputs : &claims->outputs, kind, path, file);
}

static mgk_status read_below(mgk_claims *claims, const char *path, int levels);

static mgk_status read_folder(mgk_claims *claims, const char *path, int levels)
{
    mgk_status status = STATUS_OK;
    DIR *entries = opendir(path);
    for (struct dirent *entry; entries && status == STATUS_OK && (entry = readdir(entries));) {
        char *inner;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        status = mgk_join_path(path, entry->d_name, &inner);
        if (status != STATUS_OK)
            break;
        status = read_below(claims, inner, levels - 1);
        mgk_free(inner);
    }
    if (entries)
        closedir(entries);
    return status;
}

/* Reads folders down to this many levels: datasets have no more. */
static mgk_status read_below(mgk_claims *claims, const char *path, int levels)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return STATUS_OK;
    if (S_ISDIR(info.st_mode))
        return levels > 0 ? read_folder(claims, path, levels) : STATUS_OK;
    const identity file = {info.st_dev, info.st_ino, NULL};
    return add(claims, CLAIM_INPUT, path, &file);
}

mgk_status mgk_claims_add_input(mgk_claims *claims, const char *path)
{
    enum { LEVELS = 2 };
    return read_below(claims, path, LEVELS);
}

/* The job also writes the lock: it must not be a file of the user. */
static mgk_status add_lock(mgk_claims *claims, const char *output)
{
    identity file;
    char *path;
    bool there;
    TRY(mgk_output_lock_path(output, &path));
    mgk_status status = identify(path, &file, &there);
    if (status == STATUS_OK && there)
        status = add(claims, CLAIM_LOCK, path, &file);
    mgk_free(path);
    return status;
}

/* If the folder is there, writing will fail with a message. */
static mgk_status expect_folder(const char *path)
{
    struct stat info;
    char *folder;
    TRY(mgk_folder_of(path, &folder));
    mgk_status status = STATUS_OK;
    if (stat(folder, &info) != 0 && errno == ENOENT)
        status = mgk_fail(STATUS_IO, "%s: cannot create: there is no folder \"%s\"", path, folder);
    mgk_free(folder);
    return status;
}

mgk_status mgk_claims_add_output(mgk_claims *claims, const char *path)
{
    struct stat info;
    identity file;
    bool there;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return mgk_fail(STATUS_IO, "%s: not a regular file", path);
    TRY(identify(path, &file, &there));
    if (!there)
        return expect_folder(path);
    TRY(add(claims, CLAIM_OUTPUT, path, &file));
    return add_lock(claims, path);
}

static bool is_input(void *keeper, const struct stat *info)
{
    const mgk_claims *claims = keeper;
    const identity file = {info->st_dev, info->st_ino, NULL};
    return find(&claims->inputs, &file) != NULL;
}

static bool comes_before(const identity *a, const identity *b)
{
    if (a->device != b->device)
        return a->device < b->device;
    if (a->number != b->number)
        return a->number < b->number;
    return strcmp(a->name, b->name) < 0;
}

/* The first lock that is not held yet. */
static mgk_claim *next_lock(const mgk_claims *claims)
{
    mgk_claim *first = NULL;
    for (size_t i = 0; i < claims->outputs.count; i++) {
        mgk_claim *lock = &claims->outputs.claims[i];
        if (lock->kind == CLAIM_LOCK && lock->descriptor < 0 &&
            (!first || comes_before(&lock->place, &first->place)))
            first = lock;
    }
    return first;
}

/* All runs lock in the same order: if two need the same outputs, one gets all of them. */
mgk_status mgk_claims_lock(mgk_claims *claims, mgk_output_tell tell, void *context)
{
    for (mgk_claim *lock; (lock = next_lock(claims));) {
        const mgk_claim *output = lock - 1;
        TRY(mgk_output_lock(output->path, lock->path, &lock->descriptor));
        TRY(mgk_output_clean(output->path, mgk_output_has_part, is_input, claims, tell, context));
    }
    return STATUS_OK;
}

void mgk_claims_release(mgk_claims *claims)
{
    for (size_t i = 0; i < claims->outputs.count; i++) {
        const mgk_claim *claim = &claims->outputs.claims[i];
        if (claim->descriptor >= 0)
            mgk_output_unlock(claim->path, claim->descriptor);
    }
    mgk_arena_free(&claims->arena);
    *claims = (mgk_claims){0};
}
