/* SPDX-License-Identifier: MIT */
/* The fields of a configuration as a table, for loops that read, write and check them. */
#ifndef MGK_MODEL_CONFIG_FIELDS_H
#define MGK_MODEL_CONFIG_FIELDS_H

#include "model/core/config.h"

typedef enum mgk_field_kind {
    MGK_FIELD_NAME,
    MGK_FIELD_KINDS,
    MGK_FIELD_CHOICE,
    MGK_FIELD_SIZE,
    MGK_FIELD_REAL,
    MGK_FIELD_FLAG
} mgk_field_kind;

typedef struct mgk_config_field {
    const char *name; /* NULL ends the table */
    mgk_field_kind kind;
    size_t offset;
    double low, high;           /* sizes: low <= x <= high; reals: low <= x < high */
    const char *const *choices; /* NULL-terminated; the position is the value of the enumeration */
    bool sparse; /* a size or a choice that is written only if it is not 0, or the first one */
} mgk_config_field;

/* All fields except the settings of kinds and the arrays: variance, cutoffs, those of layers, of
 * rotary frequencies and of pictures; the family is first. */
extern const mgk_config_field mgk_config_fields[];

/*
 * STATUS_USAGE unless `name` is short lower-case ASCII, which is safe in messages and file names;
 * `key` is the key of the name.
 */
mgk_status mgk_config_check_name(const char *key, const char *name);

/* STATUS_USAGE unless `kinds` is a list of such names, of at most MGK_KIND_NAME - 1 letters. */
mgk_status mgk_config_check_kinds(const char *kinds);

/* What mgk_config_resolve does with the kinds of layers and their settings. */
mgk_status mgk_config_resolve_kinds(mgk_config *config);

#endif
