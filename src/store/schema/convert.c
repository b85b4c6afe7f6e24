/* SPDX-License-Identifier: MIT */
#include "store/schema/convert.h"

#include <stdint.h>
#include <string.h>

#include "base/half.h"

size_t mgk_real_size(mgk_store_real real)
{
    return real == STORE_F16 ? 2 : real == STORE_F32 ? 4 : 8;
}

static void widen_halves(mgk_store_real to, size_t count, const uint16_t *values, void *out)
{
    for (size_t i = 0; i < count; i++) {
        float value = mgk_float_from_f16(values[i]);
        if (to == STORE_F32)
            ((float *)out)[i] = value;
        else
            ((double *)out)[i] = (double)value;
    }
}

void mgk_convert_reals(mgk_store_real from, mgk_store_real to, size_t count, const void *values,
                       void *out)
{
    const float *single = values;
    const double *wide = values;
    if (from == to)
        memcpy(out, values, count * mgk_real_size(to));
    else if (from == STORE_F16)
        widen_halves(to, count, values, out);
    else if (from == STORE_F32 && to == STORE_F64)
        for (size_t i = 0; i < count; i++)
            ((double *)out)[i] = (double)single[i];
    else if (from == STORE_F64 && to == STORE_F32)
        for (size_t i = 0; i < count; i++)
            ((float *)out)[i] = (float)wide[i];
    else if (from == STORE_F32)
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)out)[i] = mgk_f16_from_float(single[i]);
    else
        for (size_t i = 0; i < count; i++)
            ((uint16_t *)out)[i] = mgk_f16_from_double(wide[i]);
}
