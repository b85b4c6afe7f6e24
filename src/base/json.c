#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define MAX_VALUES (1 << 22)

/* Every value is the first of its container or follows a comma, so this is no less than all. */
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

mgk_status mgk_json_parse_object(const char *text, size_t length, cJSON **out)
{
    char *copy;
    *out = NULL;
    if (count_values(text, length) > MAX_VALUES)
        return mgk_fail(STATUS_FORMAT, "JSON of more than %d values", MAX_VALUES);
    if (memchr(text, '\0', length))
        return mgk_fail(STATUS_FORMAT, "JSON with a zero byte");
    /* Releases of cJSON before 1.7.18 may read past text that is not terminated. */
    TRY(mgk_alloc(length + 1, 1, &copy));
    memcpy(copy, text, length);
    cJSON *object = cJSON_ParseWithOpts(copy, NULL, 1);
    mgk_free(copy);
    if (!cJSON_IsObject(object)) {
        cJSON_Delete(object);
        return mgk_fail(STATUS_FORMAT, "not a JSON object");
    }
    mgk_status status = mgk_json_check_keys(object);
    if (status == STATUS_OK)
        *out = object;
    else
        cJSON_Delete(object);
    return status;
}
