/* SPDX-License-Identifier: MIT */
#include "store/schema/chunk_grid.h"

#include "store/schema/convert.h"

/* Number of rows of a [rows, columns] matrix in a chunk of at most about 1 MiB. */
static size_t rows_in_chunk(size_t rows, size_t columns, size_t element_size)
{
    size_t fitting = ((size_t)1 << 20) / (columns * element_size);
    return fitting >= rows ? rows : fitting > 0 ? fitting : 1;
}

mgk_chunk_grid mgk_chunk_grid_of(const mgk_store_description *description, mgk_store_object object)
{
    mgk_chunk_grid grid = {.layout = mgk_layout_of(object, description), .matrices = 1};
    mgk_axis_sizes(description, grid.sizes);
    int rank = grid.layout.rank;
    for (int i = 2; i < rank - 2; i++)
        grid.matrices *= grid.sizes[grid.layout.axes[i]];
    grid.rows = grid.sizes[grid.layout.axes[rank - 2]];
    grid.columns = grid.sizes[grid.layout.axes[rank - 1]];
    grid.chunk_rows = rows_in_chunk(grid.rows, grid.columns, mgk_real_size(description->storage));
    grid.chunks = grid.matrices * ((grid.rows + grid.chunk_rows - 1) / grid.chunk_rows);
    return grid;
}

void mgk_chunk_locate(const mgk_chunk_grid *grid, size_t chunk, size_t *matrix, size_t *row)
{
    size_t chunks_per_matrix = grid->chunks / grid->matrices;
    *matrix = chunk / chunks_per_matrix;
    *row = chunk % chunks_per_matrix * grid->chunk_rows;
}

void mgk_chunk_offset(const mgk_chunk_grid *grid, const mgk_store_chunk *chunk,
                      hsize_t offset[STORE_MAX_RANK])
{
    size_t matrix, row;
    const int rank = grid->layout.rank;
    mgk_chunk_locate(grid, chunk->number, &matrix, &row);
    offset[0] = (hsize_t)chunk->sample;
    offset[1] = (hsize_t)chunk->layer;
    for (int i = rank - 3; i >= 2; i--) {
        size_t size = grid->sizes[grid->layout.axes[i]];
        offset[i] = matrix % size;
        matrix /= size;
    }
    offset[rank - 2] = row;
    offset[rank - 1] = 0;
}
