/* SPDX-License-Identifier: MIT */
#include "store/schema/block.h"

#include "base/memory.h"
#include "store/hdf5/h5_box.h"
#include "store/schema/convert.h"

/* The matrices of one object in one block, cut into chunks of `chunk_rows` rows. */
typedef struct chunk_grid {
    mgk_object_layout layout;
    size_t sizes[STORE_AXES];
    size_t matrices, rows, columns, chunk_rows;
    size_t chunks; /* total */
} chunk_grid;

static chunk_grid grid_of(const mgk_block_writer *writer, mgk_store_object object)
{
    chunk_grid grid = {.layout = mgk_layout_of(object, &writer->description), .matrices = 1};
    mgk_axis_sizes(&writer->description, grid.sizes);
    int rank = grid.layout.rank;
    for (int i = 2; i < rank - 2; i++)
        grid.matrices *= grid.sizes[grid.layout.axes[i]];
    grid.rows = grid.sizes[grid.layout.axes[rank - 2]];
    grid.columns = grid.sizes[grid.layout.axes[rank - 1]];
    grid.chunk_rows = writer->datasets.chunk_rows[object];
    grid.chunks = grid.matrices * ((grid.rows + grid.chunk_rows - 1) / grid.chunk_rows);
    return grid;
}

/* Computes the matrix and the first row of a chunk. */
static void locate_chunk(const chunk_grid *grid, size_t chunk, size_t *matrix, size_t *row)
{
    size_t chunks_per_matrix = grid->chunks / grid->matrices;
    *matrix = chunk / chunks_per_matrix;
    *row = chunk % chunks_per_matrix * grid->chunk_rows;
}

static void encode(const mgk_block_writer *writer, const chunk_grid *grid, const void *data,
                   size_t chunk, mgk_chunk_encoder *encoder)
{
    size_t matrix, row;
    locate_chunk(grid, chunk, &matrix, &row);
    size_t left = grid->rows - row;
    size_t rows = left < grid->chunk_rows ? left : grid->chunk_rows;
    size_t first = (matrix * grid->rows + row) * grid->columns;
    const unsigned char *bytes = data;
    mgk_encode_chunk(encoder, bytes + first * mgk_real_size(writer->incoming), rows * grid->columns,
                     grid->chunk_rows * grid->columns);
}

static mgk_status write_chunk(const mgk_block_writer *writer, const chunk_grid *grid,
                              mgk_store_object object, const mgk_store_block *block, size_t chunk,
                              const mgk_chunk_encoder *encoder)
{
    hsize_t offset[STORE_MAX_RANK] = {(hsize_t)block->sample, (hsize_t)block->layer};
    size_t matrix, row;
    int rank = grid->layout.rank;
    if (!encoder->data)
        return mgk_fail(STATUS_MEMORY, "%s: out of memory in compression", writer->file.path);
    locate_chunk(grid, chunk, &matrix, &row);
    for (int i = rank - 3; i >= 2; i--) {
        size_t size = grid->sizes[grid->layout.axes[i]];
        offset[i] = matrix % size;
        matrix /= size;
    }
    offset[rank - 2] = row;
    /* Writes the bytes directly, without HDF5's conversion, selection and chunk cache. */
    if (H5Dwrite_chunk(writer->datasets.objects[object], H5P_DEFAULT, 0, offset, encoder->size,
                       encoder->data) < 0)
        return mgk_h5_fail(STATUS_IO, &writer->file, "cannot write \"%s\"", grid->layout.name);
    return STATUS_OK;
}

/* Encodes chunks in parallel, then writes them one after the other. */
static mgk_status write_object(const mgk_block_writer *writer, const mgk_block_encoders *space,
                               mgk_store_object object, const mgk_store_block *block)
{
    chunk_grid grid = grid_of(writer, object);
    mgk_chunk_encoder *encoders = space->chunks;
    size_t batch = (size_t)space->count;
    for (size_t first = 0; first < grid.chunks; first += batch) {
        size_t left = grid.chunks - first;
        size_t count = left < batch ? left : batch;
#pragma omp parallel for num_threads(space->threads) schedule(dynamic) if (space->threads > 1)
        for (size_t i = 0; i < count; i++)
            encode(writer, &grid, block->arrays[object], first + i, &encoders[i]);

        mgk_status status = STATUS_OK;
        mgk_h5_enter();
        for (size_t i = 0; i < count && status == STATUS_OK; i++)
            status = write_chunk(writer, &grid, object, block, first + i, &encoders[i]);
        /* Another holder of the lock may have written to this file and failed. */
        if (status == STATUS_OK)
            status = mgk_h5_check_written(&writer->file);
        mgk_h5_leave();
        TRY(status);
    }
    return STATUS_OK;
}

/* Writes the text of each token of a side; the caller holds the lock of HDF5. */
static mgk_status write_token_text(const mgk_block_writer *writer, mgk_store_side side,
                                   const int32_t *tokens, const hsize_t *start,
                                   const hsize_t *count)
{
    const mgk_token_text *text = mgk_side_text(&writer->description, side);
    const char **texts;
    TRY(mgk_alloc(count[1], sizeof(*texts), &texts));
    for (hsize_t i = 0; i < count[1]; i++)
        texts[i] = tokens[i] < 0 ? "" : text->of(text->context, tokens[i]);
    hid_t type = mgk_h5_text_type();
    mgk_status status =
        mgk_h5_write_box(&writer->file, mgk_side_layouts[side].text.name,
                         writer->datasets.token_text[side], 2, start, count, type, texts);
    mgk_h5_close(type);
    mgk_free(texts);
    return status;
}

/* Writes tokens [all] of a side of a sample, of which `length` are valid. */
static mgk_status write_side(const mgk_block_writer *writer, mgk_store_side side, int32_t sample,
                             int32_t all, const int32_t *tokens, int32_t length)
{
    mgk_status status = STATUS_OK;
    const mgk_side_layout *layout = &mgk_side_layouts[side];
    const hsize_t start[2] = {(hsize_t)sample, 0}, count[2] = {1, (hsize_t)all};
    mgk_h5_enter();
    CHECK(mgk_h5_write_box(&writer->file, layout->tokens.name, writer->datasets.tokens[side], 2,
                           start, count, H5T_NATIVE_INT32, tokens));
    CHECK(mgk_h5_write_box(&writer->file, layout->lengths.name, writer->datasets.lengths[side], 1,
                           start, count, H5T_NATIVE_INT32, &length));
    if (mgk_side_text(&writer->description, side)->of)
        CHECK(write_token_text(writer, side, tokens, start, count));
out:
    mgk_h5_leave();
    return status;
}

static mgk_status write_tokens(const mgk_block_writer *writer, const mgk_store_block *block)
{
    const mgk_store_description *description = &writer->description;
    TRY(write_side(writer, STORE_SIDE_QUERIES, block->sample, description->tokens, block->tokens,
                   block->length));
    return description->cross
               ? write_side(writer, STORE_SIDE_KEYS, block->sample, mgk_store_keys(description),
                            block->key_tokens, block->key_length)
               : STATUS_OK;
}

mgk_status mgk_block_encoders_open(const mgk_block_writer *writer, int compress, int threads,
                                   mgk_block_encoders *out)
{
    size_t largest = 0;
    for (int object = 0; object < STORE_OBJECTS; object++) {
        if (writer->datasets.chunk_rows[object] == 0)
            continue;
        chunk_grid grid = grid_of(writer, object);
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
        TRY(write_tokens(writer, block));
    for (int object = 0; object <= STORE_VALUES; object++)
        if (writer->description.objects & MGK_STORE_BIT(object))
            TRY(write_object(writer, encoders, object, block));
    return STATUS_OK;
}
