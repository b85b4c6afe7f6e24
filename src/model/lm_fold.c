#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/lm_tables_private.h"

/*
 * values [rows, dim] = rows `first` and on of a table [·, d], times the transpose of a projection
 * [dim, d]; NULL: d is dim.
 */
static mgk_status fold(const mgk_checkpoint *checkpoint, const mgk_tensor_info *table, size_t first,
                       size_t rows, const mgk_tensor_info *projection, size_t dim, double *values)
{
    size_t width = table->shape[1], most = MGK_LM_PIECE / width > 0 ? MGK_LM_PIECE / width : 1;
    const size_t plain[] = {table->shape[0], dim}, across[] = {dim, width};
    double *matrix, *piece = NULL;
    mgk_status status;
    if (table->shape[0] < first + rows)
        return mgk_fail(STATUS_SHAPE, "%s: tensor \"%s\" has %zu rows, expected %zu",
                        checkpoint->path, table->name, table->shape[0], first + rows);
    if (!projection) {
        TRY(mgk_checkpoint_expect(checkpoint, table->name, 2, plain, &table));
        return mgk_tensors_read(checkpoint->tensors, table, first * dim, rows * dim, MGK_DTYPE_F64,
                                values);
    }
    TRY(mgk_checkpoint_expect(checkpoint, projection->name, 2, across, &projection));
    TRY(mgk_alloc(dim * width, sizeof(*matrix), &matrix));
    CHECK(mgk_alloc((most < rows ? most : rows) * width, sizeof(*piece), &piece));
    CHECK(mgk_tensors_read(checkpoint->tensors, projection, 0, dim * width, MGK_DTYPE_F64, matrix));
    for (size_t row = 0; row < rows; row++) {
        if (row % most == 0)
            CHECK(mgk_tensors_read(checkpoint->tensors, table, (first + row) * width,
                                   (rows - row < most ? rows - row : most) * width, MGK_DTYPE_F64,
                                   piece));
        for (size_t c = 0; c < dim; c++) {
            const double *word = piece + row % most * width, *across_row = matrix + c * width;
            double sum = 0;
            for (size_t d = 0; d < width; d++)
                sum += word[d] * across_row[d];
            values[row * dim + c] = sum;
        }
    }
out:
    mgk_free(piece);
    mgk_free(matrix);
    return status;
}

/* The tables of one side below each other, each with its projection. */
static mgk_status fold_tables(const mgk_checkpoint *checkpoint, const char *tables,
                              const char *projections, const mgk_parameter *parameter,
                              double *values)
{
    char prefix[MGK_TENSOR_NAME] = "";
    size_t dim = parameter->shape[1], done = 0;
    mgk_checkpoint_prefix(checkpoint, mgk_lm_tables_anchor, prefix);
    for (int i = 0; done < parameter->shape[0]; i++) {
        const mgk_tensor_info *table;
        TRY(mgk_authors_need(checkpoint, 2, &table, "%.100s%s.%d.weight", prefix, tables, i));
        if (table->shape[0] > parameter->shape[0] - done)
            return mgk_fail(STATUS_SHAPE, "%s: tensor \"%s\" has %zu rows, expected %zu at most",
                            checkpoint->path, table->name, table->shape[0],
                            parameter->shape[0] - done);
        TRY(fold(checkpoint, table, 0, table->shape[0],
                 mgk_lm_projection(checkpoint, prefix, projections, i), dim, values + done * dim));
        done += table->shape[0];
    }
    return STATUS_OK;
}

mgk_status mgk_lm_fold_embedding(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                 const mgk_recipe *recipe, const mgk_parameter *parameter,
                                 double *values)
{
    (void)config, (void)recipe;
    return fold_tables(checkpoint, mgk_lm_embedding, mgk_lm_embedding_projection, parameter,
                       values);
}

/* Parts of one table may have projections of their own. */
mgk_status mgk_lm_fold_output(const mgk_checkpoint *checkpoint, const mgk_config *config,
                              const mgk_recipe *recipe, const mgk_parameter *parameter,
                              double *values)
{
    char prefix[MGK_TENSOR_NAME] = "";
    const mgk_tensor_info *table;
    size_t dim = parameter->shape[1];
    (void)recipe;
    mgk_checkpoint_prefix(checkpoint, mgk_lm_tables_anchor, prefix);
    if (mgk_lm_table_count(checkpoint, prefix) > 1)
        return fold_tables(checkpoint, mgk_lm_output, mgk_lm_output_projection, parameter, values);
    TRY(mgk_authors_need(checkpoint, 2, &table, "%.100s%s.0.weight", prefix, mgk_lm_output));
    for (int part = 0; part <= config->cutoff_count; part++) {
        size_t first = part ? (size_t)config->cutoffs[part - 1] : 0;
        size_t end =
            part < config->cutoff_count ? (size_t)config->cutoffs[part] : parameter->shape[0];
        TRY(fold(checkpoint, table, first, end - first,
                 mgk_lm_projection(checkpoint, prefix, mgk_lm_output_projection, part), dim,
                 values + first * dim));
    }
    return STATUS_OK;
}

mgk_status mgk_lm_join_biases(const mgk_checkpoint *checkpoint, const mgk_config *config,
                              const mgk_recipe *recipe, const mgk_parameter *parameter,
                              double *values)
{
    char prefix[MGK_TENSOR_NAME] = "";
    (void)recipe;
    mgk_checkpoint_prefix(checkpoint, mgk_lm_tables_anchor, prefix);
    for (int part = 0; part <= config->cutoff_count; part++) {
        size_t first = part ? (size_t)config->cutoffs[part - 1] : 0;
        size_t end =
            part < config->cutoff_count ? (size_t)config->cutoffs[part] : parameter->shape[0];
        const size_t shape[] = {end - first};
        const mgk_tensor_info *bias;
        char name[MGK_TENSOR_NAME];
        snprintf(name, sizeof(name), "%.100s%s.%d.bias", prefix, mgk_lm_output, part);
        TRY(mgk_checkpoint_expect(checkpoint, name, 1, shape, &bias));
        TRY(mgk_tensors_read(checkpoint->tensors, bias, 0, bias->count, MGK_DTYPE_F64,
                             values + first));
    }
    return STATUS_OK;
}

/* Rows [rows, cols] in reverse: there, cluster i's entry of the head is the i-th from the end. */
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
        TRY(mgk_tensors_read(checkpoint->tensors, table, 0, table->count, MGK_DTYPE_F64, values));
    } else {
        TRY(fold(checkpoint, table, 0, parameter->shape[0],
                 mgk_lm_projection(checkpoint, prefix, mgk_lm_output_projection, 0),
                 parameter->shape[1], values));
    }
    reverse(parameter->shape[0], parameter->count / parameter->shape[0], values);
    return STATUS_OK;
}
