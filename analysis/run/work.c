/* SPDX-License-Identifier: MIT */
#include "analysis/run/work.h"

#include <stdio.h>
#include <string.h>

#include "analysis/run/rank_journal.h"
#include "base/memory.h"
#include "base/number.h"

void mgk_rank_work_record(mgk_rank_work *work, size_t row, mgk_status status)
{
    work->end = true;
    if (work->status != STATUS_OK && row >= work->failed_row)
        return;
    work->status = status;
    work->failed_row = row;
    snprintf(work->message, sizeof(work->message), "%s", mgk_fail_message());
}

/* ---- rounds ---------------------------------------------------------------------------------- */

mgk_status mgk_rank_work_open_rounds(mgk_rank_work *work, size_t most)
{
    const mgk_source *source = work->source;
    if (source->ahead > 0 && source->ahead < most)
        most = source->ahead;
    if (source->count > 0 && source->count < most)
        most = source->count;
    if (work->options->part && work->options->part->ahead < most)
        most = work->options->part->ahead;
    work->room = most;
    TRY(mgk_alloc(most, sizeof(*work->groups), &work->groups));
    TRY(mgk_alloc(most, sizeof(*work->rows), &work->rows));
    return mgk_alloc(most, sizeof(*work->matrices), &work->matrices);
}

void mgk_rank_work_close_rounds(mgk_rank_work *work)
{
    mgk_free(work->groups);
    mgk_free(work->rows);
    mgk_free(work->matrices);
}

static mgk_status check_cancel(const mgk_rank_work *work)
{
    const volatile sig_atomic_t *cancel = work->options->cancel;
    if (cancel && *cancel)
        return mgk_fail(STATUS_INTERRUPTED, "interrupted after %zu %s", work->done,
                        MGK_NOUN(work->done, "matrix", "matrices"));
    return STATUS_OK;
}

/* Whether an earlier run has computed the matrix of this row. */
static bool is_known(const mgk_rank_work *work, size_t row)
{
    return work->known && row < work->source->count && work->known[row];
}

/* How many of the next matrices, at most `most`, an earlier run has all computed, or none of them.
 */
static size_t count_alike(const mgk_rank_work *work, size_t most)
{
    const size_t first = work->table->row_count;
    const bool known = is_known(work, first);
    size_t count = 1;
    if (!work->known)
        return most;
    while (count < most && is_known(work, first + count) == known)
        count++;
    return count;
}

static mgk_status fail_other(const mgk_rank_work *work)
{
    return mgk_fail(STATUS_FORMAT,
                    "matrix %zu of the interrupted run is another one (`force` starts anew)",
                    work->table->row_count);
}

/* Skips a group of matrices that others compute, or have computed; their rows stay empty. */
static mgk_status pass_others(mgk_rank_work *work, const mgk_group *group)
{
    work->table->row_count += group->count;
    return STATUS_OK;
}

/* Skips a group whose rows are in the journal. */
static mgk_status pass_known(mgk_rank_work *work, const mgk_group *group)
{
    mgk_rank_table *table = work->table;
    if (work->options->part)
        return pass_others(work, group);
    for (size_t which = 0; which < group->count; which++) {
        const mgk_rank_row *row = &table->rows[table->row_count];
        const mgk_round_matrix matrix = {.group = group, .which = which};
        const mgk_rank_row named = mgk_rank_work_row(work, &matrix);
        if (named.sample != row->sample || named.layer != row->layer || named.head != row->head ||
            mgk_extent_values(&(mgk_extent){group->queries, group->keys, group->n}) != row->n)
            return fail_other(work);
        table->row_count++;
        work->done++;
    }
    return STATUS_OK;
}

/* Adds rows of the table for the matrices of the round's last group. */
static mgk_status add_rows(mgk_rank_work *work, const mgk_group *group)
{
    work->rows[work->group_count++] = work->table->row_count;
    for (size_t which = 0; which < group->count; which++)
        TRY(mgk_rank_table_append(work->table));
    return STATUS_OK;
}

/* Whether the group is left to another process; then *over, if this one computes nothing more. */
static mgk_status is_left(const mgk_rank_work *work, const mgk_group *group, bool *left, bool *over)
{
    const mgk_run_part *part = work->options->part;
    bool taken = true;
    *over = false;
    if (part)
        TRY(part->takes(part->state, group->sample, &taken, over));
    *left = !taken;
    return STATUS_OK;
}

/* Names groups of at most `most` matrices that are to be computed. */
static mgk_status name_groups(mgk_rank_work *work, size_t most)
{
    const mgk_source *source = work->source;
    work->group_count = 0;
    while (most > 0 && !work->end) {
        bool left = false;
        const bool known = is_known(work, work->table->row_count);
        mgk_group *group = &work->groups[work->group_count];
        const size_t n = known ? work->table->rows[work->table->row_count].n : 0;
        *group =
            (mgk_group){.queries = n, .keys = n, .n = n}; /* unless the source knows them already */
        TRY(check_cancel(work));
        TRY(source->next(source->state, count_alike(work, most), group, &work->end));
        if (work->end)
            return known ? fail_other(work) : STATUS_OK;
        if (!known)
            TRY(is_left(work, group, &left, &work->end));
        TRY(known  ? pass_known(work, group)
            : left ? pass_others(work, group)
                   : add_rows(work, group));
        most -= known || left ? 0 : group->count;
    }
    return STATUS_OK;
}

/* Lists the matrices of a prepared group. */
static mgk_status list_matrices(mgk_rank_work *work, size_t g)
{
    mgk_group *group = &work->groups[g];
    mgk_group_settle(work->source, group);
    if (group->n > work->source->n_max)
        return mgk_fail(STATUS_SHAPE, "a matrix of %zu rows, expected at most %zu", group->n,
                        work->source->n_max);
    for (size_t which = 0; which < group->count; which++)
        work->matrices[work->count++] = (mgk_round_matrix){group, which, work->rows[g] + which};
    return STATUS_OK;
}

/* Has the groups prepared; after a failure the groups before it are still measured. */
static void prepare_groups(mgk_rank_work *work)
{
    const mgk_source *source = work->source;
    size_t prepared = 0;
    mgk_status status = source->prepare(source->state, work->groups, work->group_count, &prepared);
    if (status != STATUS_OK)
        mgk_rank_work_record(work, work->rows[prepared], status);
    else
        prepared = work->group_count;
    for (size_t g = 0; g < prepared; g++) {
        status = list_matrices(work, g);
        if (status != STATUS_OK) {
            mgk_rank_work_record(work, work->rows[g], status);
            return;
        }
    }
}

bool mgk_rank_work_prepare(mgk_rank_work *work, size_t most)
{
    const size_t before = work->done;
    work->count = work->taken = 0;
    if (work->end)
        return false;
    mgk_status status = name_groups(work, most < work->room ? most : work->room);
    if (status != STATUS_OK)
        mgk_rank_work_record(work, work->table->row_count, status);
    if (work->done > before)
        mgk_rank_work_tell(work);
    if (work->group_count > 0 && status != STATUS_INTERRUPTED)
        prepare_groups(work);
    return work->count > 0;
}

const mgk_round_matrix *mgk_rank_work_next(mgk_rank_work *work)
{
    if (work->taken == work->count)
        return NULL;
    const mgk_round_matrix *matrix = &work->matrices[work->taken];
    if (matrix->row >= work->failed_row)
        return NULL;
    mgk_status status = check_cancel(work);
    if (status != STATUS_OK) {
        mgk_rank_work_record(work, matrix->row, status);
        return NULL;
    }
    work->taken++;
    return matrix;
}

mgk_status mgk_rank_work_take(const mgk_rank_work *work, const mgk_round_matrix *matrix,
                              double *data)
{
    return work->source->take(work->source->state, matrix->group, matrix->which, data);
}

/* ---- rows ------------------------------------------------------------------------------------ */

mgk_status mgk_rank_work_fail(mgk_status status, const mgk_rank_row *row)
{
    return mgk_fail(status, "sample %zu, layer %zu, head %zu: %s", row->sample, row->layer,
                    row->head, mgk_fail_message());
}

mgk_rank_row mgk_rank_work_row(const mgk_rank_work *work, const mgk_round_matrix *matrix)
{
    const mgk_source *source = work->source;
    const mgk_group *group = matrix->group;
    return (mgk_rank_row){
        .sample = mgk_source_number(source->samples, group->sample),
        .position = group->sample,
        .layer = mgk_source_number(source->layers, group->layer),
        .head = mgk_source_number(source->heads, (size_t)group->heads[matrix->which])};
}

mgk_status mgk_rank_work_check_rows(const mgk_rank_work *work, const mgk_rank_row *row, size_t rows,
                                    size_t zero_row)
{
    if (zero_row == rows || work->options->allow_zero_rows)
        return STATUS_OK;
    mgk_rank_fail_zero_row(zero_row);
    return mgk_rank_work_fail(STATUS_UNSUPPORTED, row);
}

mgk_extent mgk_rank_work_extent(const mgk_group *group)
{
    return (mgk_extent){.rows = group->queries, .columns = group->keys, .n = group->n};
}

mgk_status mgk_rank_work_measure(const mgk_rank_work *work, const mgk_extent *extent,
                                 const double *entries, double *scratch, mgk_rank_row *row)
{
    const size_t rows = extent->rows;
    TRY(mgk_rank_work_check_rows(work, row, rows, mgk_rank_zero_row(rows, extent->n, entries)));
    mgk_status status = mgk_rank_measure_rectangle(rows, extent->columns, extent->n, entries,
                                                   work->source->format, NULL, scratch, row);
    return status == STATUS_OK ? STATUS_OK : mgk_rank_work_fail(status, row);
}

void mgk_rank_work_tell(const mgk_rank_work *work)
{
    if (work->options->progress)
        work->options->progress(work->options->progress_state, work->done, work->source->count);
}

void mgk_rank_work_store(mgk_rank_work *work, size_t r, const mgk_rank_row *row,
                         const mgk_rank_count *counts, const double *sigma)
{
    mgk_rank_table *table = work->table;
    const size_t thresholds = table->threshold_count;
    table->rows[r] = *row;
    memcpy(table->counts + r * thresholds, counts, thresholds * sizeof(*counts));
    if (table->n_max > 0)
        memcpy(table->spectra + r * table->n_max, sigma, row->n * sizeof(double));
    if (work->options->journal) {
        mgk_status status =
            mgk_rank_journal_append(work->options->journal, work->options->input, table, r);
        if (status != STATUS_OK)
            mgk_rank_work_record(work, r, status);
    }
    work->done++;
    mgk_rank_work_tell(work);
}
