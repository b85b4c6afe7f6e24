/* SPDX-License-Identifier: MIT */
/* Reads untrusted JSON with cJSON, and builds JSON. */
#ifndef MGK_BASE_JSON_H
#define MGK_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* The most bytes of a file with a single object; those of real models are below 40 MB. */
#define MGK_JSON_BYTES ((size_t)1 << 27)

/*
 * Parses exactly one value of `length` bytes, with white space around it; release with
 * cJSON_Delete. STATUS_FORMAT: anything else, or a zero byte; STATUS_UNSUPPORTED: the escape of
 * one, \u0000; STATUS_MEMORY. On failure *out is NULL.
 */
mgk_status mgk_json_parse(const char *text, size_t length, cJSON **out);

/*
 * Parses exactly one object of `length` bytes, with white space around it; release with
 * cJSON_Delete. STATUS_FORMAT: anything else, more than 2^22 values (cJSON takes about 100 bytes
 * per value, so memory stays below 0.5 GiB plus a few times the text), nesting deeper than cJSON's
 * limit, a zero byte, or a repeated key in an object; STATUS_UNSUPPORTED, STATUS_MEMORY: as above.
 * On failure *out is NULL.
 */
mgk_status mgk_json_parse_object(const char *text, size_t length, cJSON **out);

/*
 * Adds an item to an object or array, which owns it even on failure. False without memory: for the
 * item, or because an argument could not be created (NULL).
 */
bool mgk_json_add(cJSON *object, const char *name, cJSON *item);
bool mgk_json_append(cJSON *array, cJSON *item);

/*
 * The strings of the array "warnings" of an object, or of its member "run", from the text of the
 * object: a line for each, without a line end at the last; release with mgk_free. NULL: there are
 * none, or the text is no such object. STATUS_MEMORY.
 */
mgk_status mgk_json_warnings(const char *text, char **out);

/* STATUS_FORMAT if `value`, or an object in it, has a repeated key. */
mgk_status mgk_json_check_keys(const cJSON *value);

#endif
