/* SPDX-License-Identifier: MIT */
#include "kernels.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "kernels/blas.h"

void bench_require_kernels(const char *program)
{
    const char *linked = openblas_get_corename();
    openblas_set_num_threads(1);
    if (mgk_blas_open() != STATUS_OK) {
        fprintf(stderr, "%s: %s\n", program, mgk_fail_message());
        exit(EXIT_FAILURE);
    }
    const mgk_blas_choice *chosen = mgk_blas_chosen();
    if (chosen->below)
        fprintf(stderr, "%s: the %s kernels of OpenBLAS use less than the processor has\n", program,
                chosen->kernels);
    else if (strcmp(chosen->kernels, linked) != 0)
        fprintf(
            stderr,
            "%s: LAPACK would have the %s kernels of OpenBLAS, the toolkit has %s: compare with "
            "OPENBLAS_CORETYPE=%s in the environment\n",
            program, linked, chosen->kernels, chosen->kernels);
    else
        return;
    exit(EXIT_FAILURE);
}
