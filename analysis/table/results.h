/*
 * The rank table: one row a matrix, one count for each matrix and threshold, and its
 * two file formats.
 *
 * CSV. Header `sample,layer,head,n,rank,undecided,sigma_max,sigma_min,effective_rank,
 * stable_rank`, a line a matrix. With several thresholds, or another than 1e-6, there is a
 * trailing column `threshold`, and each matrix has a line for each of them, in the order of the
 * list; a file without it is one of 1e-6.
 * With several inputs there is a column `input` behind it: their numbers from 0, in order. Where
 * thresholds are multiples of sigma_1 there is a last column `relative`, 1 in all lines.
 * `sample` is its number in the model's input, which a store keeps in /samples, not its position
 * there. `undecided` is 0 or 1. What was not computed is an empty cell.
 *
 * JSON. One object:
 *   "settings"  {"input" (all inputs in one line, for people), "inputs": [their paths],
 *               "model_sha256": [of the models' files, null where it is not known],
 *               "method", "relative", "seed" (a string of digits: 64 bits do not fit a
 *               JSON number), "matrices_per_layer" (0 = all), "thresholds",
 *               "run": {"software", "method" (that was asked for), "device", and of what else was
 *               given "dataset", "text", "tokens", "data", "images", "tokenizer" (paths), "task",
 *               "samples"; of a model also "length", "precision", "tf32": src/rank/settings.c}}
 *   "matrices"  [{the CSV columns, "input", "threshold", "rank_low", "rank_high",
 *               "nearest", "sigma_ratio", "energy_1", "energy_4", "energy_16",
 *               "energy_64", "noise_floor", "row_sum_error", "column_sum_max",
 *               "storage", "method", "certificate"}], a matrix and threshold each, in the
 *               order of the CSV lines; null = not computed
 *   "layers"    [{"input", "layer", "threshold", "histogram": {"bin_left": [],
 *               "count": [], "bin_width"}, "mean", "median",
 *               "quartiles": [first, median, third]}]
 *
 * Numbers are written in as many digits as they take to be read back as they are, with a point,
 * whatever the locale.
 */
#ifndef MGK_ANALYSIS_RESULTS_H
#define MGK_ANALYSIS_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/measures/rank.h"
#include "base/sha256.h"
#include "base/status.h"

enum { MGK_THRESHOLDS_MAX = 1000 };

/* Where the matrices of an input come from. */
typedef struct mgk_rank_origin {
    char *path;                       /* of the file or model; UTF-8 */
    char sha256[MGK_SHA256_HEX_SIZE]; /* of the model's file; "" where it is not known */
} mgk_rank_origin;

/* How the table was made; written to JSON, of which CSV has `relative` alone. */
typedef struct mgk_rank_settings {
    mgk_rank_origin *origins; /* [origin_count], of the inputs in order; owned by the table */
    size_t origin_count;
    char method[16]; /* "count", where ranks alone were asked for, or mgk_rank_method_name's */
    bool relative;   /* thresholds are multiples of sigma_1 */
    uint64_t seed;
    size_t matrices_per_layer; /* 0: all */
    char *run; /* a JSON object of what else the run was, kept as it is; NULL: not known */
} mgk_rank_settings;

/* R rows, T thresholds. A zeroed table is empty. */
typedef struct mgk_rank_table {
    mgk_rank_settings settings;
    size_t threshold_count, row_count, capacity;
    double *thresholds;     /* [T] */
    mgk_rank_row *rows;     /* [R] */
    mgk_rank_count *counts; /* [R, T] */
    size_t n_max;           /* columns of spectra; 0 where they are not kept */
    double *spectra;        /* [R, n_max], descending, NaN beyond each matrix's n; or NULL */
} mgk_rank_table;

/*
 * Makes an empty table for these thresholds; n_max > 0 makes room for spectra.
 * STATUS_USAGE: no threshold, more than MGK_THRESHOLDS_MAX; STATUS_MEMORY.
 */
mgk_status mgk_rank_table_make(size_t threshold_count, const double *thresholds, size_t n_max,
                               mgk_rank_table *out);

/* Makes room for `rows` rows in all. STATUS_MEMORY. */
mgk_status mgk_rank_table_reserve(mgk_rank_table *table, size_t rows);

/* Appends a zeroed row (with its counts, and a spectrum of NaN). STATUS_MEMORY. */
mgk_status mgk_rank_table_append(mgk_rank_table *table);

/*
 * Appends the rows of `next`, an input of its own, as those of the input after the table's last.
 * Spectra are left behind. STATUS_USAGE: the thresholds differ; STATUS_MEMORY.
 */
mgk_status mgk_rank_table_join(mgk_rank_table *table, const mgk_rank_table *next);

/* How many inputs the rows come from: they are numbered from 0, and their rows adjacent. */
size_t mgk_rank_table_inputs(const mgk_rank_table *table);

/* The rows of one input as a table that borrows everything; it is neither appended to nor freed. */
mgk_rank_table mgk_rank_table_input(const mgk_rank_table *table, size_t input);

/* Releases; a zeroed table is accepted. */
void mgk_rank_table_free(mgk_rank_table *table);

/* The settings as the object of JSON described above; *text is released with mgk_free. */
mgk_status mgk_rank_table_settings(const mgk_rank_table *table, char **text);

/*
 * Reads such an object, which is not trusted; released with mgk_rank_settings_free, whatever is
 * returned. STATUS_FORMAT names the key.
 */
mgk_status mgk_rank_settings_parse(const char *text, mgk_rank_settings *out);

/* Releases the origins; zeroed settings are accepted. */
void mgk_rank_settings_free(mgk_rank_settings *settings);

/*
 * The layers that occur, ascending: *layers [*count], released with mgk_free.
 * STATUS_MEMORY.
 */
mgk_status mgk_rank_table_layers(const mgk_rank_table *table, size_t *count, size_t **layers);

/*
 * The ranks of one layer at threshold number t, sorted ascending, into `ranks` [R];
 * returns how many. What histograms and quartiles are made of.
 */
size_t mgk_rank_table_ranks(const mgk_rank_table *table, size_t layer, size_t t, size_t *ranks);

/* Writes the table, whole or not at all. STATUS_EXISTS without `force`; STATUS_IO. */
mgk_status mgk_rank_table_write_csv(const mgk_rank_table *table, const char *path, bool force);
mgk_status mgk_rank_table_write_json(const mgk_rank_table *table, const char *path, bool force);

/*
 * Reads a table back from either format, told apart by content. CSV holds less: there
 * rank_low and rank_high are the rank, or 0 and n where it is undecided, settings are
 * zeroed, and other measures NaN. The input is not trusted.
 * STATUS_IO, STATUS_FORMAT (the message names the file, and the line or key).
 */
mgk_status mgk_rank_table_read(const char *path, mgk_rank_table *out);

#endif
