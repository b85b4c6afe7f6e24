/* Untrusted JSON, read with cJSON, and JSON in the making. */
#ifndef MGK_BASE_JSON_H
#define MGK_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Bytes of a file that is one object, at most; those of real models are below 40 MB. */
#define MGK_JSON_BYTES ((size_t)1 << 27)

/*
 * Parses exactly one value of `length` bytes, white space around it allowed; released with
 * cJSON_Delete. STATUS_FORMAT: anything else, or a zero byte inside; STATUS_MEMORY; *out is NULL.
 */
mgk_status mgk_json_parse(const char *text, size_t length, cJSON **out);

/*
 * Parses exactly one object of `length` bytes, white space around it allowed; released with
 * cJSON_Delete. STATUS_FORMAT: anything else, more than 2^22 values (cJSON takes about 100 bytes
 * for each, so memory stays below 0.5 GiB plus a few times the text), nesting deeper than
 * cJSON's limit, a zero byte inside, or a key twice in one object; STATUS_MEMORY; *out is NULL.
 */
mgk_status mgk_json_parse_object(const char *text, size_t length, cJSON **out);

/*
 * Adds an item to an object or array, which takes it even on failure; false: there is no memory,
 * for it or for what should have been made before (NULL).
 */
bool mgk_json_add(cJSON *object, const char *name, cJSON *item);
bool mgk_json_append(cJSON *array, cJSON *item);

/* STATUS_FORMAT where an object in `value`, itself included, has a key twice. */
mgk_status mgk_json_check_keys(const cJSON *value);

#endif
