/* Memory operations of the CPU and what it does not have, the same for every variant; see
 * kernels/backend.h. */
#ifndef MGK_KERNELS_CPU_MEMORY_H
#define MGK_KERNELS_CPU_MEMORY_H

#include "kernels/backend.h"

mgk_status mgk_cpu_allocate(mgk_device *, size_t bytes, void *out);
void mgk_cpu_release(mgk_device *, void *array);
/* Host and device memory are one, so this is upload, download and copy. */
mgk_status mgk_cpu_copy(mgk_device *, void *destination, const void *source, size_t bytes);
mgk_status mgk_cpu_zero(mgk_device *, void *array, size_t bytes);
mgk_status mgk_cpu_synchronize(mgk_device *);
mgk_status mgk_cpu_memory(mgk_device *, size_t *left, size_t *total);

/* The host's image of an array is the array: there is nothing to send or wait for. */
mgk_status mgk_cpu_mirror_open(mgk_device *, size_t bytes, mgk_mirror *out);
mgk_status mgk_cpu_mirror_send(mgk_device *, const mgk_mirror *);
void mgk_cpu_mirror_close(mgk_device *, mgk_mirror *);

mgk_status mgk_cpu_allow_tf32(mgk_device *);

#endif
