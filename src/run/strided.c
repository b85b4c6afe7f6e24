/* SPDX-License-Identifier: MIT */
#include "run/strided.h"

#include <string.h>

void mgk_copy_strided(const char *from, ptrdiff_t stride, bool single, size_t n, double *out)
{
    for (size_t j = 0; j < n; j++, from += stride) {
        float narrow;
        if (single) {
            memcpy(&narrow, from, sizeof(narrow));
            out[j] = (double)narrow;
        } else {
            memcpy(&out[j], from, sizeof(*out));
        }
    }
}
