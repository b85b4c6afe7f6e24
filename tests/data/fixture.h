/* SPDX-License-Identifier: MIT */
/* A temporary folder for each test, and short functions to fill it and to open datasets. */
#ifndef MGK_TESTS_DATA_FIXTURE_H
#define MGK_TESTS_DATA_FIXTURE_H

#include "data/datasets/dataset.h"
#include "test.h"

/* A test in its own folder, which is removed with its files afterwards. */
#define folder_test(function) cmocka_unit_test_setup_teardown(function, make_folder, remove_folder)

int make_folder(void **state);
int remove_folder(void **state);

/* Path of `name` in the test's folder; valid until the test ends. */
const char *path_of(void **state, const char *name);

/* Writes a file of `size` bytes; returns its path as above. */
const char *write_bytes(void **state, const char *name, const void *bytes, size_t size);
const char *write_text(void **state, const char *name, const char *text);

/* The defaults of the task with one path (NULL: none) and the length. */
mgk_dataset_options options_for(mgk_task task, const char *const *path, size_t length);

mgk_dataset *open_ok(const mgk_dataset_options *options);

/* Opening fails with this status, returns no dataset, and the one-line message contains `part`. */
void assert_refused(const mgk_dataset_options *options, mgk_status expected, const char *part);

/* Two datasets give the same samples 0 ... count - 1. */
void assert_same_samples(const mgk_dataset *a, const mgk_dataset *b, uint64_t count);

#endif
