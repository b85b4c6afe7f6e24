/* SPDX-License-Identifier: MIT */
/* The kinds of a model's layers, and the settings of these kinds. */
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/number.h"
#include "model/core/config.h"
#include "model/core/config_fields.h"

/* The name after a comma; NULL: there is none. */
static const char *next_name(const char *name)
{
    const char *comma = strchr(name, ',');
    return comma ? comma + 1 : NULL;
}

static int count_names(const char *name)
{
    int count = 0;
    for (; name; name = next_name(name))
        count++;
    return count;
}

mgk_status mgk_config_check_kinds(const char *kinds)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    bool valid = strnlen(kinds, MGK_KINDS_SIZE) < MGK_KINDS_SIZE;
    for (const char *name = kinds; valid && name; name = next_name(name)) {
        const size_t length = strcspn(name, ",");
        valid = length > 0 && length < MGK_KIND_NAME && strspn(name, letters) == length;
    }
    return valid ? STATUS_OK
                 : mgk_fail(STATUS_USAGE,
                            "attention: expected a kind, or one for each layer with commas between "
                            "them: 1 to %d lower-case letters, digits, - and _ each, and %d bytes "
                            "together",
                            MGK_KIND_NAME - 1, MGK_KINDS_SIZE - 1);
}

/* Copies the first name of a list. */
static void copy_name(const char *kinds, char out[MGK_KIND_NAME])
{
    snprintf(out, MGK_KIND_NAME, "%.*s", (int)strcspn(kinds, ","), kinds);
}

/* Copies the name of a layer's kind; a list of one kind is that of all layers. */
static void copy_name_of(const char *kinds, int layer, char out[MGK_KIND_NAME])
{
    const char *name = kinds, *next;
    for (; layer > 0 && (next = next_name(name)); layer--)
        name = next;
    copy_name(name, out);
}

void mgk_config_kind_name(const mgk_config *config, int layer, char out[MGK_KIND_NAME])
{
    copy_name_of(config->attention, layer, out);
}

const mgk_attention_kind *mgk_kinds_of_layer(const char *kinds, int layer)
{
    char name[MGK_KIND_NAME];
    if (strnlen(kinds, MGK_KINDS_SIZE) == MGK_KINDS_SIZE) /* no model's, and slow to search */
        return NULL;
    copy_name_of(kinds, layer, name);
    return mgk_attention_find(name);
}

const mgk_attention_kind *mgk_config_kind(const mgk_config *config, int layer)
{
    return mgk_kinds_of_layer(config->attention, layer);
}

mgk_status mgk_config_check_matrix(const mgk_config *config, int layer)
{
    const mgk_attention_kind *kind = mgk_config_kind(config, layer);
    bool others = false;
    if (kind->methods->matrix)
        return STATUS_OK;
    for (int l = 0; l < config->layers; l++)
        others |= mgk_config_kind(config, l)->methods->matrix != NULL;
    if (!others)
        return mgk_attention_check_matrix(kind);
    return mgk_fail(
        STATUS_UNSUPPORTED,
        "layer %d, attention \"%s\": no N x N matrix exists: %s; others have one: choose "
        "them by `layers`",
        layer, kind->name, kind->no_matrix);
}

int mgk_config_mixtures(const mgk_config *config, int layer)
{
    return mgk_config_kind(config, layer)->mixture ? config->mixtures : 1;
}

/* Whether a kind of the list is so; unknown kinds are left out. */
static bool any_kind(const char *kinds, bool (*is_so)(const mgk_attention_kind *))
{
    bool any = false;
    for (const char *name = kinds; name; name = next_name(name)) {
        const mgk_attention_kind *kind = mgk_kinds_of_layer(name, 0);
        any |= kind && is_so(kind);
    }
    return any;
}

static bool has_own_values(const mgk_attention_kind *kind)
{
    return kind->own_values;
}

static bool may_be_blank(const mgk_attention_kind *kind)
{
    return kind->may_be_blank;
}

bool mgk_kinds_own_values(const char *kinds)
{
    return any_kind(kinds, has_own_values);
}

bool mgk_kinds_may_be_blank(const char *kinds)
{
    return any_kind(kinds, may_be_blank);
}

bool mgk_config_is_normalized(const mgk_config *config, int layer)
{
    const mgk_attention_kind *kind = mgk_config_kind(config, layer);
    return config->row_normalized && (config->normalizer_epsilon == 0 || kind->plain_sums) &&
           !kind->unnormalized;
}

/* Makes one name of equal ones. */
static void merge_names(char *kinds)
{
    const size_t length = strcspn(kinds, ",");
    for (const char *name = kinds; name; name = next_name(name))
        if (strcspn(name, ",") != length || memcmp(name, kinds, length) != 0)
            return;
    kinds[length] = '\0';
}

static mgk_status check_masks(const mgk_config *config, const mgk_attention_kind *kind)
{
    if (config->causal && kind->not_causal)
        return mgk_fail(STATUS_USAGE,
                        "attention \"%s\" has no causal form, which language models need",
                        kind->name);
    if (!config->causal && kind->causal_only)
        return mgk_fail(STATUS_USAGE,
                        "attention \"%s\" has only a causal form, which is for language models",
                        kind->name);
    return STATUS_OK;
}

/* "`window`, `dilation`", the settings that a kind of the model has. */
static void list_settings(const mgk_config *config, int count, char *text, size_t size)
{
    *text = '\0';
    for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name; row++) {
        int value = 0;
        for (int layer = 0; layer < count && value == 0; layer++)
            value = mgk_attention_setting_get(&mgk_config_kind(config, layer)->defaults, row);
        if (value != 0)
            mgk_append(text, size, "%s`%s`", *text ? ", " : "", row->name);
    }
    if (!*text)
        snprintf(text, size, "no settings");
}

/* Gives a setting its default, that of the first of `count` kinds that has it. */
static mgk_status resolve_setting(mgk_config *config, int count, const mgk_attention_setting *row)
{
    enum { SHOWN = 80 }; /* bytes of a list of kinds */
    const int value = mgk_attention_setting_get(&config->settings, row);
    int usual = 0;
    bool known = true;
    if (value < 0 || value > row->most)
        return mgk_fail(STATUS_USAGE, "`%s` is %d, expected 0 to %d", row->name, value, row->most);
    for (int layer = 0; layer < count && usual == 0; layer++) {
        const mgk_attention_kind *kind = mgk_config_kind(config, layer);
        known &= kind != NULL;
        usual = kind ? mgk_attention_setting_get(&kind->defaults, row) : 0;
    }
    if (value != 0 && usual == 0 && known) {
        char had[400];
        list_settings(config, count, had, sizeof(had));
        return mgk_fail(STATUS_USAGE, "attention \"%.*s%s\" has no `%s`; it has %s", SHOWN,
                        config->attention, strlen(config->attention) > SHOWN ? "..." : "",
                        row->name, had);
    }
    if (value == 0)
        mgk_attention_setting_put(&config->settings, row, usual);
    return STATUS_OK;
}

mgk_status mgk_config_resolve_kinds(mgk_config *config)
{
    int count = count_names(config->attention);
    if (count != 1 && count != config->layers)
        return mgk_fail(STATUS_USAGE,
                        "attention names %d kinds: expected one, or one for each of %d layers",
                        count, config->layers);
    merge_names(config->attention);
    count = count_names(config->attention);
    for (int layer = 0; layer < count; layer++) {
        const mgk_attention_kind *kind = mgk_config_kind(config, layer);
        if (kind)
            TRY(check_masks(config, kind));
    }
    for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name; row++)
        TRY(resolve_setting(config, count, row));
    return STATUS_OK;
}

mgk_status mgk_config_check_below(const mgk_config *config)
{
    for (int layer = 0; layer < config->layers; layer++) {
        const mgk_attention_kind *kind = mgk_config_kind(config, layer);
        const int other = layer > 0 ? layer - 1 : 1;
        if (kind->reads_below && other < config->layers && mgk_config_kind(config, other) != kind)
            return mgk_fail(STATUS_USAGE,
                            "layer %d: attention \"%s\" needs a layer of its kind %s it", layer,
                            kind->name, layer > 0 ? "below" : "above");
    }
    return STATUS_OK;
}
