/* SPDX-License-Identifier: MIT */
/* Tables of settings: which key of config.json, or which constant, sets a field of the
 * configuration. */
#ifndef MGK_MODEL_SETTINGS_H
#define MGK_MODEL_SETTINGS_H

#include <math.h>

#include "model/formats/checkpoint.h"

#define MGK_NEEDED ((double)NAN)

/*
 * A setting. Without its key the field is `value`; with the key null, as Python's None, it is 0. A
 * field that is a choice is always `value`, except for the activation, whose key names it.
 */
typedef struct mgk_setting {
    const char *ours;   /* the field's name in JSON; NULL: the key must be missing, null or `value`,
                           because other values change numbers */
    const char *theirs; /* the key, or several: "n_layer|num_hidden_layers"; NULL: always `value` */
    double value;       /* MGK_NEEDED: there must be the key */
} mgk_setting;

/* The settings of a family: those of another one, of which its own replace some. */
typedef struct mgk_settings {
    const struct mgk_settings *base; /* NULL: none */
    const mgk_setting *own;          /* end with both names NULL */
} mgk_settings;

/*
 * Applies settings to a configuration. STATUS_FORMAT: a needed key is missing, or a value of the
 * wrong type; STATUS_UNSUPPORTED: a value that is not known. Messages name the key.
 */
mgk_status mgk_settings_apply(const mgk_checkpoint *checkpoint, const mgk_settings *settings,
                              mgk_config *config);

/* Whether a key of config.json sets the field `ours`. */
bool mgk_settings_read(const mgk_settings *settings, const char *ours);

#endif
