/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measures/histogram.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "rank/rank.h"

enum { TEXT_BINS = 12, TEXT_COLUMNS = 79 };

/* Number of samples with rows of the layer; scratch [row_count]. */
static int64_t count_samples(const mgk_rank_table *part, size_t layer, size_t *scratch)
{
    size_t count = 0;
    int64_t different = 0;
    for (size_t r = 0; r < part->row_count; r++)
        if (part->rows[r].layer == layer)
            scratch[count++] = part->rows[r].sample;
    mgk_sort_values(count, scratch);
    for (size_t i = 0; i < count; i++)
        different += i == 0 || scratch[i] != scratch[i - 1];
    return different;
}

/* The mean of a measure over the matrices that have it; empty matrices have none. */
typedef struct mean {
    double sum;
    size_t count;
    bool partial; /* for some matrices the measure exists but was not computed */
} mean;

/* If the ranks of some matrices were counted, only hard matrices have computed measures: a biased
 * choice. */
static void add(const mgk_rank_row *row, double value, mean *m)
{
    if (isnan(value)) {
        m->partial |= mgk_rank_method_counts(row->method);
        return;
    }
    m->sum += value;
    m->count++;
}

static double value_of(const mean *m)
{
    return m->partial ? (double)NAN : m->sum / (double)m->count;
}

static mgk_rank_layer summarize_layer(const mgk_rank_table *part, size_t layer, size_t *ranks)
{
    int64_t samples = count_samples(part, layer, ranks);
    size_t count = mgk_rank_table_ranks(part, layer, 0, ranks);
    mgk_summary summary = mgk_summarize(count, ranks);
    mgk_rank_layer out = {.layer = (int)layer,
                          .matrices = (int64_t)count,
                          .samples = samples,
                          .smallest = INT_MAX,
                          .mean = summary.mean,
                          .median = summary.quartile[1],
                          .lower_quartile = summary.quartile[0],
                          .upper_quartile = summary.quartile[2]};
    mean effective = {0}, stable = {0};
    for (size_t r = 0; r < part->row_count; r++) {
        const mgk_rank_row *row = &part->rows[r];
        if (row->layer != layer)
            continue;
        out.smallest = (int)row->n < out.smallest ? (int)row->n : out.smallest;
        out.largest = (int)row->n > out.largest ? (int)row->n : out.largest;
        out.undecided += part->counts[r * part->threshold_count].undecided;
        add(row, row->effective_rank, &effective);
        add(row, row->stable_rank, &stable);
    }
    out.effective = value_of(&effective);
    out.stable = value_of(&stable);
    return out;
}

static mgk_status print_layer(FILE *file, const mgk_rank_table *part, const mgk_rank_layer *layer,
                              bool several, size_t *ranks)
{
    char title[48];
    snprintf(title, sizeof(title), several ? "layer %d, input %d" : "layer %d", layer->layer,
             layer->input);
    size_t count = mgk_rank_table_ranks(part, (size_t)layer->layer, 0, ranks);
    return mgk_print_histogram(file, title, count, ranks, TEXT_BINS, TEXT_COLUMNS);
}

/* Appends the layers of one input to the summary and to the text. */
static mgk_status summarize_input(const mgk_rank_table *table, size_t input, FILE *text,
                                  mgk_rank_summary *out)
{
    mgk_status status;
    mgk_rank_table part = mgk_rank_table_input(table, input);
    bool several = mgk_rank_table_inputs(table) > 1;
    size_t count, *layers = NULL, *ranks = NULL;
    CHECK(mgk_rank_table_layers(&part, &count, &layers));
    CHECK(mgk_alloc(part.row_count, sizeof(*ranks), &ranks));
    for (size_t i = 0; i < count; i++) {
        mgk_rank_layer *layer = &out->layers[out->count++];
        *layer = summarize_layer(&part, layers[i], ranks);
        layer->input = (int)input;
        CHECK(print_layer(text, &part, layer, several, ranks));
    }
out:
    mgk_free(layers);
    mgk_free(ranks);
    return status;
}

/* Whether all entries of matrix r fit f16 or bf16 and its rank is undecided at some threshold. The
 * entries of a one-hot matrix fit too, but leave nothing undecided. */
static bool is_coarse(const mgk_rank_table *table, size_t r)
{
    bool undecided = false;
    for (size_t t = 0; t < table->threshold_count; t++)
        undecided |= table->counts[r * table->threshold_count + t].undecided;
    return undecided && table->rows[r].format > MGK_FLOAT_F32;
}

/* Summarises the rounding of the stored entries or factors. Factors come from a model, which then
 * has nothing else. */
static void summarize_storage(const mgk_rank_table *table, mgk_rank_summary *out)
{
    mgk_float_format coarsest = MGK_FLOAT_F64, coarse = MGK_FLOAT_F32;
    out->noise_floor = 0;
    out->by_factors = false;
    for (size_t r = 0; r < table->row_count; r++) {
        const mgk_rank_row *row = &table->rows[r];
        out->noise_floor = fmax(out->noise_floor, row->noise_floor);
        coarsest = row->format > coarsest ? row->format : coarsest;
        out->by_factors |= row->method == MGK_METHOD_FACTORS;
        if (!is_coarse(table, r))
            continue;
        out->coarse++;
        coarse = row->format > coarse ? row->format : coarse;
    }
    out->storage = mgk_float_format_names[coarsest];
    out->coarse_format = out->coarse > 0 ? mgk_float_format_names[coarse] : NULL;
}

/* Counts matrices whose rows do not sum to 1. */
static void summarize_rows(const mgk_rank_table *table, mgk_rank_summary *out)
{
    static const double most = 0.01; /* larger than the error of rounding to bf16 */
    for (size_t r = 0; r < table->row_count; r++) {
        const double error = table->rows[r].row_sum_error;
        out->zero_rows += (int64_t)table->rows[r].zero_rows;
        out->matrices_with_zero_rows += table->rows[r].zero_rows > 0;
        if (!(error > most))
            continue;
        out->unnormalised++;
        out->row_sum_error = fmax(out->row_sum_error, error);
    }
}

/* Counts the certificates at the first threshold. */
static void summarize_certificates(const mgk_rank_table *table, mgk_rank_summary *out)
{
    out->matrices = (int64_t)table->row_count;
    for (size_t r = 0; r < table->row_count; r++) {
        mgk_certificate certificate = table->counts[r * table->threshold_count].certificate;
        bool counted = mgk_rank_method_counts(table->rows[r].method);
        if (certificate == MGK_CERTIFICATE_NONE)
            continue;
        if (!counted)
            out->certified_by_values++;
        else if (certificate == MGK_CERTIFICATE_BOUND)
            out->certified_by_bound++;
        else
            out->certified_by_measurement++;
    }
}

static double largest_coarse_floor(const mgk_rank_table *table)
{
    double floor = 0;
    for (size_t r = 0; r < table->row_count; r++)
        if (is_coarse(table, r))
            floor = fmax(floor, table->rows[r].noise_floor);
    return floor;
}

/* Writes what a reader of the numbers must know, a line each. */
static void write_warnings(FILE *text, const mgk_rank_summary *s, double coarse_floor,
                           bool unnormalized)
{
    bool mixed = false;
    for (size_t i = 0; i < s->count; i++)
        mixed |= s->layers[i].smallest < s->layers[i].largest;
    if (mixed)
        fputs("matrices differ in size: a rank is at most N, so means over them mix short and long "
              "samples\n",
              text);
    if (s->coarse > 0)
        fprintf(
            text,
            "all entries of %lld %s are %s numbers, and this rounding leaves %s undecided: "
            "singular values below %.1e are noise, which can make up most of a rank (at N = 1024 "
            "f16 turns a rank of 64 into 924)\n",
            (long long)s->coarse, MGK_NOUN(s->coarse, "matrix", "matrices"), s->coarse_format,
            MGK_NOUN(s->coarse, "its rank", "their ranks"), coarse_floor);
    if (s->zero_rows > 0)
        fprintf(text, "rows of zeros: %lld in %lld %s, counted as they are\n",
                (long long)s->zero_rows, (long long)s->matrices_with_zero_rows,
                MGK_NOUN(s->matrices_with_zero_rows, "matrix", "matrices"));
    if (s->unnormalised > 0)
        fprintf(text,
                unnormalized
                    ? "rows of %lld %s do not sum to 1 but are off by up to %.2g: this attention "
                      "does not normalise them\n"
                    : "rows of %lld %s do not sum to 1 but are off by up to %.2g: are they "
                      "attention, or logits?\n",
                (long long)s->unnormalised, MGK_NOUN(s->unnormalised, "matrix", "matrices"),
                s->row_sum_error);
}

/* Takes the text of the stream, the histograms and after a zero byte the warnings. */
static mgk_status take_texts(const char *text, size_t size, mgk_rank_summary *out)
{
    TRY(mgk_alloc(size + 1, 1, &out->histogram));
    memcpy(out->histogram, text, size);
    out->warnings = out->histogram + strlen(out->histogram) + 1;
    return STATUS_OK;
}

/* Number of layers, summed over inputs. */
static mgk_status count_layers(const mgk_rank_table *table, size_t *out)
{
    *out = 0;
    for (size_t input = 0; input < mgk_rank_table_inputs(table); input++) {
        mgk_rank_table part = mgk_rank_table_input(table, input);
        size_t count, *layers;
        TRY(mgk_rank_table_layers(&part, &count, &layers));
        mgk_free(layers);
        *out += count;
    }
    return STATUS_OK;
}

mgk_status mgk_rank_summarize(const mgk_rank_table *table, bool unnormalized, mgk_rank_summary *out)
{
    mgk_status status;
    size_t layers, size;
    char *text = NULL;
    FILE *stream = NULL;
    *out = (mgk_rank_summary){0};
    CHECK(count_layers(table, &layers));
    CHECK(mgk_alloc(layers, sizeof(*out->layers), &out->layers));
    stream = open_memstream(&text, &size);
    if (!stream) {
        status = mgk_fail(STATUS_MEMORY, "no memory for a histogram");
        goto out;
    }
    for (size_t input = 0; input < mgk_rank_table_inputs(table); input++)
        CHECK(summarize_input(table, input, stream, out));
    summarize_storage(table, out);
    summarize_rows(table, out);
    summarize_certificates(table, out);
    fputc('\0', stream);
    write_warnings(stream, out, largest_coarse_floor(table), unnormalized);
    bool complete = mgk_close_text(stream);
    stream = NULL;
    status = complete ? take_texts(text, size, out)
                      : mgk_fail(STATUS_MEMORY, "no memory for a histogram");
out:
    if (stream)
        fclose(stream);
    free(text);
    if (status != STATUS_OK) {
        mgk_free(out->layers);
        *out = (mgk_rank_summary){0};
    }
    return status;
}
