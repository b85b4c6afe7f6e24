/* SPDX-License-Identifier: MIT */
/* The settings of sources, for the journal of a run and for the description of its output. */
#ifndef MGK_RUN_SOURCE_SETTINGS_H
#define MGK_RUN_SOURCE_SETTINGS_H

#include "base/json.h"
#include "run/sources.h"

/*
 * Adds to an object all settings of the opened inputs that decide which matrices a run has. Files
 * are named with size and time, models with their hash. False: no memory.
 */
bool mgk_sources_identify(cJSON *settings, const mgk_source_options *options,
                          const mgk_source_input *inputs);

/* Adds the options that are set, for readers of the output: what was analysed of the inputs, and
 * how a model ran. Paths are made valid UTF-8. False: no memory. */
bool mgk_sources_describe(cJSON *run, const mgk_source_options *options,
                          const mgk_source_input *inputs);

/* Adds the bounds on generated lists that are set, for both of these. False: no memory. */
bool mgk_sources_add_listops(cJSON *settings, const mgk_input *input);

#endif
