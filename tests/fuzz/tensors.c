/* SPDX-License-Identifier: MIT */
#include "fuzz/tensors.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/containers/tensors.h"

enum { LARGE = 1 << 16 }; /* elements */

static void check(bool true_always)
{
    if (!true_always)
        abort();
}

static void read_tensor(const mgk_tensors *tensors, const mgk_tensor_info *tensor)
{
    size_t count = tensor->count < LARGE ? tensor->count : LARGE;
    double *values;
    check(mgk_alloc(count, sizeof(*values), &values) == STATUS_OK);
    if (mgk_tensors_read(tensors, tensor, 0, count, MGK_DTYPE_F64, values) == STATUS_OK)
        for (size_t i = 0; i < count; i++)
            check(isfinite(values[i]));
    size_t last = tensor->count ? tensor->count - 1 : 0;
    mgk_tensors_read(tensors, tensor, last, tensor->count - last, MGK_DTYPE_F32, values);
    mgk_free(values);
}

void fuzz_tensors(const char *path)
{
    mgk_tensors *tensors;
    double number;
    if (mgk_tensors_open(path, &tensors) != STATUS_OK) {
        check(!tensors);
        return;
    }
    for (size_t i = 0; i < mgk_tensors_count(tensors); i++) {
        const mgk_tensor_info *tensor = mgk_tensors_at(tensors, i);
        check(mgk_tensors_find(tensors, tensor->name) == tensor);
        read_tensor(tensors, tensor);
    }
    for (size_t i = 0; i < mgk_tensors_value_count(tensors); i++) {
        const mgk_tensors_value *value = mgk_tensors_value_at(tensors, i);
        check(mgk_tensors_text(tensors, value->name) || mgk_tensors_class(tensors, value->name) ||
              mgk_tensors_number(tensors, value->name, &number));
    }
    mgk_tensors_close(tensors);
}
