/* SPDX-License-Identifier: MIT */
/* Pictures from files: reads stores, models, rank files and logs, which plots/ draws. */
#ifndef MGK_PLOT_H
#define MGK_PLOT_H

#include "analysis/table/diversity_values.h"
#include "analysis/table/rank_table.h"
#include "base/sha256.h"
#include "base/status.h"
#include "mgk.h"
#include "plots/charts/heatmap_grid.h"
#include "plots/charts/histogram.h"
#include "plots/options.h"
#include "store/schema/reader.h"

enum { MGK_PLOT_TITLE = 64 };

/* Files of mgk-diversity in memory. Zeroed is empty. */
typedef struct mgk_plot_sets {
    mgk_diversity_set *sets;        /* [count] */
    const mgk_diversity_set **list; /* [count], all of them */
    size_t count;
} mgk_plot_sets;

/* State of a picture. It contains pointers into itself: do not copy it. */
typedef struct mgk_plot {
    const mgk_plot_options *options;
    mgk_picture_options picture; /* the options for plots/ */
    mgk_text_pair texts[4];      /* texts stored in the picture: software, command, title, models */
    char title[4 * MGK_PLOT_TITLE]; /* if the options have none, see mgk_plot_set_title */
    char hashes[2 * MGK_GROUPS_MAX * (MGK_SHA256_HEX_SIZE + 2)]; /* hashes of stores and of ranks */
    /* Of the inputs of a picture of measures, [input_count]; NULL: the picture reads their files */
    const mgk_diversity_set *const *sets;
    mgk_plot_sets own; /* those that the picture has read */
} mgk_plot;

/* Releases what pictures have read. */
void mgk_plot_close(mgk_plot *plot);

/* One function per kind of picture: reads the inputs and draws. */
mgk_status mgk_plot_heatmaps(mgk_plot *plot); /* attention, weights, keys */
mgk_status mgk_plot_sheet(mgk_plot *plot);    /* attention, with `columns` */
mgk_status mgk_plot_histograms(mgk_plot *plot);
mgk_status mgk_plot_sweeps(mgk_plot *plot);
mgk_status mgk_plot_curves(mgk_plot *plot); /* of logs, or */
mgk_status mgk_plot_steps(mgk_plot *plot);  /* of measures */
mgk_status mgk_plot_cost(mgk_plot *plot);
mgk_status mgk_plot_figure(mgk_plot *plot);       /* which calls, but for matrices and ranks, */
mgk_status mgk_plot_curve_figure(mgk_plot *plot); /* 1, 4, 9, 10 */
mgk_status mgk_plot_cost_figure(mgk_plot *plot);  /* 3, 7, 13, 14 */
mgk_status mgk_plot_heads(mgk_plot *plot);
mgk_status mgk_plot_depth(mgk_plot *plot);
mgk_status mgk_plot_pairs(mgk_plot *plot);
mgk_status mgk_plot_roles(mgk_plot *plot);
mgk_status mgk_plot_compare(mgk_plot *plot);
mgk_status mgk_plot_prune(mgk_plot *plot);
mgk_status mgk_plot_map(mgk_plot *plot);
mgk_status mgk_plot_mixture(mgk_plot *plot);
mgk_status mgk_plot_performer(mgk_plot *plot);   /* which calls, for figures from stores, */
mgk_status mgk_performer_layers(mgk_plot *plot); /* 10 */
mgk_status mgk_performer_heads(mgk_plot *plot);  /* 11 */
mgk_status mgk_performer_tokens(mgk_plot *plot); /* 13 */
mgk_status mgk_performer_errors(mgk_plot *plot); /* 14 */

/* STATUS_USAGE unless there are no names, or one name for each of 1 to MGK_GROUPS_MAX models. */
mgk_status mgk_plot_check_names(const mgk_plot_options *options, size_t models);

/* The user's name for a model, or the default. */
const char *mgk_plot_name(const mgk_plot_options *options, size_t model, const char *otherwise);

/* Makes "name, about" the title, also stored in the picture, unless the options have one or both
 * are empty. */
void mgk_plot_set_title(mgk_plot *plot, const char *name, const char *about);

/* Adds the hash of a model's file to the hashes stored in the picture; "": not known. */
void mgk_plot_add_hash(mgk_plot *plot, const char *sha256);

/* The largest number of tokens that a picture of keys shows. */
size_t mgk_plot_tokens(const mgk_plot_options *options);

/* Writes "MGK, 4 heads" for an attention kind. */
void mgk_plot_kind_title(const char *attention, int heads, char out[MGK_PLOT_TITLE]);

/* Writes the file's name without folders and ending. */
void mgk_plot_file_title(const char *path, char out[MGK_PLOT_TITLE]);

/* The same of both paths of two inputs as one, "a/x.h5 + b/y.h5": "x + y". */
void mgk_plot_joined_title(const char *paths, char out[MGK_PLOT_TITLE]);

/* The same of a model, which may be a folder: "b" of "a/b/". */
void mgk_plot_model_title(const char *path, char out[MGK_PLOT_TITLE]);

/* Writes a path, of a long one the end, where paths differ. */
void mgk_plot_path_end(const char *path, char out[MGK_PLOT_TITLE]);

/* The title of an input, with names in front that tell it from others. */
typedef char mgk_plot_title[4 * MGK_PLOT_TITLE];

/*
 * Tells inputs apart whose titles coincide: if their names differ, a title becomes "name: title".
 * titles and names [count] are arrays of characters in structures `stride` bytes apart, names of
 * MGK_PLOT_TITLE; a title longer than `size` is cut.
 */
void mgk_plot_tell_apart(char *titles, size_t size, const char *names, size_t stride, size_t count);

/* ---- matrices ------------------------------------------------------------------------------- */

/* The text of a token, as stored. */
typedef char mgk_plot_text[MGK_TOKEN_TEXT];

/* The matrices of one model. Zeroed is empty. */
typedef struct mgk_plot_matrices {
    mgk_panels panels;          /* refers to the arrays below; mgk_plot_groups sets the title */
    float *values;              /* [L, H, M, ...] */
    int32_t *layers, *heads;    /* [L], [H], the model's numbers */
    mgk_plot_text *texts;       /* of tokens or words, if they are labels */
    const char **labels;        /* pointers into texts */
    bool cross;                 /* attention of one sequence to another, */
    mgk_plot_text *key_texts;   /* whose tokens are those of the columns, with */
    const char **key_labels;    /* pointers into these */
    const char *path;           /* the matrices' file, borrowed */
    mgk_plot_title title;       /* the kind */
    char model[MGK_PLOT_TITLE]; /* name of the model's file or folder; "" if not known */
    char place[MGK_PLOT_TITLE]; /* the end of `path` */
    int position;               /* the sample's place in the store, */
    int32_t sample; /* and its number in the input; −1: the matrices belong to no sample */
    char sha256[MGK_SHA256_HEX_SIZE]; /* of the model's file; "": not known */
} mgk_plot_matrices;

/*
 * Reads the chosen layers and heads of an object (STORE_ATTENTION: the array `dataset`) from the
 * stores paths [count], all of the sample at the same position, into out [count], zeroed.
 * STATUS_SHAPE: no such sample, layer or head; STATUS_FORMAT: a store without the object.
 */
mgk_status mgk_plot_read_stores(const mgk_plot_options *options, const char *const *paths,
                                size_t count, mgk_store_object object, mgk_plot_matrices *out);

/*
 * Labels attention that was read, merges its sub-words, and selects the part to draw, according to
 * the options. STATUS_FORMAT: the store has no text of tokens; STATUS_SHAPE: a file with more or
 * fewer labels than tokens, or a range beyond the matrix. STATUS_UNSUPPORTED: words, a part, or a
 * file of labels of cross-attention.
 */
mgk_status mgk_plot_label(const mgk_plot_options *options, const char *path,
                          mgk_store_reader *reader, int32_t sample, mgk_plot_matrices *matrices);

/* Replaces white space in a token's text by characters that can be seen. */
void mgk_plot_make_visible(mgk_plot_text text);

/* Reads key weights from stores or from models, like mgk_plot_read_stores. */
mgk_status mgk_plot_read_weights(const mgk_plot_options *options, const char *const *paths,
                                 size_t count, mgk_plot_matrices *out);

/*
 * Finds the chosen numbers in index [count]: their positions, ascending, and the numbers. `wanted`
 * [wanted_count] are numbers; NULL: all. STATUS_SHAPE: "path: no layer 9". Release both arrays with
 * mgk_free, also after a failure.
 */
mgk_status mgk_plot_choose(const char *path, const char *what, const int *wanted,
                           size_t wanted_count, const int32_t *index, size_t count,
                           int32_t **positions, int32_t **numbers, size_t *out_count);

/* STATUS_SHAPE unless the heads of two layers, by the model's numbers, have as many of `what`:
 * panels of a group are a grid. */
mgk_status mgk_plot_expect_alike(const char *path, const char *what, const int32_t layers[2],
                                 const size_t counts[2]);

/* Titles the picture by the only model, its kind and the sample: no panel names the kind. */
void mgk_plot_title_model(mgk_plot *plot, const mgk_plot_matrices *m);

/* Tells models of equal titles apart by their names, or else by their files. */
void mgk_plot_tell_models(mgk_plot_matrices *matrices, size_t count);

/* Makes the panels with their titles, which differ, out [count]; adds the models' hashes to the
 * picture's texts, and reports entries that are not finite to the job's watcher. */
void mgk_plot_groups(mgk_plot *plot, mgk_plot_matrices *matrices, size_t count, mgk_panels *out);

/* Releases the arrays of matrices [count]. */
void mgk_plot_matrices_free(mgk_plot_matrices *matrices, size_t count);

/* ---- ranks ---------------------------------------------------------------------------------- */

/* The ranks of one model. Zeroed is empty. */
typedef struct mgk_plot_ranks {
    double
        *values;   /* [threshold_count, layer_count, count]: ranks, or of another measure NaN too */
    double *sizes; /* [layer_count, count]: N of the matrices */
    int32_t *layers; /* the model's numbers, ascending, [layer_count] */
    size_t layer_count, count;
    size_t last_head;            /* the largest number of a head */
    size_t tokens, least_tokens; /* N of the largest and of the smallest matrix */
    double *thresholds; /* [threshold_count]; NaN: a CSV with one threshold does not contain it */
    size_t threshold_count;
    bool relative; /* thresholds are multiples of sigma_1; a CSV does not contain this */
    double *noise; /* largest noise floor of each layer, on the scale of the thresholds; NaN: not
                      known */
    mgk_plot_title title;
    char place[MGK_PLOT_TITLE];       /* the end of the file's path */
    char sha256[MGK_SHA256_HEX_SIZE]; /* of the model's file; "": not known */
} mgk_plot_ranks;

/*
 * Reads the chosen layers of rank results (CSV, JSON, HDF5) from the files paths [count] into out
 * [MGK_GROUPS_MAX], zeroed. A file with several inputs contains several models; *models counts
 * them. For a sweep, mgk_rank_table_sweep prepares the tables. STATUS_USAGE: too many models;
 * STATUS_SHAPE: no such layer, models with different layers, or layers with different numbers of
 * matrices.
 */
mgk_status mgk_plot_read_ranks(const mgk_plot_options *options, const char *const *paths,
                               size_t count, mgk_plot_ranks *out, size_t *models);

/* The ranks at the first threshold for plots/, with a title; adds the model's hash to the picture's
 * texts. */
mgk_model_ranks mgk_plot_ranks_of(mgk_plot *plot, const mgk_plot_ranks *ranks, const char *title);

/*
 * N of the smallest and of the largest matrix of all models. If these differ, ranks cannot be
 * compared: divides them by N and returns true, unless the options choose a measure.
 */
bool mgk_plot_share_ranks(const mgk_plot_options *options, mgk_plot_ranks *ranks, size_t count,
                          size_t *least, size_t *most);

/* Releases the arrays of ranks [count]. */
void mgk_plot_ranks_free(mgk_plot_ranks *ranks, size_t count);

#endif
