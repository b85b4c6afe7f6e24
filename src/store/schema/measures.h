/* SPDX-License-Identifier: MIT */
/*
 * Measures in an HDF5 file: /measures/NAME f64 [sample, layer], [sample, layer, head] or
 * [sample, layer, head, other], with the attributes `formula`, `source`, `level` and `unit`, and
 * the scales /sample, /layer, /head and /other, the numbers of samples, layers and heads. A measure
 * of components has the axes [sample, layer, head, component] and the attribute `components` M.
 * Pairs of heads of all layers are in /across_layers/NAME, f64 [sample, layer, head, other_layer,
 * other_head], with the scales /other_layer and /other_head more. NaN: no value. A file of several
 * inputs has a group /inputs/K for each, K from 0, with the attribute `name`, and all this in the
 * group instead of the root.
 *
 * Differences from the first input are in groups /differences/K, K from 0, with the attributes
 * `name`
 * ("B-A") and `paired` (0 or 1): a dataset for each measure, f64 [layer, statistic], and the scale
 * `layer` of the group; statistics are value, low, high, p, p_holm, samples.
 *
 * Curves of pruning are in groups /pruning/K, K the number of the input, with the attribute `name`
 * (of the input): a dataset for each way to remove heads, f64 [left, statistic], and the scale
 * `left` of the group, the numbers of heads left; statistics are value, sd, layer, head, samples,
 * the layer and the head those removed last.
 */
#ifndef MGK_STORE_MEASURES_H
#define MGK_STORE_MEASURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* An array of one measure. */
typedef struct mgk_measure_array {
    const char *name, *formula, *source, *level, *unit;
    int axes;        /* 2: [sample, layer], 3 with head, 4 with head and other */
    bool components; /* of the four axes the last is component, not other */
    bool across;     /* five axes: across layers */
} mgk_measure_array;

/* What axes may be. */
typedef enum mgk_measure_axis {
    MGK_AXIS_SAMPLE,
    MGK_AXIS_LAYER,
    MGK_AXIS_HEAD,
    MGK_AXIS_OTHER,
    MGK_AXIS_COMPONENT,
    MGK_AXIS_OTHER_LAYER,
    MGK_AXIS_OTHER_HEAD,
    MGK_MEASURE_AXES
} mgk_measure_axis;

enum { MGK_MEASURE_AXES_MOST = 5 }; /* of an array */

/* What an axis of an array is. */
mgk_measure_axis mgk_measure_axis_of(const mgk_measure_array *array, int axis);

/* The arrays of one input. */
typedef struct mgk_measure_arrays {
    const char *name;                             /* of the input */
    size_t sample_count, layer_count, head_count; /* S, L, H */
    size_t component_count;                       /* M */
    const int32_t *samples, *layers, *heads;      /* numbers; NULL: 0, 1, 2, … */
    const mgk_measure_array *arrays;              /* [array_count] */
    size_t array_count;
} mgk_measure_arrays;

/* The length of an axis. */
size_t mgk_measure_axis_length(const mgk_measure_arrays *arrays, mgk_measure_axis axis);

/* The folder of an array, "/measures" or "/across_layers". */
const char *mgk_measure_folder(bool across);

typedef struct mgk_measures_file mgk_measures_file;

/*
 * Creates a file for `input_count` inputs, which appears at `path` when it is closed. Release with
 * mgk_measures_discard, also after mgk_measures_commit. STATUS_EXISTS: it exists and `force` is not
 * set; STATUS_IO; STATUS_MEMORY.
 */
mgk_status mgk_measures_create(const char *path, bool force, const char *settings,
                               size_t input_count, mgk_measures_file **out);

/* Adds the arrays of the next input, which must stay until the file is closed. STATUS_IO,
 * STATUS_MEMORY. */
mgk_status mgk_measures_add_input(mgk_measures_file *file, const mgk_measure_arrays *arrays);

/* Writes the values of sample number `sample` of the last input into array number `array`: [L],
 * [L, H], [L, H, H], [L, H, M] or [L, H, L, H]. STATUS_IO. */
mgk_status mgk_measures_write(mgk_measures_file *file, size_t array, size_t sample,
                              const double *values);

/* What the groups of a folder hold: for each measure an array [row, statistic]. */
typedef struct mgk_statistics_form {
    const char *folder;     /* "/differences" */
    const char *axis;       /* the scale of the rows: "layer" */
    const char *statistics; /* their names */
    size_t count;           /* of statistics */
} mgk_statistics_form;

extern const mgk_statistics_form mgk_difference_form, mgk_pruning_form;
enum { MGK_DIFFERENCE_STATISTICS = 6, MGK_PRUNING_STATISTICS = 5 };

/* One group. */
typedef struct mgk_measure_statistics {
    const char *name; /* "B-A", or that of an input */
    bool paired;      /* differences of the same samples */
    size_t row_count, measure_count;
    const int32_t *rows;         /* [row_count], layers or numbers of heads left */
    const char *const *measures; /* [measure_count] */
    const double *values;        /* [measure_count, row_count, statistics of the form] */
} mgk_measure_statistics;

/* Adds group number k of a form, from 0 on. STATUS_IO. */
mgk_status mgk_measures_add_statistics(mgk_measures_file *file, const mgk_statistics_form *form,
                                       size_t k, const mgk_measure_statistics *statistics);

/* Completes the file at its path. STATUS_IO. */
mgk_status mgk_measures_commit(mgk_measures_file *file);

/* Releases, and removes a file that was not completed; NULL is accepted. */
void mgk_measures_discard(mgk_measures_file *file);

#endif
