/*
 * Targets of fuzzing. Each defines LLVMFuzzerTestOneInput, which gives bytes to a reader and does
 * with the result what programs do; libFuzzer calls it with bytes of its own making, replay.c with
 * files.
 */
#ifndef MGK_TESTS_FUZZ_H
#define MGK_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { FUZZ_PATH = 64 };

/* A file in memory that holds the bytes: its path, and its descriptor, which closes it. */
int fuzz_file_open(const uint8_t *bytes, size_t size, char path[FUZZ_PATH]);
void fuzz_file_close(int file);

#endif
