/* SPDX-License-Identifier: MIT */
#include "store/schema/shard_output.h"

#include <unistd.h>

#include "base/memory.h"
#include "base/unfinished.h"
#include "store/schema/shard_files.h"

/* The description of a store of some samples; what is written at once is in the whole store alone.
 */
static mgk_store_description describe(const mgk_store_description *store, int32_t first,
                                      int32_t count)
{
    mgk_store_description own = *store;
    own.samples = count;
    own.sample_index += first;
    for (int object = 0; object < STORE_OBJECTS; object++)
        if (mgk_is_whole(object))
            own.objects &= ~MGK_STORE_BIT(object);
    return own;
}

mgk_status mgk_shard_output_open(const char *path, int set, int number,
                                 const mgk_store_description *store, int32_t first, int32_t count,
                                 mgk_store_real incoming, int compress, mgk_store_target whole,
                                 mgk_shard_output *out)
{
    const mgk_store_description own = describe(store, first, count);
    const mgk_store_storage storage = {.compress = compress};
    *out = (mgk_shard_output){.first = first, .whole = whole};
    out->file.file.id = H5I_INVALID_HID;
    TRY(mgk_shard_path(path, set, number, &out->path));
    TRY(mgk_output_open(out->path, false, &out->output)); /* there is none of this set */
    return mgk_store_file_create(out->output.temporary, out->path, &own, incoming, &storage,
                                 &out->file);
}

mgk_status mgk_shard_output_put_tokens(void *shard, const mgk_store_block *block)
{
    mgk_shard_output *out = shard;
    mgk_store_block own = *block;
    own.sample -= out->first;
    TRY(mgk_store_file_put_tokens(&out->file, &own));
    return out->whole.put_tokens(out->whole.tokens, block);
}

mgk_status mgk_shard_output_put_chunk(void *shard, const mgk_store_chunk *chunk)
{
    mgk_shard_output *out = shard;
    mgk_store_chunk own = *chunk;
    own.sample -= out->first;
    return mgk_store_file_put_chunk(&out->file, &own);
}

mgk_status mgk_shard_output_finish(mgk_shard_output *shard)
{
    return shard->path ? mgk_store_file_finish(&shard->file) : STATUS_OK;
}

mgk_status mgk_shard_output_commit(mgk_shard_output *shard)
{
    if (!shard->path)
        return STATUS_OK;
    mgk_unfinished_add(shard->path);
    const mgk_status status = mgk_output_commit(&shard->output);
    shard->ends = true;
    shard->appeared = status == STATUS_OK;
    if (!shard->appeared)
        mgk_shard_output_hold(shard);
    return status;
}

void mgk_shard_output_hold(mgk_shard_output *shard)
{
    if (shard->ends)
        mgk_unfinished_end(shard->path);
    shard->ends = false;
}

void mgk_shard_output_keep(mgk_shard_output *shard)
{
    shard->appeared = false;
}

void mgk_shard_output_close(mgk_shard_output *shard)
{
    if (!shard->path)
        return;
    mgk_store_file_abandon(&shard->file);
    mgk_output_discard(&shard->output);
    if (shard->appeared)
        unlink(shard->path);
    mgk_shard_output_hold(shard);
    mgk_free(shard->path);
    *shard = (mgk_shard_output){0};
}
