#include "model/json.h"

#include <stdbool.h>
#include <string.h>

#define MAX_VALUES (1 << 22)

/* Every value but the first of its container follows a comma. */
static size_t count_commas(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += text[i] == ',';
    return count;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

mgk_status mgk_json_parse_object(const char *text, size_t length, cJSON **out)
{
    *out = NULL;
    if (count_commas(text, length) > MAX_VALUES)
        return mgk_fail(STATUS_FORMAT, "JSON of more than %d values", MAX_VALUES);
    if (memchr(text, '\0', length))
        return mgk_fail(STATUS_FORMAT, "JSON with a zero byte");
    const char *end = text;
    cJSON *object = cJSON_ParseWithLengthOpts(text, length, &end, 0);
    while (end < text + length && is_space(*end))
        end++;
    if (!cJSON_IsObject(object) || end != text + length) {
        cJSON_Delete(object);
        return mgk_fail(STATUS_FORMAT, "not a JSON object");
    }
    *out = object;
    return STATUS_OK;
}
