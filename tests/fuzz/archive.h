/* SPDX-License-Identifier: MIT */
/* PyTorch's ZIP container for targets of fuzzing. */
#ifndef MGK_TESTS_FUZZ_ARCHIVE_H
#define MGK_TESTS_FUZZ_ARCHIVE_H

#include "fuzz/fuzz.h"

/*
 * As fuzz_file_open, but bytes that are no archive are a pickle, which is put into an archive with
 * two storages: the archive's checksums would otherwise stop the fuzzer.
 */
int fuzz_archive_open(const uint8_t *bytes, size_t size, char path[FUZZ_PATH]);

#endif
