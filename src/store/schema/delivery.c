/* SPDX-License-Identifier: MIT */
#include "store/schema/delivery.h"

#include <string.h>

#include "base/memory.h"

/* How a message begins. The tokens of the sample follow, [N] and of a cross store [K]; or the bytes
 * of a chunk. */
typedef struct message_head {
    int32_t is_chunk, sample;
    int32_t length, key_length; /* of the sample */
    int32_t object, layer;      /* of the chunk */
    uint64_t number;            /* of the chunk */
} message_head;

/* Part of a message. */
typedef struct piece {
    const void *bytes;
    size_t size;
} piece;

static mgk_status send(const mgk_store_delivery *d, const piece *pieces, size_t count)
{
    size_t size = 0;
    char *message, *next;
    for (size_t i = 0; i < count; i++)
        size += pieces[i].size;
    TRY(mgk_alloc(size, 1, &message));
    next = message;
    for (size_t i = 0; i < count; next += pieces[i].size, i++)
        if (pieces[i].size > 0)
            memcpy(next, pieces[i].bytes, pieces[i].size);
    const mgk_status status = d->sender.send(d->sender.state, message, size);
    mgk_free(message);
    return status;
}

static size_t token_bytes(const mgk_store_description *description)
{
    return (size_t)description->tokens * sizeof(int32_t);
}

static size_t key_token_bytes(const mgk_store_description *description)
{
    return description->cross ? (size_t)mgk_store_keys(description) * sizeof(int32_t) : 0;
}

mgk_status mgk_delivery_put_tokens(void *delivery, const mgk_store_block *block)
{
    const mgk_store_delivery *d = delivery;
    const message_head head = {
        .sample = block->sample, .length = block->length, .key_length = block->key_length};
    const piece pieces[] = {{&head, sizeof(head)},
                            {block->tokens, token_bytes(d->description)},
                            {block->key_tokens, key_token_bytes(d->description)}};
    return send(d, pieces, 3);
}

mgk_status mgk_delivery_put_chunk(void *delivery, const mgk_store_chunk *chunk)
{
    const message_head head = {.is_chunk = 1,
                               .sample = chunk->sample,
                               .object = (int32_t)chunk->object,
                               .layer = chunk->layer,
                               .number = chunk->number};
    const piece pieces[] = {{&head, sizeof(head)}, {chunk->bytes, chunk->size}};
    return send(delivery, pieces, 2);
}

/* Messages are as aligned as their tokens are; nothing changes the tokens. */
static mgk_status receive_tokens(mgk_store_file *file, const message_head *head, const char *bytes)
{
    int32_t *tokens = (int32_t *)(uintptr_t)(bytes + sizeof(*head));
    const mgk_store_block block = {.sample = head->sample,
                                   .length = head->length,
                                   .tokens = tokens,
                                   .key_length = head->key_length,
                                   .key_tokens = tokens + file->description.tokens};
    return mgk_store_file_put_tokens(file, &block);
}

static mgk_status receive_chunk(mgk_store_file *file, const message_head *head, const char *bytes,
                                size_t size)
{
    const mgk_store_chunk chunk = {.object = (mgk_store_object)head->object,
                                   .sample = head->sample,
                                   .layer = head->layer,
                                   .number = head->number,
                                   .bytes = bytes + sizeof(*head),
                                   .size = size - sizeof(*head)};
    return mgk_store_file_put_chunk(file, &chunk);
}

mgk_status mgk_delivery_receive(mgk_store_file *file, const void *message, size_t size,
                                bool *tokens)
{
    const mgk_store_description *d = &file->description;
    message_head head = {0};
    if (size >= sizeof(head))
        memcpy(&head, message, sizeof(head));
    *tokens = !head.is_chunk;
    if (size < sizeof(head) ||
        (*tokens && size != sizeof(head) + token_bytes(d) + key_token_bytes(d)))
        return mgk_fail(STATUS_FORMAT, "%s: a message of %zu bytes from another process",
                        file->file.path, size);
    return *tokens ? receive_tokens(file, &head, message)
                   : receive_chunk(file, &head, message, size);
}
