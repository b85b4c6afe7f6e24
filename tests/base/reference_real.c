/* SPDX-License-Identifier: MIT */
#include "base/reference_real.h"

#include <stdio.h>
#include <stdlib.h>

void reference_real(double value, char text[REFERENCE_REAL])
{
    int digits = 15;
    do
        snprintf(text, REFERENCE_REAL, "%.*g", digits, value);
    while (digits++ < 17 && strtod(text, NULL) != value);
}
