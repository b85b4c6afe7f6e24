/* SPDX-License-Identifier: MIT */
/* Shared by the targets of array files. */
#ifndef MGK_TESTS_FUZZ_ARRAYS_H
#define MGK_TESTS_FUZZ_ARRAYS_H

/* Does all that programs do with arrays in a file: lists them, reads matrices by name, by pattern
 * and without a name, and the tokens of a store, or ids. */
void fuzz_arrays(const char *path);

#endif
