/* SPDX-License-Identifier: MIT */
/* The devices of a kind, where no device is open that could be asked. */
#ifndef MGK_KERNELS_ATTENTION_DEVICES_H
#define MGK_KERNELS_ATTENTION_DEVICES_H

#include "kernels/attention.h"

/* Whether a GPU has all operations of the kind; the CPU has those of all kinds. */
bool mgk_attention_on_cuda(const mgk_attention_kind *kind);

#endif
