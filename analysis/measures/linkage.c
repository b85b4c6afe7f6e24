/* SPDX-License-Identifier: MIT */
#include "analysis/measures/linkage.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

/* Clusters that are not joined yet. A joined one lives on at the place of its second part. */
typedef struct clusters {
    size_t n;
    double *distances; /* [n, n], between the clusters at two places */
    size_t *numbers;   /* [n], of the cluster at a place */
    size_t *sizes;     /* [n], its heads; 0: the place is empty */
    size_t *lowest;    /* [n], its head with the lowest number */
} clusters;

/* The place nearest to a cluster; of equal ones `preferred`, else the first. There is one, because
 * distances are finite. */
static size_t nearest(const clusters *c, size_t place, size_t preferred)
{
    size_t best = preferred;
    double least = preferred < c->n ? c->distances[place * c->n + preferred] : INFINITY;
    for (size_t i = 0; i < c->n; i++)
        if (i != place && c->sizes[i] > 0 && c->distances[place * c->n + i] < least) {
            best = i;
            least = c->distances[place * c->n + i];
        }
    return best;
}

/* Joins the clusters at two places, as cluster `number`. */
static mgk_merge join(clusters *c, size_t a, size_t b, size_t number)
{
    const bool swapped = c->lowest[b] < c->lowest[a];
    const mgk_merge merge = {c->numbers[swapped ? b : a], c->numbers[swapped ? a : b],
                             c->distances[a * c->n + b]};
    const double of_a = (double)c->sizes[a], of_b = (double)c->sizes[b];
    for (size_t i = 0; i < c->n; i++) {
        const double mean =
            (of_a * c->distances[a * c->n + i] + of_b * c->distances[b * c->n + i]) / (of_a + of_b);
        c->distances[b * c->n + i] = c->distances[i * c->n + b] = mean;
    }
    c->lowest[b] = c->lowest[swapped ? b : a];
    c->sizes[b] += c->sizes[a];
    c->sizes[a] = 0;
    c->numbers[b] = number;
    return merge;
}

/* The first place that has a cluster. */
static size_t first_of(const clusters *c)
{
    size_t i = 0;
    while (c->sizes[i] == 0)
        i++;
    return i;
}

/*
 * Follows nearest neighbours until two clusters are each other's: these would be joined in any
 * order, since average linkage brings no cluster nearer to a joined one than to both its parts
 * (Murtagh 1983). chain: [n].
 */
static void join_all(clusters *c, size_t *chain, mgk_merge *merges)
{
    size_t length = 0;
    for (size_t k = 0; k + 1 < c->n; k++) {
        if (length == 0)
            chain[length++] = first_of(c);
        for (;;) {
            const size_t last = chain[length - 1],
                         next = nearest(c, last, length > 1 ? chain[length - 2] : c->n);
            if (length > 1 && next == chain[length - 2])
                break;
            chain[length++] = next;
        }
        merges[k] = join(c, chain[length - 1], chain[length - 2], c->n + k);
        length -= 2;
    }
}

/* Lists the heads below the root from left to right. stack: [n]. */
static void list_heads(size_t n, const mgk_merge *merges, size_t *stack, size_t *order)
{
    size_t depth = 0, listed = 0;
    stack[depth++] = 2 * n - 2;
    while (depth > 0) {
        const size_t node = stack[--depth];
        if (node < n) {
            order[listed++] = node;
            continue;
        }
        stack[depth++] = merges[node - n].second;
        stack[depth++] = merges[node - n].first;
    }
}

mgk_status mgk_average_linkage(size_t n, const double *distances, mgk_merge *merges, size_t *order)
{
    mgk_status status;
    clusters c = {.n = n};
    size_t *scratch = NULL, area;
    CHECK(mgk_multiply(n, n, &area));
    CHECK(mgk_alloc(area, sizeof(double), &c.distances));
    CHECK(mgk_alloc(n, sizeof(size_t), &c.numbers));
    CHECK(mgk_alloc(n, sizeof(size_t), &c.sizes));
    CHECK(mgk_alloc(n, sizeof(size_t), &c.lowest));
    CHECK(mgk_alloc(n + 1, sizeof(size_t), &scratch));
    memcpy(c.distances, distances, area * sizeof(double));
    for (size_t i = 0; i < n; i++) {
        c.numbers[i] = c.lowest[i] = i;
        c.sizes[i] = 1;
    }
    join_all(&c, scratch, merges);
    list_heads(n, merges, scratch, order);
out:
    mgk_free(c.distances);
    mgk_free(c.numbers);
    mgk_free(c.sizes);
    mgk_free(c.lowest);
    mgk_free(scratch);
    return status;
}
