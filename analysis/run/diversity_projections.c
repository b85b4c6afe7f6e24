/* SPDX-License-Identifier: MIT */
/* Measures of pairs of heads from their weights alone, which all samples share. */
#include "analysis/measures/basis.h"
#include "analysis/run/diversity_work.h"
#include "base/memory.h"

/* The bases of one projection, of the heads of a layer or across layers of all layers. */
typedef struct bases {
    mgk_diversity_work *work;
    mgk_projection which;
    size_t layers, heads; /* P heads of these layers */
    size_t count;         /* vectors of a head, in the layer with most */
    double *vectors; /* [layers, H count, C]; each basis is in the place of its vectors, those of
                        a layer's heads one after the other */
    mgk_basis *list; /* [P] */
    double *scratch; /* [granted threads, count, count] */
} bases;

static bool is_wanted(const mgk_diversity_work *work, mgk_projection which)
{
    for (size_t m = 0; m < work->layout->measure_count; m++)
        if (work->layout->measures[m]->bases && work->layout->measures[m]->projection == which)
            return true;
    return false;
}

/* Reads the weights of the layers from `layer` on, and makes them bases. */
static mgk_status make_bases(const bases *b, size_t layer)
{
    mgk_diversity_work *work = b->work;
    const mgk_source *source = work->source;
    const size_t heads = work->layout->heads, size = b->count * source->width;
    for (size_t l = 0; l < b->layers; l++)
        TRY(source->projections(source->state, b->which, layer + l, b->vectors + l * heads * size));
#pragma omp parallel for schedule(dynamic) num_threads(work->granted)
    for (size_t h = 0; h < b->heads; h++) {
        mgk_basis *basis = &b->list[h];
        const size_t count = mgk_source_projection(source, b->which, layer + h / heads);
        double *vectors = b->vectors + h / heads * heads * size + h % heads * count * source->width;
        *basis = (mgk_basis){.rows = vectors, .width = source->width};
        mgk_status status = mgk_basis_make(count, source->width, vectors, &basis->rank);
        if (status != STATUS_OK)
            mgk_failure_record(&work->failure, h, status);
    }
    return mgk_failure_return(&work->failure);
}

/* Values of all measures of the projection for heads g <= h of the layers from `layer` on. */
static void compare_bases(const bases *b, size_t layer, size_t h)
{
    mgk_diversity_work *work = b->work;
    double *scratch = b->scratch + (size_t)omp_get_thread_num() * b->count * b->count;
    for (size_t m = 0; m < work->layout->measure_count; m++) {
        const mgk_measure *measure = work->layout->measures[m];
        for (size_t g = 0; measure->bases && measure->projection == b->which && g <= h; g++)
            mgk_diversity_store_pair(work->layout, work->common, m, layer, h, g,
                                     measure->bases(&b->list[h], &b->list[g], scratch));
    }
}

static mgk_status measure_projection(bases *b)
{
    mgk_diversity_work *work = b->work;
    mgk_status status;
    size_t numbers;
    CHECK(mgk_multiply(b->heads * b->count, work->source->width, &numbers));
    CHECK(mgk_alloc(numbers, sizeof(double), &b->vectors));
    CHECK(mgk_alloc(b->heads, sizeof(*b->list), &b->list));
    CHECK(mgk_multiply(b->count, b->count * (size_t)work->granted, &numbers));
    CHECK(mgk_alloc(numbers, sizeof(double), &b->scratch));
    for (size_t layer = 0; layer < work->layout->layers; layer += b->layers) {
        CHECK(make_bases(b, layer));
#pragma omp parallel for schedule(dynamic) num_threads(work->granted)
        for (size_t h = 0; h < b->heads; h++)
            compare_bases(b, layer, b->heads - 1 - h);
    }
out:
    mgk_free(b->vectors);
    mgk_free(b->list);
    mgk_free(b->scratch);
    return status;
}

double mgk_diversity_projection_bytes(const mgk_diversity_work *work)
{
    const mgk_source *source = work->source;
    const size_t layers = work->layout->across ? work->layout->layers : 1;
    double most = 0;
    for (int which = 0; which < MGK_PROJECTIONS; which++) {
        const double count = (double)mgk_source_most_projection(source, (mgk_projection)which),
                     vectors = (double)(layers * work->layout->heads) * (double)source->width,
                     numbers = count * (vectors + count * (double)work->granted);
        if (is_wanted(work, (mgk_projection)which) && numbers > most)
            most = numbers;
    }
    return most * sizeof(double);
}

mgk_status mgk_diversity_projections(mgk_diversity_work *work)
{
    const size_t layers = work->layout->across ? work->layout->layers : 1;
    for (int which = 0; which < MGK_PROJECTIONS; which++) {
        bases b = {.work = work,
                   .which = (mgk_projection)which,
                   .layers = layers,
                   .heads = layers * work->layout->heads,
                   .count = mgk_source_most_projection(work->source, (mgk_projection)which)};
        if (is_wanted(work, b.which))
            TRY(measure_projection(&b));
    }
    return STATUS_OK;
}
