/* Opening the CPU. */
#ifndef MGK_KERNELS_CPU_DEVICE_H
#define MGK_KERNELS_CPU_DEVICE_H

#include "kernels/backend.h"

/*
 * Opens the CPU with the variant of kernels/cpu/variant.h. OpenBLAS is set to one thread in the
 * whole process: parallelism is OpenMP's, over heads, rows and matrices.
 */
mgk_status mgk_cpu_open(mgk_precision precision, int threads, mgk_device **out);
void mgk_cpu_close(mgk_device *device);

#endif
