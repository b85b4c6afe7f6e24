/* SPDX-License-Identifier: MIT */
/* Reads elements of a tensor in row-major order, for any order of storage. */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "model/containers/tensors_private.h"
#include "model/formats/elements.h"

static bool is_row_major(const mgk_stored_tensor *tensor)
{
    size_t stride = 1;
    for (int axis = tensor->info.axes - 1; axis >= 0; axis--) {
        size_t length = tensor->info.shape[axis];
        if (length > 1 && tensor->strides[axis] != stride)
            return false;
        stride *= length;
    }
    return true;
}

typedef struct reading {
    const mgk_tensors_part *part;
    const mgk_stored_tensor *tensor;
    const unsigned char *span; /* of a strided tensor; NULL: reads each element separately */
} reading;

static mgk_status read_row_major(const void *context, size_t first, size_t count, void *bytes)
{
    const reading *r = context;
    const mgk_stored_tensor *tensor = r->tensor;
    size_t start = tensor->offset * mgk_dtype_size(tensor->info.dtype);
    return r->part->read(r->part->file, tensor->storage, start + first, count, bytes);
}

/* Elements from the first to the last one. */
static size_t span_length(const mgk_stored_tensor *tensor)
{
    size_t last = 0;
    for (int axis = 0; axis < tensor->info.axes; axis++)
        last += (tensor->info.shape[axis] - 1) * tensor->strides[axis];
    return last + 1;
}

/* Whether elements are so far apart that reading each is faster than reading the span. */
static bool is_sparse(const mgk_stored_tensor *tensor)
{
    enum { SMALL = 1 << 20, FAR = 1 << 10 };
    size_t length = span_length(tensor);
    return length > SMALL && length / FAR > tensor->info.count;
}

/* Keeps the span until another tensor is read, because tensors are read in pieces. */
static mgk_status read_span(reading *r, mgk_tensors_span *span)
{
    const mgk_stored_tensor *tensor = r->tensor;
    size_t size = mgk_dtype_size(tensor->info.dtype), length = span_length(tensor);
    if (span->tensor != tensor) {
        mgk_free(span->bytes);
        span->tensor = NULL;
        TRY(mgk_alloc(length, size, &span->bytes));
        TRY(r->part->read(r->part->file, tensor->storage, tensor->offset * size, length * size,
                          span->bytes));
        span->tensor = tensor;
    }
    r->span = span->bytes;
    return STATUS_OK;
}

static mgk_status read_element(const reading *r, size_t place, size_t size, unsigned char *out)
{
    if (r->span) {
        memcpy(out, r->span + place * size, size);
        return STATUS_OK;
    }
    return r->part->read(r->part->file, r->tensor->storage, (r->tensor->offset + place) * size,
                         size, out);
}

/* Copies elements; increments the index of the previous element instead of dividing. */
static mgk_status gather(const void *context, size_t first, size_t count, void *bytes)
{
    const reading *r = context;
    const mgk_tensor_info *info = &r->tensor->info;
    const size_t *strides = r->tensor->strides;
    size_t size = mgk_dtype_size(info->dtype), index[MGK_MAX_AXES], place = 0;
    unsigned char *next = bytes;
    size_t rest = first / size;
    for (int axis = info->axes - 1; axis >= 0; axis--) {
        index[axis] = rest % info->shape[axis];
        rest /= info->shape[axis];
        place += index[axis] * strides[axis];
    }
    for (size_t i = 0; i < count / size; i++) {
        TRY(read_element(r, place, size, next));
        next += size;
        int axis = info->axes - 1;
        for (; axis >= 0; axis--) {
            place += strides[axis];
            if (++index[axis] < info->shape[axis])
                break;
            place -= index[axis] * strides[axis];
            index[axis] = 0;
        }
    }
    return STATUS_OK;
}

mgk_status mgk_tensors_read(const mgk_tensors *tensors, const mgk_tensor_info *tensor, size_t first,
                            size_t count, mgk_dtype type, void *values)
{
    const mgk_stored_tensor *stored = (const mgk_stored_tensor *)tensor;
    reading r = {.part = &tensors->parts[stored->part], .tensor = stored};
    mgk_elements elements = {.path = r.part->path,
                             .name = tensor->name,
                             .dtype = tensor->dtype,
                             .read = read_row_major,
                             .context = &r};
    if (first > tensor->count || count > tensor->count - first)
        return mgk_fail(STATUS_USAGE, "%s: tensor \"%.200s\" has only %zu %s", r.part->path,
                        tensor->name, tensor->count,
                        MGK_NOUN(tensor->count, "element", "elements"));
    if (count > 0 && mgk_dtype_is_real(tensor->dtype) && !is_row_major(stored)) {
        elements.read = gather;
        if (!is_sparse(stored))
            TRY(read_span(&r, tensors->span));
    }
    return mgk_elements_read(&elements, first, count, type, values);
}

mgk_status mgk_tensors_read_integers(const mgk_tensors *tensors, const mgk_tensor_info *tensor,
                                     int64_t *values)
{
    const mgk_stored_tensor *stored = (const mgk_stored_tensor *)tensor;
    const reading r = {.part = &tensors->parts[stored->part], .tensor = stored};
    if (tensor->dtype != MGK_DTYPE_I64 || !is_row_major(stored))
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: tensor \"%.200s\" has elements of type %s, expected I64 in order",
                        r.part->path, tensor->name, mgk_dtype_name(tensor->dtype));
    return read_row_major(&r, 0, tensor->count * sizeof(*values), values);
}
