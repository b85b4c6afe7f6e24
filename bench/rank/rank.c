/* SPDX-License-Identifier: MIT */
/*
 * The rank engine against LAPACK's dgesdd, on one thread and the same matrices, one after the
 * other: do its ranks equal those from singular values, and how much faster is it? `bench_rank
 * --help` lists the matrices.
 *
 * It prints a row for each layer, or family: matrices; wrong ranks (any is a defect); ranks without
 * a certificate; undecided ones; the shares counted with a bound, with measured roundings, and
 * computed; median milliseconds of dgesdd, of the engine's spectrum and of its count; their
 * speedup, on average and for the slowest head; their time relative to the floors, 8/3 n³
 * operations for a spectrum and 4/3 n³ for a count at the speed of a product; and the largest
 * errors of counts in σ₁ and in the distance of the nearest singular value from the threshold.
 */
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/counting/engine.h"
#include "analysis/families.h"
#include "analysis/matrices.h"
#include "analysis/traps.h"
#include "base/memory.h"
#include "base/random.h"
#include "kernels.h"
#include "rank/rank.h"

static const double tau = 1e-6;

static const char usage[] =
    "bench_rank [--double] [--samples S] [--matrices K] MODEL TEXT\n"
    "    matrices of a model run on S samples (4) of a text, K of each layer (0, all), in float32\n"
    "    or float64\n"
    "bench_rank --families N MATRICES\n"
    "    so many [N, N] matrices of each synthetic family\n"
    "bench_rank --near N\n"
    "    matrices with one singular value beside the threshold 1e-6\n"
    "bench_rank --traps FIRST LAST MATRICES [SEED]\n"
    "    so many matrices, [FIRST, FIRST] to [LAST, LAST], of each kind that is built to be\n"
    "    miscounted; their ranks are known, nothing is compared with dgesdd; runs of different "
    "SEED\n"
    "    (0) have no matrix in common\n";

/* Gflop/s of a large product, which determines the floors. */
static double speed;

/* The data of a row, for a layer or family. */
typedef struct tally {
    size_t matrices, wrong, uncertain, undecided, bound, measured, computed;
    double *milliseconds[3]; /* of dgesdd, spectrum and count, [capacity] */
    size_t capacity;
    double largest_off, nearest_off;
} tally;

/* Buffers for one matrix. */
typedef struct bench {
    mgk_engine *counting, *computing;
    double *original, *copy, *sigma, *reference;
    mgk_ladder *ladder;
} bench;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int compare(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return count > 0 ? (values[(count - 1) / 2] + values[count / 2]) / 2 : NAN;
}

static void die(const char *message)
{
    fprintf(stderr, "bench_rank: %s\n", message);
    exit(1);
}

static void expect(mgk_status status)
{
    if (status != STATUS_OK)
        die(mgk_fail_message());
}

static void open_bench(size_t n_max, bench *b)
{
    expect(mgk_engine_open(n_max, true, &b->counting));
    expect(mgk_engine_open(n_max, false, &b->computing));
    expect(mgk_alloc(n_max * n_max, sizeof(double), &b->original));
    expect(mgk_alloc(n_max * n_max, sizeof(double), &b->copy));
    expect(mgk_alloc(n_max, sizeof(double), &b->sigma));
    expect(mgk_alloc(n_max, sizeof(double), &b->reference));
}

static void close_bench(bench *b)
{
    mgk_engine_close(b->counting);
    mgk_engine_close(b->computing);
    mgk_free(b->original);
    mgk_free(b->copy);
    mgk_free(b->sigma);
    mgk_free(b->reference);
}

static void record(tally *t, const double milliseconds[3])
{
    if (t->matrices == t->capacity) {
        t->capacity = 2 * t->capacity + 64;
        for (int i = 0; i < 3; i++) {
            t->milliseconds[i] = realloc(t->milliseconds[i], t->capacity * sizeof(double));
            if (!t->milliseconds[i])
                die("no memory");
        }
    }
    for (int i = 0; i < 3; i++)
        t->milliseconds[i][t->matrices] = milliseconds[i];
    t->matrices++;
}

/* Ranks a fresh copy with the engine; the time excludes the copy. */
static mgk_rank_count rank(bench *b, bool count_only, mgk_float_format format, size_t n,
                           mgk_rank_row *row, double *milliseconds)
{
    const mgk_engine_task task = {
        .threshold_count = 1, .thresholds = &tau, .count_only = count_only};
    mgk_ladder unused = {0};
    mgk_rank_count count;
    memcpy(b->copy, b->original, n * n * sizeof(double));
    *row = (mgk_rank_row){0};
    expect(mgk_rank_measure_entries(n, b->copy, format, NULL, b->sigma, row));
    *milliseconds = now();
    expect(mgk_engine_rank(count_only ? b->counting : b->computing, &task,
                           count_only ? b->ladder : &unused, b->copy, row, &count, b->sigma));
    *milliseconds = now() - *milliseconds;
    return count;
}

/* #{ σ >= tau } by dgesdd; *decided: none is within its error of tau. */
static size_t reference_rank(bench *b, size_t n, double *milliseconds, bool *decided)
{
    size_t count = 0;
    lapack_int order = (lapack_int)n;
    memcpy(b->copy, b->original, n * n * sizeof(double));
    *milliseconds = now();
    if (LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'N', order, order, b->copy, order, b->reference, NULL, 1,
                       NULL, 1) != 0)
        die("dgesdd failed");
    *milliseconds = now() - *milliseconds;
    *decided = true;
    for (size_t i = 0; i < n; i++) {
        count += b->reference[i] >= tau;
        *decided &= fabs(b->reference[i] - tau) > (double)n * 0x1p-53 * b->reference[0];
    }
    return count;
}

/* Unknown values are infinitely far off. */
static double off(double value, double reference, double scale)
{
    double difference = fabs(value - reference) / scale;
    return isnan(difference) ? INFINITY : difference;
}

/* Compares a count's σ₁ and nearest singular value with the reference, which is not exact
 * either. */
static void compare_landmarks(const bench *b, size_t n, const mgk_rank_row *row,
                              const mgk_rank_count *count, tally *t)
{
    const double largest = b->reference[0], error = 100 * (double)n * 0x1p-53 * largest;
    double nearest = INFINITY;
    for (size_t i = 0; i < n; i++)
        if (fabs(b->reference[i] - tau) < fabs(nearest - tau))
            nearest = b->reference[i];
    t->largest_off = fmax(t->largest_off, off(row->sigma_max, largest, largest));
    /* Values far below tau are lost in the rounding of AᵀA. */
    if (count->nearest < tau / 4 && nearest < tau / 4)
        return;
    const double distance = fabs(nearest - tau);
    t->nearest_off =
        fmax(t->nearest_off, off(fabs(count->nearest - tau), distance, distance + error));
}

/* Measures the matrix in b->original. */
static void measure(bench *b, mgk_float_format format, size_t n, tally *t)
{
    double milliseconds[3];
    mgk_rank_row row;
    bool decided;
    size_t expected = reference_rank(b, n, &milliseconds[0], &decided);
    mgk_rank_count computed = rank(b, false, format, n, &row, &milliseconds[1]);
    mgk_rank_count count = rank(b, true, format, n, &row, &milliseconds[2]);
    t->wrong += count.certificate != MGK_CERTIFICATE_NONE && decided && count.rank != expected;
    t->wrong +=
        computed.certificate != MGK_CERTIFICATE_NONE && decided && computed.rank != expected;
    t->uncertain += count.certificate == MGK_CERTIFICATE_NONE;
    t->undecided += count.undecided;
    t->computed += row.method == MGK_METHOD_SVD;
    t->bound += row.method != MGK_METHOD_SVD && count.certificate == MGK_CERTIFICATE_BOUND;
    t->measured += count.certificate == MGK_CERTIFICATE_MEASURED;
    compare_landmarks(b, n, &row, &count, t);
    record(t, milliseconds);
}

static void print_header(const char *what)
{
    printf(
        "| %s | n | matrices | wrong | no certificate | undecided | bound | measured | computed "
        "| dgesdd ms | spectrum ms | count ms | spectrum | count | count, worst head | spectrum, "
        "of floor | count, of floor | σ₁ off | nearest off |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        what);
}

static double sum(const double *values, size_t count)
{
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += values[i];
    return total;
}

/* worst: the smallest speedup of a head; 0: that of the row. */
static void print_row(const char *name, size_t n, tally *t, double worst)
{
    double all = (double)t->matrices, total[3], middle[3];
    double floor = 8.0 / 3 * pow((double)n, 3) / speed * 1e-6;
    if (t->matrices == 0)
        return;
    for (int i = 0; i < 3; i++) {
        total[i] = sum(t->milliseconds[i], t->matrices);
        middle[i] = median(t->milliseconds[i], t->matrices);
    }
    printf(
        "| %s | %zu | %zu | %zu | %zu | %zu | %.0f %% | %.0f %% | %.0f %% | %.3g | %.3g | %.3g | "
        "%.2f | %.2f | %.2f | %.1f | %.1f | %.0e | %.0e |\n",
        name, n, t->matrices, t->wrong, t->uncertain, t->undecided, 100 * (double)t->bound / all,
        100 * (double)t->measured / all, 100 * (double)t->computed / all, middle[0], middle[1],
        middle[2], middle[0] / middle[1], total[0] / total[2],
        worst > 0 ? worst : total[0] / total[2], middle[1] / floor, middle[2] / (floor / 2),
        t->largest_off, t->nearest_off);
    fflush(stdout);
}

static void free_tally(tally *t)
{
    for (int i = 0; i < 3; i++)
        free(t->milliseconds[i]);
}

/* Adds a head's matrices to its layer. */
static double merge(tally *layer, tally *head)
{
    double milliseconds[3];
    double ratio =
        sum(head->milliseconds[0], head->matrices) / sum(head->milliseconds[2], head->matrices);
    for (size_t i = 0; i < head->matrices; i++) {
        for (int k = 0; k < 3; k++)
            milliseconds[k] = head->milliseconds[k][i];
        record(layer, milliseconds);
    }
    layer->wrong += head->wrong;
    layer->uncertain += head->uncertain;
    layer->undecided += head->undecided;
    layer->bound += head->bound;
    layer->measured += head->measured;
    layer->computed += head->computed;
    layer->largest_off = fmax(layer->largest_off, head->largest_off);
    layer->nearest_off = fmax(layer->nearest_off, head->nearest_off);
    return ratio;
}

enum { LAYERS_MAX = 64, HEADS_MAX = 64 };

static void print_layers(const mgk_source_input *input, tally (*tallies)[HEADS_MAX])
{
    char name[32];
    tally all = {0};
    double least = INFINITY;
    for (int l = 0; l < LAYERS_MAX; l++) {
        tally layer = {0};
        double worst = INFINITY;
        for (int h = 0; h < HEADS_MAX; h++)
            if (tallies[l][h].matrices > 0)
                worst = fmin(worst, merge(&layer, &tallies[l][h]));
        snprintf(name, sizeof(name), "layer %d", l);
        if (layer.matrices > 0) {
            merge(&all, &layer);
            least = fmin(least, worst);
        }
        print_row(name, input->source.n_max, &layer, worst);
        free_tally(&layer);
    }
    print_row("all", input->source.n_max, &all, least);
    free_tally(&all);
}

static void bench_model(const char *model, const char *text, int samples, int matrices,
                        bool doubles)
{
    static tally tallies[LAYERS_MAX][HEADS_MAX];
    static mgk_ladder ladders[LAYERS_MAX][HEADS_MAX];
    mgk_rank_options options = mgk_rank_options_default();
    mgk_source_input input;
    bench b;
    bool end = false;
    options.model = model;
    options.input.text = &text;
    options.input.text_count = 1;
    options.input.samples = samples;
    options.matrices = matrices;
    options.double_precision = doubles;
    options.job.threads = 1;
    options.job.device = "cpu";
    const mgk_source_options sources = mgk_rank_source_options(&options);
    expect(mgk_open_model_source(&sources, &input));
    open_bench(input.source.n_max, &b);
    const mgk_source *source = &input.source;
    mgk_group group;
    for (;;) {
        size_t prepared;
        expect(source->next(source->state, 1, &group, &end));
        if (end)
            break;
        const size_t layer = (size_t)source->layers[group.layer], head = (size_t)group.heads[0];
        if (layer >= LAYERS_MAX || head >= HEADS_MAX)
            die("too many layers or heads");
        expect(source->prepare(source->state, &group, 1, &prepared));
        expect(source->take(source->state, &group, 0, b.original));
        b.ladder = &ladders[layer][head];
        measure(&b, source->format, group.n, &tallies[layer][head]);
    }
    print_header(model);
    print_layers(&input, tallies);
    for (int l = 0; l < LAYERS_MAX; l++)
        for (int h = 0; h < HEADS_MAX; h++)
            free_tally(&tallies[l][h]);
    close_bench(&b);
    input.close(input.source.state);
}

static void bench_families(size_t n, size_t matrices)
{
    bench b;
    open_bench(n, &b);
    print_header("family");
    for (size_t f = 0; f < test_family_count; f++) {
        tally t = {0};
        mgk_ladder ladder = {0};
        b.ladder = &ladder;
        for (size_t i = 0; i < matrices; i++) {
            size_t order = n - i % 4 * (n / 16);
            test_families[f].make(i, order, b.original);
            /* Every other matrix is rounded to float32. */
            for (size_t k = 0; i % 2 && k < order * order; k++)
                b.original[k] = (double)(float)b.original[k];
            measure(&b, MGK_FLOAT_F64, order, &t);
        }
        print_row(test_families[f].name, n, &t, 0);
        free_tally(&t);
    }
    close_bench(&b);
}

/* A singular value at tau (1 ± 10^-k), the others far away: it is decided correctly, or
 * undecided. */
static void bench_beside(size_t n)
{
    bench b;
    mgk_ladder ladder = {0};
    open_bench(n, &b);
    b.ladder = &ladder;
    double *sigma;
    expect(mgk_alloc(n, sizeof(*sigma), &sigma));
    printf("| distance | below: rank, certificate | above: rank, certificate | dgesdd "
           "|\n|---|---|---|---|\n");
    for (int k = 1; k <= 12; k++) {
        printf("| 1e-%d |", k);
        size_t dgesdd[2];
        for (int side = 0; side < 2; side++) {
            mgk_rank_row row;
            double milliseconds;
            bool decided;
            for (size_t i = 0; i < n; i++)
                sigma[i] = i < n / 2 ? 1 - (double)i / (double)n : 1e-8 / (double)(i + 1);
            sigma[n / 2] = tau * (1 + (2 * side - 1) * pow(10, -k));
            test_matrix_with_spectrum((uint64_t)k, n, sigma, b.original);
            dgesdd[side] = reference_rank(&b, n, &milliseconds, &decided);
            mgk_rank_count count = rank(&b, true, MGK_FLOAT_F64, n, &row, &milliseconds);
            bool wrong =
                count.certificate != MGK_CERTIFICATE_NONE && count.rank != n / 2 + (size_t)side;
            printf(" %zu, %s%s |", count.rank, mgk_certificate_names[count.certificate],
                   wrong ? " WRONG" : "");
        }
        printf(" %zu, %zu |\n", dgesdd[0], dgesdd[1]);
    }
    mgk_free(sigma);
    close_bench(&b);
}

static void bench_trap(bench *b, const test_trap *trap, size_t first, size_t last, size_t matrices,
                       uint64_t seed)
{
    tally t = {0};
    mgk_ladder ladder = {0};
    double milliseconds[3] = {0};
    b->ladder = &ladder;
    for (uint64_t i = 0; i < matrices; i++) {
        mgk_rank_row row;
        const uint64_t key = seed << 32 | i;
        if (i % 4) /* otherwise the engine would only try the rung that held once */
            ladder = (mgk_ladder){0};
        const size_t n = first + (size_t)mgk_random_below(key, 0, 0, last - first + 1);
        const size_t expected = trap->make(key, n, tau, b->original);
        mgk_rank_count count = rank(b, true, MGK_FLOAT_F64, n, &row, &milliseconds[2]);
        const bool certified = count.certificate != MGK_CERTIFICATE_NONE;
        if (certified && count.rank != expected) {
            printf("WRONG: %s, N %zu, seed %llu: %zu for %zu, %s, %s\n", trap->name, n,
                   (unsigned long long)key, count.rank, expected, mgk_rank_method_names[row.method],
                   mgk_certificate_names[count.certificate]);
            t.wrong++;
        }
        t.uncertain += !certified;
        t.computed += row.method == MGK_METHOD_SVD;
        t.bound += row.method != MGK_METHOD_SVD && count.certificate == MGK_CERTIFICATE_BOUND;
        record(&t, milliseconds);
    }
    printf("| %s | %zu | %zu | %zu | %zu | %zu | %zu | %.3g |\n", trap->name, t.matrices, t.wrong,
           t.uncertain, t.bound, t.matrices - t.bound - t.computed, t.computed,
           median(t.milliseconds[2], t.matrices));
    fflush(stdout);
    free_tally(&t);
}

static void bench_traps(size_t first, size_t last, size_t matrices, uint64_t seed)
{
    bench b;
    if (first < 128 || last < first)
        die("--traps begins at 128 rows");
    open_bench(last, &b);
    printf("| trap | matrices | wrong | no certificate | bound | measured | computed | count ms |\n"
           "|---|---|---|---|---|---|---|---|\n");
    for (size_t k = 0; k < test_trap_count; k++)
        bench_trap(&b, &test_traps[k], first, last, matrices, seed);
    close_bench(&b);
}

/* Gflop/s of products of [n, n], the best of several. */
static double product_speed(size_t n)
{
    double *a, best = 0;
    const blasint order = (blasint)n;
    expect(mgk_alloc(3 * n * n, sizeof(*a), &a));
    for (size_t i = 0; i < 3 * n * n; i++)
        a[i] = 1 / (double)(i + 1);
    for (int i = 0; i < 5; i++) {
        double start = now();
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, order, order, order, 1, a, order,
                    a + n * n, order, 0, a + 2 * n * n, order);
        best = fmax(best, 2e-6 * (double)n * (double)n * (double)n / (now() - start));
    }
    mgk_free(a);
    return best;
}

static void print_machine(void)
{
    const char *forced = getenv("OPENBLAS_CORETYPE");
    bench_require_kernels("bench_rank");
    speed = product_speed(1024);
    printf("One thread; OpenBLAS kernels %s%s; dgemm %.1f Gflop/s (N = 1024).\n\n",
           openblas_get_corename(), forced ? ", FORCED by OPENBLAS_CORETYPE" : "", speed);
}

int main(int argc, char **argv)
{
    bool doubles = false;
    int samples = 4, matrices = 0;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    print_machine();
    if (argc == 4 && strcmp(argv[1], "--families") == 0) {
        bench_families((size_t)atoi(argv[2]), (size_t)atoi(argv[3]));
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "--near") == 0) {
        bench_beside((size_t)atoi(argv[2]));
        return 0;
    }
    if ((argc == 5 || argc == 6) && strcmp(argv[1], "--traps") == 0) {
        bench_traps((size_t)atoi(argv[2]), (size_t)atoi(argv[3]), (size_t)atoi(argv[4]),
                    argc == 6 ? strtoull(argv[5], NULL, 10) : 0);
        return 0;
    }
    while (argc > 3 && strncmp(argv[1], "--", 2) == 0) {
        if (strcmp(argv[1], "--double") == 0) {
            doubles = true;
        } else if (strcmp(argv[1], "--samples") == 0) {
            samples = atoi(argv[2]);
            argc--;
            argv++;
        } else if (strcmp(argv[1], "--matrices") == 0) {
            matrices = atoi(argv[2]);
            argc--;
            argv++;
        }
        argc--;
        argv++;
    }
    if (argc != 3)
        die("wrong usage; bench_rank --help says what it takes");
    bench_model(argv[1], argv[2], samples, matrices, doubles);
    return 0;
}
