/* SPDX-License-Identifier: MIT */
#include "model/core/model_hash.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/memory.h"
#include "model/formats/checkpoint.h"

struct mgk_model_hash {
    mgk_checkpoint checkpoint;
    pthread_t thread;
    bool running; /* the thread owns the fields below */
    mgk_status status;
    char message[1024]; /* of a failure */
    char hex[MGK_SHA256_HEX_SIZE];
};

/* Writes the digests of files [count] to list, one per line. */
static mgk_status list_digests(const char *const *files, size_t count, char *list)
{
    char hex[MGK_SHA256_HEX_SIZE];
    for (size_t i = 0; i < count; i++) {
        TRY(mgk_sha256_file(files[i], hex));
        memcpy(list + i * MGK_SHA256_HEX_SIZE, hex, MGK_SHA256_HEX_SIZE - 1);
        list[(i + 1) * MGK_SHA256_HEX_SIZE - 1] = '\n';
    }
    return STATUS_OK;
}

static mgk_status digest(const mgk_checkpoint *checkpoint, char hex[MGK_SHA256_HEX_SIZE])
{
    mgk_status status;
    char *list = NULL;
    size_t count;
    const char *const *files = mgk_tensors_files(checkpoint->tensors, &count);
    if (count == 1 && !checkpoint->config)
        return mgk_sha256_file(files[0], hex);
    CHECK(mgk_alloc(count + 1, MGK_SHA256_HEX_SIZE, &list));
    CHECK(list_digests(files, count, list));
    const char *config = checkpoint->config_path;
    size_t lines = count;
    if (checkpoint->config)
        CHECK(list_digests(&config, 1, list + MGK_SHA256_HEX_SIZE * lines++));
    status = mgk_sha256_bytes(list, lines * MGK_SHA256_HEX_SIZE, hex);
out:
    mgk_free(list);
    return status;
}

static void *compute(void *context)
{
    mgk_model_hash *hash = context;
    hash->status = digest(&hash->checkpoint, hash->hex);
    if (hash->status != STATUS_OK)
        snprintf(hash->message, sizeof(hash->message), "%s", mgk_fail_message());
    return NULL;
}

mgk_status mgk_model_hash_begin(const char *path, mgk_model_hash **out)
{
    mgk_status status;
    mgk_model_hash *hash = NULL;
    *out = NULL;
    CHECK(mgk_alloc(1, sizeof(*hash), &hash));
    CHECK(mgk_checkpoint_open(path, &hash->checkpoint));
    hash->running = pthread_create(&hash->thread, NULL, compute, hash) == 0;
    if (!hash->running)
        compute(hash);
    *out = hash;
    hash = NULL;
out:
    mgk_model_hash_free(hash);
    return status;
}

static void join(mgk_model_hash *hash)
{
    if (hash->running)
        pthread_join(hash->thread, NULL);
    hash->running = false;
}

mgk_status mgk_model_hash_end(mgk_model_hash *hash, char hex[MGK_SHA256_HEX_SIZE])
{
    join(hash);
    if (hash->status != STATUS_OK)
        return mgk_fail(hash->status, "%s", hash->message);
    memcpy(hex, hash->hex, sizeof(hash->hex));
    return STATUS_OK;
}

void mgk_model_hash_free(mgk_model_hash *hash)
{
    if (!hash)
        return;
    join(hash);
    mgk_checkpoint_close(&hash->checkpoint);
    mgk_free(hash);
}

mgk_status mgk_model_sha256(const char *path, char hex[MGK_SHA256_HEX_SIZE])
{
    mgk_model_hash *hash;
    TRY(mgk_model_hash_begin(path, &hash));
    mgk_status status = mgk_model_hash_end(hash, hex);
    mgk_model_hash_free(hash);
    return status;
}

void mgk_model_hash_list(const char *sha256, char *list, size_t size)
{
    if (*sha256 && !strstr(list, sha256))
        mgk_append(list, size, "%s%s", *list ? ", " : "", sha256);
}
