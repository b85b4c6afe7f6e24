/* SPDX-License-Identifier: MIT */
/* The JSON form of a configuration. */
#include <cjson/cJSON.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/core/config.h"
#include "model/core/config_fields.h"

enum { SETTING_KEY = 40 };

/* The fewest digits, 15 to 17, that read back as `value`; cJSON's own form may lose a bit. */
static cJSON *exact_number(double value)
{
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    char *point = strchr(text, *localeconv()->decimal_point);
    if (point)
        *point = '.';
    return cJSON_CreateRaw(text);
}

static cJSON *field_to_json(const mgk_config *config, const mgk_config_field *f)
{
    const char *at = (const char *)config + f->offset;
    int integer;
    double real;
    bool flag;
    switch (f->kind) {
    case MGK_FIELD_NAME:
    case MGK_FIELD_KINDS:
        return cJSON_CreateString(at);
    case MGK_FIELD_CHOICE:
        memcpy(&integer, at, sizeof(integer));
        return cJSON_CreateString(f->choices[integer]);
    case MGK_FIELD_SIZE:
        memcpy(&integer, at, sizeof(integer));
        return cJSON_CreateNumber(integer);
    case MGK_FIELD_REAL:
        memcpy(&real, at, sizeof(real));
        return exact_number(real);
    case MGK_FIELD_FLAG:
        memcpy(&flag, at, sizeof(flag));
        return cJSON_CreateBool(flag);
    }
    return NULL;
}

/* False without memory, as cJSON's adders. */
static bool add_reals(cJSON *object, const char *name, const double *values, int count)
{
    cJSON *array = cJSON_AddArrayToObject(object, name);
    bool filled = true;
    for (int i = 0; i < count; i++)
        filled &= mgk_json_append(array, exact_number(values[i]));
    return filled;
}

/* The numbers of the layers that `has` finds. */
static bool add_layers(cJSON *object, const char *name, const mgk_config *config,
                       bool (*has)(const mgk_config *, int))
{
    cJSON *array = cJSON_AddArrayToObject(object, name);
    bool filled = true;
    for (int layer = 0; layer < config->layers; layer++)
        if (has(config, layer))
            filled &= mgk_json_append(array, cJSON_CreateNumber(layer));
    return filled;
}

static bool is_written(const mgk_config *config, const mgk_config_field *f)
{
    static const char zeros[sizeof(double)];
    const size_t size = f->kind == MGK_FIELD_FLAG   ? sizeof(bool)
                        : f->kind == MGK_FIELD_REAL ? sizeof(double)
                                                    : sizeof(int);
    return !f->sparse || memcmp((const char *)config + f->offset, zeros, size) != 0;
}

/* "attention_window", because "window" is that of local layers; words keep their names. */
static void name_setting(const mgk_attention_setting *row, char key[SETTING_KEY])
{
    snprintf(key, SETTING_KEY, "%s%s", row->words ? "" : "attention_", row->name);
}

static bool add_settings(cJSON *object, const mgk_config *config)
{
    bool filled = true;
    char key[SETTING_KEY];
    for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name; row++) {
        const int value = mgk_attention_setting_get(&config->settings, row);
        name_setting(row, key);
        if (value != 0)
            filled &= mgk_json_add(object, key,
                                   row->words ? cJSON_CreateString(row->words[value])
                                              : cJSON_CreateNumber(value));
    }
    return filled;
}

static bool fill_object(const mgk_config *config, cJSON *object)
{
    bool filled = true;
    for (const mgk_config_field *f = mgk_config_fields; f->name; f++) {
        if (is_written(config, f))
            filled &= mgk_json_add(object, f->name, field_to_json(config, f));
        if (f->kind == MGK_FIELD_KINDS)
            filled &= add_settings(object, config);
    }
    filled &= add_reals(object, "variance", config->variance, config->mixtures);
    if (config->picture.patch > 0) {
        filled &= add_reals(object, "image_mean", config->picture.mean, MGK_CHANNELS);
        filled &= add_reals(object, "image_std", config->picture.deviation, MGK_CHANNELS);
    }
    if (config->rotary_scaling == MGK_ROTARY_LONG) {
        filled &= add_reals(object, "rotary_short", config->rotary_short, config->rotary_dim / 2);
        filled &= add_reals(object, "rotary_long", config->rotary_long, config->rotary_dim / 2);
    }
    if (config->window > 0 || config->local_base > 0)
        filled &= add_layers(object, "local", config, mgk_config_is_local);
    if (mgk_config_has_unrotated(config))
        filled &= add_layers(object, "unrotated", config, mgk_config_is_unrotated);
    if (config->cutoff_count > 0)
        filled &= mgk_json_add(object, "cutoffs",
                               cJSON_CreateIntArray(config->cutoffs, config->cutoff_count));
    return filled;
}

mgk_status mgk_config_to_json(const mgk_config *config, char **text)
{
    mgk_status status = STATUS_OK;
    *text = NULL;
    cJSON *object = cJSON_CreateObject();
    char *printed = fill_object(config, object) ? cJSON_PrintUnformatted(object) : NULL;
    if (printed)
        status = mgk_copy_string(printed, text);
    else
        status = mgk_fail(STATUS_MEMORY, "no memory for the configuration");
    cJSON_free(printed);
    cJSON_Delete(object);
    return status;
}

/* Reads one of the words up to NULL; *value is its number. */
static mgk_status read_word(const char *name, const char *const *words, const cJSON *item,
                            int *value)
{
    if (!cJSON_IsString(item))
        return mgk_fail(STATUS_FORMAT, "%s is not a string", name);
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], item->valuestring) == 0) {
            *value = i;
            return STATUS_OK;
        }
    }
    return mgk_fail(STATUS_FORMAT, "%s has an unknown value", name);
}

static mgk_status read_integer(const char *name, const cJSON *item, int *value)
{
    if (!cJSON_IsNumber(item) || item->valuedouble != item->valueint)
        return mgk_fail(STATUS_FORMAT, "%s is not an integer", name);
    *value = item->valueint;
    return STATUS_OK;
}

static mgk_status read_field(const mgk_config_field *f, const cJSON *item, mgk_config *config)
{
    char *at = (char *)config + f->offset;
    int integer = 0;
    switch (f->kind) {
    case MGK_FIELD_NAME:
        if (!cJSON_IsString(item))
            return mgk_fail(STATUS_FORMAT, "%s is not a string", f->name);
        TRY(mgk_config_check_name(f->name, item->valuestring));
        strcpy(at, item->valuestring);
        return STATUS_OK;
    case MGK_FIELD_KINDS:
        if (!cJSON_IsString(item))
            return mgk_fail(STATUS_FORMAT, "%s is not a string", f->name);
        if (strlen(item->valuestring) >= MGK_KINDS_SIZE)
            return mgk_fail(STATUS_FORMAT, "%s is longer than %d bytes", f->name,
                            MGK_KINDS_SIZE - 1);
        strcpy(at, item->valuestring);
        return STATUS_OK;
    case MGK_FIELD_CHOICE:
        TRY(read_word(f->name, f->choices, item, &integer));
        memcpy(at, &integer, sizeof(integer));
        return STATUS_OK;
    case MGK_FIELD_SIZE:
        TRY(read_integer(f->name, item, &integer));
        memcpy(at, &integer, sizeof(integer));
        return STATUS_OK;
    case MGK_FIELD_REAL:
        if (!cJSON_IsNumber(item))
            return mgk_fail(STATUS_FORMAT, "%s is not a number", f->name);
        memcpy(at, &item->valuedouble, sizeof(item->valuedouble));
        return STATUS_OK;
    case MGK_FIELD_FLAG:
        if (!cJSON_IsBool(item))
            return mgk_fail(STATUS_FORMAT, "%s is not true or false", f->name);
        *(bool *)at = cJSON_IsTrue(item);
        return STATUS_OK;
    }
    return STATUS_OK;
}

/* Reads the array `name` of an object into values [count]; keeps them if it is missing. */
static mgk_status read_reals(const cJSON *object, const char *name, int count, double *values)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(object, name), *item;
    int i = 0;
    if (!array)
        return STATUS_OK;
    if (!cJSON_IsArray(array))
        return mgk_fail(STATUS_FORMAT, "%s is not an array", name);
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsNumber(item))
            return mgk_fail(STATUS_FORMAT, "%s[%d] is not a number", name, i);
        if (i < count)
            values[i] = item->valuedouble;
        i++;
    }
    return i == count ? STATUS_OK
                      : mgk_fail(STATUS_FORMAT, "%s has %d %s, expected %d", name, i,
                                 MGK_NOUN(i, "entry", "entries"), count);
}

static mgk_status read_cutoffs(const cJSON *array, mgk_config *config)
{
    int count = cJSON_IsArray(array) ? cJSON_GetArraySize(array) : -1;
    if (count < 0 || count > MGK_MAX_CUTOFFS)
        return mgk_fail(STATUS_FORMAT, "cutoffs is not an array of at most %d numbers",
                        MGK_MAX_CUTOFFS);
    const cJSON *item;
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsNumber(item) || item->valuedouble != item->valueint)
            return mgk_fail(STATUS_FORMAT, "cutoffs[%d] is not an integer", config->cutoff_count);
        config->cutoffs[config->cutoff_count++] = item->valueint;
    }
    return STATUS_OK;
}

/* Calls `set` for each layer whose number is in the array `name` of an object, if there is one. */
static mgk_status read_layers(const cJSON *object, const char *name, mgk_config *config,
                              void (*set)(mgk_config *, int))
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(object, name), *item;
    if (!array)
        return STATUS_OK;
    if (!cJSON_IsArray(array))
        return mgk_fail(STATUS_FORMAT, "%s is not an array", name);
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsNumber(item) || item->valuedouble != item->valueint || item->valueint < 0 ||
            item->valueint >= MGK_MAX_LAYERS)
            return mgk_fail(STATUS_FORMAT, "%s has an entry that is not the number of a layer",
                            name);
        set(config, item->valueint);
    }
    return STATUS_OK;
}

/* The factors of "long"; their number is checked before they are read. */
static mgk_status read_factors(const cJSON *object, mgk_config *config)
{
    const int dim = config->rotary_dim ? config->rotary_dim : config->head_dim;
    if (config->rotary_scaling != MGK_ROTARY_LONG || dim < 0 || dim > 2 * MGK_MAX_FREQUENCIES)
        return STATUS_OK; /* mgk_config_resolve reports a wrong dim */
    TRY(read_reals(object, "rotary_short", dim / 2, config->rotary_short));
    return read_reals(object, "rotary_long", dim / 2, config->rotary_long);
}

static mgk_status read_settings(const cJSON *object, mgk_config *config)
{
    char key[SETTING_KEY];
    for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name; row++) {
        int value = 0;
        name_setting(row, key);
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
        if (!item)
            continue;
        TRY(row->words ? read_word(key, row->words, item, &value)
                       : read_integer(key, item, &value));
        if (value < 0 || value > row->most)
            return mgk_fail(STATUS_FORMAT, "%s is %d, expected 0 to %d", key, value, row->most);
        mgk_attention_setting_put(&config->settings, row, value);
    }
    return STATUS_OK;
}

static mgk_status read_object(const cJSON *object, mgk_config *config)
{
    int family = 0;
    const mgk_config_field *f = mgk_config_fields;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, f->name);
    if (!cJSON_IsString(item))
        return mgk_fail(STATUS_FORMAT, "family is missing or not a string");
    TRY(read_word(f->name, f->choices, item, &family));
    mgk_config_defaults((mgk_family)family, config);
    for (f++; f->name; f++) {
        item = cJSON_GetObjectItemCaseSensitive(object, f->name);
        if (item)
            TRY(read_field(f, item, config));
    }
    TRY(read_settings(object, config));
    if (config->mixtures < 1 || config->mixtures > MGK_MAX_MIXTURES)
        return mgk_config_resolve(config); /* reports this error */
    TRY(read_reals(object, "variance", config->mixtures, config->variance));
    TRY(read_reals(object, "image_mean", MGK_CHANNELS, config->picture.mean));
    TRY(read_reals(object, "image_std", MGK_CHANNELS, config->picture.deviation));
    TRY(read_factors(object, config));
    TRY(read_layers(object, "local", config, mgk_config_set_local));
    TRY(read_layers(object, "unrotated", config, mgk_config_set_unrotated));
    item = cJSON_GetObjectItemCaseSensitive(object, "cutoffs");
    if (item)
        TRY(read_cutoffs(item, config));
    return mgk_config_resolve(config);
}

mgk_status mgk_config_from_json(const char *text, size_t length, mgk_config *config)
{
    cJSON *object;
    mgk_status status = mgk_json_parse_object(text, length, &object);
    if (status == STATUS_OK)
        status = read_object(object, config);
    cJSON_Delete(object);
    /* A caller's wrong usage of fields is malformed input here. */
    if (status == STATUS_USAGE)
        status = STATUS_FORMAT;
    return status == STATUS_OK ? STATUS_OK : mgk_fail_prefix(status, "configuration");
}
