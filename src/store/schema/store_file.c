/* SPDX-License-Identifier: MIT */
#include "store/schema/store_file.h"

#include "base/memory.h"
#include "store/hdf5/h5_box.h"
#include "store/schema/convert.h"

mgk_status mgk_store_file_create(const char *actual, const char *path,
                                 const mgk_store_description *description, mgk_store_real incoming,
                                 const mgk_store_storage *storage, mgk_store_file *out)
{
    *out = (mgk_store_file){
        .file = {.id = H5I_INVALID_HID}, .description = *description, .incoming = incoming};
    mgk_h5_enter();
    mgk_status status = mgk_h5_create(actual, path, &out->file);
    if (status == STATUS_OK)
        status = mgk_store_fill_file(&out->file, description, incoming, storage, &out->datasets);
    mgk_h5_leave();
    return status;
}

/* Writes the text of each token of a side; the caller holds the lock of HDF5. */
static mgk_status write_token_text(const mgk_store_file *out, mgk_store_side side,
                                   const int32_t *tokens, const hsize_t *start,
                                   const hsize_t *count)
{
    const mgk_token_text *text = mgk_side_text(&out->description, side);
    const char **texts;
    TRY(mgk_alloc(count[1], sizeof(*texts), &texts));
    for (hsize_t i = 0; i < count[1]; i++)
        texts[i] = tokens[i] < 0 ? "" : text->of(text->context, tokens[i]);
    hid_t type = mgk_h5_text_type();
    mgk_status status =
        mgk_h5_write_box(&out->file, mgk_side_layouts[side].text.name,
                         out->datasets.token_text[side], 2, start, count, type, texts);
    mgk_h5_close(type);
    mgk_free(texts);
    return status;
}

/* Writes tokens [all] of a side of a sample, of which `length` are valid. */
static mgk_status write_side(const mgk_store_file *out, mgk_store_side side, int32_t sample,
                             int32_t all, const int32_t *tokens, int32_t length)
{
    mgk_status status = STATUS_OK;
    const mgk_side_layout *layout = &mgk_side_layouts[side];
    const hsize_t start[2] = {(hsize_t)sample, 0}, count[2] = {1, (hsize_t)all};
    mgk_h5_enter();
    CHECK(mgk_h5_write_box(&out->file, layout->tokens.name, out->datasets.tokens[side], 2, start,
                           count, H5T_NATIVE_INT32, tokens));
    CHECK(mgk_h5_write_box(&out->file, layout->lengths.name, out->datasets.lengths[side], 1, start,
                           count, H5T_NATIVE_INT32, &length));
    if (mgk_side_text(&out->description, side)->of)
        CHECK(write_token_text(out, side, tokens, start, count));
out:
    mgk_h5_leave();
    return status;
}

mgk_status mgk_store_file_put_tokens(void *file, const mgk_store_block *block)
{
    const mgk_store_file *out = file;
    const mgk_store_description *description = &out->description;
    TRY(write_side(out, STORE_SIDE_QUERIES, block->sample, description->tokens, block->tokens,
                   block->length));
    return description->cross
               ? write_side(out, STORE_SIDE_KEYS, block->sample, mgk_store_keys(description),
                            block->key_tokens, block->key_length)
               : STATUS_OK;
}

mgk_status mgk_store_file_put_chunk(void *file, const mgk_store_chunk *chunk)
{
    const mgk_store_file *out = file;
    const mgk_chunk_grid grid = mgk_chunk_grid_of(&out->description, chunk->object);
    hsize_t offset[STORE_MAX_RANK];
    mgk_chunk_offset(&grid, chunk, offset);
    mgk_h5_enter();
    /* Writes the bytes directly, without HDF5's conversion, selection and chunk cache. */
    mgk_status status = STATUS_OK;
    if (H5Dwrite_chunk(out->datasets.objects[chunk->object], H5P_DEFAULT, 0, offset, chunk->size,
                       chunk->bytes) < 0)
        status = mgk_h5_fail(STATUS_IO, &out->file, "cannot write \"%s\"", grid.layout.name);
    /* Another holder of the lock may have written to this file and failed. */
    if (status == STATUS_OK)
        status = mgk_h5_check_written(&out->file);
    mgk_h5_leave();
    return status;
}

mgk_status mgk_store_file_put_whole(mgk_store_file *file, mgk_store_object object, const void *data)
{
    mgk_status status = STATUS_OK;
    mgk_h5_enter();
    hid_t type = mgk_h5_real_type(file->incoming);
    if (H5Dwrite(file->datasets.objects[object], type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
        status =
            mgk_h5_fail(STATUS_IO, &file->file, "cannot write \"%s\"", mgk_object_name(object));
    mgk_h5_close(type);
    mgk_h5_leave();
    return status;
}

static mgk_status reserve_block(mgk_store_file *file, const mgk_chunk_grid *grid,
                                mgk_store_chunk chunk, uint64_t *addresses)
{
    for (chunk.number = 0; chunk.number < grid->chunks; chunk.number++) {
        hsize_t offset[STORE_MAX_RANK];
        mgk_chunk_offset(grid, &chunk, offset);
        TRY(mgk_h5_reserve_chunk(&file->file, grid->layout.name,
                                 file->datasets.objects[chunk.object], offset, chunk.size,
                                 chunk.bytes, &addresses[chunk.number]));
    }
    return STATUS_OK;
}

mgk_status mgk_store_file_reserve(mgk_store_file *file, mgk_store_object object,
                                  uint64_t *addresses)
{
    const mgk_store_description *description = &file->description;
    const mgk_chunk_grid grid = mgk_chunk_grid_of(description, object);
    const size_t values = grid.chunk_rows * grid.columns,
                 size = mgk_real_size(description->storage);
    mgk_status status = STATUS_OK;
    void *any;
    TRY(mgk_alloc(values, size, &any));
    mgk_store_chunk chunk = {.object = object, .bytes = any, .size = values * size};
    mgk_h5_enter();
    for (chunk.sample = 0; chunk.sample < description->samples; chunk.sample++)
        for (chunk.layer = 0; chunk.layer < description->layers; chunk.layer++) {
            CHECK(reserve_block(file, &grid, chunk, addresses));
            addresses += grid.chunks;
        }
out:
    mgk_h5_leave();
    mgk_free(any);
    return status;
}

mgk_status mgk_store_file_finish(mgk_store_file *file)
{
    mgk_h5_enter();
    mgk_status status = mgk_h5_finish(&file->file);
    mgk_h5_leave();
    return status;
}

void mgk_store_file_abandon(mgk_store_file *file)
{
    mgk_h5_enter();
    mgk_h5_abandon(&file->file);
    mgk_h5_leave();
}
