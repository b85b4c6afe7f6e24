/* SPDX-License-Identifier: MIT */
#include "kernels/rows.h"

#include "kernels/cpu/variant.h"

mgk_status mgk_row_kernels_choose(const mgk_row_kernels **out)
{
    mgk_cpu_variant variant;
    TRY(mgk_cpu_choose_variant(&variant));
    *out = variant.rows;
    return STATUS_OK;
}
