/* SPDX-License-Identifier: MIT */
/* The kernels of attention rows against their formulas in long double, on every level. */
#include "test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "kernels/rows.h"

static const char *const levels[] = {MGK_CPU_LEVEL_NAMES};
enum { LEVELS = sizeof levels / sizeof *levels };

static const size_t sizes[] = {0, 1, 7, 8, 9, 63, 64, 65, 255, 257, 1000};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef enum kind { RANDOM, ONE_HOT, UNIFORM, DENORMAL, ZERO, ABOVE_ONE, KINDS } kind;

static int open_kernels(void **state)
{
    const mgk_row_kernels **kernels = calloc(LEVELS, sizeof(const mgk_row_kernels *));
    *state = kernels;
    for (size_t l = 0; l < LEVELS; l++) {
        setenv("MGK_CPU_LEVEL", levels[l], 1);
        assert_ok(mgk_row_kernels_choose(&kernels[l]));
    }
    unsetenv("MGK_CPU_LEVEL");
    return 0;
}

static int close_kernels(void **state)
{
    free(*state);
    return 0;
}

static void fill_row(kind k, uint64_t stream, size_t n, double *row)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += exp(3 * mgk_random_normal(1, stream, j));
    for (size_t j = 0; j < n; j++) {
        const double u = mgk_random_uniform(2, stream, j);
        const double p = exp(3 * mgk_random_normal(1, stream, j)) / sum;
        const double entries[KINDS] = {
            p, j == stream % n, 1 / (double)n, u * 0x1p-1022, 0, ldexp(1 + u, (int)(j % 200))};
        row[j] = entries[k];
    }
}

/* Rows [heads, n], `pitch` apart, NaN between them. */
typedef struct rows {
    size_t heads, n, pitch;
    double *memory, *first;
} rows;

static bool is_copy(const rows *r, size_t h)
{
    return h > 0 && (h == 1 || h + 1 == r->heads);
}

/* Kinds alternate from one row to the next, beginning with k; copies of row 0 are among them. */
static rows make_rows(size_t heads, size_t n, kind k)
{
    rows r = {.heads = heads, .n = n, .pitch = n + 3};
    r.memory = malloc((heads * r.pitch + 1) * sizeof(double));
    r.first = r.memory + 1; /* not aligned to any vector */
    for (size_t i = 0; i < heads * r.pitch; i++)
        r.first[i] = NAN;
    for (size_t h = 0; h < heads; h++)
        if (is_copy(&r, h))
            memcpy(r.first + h * r.pitch, r.first, n * sizeof(double));
        else
            fill_row((kind)(((size_t)k + h) % KINDS), h, n, r.first + h * r.pitch);
    return r;
}

/* A sum with a bound of the error of its computed value. */
typedef struct reference {
    long double sum, magnitude, error;
} reference;

static void add_term(reference *r, long double term, long double error)
{
    r->sum += term;
    r->magnitude += fabsl(term);
    r->error += error;
}

static long double x_ln_x(long double x)
{
    return x > 0 ? x * logl(x) : 0;
}

/* The stated error of x ln x. */
static long double x_ln_x_error(long double x)
{
    return 0x1p-55L * x + 0x1p-51L * fabsl(x_ln_x(x)) + 0x1p-1015L;
}

static void check(const char *what, size_t l, size_t n, double computed, const reference *r)
{
    const long double bound =
        r->error + ((long double)n / 2 + 16) * 0x1p-53L * r->magnitude + 0x1p-1060L;
    if (!isfinite(computed) || !(fabsl(computed - r->sum) <= bound))
        fail_msg("%s of %zu entries, %s: %.17g, expected %.17Lg within %Lg", what, n, levels[l],
                 computed, r->sum, bound);
}

static void rows_have_their_sums(void **state)
{
    const mgk_row_kernels *const *kernels = *state;
    for (size_t i = 0; i < SIZES; i++)
        for (kind k = 0; k < KINDS; k++) {
            const size_t n = sizes[i];
            const rows r = make_rows(3, n, k);
            const double *x = r.first, *y = r.first + 2 * r.pitch;
            double *other = malloc((n + 1) * sizeof(double)), largest = 0;
            reference sum = {0}, dot = {0}, distance = {0}, entropy = {0};
            fill_row(RANDOM, 7, n, r.first + 2 * r.pitch);
            for (size_t j = 0; j < n; j++) {
                largest = fmax(largest, x[j]);
                add_term(&sum, x[j], 0);
                add_term(&dot, (long double)x[j] * y[j], 0x1p-53L * x[j] * y[j] + 0x1p-1070L);
                const long double square = ((long double)x[j] - y[j]) * ((long double)x[j] - y[j]);
                add_term(&distance, square, 4 * 0x1p-53L * square + 0x1p-1070L);
                add_term(&entropy, -x_ln_x(x[j]), x_ln_x_error(x[j]));
            }
            memcpy(other, x, n * sizeof(double));
            for (size_t l = 0; l < LEVELS; l++) {
                const mgk_row_kernels *own = kernels[l];
                check("sum", l, n, own->sum(n, x), &sum);
                check("product", l, n, own->dot(n, x, y), &dot);
                check("distance", l, n, own->distance(n, x, y), &distance);
                check("entropy", l, n, own->entropy(n, x), &entropy);
                assert_true(own->distance(n, x, x) == 0);
                assert_true(own->any(n, x) == (largest > 0));
                assert_true(own->range(n, x).smallest == 0 && own->range(n, x).largest == largest);
                for (size_t j = 0; j < n; j += 1 + n / 5) { /* one negative entry, anywhere */
                    other[j] = -ldexp(1 + (double)j, -30);
                    assert_true(own->range(n, other).smallest == other[j]);
                    other[j] = x[j];
                }
                /* The address changes nothing. */
                assert_true(own->sum(n, other) == own->sum(n, x));
                assert_true(own->dot(n, other, y) == own->dot(n, x, y));
                assert_true(own->entropy(n, other) == own->entropy(n, x));
            }
            free(other);
            free(r.memory);
        }
}

static void a_row_has_an_entry_that_is_not_0(void **state)
{
    const mgk_row_kernels *const *kernels = *state;
    double row[42];
    for (size_t j = 0; j < 42; j++)
        row[j] = j % 2 ? -0.0 : 0;
    for (size_t l = 0; l < LEVELS; l++)
        for (size_t n = 0; n <= 40; n++) {
            assert_false(kernels[l]->any(n, row + 1));
            for (size_t j = 0; j <= n; j++) { /* the last one is behind the row */
                const double before = row[1 + j];
                row[1 + j] = j % 3 ? -0x1p-1074 : 1;
                assert_true(kernels[l]->any(n, row + 1) == (j < n));
                row[1 + j] = before;
            }
        }
}

/* Random mantissas at exponents from -1080 to 499, the surroundings of 1, and ends of intervals. */
static double entry(size_t i)
{
    const double u = mgk_random_uniform(3, 0, i), steps = 1 + (double)(i / 4 % 64) / 64;
    switch (i % 4) {
    case 0:
        return ldexp(1 + u, (int)mgk_random_below(3, 1, i, 1580) - 1080);
    case 1:
        return u;
    case 2:
        return 1 + (u - 0.5) / 8;
    default:
        return ldexp(i / 256 % 2 ? nextafter(steps, 0) : steps, (int)(i / 512 % 9) - 6);
    }
}

static void an_entropy_is_accurate_for_each_entry(void **state)
{
    enum { ENTRIES = 200000 };
    const mgk_row_kernels *const *kernels = *state;
    for (size_t i = 0; i < ENTRIES; i++) {
        const double x = entry(i);
        const long double exact = -x_ln_x(x);
        for (size_t l = 0; l < LEVELS; l++) {
            const double computed = kernels[l]->entropy(1, &x);
            const long double error = fabsl(computed - exact);
            if (!isfinite(computed) || !(error <= x_ln_x_error(x)) || (x <= 1 && error > 0x1p-53L))
                fail_msg("- x ln x for x = %a, %s: %a, wrong by %Lg", x, levels[l], computed,
                         error);
            assert_true(x > 1 || computed >= 0);
        }
    }
}

static void certain_rows_have_no_entropy(void **state)
{
    const mgk_row_kernels *const *kernels = *state;
    double row[65] = {0};
    for (size_t l = 0; l < LEVELS; l++)
        for (size_t j = 0; j < 65; j++) {
            row[j] = 1;
            for (size_t n = 0; n <= 65; n++) {
                const double entropy = kernels[l]->entropy(n, row);
                assert_true(entropy == 0 && !signbit(entropy));
            }
            row[j] = 0;
        }
}

static void roots_are_correctly_rounded(void **state)
{
    const mgk_row_kernels *const *kernels = *state;
    for (size_t i = 0; i < SIZES; i++)
        for (size_t l = 0; l < LEVELS; l++) {
            const size_t n = sizes[i];
            double *x = malloc((n + 1) * sizeof(double)), *out = malloc((n + 1) * sizeof(double));
            for (size_t j = 0; j < n; j++)
                x[j] = j % 5 ? entry(j) : 0;
            out[n] = x[n] = -1;
            kernels[l]->roots(n, x, out);
            for (size_t j = 0; j < n; j++)
                assert_true(out[j] == sqrt(x[j]));
            kernels[l]->roots(n, x, x);
            assert_memory_equal(x, out, (n + 1) * sizeof(double));
            assert_true(out[n] == -1);
            free(x);
            free(out);
        }
}

static void rows_become_floats_and_back(void **state)
{
    const mgk_row_kernels *const *kernels = *state;
    for (size_t i = 0; i < SIZES; i++)
        for (size_t l = 0; l < LEVELS; l++) {
            const size_t n = sizes[i];
            double *x = malloc((n + 1) * sizeof(double)), *wide = malloc((n + 1) * sizeof(double));
            float *out = malloc((n + 1) * sizeof(float));
            for (size_t j = 0; j < n; j++)
                x[j] = ldexp(1 + (double)j, (int)(j % 200) - 149);
            out[n] = -1;
            wide[n] = -1;
            kernels[l]->narrow(n, x, out);
            kernels[l]->widen(n, out, wide);
            assert_memory_equal(x, wide, n * sizeof(double));
            assert_true(out[n] == -1 && wide[n] == -1);
            for (size_t j = 0; j < n; j++)
                x[j] += ldexp(x[j], -40);
            kernels[l]->narrow(n, x, out);
            for (size_t j = 0; j < n; j++)
                assert_true(out[j] == (float)x[j]);
            free(x);
            free(wide);
            free(out);
        }
}

enum { SORTED = MGK_SORT_ROWS };

static int compare(const void *x, const void *y)
{
    const double *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

/* Sorts entries [SORTED, n] and compares each with what qsort makes of it. */
static void check_sort(const mgk_row_kernels *kernels, size_t n, bool floats, double *entries)
{
    const double *row[SORTED];
    const float *float_row[SORTED];
    float *narrow = malloc(SORTED * n * sizeof(float));
    double *sorted = malloc((n + 1) * SORTED * sizeof(double));
    for (size_t j = 0; j < (n + 1) * SORTED; j++)
        sorted[j] = -1;
    for (size_t j = 0; j < n * SORTED; j++)
        narrow[j] = (float)entries[j];
    for (size_t r = 0; r < SORTED; r++) {
        row[r] = entries + r * n;
        float_row[r] = narrow + r * n;
    }
    if (floats)
        kernels->sort_floats(n, float_row, sorted);
    else
        kernels->sort(n, row, sorted);
    for (size_t r = 0; r < SORTED; r++) {
        qsort(entries + r * n, n, sizeof(double), compare);
        for (size_t j = 0; j < n; j++)
            assert_true(sorted[j * SORTED + r] == entries[r * n + j]);
        assert_true(sorted[n * SORTED + r] == -1);
    }
    free(narrow);
    free(sorted);
}

/* A network that sorts all sequences of zeros and ones sorts everything (Knuth, 5.3.4, theorem Z).
 */
static void short_rows_of_zeros_and_ones_are_sorted(void **state)
{
    enum { LONGEST = 18 };
    const mgk_row_kernels *const *kernels = *state;
    for (size_t n = 0; n <= LONGEST; n++)
        for (size_t first = 0; first < (size_t)1 << n; first += SORTED)
            for (int floats = 0; floats < 2; floats++) {
                double entries[SORTED * LONGEST + 1];
                for (size_t r = 0; r < SORTED; r++)
                    for (size_t i = 0; i < n; i++)
                        entries[r * n + i] = (double)((first + r) >> i & 1);
                check_sort(kernels[first / SORTED % LEVELS], n, floats, entries);
            }
}

/* Numbers of which `sort` must keep every bit: those that no float holds, or those that one does.
 */
static double number_to_sort(size_t n, size_t r, size_t j, bool floats)
{
    const double number = mgk_random_uniform(4, n, r * n + j);
    const double kinds[] = {(double)j,    (double)(n - j),     floor(9 * number),
                            number - 0.5, ldexp(number, -140), ldexp(number, 120)};
    const double chosen = kinds[r % (sizeof kinds / sizeof *kinds)];
    return floats ? (double)(float)chosen : chosen;
}

static void long_rows_are_sorted(void **state)
{
    static const size_t lengths[] = {19,  31,  32,  33,  63,   64,   65,   127,  129, 255,
                                     256, 257, 511, 513, 1000, 1024, 1025, 4096, 5001};
    const mgk_row_kernels *const *kernels = *state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t l = 0; l < LEVELS; l++)
            for (int floats = 0; floats < 2; floats++) {
                const size_t n = lengths[i];
                double *entries = malloc(SORTED * n * sizeof(double));
                for (size_t j = 0; j < SORTED * n; j++)
                    entries[j] = number_to_sort(n, j / n, j % n, floats);
                check_sort(kernels[l], n, floats, entries);
                free(entries);
            }
}

/* Sums of n terms one after another, so the bound of `check` does not hold. */
static void differences_of_sorted_columns_are_summed(void **state)
{
    const mgk_row_kernels *const *kernels = *state;
    for (size_t i = 0; i < SIZES; i++)
        for (size_t l = 0; l < LEVELS; l++) {
            const size_t n = sizes[i];
            double *entries = malloc((n * SORTED + 1) * sizeof(double)), out[SORTED];
            double *columns = malloc((n * SORTED + 1) * sizeof(double));
            const double *row[SORTED];
            for (size_t j = 0; j < n * SORTED; j++)
                entries[j] = j < n ? 0.25 : mgk_random_uniform(6, n, j);
            for (size_t r = 0; r < SORTED; r++)
                row[r] = entries + r * n;
            kernels[l]->sort(n, row, columns);
            kernels[l]->spreads(n, columns, out);
            for (size_t c = 0; c < SORTED; c++) {
                long double expected = 0, magnitude = 0;
                for (size_t k = 0; k < n; k++)
                    for (size_t j = 0; j < k; j++)
                        expected += (long double)columns[k * SORTED + c] - columns[j * SORTED + c];
                for (size_t k = 0; k < n; k++)
                    magnitude += fabsl(2 * (long double)k + 1 - n) * columns[k * SORTED + c];
                assert_true(fabsl(out[c] - expected) <= (n + 2) * 0x1p-53L * magnitude);
            }
            assert_true(out[0] == 0); /* of equal entries */
            free(columns);
            free(entries);
        }
}

static void one_pass_tells_sums_squares_and_bits(void **state)
{
    const mgk_row_kernels *const *kernels = *state;
    for (size_t i = 0; i < SIZES; i++)
        for (size_t l = 0; l < LEVELS; l++) {
            const size_t n = sizes[i];
            double *x = malloc((n + 1) * sizeof(double)),
                   *columns = malloc((n + 1) * sizeof(double));
            reference sum = {0}, squares = {0};
            uint64_t bits = 0;
            for (size_t j = 0; j < n; j++) {
                uint64_t entry;
                x[j] = mgk_random_normal(15, n, j);
                columns[j] = (double)j;
                memcpy(&entry, &x[j], sizeof(entry));
                bits |= entry;
                add_term(&sum, x[j], 0);
                add_term(&squares, (long double)x[j] * x[j], (long double)x[j] * x[j] * 0x1p-53L);
            }
            columns[n] = -1;
            const mgk_row_facts facts = kernels[l]->facts(n, x, columns);
            check("sum", l, n, facts.sum, &sum);
            check("squares", l, n, facts.squares, &squares);
            assert_true(facts.bits == bits);
            for (size_t j = 0; j < n; j++)
                assert_true(columns[j] == (double)j + x[j]);
            assert_true(columns[n] == -1);
            free(columns);
            free(x);
        }
}

static void squares_are_products_of_vectors_with_themselves(void **state)
{
    enum { COUNT = 5 };
    const mgk_row_kernels *const *kernels = *state;
    for (size_t i = 0; i < SIZES; i++)
        for (size_t l = 0; l < LEVELS; l++) {
            const size_t n = sizes[i];
            double *x = malloc((COUNT * n + 1) * sizeof(double)), out[COUNT + 1];
            for (size_t j = 0; j < COUNT * n; j++)
                x[j] = mgk_random_normal(7, n, j);
            out[COUNT] = -1;
            kernels[l]->squares(COUNT, n, x, out);
            for (size_t k = 0; k < COUNT; k++)
                assert_true(out[k] == kernels[l]->dot(n, x + k * n, x + k * n));
            assert_true(out[COUNT] == -1);
            free(x);
        }
}

/* Of length 0, of length that overflows, and others. */
static void vectors_are_divided_by_their_lengths(void **state)
{
    enum { COUNT = 5, ZERO_AT = 1, HUGE_AT = 3 };
    const mgk_row_kernels *const *kernels = *state;
    for (size_t i = 1; i < SIZES; i++)
        for (size_t l = 0; l < LEVELS; l++) {
            const size_t n = sizes[i];
            double *x = malloc((COUNT * n + 1) * sizeof(double)), lengths[COUNT + 1];
            for (size_t j = 0; j < COUNT * n; j++)
                x[j] = j / n == ZERO_AT ? 0 : 3 * mgk_random_normal(9, n, j);
            x[HUGE_AT * n] = 1e200;
            x[COUNT * n] = lengths[COUNT] = -1;
            kernels[l]->normalise(COUNT, n, x, lengths);
            for (size_t k = 0; k < COUNT; k++)
                for (size_t d = 0; d < n; d++) {
                    const double before = 3 * mgk_random_normal(9, n, k * n + d);
                    if (k == HUGE_AT)
                        assert_true(isinf(lengths[k]) && isnan(x[k * n + d]));
                    else if (k == ZERO_AT)
                        assert_true(lengths[k] == 0 && x[k * n + d] == 0);
                    else
                        assert_true(fabs(x[k * n + d] * lengths[k] - before) <=
                                    0x1p-51 * fabs(before));
                }
            for (size_t k = 0; k < COUNT; k += 2)
                assert_true(fabs(kernels[l]->dot(n, x + k * n, x + k * n) - 1) <=
                            (double)(n + 32) * 0x1p-53);
            assert_true(x[COUNT * n] == -1 && lengths[COUNT] == -1);
            free(x);
        }
}

static void columns_are_centred(void **state)
{
    enum { COUNT = 7 };
    const mgk_row_kernels *const *kernels = *state;
    for (size_t i = 1; i < SIZES; i++)
        for (size_t l = 0; l < LEVELS; l++) {
            const size_t n = sizes[i], size = COUNT * n, pitch = n + 3;
            double *x = malloc((size + COUNT * pitch) * sizeof(double)), *out = x + size;
            double *means = malloc((n + 1) * 2 * sizeof(double)), *largest = means + n;
            for (size_t j = 0; j < size; j++)
                x[j] = 1 + mgk_random_normal(10, n, j);
            for (size_t j = 0; j < COUNT * pitch; j++)
                out[j] = -1;
            largest[n] = -1;
            kernels[l]->centre(COUNT, n, x, means, out, pitch, largest);
            for (size_t d = 0; d < n; d++) {
                long double sum = 0, magnitude = 0;
                double most = 0;
                for (size_t k = 0; k < COUNT; k++) {
                    sum += x[k * n + d];
                    magnitude += fabs(x[k * n + d]);
                    most = fmax(most, fabs(out[k * pitch + d]));
                    assert_true(out[k * pitch + d] == x[k * n + d] - means[d]);
                }
                assert_true(fabsl(means[d] - sum / COUNT) <= 0x1p-53L * magnitude);
                assert_true(largest[d] == most);
            }
            for (size_t k = 0; k < COUNT; k++)
                for (size_t d = n; d < pitch; d++)
                    assert_true(out[k * pitch + d] == -1);
            assert_true(largest[n] == -1);
            free(means);
            free(x);
        }
}

/* Also of more keys than one pass over the values takes. */
static void values_are_weighed(void **state)
{
    enum { ROWS = 3 * MGK_WEIGH_UNIT, PITCH = 601, DIM_MOST = 40 };
    static const size_t keys[] = {1, 7, 256, 257, 600}, dims[] = {8, 16, 24, DIM_MOST};
    const mgk_row_kernels *const *kernels = *state;
    double *a = malloc(ROWS * PITCH * sizeof(double)), *values;
    double *out = malloc((ROWS * DIM_MOST + 1) * sizeof(double));
    assert_ok(mgk_alloc(PITCH * DIM_MOST, sizeof(double), &values));
    for (size_t j = 0; j < ROWS * PITCH; j++)
        a[j] = mgk_random_normal(11, 0, j);
    for (size_t j = 0; j < PITCH * DIM_MOST; j++)
        values[j] = mgk_random_normal(12, 0, j);
    for (size_t test = 0; test < 5 * 4; test++)
        for (size_t l = 0; l < LEVELS; l++) {
            const size_t count = keys[test / 4], dim = dims[test % 4];
            out[ROWS * dim] = -1;
            kernels[l]->weigh(ROWS, count, dim, a, PITCH, values, out);
            for (size_t i = 0; i < ROWS * dim; i++) {
                reference sum = {0};
                for (size_t k = 0; k < count; k++) {
                    const long double term = (long double)a[i / dim * PITCH + k] *
                                             (long double)values[k * dim + i % dim];
                    add_term(&sum, term, fabsl(term) * (long double)count * 0x1p-53L);
                }
                assert_true(fabsl(out[i] - sum.sum) <= sum.error);
            }
            assert_true(out[ROWS * dim] == -1);
        }
    mgk_free(values);
    free(out);
    free(a);
}

/* The products of columns, of more vectors than one pass takes, and the sum of their squares. */
static void cross_energies_are_sums_of_squared_products(void **state)
{
    enum { COUNT_MOST = 600, DIM_MOST = 40 };
    static const size_t counts[] = {0, 1, 7, 256, 257, COUNT_MOST}, dims[] = {8, 16, 24, DIM_MOST};
    const mgk_row_kernels *const *kernels = *state;
    double *x, *y, *product;
    assert_ok(mgk_alloc(COUNT_MOST * DIM_MOST, sizeof(double), &x));
    assert_ok(mgk_alloc(COUNT_MOST * DIM_MOST, sizeof(double), &y));
    assert_ok(mgk_alloc(DIM_MOST * DIM_MOST + 1, sizeof(double), &product));
    for (size_t j = 0; j < COUNT_MOST * DIM_MOST; j++) {
        x[j] = mgk_random_normal(13, 0, j);
        y[j] = mgk_random_normal(14, 0, j);
    }
    for (size_t test = 0; test < 6 * 4; test++)
        for (size_t l = 0; l < LEVELS; l++) {
            const size_t count = counts[test / 4], dim = dims[test % 4];
            product[dim * dim] = -1;
            const double energy = kernels[l]->energy(count, dim, x, y, product);
            for (size_t i = 0; i < dim * dim; i++) {
                reference sum = {0};
                for (size_t k = 0; k < count; k++) {
                    const long double term =
                        (long double)x[k * dim + i / dim] * (long double)y[k * dim + i % dim];
                    add_term(&sum, term, fabsl(term) * (long double)count * 0x1p-53L);
                }
                assert_true(fabsl(product[i] - sum.sum) <= sum.error);
            }
            assert_true(energy == kernels[l]->dot(dim * dim, product, product));
            assert_true(product[dim * dim] == -1);
        }
    mgk_free(x);
    mgk_free(y);
    mgk_free(product);
}

/* The references of products, differences and divergences of rows h and g. */
typedef struct pair {
    reference product, difference, divergence;
} pair;

static pair compare_rows(const rows *r, size_t h, size_t g)
{
    pair p = {0};
    for (size_t j = 0; j < r->n; j++) {
        const long double a = r->first[h * r->pitch + j], b = r->first[g * r->pitch + j];
        const long double half = (a + b) / 2, square = (a - b) * (a - b) / 2;
        add_term(&p.product, a * b, 0x1p-53L * a * b + 0x1p-1070L);
        add_term(&p.difference, square, 4 * 0x1p-53L * square + 0x1p-1070L);
        add_term(&p.divergence, (x_ln_x(a) + x_ln_x(b)) / 2 - x_ln_x(half),
                 (x_ln_x_error(a) + x_ln_x_error(b)) / 2 + x_ln_x_error(half) +
                     0x1p-53L * (1 + fabsl(logl(half + 0x1p-1074L))) * half);
        /* The sums that are subtracted are this large. */
        p.divergence.magnitude += (fabsl(x_ln_x(a)) + fabsl(x_ln_x(b))) / 2 + fabsl(x_ln_x(half));
    }
    return p;
}

/* The computed matrices [heads, heads] of one level: only pairs g <= h are written. */
typedef struct matrices {
    double *products, *differences, *divergences;
} matrices;

static double *make_matrix(size_t heads)
{
    double *matrix = malloc((heads * heads + 1) * sizeof(double));
    for (size_t i = 0; i <= heads * heads; i++)
        matrix[i] = i < heads * heads && i % heads <= i / heads ? 0 : NAN;
    return matrix;
}

/* Divergences are the same with the roots of the rows, and these are right. */
static void check_roots(const mgk_row_kernels *kernels, const rows *r, const double *entropies,
                        const double *divergences)
{
    const size_t heads = r->heads, size = heads * r->pitch;
    double *roots = malloc(size * sizeof(double)), *with_roots = make_matrix(heads);
    for (size_t k = 0; k < size; k++)
        roots[k] = -1;
    kernels->divergences(heads, r->n, r->first, r->pitch, entropies, roots, with_roots);
    for (size_t i = 0; i < heads * heads; i++)
        assert_true(with_roots[i] == divergences[i] || i % heads > i / heads);
    for (size_t k = 0; k < size; k++)
        assert_true(roots[k] == (k % r->pitch < r->n ? sqrt(r->first[k]) : -1));
    free(roots);
    free(with_roots);
}

static matrices compute(const mgk_row_kernels *kernels, const rows *r)
{
    const size_t heads = r->heads;
    const matrices m = {make_matrix(heads), make_matrix(heads), make_matrix(heads)};
    kernels->products(heads, r->n, r->first, r->pitch, m.products);
    kernels->differences(heads, r->n, r->first, r->pitch, m.differences);
    double *entropies = malloc(heads * sizeof(double));
    for (size_t h = 0; h < heads; h++)
        entropies[h] = kernels->entropy(r->n, r->first + h * r->pitch);
    kernels->divergences(heads, r->n, r->first, r->pitch, entropies, NULL, m.divergences);
    check_roots(kernels, r, entropies, m.divergences);
    free(entropies);
    for (size_t i = 0; i <= heads * heads; i++) {
        const bool written = i < heads * heads && i % heads <= i / heads;
        assert_true(isnan(m.products[i]) != written && isnan(m.differences[i]) != written);
        assert_true(isnan(m.divergences[i]) != written);
    }
    return m;
}

static void release(const matrices *m)
{
    free(m->products);
    free(m->differences);
    free(m->divergences);
}

/* What holds exactly of entry `i`. */
static void check_exact(const matrices *m, size_t i, bool identical)
{
    assert_true(m->differences[i] >= 0 && m->divergences[i] >= 0);
    if (identical)
        assert_true(m->differences[i] == 0 && m->divergences[i] == 0);
}

static void check_pairs(const mgk_row_kernels *const *kernels, size_t heads, size_t n, kind k)
{
    const rows r = make_rows(heads, n, k);
    matrices m[LEVELS];
    for (size_t l = 0; l < LEVELS; l++)
        m[l] = compute(kernels[l], &r);
    for (size_t h = 0; h < heads; h++)
        for (size_t g = 0; g <= h; g++) {
            const pair p = compare_rows(&r, h, g);
            const size_t i = h * heads + g;
            const bool identical = h == g || ((h == 0 || is_copy(&r, h)) && //
                                              (g == 0 || is_copy(&r, g)));
            for (size_t l = 0; l < LEVELS; l++) {
                check("product", l, n, m[l].products[i], &p.product);
                check("difference", l, n, m[l].differences[i], &p.difference);
                check("divergence", l, n, m[l].divergences[i], &p.divergence);
                check_exact(&m[l], i, identical);
            }
        }
    for (size_t l = 0; l < LEVELS; l++)
        release(&m[l]);
    free(r.memory);
}

static void pairs_of_rows_follow_their_formulas(void **state)
{
    static const size_t heads[] = {1, 2, 3, 5, 8, 9, 17};
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
        for (size_t i = 0; i < SIZES; i++)
            for (kind k = 0; k < KINDS; k++)
                check_pairs(*state, heads[h], sizes[i], k);
}

static void pairs_are_summed_over_several_blocks(void **state)
{
    check_pairs(*state, 130, 300, RANDOM);
    check_pairs(*state, 3, 22001, RANDOM);
}

/* Two rows that differ in one entry by d: products would lose d², 1e-30, beside 1. */
static void close_rows_have_a_difference(void **state)
{
    const mgk_row_kernels *const *kernels = *state;
    for (size_t l = 0; l < LEVELS; l++) {
        double two[2][9] = {{1, [8] = 1}, {1, [8] = 1 + 0x1p-50}}, out[4] = {0};
        kernels[l]->differences(2, 9, two[0], 9, out);
        assert_true(out[2] == 0x1p-101);
    }
}

/* Divergences far below the roundings of the entropies, of which about half are negative. */
static void close_rows_have_no_negative_divergence(void **state)
{
    enum { HEADS = 20, ENTRIES = 33 };
    const mgk_row_kernels *const *kernels = *state;
    double entries[HEADS * ENTRIES], entropies[HEADS];
    for (size_t i = 0; i < HEADS * ENTRIES; i++)
        entries[i] = (1 + 0x1p-30 * mgk_random_uniform(5, 0, i)) / ENTRIES;
    for (size_t l = 0; l < LEVELS; l++) {
        double out[HEADS * HEADS] = {0};
        for (size_t h = 0; h < HEADS; h++)
            entropies[h] = kernels[l]->entropy(ENTRIES, entries + h * ENTRIES);
        kernels[l]->divergences(HEADS, ENTRIES, entries, ENTRIES, entropies, NULL, out);
        for (size_t i = 0; i < HEADS * HEADS; i++)
            assert_true(out[i] >= 0 && out[i] <= 0x1p-45);
    }
}

static void pairs_are_added_to_what_is_there(void **state)
{
    enum { HEADS = 5, ENTRIES = 37 };
    const mgk_row_kernels *const *kernels = *state;
    const rows r = make_rows(HEADS, ENTRIES, RANDOM);
    for (size_t l = 0; l < LEVELS; l++) {
        double entropies[HEADS], out[3][HEADS * HEADS] = {{0}};
        for (size_t h = 0; h < HEADS; h++)
            entropies[h] = kernels[l]->entropy(ENTRIES, r.first + h * r.pitch);
        for (int time = 0; time < 2; time++) {
            kernels[l]->products(HEADS, ENTRIES, r.first, r.pitch, out[0]);
            kernels[l]->differences(HEADS, ENTRIES, r.first, r.pitch, out[1]);
            kernels[l]->divergences(HEADS, ENTRIES, r.first, r.pitch, entropies, NULL, out[2]);
        }
        const matrices once = compute(kernels[l], &r);
        for (size_t h = 0; h < HEADS; h++)
            for (size_t i = h * HEADS; i <= h * HEADS + h; i++) {
                assert_true(out[0][i] == 2 * once.products[i]);
                assert_true(out[1][i] == 2 * once.differences[i]);
                assert_true(out[2][i] == 2 * once.divergences[i]);
            }
        release(&once);
    }
    free(r.memory);
}

static void an_unknown_level_is_refused(void **state)
{
    (void)state;
    const mgk_row_kernels *kernels = NULL;
    setenv("MGK_CPU_LEVEL", "v9", 1);
    assert_fails(mgk_row_kernels_choose(&kernels), STATUS_USAGE);
    unsetenv("MGK_CPU_LEVEL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_their_sums),
        cmocka_unit_test(a_row_has_an_entry_that_is_not_0),
        cmocka_unit_test(an_entropy_is_accurate_for_each_entry),
        cmocka_unit_test(certain_rows_have_no_entropy),
        cmocka_unit_test(roots_are_correctly_rounded),
        cmocka_unit_test(rows_become_floats_and_back),
        cmocka_unit_test(short_rows_of_zeros_and_ones_are_sorted),
        cmocka_unit_test(long_rows_are_sorted),
        cmocka_unit_test(differences_of_sorted_columns_are_summed),
        cmocka_unit_test(one_pass_tells_sums_squares_and_bits),
        cmocka_unit_test(squares_are_products_of_vectors_with_themselves),
        cmocka_unit_test(vectors_are_divided_by_their_lengths),
        cmocka_unit_test(columns_are_centred),
        cmocka_unit_test(values_are_weighed),
        cmocka_unit_test(cross_energies_are_sums_of_squared_products),
        cmocka_unit_test(pairs_of_rows_follow_their_formulas),
        cmocka_unit_test(pairs_are_summed_over_several_blocks),
        cmocka_unit_test(close_rows_have_a_difference),
        cmocka_unit_test(close_rows_have_no_negative_divergence),
        cmocka_unit_test(pairs_are_added_to_what_is_there),
        cmocka_unit_test(an_unknown_level_is_refused),
    };
    return cmocka_run_group_tests(tests, open_kernels, close_kernels);
}
