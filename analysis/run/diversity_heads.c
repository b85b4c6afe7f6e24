/* SPDX-License-Identifier: MIT */
/* Measures of heads. */
#include <math.h>
#include <string.h>

#include "analysis/run/diversity_work.h"
#include "kernels/blas.h"

/* A matrix of the round, while a thread measures it. */
typedef struct head_matrix {
    mgk_diversity_work *work;
    const mgk_diversity_group *group;
    mgk_diversity_worker *worker;
    size_t which; /* its place in the group */
    size_t queries, keys,
        n;     /* its rows and columns; the larger of both, its order if it is square */
    double *a; /* [n, n]; its spectrum, which comes last, destroys it */
    double *row_sums;
    bool *zero_rows;
    double *entropies;  /* [queries], of the rows; NULL: not needed */
    double lowest;      /* entry, or 0 */
    bool attends_later; /* a query, to a later key of its sequence */
    mgk_rank_row row;   /* of the spectrum */
    double *record;     /* of the sample */
    size_t layer, head; /* positions in the source */
} head_matrix;

static void store(const head_matrix *m, size_t measure, double value)
{
    const mgk_record_layout *layout = m->work->layout;
    if (m->lowest < 0 && (layout->measures[measure]->needs & MGK_NEEDS_DISTRIBUTION))
        value = NAN;
    mgk_record_values(layout, m->record, m->layer, measure)[m->head] = value;
}

/* Where it is kept. */
static size_t place_of(const head_matrix *m)
{
    return mgk_diversity_place(m->work, m->group->slot + m->which);
}

/* ---- entries --------------------------------------------------------------------------------- */

static void find_zero_rows(const head_matrix *m)
{
    for (size_t i = 0; i < m->queries; i++)
        m->zero_rows[i] = m->row_sums[i] == 0 && mgk_rank_is_zero_row(m->n, m->a + i * m->n);
}

static mgk_status refuse_zero_row(const head_matrix *m)
{
    size_t i = 0;
    while (i < m->queries && !m->zero_rows[i])
        i++;
    return mgk_rank_fail_zero_row(i);
}

static mgk_status describe_entries(head_matrix *m)
{
    TRY(mgk_rank_measure_rectangle(m->queries, m->keys, m->n, m->a, m->work->source->format,
                                   m->row_sums, m->worker->column_sums, &m->row));
    find_zero_rows(m);
    if (m->row.zero_rows > 0 && !m->work->options->allow_zero_rows)
        return refuse_zero_row(m);
    if (m->work->norms)
        m->work->norms[place_of(m)] = m->row.frobenius;
    return STATUS_OK;
}

/* Looks for an entry below 0, and for a later key of its sequence that a query attends to. Returns
 * the largest entry, or 0. */
static double look_at_row(head_matrix *m, size_t i)
{
    const mgk_row_kernels *kernels = m->work->kernels;
    const double *row = m->a + i * m->n;
    const size_t until = m->work->source->cross || m->attends_later ? m->n : i + 1;
    mgk_row_range range = kernels->range(until, row);
    if (kernels->any(m->n - until, row + until)) {
        range = kernels->range(m->n, row);
        m->attends_later = true;
    }
    m->lowest = range.smallest < m->lowest ? range.smallest : m->lowest;
    return range.largest;
}

/* After all rows have been looked at. */
static mgk_status store_facts(const head_matrix *m)
{
    double *facts = mgk_record_facts(m->work->layout, m->record, m->layer, m->head);
    facts[MGK_FACT_ROWS] = (double)m->queries;
    facts[MGK_FACT_ZERO_ROWS] = (double)m->row.zero_rows;
    facts[MGK_FACT_ROW_SUM_ERROR] = m->row.row_sum_error;
    facts[MGK_FACT_LOWEST] = m->lowest;
    facts[MGK_FACT_TOKENS] = m->group->tokens;
    facts[MGK_FACT_LATER] = m->attends_later;
    if (m->work->source->causal && m->attends_later)
        return mgk_fail(STATUS_UNSUPPORTED, "entries right of the diagonal are not 0, but the "
                                            "attention is said to have a causal mask");
    return STATUS_OK;
}

/* Whether the matrix can have the measure: positions of two sequences cannot be compared. */
static bool is_defined(const head_matrix *m, const mgk_measure *measure)
{
    return !m->work->source->cross || !(measure->needs & MGK_NEEDS_POSITIONS);
}

/* ---- measures of rows ------------------------------------------------------------------------ */

/* Sums and numbers of the values of one measure's rows. */
typedef struct row_mean {
    double sum;
    size_t count;
} row_mean;

/* Row r of a block as floats, which its entries are: the row that is kept, or a copy. */
static const float *floats_of(const head_matrix *m, const mgk_rows *rows, size_t r)
{
    if (m->work->kept)
        return mgk_diversity_floats(m->work, place_of(m), m->keys, rows->first + r);
    float *copy = m->worker->floats + r * m->n;
    rows->kernels->narrow(rows->longest, mgk_row(rows, r), copy);
    return copy;
}

static void sort_floats(const head_matrix *m, const mgk_rows *rows)
{
    const float *row[MGK_ROWS_MOST];
    for (size_t r = 0; r < MGK_ROWS_MOST; r++)
        row[r] = r < rows->count ? floats_of(m, rows, r) : row[rows->count - 1];
    rows->kernels->sort_floats(rows->longest, row, m->worker->sorted);
}

/* Sorts the rows of the block, up to the last key that one of them sees. Keys that a query does not
 * see have weight 0. Columns beyond the last row repeat it. */
static void sort_rows(const head_matrix *m, const mgk_rows *rows)
{
    const double *row[MGK_ROWS_MOST];
    for (size_t r = 0; r < MGK_ROWS_MOST; r++)
        row[r] = mgk_row(rows, r < rows->count ? r : rows->count - 1);
    rows->kernels->sort(rows->longest, row, m->worker->sorted);
}

static void keep_rows(const head_matrix *m, const mgk_rows *rows)
{
    for (size_t r = 0; r < rows->count; r++)
        mgk_diversity_keep(m->work, place_of(m), m->keys, rows->first + r, mgk_row(rows, r));
}

/* The distances of keys from queries, see mgk_rows. */
static const double *find_distances(const head_matrix *m)
{
    mgk_diversity_worker *worker = m->worker;
    if (worker->distances_for == m->n)
        return worker->distances;
    for (size_t k = 0; k < 2 * m->n - 1; k++)
        worker->distances[k] = k < m->n ? (double)(m->n - 1 - k) : (double)(k - (m->n - 1));
    worker->distances_for = m->n;
    return worker->distances;
}

static mgk_rows take_rows(head_matrix *m, size_t first)
{
    const size_t left = m->queries - first;
    mgk_rows rows = {.kernels = m->work->kernels,
                     .n = m->n,
                     .keys = m->keys,
                     .first = first,
                     .count = left < MGK_ROWS_MOST ? left : MGK_ROWS_MOST,
                     .a = m->a + first * m->n,
                     .causal = m->work->source->causal,
                     .sums = m->row_sums + first,
                     .largest = m->worker->largest,
                     .entropies = m->entropies ? m->entropies + first : NULL,
                     .sorted = m->worker->sorted,
                     .distances = find_distances(m)};
    rows.longest = mgk_row_keys(&rows, rows.count - 1);
    for (size_t r = 0; r < rows.count; r++)
        m->worker->largest[r] = look_at_row(m, first + r);
    for (size_t r = 0; r < rows.count && m->entropies; r++)
        m->entropies[first + r] =
            rows.kernels->entropy(mgk_row_entries(&rows, r), mgk_row(&rows, r));
    if (m->work->kept)
        keep_rows(m, &rows);
    if (mgk_diversity_wants(m->work, MGK_NEEDS_SORTED))
        (m->work->source->floats ? sort_floats : sort_rows)(m, &rows);
    return rows;
}

static void add_rows(const head_matrix *m, const mgk_rows *rows, const mgk_measure *measure,
                     row_mean *mean)
{
    double values[MGK_ROWS_MOST], sum = mean->sum;
    size_t count = mean->count;
    measure->rows(rows, values);
    for (size_t r = 0; r < rows->count; r++) {
        if (m->zero_rows[rows->first + r] || isnan(values[r]))
            continue;
        sum += values[r];
        count++;
    }
    *mean = (row_mean){sum, count};
}

/* All that rows are needed for is done while they are in the first cache. */
static mgk_status measure_rows(head_matrix *m)
{
    const mgk_record_layout *layout = m->work->layout;
    row_mean means[MGK_MEASURES_MOST] = {{0, 0}};
    for (size_t first = 0; first < m->queries; first += MGK_ROWS_MOST) {
        const mgk_rows rows = take_rows(m, first);
        for (size_t k = 0; k < layout->measure_count; k++)
            if (layout->measures[k]->rows && is_defined(m, layout->measures[k]))
                add_rows(m, &rows, layout->measures[k], &means[k]);
    }
    TRY(store_facts(m));
    for (size_t k = 0; k < layout->measure_count; k++)
        if (layout->measures[k]->rows)
            store(m, k, means[k].count > 0 ? means[k].sum / (double)means[k].count : NAN);
    return STATUS_OK;
}

/* ---- measures of the matrix and of its spectrum ---------------------------------------------- */

static void measure_matrix(const head_matrix *m)
{
    const mgk_record_layout *layout = m->work->layout;
    const mgk_matrix_view view = {.kernels = m->work->kernels,
                                  .queries = m->queries,
                                  .keys = m->keys,
                                  .n = m->n,
                                  .a = m->a,
                                  .causal = m->work->source->causal,
                                  .row_sums = m->row_sums,
                                  .column_sums = m->worker->column_sums,
                                  .frobenius = m->row.frobenius,
                                  .zero_rows = m->zero_rows,
                                  .places = m->group->places,
                                  .scratch = m->worker->scratch};
    for (size_t k = 0; k < layout->measure_count; k++) {
        const mgk_measure *measure = layout->measures[k];
        const bool known = view.places || !(measure->needs & MGK_NEEDS_TOKENS);
        if (measure->matrix && known && is_defined(m, measure) && m->queries > 0 && m->keys > 0)
            store(m, k, measure->matrix(&view));
    }
}

static mgk_status measure_spectrum(head_matrix *m)
{
    const mgk_diversity_run_options *o = m->work->options;
    const mgk_record_layout *layout = m->work->layout;
    const mgk_engine_task task = {
        .threshold_count = 1, .thresholds = &o->threshold, .relative = o->relative};
    mgk_ladder ladder = {0};
    mgk_rank_count count;
    const mgk_extent extent = {.rows = m->queries, .columns = m->keys, .n = m->n};
    TRY(mgk_rectangle_rank(m->worker->engine, &task, &ladder, &extent, m->a, m->worker->reflections,
                           &m->row, &count, m->worker->sigma));
    const mgk_spectrum_view view = {.n = mgk_extent_values(&extent),
                                    .sigma = m->worker->sigma,
                                    .row = &m->row,
                                    .count = &count};
    for (size_t k = 0; k < layout->measure_count; k++)
        if (layout->measures[k]->spectrum)
            store(m, k, layout->measures[k]->spectrum(&view));
    return STATUS_OK;
}

/* ---- mixtures of keys ------------------------------------------------------------------------ */

static void measure_mixture(const head_matrix *m)
{
    const mgk_diversity_work *work = m->work;
    const mgk_source *source = work->source;
    const mgk_record_layout *layout = work->layout;
    const size_t before = mgk_diversity_vectors(work, m->group) + m->which * m->n * source->dim;
    const size_t parameters = (m->layer * layout->heads + m->head) * layout->mixtures;
    const mgk_mixture_view view = {.n = m->n,
                                   .dim = source->dim,
                                   .mixtures = layout->mixtures,
                                   .causal = source->causal,
                                   .queries = work->queries ? work->queries + before : NULL,
                                   .keys = work->keys + source->mixtures * before,
                                   .priors = work->priors + parameters * source->n_max,
                                   .prior_pitch = source->n_max,
                                   .variances = work->variances + parameters,
                                   .scratch = m->worker->mixture};
    for (size_t k = 0; k < layout->measure_count && m->n > 0; k++) {
        const mgk_measure *measure = layout->measures[k];
        const size_t stride = measure->components ? layout->mixtures : 1;
        if (measure->mixture)
            measure->mixture(&view,
                             mgk_record_values(layout, m->record, m->layer, k) + m->head * stride);
    }
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* O = A V of some rows and their first `keys` keys. A BLAS, which copies A first, gets what does
 * not fill the units of `weigh`. */
static void multiply_rows(const head_matrix *m, size_t first, size_t rows, size_t keys, size_t dim,
                          const double *values, double *output)
{
    const double *a = m->a + first * m->n;
    const size_t whole = dim % MGK_WEIGH_UNIT == 0 ? rows / MGK_WEIGH_UNIT * MGK_WEIGH_UNIT : 0;
    const blasint columns = (blasint)dim;
    m->work->kernels->weigh(whole, keys, dim, a, m->n, values, output + first * dim);
    if (whole < rows)
        mgk_blas.dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)(rows - whole), columns,
                       (blasint)keys, 1, a + whole * m->n, (blasint)m->n, values, columns, 0,
                       output + (first + whole) * dim, columns);
}

/* O = A V, in blocks of rows up to the last key that one of them sees. */
static void multiply(const head_matrix *m, size_t dim, const double *values, double *output)
{
    enum { ROWS = 3 * MGK_WEIGH_UNIT };
    for (size_t first = 0; first < m->n; first += ROWS) {
        const size_t rows = m->n - first < ROWS ? m->n - first : ROWS;
        const size_t keys = m->work->source->causal ? first + rows : m->n;
        multiply_rows(m, first, rows, keys, dim, values, output);
    }
}

/* The largest magnitude in column d of x [n, dim]. */
static double largest_of_column(size_t n, size_t dim, const double *x, size_t d)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(x[i * dim + d]));
    return largest;
}

/*
 * Whether a column of outputs is constant: rounding leaves this much of it when its mean is
 * subtracted, because outputs are sums of n values with weights, and their mean is one of n
 * outputs. `top`: the largest magnitude of all values, so that few columns are looked at.
 */
static bool is_constant(const head_matrix *m, size_t dim, const double *values, double top,
                        size_t d, double left)
{
    const double rounding = 2 * (double)m->n * 0x1p-53 * (1 + m->row.row_sum_error);
    return left <= rounding * top && left <= rounding * largest_of_column(m->n, dim, values, d);
}

/* Copies the output with the mean of each column subtracted; squares [n] of its rows. A constant
 * column becomes exactly 0. */
static void centre(const head_matrix *m, size_t dim, const double *values, const double *output,
                   double *centred, double *squares)
{
    const mgk_row_kernels *kernels = m->work->kernels;
    const size_t n = m->n, size = n * dim, width = mgk_diversity_width(m->work);
    const mgk_row_range range = kernels->range(size, values);
    const double top = fmax(range.largest, -range.smallest);
    double *means = m->worker->columns, *left = means + dim;
    kernels->centre(n, dim, output, means, centred, width, left);
    for (size_t d = 0; d < dim; d++)
        if (is_constant(m, dim, values, top, d, left[d]))
            for (size_t i = 0; i < n; i++)
                centred[i * width + d] = 0;
    kernels->squares(n, width, centred, squares);
}

/* Divides the vectors x [n, dim] by their lengths; zero [n]: those of length 0. */
static void normalise(const head_matrix *m, size_t dim, double *x, bool *zero)
{
    double *lengths = m->worker->scratch;
    m->work->kernels->normalise(m->n, dim, x, lengths);
    for (size_t i = 0; i < m->n; i++)
        zero[i] = lengths[i] == 0;
}

static void compute_output(const head_matrix *m)
{
    const mgk_diversity_work *work = m->work;
    const size_t dim = work->source->dim;
    const size_t before = mgk_diversity_vectors(work, m->group) + m->which * m->n * dim;
    const size_t rows = mgk_diversity_rows(work, m->group) + m->which * m->n;
    double *values = work->values + before, *output = work->outputs + before;
    multiply(m, dim, values, output);
    if (work->centred)
        centre(m, dim, values, output, work->centred + rows * mgk_diversity_width(work),
               work->squares + rows);
    normalise(m, dim, values, work->zero_values + rows);
    normalise(m, dim, output, work->zero_outputs + rows);
}

/* ---- the head -------------------------------------------------------------------------------- */

static mgk_status measure_head(head_matrix *m)
{
    const mgk_source *source = m->work->source;
    m->a = m->worker->matrix;
    TRY(source->take(source->state, m->group->group, m->which, m->a));
    TRY(describe_entries(m));
    TRY(measure_rows(m));
    measure_matrix(m);
    if (m->work->keys && mgk_source_is_gaussian(source, m->layer))
        measure_mixture(m);
    if (m->work->outputs)
        compute_output(m);
    const bool spectrum =
        mgk_diversity_wants(m->work, MGK_NEEDS_SPECTRUM) && m->queries > 0 && m->keys > 0;
    return spectrum ? measure_spectrum(m) : STATUS_OK;
}

static mgk_status name_failure(const head_matrix *m, mgk_status status)
{
    const mgk_source *source = m->work->source;
    if (status != STATUS_NUMERIC && status != STATUS_UNSUPPORTED)
        return status;
    return mgk_fail(status, "sample %zu, layer %zu, head %zu: %s",
                    mgk_source_number(source->samples, m->group->group->sample),
                    mgk_source_number(source->layers, m->layer),
                    mgk_source_number(source->heads, m->head), mgk_fail_message());
}

/* The calling thread has number 0. */
static void tell_progress(mgk_diversity_work *work)
{
    size_t done;
#pragma omp atomic capture
    done = ++work->done;
    if (work->options->progress && omp_get_thread_num() == 0)
        work->options->progress(work->options->state, done);
}

void mgk_diversity_head(mgk_diversity_work *work, size_t g, size_t slot)
{
    const mgk_diversity_group *group = &work->groups[g];
    const size_t which = slot - group->slot, seat = group->seat + which;
    head_matrix m = {.work = work,
                     .group = group,
                     .worker = &work->workers[omp_get_thread_num()],
                     .which = which,
                     .queries = group->group->queries,
                     .keys = group->group->keys,
                     .n = group->group->n,
                     .row_sums = work->row_sums + seat * work->source->n_max,
                     .zero_rows = work->zero_rows + seat * work->source->n_max,
                     .entropies =
                         work->entropies ? work->entropies + seat * work->source->n_max : NULL,
                     .record = group->record,
                     .layer = group->group->layer,
                     .head = (size_t)group->group->heads[which]};
    mgk_status status = measure_head(&m);
    if (status != STATUS_OK)
        mgk_failure_record(&work->failure, slot, name_failure(&m, status));
    tell_progress(work);
}
