/* Recordings of the CPU, the same for every variant; see kernels/backend.h. */
#ifndef MGK_KERNELS_CPU_RECORDING_H
#define MGK_KERNELS_CPU_RECORDING_H

#include "kernels/backend.h"

mgk_status mgk_cpu_record(mgk_device *, mgk_status (*work)(void *), void *context,
                          mgk_recording **out);
mgk_status mgk_cpu_replay(mgk_device *, mgk_recording *);
void mgk_cpu_release_recording(mgk_device *, mgk_recording *);

#endif
