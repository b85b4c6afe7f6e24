/* SPDX-License-Identifier: MIT */
/* Requirements of a comparison with LAPACK. */
#ifndef MGK_BENCH_RANK_KERNELS_H
#define MGK_BENCH_RANK_KERNELS_H

/*
 * Requires a comparison with LAPACK at its best: the OpenBLAS that the program is linked with,
 * which chooses its own kernels, must use the same ones as the toolkit, and they must use all that
 * the processor has. Sets it to one thread; otherwise prints the reason and exits.
 */
void bench_require_kernels(const char *program);

#endif
