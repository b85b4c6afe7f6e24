/* SPDX-License-Identifier: MIT */
#include "kernels/kept_view.h"

#include "base/memory.h"

enum { QUERIES, KEYS, VALUES, EXTRA, KINDS };

/* Vectors of `count` tokens: token t's vector of `width` numbers starts at first[t stride]. */
typedef struct token_vectors {
    const void *first;
    size_t stride, width, count;
} token_vectors;

/* The offset of the vectors in the rows that start with `others`, in numbers; the stride if they
 * are elsewhere. */
static size_t find_in_rows(const mgk_device *device, const token_vectors *others,
                           const token_vectors *vectors)
{
    const size_t offset =
        ((uintptr_t)vectors->first - (uintptr_t)others->first) / device->real_size;
    const bool found = vectors->stride == others->stride && offset < others->stride &&
                       offset + vectors->width <= others->stride;
    return found ? offset : others->stride;
}

/* Copies the vectors to *out, which the first call allocates for `room` tokens. */
static mgk_status copy_rows(mgk_device *device, const token_vectors *vectors, size_t room,
                            void **out)
{
    const size_t stride = vectors->stride;
    size_t bytes;
    TRY(mgk_multiply(room, stride * device->real_size, &bytes));
    if (!*out)
        TRY(device->op->allocate(device, bytes, out));
    return device->op->copy(device, *out, vectors->first,
                            ((vectors->count - 1) * stride + vectors->width) * device->real_size);
}

mgk_status mgk_kept_view_take(mgk_device *device, const mgk_attention_view *view,
                              const mgk_kept_room *room, mgk_kept_view *kept)
{
    const size_t heads = (size_t)view->heads, samples = (size_t)view->samples;
    const size_t width = heads * (size_t)view->dim;
    const size_t count = samples * (size_t)view->tokens;
    const size_t keys = samples * (size_t)mgk_view_keys(view);
    token_vectors vectors[KINDS] = {
        {view->query, view->query_stride, width, count},
        {view->key, view->key_stride, (size_t)view->mixtures * width, keys},
        {view->value, view->value_stride, heads * (size_t)mgk_view_value_dim(view), keys},
        {view->extra, view->extra_stride, view->extra_width, count}};
    const void **places[KINDS] = {&kept->view.query, &kept->view.key, &kept->view.value,
                                  &kept->view.extra};
    const bool wanted[KINDS] = {true, true, room->values, view->extra_width > 0};
    int owners[KINDS]; /* vectors whose rows contain those of a kind */
    size_t offsets[KINDS] = {0};
    for (int i = 0; i < KINDS; i++) {
        owners[i] = i;
        for (int j = i - 1; wanted[i] && j >= 0; j--) {
            const size_t offset = find_in_rows(device, &vectors[j], &vectors[i]);
            if (!wanted[j] || owners[j] != j || offset == vectors[j].stride)
                continue;
            owners[i] = j;
            offsets[i] = offset;
        }
        token_vectors *rows = &vectors[owners[i]];
        if (wanted[i] && offsets[i] + vectors[i].width > rows->width)
            rows->width = offsets[i] + vectors[i].width;
    }
    kept->view = *view;
    for (int i = 0; i < KINDS; i++) {
        const bool of_queries = i == QUERIES || i == EXTRA;
        if (!wanted[i])
            continue;
        if (owners[i] == i)
            TRY(copy_rows(device, &vectors[i], of_queries ? room->tokens : room->key_tokens,
                          &kept->rows[i]));
        *places[i] = mgk_at(device, kept->rows[owners[i]], offsets[i]);
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
