/* SPDX-License-Identifier: MIT */
/* mgk_describe_kind, mgk_describe_setting: the registry of kinds; and settings of callers. */
#include "api/settings.h"

#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/names.h"
#include "kernels/attention.h"
#include "model/core/config_fields.h"
#include "run/arguments.h"

enum { MOST_KINDS = 256 };

/* The public fields of the settings, by name. */
#define FIELD(name)                              \
    {                                            \
#name, offsetof(mgk_kind_settings, name) \
    }
static const struct {
    const char *name;
    size_t offset;
} fields[] = {FIELD(window),      FIELD(dilation), FIELD(block),     FIELD(global),
              FIELD(random),      FIELD(features), FIELD(landmarks), FIELD(projection),
              FIELD(clusters),    FIELD(hashes),   FIELD(kernel),    FIELD(feature_map),
              FIELD(feature_draw)};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

static const void *field_of(const mgk_kind_settings *settings, const char *name)
{
    size_t i = 0;
    while (i < FIELDS && strcmp(fields[i].name, name) != 0)
        i++;
    return i < FIELDS ? (const char *)settings + fields[i].offset : NULL;
}

static mgk_status take_word(const mgk_attention_setting *row, const char *word, int *value)
{
    char hint[MGK_NAMES_HINT];
    size_t count = 1; /* the first word, "none", is not offered */
    *value = 0;
    if (!word)
        return STATUS_OK;
    for (; row->words[count]; count++)
        if (strcmp(row->words[count], word) == 0)
            *value = (int)count;
    if (*value > 0)
        return STATUS_OK;
    mgk_names_hint(word, row->words + 1, count - 1, hint);
    return mgk_fail(STATUS_USAGE, "`%s` \"%.80s\" is not known; %s", row->name, word, hint);
}

mgk_status mgk_settings_take(const mgk_kind_settings *settings, mgk_attention_settings *out)
{
    for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name; row++) {
        const void *field = field_of(settings, row->name);
        int value = 0;
        if (field && row->words)
            TRY(take_word(row, *(const char *const *)field, &value));
        else if (field)
            value = *(const int *)field;
        mgk_attention_setting_put(out, row, value);
    }
    return STATUS_OK;
}

static mgk_status refuse_kind(const char *name)
{
    const char *names[MOST_KINDS];
    char hint[MGK_NAMES_HINT];
    size_t count = 0;
    for (const mgk_attention_kind *kind; count < MOST_KINDS; count++) {
        if (!(kind = mgk_attention_row(count)))
            break;
        names[count] = kind->name;
    }
    mgk_names_hint(name, names, count, hint);
    return mgk_fail(STATUS_USAGE, "attention \"%s\" is not a known kind; %s", name, hint);
}

mgk_status mgk_settings_kinds(const char *kinds, mgk_config *config)
{
    TRY(mgk_config_check_kinds(kinds));
    strcpy(config->attention, kinds);
    for (const char *at = kinds; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[MGK_KIND_NAME];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ","), at);
        if (!mgk_attention_find(name))
            return refuse_kind(name);
    }
    return STATUS_OK;
}

/* Setting number `index` of a kind; NULL: it has fewer. */
static const mgk_attention_setting *setting_of(const mgk_attention_kind *kind, size_t index)
{
    const mgk_attention_setting *row = mgk_attention_setting_rows;
    for (; row->name; row++)
        if (mgk_attention_setting_get(&kind->defaults, row) != 0 && index-- == 0)
            return row;
    return NULL;
}

static mgk_status find_kind(size_t index, const void *out, const mgk_attention_kind **kind)
{
    TRY(mgk_check_place("place for the description", out));
    *kind = mgk_attention_row(index);
    return *kind ? STATUS_OK : mgk_fail(STATUS_USAGE, "there is no kind %zu", index);
}

static const char *causal_form(const mgk_attention_kind *kind)
{
    if (kind->causal_only)
        return "only";
    return kind->not_causal ? "no" : "yes";
}

mgk_result mgk_describe_kind(size_t index, mgk_kind_description *out)
{
    const mgk_attention_kind *kind;
    mgk_status status = find_kind(index, out, &kind);
    if (status != STATUS_OK)
        return mgk_api_result(status);
    *out = (mgk_kind_description){.name = kind->name,
                                  .formula = kind->score,
                                  .primitives = kind->methods->primitives,
                                  .devices = kind->on_cuda ? "cpu cuda" : "cpu",
                                  .rank_bound = kind->rank_bound,
                                  .causal = causal_form(kind),
                                  .matrix = !kind->no_matrix,
                                  .reason = kind->no_matrix ? kind->no_matrix : ""};
    while (setting_of(kind, out->settings))
        out->settings++;
    return mgk_api_result(STATUS_OK);
}

mgk_result mgk_describe_setting(size_t kind, size_t index, mgk_setting_description *out)
{
    const mgk_attention_kind *of;
    mgk_status status = find_kind(kind, out, &of);
    if (status != STATUS_OK)
        return mgk_api_result(status);
    const mgk_attention_setting *row = setting_of(of, index);
    if (!row)
        return mgk_api_result(
            mgk_fail(STATUS_USAGE, "attention \"%s\" has no setting %zu", of->name, index));
    const int usual = mgk_attention_setting_get(&of->defaults, row);
    *out = (mgk_setting_description){.name = row->name,
                                     .number = row->words ? 0 : usual,
                                     .word = row->words ? row->words[usual] : NULL};
    return mgk_api_result(STATUS_OK);
}
