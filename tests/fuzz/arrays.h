/* What the targets of array files share. */
#ifndef MGK_TESTS_FUZZ_ARRAYS_H
#define MGK_TESTS_FUZZ_ARRAYS_H

/*
 * Does with a file all that programs do with arrays: lists them, reads matrices by name, by pattern
 * and without, and the tokens of a store, or ids.
 */
void fuzz_arrays(const char *path);

#endif
