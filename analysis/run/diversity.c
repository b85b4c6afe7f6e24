#include "analysis/run/diversity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/run/diversity_work.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "kernels/blas.h"
#include "kernels/cpu/spectral/reductions.h"

/* What makes a measure need all heads of a layer at once. */
enum {
    NEEDS_PAIRS = MGK_NEEDS_PRODUCTS | MGK_NEEDS_ROOTS | MGK_NEEDS_DIVERGENCES | MGK_NEEDS_VALUES,
    NEEDS_LAYERS = MGK_NEEDS_NEXT_LAYER | MGK_NEEDS_ROLLOUT | MGK_NEEDS_LAYER_OUTPUT
};

/* Matrices of a round for each thread, and the bytes that they take at most, if they are not the
 * heads of one group. */
enum { ROUND_MATRICES = 16 };
static const size_t round_bytes = (size_t)256 << 20;

unsigned mgk_measures_needs(const mgk_measure *const *measures, size_t count)
{
    unsigned needs = 0;
    for (size_t m = 0; m < count; m++)
        needs |= measures[m]->needs | (measures[m]->of ? measures[m]->of->needs : 0);
    return needs;
}

unsigned mgk_measures_vectors(unsigned needs)
{
    return (needs & MGK_NEEDS_QUERIES ? MGK_VECTORS_BIT(MGK_QUERIES) : 0) |
           (needs & MGK_NEEDS_KEYS ? MGK_VECTORS_BIT(MGK_KEYS) : 0) |
           (needs & MGK_NEEDS_VALUES ? MGK_VECTORS_BIT(MGK_VALUES) : 0);
}

bool mgk_measures_need_groups(const mgk_measure *const *measures, size_t count)
{
    return (mgk_measures_needs(measures, count) & (NEEDS_PAIRS | NEEDS_LAYERS)) != 0;
}

bool mgk_diversity_cancelled(mgk_diversity_work *work, size_t part)
{
    const volatile sig_atomic_t *cancel = work->options->cancel;
    if (!cancel || !*cancel)
        return false;
    mgk_failure_record(&work->failure, part, mgk_fail(STATUS_INTERRUPTED, "interrupted"));
    return true;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool needs_groups(const mgk_diversity_work *work)
{
    return mgk_diversity_wants(work, NEEDS_PAIRS | NEEDS_LAYERS);
}

static mgk_status open_worker(const mgk_diversity_work *work, mgk_diversity_worker *worker)
{
    const size_t n = work->source->n_max, heads = work->layout->heads, dim = work->source->dim;
    const size_t pitch = mgk_reduction_pitch(n);
    size_t entries, rows;
    TRY(mgk_multiply(n, n, &entries));
    TRY(mgk_multiply(heads, pitch, &rows));
    TRY(mgk_alloc(n, sizeof(double), &worker->sigma));
    TRY(mgk_alloc(n, 2 * sizeof(double), &worker->scratch));
    TRY(mgk_alloc(2 * n, sizeof(double), &worker->distances));
    if (mgk_diversity_wants(work, MGK_NEEDS_SPECTRUM | MGK_NEEDS_ROLLOUT_SPECTRUM)) {
        TRY(mgk_engine_open(n, false, &worker->engine));
        TRY(mgk_alloc(entries, sizeof(double), &worker->matrix));
    }
    if (mgk_diversity_wants(work, MGK_NEEDS_SORTED))
        TRY(mgk_alloc(n, MGK_ROWS_MOST * sizeof(double), &worker->sorted));
    if (work->keys)
        TRY(mgk_alloc(mgk_mixture_scratch(n, work->source->mixtures), sizeof(double),
                      &worker->mixture));
    if (!needs_groups(work))
        return STATUS_OK;
    TRY(mgk_alloc(rows, sizeof(double), &worker->roots));
    TRY(mgk_alloc(heads * (heads + 4), sizeof(double), &worker->pairs));
    if (work->layer_outputs)
        TRY(mgk_alloc(work->source->model_dim, 3 * sizeof(double), &worker->hidden));
    return work->outputs ? mgk_alloc(dim * dim, sizeof(double), &worker->product) : STATUS_OK;
}

static void close_worker(mgk_diversity_worker *worker)
{
    mgk_engine_close(worker->engine);
    mgk_free(worker->matrix);
    mgk_free(worker->sigma);
    mgk_free(worker->sorted);
    mgk_free(worker->distances);
    mgk_free(worker->scratch);
    mgk_free(worker->roots);
    mgk_free(worker->pairs);
    mgk_free(worker->product);
    mgk_free(worker->mixture);
    mgk_free(worker->hidden);
}

/* The matrices of a round: whole groups where they are needed. */
static size_t choose_room(const mgk_diversity_work *work, size_t matrix_bytes)
{
    const mgk_source *source = work->source;
    const size_t least = needs_groups(work) ? work->layout->heads : 1;
    size_t room = smaller((size_t)work->granted * ROUND_MATRICES, round_bytes / matrix_bytes);
    if (work->options->memory > 0)
        room = smaller(room, work->options->memory / 2 / matrix_bytes);
    if (source->ahead > 0)
        room = smaller(room, source->ahead);
    if (source->count > 0)
        room = smaller(room, source->count);
    return larger(room / least * least, least);
}

static bool has_vectors(const mgk_diversity_work *work, mgk_vectors which)
{
    return (work->source->kinds & MGK_VECTORS_BIT(which)) != 0;
}

/* ---- parameters of the model, which all samples share ---------------------------------------- */

/* The priors and variances of all layers and heads. */
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
    for (size_t r = 0; r < source->components; r++)
        TRY(source->key_weight(source->state, layer, head, r, weights + r * count));
    for (size_t m = 0; m < layout->measure_count; m++)
        if (layout->measures[m]->key_weights)
            mgk_record_values(layout, work->common, layer, m)[head] =
                layout->measures[m]->key_weights(source->components, count, weights);
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
    if (!mgk_diversity_wants(work, MGK_NEEDS_KEY_WEIGHTS) || source->components < 2)
        return STATUS_OK;
    TRY(mgk_multiply(source->components * source->width, source->dim, &size));
    TRY(mgk_alloc(size, sizeof(double), &weights));
    mgk_status status = STATUS_OK;
    for (size_t i = 0; i < layout->layers * layout->heads && status == STATUS_OK; i++)
        status = measure_weights(work, i / layout->heads, i % layout->heads, weights);
    mgk_free(weights);
    return status;
}

/* ---- memory of rounds ------------------------------------------------------------------------ */

/* Arrays for measures that need whole groups. */
static mgk_status open_groups(mgk_diversity_work *work)
{
    const size_t n = work->source->n_max, heads = work->layout->heads, room = work->room;
    const size_t sums = MGK_PAIR_BLOCKS * MGK_PAIR_SUMS * heads * heads;
    size_t vectors, rollouts;
    TRY(mgk_alloc(work->most_groups, sums * sizeof(double), &work->sums));
    if (mgk_diversity_wants(work, MGK_NEEDS_VALUES) && has_vectors(work, MGK_VALUES)) {
        TRY(mgk_multiply(room * work->source->dim, n, &vectors));
        TRY(mgk_alloc(vectors, sizeof(double), &work->values));
        TRY(mgk_alloc(vectors, sizeof(double), &work->outputs));
    }
    if (work->outputs && mgk_diversity_wants(work, MGK_NEEDS_ENERGIES)) {
        TRY(mgk_alloc(vectors, sizeof(double), &work->centred));
        TRY(mgk_alloc(room, n * sizeof(double), &work->squares));
        TRY(mgk_alloc(room, heads * sizeof(double), &work->energies));
    }
    if (mgk_diversity_wants(work, MGK_NEEDS_LAYER_OUTPUT) && work->source->output) {
        TRY(mgk_multiply(work->most_groups * work->source->model_dim, n, &vectors));
        TRY(mgk_alloc(vectors, sizeof(double), &work->layer_outputs));
    }
    if (mgk_diversity_wants(work, MGK_NEEDS_NEXT_LAYER)) {
        TRY(mgk_alloc(heads, work->pitch * sizeof(double), &work->before));
        TRY(mgk_alloc(heads, sizeof(double), &work->before_norms));
    }
    if (!mgk_diversity_wants(work, MGK_NEEDS_ROLLOUT))
        return STATUS_OK;
    TRY(mgk_multiply(n, n, &rollouts));
    TRY(mgk_alloc(rollouts, sizeof(double), &work->mixed));
    TRY(mgk_alloc(work->most_groups + 1, sizeof(*work->rolled), &work->rolled));
    TRY(mgk_multiply(rollouts, work->most_groups + 1, &rollouts));
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
    TRY(mgk_multiply(n, n, &work->pitch));
    work->pitch = mgk_reduction_pitch(work->pitch);
    TRY(mgk_multiply(work->pitch, sizeof(double), &bytes));
    work->room = choose_room(work, bytes);
    work->most_groups = needs_groups(work) ? work->room / heads : work->room;
    work->record_room = work->room / (heads * work->layout->layers) + 3;
    TRY(mgk_alloc(work->most_groups, sizeof(*work->named), &work->named));
    TRY(mgk_alloc(work->most_groups, sizeof(*work->groups), &work->groups));
    TRY(mgk_alloc(work->record_room, sizeof(*work->samples), &work->samples));
    TRY(mgk_multiply(mgk_record_size(work->layout), sizeof(double), &bytes));
    TRY(mgk_alloc(work->record_room, bytes, &work->records));
    TRY(mgk_multiply(work->pitch, work->room, &bytes));
    TRY(mgk_alloc(bytes, sizeof(double), &work->matrices));
    TRY(mgk_alloc(work->room, n * sizeof(double), &work->row_sums));
    TRY(mgk_alloc(work->room, n * sizeof(bool), &work->zero_rows));
    TRY(mgk_alloc(work->room, sizeof(double), &work->norms));
    if (work->source->tokens)
        TRY(mgk_alloc(work->most_groups, n * sizeof(int32_t), &work->earlier));
    TRY(make_common(work));
    if (mgk_diversity_wants(work, MGK_NEEDS_MIXTURE) && work->source->mixture)
        TRY(open_mixture(work));
    return needs_groups(work) ? open_groups(work) : STATUS_OK;
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
        return mgk_fail(STATUS_MEMORY,
                        "`memory`: %zu %s of %zu rows and a thread take %.3g GB, %.3g GB are given",
                        work->room, MGK_NOUN(work->room, "matrix", "matrices"), work->source->n_max,
                        (double)(held + bytes) / 1e9, (double)o->memory / 1e9);
    work->threads = left < bytes ? 1 : (int)(left / bytes);
    if (o->limited && work->threads < wanted)
        o->limited(o->state, work->threads, wanted);
    return STATUS_OK;
}

static mgk_status open_work(mgk_diversity_work *work)
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

static void close_work(mgk_diversity_work *work)
{
    for (int i = 0; work->workers && i < work->threads; i++)
        close_worker(&work->workers[i]);
    mgk_free(work->workers);
    mgk_free(work->named);
    mgk_free(work->groups);
    mgk_free(work->samples);
    mgk_free(work->records);
    mgk_free(work->matrices);
    mgk_free(work->row_sums);
    mgk_free(work->zero_rows);
    mgk_free(work->earlier);
    mgk_free(work->sums);
    mgk_free(work->values);
    mgk_free(work->outputs);
    mgk_free(work->centred);
    mgk_free(work->squares);
    mgk_free(work->energies);
    mgk_free(work->norms);
    mgk_free(work->before);
    mgk_free(work->before_norms);
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

/* ---- rounds ---------------------------------------------------------------------------------- */

static double *record_at(const mgk_diversity_work *work, size_t i)
{
    return work->records + i * mgk_record_size(work->layout);
}

/* The record of a sample: that of the last group, or a new one. */
static double *find_record(mgk_diversity_work *work, size_t sample)
{
    const size_t last = work->record_count;
    if (last == 0 || work->samples[last - 1] != sample) {
        memcpy(record_at(work, last), work->common, mgk_record_size(work->layout) * sizeof(double));
        work->samples[work->record_count++] = sample;
    }
    return record_at(work, work->record_count - 1);
}

/* Names the groups of a round. */
static mgk_status name_groups(mgk_diversity_work *work)
{
    const mgk_source *source = work->source;
    const size_t least = needs_groups(work) ? work->layout->heads : 1;
    bool end = false;
    work->group_count = work->matrix_count = 0;
    while (work->room - work->matrix_count >= least && work->record_count < work->record_room) {
        mgk_group *named = &work->named[work->group_count];
        *named = (mgk_group){0};
        TRY(source->next(source->state, work->room - work->matrix_count, named, &end));
        if (end)
            return STATUS_OK;
        if (needs_groups(work) && named->count != least)
            return mgk_fail(STATUS_SHAPE, "a group of %zu heads, expected all %zu", named->count,
                            least);
        if (named->sample < work->options->finished) {
            work->done += named->count;
            continue;
        }
        work->groups[work->group_count++] =
            (mgk_diversity_group){.group = named,
                                  .slot = work->matrix_count,
                                  .tokens = NAN,
                                  .record = find_record(work, named->sample)};
        work->matrix_count += named->count;
    }
    return STATUS_OK;
}

/* A position and its token. */
typedef struct place {
    int32_t token, position;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->token != y->token)
        return x->token < y->token ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

/* Replaces the tokens [n] of a sample by the last earlier position of the same token, −1: none. */
static mgk_status link_tokens(size_t n, int32_t *tokens)
{
    place *places;
    TRY(mgk_alloc(n, sizeof(*places), &places));
    for (size_t i = 0; i < n; i++)
        places[i] = (place){tokens[i], (int32_t)i};
    if (n > 0)
        qsort(places, n, sizeof(*places), compare_places);
    for (size_t i = 0; i < n; i++) {
        const bool again = i > 0 && places[i - 1].token == places[i].token;
        tokens[places[i].position] = again ? places[i - 1].position : -1;
    }
    mgk_free(places);
    return STATUS_OK;
}

/* Takes the tokens of a group's sample, unless the group before has them. */
static mgk_status take_tokens(mgk_diversity_work *work, size_t g)
{
    const mgk_source *source = work->source;
    mgk_diversity_group *group = &work->groups[g];
    const size_t n = group->group->n;
    if (g > 0 && work->groups[g - 1].group->sample == group->group->sample) {
        group->earlier = work->groups[g - 1].earlier;
        group->tokens = work->groups[g - 1].tokens;
        return STATUS_OK;
    }
    int32_t *tokens = work->earlier + g * source->n_max;
    group->earlier = tokens;
    TRY(source->tokens(source->state, group->group, tokens));
    group->tokens = (double)(mgk_hash(MGK_HASH_START, tokens, n * sizeof(*tokens)) >> 12);
    return link_tokens(n, tokens);
}

/* STATUS_NUMERIC unless all numbers of an array are finite. */
static mgk_status check_finite(const mgk_diversity_work *work, const mgk_group *group,
                               const char *what, const double *values, size_t count)
{
    if (isfinite(work->kernels->sum(count, values)))
        return STATUS_OK;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return mgk_fail(STATUS_NUMERIC, "sample %zu, layer %zu: the %s include %g",
                            mgk_source_number(work->source->samples, group->sample),
                            mgk_source_number(work->source->layers, group->layer), what, values[i]);
    return STATUS_OK;
}

/* Takes vectors of a group, of `each` numbers for each head. */
static mgk_status take_vectors(mgk_diversity_work *work, const mgk_group *group, mgk_vectors which,
                               size_t each, double *out)
{
    static const char *const names[] = {"queries", "keys", "values"};
    const mgk_source *source = work->source;
    if (!out)
        return STATUS_OK;
    TRY(source->vectors(source->state, group, which, out));
    return check_finite(work, group, names[which], out, group->count * each);
}

/* Takes what a group has besides its matrices. */
static mgk_status take_inputs(mgk_diversity_work *work, size_t g)
{
    const mgk_source *source = work->source;
    const mgk_group *group = work->groups[g].group;
    const size_t each = group->n * source->dim;
    const size_t first = mgk_diversity_vectors(work, &work->groups[g]);
    if (group->n > source->n_max)
        return mgk_fail(STATUS_SHAPE, "a matrix of %zu rows, expected at most %zu", group->n,
                        source->n_max);
    TRY(take_vectors(work, group, MGK_VALUES, each, work->values ? work->values + first : NULL));
    TRY(take_vectors(work, group, MGK_QUERIES, each, work->queries ? work->queries + first : NULL));
    TRY(take_vectors(work, group, MGK_KEYS, each * source->mixtures,
                     work->keys ? work->keys + source->mixtures * first : NULL));
    if (work->layer_outputs) {
        double *output = mgk_diversity_output(work, g);
        TRY(source->output(source->state, group, output));
        TRY(check_finite(work, group, "outputs", output, group->n * source->model_dim));
    }
    return work->earlier ? take_tokens(work, g) : STATUS_OK;
}

static mgk_status measure_round(mgk_diversity_work *work)
{
    const mgk_source *source = work->source;
    size_t prepared;
    TRY(source->prepare(source->state, work->named, work->group_count, &prepared));
    for (size_t g = 0; g < work->group_count; g++)
        TRY(take_inputs(work, g));
    mgk_diversity_heads(work);
    TRY(mgk_failure_return(&work->failure));
    if (work->sums)
        mgk_diversity_pairs(work);
    if (mgk_diversity_wants(work, NEEDS_LAYERS))
        mgk_diversity_layers(work);
    return mgk_failure_return(&work->failure);
}

/* Empties values beyond the range of a double, which no file can hold. */
static void empty_infinities(size_t size, double *record)
{
    for (size_t i = 0; i < size; i++)
        if (isinf(record[i]))
            record[i] = NAN;
}

/* Hands over the records of the samples that no later group belongs to. */
static mgk_status hand_over(mgk_diversity_work *work, bool all)
{
    const mgk_diversity_run_options *o = work->options;
    const size_t count = work->record_count, keep = all || count == 0 ? 0 : 1;
    for (size_t i = 0; i + keep < count; i++) {
        empty_infinities(mgk_record_size(work->layout), record_at(work, i));
        TRY(o->receive(o->state, work->samples[i], record_at(work, i)));
    }
    if (keep == 1 && count > 1) {
        memcpy(work->records, record_at(work, count - 1),
               mgk_record_size(work->layout) * sizeof(double));
        work->samples[0] = work->samples[count - 1];
    }
    work->record_count = keep;
    return STATUS_OK;
}

static mgk_status run_rounds(mgk_diversity_work *work)
{
    for (;;) {
        TRY(name_groups(work));
        if (work->group_count == 0)
            return hand_over(work, true);
        TRY(measure_round(work));
        TRY(hand_over(work, false));
    }
}

mgk_status mgk_diversity_run(const mgk_source *source, const mgk_diversity_run_options *options)
{
    const mgk_record_layout *layout = options->layout;
    mgk_diversity_work work = {.source = source, .options = options, .layout = layout};
    const int wanted = options->threads > 0 ? options->threads : omp_get_max_threads();
    mgk_status status;
    work.needs = mgk_measures_needs(layout->measures, layout->measure_count);
    TRY(mgk_row_kernels_choose(&work.kernels));
    TRY(mgk_blas_open());
    TRY(mgk_blas_reserve(wanted, &work.granted));
    const int blas_threads = mgk_blas.get_num_threads();
    mgk_blas.set_num_threads(1);
    mgk_failure_open(&work.failure);
    CHECK(open_work(&work));
    CHECK(run_rounds(&work));
out:
    close_work(&work);
    mgk_failure_close(&work.failure);
    mgk_blas.set_num_threads(blas_threads);
    return status;
}
