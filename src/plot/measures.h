/* Pictures of measures of diversity: their inputs, and what these pictures share. */
#ifndef MGK_PLOT_MEASURES_H
#define MGK_PLOT_MEASURES_H

#include "plot/plot.h"
#include "run/diversity_file.h"

/* An input with the layers and heads that the options choose. */
typedef struct mgk_plot_measured {
    const mgk_diversity_values *values;
    const char *path; /* of the file */
    char title[2 * MGK_PLOT_TITLE + 32];
    int32_t *layers,
        *layer_numbers;            /* positions, and numbers less 1 of those drawn, [layer_count] */
    int32_t *heads, *head_numbers; /* [head_count] */
    size_t layer_count, head_count;
} mgk_plot_measured;

/* The inputs of all files of a picture. */
typedef struct mgk_plot_measures {
    mgk_diversity_set *sets; /* [set_count], of each file */
    size_t set_count, count;
    mgk_plot_measured inputs[MGK_GROUPS_MAX]; /* [count] */
} mgk_plot_measures;

/*
 * Reads the files of the options. Release with mgk_plot_measures_free, also after a failure.
 * STATUS_USAGE: too many inputs, or other than names; STATUS_SHAPE: no such layer or head;
 * STATUS_FORMAT: with `skip_missing` no input is left.
 */
mgk_status mgk_plot_read_measures(const mgk_plot_options *options, mgk_plot_measures *out);
void mgk_plot_measures_free(mgk_plot_measures *measures);

/*
 * Finds the measure of an input by name. STATUS_FORMAT: the input has none, or it has no value in
 * any layer.
 */
mgk_status mgk_plot_find_measure(const mgk_plot_measured *input, const char *name, size_t *m);

/* STATUS_USAGE: measure m of the input is of another level; the message names its picture. */
mgk_status mgk_plot_expect_level(const mgk_plot_measured *input, size_t m, mgk_measure_level level);

/* The mean over samples of measure m, of the first of several components: layer and head by their
 * places among the chosen ones; `other` for pairs. NaN: none. */
double mgk_plot_mean(const mgk_plot_measured *input, size_t m, size_t layer, size_t head,
                     size_t other);

/* Whether measure m has a mean in a chosen layer and head. */
bool mgk_plot_has_value(const mgk_plot_measured *input, size_t m);

enum { MGK_PLOT_LABEL = 128, MGK_PLOT_NOTE = 512 };

/* "normalized entropy", or "entropy (nats)". */
void mgk_plot_measure_label(const mgk_measure *measure, char out[MGK_PLOT_LABEL]);

/* "entropy: mean_i -sum_j a_ij ln a_ij; means over 4 samples". */
void mgk_plot_measure_note(const mgk_plot_measures *measures, size_t m, char out[MGK_PLOT_NOTE]);

#endif
