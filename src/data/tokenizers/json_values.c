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
