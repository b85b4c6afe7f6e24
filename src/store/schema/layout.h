/* SPDX-License-Identifier: MIT */
/* The schema of the attention store as a table, used by writer and reader. */
#ifndef MGK_STORE_LAYOUT_H
#define MGK_STORE_LAYOUT_H

#include <stddef.h>

#include "store/schema/description.h"

enum { STORE_MAX_RANK = 6 };

#define MGK_STORE_FORMAT "mgk-attention"
#define MGK_STORE_VERSION 1
#define MGK_STORE_CROSS_VERSION 2 /* of stores of cross-attention */
#define MGK_STORE_CROSS "cross"   /* the part of these */

typedef enum mgk_store_axis {
    AXIS_SAMPLE,
    AXIS_LAYER,
    AXIS_HEAD,
    AXIS_MIXTURE,
    AXIS_QUERY,
    AXIS_KEY,
    AXIS_DIM,
    AXIS_MODEL_DIM,
    STORE_AXES
} mgk_store_axis;

typedef struct mgk_axis_layout {
    const char *label; /* "sample"; so its dimension scale is called, a dataset */
    const char *older; /* another link to it, its only name in older files; NULL: none */
} mgk_axis_layout;

typedef struct mgk_object_layout {
    const char *name;
    int rank;
    mgk_store_axis axes[STORE_MAX_RANK];
} mgk_object_layout;

/* The two sides of matrices; only a cross store has datasets of its keys. */
typedef enum mgk_store_side { STORE_SIDE_QUERIES, STORE_SIDE_KEYS, STORE_SIDES } mgk_store_side;

/* The datasets of a side. */
typedef struct mgk_side_layout {
    mgk_object_layout tokens, lengths, text;
} mgk_side_layout;

/* Indexed by mgk_store_side. */
extern const mgk_side_layout mgk_side_layouts[STORE_SIDES];

/* The text of the tokens of a side that is written. */
static inline const mgk_token_text *mgk_side_text(const mgk_store_description *description,
                                                  mgk_store_side side)
{
    return side == STORE_SIDE_KEYS ? &description->key_token_text : &description->token_text;
}

/* Indexed by mgk_store_axis. */
extern const mgk_axis_layout mgk_axis_layouts[STORE_AXES];

/* The name of an object's dataset. */
const char *mgk_object_name(mgk_store_object object);

/* The axes of an object in such a store: priors have no last axis if they do not depend on the key,
 * and values are those of the keys if the store is cross. */
mgk_object_layout mgk_layout_of(mgk_store_object object, const mgk_store_description *description);

/* Whether the object belongs to the model rather than to each sample. */
bool mgk_is_parameter(mgk_store_object object);

/* Whether the object is written at once rather than in blocks. */
bool mgk_is_whole(mgk_store_object object);

/* The length of every axis, indexed by mgk_store_axis. */
void mgk_axis_sizes(const mgk_store_description *description, size_t sizes[STORE_AXES]);

/* A root attribute and its field in the description. */
typedef struct mgk_store_string {
    const char *name;
    size_t offset; /* of a const char * in mgk_store_description */
} mgk_store_string;

enum { STORE_STRINGS = 9 };
extern const mgk_store_string mgk_store_strings[STORE_STRINGS];

/* The place of the string in the description. */
const char **mgk_store_string_of(mgk_store_description *description,
                                 const mgk_store_string *string);

#endif
