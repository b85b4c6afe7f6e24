/* SPDX-License-Identifier: MIT */
/* The journal of a run of ranks: the settings that must agree for a run to be resumed. */
#include <cjson/cJSON.h>
#include <string.h>

#include "analysis/run/rank_journal.h"
#include "analysis/table/rank_columns.h"
#include "base/json.h"
#include "rank/rank.h"
#include "run/run_journal.h"
#include "run/source_settings.h"

/* "auto", the default, computes singular values like "svd", except for matrices with thin
 * factors. */
static const char *method_of(const mgk_rank_options *o, const mgk_source_input *inputs)
{
    if (o->method && strcmp(o->method, "auto") != 0)
        return o->method;
    return inputs[0].source.depth > 0 ? "factors" : "svd";
}

static bool add_counting(cJSON *settings, const mgk_rank_options *o, const mgk_source_input *inputs,
                         bool gpu)
{
    cJSON *thresholds = cJSON_CreateDoubleArray(o->thresholds, (int)o->threshold_count);
    return mgk_json_add(settings, "threshold", thresholds) &&
           cJSON_AddBoolToObject(settings, "relative", o->relative) &&
           cJSON_AddStringToObject(settings, "method", method_of(o, inputs)) &&
           cJSON_AddStringToObject(settings, "device", gpu ? "gpu" : "cpu") &&
           cJSON_AddBoolToObject(settings, "spectrum", o->spectrum);
}

/* Adds the columns, because other versions of the program may have others. */
static bool add_columns(cJSON *settings)
{
    cJSON *array = cJSON_AddArrayToObject(settings, "columns");
    bool added = array != NULL;
    for (size_t c = 0; c < mgk_rank_schema.column_count && added; c++)
        added = mgk_json_append(array, cJSON_CreateString(mgk_rank_schema.columns[c].name));
    return added;
}

/* Prints the settings on one line, release with cJSON_free; NULL: no memory. */
static char *print_settings(const mgk_rank_options *o, const mgk_source_input *inputs, bool gpu)
{
    const mgk_source_options sources = mgk_rank_source_options(o);
    char *text = NULL;
    cJSON *settings = cJSON_CreateObject();
    if (cJSON_AddStringToObject(settings, "journal of mgk-rank", MGK_VERSION) &&
        add_columns(settings) && mgk_sources_identify(settings, &sources, inputs) &&
        add_counting(settings, o, inputs, gpu))
        text = cJSON_PrintUnformatted(settings);
    cJSON_Delete(settings);
    return text;
}

mgk_status mgk_rank_open_journal(const mgk_rank_options *options, const mgk_source_input *inputs,
                                 bool gpu, mgk_journal **out)
{
    *out = NULL;
    if (!options->output)
        return STATUS_OK;
    char *settings = print_settings(options, inputs, gpu);
    mgk_status status = mgk_run_journal_open(options->output, &options->job, options->resume,
                                             settings, MGK_RANK_LINE_BYTES, out);
    cJSON_free(settings);
    return status;
}
