/* SPDX-License-Identifier: MIT */
#include "run/array_context.h"

#include <string.h>

#include "run/arguments.h"
#include "run/strided.h"

const char *mgk_array_name(const mgk_array *array)
{
    return array->name ? array->name : "array";
}

/* `what`: "values", for messages. */
static mgk_status check_vectors(const mgk_array *array, const mgk_array_vectors *v,
                                const char *what)
{
    const char *name = mgk_array_name(array);
    mgk_float_format format;
    if (!v->layers)
        return STATUS_OK;
    if (!mgk_strided_format(v->dtype, &format))
        return mgk_fail(STATUS_USAGE, "%s: `dtype` of %s is \"%s\", expected " MGK_ARRAY_DTYPES,
                        name, what, v->dtype ? v->dtype : "");
    if (v->size < 1)
        return mgk_fail(STATUS_USAGE, "%s: %s of %d numbers", name, what, v->size);
    for (size_t l = 0; l < array->layer_count; l++)
        if (!v->layers[l])
            return mgk_fail(STATUS_USAGE, "%s: layer %zu of the %s is NULL", name, l, what);
    return STATUS_OK;
}

mgk_status mgk_array_context_check(const mgk_array *array)
{
    const mgk_array_context *context = array->context;
    if (!context)
        return STATUS_OK;
    if (array->keys > 0)
        return mgk_fail(STATUS_USAGE,
                        "%s: attention of one sequence to another has no tokens, values or outputs "
                        "of one",
                        mgk_array_name(array));
    TRY(check_vectors(array, &context->values, "values"));
    TRY(check_vectors(array, &context->outputs, "outputs"));
    if (context->values.layers &&
        (context->values.heads < 1 || array->heads % context->values.heads != 0))
        return mgk_fail(STATUS_USAGE, "%s: %d heads with values of %d heads", mgk_array_name(array),
                        array->heads, context->values.heads);
    if (context->outputs.layers && context->outputs.heads != 1)
        return mgk_fail(STATUS_USAGE, "%s: outputs of %d heads, expected 1", mgk_array_name(array),
                        context->outputs.heads);
    return STATUS_OK;
}

void mgk_array_copy_vectors(const mgk_array_vectors *v, size_t layer, size_t sample, int head,
                            size_t first, size_t n, double *out)
{
    mgk_float_format format = MGK_FLOAT_F64;
    mgk_strided_format(v->dtype, &format);
    const char *at = v->layers[layer];
    at += (ptrdiff_t)sample * v->sample_stride + head * v->head_stride;
    for (size_t i = 0; i < n; i++)
        mgk_copy_strided(at + (ptrdiff_t)(first + i) * v->token_stride, v->stride, format,
                         (size_t)v->size, out + i * (size_t)v->size);
}
