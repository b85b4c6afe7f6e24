/* SPDX-License-Identifier: MIT */
/* Shared by the targets of checkpoints. */
#ifndef MGK_TESTS_FUZZ_TENSORS_H
#define MGK_TESTS_FUZZ_TENSORS_H

/* Opens a checkpoint, finds each tensor by name, and reads the small ones. */
void fuzz_tensors(const char *path);

#endif
