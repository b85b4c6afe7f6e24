/* SPDX-License-Identifier: MIT */
/* Recordings of the CPU, the same for every variant; see kernels/backend.h. */
#ifndef MGK_KERNELS_CPU_RECORDING_H
#define MGK_KERNELS_CPU_RECORDING_H

#include "kernels/backend.h"

mgk_record_fn mgk_cpu_record;
mgk_replay_fn mgk_cpu_replay;
mgk_release_recording_fn mgk_cpu_release_recording;

#endif
