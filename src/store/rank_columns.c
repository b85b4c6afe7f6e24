#include "store/rank_columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* clang-format off */
#define COLUMN(name, real) {#name, real, offsetof(mgk_rank_file, name), false, NULL}
#define OPTIONAL(name, real, codes) {#name, real, offsetof(mgk_rank_file, name), true, codes}
/* clang-format on */

const mgk_rank_column mgk_rank_columns[RANK_COLUMNS] = {
    COLUMN(input, false),
    COLUMN(sample, false),
    COLUMN(layer, false),
    COLUMN(head, false),
    COLUMN(n, false),
    COLUMN(rank, false),
    COLUMN(undecided, false),
    COLUMN(threshold, true),
    COLUMN(sigma_max, true),
    COLUMN(sigma_min, true),
    COLUMN(effective_rank, true),
    COLUMN(stable_rank, true),
    OPTIONAL(method, false, "svd, augmented, gram, bisection, factors, low-rank"),
    OPTIONAL(certificate, false, "none, statistical, bound, measured"),
    OPTIONAL(sigma_ratio, true, NULL),
    OPTIONAL(energy_1, true, NULL),
    OPTIONAL(energy_4, true, NULL),
    OPTIONAL(energy_16, true, NULL),
    OPTIONAL(energy_64, true, NULL),
    OPTIONAL(noise_floor, true, NULL),
};

const char *const mgk_spectrum_labels[SPECTRUM_RANK] = {"sample", "layer", "head", "index"};
const char *const mgk_spectrum_scales[SPECTRUM_RANK] = {"samples", "layers", "heads", "index"};

void **mgk_rank_column_of(mgk_rank_file *ranks, const mgk_rank_column *column)
{
    return (void **)((char *)ranks + column->offset);
}

hid_t mgk_rank_column_type(const mgk_rank_column *column)
{
    return column->real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT32;
}

static int compare(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

/* The distinct values, ascending. */
static mgk_status collect(const int32_t *column, size_t count, int32_t **out, size_t *distinct)
{
    TRY(mgk_alloc(count, sizeof(**out), out));
    memcpy(*out, column, count * sizeof(**out));
    qsort(*out, count, sizeof(**out), compare);
    *distinct = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || (*out)[i] != (*out)[*distinct - 1])
            (*out)[(*distinct)++] = (*out)[i];
    return STATUS_OK;
}

mgk_status mgk_spectrum_grid_open(const mgk_rank_file *ranks, mgk_spectrum_grid *out)
{
    mgk_status status = STATUS_OK;
    const int32_t *columns[SPECTRUM_INDEX] = {ranks->sample, ranks->layer, ranks->head};
    *out = (mgk_spectrum_grid){.count[SPECTRUM_INDEX] = ranks->spectrum_length};
    for (int i = 0; i < SPECTRUM_INDEX; i++)
        CHECK(collect(columns[i], ranks->rows, &out->values[i], &out->count[i]));
out:
    if (status != STATUS_OK)
        mgk_spectrum_grid_close(out);
    return status;
}

void mgk_spectrum_grid_close(mgk_spectrum_grid *grid)
{
    for (int i = 0; i < SPECTRUM_INDEX; i++)
        mgk_free(grid->values[i]);
    *grid = (mgk_spectrum_grid){0};
}

void mgk_spectrum_place(const mgk_spectrum_grid *grid, const mgk_rank_file *ranks, size_t row,
                        hsize_t start[SPECTRUM_RANK])
{
    const int32_t key[SPECTRUM_INDEX] = {ranks->sample[row], ranks->layer[row], ranks->head[row]};
    for (int i = 0; i < SPECTRUM_INDEX; i++) {
        const int32_t *found =
            bsearch(&key[i], grid->values[i], grid->count[i], sizeof(key[i]), compare);
        start[i] = (hsize_t)(found - grid->values[i]);
    }
    start[SPECTRUM_INDEX] = 0;
}
