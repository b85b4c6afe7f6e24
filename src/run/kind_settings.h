/* SPDX-License-Identifier: MIT */
/* Kinds of attention and their settings, as callers give them. */
#ifndef MGK_KIND_SETTINGS_H
#define MGK_KIND_SETTINGS_H

#include <cjson/cJSON.h>

#include "mgk.h"
#include "model/core/config.h"

/* Copies a kind, or a list of them, into the configuration. STATUS_USAGE: one is not known; the
 * message names similar ones. */
mgk_status mgk_settings_kinds(const char *kinds, mgk_config *config);

/* STATUS_USAGE: a word is not known. Numbers are checked with the configuration. */
mgk_status mgk_settings_take(const mgk_kind_settings *settings, mgk_attention_settings *out);

/* Those of a job. STATUS_USAGE also: there are some, but no `run_as`. */
mgk_status mgk_job_take_settings(const mgk_job *job, mgk_attention_settings *out);

/* Adds "run_as" of a job, its kinds and the settings that are given, if it has that; false: no
 * memory. */
bool mgk_job_describe_kinds(cJSON *object, const mgk_job *job);

/* Reports it if later tokens have a say in which earlier keys a layer of a language model sees,
 * from the model or output at `path`. */
void mgk_kinds_tell_choice(const mgk_config *config, const mgk_job *job, const char *path);

#endif
