/* What a comparison with LAPACK asks of the machine. */
#ifndef MGK_BENCH_RANK_KERNELS_H
#define MGK_BENCH_RANK_KERNELS_H

/*
 * LAPACK is to be compared at its best: the OpenBLAS that the program is linked with, which chose
 * for itself, must have the kernels of the toolkit's, and these all that the processor has. Sets it
 * to one thread; otherwise says what is wrong and exits.
 */
void bench_require_kernels(const char *program);

#endif
