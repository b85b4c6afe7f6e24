/* SPDX-License-Identifier: MIT */
/*
 * The ranks of a run in memory: one row per matrix, and one count per matrix and threshold. Its
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

/* The origin of an input's matrices. */
typedef struct mgk_rank_origin {
    char *path;                       /* of the file or model; UTF-8 */
    char sha256[MGK_SHA256_HEX_SIZE]; /* of the model's file; "" if unknown */
} mgk_rank_origin;

/* The settings of the run that made the table. */
typedef struct mgk_rank_settings {
    mgk_rank_origin *origins; /* [origin_count], of the inputs in order; owned by the table */
    size_t origin_count;
    char method[16]; /* "count" if only ranks were requested, or one of mgk_rank_method_names */
    bool relative;   /* thresholds are multiples of sigma_1 */
    uint64_t seed;
    size_t matrices_per_layer; /* 0: all */
    char *run; /* a JSON object with the other settings of the run, kept unchanged; NULL: unknown */
} mgk_rank_settings;

/* R rows, T thresholds. A zeroed table is empty. */
typedef struct mgk_rank_table {
    mgk_rank_settings settings;
    size_t threshold_count, row_count, capacity;
    double *thresholds;     /* [T] */
    mgk_rank_row *rows;     /* [R] */
    mgk_rank_count *counts; /* [R, T] */
    size_t n_max;           /* columns of spectra; 0: no spectra */
    double *spectra; /* [R, n_max], descending, NaN beyond each matrix's singular values; or NULL */
} mgk_rank_table;

/*
 * Creates an empty table for these thresholds; n_max > 0 adds spectra. Release with
 * mgk_rank_table_free. STATUS_USAGE: no threshold, more than MGK_THRESHOLDS_MAX; STATUS_MEMORY.
 */
mgk_status mgk_rank_table_make(size_t threshold_count, const double *thresholds, size_t n_max,
                               mgk_rank_table *out);

/* Reserves room for `rows` rows in total. STATUS_MEMORY. */
mgk_status mgk_rank_table_reserve(mgk_rank_table *table, size_t rows);

/* Appends a zeroed row, with its counts and a spectrum of NaN. STATUS_MEMORY. */
mgk_status mgk_rank_table_append(mgk_rank_table *table);

/*
 * Appends the rows of `next`, a separate input, with the number after the table's last input. Does
 * not copy spectra. STATUS_USAGE: the thresholds differ; STATUS_MEMORY.
 */
mgk_status mgk_rank_table_join(mgk_rank_table *table, const mgk_rank_table *next);

/* The number of inputs: they are numbered from 0, and the rows of an input are adjacent. */
size_t mgk_rank_table_inputs(const mgk_rank_table *table);

/* The rows of one input as a table that borrows all its memory; do not append to it or free it. */
mgk_rank_table mgk_rank_table_input(const mgk_rank_table *table, size_t input);

/* Releases; a zeroed table is accepted. */
void mgk_rank_table_free(mgk_rank_table *table);

/*
 * The settings as a JSON object, released with mgk_free:
 *   "input" (all inputs in one line, for people), "inputs": [their paths], "model_sha256": [of the
 *   models' files, null if unknown], "method", "relative", "seed" (a string of digits: 64 bits do
 *   not fit a JSON number), "matrices_per_layer" (0 = all), "thresholds", and "run": {"software",
 *   "method" (as requested), "device", and if given "dataset", "layers", "text", "lines", "tokens",
 *   "data", "images", "tokenizer" (paths), "task", "samples"; of a model also "length",
 *   "precision", "tf32": src/rank/settings.c, src/run/source_description.c}.
 */
mgk_status mgk_rank_table_settings(const mgk_rank_table *table, char **text);

/*
 * Reads such an object, which is not trusted; release with mgk_rank_settings_free, even after a
 * failure. STATUS_FORMAT: the message names the key.
 */
mgk_status mgk_rank_settings_parse(const char *text, mgk_rank_settings *out);

/* Releases the origins and `run`; zeroed settings are accepted. */
void mgk_rank_settings_free(mgk_rank_settings *settings);

/* The layers in the table, ascending: *layers [*count], released with mgk_free. STATUS_MEMORY. */
mgk_status mgk_rank_table_layers(const mgk_rank_table *table, size_t *count, size_t **layers);

/*
 * Writes the ranks of one layer at threshold number t, sorted ascending, to `ranks` [R], for
 * histograms and quartiles; returns their number.
 */
size_t mgk_rank_table_ranks(const mgk_rank_table *table, size_t layer, size_t t, size_t *ranks);

#endif
