/* SPDX-License-Identifier: MIT */
/* Checks of a caller's arguments. */
#ifndef MGK_RUN_ARGUMENTS_H
#define MGK_RUN_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* STATUS_USAGE: the place for a result is NULL, an array of count > 0 elements is NULL, or one of
 * `count` names is NULL. The message names it. */
mgk_status mgk_check_place(const char *what, const void *place);
mgk_status mgk_check_array(const char *what, const void *array, size_t count);
mgk_status mgk_check_names(const char *what, const char *const *names, size_t count);

/* STATUS_USAGE: a name ends as files of another kind do, which would mislead people and programs.
 * what: "an attention store is HDF5"; own: its usual ending, ".h5". Other names are as one likes.
 */
mgk_status mgk_check_ending(const char *path, const char *what, const char *own);

/* The chosen indices below `limit`, ascending: `wanted` [count], or all if it is NULL. STATUS_SHAPE
 * names an index that does not exist ("layer 9: layers are 0 to 5"). Release *out with mgk_free. */
mgk_status mgk_choose_numbers(const char *what, const int *wanted, size_t count, int limit,
                              int32_t **out, size_t *out_count);

/* Whether `number` is among numbers [count]. */
bool mgk_is_chosen(const int32_t *numbers, size_t count, int32_t number);

#endif
