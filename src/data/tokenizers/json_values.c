/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/json_values.h"

#include <math.h>
#include <string.h>

mgk_span mgk_json_text(const cJSON *value)
{
    if (cJSON_IsObject(value))
        value = cJSON_GetObjectItemCaseSensitive(value, "content");
    else if (cJSON_IsArray(value))
        value = value->child;
    if (!cJSON_IsString(value))
        return (mgk_span){0};
    return (mgk_span){value->valuestring, strlen(value->valuestring)};
}

bool mgk_json_absent(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    return !value || cJSON_IsNull(value);
}

mgk_status mgk_json_flag(const cJSON *object, const char *key, bool otherwise, bool *out)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    *out = otherwise;
    if (mgk_json_absent(object, key))
        return STATUS_OK;
    if (!cJSON_IsBool(value))
        return mgk_fail(STATUS_FORMAT, "\"%s\" is not true or false", key);
    *out = cJSON_IsTrue(value);
    return STATUS_OK;
}

mgk_status mgk_json_id(const cJSON *value, const char *what, int64_t *out)
{
    const double most = 1e15;
    *out = 0;
    if (!cJSON_IsNumber(value) || !(fabs(value->valuedouble) <= most) ||
        value->valuedouble != floor(value->valuedouble))
        return mgk_fail(STATUS_FORMAT, "\"%.64s\": the id is not a whole number", what);
    *out = (int64_t)value->valuedouble;
    return STATUS_OK;
}

mgk_status mgk_json_vocabulary(const cJSON *object, mgk_vocabulary *vocabulary)
{
    const cJSON *child;
    if (!cJSON_IsObject(object))
        return mgk_fail(STATUS_FORMAT, "the vocabulary is not an object of tokens and ids");
    cJSON_ArrayForEach(child, object)
    {
        int64_t id;
        TRY(mgk_json_id(child, child->string, &id));
        TRY(mgk_vocabulary_set(vocabulary, id, (mgk_span){child->string, strlen(child->string)}));
    }
    return STATUS_OK;
}

bool mgk_json_is_type(const cJSON *step, const char *name)
{
    return mgk_span_equals(mgk_json_text(cJSON_GetObjectItemCaseSensitive(step, "type")), name);
}

mgk_status mgk_json_refuse(const char *what, const cJSON *step)
{
    mgk_span type = mgk_json_text(cJSON_GetObjectItemCaseSensitive(step, "type"));
    char quoted[MGK_QUOTE_SIZE];
    if (!type.data)
        return mgk_fail(STATUS_FORMAT, "\"%s\" has no type", what);
    return mgk_fail(STATUS_UNSUPPORTED, "%s \"%s\" is not known: give ids with `tokens`", what,
                    mgk_quote(type, quoted));
}

mgk_status mgk_json_pattern(const cJSON *step, mgk_span *text, bool *literal)
{
    const cJSON *pattern = cJSON_GetObjectItemCaseSensitive(step, "pattern");
    const cJSON *regex = cJSON_GetObjectItemCaseSensitive(pattern, "Regex");
    *text = mgk_json_text(regex ? regex : cJSON_GetObjectItemCaseSensitive(pattern, "String"));
    *literal = !regex;
    if (text->data)
        return STATUS_OK;
    return mgk_fail(STATUS_FORMAT, "a step without \"pattern\", an expression or a text");
}
