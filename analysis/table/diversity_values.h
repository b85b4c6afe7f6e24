/* SPDX-License-Identifier: MIT */
/* The measures of inputs in memory, as read from files of mgk-diversity. */
#ifndef MGK_ANALYSIS_DIVERSITY_VALUES_H
#define MGK_ANALYSIS_DIVERSITY_VALUES_H

#include "analysis/table/diversity_table.h"
#include "base/arena.h"

/*
 * One input. Value number i of a record is that of measure m, layer l: l layout.layer_size +
 * layout.offsets[m], then the head, or head M + component, or head H + other; pairs are symmetric,
 * and NaN on the diagonal unless the file holds it. So are those across layers, behind.
 */
typedef struct mgk_diversity_values {
    const char *name;         /* "": not known */
    const char *model;        /* of a store: the name of its model; "": not known */
    const char *model_sha256; /* of the model's file; "": not known */
    const char *samples_hash; /* of their lengths and tokens, in their order; "": not known */
    int64_t training_step;    /* of the model; -1: not known */
    /* Of two inputs as one: the number of the first layer of the second; 0: it is one input. */
    int32_t second_layers_from;
    /* The chosen measures have names and texts ("": not known), but no functions. */
    mgk_record_layout layout;
    int32_t *layers, *heads; /* numbers [layout.layers], [layout.heads], ascending */
    size_t sample_count;     /* 0: the file holds means alone */
    mgk_diversity_means means;
    double *samples; /* [layer-level measures, layout.layers, sample_count] */
} mgk_diversity_values;

/* The difference of a layer between two inputs: a row of the level "difference". */
typedef struct mgk_layer_difference {
    const char *name; /* of the comparison: "B-A" */
    const char *measure;
    int32_t layer;
    mgk_difference difference;
    bool paired;
} mgk_layer_difference;

/* A point of a curve of pruning: a row of the level "model". */
typedef struct mgk_curve_point {
    const char *name;    /* of the input */
    const char *measure; /* see mgk_pruning_name */
    int32_t left;        /* heads */
    mgk_pruning_point point;
    int32_t samples;
} mgk_curve_point;

/* A file. Zeroed is empty. */
typedef struct mgk_diversity_set {
    mgk_diversity_values *inputs; /* [count] */
    size_t count, room;
    mgk_layer_difference *differences; /* [difference_count], in the order of the file */
    size_t difference_count, difference_room;
    mgk_curve_point *points; /* [point_count], in the order of the file */
    size_t point_count, point_room;
    char *settings;  /* of the run, a JSON object; NULL: not known */
    mgk_arena arena; /* of texts, numbers and measures */
} mgk_diversity_set;

/* The shape of an input that is added. All is copied. */
typedef struct mgk_diversity_shape {
    const char *name;
    const mgk_measure *measures; /* [measure_count]; name, level, unit, formula, source */
    size_t measure_count;
    const int32_t *layers, *heads; /* [layer_count], [head_count], ascending */
    size_t layer_count, head_count, sample_count;
    size_t mixtures; /* M of measures with components */
    bool across;     /* pairs across layers, too */
} mgk_diversity_shape;

/* Adds an input without values: the last one. STATUS_FORMAT: a measure that is there twice;
 * STATUS_MEMORY. */
mgk_status mgk_diversity_set_add(mgk_diversity_set *set, const mgk_diversity_shape *shape);

/* An input of a set. */
typedef struct mgk_diversity_source {
    const mgk_diversity_set *set;
    size_t input;
} mgk_diversity_source;

static inline const mgk_diversity_values *mgk_diversity_of(mgk_diversity_source source)
{
    return &source.set->inputs[source.input];
}

/* The first of the sources [count] that has a measure, and its position *m there; count: none. */
size_t mgk_diversity_find_source(const mgk_diversity_source *sources, size_t count,
                                 const char *name, size_t *m);

/* The same for a measure of pairs that has values across layers, too. */
size_t mgk_diversity_find_across(const mgk_diversity_source *sources, size_t count,
                                 const char *name, size_t *m);

/* The points of a curve of an input, one after the other in its set; *count 0: it has none. */
const mgk_curve_point *mgk_diversity_find_curve(mgk_diversity_source source, const char *measure,
                                                size_t *count);

/*
 * Adds one input to an empty set, with a copy of the measures, pairs across layers and curves of
 * several inputs [count > 0] of other sets, which have the same layers and heads; those that hold
 * measures of layers alone may have no heads. Where several have a measure, pairs of it across
 * layers, or a curve, those of the first are taken. So are the name, the hashes and the settings.
 * STATUS_MEMORY.
 */
mgk_status mgk_diversity_set_merge(mgk_diversity_set *set, const mgk_diversity_source *sources,
                                   size_t count);

/* Adds a difference; its texts are copied. STATUS_FORMAT: statistics that contradict each other;
 * STATUS_MEMORY. */
mgk_status mgk_diversity_set_add_difference(mgk_diversity_set *set,
                                            const mgk_layer_difference *difference);

/* Adds a point of a curve; its texts are copied. STATUS_FORMAT: a number of heads below 0, an
 * infinite value or a negative deviation; STATUS_MEMORY. */
mgk_status mgk_diversity_set_add_point(mgk_diversity_set *set, const mgk_curve_point *point);

/* Releases all; a zeroed set is accepted. */
void mgk_diversity_set_free(mgk_diversity_set *set);

/* Adds all inputs, differences and curves of a table of mgk_comparison_schema, which is not
 * trusted. STATUS_FORMAT: rows that contradict each other, repeat or lack. */
mgk_status mgk_diversity_set_take_table(mgk_diversity_set *set, const mgk_table *table);

/* The rows of the means of all inputs, then the differences, then the curves; release with
 * mgk_table_free. */
mgk_status mgk_diversity_set_table(const mgk_diversity_set *set, mgk_table *out);

/* The position of a measure of this name; layout.chosen: none. */
size_t mgk_diversity_find(const mgk_diversity_values *values, const char *name);

/* The index in a record of the first value of measure m in a layer (by position). */
size_t mgk_diversity_place(const mgk_diversity_values *values, size_t m, size_t layer);

/* The samples [sample_count] of layer-level measure m in a layer; NULL: means alone, or another
 * level. */
double *mgk_diversity_samples(const mgk_diversity_values *values, size_t m, size_t layer);

#endif
