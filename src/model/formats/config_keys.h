/* SPDX-License-Identifier: MIT */
/* Names keys of config.json in messages about fields of the configuration. */
#ifndef MGK_MODEL_CONFIG_KEYS_H
#define MGK_MODEL_CONFIG_KEYS_H

#include "model/formats/checkpoint.h"

/*
 * Completes the message of mgk_config_resolve, which refused `config`: "window is -1, expected ..."
 * becomes "PATH/config.json: "sliding_window" is -1, expected ...", if a key that sets this field
 * has this value, and else "PATH/config.json: window is ...". Returns `status`.
 */
mgk_status mgk_config_keys_name(const mgk_checkpoint *checkpoint, const mgk_config *config,
                                mgk_status status);

#endif
