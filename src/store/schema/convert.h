/* SPDX-License-Identifier: MIT */
/* Conversion between the element types of a store. */
#ifndef MGK_STORE_CONVERT_H
#define MGK_STORE_CONVERT_H

#include <stddef.h>

#include "store/schema/description.h"

/* Bytes of one element. */
size_t mgk_real_size(mgk_store_real real);

/* Converts `count` values, rounding to nearest, ties to even; values beyond the range become
 * infinite. The arrays must not overlap. */
void mgk_convert_reals(mgk_store_real from, mgk_store_real to, size_t count, const void *values,
                       void *out);

#endif
