/* SPDX-License-Identifier: MIT */
/* The tables of a report. Each file is read once; inputs that are of the same model and samples
 * become one model. */
#ifndef MGK_REPORT_TABLES_H
#define MGK_REPORT_TABLES_H

#include <cjson/cJSON.h>

#include "analysis/table/diversity_values.h"

/* A model, from one input or from inputs of several tables. */
typedef struct mgk_report_model {
    mgk_diversity_set set;         /* one input, see mgk_diversity_set_merge */
    mgk_diversity_source *sources; /* [count], in the order of their tables */
    size_t *tables;                /* [count], from which they come */
    size_t count;
} mgk_report_model;

/* Zeroed is empty. */
typedef struct mgk_report_tables {
    const char **paths;      /* [count], borrowed texts */
    mgk_diversity_set *sets; /* [count], as the files have them */
    size_t count;
    mgk_report_model *models; /* [model_count] */
    size_t model_count, room;
} mgk_report_tables;

/* Makes room for the tables of `most` files; release with mgk_report_tables_free, also after a
 * failure. STATUS_MEMORY. */
mgk_status mgk_report_tables_make(size_t most, mgk_report_tables *out);
void mgk_report_tables_free(mgk_report_tables *tables);

/* Reads a file of mgk-diversity, one of those that there is room for; its path is borrowed. Errors
 * as of mgk_diversity_file_read. STATUS_UNSUPPORTED: it compares heads across two models. */
mgk_status mgk_report_tables_read(mgk_report_tables *tables, const char *path);

/*
 * Makes the models of all tables that were read. Inputs of different tables are the same model if
 * the hash of its file, the layers, the heads, the samples, and the matrices that were read of them
 * are the same; a table that does not tell one of them stays a model of its own. STATUS_MEMORY.
 */
mgk_status mgk_report_tables_merge(mgk_report_tables *tables);

/* How the matrices of an input were read. Zeroed: as usual. */
typedef struct mgk_report_reading {
    bool known;                        /* its table says it */
    const char *dataset, *axes, *mask; /* NULL: none */
    bool causal;
    cJSON *settings; /* owns the texts */
} mgk_report_reading;

/* Finds it in the settings of a table; release with mgk_report_reading_free. STATUS_MEMORY; errors
 * of the settings. */
mgk_status mgk_report_reading_of(const mgk_diversity_source *source, mgk_report_reading *out);
void mgk_report_reading_free(mgk_report_reading *reading); /* a zeroed one is accepted */

bool mgk_report_same_reading(const mgk_report_reading *a, const mgk_report_reading *b);

/* Parses the settings with which an input was measured; release with cJSON_Delete. *out is NULL if
 * its table does not have them. Errors as of mgk_json_parse_object. */
mgk_status mgk_report_settings(const mgk_diversity_source *source, cJSON **out);

#endif
