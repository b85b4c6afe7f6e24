/* SPDX-License-Identifier: MIT */
/* The memory of a run of measures. */
#include <math.h>
#include <stdio.h>

#include "analysis/run/diversity_work.h"
#include "base/memory.h"
#include "base/number.h"
#include "kernels/cpu/spectral/reductions.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool has_vectors(const mgk_diversity_work *work, mgk_vectors which)
{
    return (work->source->kinds & MGK_VECTORS_BIT(which)) != 0;
}

/* Whether there are values, and outputs, that measures need. */
static bool measures_values(const mgk_diversity_work *work)
{
    return mgk_diversity_wants(work, MGK_NEEDS_VALUES) && has_vectors(work, MGK_VALUES);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Seats for each thread: few, so that matrices are in caches when their pairs are measured; more
 * with rollouts, where a round has no more matrices than seats. */
enum { SEATS = 8, SEATS_WITH_ROLLOUTS = 16 };

/* The bytes of all seats at most, if they are not those of one span. */
static const double seats_bytes = 0x1p28;

/* Matrices of a round for each thread: as many as have this number of entries, at most MOST. What a
 * round has computed is lost if it ends early. */
enum { ROUND_MOST = 256 };
static const double round_entries = 0x1p24;

/* What a round may take at most, for groups and for records, beside those that its seats need; of
 * little memory a 64th. */
static const double spare_bytes = 0x1p24;

/* The heads of a group at least. */
static size_t least_group(const mgk_diversity_work *work)
{
    return mgk_diversity_needs_groups(work) ? work->layout->heads : 1;
}

/* Bytes of a seat. */
static double matrix_bytes(const mgk_diversity_work *work)
{
    const double n = (double)work->source->n_max, dim = (double)work->source->dim;
    double numbers = 3 * n;
    if (has_vectors(work, MGK_VALUES))
        numbers +=
            2 * n * dim + n * (double)mgk_diversity_width(work) + n + (double)work->span_heads;
    if (has_vectors(work, MGK_QUERIES))
        numbers += n * dim;
    if (has_vectors(work, MGK_KEYS))
        numbers += n * dim * (double)work->source->mixtures;
    return (double)work->kept_bytes + numbers * sizeof(double);
}

/* Bytes of what is held of one group, besides its matrices. */
static double group_bytes(const mgk_diversity_work *work)
{
    const double n = (double)work->source->n_max, heads = (double)work->span_heads;
    double numbers = n;
    if (mgk_diversity_wants(work, MGK_NEEDS_PAIRS))
        numbers += (double)work->pair_blocks * (double)work->sum_count * heads * heads /
                   (double)work->span_groups;
    if (mgk_diversity_wants(work, MGK_NEEDS_ROLLOUT))
        numbers += n * n;
    if (mgk_diversity_wants(work, MGK_NEEDS_LAYER_OUTPUT))
        numbers += n * (double)work->source->model_dim;
    return numbers * sizeof(double);
}

/* The matrices of a layer that the next round compares with its first layer. Across layers it has
 * all layers itself. */
static size_t kept_matrices(const mgk_diversity_work *work)
{
    return mgk_diversity_wants(work, MGK_NEEDS_NEXT_LAYER) && work->span_groups == 1
               ? work->layout->heads
               : 0;
}

/* Bytes that do not depend on the number of seats. */
static double fixed_bytes(const mgk_diversity_work *work)
{
    const double n = (double)work->source->n_max, heads = (double)work->layout->heads;
    double numbers = 4 * (double)mgk_record_size(work->layout);
    numbers += (double)kept_matrices(work) * (double)work->kept_bytes / sizeof(double);
    if (mgk_diversity_wants(work, MGK_NEEDS_ROLLOUT))
        numbers += 2 * n * n;
    if (mgk_diversity_wants(work, MGK_NEEDS_MIXTURE))
        numbers += (double)work->layout->layers * heads * (double)work->layout->mixtures * (n + 1);
    if (mgk_diversity_wants(work, MGK_NEEDS_PROJECTIONS) && work->source->projections)
        return numbers * sizeof(double) + mgk_diversity_projection_bytes(work);
    return numbers * sizeof(double);
}

/* The least that works takes more than is given; `beside` ends the name of what takes `bytes`. */
static mgk_status fail_memory(const mgk_diversity_work *work, size_t matrices, const char *beside,
                              double bytes)
{
    const mgk_diversity_run_options *o = work->options;
    char held[80] = "";
    if (o->held > 0)
        snprintf(held, sizeof(held), ", what the model prepares at once %.3g GB",
                 (double)o->held / 1e9);
    return mgk_fail(STATUS_MEMORY, "`memory`: %zu %s of %zu rows %s %.3g GB%s, %.3g GB are given",
                    matrices, MGK_NOUN(matrices, "matrix", "matrices"), work->source->n_max, beside,
                    bytes / 1e9, held, ((double)o->memory + (double)o->held) / 1e9);
}

/* The seats if memory does not matter: two spans at least, so that threads have work on one while
 * they wait for the other. */
static size_t wanted_room(const mgk_diversity_work *work, size_t least)
{
    const size_t each = mgk_diversity_wants(work, MGK_NEEDS_ROLLOUT) ? SEATS_WITH_ROLLOUTS : SEATS;
    return larger((size_t)work->granted * each, (work->granted > 1 ? 2 : 1) * least);
}

/* Chooses the seats: for whole groups where they are needed, across layers those of whole samples,
 * of which half of `memory` holds as many as it can, and at least one. */
static mgk_status choose_room(mgk_diversity_work *work)
{
    const mgk_source *source = work->source;
    const double memory = (double)work->options->memory, fixed = fixed_bytes(work);
    const size_t least = mgk_diversity_needs_groups(work) ? work->span_heads : 1;
    const double groups =
        mgk_diversity_needs_groups(work) ? (double)work->span_groups * group_bytes(work) : 0;
    const double one = (double)least * matrix_bytes(work) + groups;
    double units = seats_bytes / one;
    if (work->options->memory_is_most && fixed + one > memory)
        return fail_memory(work, least, "and their measures take", fixed + one);
    if (memory > 0)
        units = fmin(units, (memory / 2 - fixed) / one);
    size_t room = wanted_room(work, least);
    room = smaller(room, units < 1 ? least : (size_t)units * least);
    if (source->ahead > 0 && work->span_groups == 1)
        room = smaller(room, source->ahead);
    if (source->count > 0)
        room = smaller(room, source->count);
    if (work->options->part)
        room = smaller(room, work->options->part->ahead);
    work->room = larger(room / least * least, least);
    return STATUS_OK;
}

static double find_spare(const mgk_diversity_work *work)
{
    const double memory = (double)work->options->memory;
    return memory > 0 ? fmin(spare_bytes, memory / 64) : spare_bytes;
}

/* Chooses the matrices of a round, once there are seats. With rollouts, which are kept until it
 * ends, it has no more; nor where heads are removed one by one, which takes long. */
static void choose_round(mgk_diversity_work *work)
{
    const double n = (double)work->source->n_max;
    const size_t each = (size_t)fmin(ROUND_MOST, round_entries / fmax(n * n, 1));
    const size_t least = mgk_diversity_needs_groups(work) ? work->span_heads : 1;
    const double groups = find_spare(work) / (sizeof(*work->named) + sizeof(*work->groups));
    size_t most =
        smaller((size_t)work->granted * each, work->room + (size_t)groups * least_group(work));
    if (mgk_diversity_wants(work, MGK_NEEDS_ROLLOUT | MGK_NEEDS_IMPORTANCE))
        most = work->room;
    if (work->source->count > 0)
        most = smaller(most, work->source->count);
    if (work->options->part)
        most = smaller(most, work->options->part->ahead);
    work->most_matrices = larger(most / least * least, work->room);
}

/* The samples whose records a round holds. */
static size_t choose_records(const mgk_diversity_work *work)
{
    const double places = work->source->tokens ? (double)work->source->n_max : 0;
    const double each =
        (double)mgk_record_size(work->layout) * sizeof(double) + places * sizeof(*work->places);
    const size_t matrices = work->layout->heads * work->layout->layers;
    const size_t least = work->room / matrices + 3, most = work->most_matrices / matrices + 3;
    return smaller(most, least + (size_t)(find_spare(work) / each));
}

/* ---- workspaces of threads ------------------------------------------------------------------- */

static mgk_status open_worker(const mgk_diversity_work *work, mgk_diversity_worker *worker)
{
    const size_t n = work->source->n_max, heads = work->span_heads;
    const size_t dim = work->source->dim, width = mgk_diversity_width(work);
    const size_t pitch = mgk_reduction_pitch(n);
    size_t entries, rows;
    TRY(mgk_multiply(n, n, &entries));
    TRY(mgk_multiply(heads, pitch, &rows));
    TRY(mgk_alloc(entries, sizeof(double), &worker->matrix));
    TRY(mgk_alloc(n, sizeof(double), &worker->sigma));
    TRY(mgk_alloc(n, sizeof(double), &worker->column_sums));
    TRY(mgk_alloc(n, sizeof(double), &worker->scratch));
    TRY(mgk_alloc(2 * n, sizeof(double), &worker->distances));
    if (mgk_diversity_wants(work, MGK_NEEDS_SPECTRUM | MGK_NEEDS_ROLLOUT_SPECTRUM)) {
        TRY(mgk_engine_open(n, false, &worker->engine));
        if (work->source->cross)
            TRY(mgk_alloc(mgk_rectangle_work(n), sizeof(double), &worker->reflections));
    }
    if (mgk_diversity_wants(work, MGK_NEEDS_SORTED)) {
        TRY(mgk_alloc(n, MGK_ROWS_MOST * sizeof(double), &worker->sorted));
        if (work->source->floats && !work->kept)
            TRY(mgk_alloc(n, MGK_ROWS_MOST * sizeof(float), &worker->floats));
    }
    if (work->keys)
        TRY(mgk_alloc(mgk_mixture_scratch(n, work->source->mixtures), sizeof(double),
                      &worker->mixture));
    if (!mgk_diversity_needs_groups(work))
        return STATUS_OK;
    TRY(mgk_alloc(rows, sizeof(double), &worker->rows));
    TRY(mgk_alloc(rows, sizeof(double), &worker->roots));
    TRY(mgk_alloc(heads * (heads + 4), sizeof(double), &worker->pairs));
    if (work->layer_outputs)
        TRY(mgk_alloc(work->source->model_dim, 3 * sizeof(double), &worker->hidden));
    if (!work->outputs)
        return STATUS_OK;
    TRY(mgk_alloc(dim, 2 * sizeof(double), &worker->columns));
    return mgk_alloc(width * width, sizeof(double), &worker->product);
}

static void close_worker(mgk_diversity_worker *worker)
{
    mgk_engine_close(worker->engine);
    mgk_free(worker->matrix);
    mgk_free(worker->reflections);
    mgk_free(worker->sigma);
    mgk_free(worker->sorted);
    mgk_free(worker->floats);
    mgk_free(worker->distances);
    mgk_free(worker->column_sums);
    mgk_free(worker->scratch);
    mgk_free(worker->rows);
    mgk_free(worker->roots);
    mgk_free(worker->pairs);
    mgk_free(worker->product);
    mgk_free(worker->columns);
    mgk_free(worker->mixture);
    mgk_free(worker->hidden);
}

/* ---- parameters of the model, which all samples share ---------------------------------------- */

/* The priors and variances of all layers and heads; 0 of layers that are not gaussian. */
static mgk_status read_mixtures(mgk_diversity_work *work)
{
    const mgk_source *source = work->source;
    const mgk_record_layout *layout = work->layout;
    const size_t heads = layout->layers * layout->heads, mixtures = layout->mixtures;
    size_t priors;
    TRY(mgk_multiply(heads * mixtures, source->n_max, &priors));
    TRY(mgk_alloc(priors, sizeof(double), &work->priors));
    TRY(mgk_alloc(heads, mixtures * sizeof(double), &work->variances));
    for (size_t i = 0; i < heads; i++)
        if (mgk_source_is_gaussian(source, i / layout->heads))
            TRY(source->mixture(source->state, i / layout->heads, i % layout->heads,
                                work->priors + i * mixtures * source->n_max,
                                work->variances + i * mixtures));
    return STATUS_OK;
}

/* The measures of the key weights of one head, into work->common. */
static mgk_status measure_weights(mgk_diversity_work *work, size_t layer, size_t head,
                                  double *weights)
{
    const mgk_source *source = work->source;
    const mgk_record_layout *layout = work->layout;
    const size_t count = source->width * source->dim;
    const size_t components = mgk_source_components(source, layer);
    for (size_t r = 0; r < components; r++)
        TRY(source->key_weight(source->state, layer, head, r, weights + r * count));
    for (size_t m = 0; m < layout->measure_count; m++)
        if (layout->measures[m]->key_weights)
            mgk_record_values(layout, work->common, layer, m)[head] =
                layout->measures[m]->key_weights(components, count, weights);
    return STATUS_OK;
}

/* A record with the values that all samples share, and NaN for the others. */
static mgk_status make_common(mgk_diversity_work *work)
{
    const mgk_source *source = work->source;
    const mgk_record_layout *layout = work->layout;
    double *weights;
    size_t size;
    TRY(mgk_alloc(mgk_record_size(layout), sizeof(double), &work->common));
    for (size_t i = 0; i < mgk_record_size(layout); i++)
        work->common[i] = NAN;
    if (mgk_diversity_wants(work, MGK_NEEDS_PROJECTIONS) && source->projections)
        TRY(mgk_diversity_projections(work));
    if (!mgk_diversity_wants(work, MGK_NEEDS_KEY_WEIGHTS) || source->components < 2)
        return STATUS_OK;
    TRY(mgk_multiply(source->components * source->width, source->dim, &size));
    TRY(mgk_alloc(size, sizeof(double), &weights));
    mgk_status status = STATUS_OK;
    for (size_t i = 0; i < layout->layers * layout->heads && status == STATUS_OK; i++)
        if (mgk_source_components(source, i / layout->heads) > 1)
            status = measure_weights(work, i / layout->heads, i % layout->heads, weights);
    mgk_free(weights);
    return status;
}

/* ---- memory of rounds ------------------------------------------------------------------------ */

/* Arrays for measures that need whole groups. */
static mgk_status open_groups(mgk_diversity_work *work)
{
    const size_t n = work->source->n_max, room = work->room;
    size_t sums, vectors, rollouts;
    TRY(mgk_multiply(work->span_heads, work->span_heads, &sums));
    TRY(mgk_multiply(sums, work->pair_blocks * work->sum_count * sizeof(double), &sums));
    work->ring = room + kept_matrices(work);
    TRY(mgk_alloc(work->ring, work->kept_bytes, &work->kept));
    if (mgk_diversity_wants(work, MGK_NEEDS_NEXT_LAYER))
        TRY(mgk_alloc(work->ring, sizeof(double), &work->norms));
    if (mgk_diversity_wants(work, MGK_NEEDS_PAIRS))
        TRY(mgk_alloc(work->seat_groups / work->span_groups, sums, &work->sums));
    if (measures_values(work)) {
        TRY(mgk_multiply(room * work->source->dim, n, &vectors));
        TRY(mgk_alloc(vectors, sizeof(double), &work->values));
        TRY(mgk_alloc(vectors, sizeof(double), &work->outputs));
        TRY(mgk_alloc(room, n * sizeof(bool), &work->zero_values));
        TRY(mgk_alloc(room, n * sizeof(bool), &work->zero_outputs));
    }
    if (work->outputs && mgk_diversity_wants(work, MGK_NEEDS_ENERGIES)) {
        TRY(mgk_multiply(room * mgk_diversity_width(work), n, &vectors));
        TRY(mgk_alloc(vectors, sizeof(double), &work->centred));
        TRY(mgk_alloc(room, n * sizeof(double), &work->squares));
        TRY(mgk_alloc(room, work->span_heads * sizeof(double), &work->energies));
    }
    if (mgk_diversity_wants(work, MGK_NEEDS_LAYER_OUTPUT) && work->source->output) {
        TRY(mgk_multiply(work->seat_groups * work->source->model_dim, n, &vectors));
        TRY(mgk_alloc(vectors, sizeof(double), &work->layer_outputs));
    }
    if (!mgk_diversity_wants(work, MGK_NEEDS_ROLLOUT))
        return STATUS_OK;
    TRY(mgk_multiply(n, n, &rollouts));
    TRY(mgk_alloc(rollouts, sizeof(double), &work->mixed));
    TRY(mgk_alloc(work->seat_groups + 1, sizeof(*work->rolled), &work->rolled));
    TRY(mgk_multiply(rollouts, work->seat_groups + 1, &rollouts));
    return mgk_alloc(rollouts, sizeof(double), &work->rollouts);
}

/* Arrays for measures of mixtures. */
static mgk_status open_mixture(mgk_diversity_work *work)
{
    const mgk_source *source = work->source;
    size_t numbers;
    TRY(mgk_multiply(work->room * source->dim, source->n_max, &numbers));
    if (has_vectors(work, MGK_QUERIES))
        TRY(mgk_alloc(numbers, sizeof(double), &work->queries));
    TRY(mgk_multiply(numbers, source->mixtures, &numbers));
    if (has_vectors(work, MGK_KEYS))
        TRY(mgk_alloc(numbers, sizeof(double), &work->keys));
    return read_mixtures(work);
}

static mgk_status open_round(mgk_diversity_work *work)
{
    const size_t n = work->source->n_max, heads = work->layout->heads;
    size_t bytes;
    if (mgk_diversity_needs_groups(work))
        TRY(mgk_diversity_kept_size(work, &work->kept_bytes));
    work->pair_blocks = larger(smaller(n, MGK_PAIR_BLOCKS), 1);
    work->span_groups =
        work->layout->across && mgk_diversity_needs_groups(work) ? work->layout->layers : 1;
    work->span_heads = work->span_groups * heads;
    work->sum_count = measures_values(work) ? MGK_PAIR_SUMS : MGK_SUM_VALUES;
    TRY(choose_room(work));
    choose_round(work);
    work->seat_groups = work->room / least_group(work);
    work->most_groups = work->most_matrices / least_group(work);
    work->record_room = choose_records(work);
    TRY(mgk_alloc(work->most_groups, sizeof(*work->named), &work->named));
    TRY(mgk_alloc(work->most_groups, sizeof(*work->groups), &work->groups));
    TRY(mgk_alloc(work->record_room, sizeof(*work->samples), &work->samples));
    TRY(mgk_multiply(mgk_record_size(work->layout), sizeof(double), &bytes));
    TRY(mgk_alloc(work->record_room, bytes, &work->records));
    TRY(mgk_alloc(work->room, n * sizeof(double), &work->row_sums));
    TRY(mgk_alloc(work->room, n * sizeof(bool), &work->zero_rows));
    if (mgk_diversity_wants(work, MGK_NEEDS_ENTROPIES | MGK_NEEDS_DIVERGENCES))
        TRY(mgk_alloc(work->room, n * sizeof(double), &work->entropies));
    if (work->source->tokens)
        TRY(mgk_alloc(work->record_room, n * sizeof(*work->places), &work->places));
    TRY(make_common(work));
    if (mgk_diversity_wants(work, MGK_NEEDS_MIXTURE) && work->source->mixture)
        TRY(open_mixture(work));
    return mgk_diversity_needs_groups(work) ? open_groups(work) : STATUS_OK;
}

/* As many threads as `memory` allows beside the round of `held` bytes. */
static mgk_status limit_threads(mgk_diversity_work *work, size_t held, size_t bytes)
{
    const mgk_diversity_run_options *o = work->options;
    const size_t left = o->memory > held ? o->memory - held : 0;
    const int wanted = work->threads;
    if (o->memory == 0 || left / bytes >= (size_t)wanted)
        return STATUS_OK;
    if (left < bytes && o->memory_is_most)
        return fail_memory(work, work->room, "and a thread take", (double)(held + bytes));
    work->threads = left < bytes ? 1 : (int)(left / bytes);
    if (o->limited && work->threads < wanted)
        o->limited(o->state, work->threads, wanted);
    return STATUS_OK;
}

mgk_status mgk_diversity_open(mgk_diversity_work *work)
{
    const size_t before = mgk_allocated();
    TRY(open_round(work));
    const size_t held = mgk_allocated() - before;
    work->threads = (int)smaller((size_t)work->granted, work->room);
    TRY(mgk_alloc((size_t)work->threads, sizeof(*work->workers), &work->workers));
    const size_t start = mgk_allocated();
    TRY(open_worker(work, &work->workers[0]));
    TRY(limit_threads(work, held, mgk_allocated() - start));
    for (int i = 1; i < work->threads; i++)
        TRY(open_worker(work, &work->workers[i]));
    return STATUS_OK;
}

void mgk_diversity_close(mgk_diversity_work *work)
{
    for (int i = 0; work->workers && i < work->threads; i++)
        close_worker(&work->workers[i]);
    mgk_free(work->workers);
    mgk_free(work->named);
    mgk_free(work->groups);
    mgk_free(work->samples);
    mgk_free(work->records);
    mgk_free(work->kept);
    mgk_free(work->row_sums);
    mgk_free(work->zero_rows);
    mgk_free(work->entropies);
    mgk_free(work->places);
    mgk_free(work->sums);
    mgk_free(work->values);
    mgk_free(work->outputs);
    mgk_free(work->zero_values);
    mgk_free(work->zero_outputs);
    mgk_free(work->centred);
    mgk_free(work->squares);
    mgk_free(work->energies);
    mgk_free(work->norms);
    mgk_free(work->mixed);
    mgk_free(work->rolled);
    mgk_free(work->rollouts);
    mgk_free(work->layer_outputs);
    mgk_free(work->queries);
    mgk_free(work->keys);
    mgk_free(work->priors);
    mgk_free(work->variances);
    mgk_free(work->common);
}
