/* What the targets of array files share. */
#ifndef MGK_TESTS_FUZZ_ARRAYS_H
#define MGK_TESTS_FUZZ_ARRAYS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Does with a file of these bytes all that programs do with arrays of others: lists it, reads
 * matrices by name, by pattern and without, and token ids.
 */
void fuzz_arrays(const uint8_t *bytes, size_t size);

#endif
