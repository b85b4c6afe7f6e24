/* SPDX-License-Identifier: MIT */
#include "run/kind_settings.h"

#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "kernels/attention.h"
#include "model/core/config_fields.h"
#include "run/job.h"

enum { MOST_KINDS = 256 };

/* The public fields of the settings, by name. */
#define FIELD(name)                              \
    {                                            \
#name, offsetof(mgk_kind_settings, name) \
    }
static const struct {
    const char *name;
    size_t offset;
} fields[] = {FIELD(window),      FIELD(dilation),    FIELD(block),     FIELD(global),
              FIELD(random),      FIELD(features),    FIELD(landmarks), FIELD(projection),
              FIELD(clusters),    FIELD(parts),       FIELD(hashes),    FIELD(kernel),
              FIELD(feature_map), FIELD(feature_draw)};
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
    size_t count = 1; /* the first word, "none", is not offered */
    if (!word)
        return STATUS_OK;
    while (row->words[count])
        count++;
    TRY(mgk_names_choose(row->name, word, row->words + 1, count - 1, value));
    ++*value;
    return STATUS_OK;
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

mgk_status mgk_job_take_settings(const mgk_job *job, mgk_attention_settings *out)
{
    *out = (mgk_attention_settings){0};
    if (job->settings)
        TRY(mgk_settings_take(job->settings, out));
    if (!job->run_as && mgk_attention_settings_given(out))
        return mgk_fail(STATUS_USAGE, "settings of attention kinds without `run_as`");
    return STATUS_OK;
}

bool mgk_job_describe_kinds(cJSON *object, const mgk_job *job)
{
    mgk_attention_settings given = {0};
    if (!job->run_as)
        return true;
    if (job->settings && mgk_settings_take(job->settings, &given) != STATUS_OK)
        return true; /* no model was opened with them */
    cJSON *run = cJSON_AddObjectToObject(object, "run_as");
    bool added = run && cJSON_AddStringToObject(run, "attention", job->run_as);
    for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name && added; row++) {
        const int value = mgk_attention_setting_get(&given, row);
        if (value != 0)
            added = row->words ? cJSON_AddStringToObject(run, row->name, row->words[value]) != NULL
                               : cJSON_AddNumberToObject(run, row->name, value) != NULL;
    }
    return added;
}

void mgk_kinds_tell_choice(const mgk_config *config, const mgk_job *job, const char *path)
{
    bool ahead = false;
    for (int layer = 0; layer < config->layers; layer++)
        ahead |= mgk_config_kind(config, layer)->choice_looks_ahead;
    if (ahead && config->family == MGK_FAMILY_LM)
        mgk_job_report_remark(job, path,
                              "later tokens have a say in which earlier keys this attention sees: "
                              "losses are not quite those of a model that does not know them");
}
