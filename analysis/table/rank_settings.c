/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/table/rank_table.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

/* The paths in one line; released with free. */
static char *join_paths(const mgk_rank_settings *settings)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return NULL;
    for (size_t i = 0; i < settings->origin_count; i++)
        fprintf(stream, "%s%s", i > 0 ? ", " : "", settings->origins[i].path);
    if (mgk_close_text(stream))
        return text;
    free(text);
    return NULL;
}

/* Adds the inputs; false without memory. */
static bool add_origins(cJSON *object, const mgk_rank_settings *settings)
{
    char *line = join_paths(settings);
    bool added = line && cJSON_AddStringToObject(object, "input", line);
    cJSON *paths = cJSON_AddArrayToObject(object, "inputs");
    cJSON *hashes = cJSON_AddArrayToObject(object, "model_sha256");
    for (size_t i = 0; i < settings->origin_count; i++) {
        const mgk_rank_origin *origin = &settings->origins[i];
        added = added && mgk_json_append(paths, cJSON_CreateString(origin->path)) &&
                mgk_json_append(hashes, *origin->sha256 ? cJSON_CreateString(origin->sha256)
                                                        : cJSON_CreateNull());
    }
    free(line);
    return added && paths && hashes;
}

mgk_status mgk_rank_table_settings(const mgk_rank_table *table, char **text)
{
    mgk_status status = STATUS_OK;
    const mgk_rank_settings *settings = &table->settings;
    char seed[24], *printed = NULL;
    cJSON *object = cJSON_CreateObject();
    *text = NULL;
    snprintf(seed, sizeof(seed), "%" PRIu64, settings->seed);
    if (add_origins(object, settings) &&
        cJSON_AddStringToObject(object, "method", settings->method) &&
        cJSON_AddBoolToObject(object, "relative", settings->relative) &&
        cJSON_AddStringToObject(object, "seed", seed) &&
        cJSON_AddNumberToObject(object, "matrices_per_layer",
                                (double)settings->matrices_per_layer) &&
        mgk_json_add(object, "thresholds",
                     cJSON_CreateDoubleArray(table->thresholds, (int)table->threshold_count)) &&
        (!settings->run || cJSON_AddRawToObject(object, "run", settings->run)))
        printed = cJSON_PrintUnformatted(object);
    status = printed ? mgk_copy_string(printed, text)
                     : mgk_fail(STATUS_MEMORY, "no memory for the settings of a rank table");
    cJSON_free(printed);
    cJSON_Delete(object);
    return status;
}

/* A missing number reads as 0. */
static mgk_status read_integer(const cJSON *object, const char *name, size_t *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    *out = 0;
    if (!item)
        return STATUS_OK;
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > INT32_MAX ||
        item->valuedouble != floor(item->valuedouble))
        return mgk_fail(STATUS_FORMAT, "\"%s\" is not a whole number from 0 to %d", name,
                        INT32_MAX);
    *out = (size_t)item->valuedouble;
    return STATUS_OK;
}

/* A missing string reads as "". */
static mgk_status read_string(const cJSON *object, const char *name, size_t room, char *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    *out = '\0';
    if (!item)
        return STATUS_OK;
    if (!cJSON_IsString(item) || strlen(item->valuestring) >= room)
        return mgk_fail(STATUS_FORMAT, "\"%s\" is not a string of at most %zu bytes", name,
                        room - 1);
    memcpy(out, item->valuestring, strlen(item->valuestring) + 1);
    return STATUS_OK;
}

static mgk_status read_origin(const cJSON *path, const cJSON *hash, mgk_rank_origin *out)
{
    if (!cJSON_IsString(path))
        return mgk_fail(STATUS_FORMAT, "\"inputs\" holds more than strings");
    TRY(mgk_copy_string(path->valuestring, &out->path));
    if (cJSON_IsString(hash) && mgk_sha256_is_hex(hash->valuestring))
        memcpy(out->sha256, hash->valuestring, sizeof(out->sha256));
    return STATUS_OK;
}

/* Files of earlier versions do not list their inputs. */
static mgk_status read_origins(const cJSON *settings, mgk_rank_settings *out)
{
    const cJSON *paths = cJSON_GetObjectItemCaseSensitive(settings, "inputs"), *path;
    const cJSON *hashes = cJSON_GetObjectItemCaseSensitive(settings, "model_sha256");
    const cJSON *hash = cJSON_IsArray(hashes) ? hashes->child : NULL;
    if (!paths)
        return STATUS_OK;
    if (!cJSON_IsArray(paths))
        return mgk_fail(STATUS_FORMAT, "\"inputs\" is not an array");
    TRY(mgk_alloc((size_t)cJSON_GetArraySize(paths), sizeof(*out->origins), &out->origins));
    cJSON_ArrayForEach(path, paths)
    {
        TRY(read_origin(path, hash, &out->origins[out->origin_count++]));
        hash = hash ? hash->next : NULL;
    }
    return STATUS_OK;
}

/* Files of earlier versions, and CSV files, have no "run". */
static mgk_status read_run(const cJSON *settings, char **out)
{
    const cJSON *run = cJSON_GetObjectItemCaseSensitive(settings, "run");
    if (!cJSON_IsObject(run))
        return STATUS_OK;
    char *text = cJSON_PrintUnformatted(run);
    mgk_status status =
        text ? mgk_copy_string(text, out) : mgk_fail(STATUS_MEMORY, "no memory for the settings");
    cJSON_free(text);
    return status;
}

static mgk_status read_settings(const cJSON *settings, mgk_rank_settings *out)
{
    char seed[24];
    if (!cJSON_IsObject(settings))
        return mgk_fail(STATUS_FORMAT, "no object \"settings\"");
    TRY(read_origins(settings, out));
    TRY(read_run(settings, &out->run));
    TRY(read_string(settings, "method", sizeof(out->method), out->method));
    TRY(read_string(settings, "seed", sizeof(seed), seed));
    if (seed[strspn(seed, "0123456789")] != '\0')
        return mgk_fail(STATUS_FORMAT, "\"seed\" is not a string of digits");
    out->seed = strtoull(seed, NULL, 10);
    out->relative = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(settings, "relative"));
    return read_integer(settings, "matrices_per_layer", &out->matrices_per_layer);
}

mgk_status mgk_rank_settings_parse(const char *text, mgk_rank_settings *out)
{
    *out = (mgk_rank_settings){0};
    cJSON *settings;
    TRY(mgk_json_parse(text, strlen(text), &settings));
    mgk_status status = read_settings(settings, out);
    cJSON_Delete(settings);
    return status;
}
