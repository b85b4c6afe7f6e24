/* SPDX-License-Identifier: MIT */
#include "store/schema/block.h"

#include "base/memory.h"
#include "store/schema/convert.h"

static void encode(const mgk_block_writer *writer, const mgk_chunk_grid *grid, const void *data,
                   size_t chunk, mgk_chunk_encoder *encoder)
{
    size_t matrix, row;
    mgk_chunk_locate(grid, chunk, &matrix, &row);
    size_t left = grid->rows - row;
    size_t rows = left < grid->chunk_rows ? left : grid->chunk_rows;
    size_t first = (matrix * grid->rows + row) * grid->columns;
    const unsigned char *bytes = data;
    mgk_encode_chunk(encoder, bytes + first * mgk_real_size(writer->incoming), rows * grid->columns,
                     grid->chunk_rows * grid->columns);
}

/* Encodes chunks in parallel, then passes them on one after the other. */
static mgk_status write_object(const mgk_block_writer *writer, const mgk_block_encoders *space,
                               mgk_store_object object, const mgk_store_block *block)
{
    const mgk_chunk_grid grid = mgk_chunk_grid_of(&writer->description, object);
    const mgk_store_target *target = &writer->target;
    mgk_chunk_encoder *encoders = space->chunks;
    size_t batch = (size_t)space->count;
    for (size_t first = 0; first < grid.chunks; first += batch) {
        size_t left = grid.chunks - first;
        size_t count = left < batch ? left : batch;
#pragma omp parallel for num_threads(space->threads) schedule(dynamic) if (space->threads > 1)
        for (size_t i = 0; i < count; i++)
            encode(writer, &grid, block->arrays[object], first + i, &encoders[i]);

        for (size_t i = 0; i < count; i++) {
            const mgk_store_chunk chunk = {.object = object,
                                           .sample = block->sample,
                                           .layer = block->layer,
                                           .number = first + i,
                                           .bytes = encoders[i].data,
                                           .size = encoders[i].size};
            if (!chunk.bytes)
                return mgk_fail(STATUS_MEMORY, "%s: out of memory in compression", writer->path);
            TRY(target->put_chunk(target->chunks, &chunk));
        }
    }
    return STATUS_OK;
}

mgk_status mgk_block_encoders_open(const mgk_block_writer *writer, int compress, int threads,
                                   mgk_block_encoders *out)
{
    size_t largest = 0;
    for (int object = 0; object <= STORE_VALUES; object++) {
        if (!(writer->description.objects & MGK_STORE_BIT(object)))
            continue;
        const mgk_chunk_grid grid = mgk_chunk_grid_of(&writer->description, object);
        size_t values = grid.chunk_rows * grid.columns;
        largest = values > largest ? values : largest;
    }
    /* Two chunks per thread even out their different costs; without compression one thread
     * writes. */
    out->threads = compress > 0 ? threads : 1;
    out->count = out->threads > 1 ? 2 * out->threads : 1;
    TRY(mgk_alloc((size_t)out->count, sizeof(*out->chunks), &out->chunks));
    for (int i = 0; i < out->count; i++)
        TRY(mgk_encoder_open(writer->incoming, writer->description.storage, compress, largest,
                             &out->chunks[i]));
    return STATUS_OK;
}

void mgk_block_encoders_close(mgk_block_encoders *encoders)
{
    for (int i = 0; encoders->chunks && i < encoders->count; i++)
        mgk_encoder_close(&encoders->chunks[i]);
    mgk_free(encoders->chunks);
    *encoders = (mgk_block_encoders){0};
}

mgk_status mgk_write_block(const mgk_block_writer *writer, const mgk_block_encoders *encoders,
                           const mgk_store_block *block)
{
    if (block->layer == 0)
        TRY(writer->target.put_tokens(writer->target.tokens, block));
    for (int object = 0; object <= STORE_VALUES; object++)
        if (writer->description.objects & MGK_STORE_BIT(object))
            TRY(write_object(writer, encoders, object, block));
    return STATUS_OK;
}
