/* SPDX-License-Identifier: MIT */
#include "model/formats/settings.h"

#include <string.h>

#include "model/core/config_fields.h"
#include "model/formats/hugging_face.h"

enum { KEY = 64 };

/* The first of the setting's keys that config.json has, or the first of all. */
static void choose_key(const mgk_checkpoint *checkpoint, const char *keys, char key[KEY])
{
    char first[KEY] = "";
    for (const char *at = keys; *at; at += *at == '|') {
        const size_t length = strcspn(at, "|");
        memcpy(key, at, length);
        key[length] = '\0';
        if (cJSON_GetObjectItemCaseSensitive(checkpoint->config, key))
            return;
        if (!*first)
            memcpy(first, key, KEY);
        at += length;
    }
    memcpy(key, first, KEY);
}

static const mgk_config_field *find_field(const char *name)
{
    const mgk_config_field *field = mgk_config_fields;
    while (field->name && strcmp(field->name, name) != 0)
        field++;
    return field;
}

/* Refuses a value of a key without a field, unless it is the one that is known. */
static mgk_status check_value(const mgk_checkpoint *checkpoint, const mgk_setting *setting)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(checkpoint->config, setting->theirs);
    if (!item || cJSON_IsNull(item) ||
        (cJSON_IsBool(item) && (double)cJSON_IsTrue(item) == setting->value) ||
        (cJSON_IsNumber(item) && item->valuedouble == setting->value))
        return STATUS_OK;
    return mgk_fail(STATUS_UNSUPPORTED,
                    "%s: \"%s\" has a value that changes numbers and is not known",
                    checkpoint->config_path, setting->theirs);
}

static mgk_status read_activation(const mgk_checkpoint *checkpoint, const char *key, double value,
                                  int *out)
{
    const char *name;
    mgk_activation activation = (mgk_activation)value;
    TRY(mgk_checkpoint_string(checkpoint, key, NULL, &name));
    if (name)
        TRY(mgk_hugging_face_activation(checkpoint, key, name, &activation));
    *out = (int)activation;
    return STATUS_OK;
}

static mgk_status apply(const mgk_checkpoint *checkpoint, const mgk_setting *setting,
                        mgk_config *config)
{
    const mgk_config_field *field = find_field(setting->ours);
    char *at = (char *)config + field->offset, key[KEY] = "";
    double value = setting->value;
    int integer = isnan(value) ? 0 : (int)value; /* a needed key has its own */
    bool flag = value != 0;
    if (setting->theirs) {
        choose_key(checkpoint, setting->theirs, key);
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(checkpoint->config, key);
        if (isnan(value) && (!item || cJSON_IsNull(item)))
            return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is missing", checkpoint->config_path, key);
        if (item && cJSON_IsNull(item) && field->kind != MGK_FIELD_CHOICE)
            value = integer = flag = 0;
    }
    switch (field->kind) {
    case MGK_FIELD_SIZE:
        TRY(mgk_checkpoint_integer(checkpoint, key, integer, &integer));
        memcpy(at, &integer, sizeof(integer));
        break;
    case MGK_FIELD_CHOICE:
        if (*key)
            TRY(read_activation(checkpoint, key, value, &integer));
        memcpy(at, &integer, sizeof(integer));
        break;
    case MGK_FIELD_REAL:
        TRY(mgk_checkpoint_real(checkpoint, key, value, &value));
        memcpy(at, &value, sizeof(value));
        break;
    case MGK_FIELD_FLAG:
        TRY(mgk_checkpoint_flag(checkpoint, key, flag, &flag));
        memcpy(at, &flag, sizeof(flag));
        break;
    case MGK_FIELD_NAME:
    case MGK_FIELD_KINDS:
        break;
    }
    return STATUS_OK;
}

/* Whether a row of `base` is replaced by the settings that are made of it. */
static bool is_replaced(const mgk_settings *settings, const mgk_settings *base, const char *ours)
{
    for (; settings != base; settings = settings->base)
        for (const mgk_setting *s = settings->own; s->ours || s->theirs; s++)
            if (s->ours && ours && strcmp(s->ours, ours) == 0)
                return true;
    return false;
}

/* Applies the part `base` of settings. Keys of rows that are replaced may be missing. */
static mgk_status apply_part(const mgk_checkpoint *checkpoint, const mgk_settings *settings,
                             const mgk_settings *base, mgk_config *config)
{
    if (base->base)
        TRY(apply_part(checkpoint, settings, base->base, config));
    for (const mgk_setting *s = base->own; s->ours || s->theirs; s++)
        if (!is_replaced(settings, base, s->ours))
            TRY(s->ours ? apply(checkpoint, s, config) : check_value(checkpoint, s));
    return STATUS_OK;
}

mgk_status mgk_settings_apply(const mgk_checkpoint *checkpoint, const mgk_settings *settings,
                              mgk_config *config)
{
    return apply_part(checkpoint, settings, settings, config);
}

bool mgk_settings_read(const mgk_settings *settings, const char *ours)
{
    for (; settings; settings = settings->base)
        for (const mgk_setting *s = settings->own; s->ours || s->theirs; s++)
            if (s->ours && s->theirs && strcmp(s->ours, ours) == 0)
                return true;
    return false;
}
