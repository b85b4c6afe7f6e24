/* Memory operations of the CPU, the same for every variant; see kernels/backend.h. */
#ifndef MGK_KERNELS_CPU_MEMORY_H
#define MGK_KERNELS_CPU_MEMORY_H

#include "kernels/backend.h"

mgk_status mgk_cpu_allocate(mgk_device *, size_t bytes, void *out);
void mgk_cpu_release(mgk_device *, void *array);
/* Host and device memory are one, so this is upload, download and copy. */
mgk_status mgk_cpu_copy(mgk_device *, void *destination, const void *source, size_t bytes);
mgk_status mgk_cpu_zero(mgk_device *, void *array, size_t bytes);
mgk_status mgk_cpu_synchronize(mgk_device *);

#endif
