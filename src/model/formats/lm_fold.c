/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "model/formats/lm_tables_private.h"

/* product [rows, dim] = table [rows, width] times the transpose of matrix [dim, width]. */
static void multiply(size_t rows, size_t width, size_t dim, const double *table,
                     const double *matrix, double *product)
{
    for (size_t row = 0; row < rows; row++)
        for (size_t c = 0; c < dim; c++) {
            double sum = 0;
            for (size_t d = 0; d < width; d++)
                sum += table[row * width + d] * matrix[c * width + d];
            product[row * dim + c] = sum;
        }
}

/* A projection expands a small table to a large one: bounds the memory by the file's size. */
static mgk_status check_width(const mgk_checkpoint *checkpoint, const mgk_tensor_info *table,
                              size_t dim)
{
    enum { LARGEST_RATIO = 64 };
    if (table->shape[1] > 0 && table->shape[1] >= dim / LARGEST_RATIO)
        return STATUS_OK;
    return mgk_fail(STATUS_UNSUPPORTED,
                    "%s: tensor \"%s\" has %zu %s, less than one in %d of the model's %zu",
                    checkpoint->path, table->name, table->shape[1],
                    MGK_NOUN(table->shape[1], "column", "columns"), LARGEST_RATIO, dim);
}

/*
 * values [rows, dim] = rows `first` and on of a table [·, d], times the transpose of a projection
 * [dim, d]; NULL: d is dim. With values NULL it only checks the tensors.
 */
static mgk_status fold(const mgk_checkpoint *checkpoint, const mgk_tensor_info *table, size_t first,
                       size_t rows, const mgk_tensor_info *projection, size_t dim, double *values)
{
    size_t width = table->shape[1];
    if (rows == 0) /* an empty cluster */
        return STATUS_OK;
    const size_t plain[] = {table->shape[0], dim}, across[] = {dim, width};
    double *matrix, *piece = NULL;
    mgk_status status;
    if (!projection) {
        TRY(mgk_checkpoint_expect(checkpoint, table->name, 2, plain, &table));
        if (!values)
            return STATUS_OK;
        return mgk_tensors_read(checkpoint->tensors, table, first * dim, rows * dim, MGK_DTYPE_F64,
                                values);
    }
    TRY(mgk_checkpoint_expect(checkpoint, table->name, 2, table->shape, &table));
    TRY(mgk_checkpoint_expect(checkpoint, projection->name, 2, across, &projection));
    TRY(check_width(checkpoint, table, dim));
    if (!values)
        return STATUS_OK;
    size_t most = MGK_LM_PIECE / width > 0 ? MGK_LM_PIECE / width : 1;
    TRY(mgk_alloc(dim * width, sizeof(*matrix), &matrix));
    CHECK(mgk_alloc((most < rows ? most : rows) * width, sizeof(*piece), &piece));
    CHECK(mgk_tensors_read(checkpoint->tensors, projection, 0, dim * width, MGK_DTYPE_F64, matrix));
    for (size_t done = 0, count; done < rows; done += count) {
        count = rows - done < most ? rows - done : most;
        CHECK(mgk_tensors_read(checkpoint->tensors, table, (first + done) * width, count * width,
                               MGK_DTYPE_F64, piece));
        multiply(count, width, dim, piece, matrix, values + done * dim);
    }
out:
    mgk_free(piece);
    mgk_free(matrix);
    return status;
}

/* The words begin … end − 1 of part `part` of the vocabulary. */
static void part_of(const mgk_config *config, int part, size_t *begin, size_t *end)
{
    *begin = part ? (size_t)config->cutoffs[part - 1] : 0;
    *end = (size_t)(part < config->cutoff_count ? config->cutoffs[part] : config->vocabulary);
}

/*
 * The parts of the vocabulary, one below the other. A single table of all words has a projection
 * per part in the output, but only one in the embedding.
 */
static mgk_status fold_parts(const mgk_checkpoint *checkpoint, const mgk_config *config,
                             const char *tables, const char *projections, bool one_projection,
                             size_t dim, double *values)
{
    char prefix[MGK_TENSOR_NAME] = "";
    mgk_checkpoint_prefix(checkpoint, mgk_lm_tables_anchor, prefix);
    bool single = mgk_lm_table_count(checkpoint, prefix) == 1;
    for (int part = 0; part <= config->cutoff_count; part++) {
        const mgk_tensor_info *table;
        size_t begin, end;
        part_of(config, part, &begin, &end);
        TRY(mgk_authors_need(checkpoint, 2, &table, "%.100s%s.%d.weight", prefix, tables,
                             single ? 0 : part));
        const size_t shape[] = {single ? (size_t)config->vocabulary : end - begin, table->shape[1]};
        TRY(mgk_checkpoint_expect(checkpoint, table->name, 2, shape, &table));
        const mgk_tensor_info *projection =
            mgk_lm_projection(checkpoint, prefix, projections, single && one_projection ? 0 : part);
        TRY(fold(checkpoint, table, single ? begin : 0, end - begin, projection, dim,
                 values ? values + begin * dim : NULL));
    }
    return STATUS_OK;
}

mgk_status mgk_lm_fold_embedding(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                 const mgk_recipe *recipe, const mgk_parameter *parameter,
                                 double *values)
{
    (void)recipe;
    return fold_parts(checkpoint, config, mgk_lm_embedding, mgk_lm_embedding_projection, true,
                      parameter->shape[1], values);
}

mgk_status mgk_lm_fold_output(const mgk_checkpoint *checkpoint, const mgk_config *config,
                              const mgk_recipe *recipe, const mgk_parameter *parameter,
                              double *values)
{
    (void)recipe;
    return fold_parts(checkpoint, config, mgk_lm_output, mgk_lm_output_projection, false,
                      parameter->shape[1], values);
}

mgk_status mgk_lm_join_biases(const mgk_checkpoint *checkpoint, const mgk_config *config,
                              const mgk_recipe *recipe, const mgk_parameter *parameter,
                              double *values)
{
    char prefix[MGK_TENSOR_NAME] = "";
    (void)recipe, (void)parameter;
    mgk_checkpoint_prefix(checkpoint, mgk_lm_tables_anchor, prefix);
    for (int part = 0; part <= config->cutoff_count; part++) {
        size_t first, end;
        part_of(config, part, &first, &end);
        const size_t shape[] = {end - first};
        const mgk_tensor_info *bias;
        char name[MGK_TENSOR_NAME];
        snprintf(name, sizeof(name), "%.100s%s.%d.bias", prefix, mgk_lm_output, part);
        TRY(mgk_checkpoint_expect(checkpoint, name, 1, shape, &bias));
        if (values)
            TRY(mgk_tensors_read(checkpoint->tensors, bias, 0, bias->count, MGK_DTYPE_F64,
                                 values + first));
    }
    return STATUS_OK;
}

/*
 * Reverses the rows [rows, cols]: in the file, cluster i's entry of the head is the i-th from the
 * end.
 */
static void reverse(size_t rows, size_t cols, double *values)
{
    for (size_t i = 0; i < rows / 2; i++)
        for (size_t c = 0; c < cols; c++) {
            double *a = values + i * cols + c, *b = values + (rows - 1 - i) * cols + c, kept = *a;
            *a = *b;
            *b = kept;
        }
}

mgk_status mgk_lm_fold_clusters(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                const mgk_recipe *recipe, const mgk_parameter *parameter,
                                double *values)
{
    char prefix[MGK_TENSOR_NAME] = "";
    const mgk_tensor_info *table;
    (void)config;
    mgk_checkpoint_prefix(checkpoint, mgk_lm_tables_anchor, prefix);
    TRY(mgk_authors_need(checkpoint, parameter->axes, &table, "%s", recipe->name));
    if (parameter->axes == 1) {
        TRY(mgk_checkpoint_expect(checkpoint, recipe->name, 1, parameter->shape, &table));
        if (values)
            TRY(mgk_tensors_read(checkpoint->tensors, table, 0, table->count, MGK_DTYPE_F64,
                                 values));
    } else {
        TRY(fold(checkpoint, table, 0, parameter->shape[0],
                 mgk_lm_projection(checkpoint, prefix, mgk_lm_output_projection, 0),
                 parameter->shape[1], values));
    }
    if (values)
        reverse(parameter->shape[0], parameter->count / parameter->shape[0], values);
    return STATUS_OK;
}
