/* SPDX-License-Identifier: MIT */
/* Pictures of measures of diversity: their inputs, and what these pictures share. */
#ifndef MGK_PLOT_MEASURES_H
#define MGK_PLOT_MEASURES_H

#include "plot/plot.h"

/* An input with the layers and heads that the options choose. */
typedef struct mgk_plot_measured {
    const mgk_diversity_values *values;
    const mgk_diversity_set *set; /* that has them */
    const char *path;
    char title[2 * MGK_PLOT_TITLE + 32];
    int32_t *layers, *layer_numbers; /* positions and numbers, [layer_count] */
    int32_t *heads, *head_numbers;   /* [head_count] */
    size_t layer_count, head_count;
    int32_t count_from; /* what pictures add to numbers, see mgk_picture_options */
} mgk_plot_measured;

/* The inputs of all files of a picture. */
typedef struct mgk_plot_measures {
    mgk_plot_measured *inputs; /* [count] */
    size_t count, room;
} mgk_plot_measures;

/* Reads the files of the options into plot->sets, unless they are there. mgk_plot_close releases
 * them. */
mgk_status mgk_plot_read_sets(mgk_plot *plot);

/*
 * All inputs of the sets, which are read if need be; they have no titles. Release with
 * mgk_plot_measures_free, also after a failure. STATUS_SHAPE: no such layer or head.
 */
mgk_status mgk_plot_read_inputs(mgk_plot *plot, mgk_plot_measures *out);

/* The same with titles, for a picture of every input. STATUS_USAGE: too many inputs, or other than
 * names. */
mgk_status mgk_plot_read_measures(mgk_plot *plot, mgk_plot_measures *out);
void mgk_plot_measures_free(mgk_plot_measures *measures);

/* Leaves out the inputs without a value of a measure. STATUS_FORMAT: none has one. */
mgk_status mgk_plot_skip_missing(const char *name, mgk_plot_measures *measures);

/* Whether a measure has values of both signs, such as a cosine: 0 belongs to the middle of colours.
 */
bool mgk_plot_is_signed(const mgk_measure *measure);

/* Makes the name of the model the title of its picture, if there is only one. */
void mgk_plot_name_only(mgk_plot *plot, const mgk_plot_measures *measures);

/* Finds the measure of an input by name. STATUS_FORMAT: the input has none. */
mgk_status mgk_plot_find_name(const mgk_plot_measured *input, const char *name, size_t *m);

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

/* The same of a pair of heads of any two layers, by their places; of different layers the input has
 * it across layers. */
double mgk_plot_mean_across(const mgk_plot_measured *input, size_t m, size_t layer, size_t head,
                            size_t other_layer, size_t other);
/* Sorts values [count], none NaN; linear interpolation between them; NaN without values. */
void mgk_plot_sort_quartiles(double *values, size_t count, double out[3]);

/*
 * The lower quartile, the median and the upper quartile of measure m in a layer, by its place among
 * the chosen ones: over heads, over pairs of heads, or over samples if the file holds them; NaN:
 * no value. STATUS_MEMORY.
 */
mgk_status mgk_plot_quartiles(const mgk_plot_measured *input, size_t m, size_t layer,
                              double out[3]);

/* What these quartiles are of: "median and quartiles over heads"; "" if there is one value. */
const char *mgk_plot_spread(const mgk_plot_measures *measures, const mgk_measure *measure);

/* Whether measure m has a mean in a chosen layer and head. */
bool mgk_plot_has_value(const mgk_plot_measured *input, size_t m);

enum { MGK_PLOT_LABEL = 128, MGK_PLOT_NOTE = 512 };

/* "normalized entropy", or "entropy (nats)". */
void mgk_plot_measure_label(const mgk_measure *measure, char out[MGK_PLOT_LABEL]);

/* "means over 4 samples". */
void mgk_plot_samples_note(const mgk_plot_measures *measures, size_t m, char out[MGK_PLOT_NOTE]);

/* "entropy: mean_i -sum_j a_ij ln a_ij; means over 4 samples". */
void mgk_plot_measure_note(const mgk_plot_measures *measures, size_t m, char out[MGK_PLOT_NOTE]);

#endif
