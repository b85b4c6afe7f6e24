/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/download.h"
#include "base/memory.h"

#define MAX_VALUES (1 << 22)

/* An upper bound: every value is the first of its container or follows a comma. */
static size_t count_values(const char *text, size_t length)
{
    size_t count = 1;
    for (size_t i = 0; i < length; i++)
        count += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return count;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static mgk_status check_object(const cJSON *object)
{
    mgk_status status = STATUS_OK;
    const char **keys;
    size_t count = 0;
    const cJSON *child;
    cJSON_ArrayForEach(child, object) count++;
    TRY(mgk_alloc(count + 1, sizeof(*keys), &keys));
    count = 0;
    cJSON_ArrayForEach(child, object) keys[count++] = child->string;
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(keys[i - 1], keys[i]) == 0) {
            status = mgk_fail(STATUS_FORMAT, "\"%.200s\" stands twice", keys[i]);
            break;
        }
    }
    mgk_free(keys);
    return status;
}

mgk_status mgk_json_check_keys(const cJSON *value)
{
    const cJSON *child;
    if (cJSON_IsObject(value))
        TRY(check_object(value));
    cJSON_ArrayForEach(child, value) TRY(mgk_json_check_keys(child));
    return STATUS_OK;
}

static mgk_status fail_text(const char *text, size_t length, const char *message)
{
    const char *left = mgk_download_left(text, length);
    return mgk_fail(STATUS_FORMAT, "%s", left ? left : message);
}

/* Whether a string has the escape of a zero byte, at which cJSON's strings would end. */
static bool escapes_zero(const char *text, size_t length)
{
    for (size_t i = 0; i + 6 <= length; i++)
        if (text[i] == '\\' && memcmp(text + ++i, "u0000", 5) == 0)
            return true;
    return false;
}

mgk_status mgk_json_parse(const char *text, size_t length, cJSON **out)
{
    char *copy;
    *out = NULL;
    if (memchr(text, '\0', length))
        return mgk_fail(STATUS_FORMAT, "JSON with a zero byte");
    if (escapes_zero(text, length))
        return mgk_fail(STATUS_UNSUPPORTED, "JSON with \\u0000 in a string");
    /* cJSON before 1.7.18 may read beyond unterminated text. */
    TRY(mgk_alloc(length + 1, 1, &copy));
    memcpy(copy, text, length);
    errno = 0; /* malloc sets it; cJSON does not report a lack of memory */
    *out = cJSON_ParseWithOpts(copy, NULL, 1);
    const bool malformed = errno != ENOMEM;
    mgk_free(copy);
    if (*out)
        return STATUS_OK;
    return malformed ? fail_text(text, length, "not valid JSON")
                     : mgk_fail(STATUS_MEMORY, "no memory for %zu bytes of JSON", length);
}

mgk_status mgk_json_parse_object(const char *text, size_t length, cJSON **out)
{
    cJSON *object;
    *out = NULL;
    if (count_values(text, length) > MAX_VALUES)
        return mgk_fail(STATUS_FORMAT, "JSON of more than %d values", MAX_VALUES);
    mgk_status parsed = mgk_json_parse(text, length, &object);
    if (parsed == STATUS_MEMORY || parsed == STATUS_UNSUPPORTED)
        return parsed;
    if (!cJSON_IsObject(object)) {
        cJSON_Delete(object);
        return fail_text(text, length, "not a JSON object");
    }
    mgk_status status = mgk_json_check_keys(object);
    if (status == STATUS_OK)
        *out = object;
    else
        cJSON_Delete(object);
    return status;
}

bool mgk_json_add(cJSON *object, const char *name, cJSON *item)
{
    bool added = cJSON_AddItemToObject(object, name, item);
    if (!added)
        cJSON_Delete(item);
    return added;
}

bool mgk_json_append(cJSON *array, cJSON *item)
{
    bool added = cJSON_AddItemToArray(array, item);
    if (!added)
        cJSON_Delete(item);
    return added;
}

/* Copies the strings of an array, each on a line. */
static mgk_status join_strings(const cJSON *array, char **out)
{
    const cJSON *item;
    size_t size = 1, used = 0;
    cJSON_ArrayForEach(item, array)
    {
        size += cJSON_IsString(item) ? strlen(item->valuestring) + 1 : 0;
    }
    *out = NULL;
    if (size == 1)
        return STATUS_OK;
    TRY(mgk_alloc(size, 1, out));
    cJSON_ArrayForEach(item, array)
    {
        if (cJSON_IsString(item))
            used += (size_t)snprintf(*out + used, size - used, "%s%s", used > 0 ? "\n" : "",
                                     item->valuestring);
    }
    return STATUS_OK;
}

mgk_status mgk_json_warnings(const char *text, char **out)
{
    cJSON *object;
    *out = NULL;
    mgk_status status = text ? mgk_json_parse_object(text, strlen(text), &object) : STATUS_FORMAT;
    if (status != STATUS_OK)
        return status == STATUS_MEMORY ? status : STATUS_OK;
    const cJSON *run = cJSON_GetObjectItemCaseSensitive(object, "run"),
                *array = cJSON_GetObjectItemCaseSensitive(object, "warnings");
    status = join_strings(array ? array : cJSON_GetObjectItemCaseSensitive(run, "warnings"), out);
    cJSON_Delete(object);
    return status;
}
