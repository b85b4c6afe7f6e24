/* SPDX-License-Identifier: MIT */
/* The files of measures: CSV and JSON of means or of samples, HDF5 of samples. */
#include <string.h>

#include "base/memory.h"
#include "diversity/diversity.h"
#include "store/schema/measures.h"
#include "table/files.h"

mgk_status mgk_diversity_check_ending(const mgk_diversity_options *options)
{
    mgk_table_format format;
    return options->output ? mgk_table_format_of(options->output, &format) : STATUS_OK;
}

static mgk_diversity_input input_of(const mgk_diversity_part *part)
{
    const mgk_source *source = &part->input->source;
    return (mgk_diversity_input){.name = part->name,
                                 .layout = &part->layout,
                                 .samples = source->samples,
                                 .layers = source->layers,
                                 .heads = source->heads};
}

/* ---- means ----------------------------------------------------------------------------------- */

static const mgk_schema *schema_of(const mgk_diversity_results *results)
{
    return results->comparisons ? &mgk_comparison_schema : &mgk_diversity_schema;
}

static size_t count_differences(const mgk_diversity_results *results)
{
    size_t rows = 0;
    for (size_t i = 0; results->comparisons && i + 1 < results->count; i++)
        rows += results->comparisons[i].columns;
    return rows;
}

/* Puts the rows of all comparisons. */
static mgk_status put_differences(const mgk_diversity_results *results, mgk_table *table, size_t *r)
{
    for (size_t i = 0; results->comparisons && i + 1 < results->count; i++) {
        const mgk_diversity_comparison *c = &results->comparisons[i];
        for (size_t k = 0; k < c->columns; k++)
            TRY(mgk_diversity_put_difference(table, r, c->name, c->measures[k], c->layers[k],
                                             &c->differences[k], c->paired));
    }
    return STATUS_OK;
}

static size_t count_points(const mgk_diversity_results *results)
{
    size_t rows = 0;
    for (size_t i = 0; i < results->count; i++)
        for (int by = 0; by < MGK_PRUNINGS; by++)
            rows +=
                results->parts[i].curves[by].points ? results->parts[i].curves[by].heads + 1 : 0;
    return rows;
}

/* Puts the rows of a curve, from the whole model on. */
static mgk_status put_curve(const char *input, const mgk_pruning_curve *curve, mgk_table *table,
                            size_t *r)
{
    for (size_t k = 0; curve->points && k <= curve->heads; k++)
        TRY(mgk_diversity_put_point(table, r, input, curve->measure, (int32_t)(curve->heads - k),
                                    (int32_t)curve->samples, &curve->points[k]));
    return STATUS_OK;
}

/* Puts the rows of all curves. */
static mgk_status put_points(const mgk_diversity_results *results, mgk_table *table, size_t *r)
{
    for (size_t i = 0; i < results->count; i++)
        for (int by = 0; by < MGK_PRUNINGS; by++)
            TRY(put_curve(results->parts[i].name, &results->parts[i].curves[by], table, r));
    return STATUS_OK;
}

/* What belongs to no sample: differences and curves. */
static size_t count_rest(const mgk_diversity_results *results)
{
    return count_differences(results) + count_points(results);
}

static mgk_status put_rest(const mgk_diversity_results *results, mgk_table *table, size_t *r)
{
    TRY(put_differences(results, table, r));
    return put_points(results, table, r);
}

mgk_status mgk_diversity_mean_table(const mgk_diversity_results *results, mgk_table *out)
{
    mgk_status status;
    size_t rows = count_rest(results), r = 0;
    for (size_t i = 0; i < results->count; i++)
        rows += mgk_diversity_row_count(&results->parts[i].layout);
    TRY(mgk_table_make(schema_of(results), rows, out));
    for (size_t i = 0; i < results->count; i++) {
        const mgk_diversity_input input = input_of(&results->parts[i]);
        CHECK(mgk_diversity_put_means(out, &r, &input, &results->parts[i].means));
    }
    CHECK(put_rest(results, out, &r));
    return STATUS_OK;
out:
    mgk_table_free(out);
    return status;
}

/* A single piece. */
typedef struct whole {
    mgk_table table;
    bool given;
} whole;

static mgk_status next_whole(void *state, const mgk_table **chunk)
{
    whole *w = state;
    *chunk = w->given ? NULL : &w->table;
    w->given = true;
    return STATUS_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* A piece for each sample, then one for the rest. */
typedef struct pieces {
    const mgk_diversity_results *results;
    mgk_diversity_replay replay;
    mgk_table table; /* the last piece */
    bool last;       /* it was the rest */
} pieces;

static mgk_status take_rest(pieces *p, const mgk_table **chunk)
{
    size_t r = 0;
    if (p->last || count_rest(p->results) == 0)
        return STATUS_OK;
    p->last = true;
    TRY(mgk_table_make(schema_of(p->results), count_rest(p->results), &p->table));
    TRY(put_rest(p->results, &p->table, &r));
    *chunk = &p->table;
    return STATUS_OK;
}

static mgk_status next_sample(void *state, const mgk_table **chunk)
{
    pieces *p = state;
    bool end;
    size_t r = 0;
    *chunk = NULL;
    mgk_table_free(&p->table);
    TRY(mgk_diversity_replay_sample(&p->replay, &end));
    if (end)
        return take_rest(p, chunk);
    const mgk_diversity_part *part = &p->replay.parts[p->replay.input];
    const mgk_diversity_input input = input_of(part);
    TRY(mgk_table_make(schema_of(p->results), mgk_diversity_row_count(&part->layout), &p->table));
    TRY(mgk_diversity_put_sample(&p->table, &r, &input, p->replay.number, p->replay.record));
    *chunk = &p->table;
    return STATUS_OK;
}

/* ---- text ------------------------------------------------------------------------------------ */

static mgk_status write_chunks(const mgk_diversity_options *o, mgk_table_format format,
                               const mgk_table_chunks *chunks)
{
    return format == MGK_TABLE_CSV
               ? mgk_table_write_csv_chunks(chunks, o->output, o->job.force)
               : mgk_table_write_json_chunks(chunks, o->output, o->job.force, NULL, NULL);
}

static mgk_status write_means(const mgk_diversity_options *o, mgk_table_format format,
                              const mgk_diversity_results *results)
{
    whole w = {.given = false};
    TRY(mgk_diversity_mean_table(results, &w.table));
    const mgk_table_chunks chunks = {.schema = schema_of(results),
                                     .settings = results->settings,
                                     .next = next_whole,
                                     .state = &w};
    mgk_status status = write_chunks(o, format, &chunks);
    mgk_table_free(&w.table);
    return status;
}

static mgk_status write_samples(const mgk_diversity_options *o, mgk_table_format format,
                                const mgk_diversity_results *results)
{
    pieces p = {.results = results};
    const mgk_table_chunks chunks = {.schema = schema_of(results),
                                     .settings = results->settings,
                                     .next = next_sample,
                                     .state = &p};
    mgk_status status =
        mgk_diversity_replay_begin(results->journal, results->parts, results->count, &p.replay);
    if (status == STATUS_OK)
        status = write_chunks(o, format, &chunks);
    mgk_diversity_replay_end(&p.replay);
    mgk_table_free(&p.table);
    return status;
}

/* ---- HDF5 ------------------------------------------------------------------------------------ */

/* A file that is being written. */
typedef struct h5_output {
    mgk_measures_file *file;
    mgk_measure_arrays arrays; /* of the last input */
    mgk_measure_array *list;   /* its arrays: those of all measures, then those across layers */
    double *values;            /* of one measure on a sample */
} h5_output;

static int axes_of(const mgk_measure *measure)
{
    return measure->level == MGK_MEASURE_LAYER                         ? 2
           : measure->level == MGK_MEASURE_PAIR || measure->components ? 4
                                                                       : 3;
}

static mgk_measure_array array_of(const mgk_measure *measure)
{
    return (mgk_measure_array){.name = measure->name,
                               .formula = measure->formula,
                               .source = measure->source,
                               .level = mgk_measure_level_names[measure->level],
                               .unit = measure->unit,
                               .axes = axes_of(measure),
                               .components = measure->components};
}

/* Lists the arrays of the input. */
static void list_arrays(h5_output *h5, const mgk_record_layout *layout)
{
    size_t *count = &h5->arrays.array_count;
    for (size_t m = 0; m < layout->chosen; m++)
        h5->list[(*count)++] = array_of(layout->measures[m]);
    for (size_t m = 0; m < layout->chosen && layout->across; m++)
        if (layout->measures[m]->level == MGK_MEASURE_PAIR) {
            h5->list[*count] = array_of(layout->measures[m]);
            h5->list[*count].across = true;
            h5->list[(*count)++].axes = MGK_MEASURE_AXES_MOST;
        }
}

static mgk_status begin_input(h5_output *h5, const mgk_diversity_part *part)
{
    const mgk_diversity_input input = input_of(part);
    const mgk_record_layout *layout = &part->layout;
    mgk_free(h5->list);
    mgk_free(h5->values);
    h5->list = NULL;
    h5->values = NULL;
    TRY(mgk_alloc(2 * layout->chosen, sizeof(*h5->list), &h5->list));
    TRY(mgk_alloc(mgk_record_size(layout), sizeof(double), &h5->values));
    h5->arrays = (mgk_measure_arrays){.name = part->name,
                                      .sample_count = part->finished,
                                      .layer_count = layout->layers,
                                      .head_count = layout->heads,
                                      .component_count = layout->mixtures,
                                      .samples = input.samples,
                                      .layers = input.layers,
                                      .heads = input.heads,
                                      .arrays = h5->list};
    list_arrays(h5, layout);
    return mgk_measures_add_input(h5->file, &h5->arrays);
}

static mgk_status write_record(h5_output *h5, const mgk_diversity_part *part, size_t sample,
                               double *record)
{
    const mgk_record_layout *layout = &part->layout;
    size_t across = layout->chosen; /* the next array across layers */
    for (size_t m = 0; m < layout->chosen; m++) {
        const size_t size = mgk_measure_size(layout->measures[m], layout->heads, layout->mixtures);
        for (size_t l = 0; l < layout->layers; l++)
            memcpy(h5->values + l * size, mgk_record_values(layout, record, l, m),
                   size * sizeof(double));
        TRY(mgk_measures_write(h5->file, m, sample, h5->values));
        if (layout->across && layout->measures[m]->level == MGK_MEASURE_PAIR)
            TRY(mgk_measures_write(h5->file, across++, sample,
                                   record + mgk_record_across(layout, m)));
    }
    return STATUS_OK;
}

static mgk_status write_records(h5_output *h5, mgk_diversity_replay *replay)
{
    size_t inputs = 0;
    for (;;) {
        bool end;
        TRY(mgk_diversity_replay_sample(replay, &end));
        if (end)
            return STATUS_OK;
        const mgk_diversity_part *part = &replay->parts[replay->input];
        if (inputs == replay->input) {
            TRY(begin_input(h5, part));
            inputs++;
        }
        TRY(write_record(h5, part, replay->number, replay->record));
    }
}

/* A measure's layers are adjacent, and all measures have the same ones. */
static mgk_status write_comparison(mgk_measures_file *file, size_t k,
                                   const mgk_diversity_comparison *c)
{
    size_t layers = 1, measures;
    const char **names;
    double *values;
    while (layers < c->columns && c->measures[layers] == c->measures[0])
        layers++;
    measures = c->columns / layers;
    TRY(mgk_alloc(measures, sizeof(*names), &names));
    mgk_status status = mgk_alloc(c->columns, MGK_DIFFERENCE_STATISTICS * sizeof(double), &values);
    for (size_t i = 0; i < c->columns && status == STATUS_OK; i++) {
        const mgk_difference *d = &c->differences[i];
        const double statistics[] = {d->value, d->low,    d->high,
                                     d->p,     d->p_holm, (double)d->samples};
        memcpy(values + i * MGK_DIFFERENCE_STATISTICS, statistics, sizeof(statistics));
        names[i / layers] = c->measures[i];
    }
    const mgk_measure_statistics differences = {.name = c->name,
                                                .paired = c->paired,
                                                .row_count = layers,
                                                .measure_count = measures,
                                                .rows = c->layers,
                                                .measures = names,
                                                .values = values};
    if (status == STATUS_OK)
        status = mgk_measures_add_statistics(file, &mgk_difference_form, k, &differences);
    mgk_free(names);
    mgk_free(values);
    return status;
}

/* All curves of an input have as many points. */
static mgk_status write_curves(mgk_measures_file *file, size_t k, const mgk_diversity_part *part)
{
    const size_t heads = part->curves[0].heads, size = (heads + 1) * MGK_PRUNING_STATISTICS;
    const char *names[MGK_PRUNINGS];
    int32_t *left = NULL;
    double *values;
    if (!part->curves[0].points)
        return STATUS_OK;
    TRY(mgk_alloc(MGK_PRUNINGS, size * sizeof(double), &values));
    mgk_status status = mgk_alloc(heads + 1, sizeof(*left), &left);
    for (size_t i = 0; i < MGK_PRUNINGS * (heads + 1) && status == STATUS_OK; i++) {
        const mgk_pruning_curve *curve = &part->curves[i / (heads + 1)];
        const mgk_pruning_point *p = &curve->points[i % (heads + 1)];
        const double statistics[] = {p->value, p->sd, p->layer, p->head, (double)curve->samples};
        memcpy(values + i * MGK_PRUNING_STATISTICS, statistics, sizeof(statistics));
        names[i / (heads + 1)] = curve->measure;
        left[i % (heads + 1)] = (int32_t)(heads - i % (heads + 1));
    }
    const mgk_measure_statistics curves = {.name = part->name,
                                           .row_count = heads + 1,
                                           .measure_count = MGK_PRUNINGS,
                                           .rows = left,
                                           .measures = names,
                                           .values = values};
    if (status == STATUS_OK)
        status = mgk_measures_add_statistics(file, &mgk_pruning_form, k, &curves);
    mgk_free(left);
    mgk_free(values);
    return status;
}

static mgk_status write_h5(const mgk_diversity_options *o, const mgk_diversity_results *results)
{
    const size_t count = results->count;
    mgk_status status;
    h5_output h5 = {.file = NULL};
    mgk_diversity_replay replay = {.journal = NULL};
    CHECK(mgk_measures_create(o->output, o->job.force, results->settings, count, &h5.file));
    CHECK(mgk_diversity_replay_begin(results->journal, results->parts, count, &replay));
    CHECK(write_records(&h5, &replay));
    for (size_t i = 0; results->comparisons && i + 1 < count; i++)
        CHECK(write_comparison(h5.file, i, &results->comparisons[i]));
    for (size_t i = 0; i < count; i++)
        CHECK(write_curves(h5.file, i, &results->parts[i]));
    CHECK(mgk_measures_commit(h5.file));
out:
    mgk_diversity_replay_end(&replay);
    mgk_measures_discard(h5.file);
    mgk_free(h5.list);
    mgk_free(h5.values);
    return status;
}

mgk_status mgk_diversity_write(const mgk_diversity_options *options,
                               const mgk_diversity_results *results)
{
    mgk_table_format format;
    if (!options->output)
        return STATUS_OK;
    TRY(mgk_table_format_of(options->output, &format));
    if (format == MGK_TABLE_HDF5)
        return write_h5(options, results);
    return options->per_sample ? write_samples(options, format, results)
                               : write_means(options, format, results);
}
