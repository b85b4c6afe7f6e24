/* SPDX-License-Identifier: MIT */
#include "analysis/table/rank_columns.h"

#include <math.h>

#include "base/memory.h"

#define AT(member) offsetof(mgk_rank_record, member)

/* A column of every matrix, by kind; the names of the third kind are [count]. */
#define INTEGER(name, member, optional, unit, formula, source)                                  \
    {                                                                                           \
        name, MGK_COLUMN_INTEGER, MGK_LEVEL_MATRIX, unit, formula, source, NULL, 0, AT(member), \
            optional                                                                            \
    }
#define FLAG(name, member, optional, formula)                                                \
    {                                                                                        \
        name, MGK_COLUMN_FLAG, MGK_LEVEL_MATRIX, "0 or 1", formula, "", NULL, 0, AT(member), \
            optional                                                                         \
    }
#define WORD(name, member, words, count, formula)                                                \
    {                                                                                            \
        name, MGK_COLUMN_WORD, MGK_LEVEL_MATRIX, "", formula, "", words, count, AT(member), true \
    }
#define REAL(name, member, optional, unit, formula, source)                                  \
    {                                                                                        \
        name, MGK_COLUMN_REAL, MGK_LEVEL_MATRIX, unit, formula, source, NULL, 0, AT(member), \
            optional                                                                         \
    }

static const char mgk_paper[] = "Nguyen et al. 2022";

static const mgk_column rank_columns[] = {
    INTEGER("sample", row.sample, false, "", "number of the sample in the input", ""),
    INTEGER("layer", row.layer, false, "", "number of the layer in the model", ""),
    INTEGER("head", row.head, false, "", "number of the head in the layer", ""),
    INTEGER("n", row.n, false, "tokens",
            "order of the matrix, which its rank does not exceed; in cross-attention the smaller "
            "number of queries and keys",
            ""),
    INTEGER("rank", count.rank, false, "singular values", "#{i: sigma_i >= threshold}", mgk_paper),
    FLAG("undecided", count.undecided, false,
         "1 where a sigma_i is closer to the threshold than its error: rank_low < rank_high"),
    REAL("sigma_max", row.sigma_max, false, "", "sigma_1", ""),
    REAL("sigma_min", row.sigma_min, false, "", "the smallest sigma_i", ""),
    REAL("effective_rank", row.effective_rank, false, "singular values",
         "exp(-sum p_i ln p_i), p_i = sigma_i / sum sigma", "Roy & Vetterli 2007"),
    REAL("stable_rank", row.stable_rank, false, "singular values", "sum sigma_i^2 / sigma_1^2",
         "Rudelson & Vershynin 2007"),
    REAL("threshold", threshold, true, "", "the least singular value that is counted", ""),
    FLAG("relative", relative, true, "1 where the threshold is a multiple of sigma_1"),
    INTEGER("input", row.input, true, "", "number of the input, from 0", ""),
    INTEGER("position", row.position, true, "", "place of the sample in the store or run, from 0",
            ""),
    INTEGER("rank_low", count.rank_low, true, "singular values",
            "#{i: sigma_i >= threshold + error}", ""),
    INTEGER("rank_high", count.rank_high, true, "singular values",
            "#{i: sigma_i >= threshold - error}", ""),
    REAL("nearest", count.nearest, true, "", "the sigma_i nearest to the threshold", ""),
    WORD("certificate", count.certificate, mgk_certificate_names, MGK_CERTIFICATE_COUNT,
         "how the rank of the stored entries is certified"),
    WORD("method", row.method, mgk_rank_method_names, MGK_METHOD_COUNT,
         "how singular values were computed or counted"),
    WORD("storage", row.format, mgk_float_format_names, MGK_FLOAT_COUNT,
         "coarsest format that the entries have passed through"),
    REAL("sigma_ratio", row.sigma_ratio, true, "", "sigma_2 / sigma_1", "Nait Saada et al. 2025"),
    REAL("energy_1", row.energy[0], true, "", "sigma_1^2 / sum sigma_i^2", ""),
    REAL("energy_4", row.energy[1], true, "", "sum of the first 4 sigma_i^2 / sum sigma_i^2", ""),
    REAL("energy_16", row.energy[2], true, "", "sum of the first 16 sigma_i^2 / sum sigma_i^2", ""),
    REAL("energy_64", row.energy[3], true, "", "sum of the first 64 sigma_i^2 / sum sigma_i^2", ""),
    REAL("frobenius", row.frobenius, true, "", "sqrt(sum a_ij^2)", ""),
    REAL("noise_floor", row.noise_floor, true, "",
         "change of a sigma_i by rounding to the storage, estimated", ""),
    REAL("row_sum_error", row.row_sum_error, true, "",
         "max_i |sum_j a_ij - 1|, rows that are all zeros left out", ""),
    REAL("column_sum_max", row.column_sum_max, true, "", "max_j sum_i a_ij", ""),
    INTEGER("zero_rows", row.zero_rows, true, "rows", "#{i: a_ij = 0 for all j}", ""),
};

_Static_assert(MGK_ENERGIES == 4, "a column each");

const mgk_schema mgk_rank_schema = {.format = "mgk-ranks",
                                    .version = 1,
                                    .title = "rank table",
                                    .rows = "matrices",
                                    .columns = rank_columns,
                                    .column_count = sizeof(rank_columns) / sizeof(*rank_columns)};

/* The threshold of files without that column. */
static const double usual_threshold = 1e-6;

mgk_rank_record mgk_rank_table_record(const mgk_rank_table *table, size_t r)
{
    const size_t thresholds = table->threshold_count;
    return (mgk_rank_record){.row = table->rows[r / thresholds],
                             .count = table->counts[r],
                             .threshold = table->thresholds[r % thresholds],
                             .relative = table->settings.relative};
}

mgk_status mgk_rank_table_columns(const mgk_rank_table *table, mgk_table *out)
{
    mgk_status status;
    size_t rows;
    *out = (mgk_table){0};
    TRY(mgk_multiply(table->row_count, table->threshold_count, &rows));
    TRY(mgk_table_make(&mgk_rank_schema, rows, out));
    CHECK(mgk_rank_table_settings(table, &out->settings));
    for (size_t r = 0; r < rows; r++) {
        const mgk_rank_record record = mgk_rank_table_record(table, r);
        CHECK(mgk_table_put(out, r, &record));
    }
    return STATUS_OK;
out:
    mgk_table_free(out);
    return status;
}

/* The values of a row where the file has no column for them. */
static mgk_rank_record blank_record(bool relative)
{
    mgk_rank_record record = {
        .row = {.frobenius = NAN, .noise_floor = NAN, .row_sum_error = NAN, .column_sum_max = NAN},
        .count = {.rank_low = SIZE_MAX, .rank_high = SIZE_MAX, .nearest = NAN},
        .threshold = usual_threshold,
        .relative = relative};
    mgk_rank_forget_spectrum(&record.row);
    return record;
}

mgk_status mgk_rank_record_check(const mgk_rank_record *record)
{
    const mgk_rank_count *count = &record->count;
    if (count->rank_low <= count->rank && count->rank <= count->rank_high &&
        count->rank_high <= record->row.n)
        return STATUS_OK;
    return mgk_fail(STATUS_FORMAT, "rank is %zu, expected at most n = %zu and within its range",
                    count->rank, record->row.n);
}

/* Reads row r of the columns. */
static mgk_status take_record(const mgk_table *columns, size_t r, bool relative,
                              mgk_rank_record *out)
{
    mgk_rank_count *count = &out->count;
    *out = blank_record(relative);
    mgk_table_get(columns, r, out);
    if (count->rank_low == SIZE_MAX)
        count->rank_low = count->undecided ? 0 : count->rank;
    if (count->rank_high == SIZE_MAX)
        count->rank_high = count->undecided ? out->row.n : count->rank;
    mgk_status status = mgk_rank_record_check(out);
    char where[40];
    snprintf(where, sizeof(where), "row %zu", r + 1);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, where);
}

/* Rows per matrix: until the first threshold repeats. */
static size_t count_thresholds(size_t count, const mgk_rank_record *records)
{
    size_t thresholds = 1;
    if (count == 0 || isnan(records[0].threshold))
        return 1;
    while (thresholds < count && records[thresholds].threshold != records[0].threshold)
        thresholds++;
    return thresholds;
}

static bool same_matrix(const mgk_rank_row *a, const mgk_rank_row *b)
{
    return a->input == b->input && a->sample == b->sample && a->layer == b->layer &&
           a->head == b->head && a->n == b->n;
}

static bool same_threshold(const mgk_rank_record *a, const mgk_rank_record *b)
{
    return (a->threshold == b->threshold || (isnan(a->threshold) && isnan(b->threshold))) &&
           a->relative == b->relative;
}

/* Appends record i, the t-th of its matrix. */
static mgk_status append_record(const mgk_rank_record *records, size_t i, size_t t,
                                mgk_rank_table *out)
{
    const mgk_rank_record *record = &records[i];
    const size_t inputs = mgk_rank_table_inputs(out), input = record->row.input;
    if (!same_threshold(record, &records[t]) || !same_matrix(&record->row, &records[i - t].row))
        return mgk_fail(STATUS_FORMAT, "row %zu: not the expected matrix and threshold", i + 1);
    if (input != inputs && input + 1 != inputs)
        return mgk_fail(STATUS_FORMAT, "row %zu: input %zu, expected them in order from 0", i + 1,
                        input);
    if (t == 0) {
        TRY(mgk_rank_table_append(out));
        out->rows[out->row_count - 1] = record->row;
    }
    out->counts[i] = record->count;
    return STATUS_OK;
}

/* Each matrix must have T records, with the same thresholds in the same order. */
static mgk_status group_records(size_t count, const mgk_rank_record *records, mgk_rank_table *out)
{
    double first[MGK_THRESHOLDS_MAX] = {usual_threshold};
    const size_t thresholds = count_thresholds(count, records);
    for (size_t t = 0; t < thresholds && t < MGK_THRESHOLDS_MAX && t < count; t++)
        first[t] = records[t].threshold;
    TRY(mgk_rank_table_make(thresholds, first, 0, out));
    if (count % thresholds != 0)
        return mgk_fail(STATUS_FORMAT, "%zu rows do not divide into %zu thresholds", count,
                        thresholds);
    for (size_t i = 0; i < count; i++)
        TRY(append_record(records, i, i % thresholds, out));
    out->settings.relative = count > 0 && records[0].relative;
    return STATUS_OK;
}

mgk_status mgk_rank_table_take_columns(const mgk_table *columns, mgk_rank_table *out)
{
    mgk_status status;
    mgk_rank_settings settings = {0};
    mgk_rank_record *records = NULL;
    *out = (mgk_rank_table){0};
    if (columns->settings)
        CHECK(mgk_rank_settings_parse(columns->settings, &settings));
    CHECK(mgk_alloc(columns->row_count, sizeof(*records), &records));
    for (size_t r = 0; r < columns->row_count; r++)
        CHECK(take_record(columns, r, settings.relative, &records[r]));
    CHECK(group_records(columns->row_count, records, out));
    settings.relative = out->settings.relative;
    out->settings = settings;
    settings = (mgk_rank_settings){0};
out:
    mgk_rank_settings_free(&settings);
    mgk_free(records);
    return status;
}
