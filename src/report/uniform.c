/* SPDX-License-Identifier: MIT */
/* A query of uniform attention gives 1/V to each of the V keys that it sees. */
#include "report/uniform.h"

#include <string.h>

#include "analysis/run/samples_hash.h"
#include "base/memory.h"
#include "report/text.h"

enum { PREVIOUS, NEXT, FIRST, DIAGONAL, INDUCTION, DUPLICATE, SCORES };

static const char *const names[SCORES] = {"previous_token", "next",      "first",
                                          "diagonal",       "induction", "duplicate_token"};

/* Sums over samples. A sample does not have each score. */
typedef struct score_sums {
    double sum[SCORES];
    int32_t samples[SCORES];
} score_sums;

static void add_score(score_sums *sums, int which, double score)
{
    sums->sum[which] += score;
    sums->samples[which]++;
}

/* The earlier tokens that are that of query i. */
static int32_t count_copies(const int32_t *tokens, int32_t i)
{
    int32_t copies = 0;
    for (int32_t j = 0; j < i; j++)
        copies += tokens[j] == tokens[i];
    return tokens[i] < 0 ? 0 : copies;
}

/* Adds a sample of tokens [n]; NULL: not known. */
static void add_sample(score_sums *sums, const int32_t *tokens, int32_t n, bool causal)
{
    double all = 0, first = 0, copied = 0;
    for (int32_t i = 0; i < n; i++) {
        const double weight = 1.0 / (causal ? i + 1 : n);
        first = i == 0 ? weight : first;
        all += weight;
        copied += tokens ? weight * count_copies(tokens, i) : 0;
    }
    if (n > 0) {
        add_score(sums, FIRST, all / n);
        add_score(sums, DIAGONAL, all / n);
    }
    if (n > 1)
        add_score(sums, PREVIOUS, (all - first) / n);
    if (n > 1 && !causal)
        add_score(sums, NEXT, 1.0 / n);
    if (copied > 0) { /* what followed an earlier copy is as many keys as the copies */
        add_score(sums, INDUCTION, copied / n);
        add_score(sums, DUPLICATE, copied / n);
    }
}

/* The most samples behind a value. */
static int32_t most_samples(const mgk_diversity_means *means)
{
    int32_t most = 0;
    for (size_t i = 0; i < means->size; i++)
        most = means->samples[i] > most ? means->samples[i] : most;
    return most;
}

/* Adds the samples of a store until they are those of the model; *found: so many, 0: they are not.
 */
static mgk_status add_samples(score_sums *sums, const mgk_diversity_values *values,
                              const mgk_report_store *store, int32_t *room, int32_t *found)
{
    const mgk_store_description *d = store->description;
    uint64_t hash = MGK_HASH_START;
    char text[MGK_SAMPLES_HASH_TEXT];
    const bool as_many = !*values->samples_hash && most_samples(&values->means) == d->samples;
    *found = as_many ? d->samples : 0;
    for (int32_t s = 0; s < d->samples; s++) {
        int32_t n;
        if (room)
            TRY(mgk_store_read_tokens(store->reader, s, room, &n));
        else
            TRY(mgk_store_read_length(store->reader, s, &n));
        add_sample(sums, room, n, store->causal);
        if (room)
            hash = mgk_samples_hash(hash, n, mgk_tokens_hash(room, (size_t)n));
        mgk_samples_hash_print(hash, text);
        if (strcmp(text, values->samples_hash) == 0) {
            *found = s + 1;
            break;
        }
    }
    return STATUS_OK;
}

static void write_scores(FILE *page, const score_sums *sums, int32_t samples)
{
    const char *comma = "";
    fprintf(page, "{\"samples\":%ld,\"scores\":[", (long)samples);
    for (int i = 0; i < SCORES; i++)
        if (sums->samples[i] > 0) {
            fprintf(page, "%s[\"%s\",", comma, names[i]);
            mgk_report_real(page, sums->sum[i] / sums->samples[i]);
            fputc(']', page);
            comma = ",";
        }
    fputs("]}", page);
}

mgk_status mgk_report_uniform(FILE *page, const mgk_diversity_values *values,
                              const mgk_report_store *store)
{
    score_sums sums = {.sum = {0}};
    int32_t *tokens = NULL, found = 0;
    mgk_status status = STATUS_OK;
    if (store && mgk_store_has_tokens(store->reader))
        CHECK(mgk_alloc((size_t)store->description->tokens, sizeof(*tokens), &tokens));
    if (store)
        CHECK(add_samples(&sums, values, store, tokens, &found));
    if (found > 0)
        write_scores(page, &sums, found);
    else
        fputs("null", page);
out:
    mgk_free(tokens);
    return status;
}
