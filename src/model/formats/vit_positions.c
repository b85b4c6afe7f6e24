/* SPDX-License-Identifier: MIT */
#include "model/formats/vit_positions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { MAX_EXTRA = 1 << 10, LARGEST_GROWTH = 8 };

mgk_status mgk_vit_count_extra(const mgk_checkpoint *checkpoint, const mgk_picture_type *type,
                               int *placed, int *extra)
{
    int registers = 0;
    *placed = (type->class_token != NULL) + (type->distillation != NULL);
    if (type->registers)
        TRY(mgk_checkpoint_integer(checkpoint, "num_register_tokens", 4, &registers));
    if (registers < 0 || registers > MAX_EXTRA)
        return mgk_fail(STATUS_FORMAT, "%s: num_register_tokens %d: expected 0 to %d",
                        checkpoint->config_path, registers, MAX_EXTRA);
    *extra = *placed + registers;
    return STATUS_OK;
}

/* Finds a tensor of the embedding of `count` rows of C, [C] if it is a vector. */
static mgk_status embedding_tensor(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                   const mgk_picture_type *type, const char *name, size_t count,
                                   bool vector, const mgk_tensor_info **out)
{
    char prefix[MGK_TENSOR_NAME] = "", full[MGK_TENSOR_NAME];
    const size_t shape[] = {1, count, (size_t)config->dim};
    const int skipped = vector ? 2 : type->flat ? 1 : 0;
    mgk_checkpoint_prefix(checkpoint, type->names->anchor, prefix);
    snprintf(full, sizeof(full), "%.100sembeddings.%.100s", prefix, name);
    return mgk_checkpoint_expect(checkpoint, full, 3 - skipped, shape + skipped, out);
}

/* Adds a row [C] of a tensor to values [C]. */
static mgk_status add_row(const mgk_checkpoint *checkpoint, const mgk_tensor_info *tensor,
                          size_t row, size_t dim, double *room, double *values)
{
    TRY(mgk_tensors_read(checkpoint->tensors, tensor, row * dim, dim, MGK_DTYPE_F64, room));
    for (size_t c = 0; c < dim; c++)
        values[c] += room[c];
    return STATUS_OK;
}

/* The tensors of positions, and what is added to them; NULL: the family has none. */
typedef struct embedding_tensors {
    const mgk_tensor_info *positions, *class_token, *distillation, *registers, *bias;
    size_t placed, extra, across; /* tokens before patches, with positions; patches in a row */
} embedding_tensors;

static mgk_status find_embedding(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                 embedding_tensors *out)
{
    const mgk_picture_type *type = mgk_picture_type_of(checkpoint);
    int placed = 0, extra = 0, side;
    *out = (embedding_tensors){.positions = NULL};
    TRY(mgk_vit_count_extra(checkpoint, type, &placed, &extra));
    TRY(mgk_checkpoint_square(checkpoint, "image_size", 224, &side));
    out->placed = (size_t)placed;
    out->extra = (size_t)extra;
    out->across = (size_t)(side / config->picture.patch);
    /* A few bytes of configuration must not make a table that is larger than the file by far. */
    if (mgk_picture_patches(&config->picture) > LARGEST_GROWTH * out->across)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: pictures of %d pixels, more than %d times the model's %d",
                        checkpoint->config_path, config->picture.side, LARGEST_GROWTH, side);
    const struct {
        const char *name;
        size_t count;
        bool vector;
        const mgk_tensor_info **tensor;
    } parts[] = {
        {type->positions, out->placed + out->across * out->across, false, &out->positions},
        {type->class_token, 1, type->flat, &out->class_token},
        {type->distillation, 1, false, &out->distillation},
        {type->registers, out->extra - out->placed, false, &out->registers},
        {type->bias, 1, true, &out->bias},
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (parts[i].name)
            TRY(embedding_tensor(checkpoint, config, type, parts[i].name, parts[i].count,
                                 parts[i].vector, parts[i].tensor));
    return STATUS_OK;
}

/* Cubic convolution (Keys 1981), a = -3/4, as in torch. */
static double cubic(double x)
{
    const double a = -0.75;
    x = fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((x * a - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/*
 * values [to, to, C] = table [from, from, C], each number interpolated over its 4 x 4 neighbours;
 * beyond the edge the last one repeats.
 */
static void interpolate(const double *table, size_t from, size_t to, size_t dim, double *values)
{
    const double step = (double)from / (double)to;
    for (size_t y = 0; y < to; y++)
        for (size_t x = 0; x < to; x++) {
            const double down = ((double)y + 0.5) * step - 0.5,
                         over = ((double)x + 0.5) * step - 0.5;
            double *out = values + (y * to + x) * dim;
            memset(out, 0, dim * sizeof(*out));
            for (int i = -1; i <= 2; i++)
                for (int j = -1; j <= 2; j++) {
                    const double row = floor(down) + i, column = floor(over) + j;
                    const double last = (double)from - 1;
                    const double weight = cubic(down - row) * cubic(over - column);
                    const double *cell = table + ((size_t)fmin(fmax(row, 0), last) * from +
                                                  (size_t)fmin(fmax(column, 0), last)) *
                                                     dim;
                    for (size_t c = 0; c < dim; c++)
                        out[c] += weight * cell[c];
                }
        }
}

/* values [patches, C]: the positions of the patches, of as many as a picture has. */
static mgk_status read_patch_positions(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                       const embedding_tensors *found, double *values)
{
    const size_t dim = (size_t)config->dim, across = mgk_picture_patches(&config->picture);
    const size_t first = found->placed * dim, count = found->across * found->across * dim;
    double *table;
    if (found->across == across)
        return mgk_tensors_read(checkpoint->tensors, found->positions, first, count, MGK_DTYPE_F64,
                                values);
    TRY(mgk_alloc(count, sizeof(*table), &table));
    mgk_status status =
        mgk_tensors_read(checkpoint->tensors, found->positions, first, count, MGK_DTYPE_F64, table);
    if (status == STATUS_OK)
        interpolate(table, found->across, across, dim, values);
    mgk_free(table);
    return status;
}

mgk_status mgk_vit_positions(const mgk_checkpoint *checkpoint, const mgk_config *config,
                             const mgk_recipe *recipe, const mgk_parameter *parameter,
                             double *values)
{
    const size_t dim = (size_t)config->dim, tokens = (size_t)config->length;
    embedding_tensors found;
    double *room;
    mgk_status status = STATUS_OK;
    (void)recipe, (void)parameter;
    TRY(find_embedding(checkpoint, config, &found));
    if (!values)
        return STATUS_OK;
    const mgk_tensor_info *const first[] = {found.class_token, found.distillation};
    TRY(mgk_alloc(dim, sizeof(*room), &room));
    memset(values, 0, found.extra * dim * sizeof(*values));
    CHECK(read_patch_positions(checkpoint, config, &found, values + found.extra * dim));
    for (size_t t = 0; t < found.placed; t++) {
        CHECK(add_row(checkpoint, found.positions, t, dim, room, values + t * dim));
        CHECK(add_row(checkpoint, first[t], 0, dim, room, values + t * dim));
    }
    for (size_t t = found.placed; t < found.extra; t++)
        CHECK(add_row(checkpoint, found.registers, t - found.placed, dim, room, values + t * dim));
    for (size_t t = found.extra; found.bias && t < tokens; t++)
        CHECK(add_row(checkpoint, found.bias, 0, dim, room, values + t * dim));
out:
    mgk_free(room);
    return status;
}
