/* SPDX-License-Identifier: MIT */
#include "kernels/kept_view.h"

#include "base/memory.h"

enum { QUERIES, KEYS, VALUES, KINDS };

/* Vectors of all tokens: token t's vector of `width` numbers starts at first[t stride]. */
typedef struct token_vectors {
    const void *first;
    size_t stride, width;
} token_vectors;

/* The offset of the vectors in the rows that start with `queries`, in numbers; the stride if they
 * are elsewhere. */
static size_t find_in_rows(const mgk_device *device, const token_vectors *queries,
                           const token_vectors *vectors)
{
    const size_t offset =
        ((uintptr_t)vectors->first - (uintptr_t)queries->first) / device->real_size;
    const bool found = vectors->stride == queries->stride && offset < queries->stride &&
                       offset + vectors->width <= queries->stride;
    return found ? offset : queries->stride;
}

/* Copies the vectors of `count` tokens to *out, which the first call allocates for `room`
 * tokens. */
static mgk_status copy_rows(mgk_device *device, const token_vectors *vectors, size_t count,
                            size_t room, void **out)
{
    const size_t stride = vectors->stride;
    size_t bytes;
    TRY(mgk_multiply(room, stride * device->real_size, &bytes));
    if (!*out)
        TRY(device->op->allocate(device, bytes, out));
    return device->op->copy(device, *out, vectors->first,
                            ((count - 1) * stride + vectors->width) * device->real_size);
}

mgk_status mgk_kept_view_take(mgk_device *device, const mgk_attention_view *view, size_t tokens,
                              bool values, mgk_kept_view *kept)
{
    const size_t width = (size_t)view->heads * (size_t)view->dim;
    const size_t count = (size_t)view->samples * (size_t)view->tokens;
    const token_vectors vectors[KINDS] = {
        {view->query, view->query_stride, width},
        {view->key, view->key_stride, (size_t)view->mixtures * width},
        {view->value, view->value_stride, width}};
    const void **places[KINDS] = {&kept->view.query, &kept->view.key, &kept->view.value};
    const int kinds = values ? KINDS : VALUES;
    token_vectors shared = vectors[QUERIES];
    size_t offsets[KINDS];
    for (int i = 0; i < kinds; i++) {
        offsets[i] = find_in_rows(device, &vectors[QUERIES], &vectors[i]);
        if (offsets[i] < shared.stride && offsets[i] + vectors[i].width > shared.width)
            shared.width = offsets[i] + vectors[i].width;
    }
    kept->view = *view;
    TRY(copy_rows(device, &shared, count, tokens, &kept->rows[QUERIES]));
    for (int i = 0; i < kinds; i++) {
        if (offsets[i] < shared.stride) {
            *places[i] = mgk_at(device, kept->rows[QUERIES], offsets[i]);
            continue;
        }
        TRY(copy_rows(device, &vectors[i], count, tokens, &kept->rows[i]));
        *places[i] = kept->rows[i];
    }
    return STATUS_OK;
}

void mgk_kept_view_release(mgk_device *device, mgk_kept_view *kept)
{
    for (int i = 0; i < KINDS; i++)
        if (kept->rows[i])
            device->op->release(device, kept->rows[i]);
    *kept = (mgk_kept_view){0};
}
