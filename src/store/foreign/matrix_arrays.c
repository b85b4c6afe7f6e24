/* SPDX-License-Identifier: MIT */
#include "store/foreign/matrix_arrays.h"

#include <string.h>

#include "base/memory.h"

mgk_status mgk_add_matrices(mgk_matrix_arrays *arrays, const char *name, mgk_matrix_array **out)
{
    mgk_matrix_array *more, *old = arrays->at;
    size_t count = arrays->count;
    TRY(mgk_alloc(count + 1, sizeof(*more), &more));
    if (count > 0)
        memcpy(more, old, count * sizeof(*more));
    mgk_free(old);
    arrays->at = more;
    *out = &more[count];
    (*out)->dataset.id = H5I_INVALID_HID;
    TRY(mgk_copy_string(name, &(*out)->name));
    arrays->count++;
    return STATUS_OK;
}

void mgk_free_matrices(mgk_matrix_arrays *arrays)
{
    for (size_t i = 0; i < arrays->count; i++)
        mgk_free(arrays->at[i].name);
    mgk_free(arrays->at);
}
