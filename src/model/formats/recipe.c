/* SPDX-License-Identifier: MIT */
/* Converts tensors of a checkpoint to parameters, in pieces, so that neither is held twice. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "model/formats/checkpoint.h"

enum { PIECE = 1 << 20 }; /* numbers read at a time, at least one row */

/* Quantised weights are whole numbers, which mean nothing without their scales. */
static mgk_status accept(const mgk_checkpoint *checkpoint, const mgk_tensor_info *tensor)
{
    if (!mgk_dtype_is_real(tensor->dtype))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: tensor \"%s\" holds %s, expected real numbers; quantised weights are "
                        "not known",
                        checkpoint->path, tensor->name, mgk_dtype_name(tensor->dtype));
    checkpoint->used[mgk_tensors_index(checkpoint->tensors, tensor)] = true;
    return STATUS_OK;
}

mgk_status mgk_checkpoint_expect(const mgk_checkpoint *checkpoint, const char *name, int axes,
                                 const size_t *shape, const mgk_tensor_info **out)
{
    char found[192], expected[192];
    const mgk_tensor_info *tensor = *out = mgk_tensors_find(checkpoint->tensors, name);
    mgk_shape_text(axes, shape, expected, sizeof(expected));
    if (!tensor)
        return mgk_fail(STATUS_SHAPE, "%s: tensor \"%s\" is missing, expected %s", checkpoint->path,
                        name, expected);
    bool same = tensor->axes == axes;
    for (int axis = 0; same && axis < axes; axis++)
        same = tensor->shape[axis] == shape[axis];
    if (same)
        return accept(checkpoint, tensor);
    mgk_shape_text(tensor->axes, tensor->shape, found, sizeof(found));
    return mgk_fail(STATUS_SHAPE, "%s: tensor \"%s\" is %s, expected %s", checkpoint->path, name,
                    found, expected);
}

/* Numbers of a row of the parameter. */
static size_t row_size(const mgk_parameter *parameter)
{
    return parameter->count / parameter->shape[0];
}

static mgk_status find_tensor(const mgk_checkpoint *checkpoint, const mgk_recipe *recipe,
                              const mgk_parameter *parameter, const mgk_tensor_info **out)
{
    size_t shape[MGK_MAX_AXES];
    int axes = recipe->axes ? recipe->axes : parameter->axes;
    if (recipe->axes)
        memcpy(shape, recipe->shape, sizeof(shape));
    else
        memcpy(shape, parameter->shape, sizeof(parameter->shape));
    if (recipe->rows)
        shape[0] = recipe->rows;
    if (recipe->transposed) {
        size_t rows = shape[0];
        shape[0] = shape[1];
        shape[1] = rows;
    }
    return mgk_checkpoint_expect(checkpoint, recipe->name, axes, shape, out);
}

static mgk_status find_plus(const mgk_checkpoint *checkpoint, const mgk_recipe *recipe,
                            const mgk_parameter *parameter, const mgk_tensor_info **out)
{
    const size_t shape[] = {recipe->plus_rows, row_size(parameter)};
    return mgk_checkpoint_expect(checkpoint, recipe->plus, 2, shape, out);
}

/* The rows of a parameter that tensor i of several makes, and its recipe. */
static void split(const mgk_recipe *recipe, const mgk_parameter *parameter, size_t i,
                  mgk_recipe *own, mgk_parameter *rows)
{
    const char *star = strrchr(recipe->name, '*');
    *own = *recipe;
    *rows = *parameter;
    own->tensors = 0;
    snprintf(own->name, sizeof(own->name), "%.*s%zu%s", (int)(star - recipe->name), recipe->name, i,
             star + 1);
    rows->shape[0] /= recipe->tensors;
    rows->count /= recipe->tensors;
    rows->offset += i * rows->count;
}

mgk_status mgk_recipe_check(const mgk_checkpoint *checkpoint, const mgk_config *config,
                            const mgk_recipe *recipe, const mgk_parameter *parameter)
{
    const mgk_tensor_info *tensor;
    mgk_recipe own;
    mgk_parameter rows;
    for (size_t i = 0; i < recipe->tensors; i++) {
        split(recipe, parameter, i, &own, &rows);
        TRY(mgk_recipe_check(checkpoint, config, &own, &rows));
    }
    if (recipe->tensors > 0)
        return STATUS_OK;
    if (recipe->compute)
        return recipe->compute(checkpoint, config, recipe, parameter, NULL);
    TRY(find_tensor(checkpoint, recipe, parameter, &tensor));
    return recipe->plus[0] ? find_plus(checkpoint, recipe, parameter, &tensor) : STATUS_OK;
}

/* The dtype of the weights on the model's device. */
static mgk_dtype device_type(const mgk_model *model)
{
    return model->device->precision == MGK_DOUBLE ? MGK_DTYPE_F64 : MGK_DTYPE_F32;
}

static mgk_status put(const mgk_model *model, size_t offset, size_t count, const void *values)
{
    mgk_device *device = model->device;
    return device->op->upload(device, mgk_at(device, model->weights, offset), values,
                              count * device->real_size);
}

/* Adds row [cols] to every row of values [rows, cols]. */
static void add_row(const mgk_model *model, size_t rows, size_t cols, const void *row, void *values)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t c = 0; c < cols; c++) {
            if (model->device->precision == MGK_DOUBLE)
                ((double *)values)[i * cols + c] += ((const double *)row)[c];
            else
                ((float *)values)[i * cols + c] += ((const float *)row)[c];
        }
}

/* The row of the tensor that becomes row i of the parameter. */
static size_t source_row(const mgk_recipe *recipe, size_t i)
{
    if (recipe->head > 0) {
        const size_t half = recipe->head / 2, turned = recipe->turned / 2;
        const size_t within = i % recipe->head, pair = within % half, second = within / half;
        const size_t rest = recipe->turned + pair - turned + second * (half - turned);
        i += (pair >= turned        ? rest
              : recipe->interleaved ? 2 * pair + second
                                    : pair + second * turned) -
             within;
    }
    if (recipe->block > 0)
        i = i / recipe->block * recipe->stride + i % recipe->block;
    return recipe->first + i;
}

/* The number of rows, at most `most`, that lie in the tensor as in the parameter, from row i on. */
static size_t run_of_rows(const mgk_recipe *recipe, size_t i, size_t most)
{
    size_t count = 1;
    if (recipe->head == 0 && recipe->block == 0)
        return most;
    while (count < most && source_row(recipe, i + count) == source_row(recipe, i) + count)
        count++;
    return count;
}

static void change(const mgk_model *model, const mgk_recipe *recipe, size_t count, void *values)
{
    const double times = recipe->times != 0 ? recipe->times : 1;
    if (times == 1 && recipe->more == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        if (model->device->precision == MGK_DOUBLE)
            ((double *)values)[i] = ((double *)values)[i] * times + recipe->more;
        else
            ((float *)values)[i] = (float)(((float *)values)[i] * times + recipe->more);
    }
}

static mgk_status copy_rows(const mgk_checkpoint *checkpoint, const mgk_recipe *recipe,
                            const mgk_parameter *parameter, const mgk_tensor_info *tensor,
                            const mgk_model *model)
{
    size_t cols = row_size(parameter), real = model->device->real_size;
    size_t most = PIECE / cols > 0 ? PIECE / cols : 1;
    mgk_status status;
    void *values = NULL, *row = NULL;
    CHECK(
        mgk_alloc((most < parameter->shape[0] ? most : parameter->shape[0]) * cols, real, &values));
    if (recipe->plus[0]) {
        const mgk_tensor_info *plus;
        CHECK(find_plus(checkpoint, recipe, parameter, &plus));
        CHECK(mgk_alloc(cols, real, &row));
        CHECK(mgk_tensors_read(checkpoint->tensors, plus, 0, cols, device_type(model), row));
    }
    for (size_t first = 0, rows; first < parameter->shape[0]; first += rows) {
        rows = parameter->shape[0] - first < most ? parameter->shape[0] - first : most;
        rows = run_of_rows(recipe, first, rows);
        CHECK(mgk_tensors_read(checkpoint->tensors, tensor, source_row(recipe, first) * cols,
                               rows * cols, device_type(model), values));
        if (row)
            add_row(model, rows, cols, row, values);
        change(model, recipe, rows * cols, values);
        CHECK(put(model, parameter->offset + first * cols, rows * cols, values));
    }
out:
    mgk_free(row);
    mgk_free(values);
    return status;
}

/* Row i of the parameter is column first + i of the tensor [in, out]. */
static mgk_status copy_columns(const mgk_checkpoint *checkpoint, const mgk_recipe *recipe,
                               const mgk_parameter *parameter, const mgk_tensor_info *tensor,
                               const mgk_model *model)
{
    size_t real = model->device->real_size, in = tensor->shape[0], out = tensor->shape[1];
    mgk_status status;
    unsigned char *source = NULL, *values = NULL;
    CHECK(mgk_alloc(tensor->count, real, &source));
    CHECK(mgk_alloc(parameter->count, real, &values));
    CHECK(mgk_tensors_read(checkpoint->tensors, tensor, 0, tensor->count, device_type(model),
                           source));
    for (size_t i = 0; i < parameter->shape[0]; i++)
        for (size_t c = 0; c < in; c++)
            memcpy(values + (i * in + c) * real, source + (c * out + recipe->first + i) * real,
                   real);
    status = put(model, parameter->offset, parameter->count, values);
out:
    mgk_free(values);
    mgk_free(source);
    return status;
}

/* Computed numbers must be finite after rounding to the device's precision. */
static mgk_status put_double(const mgk_checkpoint *checkpoint, const mgk_model *model,
                             const mgk_parameter *parameter, const double *values)
{
    bool doubles = model->device->precision == MGK_DOUBLE;
    for (size_t i = 0; i < parameter->count; i++)
        if (!isfinite(doubles ? values[i] : (double)(float)values[i]))
            return mgk_fail(STATUS_NUMERIC, "%s: the tensors of \"%s\" make up %g",
                            checkpoint->path, parameter->name, values[i]);
    return mgk_model_put(model, parameter->count, values,
                         mgk_at(model->device, model->weights, parameter->offset));
}

static mgk_status compute(const mgk_checkpoint *checkpoint, const mgk_recipe *recipe,
                          const mgk_parameter *parameter, const mgk_model *model)
{
    double *values;
    TRY(mgk_alloc(parameter->count, sizeof(*values), &values));
    mgk_status status = recipe->compute(checkpoint, &model->config, recipe, parameter, values);
    if (status == STATUS_OK)
        status = put_double(checkpoint, model, parameter, values);
    mgk_free(values);
    return status;
}

/* The values are zeroed already. */
mgk_status mgk_recipe_zeros(const mgk_checkpoint *checkpoint, const mgk_config *config,
                            const mgk_recipe *recipe, const mgk_parameter *parameter,
                            double *values)
{
    (void)checkpoint, (void)config, (void)recipe, (void)parameter, (void)values;
    return STATUS_OK;
}

mgk_status mgk_recipe_follow(const mgk_checkpoint *checkpoint, const mgk_recipe *recipe,
                             const mgk_parameter *parameter, const mgk_model *model)
{
    const mgk_tensor_info *tensor;
    mgk_recipe own;
    mgk_parameter rows;
    for (size_t i = 0; i < recipe->tensors; i++) {
        split(recipe, parameter, i, &own, &rows);
        TRY(mgk_recipe_follow(checkpoint, &own, &rows, model));
    }
    if (recipe->tensors > 0)
        return STATUS_OK;
    if (recipe->compute)
        return compute(checkpoint, recipe, parameter, model);
    TRY(find_tensor(checkpoint, recipe, parameter, &tensor));
    if (recipe->transposed)
        return copy_columns(checkpoint, recipe, parameter, tensor, model);
    return copy_rows(checkpoint, recipe, parameter, tensor, model);
}
