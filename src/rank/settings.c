/* SPDX-License-Identifier: MIT */
/* The description of a run in its rank file. */
#include <cjson/cJSON.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "rank/rank.h"
#include "run/source_settings.h"

static mgk_status print_run(const mgk_rank_options *o, const mgk_source_input *inputs,
                            const char *device, const mgk_warnings *warnings, char **out)
{
    const mgk_source_options sources = mgk_rank_source_options(o);
    char *text = NULL;
    cJSON *run = cJSON_CreateObject();
    if (cJSON_AddStringToObject(run, "software", "mgk " MGK_VERSION) &&
        cJSON_AddStringToObject(run, "method", o->method ? o->method : "auto") &&
        cJSON_AddStringToObject(run, "device", device) &&
        mgk_sources_describe(run, &sources, inputs) && mgk_warnings_describe(run, warnings))
        text = cJSON_PrintUnformatted(run);
    mgk_status status =
        text ? mgk_copy_string(text, out) : mgk_fail(STATUS_MEMORY, "no memory for the settings");
    cJSON_free(text);
    cJSON_Delete(run);
    return status;
}

mgk_status mgk_rank_record_settings(const mgk_rank_options *options, const mgk_source_input *inputs,
                                    size_t input_count, const char *device,
                                    const mgk_warnings *warnings, mgk_rank_settings *out)
{
    out->seed = options->job.seed;
    out->matrices_per_layer = (size_t)options->matrices;
    TRY(mgk_alloc(input_count, sizeof(*out->origins), &out->origins));
    for (size_t i = 0; i < input_count; i++) {
        mgk_rank_origin *origin = &out->origins[out->origin_count++];
        memcpy(origin->sha256, inputs[i].sha256, sizeof(origin->sha256));
        TRY(mgk_utf8_duplicate(inputs[i].name, &origin->path));
    }
    return print_run(options, inputs, device, warnings, &out->run);
}
