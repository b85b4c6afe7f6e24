/*
 * The ranks of a run in memory: a row a matrix, and a count for each matrix and threshold. Its
 * columns are in rank_columns.h, its files in src/run/rank_file.h.
 */
#ifndef MGK_ANALYSIS_RANK_TABLE_H
#define MGK_ANALYSIS_RANK_TABLE_H

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

/* How the table was made. */
typedef struct mgk_rank_settings {
    mgk_rank_origin *origins; /* [origin_count], of the inputs in order; owned by the table */
    size_t origin_count;
    char
        method[16]; /* "count", where ranks alone were asked for, or one of mgk_rank_method_names */
    bool relative;  /* thresholds are multiples of sigma_1 */
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

/*
 * The settings as an object of JSON, released with mgk_free:
 *   "input" (all inputs in one line, for people), "inputs": [their paths], "model_sha256": [of the
 *   models' files, null where it is not known], "method", "relative", "seed" (a string of digits:
 *   64 bits do not fit a JSON number), "matrices_per_layer" (0 = all), "thresholds", and "run":
 *   {"software", "method" (that was asked for), "device", and of what else was given "dataset",
 *   "layers", "text", "lines", "tokens", "data", "images", "tokenizer" (paths), "task", "samples";
 * of a model also "length", "precision", "tf32": src/rank/settings.c}.
 */
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

#endif
