/* Pictures from files: what is read of stores, models, rank files and logs for plots/ to draw. */
#ifndef MGK_PLOT_H
#define MGK_PLOT_H

#include "analysis/table/rank_table.h"
#include "base/sha256.h"
#include "base/status.h"
#include "mgk.h"
#include "plots/charts/heatmap_grid.h"
#include "plots/charts/histogram.h"
#include "plots/options.h"
#include "store/schema/reader.h"

enum { MGK_PLOT_TITLE = 64 };

/* A picture under way. Points into itself: it is not copied. */
typedef struct mgk_plot {
    const mgk_plot_options *options;
    mgk_picture_options picture;    /* the options as plots/ wants them */
    mgk_text_pair texts[4];         /* of the picture: software, command, title, models */
    char title[2 * MGK_PLOT_TITLE]; /* of matrices, where the options have none */
    char hashes[2 * MGK_GROUPS_MAX * (MGK_SHA256_HEX_SIZE + 2)]; /* stores, and ranks */
} mgk_plot;

/* One function a kind of picture: reads the inputs of the options and draws. */
mgk_status mgk_plot_heatmaps(mgk_plot *plot); /* attention, weights, keys */
mgk_status mgk_plot_histograms(mgk_plot *plot);
mgk_status mgk_plot_sweeps(mgk_plot *plot);
mgk_status mgk_plot_curves(mgk_plot *plot);
mgk_status mgk_plot_cost(mgk_plot *plot);
mgk_status mgk_plot_figure(mgk_plot *plot);

/* STATUS_USAGE unless there are no names, or one for each of 1 to MGK_GROUPS_MAX models. */
mgk_status mgk_plot_check_names(const mgk_plot_options *options, size_t models);

/* The user's name of a model, or the default. */
const char *mgk_plot_name(const mgk_plot_options *options, size_t model, const char *otherwise);

/* Adds the hash of a model's file to those that the picture names; "" where it is not known. */
void mgk_plot_add_hash(mgk_plot *plot, const char *sha256);

/* How many tokens a picture of keys shows at most. */
size_t mgk_plot_tokens(const mgk_plot_options *options);

/* "MGK, 4 heads" for an attention kind. */
void mgk_plot_kind_title(const char *attention, int heads, char out[MGK_PLOT_TITLE]);

/* The file's name without folders and ending. */
void mgk_plot_file_title(const char *path, char out[MGK_PLOT_TITLE]);

/* ---- matrices ------------------------------------------------------------------------------- */

/* The text of a token, as the store has it. */
typedef char mgk_plot_text[MGK_TOKEN_TEXT];

/* The matrices of one model. Zeroed is empty. */
typedef struct mgk_plot_matrices {
    mgk_panels panels;       /* into the arrays below; its title is left to mgk_plot_groups */
    float *values;           /* [L, H, M, ...] */
    int32_t *layers, *heads; /* the model's numbers, [L] and [H] */
    mgk_plot_text *texts;    /* of tokens or words, where they are labels: */
    const char **labels;     /* each of them */
    const char *path;        /* that they are from, borrowed */
    char title[MGK_PLOT_TITLE];
    char model[MGK_PLOT_TITLE];       /* name of the model's file or folder; "" if not known */
    int32_t sample;                   /* its position; −1: the matrices are of none */
    char sha256[MGK_SHA256_HEX_SIZE]; /* of the model's file; "" where it is not known */
} mgk_plot_matrices;

/*
 * Reads the chosen layers and heads of an object (STORE_ATTENTION: what `dataset` says) from
 * stores paths [count], all at the same position of a sample, into out [count], zeroed.
 * STATUS_SHAPE: no such sample, layer or head; STATUS_FORMAT: a store without the object.
 */
mgk_status mgk_plot_read_stores(const mgk_plot_options *options, const char *const *paths,
                                size_t count, mgk_store_object object, mgk_plot_matrices *out);

/*
 * Labels attention that was read, merges its sub-words, and leaves the part to be drawn, as the
 * options say. STATUS_FORMAT: the store has no text of tokens; STATUS_SHAPE: a file of other
 * than one label a token, or a range that leaves the matrix.
 */
mgk_status mgk_plot_label(const mgk_plot_options *options, const char *path,
                          mgk_store_reader *reader, int32_t sample, mgk_plot_matrices *matrices);

/* Reads key weights, from stores that hold them or from models, as mgk_plot_read_stores does. */
mgk_status mgk_plot_read_weights(const mgk_plot_options *options, const char *const *paths,
                                 size_t count, mgk_plot_matrices *out);

/*
 * The chosen ones among index [count]: their positions, ascending, and their numbers. `wanted`
 * [wanted_count] are numbers; NULL: all. STATUS_SHAPE: "path: no layer 9". Both arrays are released
 * with mgk_free, whatever is returned.
 */
mgk_status mgk_plot_choose(const char *path, const char *what, const int *wanted,
                           size_t wanted_count, const int32_t *index, size_t count,
                           int32_t **positions, int32_t **numbers, size_t *out_count);

/*
 * The panels with their titles, out [count]; the models' hashes join the picture's texts, and the
 * job's watcher is told of entries that are not finite.
 */
void mgk_plot_groups(mgk_plot *plot, const mgk_plot_matrices *matrices, size_t count,
                     mgk_panels *out);

/* Releases the arrays of matrices [count]. */
void mgk_plot_matrices_free(mgk_plot_matrices *matrices, size_t count);

/* ---- ranks ---------------------------------------------------------------------------------- */

/* The ranks of one model. Zeroed is empty. */
typedef struct mgk_plot_ranks {
    double *values;  /* [threshold_count, layer_count, count] */
    int32_t *layers; /* the model's numbers, ascending, [layer_count] */
    size_t layer_count, count;
    size_t tokens;      /* N of the largest matrix */
    double *thresholds; /* [threshold_count]; NaN where a CSV of one does not name it */
    size_t threshold_count;
    bool relative; /* thresholds are multiples of sigma_1; a CSV does not know */
    double *noise; /* the largest noise floor of each layer, as thresholds are; NaN: not known */
    char title[MGK_PLOT_TITLE];
    char sha256[MGK_SHA256_HEX_SIZE]; /* of the model's file; "" where it is not known */
} mgk_plot_ranks;

/*
 * Reads the chosen layers of rank results (CSV, JSON, HDF5) from files paths [count] into out
 * [MGK_GROUPS_MAX], zeroed. A file of several inputs holds several models; *models counts them.
 * For a sweep tables are made ready by mgk_rank_table_sweep.
 * STATUS_USAGE: too many models; STATUS_SHAPE: no such layer, models of different layers, or
 * layers of different numbers of matrices.
 */
mgk_status mgk_plot_read_ranks(const mgk_plot_options *options, const char *const *paths,
                               size_t count, mgk_plot_ranks *out, size_t *models);

/*
 * Those at the first threshold for plots/, under a title; the model's hash joins the picture's
 * texts.
 */
mgk_model_ranks mgk_plot_ranks_of(mgk_plot *plot, const mgk_plot_ranks *ranks, const char *title);

/* Releases the arrays of ranks [count]. */
void mgk_plot_ranks_free(mgk_plot_ranks *ranks, size_t count);

#endif
