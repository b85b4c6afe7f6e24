/* SPDX-License-Identifier: MIT */
/* The parts of measuring diversity: the choice of measures, the journal, the files, the notes. */
#ifndef MGK_DIVERSITY_H
#define MGK_DIVERSITY_H

#include "analysis/run/diversity.h"
#include "analysis/run/journal.h"
#include "analysis/table/diversity_table.h"
#include "analysis/table/pruning.h"
#include "mgk.h"
#include "run/sources.h"
#include "run/warnings.h"

/* An input, and the means of its records so far. */
typedef struct mgk_diversity_part {
    const mgk_source_input *input; /* a description, see mgk_source_describe */
    char *name;                    /* its path, as valid UTF-8 */
    mgk_record_layout layout;
    const mgk_source_input *joined; /* [2], descriptions of two inputs as one; NULL: it is one */
    mgk_diversity_means means;
    /* [S, L, chosen measures], the mean of each sample over the heads or pairs of a layer; NULL:
     * inputs are not compared */
    double *layer_means;
    /* [S, 2], length and hash of the tokens of each sample, see MGK_FACT_TOKENS; NULL likewise */
    double *identities;
    size_t finished;       /* samples */
    uint64_t samples_hash; /* of the lengths and tokens of the finished ones */
    bool tokens_known;     /* of all finished ones */
    /* Of pruning: what the heads are ordered by and the values are; the samples that choose the
     * orders, and if others are held out, their means; the values [MGK_PRUNING_ORDERS, L H + 1] of
     * each order, those that are finished, and the curves; zeroed: not pruned. */
    mgk_importance pruned_by;
    size_t choosers;
    mgk_diversity_means choosing;
    mgk_diversity_means orders;
    size_t finished_orders;
    mgk_pruning_curve curves[MGK_PRUNINGS];
} mgk_diversity_part;

/* The differences of a part from the first one. */
typedef struct mgk_diversity_comparison {
    char *name;                  /* "B-A" */
    bool paired;                 /* over the samples of both parts alone */
    size_t a_samples, b_samples; /* compared */
    size_t columns;
    const char **measures;       /* [columns], static */
    int32_t *layers;             /* [columns] */
    mgk_difference *differences; /* [columns] */
} mgk_diversity_comparison;

/* The inputs of the measures, without `memory`, of several models the first; borrows from the
 * options. */
mgk_source_options mgk_diversity_source_options(const mgk_diversity_options *options);

/* ---- choice.c -------------------------------------------------------------------------------- */

/*
 * The measures that the options name, or all: *out [*count], released with mgk_free. STATUS_USAGE:
 * no such measure, the message lists them; a name twice; `across_layers` without a measure of
 * pairs; or `across_models` with a named measure of other things.
 */
mgk_status mgk_diversity_choose(const mgk_diversity_options *options, const mgk_measure ***out,
                                size_t *count);

/* Whether the options name single measures, which then must be possible. */
bool mgk_diversity_names(const mgk_diversity_options *options);

/* The importances among chosen measures that the options want, not those that pruning alone takes:
 * a bit set of MGK_IMPORTANCE_BIT. */
unsigned mgk_diversity_importances(const mgk_diversity_options *options,
                                   const mgk_measure *const *chosen, size_t count);

/* What a measure needs besides attention, for people: "tokens", "values", "". */
const char *mgk_measure_needs_text(const mgk_measure *measure);

/*
 * Lays out the records of an opened input, with the chosen measures that it allows. note [size]
 * names the others; "" if there are none. Release *out with mgk_record_layout_free.
 * STATUS_UNSUPPORTED: the options name a measure that the input does not allow.
 */
mgk_status mgk_diversity_lay_out(const mgk_diversity_options *options,
                                 const mgk_source_input *input, const mgk_measure *const *chosen,
                                 size_t count, mgk_record_layout *out, char *note, size_t size);

/* ---- compare.c ------------------------------------------------------------------------------- */

/* Takes what a comparison needs of the sample at a position: its layer means, its identity. */
void mgk_diversity_keep_sample(mgk_diversity_part *part, size_t sample, double *record);

/* STATUS_SHAPE: two parts that are laid out have no measure and layer in common. */
mgk_status mgk_diversity_check_comparable(const mgk_diversity_part *a, const mgk_diversity_part *b);

/* The number of layers of a part that the other lacks, so that no difference is theirs. */
size_t mgk_diversity_layers_alone(const mgk_diversity_part *part, const mgk_diversity_part *other);

/*
 * Compares part number `which` with the first, to which it is comparable: all measures and layers
 * that both have, over the samples that both have, or if these are fewer than two over all. Release
 * with mgk_diversity_comparison_free. STATUS_INTERRUPTED; STATUS_MEMORY.
 */
mgk_status mgk_diversity_compare(const mgk_diversity_part *parts, size_t count, size_t which,
                                 const mgk_job *job, int threads, mgk_diversity_comparison *out);
void mgk_diversity_comparison_free(mgk_diversity_comparison *comparison);

/* ---- measured.c ------------------------------------------------------------------------------ */

/* Sets *out to whether the inputs are tables of measures, which are compared without matrices.
 * STATUS_USAGE: some are and some are not; STATUS_FORMAT: tables without samples; errors of reading
 * files. */
mgk_status mgk_measured_find(const mgk_diversity_options *options, bool *out);

/* STATUS_USAGE: an option belongs to measuring, or the options do not compare. */
mgk_status mgk_measured_check(const mgk_diversity_options *options);

/* The tables, all open. */
typedef struct mgk_measured mgk_measured;

/* Opens the inputs, which must stay. Close with mgk_measured_close; the errors of
 * mgk_measures_open. */
mgk_status mgk_measured_open(const mgk_diversity_options *options, mgk_measured **out);
void mgk_measured_close(mgk_measured *measured); /* NULL is accepted */

/* The number of inputs of all tables. */
size_t mgk_measured_inputs(const mgk_measured *measured);

/* Describes one, without what only a run knows; borrows from the tables. */
void mgk_measured_describe(const mgk_measured *measured, size_t input, mgk_source_input *out);

/* Reads all samples of one into a zeroed part: the named measures, or those that the table has if
 * NULL. STATUS_UNSUPPORTED: it lacks a named one, or has none; STATUS_INTERRUPTED; STATUS_MEMORY;
 * errors of reading. */
mgk_status mgk_measured_read(const mgk_measured *measured, size_t input,
                             const mgk_measure *const *named, size_t count, const mgk_job *job,
                             mgk_diversity_part *part);

/* STATUS_SHAPE: parts 0 and b have ranks, with different thresholds. */
mgk_status mgk_measured_check_ranks(const mgk_measured *measured, const mgk_diversity_part *parts,
                                    size_t b);

/* ---- prune.c --------------------------------------------------------------------------------- */

/* The orders in which heads are removed: by importance, by redundancy, and random ones. */
enum { MGK_RANDOM_ORDERS = 10, MGK_PRUNING_ORDERS = 2 + MGK_RANDOM_ORDERS };

/* Prepares a part that is laid out, of this run of a model, of which the last samples are held out.
 * Release with mgk_diversity_prune_free. STATUS_SHAPE: no others are left; STATUS_MEMORY. */
mgk_status mgk_diversity_prune_begin(mgk_diversity_part *part, const struct mgk_model_run *run,
                                     int held_out);

/* Takes the record of the sample that comes next, number part->finished. */
void mgk_diversity_prune_take(mgk_diversity_part *part, const double *record);

/* Follows pruning. */
typedef struct mgk_diversity_pruning {
    void (*progress)(void *state, size_t done, size_t total); /* in runs of the model */
    mgk_status (*receive)(void *state, size_t order);         /* an order is finished */
    void *state;
} mgk_diversity_pruning;

/*
 * Computes the curves of a part that is measured, with its js and its importance. `opened` is its
 * input, which is not used if all orders are finished. STATUS_INTERRUPTED; STATUS_MEMORY; the
 * errors of running the model and of `receive`.
 */
mgk_status mgk_diversity_prune(mgk_diversity_part *part, const mgk_source_input *opened,
                               const mgk_job *job, const mgk_diversity_pruning *follow);
void mgk_diversity_prune_free(mgk_diversity_part *part);

/* ---- journal.c ------------------------------------------------------------------------------- */

/* Opens the journal of options->output; *out is NULL without an output. Errors: see
 * run/run_journal.h. */
mgk_status mgk_diversity_open_journal(const mgk_diversity_options *options,
                                      const mgk_diversity_part *parts, size_t count,
                                      mgk_journal **out);

/* The settings of the run for readers of its output, a JSON object with its warnings; release with
 * mgk_free. STATUS_MEMORY. */
mgk_status mgk_diversity_settings(const mgk_diversity_options *options,
                                  const mgk_diversity_part *parts, size_t count,
                                  const mgk_warnings *warnings, char **out);

/* Adds the sample of a record to the hash of a part's samples, by which settings identify them. */
void mgk_diversity_hash_sample(mgk_diversity_part *part, double *record);

/* Appends the record of a sample of part number `input`. STATUS_IO, STATUS_MEMORY. */
mgk_status mgk_diversity_append(mgk_journal *journal, size_t input, const mgk_diversity_part *part,
                                size_t sample, const double *record);

/* Appends the values of an order of pruning, which come behind the samples of part number `input`.
 */
mgk_status mgk_diversity_append_order(mgk_journal *journal, size_t input,
                                      const mgk_diversity_part *part, size_t order);

/*
 * Reads what is finished in its order: input by input, the records of the samples of each from
 * position 0, then its orders of pruning.
 */
typedef struct mgk_diversity_replay {
    mgk_journal *journal;
    const mgk_diversity_part *parts; /* [count] */
    size_t count;
    size_t input, number; /* of the line: a sample, or S + order; SIZE_MAX before the first */
    double *record;       /* of a sample, or [L H + 1, 3] of an order */
} mgk_diversity_replay;

/* Begins; end with mgk_diversity_replay_end, also after a failure. STATUS_MEMORY. */
mgk_status mgk_diversity_replay_begin(mgk_journal *journal, const mgk_diversity_part *parts,
                                      size_t count, mgk_diversity_replay *out);

/* Reads the next sample or order, or sets *end. STATUS_FORMAT: the journal holds something else;
 * the message names the line. */
mgk_status mgk_diversity_replay_next(mgk_diversity_replay *replay, bool *end);

/* The same without orders. */
mgk_status mgk_diversity_replay_sample(mgk_diversity_replay *replay, bool *end);

/* Takes the values of the order that was read into its part, and counts it as finished.
 * STATUS_FORMAT: they are no values of an order; the message names the line. */
mgk_status mgk_diversity_replay_order(const mgk_diversity_replay *replay, mgk_diversity_part *part);
void mgk_diversity_replay_end(mgk_diversity_replay *replay);

/* ---- output.c -------------------------------------------------------------------------------- */

/* STATUS_USAGE unless the output has a known ending. */
mgk_status mgk_diversity_check_ending(const mgk_diversity_options *options);

/* What outputs are made of. */
typedef struct mgk_diversity_results {
    const mgk_diversity_part *parts; /* [count] */
    size_t count;
    const mgk_diversity_comparison *comparisons; /* [count − 1]; NULL: none */
    const char *settings;
    mgk_journal *journal;
} mgk_diversity_results;

/* The means of all parts, and the differences, as a table; release with mgk_table_free.
 * STATUS_MEMORY. */
mgk_status mgk_diversity_mean_table(const mgk_diversity_results *results, mgk_table *out);

/* Writes the output that the options name. */
mgk_status mgk_diversity_write(const mgk_diversity_options *options,
                               const mgk_diversity_results *results);

/* ---- notes.c --------------------------------------------------------------------------------- */

/* What a reader of a part's values must know. */
enum { MGK_DIVERSITY_NOTES = 6, MGK_DIVERSITY_NOTE = 1024 };

typedef struct mgk_diversity_notes {
    char lines[MGK_DIVERSITY_NOTES][MGK_DIVERSITY_NOTE];
    size_t count;
} mgk_diversity_notes;

/* Facts of the matrices of one part. Zeroed at the start. */
typedef struct mgk_diversity_facts {
    size_t matrices;
    double least_rows, most_rows; /* N */
    size_t zero_rows, with_zero_rows;
    size_t unnormalised; /* matrices with a row sum further than 0.01 from 1 */
    double row_sum_error;
    size_t negative; /* matrices with a negative entry */
    double lowest;
    size_t later; /* matrices with entries right of the diagonal */
} mgk_diversity_facts;

/* Adds the facts of a record. */
void mgk_diversity_collect(const mgk_record_layout *layout, double *record,
                           mgk_diversity_facts *facts);

/* `causal`: the measures were computed for a causal mask; `unnormalized`: the input says itself
 * that rows do not sum to 1. */
void mgk_diversity_explain(const char *name, const mgk_diversity_facts *facts, bool causal,
                           bool unnormalized, mgk_diversity_notes *out);

/* What f16 does to measures of the matrices of a file. */
void mgk_diversity_explain_half(const char *name, char note[MGK_DIVERSITY_NOTE]);

/* What it means that an input has only some of all heads of a layer; "": it has all. */
void mgk_diversity_explain_heads(const char *name, size_t heads, size_t all,
                                 char note[MGK_DIVERSITY_NOTE]);

/* What a reader of comparisons [count] must know: which measures have no interval; "" if all
 * have. */
void mgk_diversity_explain_weights(const mgk_diversity_comparison *comparisons, size_t count,
                                   char note[MGK_DIVERSITY_NOTE]);

#endif
