/* SPDX-License-Identifier: MIT */
/* Kinds of attention and their settings, as callers give them. */
#ifndef MGK_API_SETTINGS_H
#define MGK_API_SETTINGS_H

#include "mgk.h"
#include "model/core/config.h"

/* Copies a kind, or a list of them, into the configuration. STATUS_USAGE: one is not known; the
 * message names similar ones. */
mgk_status mgk_settings_kinds(const char *kinds, mgk_config *config);

/* STATUS_USAGE: a word is not known. Numbers are checked with the configuration. */
mgk_status mgk_settings_take(const mgk_kind_settings *settings, mgk_attention_settings *out);

#endif
