/* SPDX-License-Identifier: MIT */
/*
 * The values of all chosen measures on one sample, as one array of doubles: [L, layer_size]. A
 * layer has the values of each measure, [H] or [H, M] of a head measure, [H, H] of a pair measure,
 * 1 of a layer measure, and then facts [H, MGK_FACTS] about its matrices. Across layers each chosen
 * pair measure has [L H, L H] more, behind all layers: head h of layer l is number l H + h. NaN: no
 * value.
 */
#ifndef MGK_ANALYSIS_RECORD_H
#define MGK_ANALYSIS_RECORD_H

#include "analysis/measures/measure.h"
#include "base/status.h"

/* Facts about a matrix, from which a run warns of unusual input. */
enum {
    MGK_FACT_ROWS,          /* N, the valid tokens, those of the queries */
    MGK_FACT_ZERO_ROWS,     /* rows that are all zeros */
    MGK_FACT_ROW_SUM_ERROR, /* max_i |sum_j a_ij − 1| over the other rows */
    MGK_FACT_LOWEST,        /* the lowest entry, at most 0 */
    MGK_FACT_LATER,  /* 1 if an entry right of the diagonal is not 0, else 0; 0 if queries and
                      keys are of two sequences */
    MGK_FACT_TOKENS, /* a hash of the sample's tokens, below 2^52 */
    MGK_FACTS
};

typedef struct mgk_record_layout {
    size_t layers, heads, mixtures; /* L, H, M of values for each component */
    /* [measure_count], owned: the chosen ones, then those that a chosen one is made `of` */
    const mgk_measure **measures;
    size_t measure_count, chosen;
    size_t *offsets; /* [measure_count], of each measure in a layer */
    size_t facts;    /* offset of the facts in a layer */
    size_t layer_size;
    bool across;        /* pairs of heads of different layers, too */
    size_t across_size; /* of the values across layers */
} mgk_record_layout;

/* The number of values of a measure in a layer of H heads with M components each. */
size_t mgk_measure_size(const mgk_measure *measure, size_t heads, size_t mixtures);

/* Lays out records of the chosen measures; release with mgk_record_layout_free. STATUS_MEMORY, also
 * for sizes that do not fit a size_t. */
mgk_status mgk_record_layout_make(size_t layers, size_t heads, size_t mixtures,
                                  const mgk_measure *const *chosen, size_t count,
                                  mgk_record_layout *out);
void mgk_record_layout_free(mgk_record_layout *layout); /* a zeroed one is accepted */

/* Adds the values across layers to a layout. STATUS_MEMORY, as above. */
mgk_status mgk_record_layout_add_across(mgk_record_layout *layout);

/* The number of doubles of a record. */
size_t mgk_record_size(const mgk_record_layout *layout);

/* The values of measure number m in a layer of a record. */
double *mgk_record_values(const mgk_record_layout *layout, double *record, size_t layer, size_t m);

/* Where the values [L H, L H] of the chosen pair measure number m begin in a record across layers.
 */
size_t mgk_record_across(const mgk_record_layout *layout, size_t m);

/* The facts [MGK_FACTS] of a head. */
double *mgk_record_facts(const mgk_record_layout *layout, double *record, size_t layer,
                         size_t head);

#endif
