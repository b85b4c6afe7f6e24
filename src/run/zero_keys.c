/* SPDX-License-Identifier: MIT */
#include "run/zero_keys.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/number.h"

static bool is_zero_column(const double *matrix, size_t queries, size_t n, size_t column)
{
    /* From the last row on: with a causal mask it sees every key. */
    for (size_t i = queries; i-- > 0;)
        if (matrix[i * n + column] != 0)
            return false;
    return true;
}

/* Counts the keys at both ends that no query sees. */
static size_t count_zero_keys(const double *matrix, size_t queries, size_t keys, size_t n)
{
    size_t first = 0, last = 0;
    while (first < keys && is_zero_column(matrix, queries, n, first))
        first++;
    while (first + last < keys && is_zero_column(matrix, queries, n, keys - 1 - last))
        last++;
    return first < keys ? first + last : 0;
}

void mgk_zero_keys_look(mgk_zero_keys *zero_keys, const double *matrix, size_t queries, size_t keys,
                        size_t n)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const size_t zeros = count_zero_keys(matrix, queries, keys, n);
    if (zeros == 0)
        return;
    pthread_mutex_lock(&lock);
    zero_keys->matrices++;
    zero_keys->most = zeros > zero_keys->most ? zeros : zero_keys->most;
    pthread_mutex_unlock(&lock);
}

mgk_status mgk_zero_keys_sum(const mgk_cluster *cluster, const mgk_zero_keys *own,
                             mgk_zero_keys *out)
{
    const int size = mgk_cluster_size_of(cluster);
    mgk_zero_keys *all;
    TRY(mgk_cluster_agree(cluster, mgk_alloc((size_t)size, sizeof(*all), &all)));
    mgk_status status = mgk_cluster_gather(cluster, own, sizeof(*own), all);
    *out = (mgk_zero_keys){.cross = own->cross};
    for (int rank = 0; rank < size && status == STATUS_OK; rank++) {
        out->matrices += all[rank].matrices;
        out->most = all[rank].most > out->most ? all[rank].most : out->most;
    }
    mgk_free(all);
    return status;
}

void mgk_zero_keys_explain(const char *name, const mgk_zero_keys *zero_keys, size_t n, char *note,
                           size_t size)
{
    *note = '\0';
    if (zero_keys->matrices > 0)
        snprintf(
            note, size,
            "%s: the first or last columns of %zu %s are all 0 (%zu of %zu columns at most), as "
            "those of padding are: %s count the padding, too; give the attention_mask of %s by "
            "`mask`",
            name, zero_keys->matrices, MGK_NOUN(zero_keys->matrices, "matrix", "matrices"),
            zero_keys->most, n, zero_keys->cross ? "means over keys" : "N, ranks and means",
            zero_keys->cross ? "the keys" : "the model");
}
