/*
 * Targets of fuzzing. Each defines LLVMFuzzerTestOneInput, which gives bytes to a reader and does
 * with the result what programs do; libFuzzer calls it with bytes of its own making, replay.c with
 * files.
 */
#ifndef MGK_TESTS_FUZZ_H
#define MGK_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { FUZZ_PATH = 256 };

/* A file in memory that holds the bytes: its path, and its descriptor, which closes it. */
int fuzz_file_open(const uint8_t *bytes, size_t size, char path[FUZZ_PATH]);
void fuzz_file_close(int file);

/* A folder of this process, which removes it with all its files as it ends. */
const char *fuzz_folder(void);

/* The path of a file in that folder. */
void fuzz_path(const char *name, char path[FUZZ_PATH]);

/* Writes a file of that folder; without bytes (NULL) there is none of that name. */
void fuzz_write(const char *name, const uint8_t *bytes, size_t size);

/* The files that an input stands for: its parts, which zero bytes divide. */
typedef struct fuzz_parts {
    const uint8_t *bytes; /* what is left; NULL: nothing */
    size_t size;
} fuzz_parts;

/* The next part [*size]; NULL behind the last one. */
const uint8_t *fuzz_next_part(fuzz_parts *parts, size_t *size);

#endif
