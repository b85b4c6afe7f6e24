/* SPDX-License-Identifier: MIT */
#include "analysis/measures/removal.h"

#include <math.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/random.h"

/* Whether x is less important than y; NaN is the most important. */
static bool is_less(double x, double y)
{
    return x < y || (!isnan(x) && isnan(y));
}

void mgk_removal_by_importance(size_t count, const double *importance, size_t *order)
{
    for (size_t i = 0; i < count; i++) {
        size_t place = i;
        for (; place > 0 && is_less(importance[i], importance[order[place - 1]]); place--)
            order[place] = order[place - 1];
        order[place] = i;
    }
}

/* ---- redundancy ------------------------------------------------------------------------------ */

/* What is left of a model. */
typedef struct rest {
    size_t layers, heads;
    const double *distances, *importance;
    bool *removed; /* [L, H] */
} rest;

/* The distance of head i from the nearest head of its layer that is left, but `but`; infinite:
 * there is none. */
static double nearest(const rest *r, size_t i, size_t but, size_t *which)
{
    const size_t first = i / r->heads * r->heads;
    double least = INFINITY;
    for (size_t j = first; j < first + r->heads; j++) {
        const double distance = r->distances[i * r->heads + (j - first)];
        if (j == i || j == but || r->removed[j] || !(distance < least))
            continue;
        least = distance;
        *which = j;
    }
    return least;
}

/* Which of two heads that are closest to each other is removed. */
static size_t choose(const rest *r, size_t i, size_t j)
{
    size_t next;
    const double of_i = nearest(r, i, j, &next), of_j = nearest(r, j, i, &next);
    if (of_i != of_j)
        return of_i < of_j ? i : j;
    return is_less(r->importance[j], r->importance[i]) ? j : i;
}

/* One head of the two that are closest; the number of heads: no head has a neighbour. */
static size_t find_redundant(const rest *r)
{
    const size_t count = r->layers * r->heads;
    size_t first = count, second = count;
    double least = INFINITY;
    for (size_t i = 0; i < count; i++) {
        size_t neighbour = count;
        const double distance = r->removed[i] ? INFINITY : nearest(r, i, i, &neighbour);
        if (distance < least) {
            least = distance;
            first = i;
            second = neighbour;
        }
    }
    return first == count ? count : choose(r, first, second);
}

mgk_status mgk_removal_by_redundancy(size_t layers, size_t heads, const double *distances,
                                     const double *importance, size_t *order)
{
    const size_t count = layers * heads;
    rest r = {layers, heads, distances, importance, NULL};
    size_t done = 0, head;
    TRY(mgk_alloc(count + 1, sizeof(*r.removed), &r.removed));
    while ((head = find_redundant(&r)) < count) {
        r.removed[head] = true;
        order[done++] = head;
    }
    for (; done < count; done++) {
        head = count;
        for (size_t i = 0; i < count; i++)
            if (!r.removed[i] && (head == count || is_less(importance[i], importance[head])))
                head = i;
        r.removed[head] = true;
        order[done] = head;
    }
    mgk_free(r.removed);
    return STATUS_OK;
}

/* ---- random orders --------------------------------------------------------------------------- */

/* The first of the random streams of orders, apart from those of data and weights. */
static const uint64_t order_streams = (uint64_t)0x0DE5 << 48;

/* Durstenfeld's shuffle. */
void mgk_removal_at_random(uint64_t seed, uint64_t draw, size_t count, size_t *order)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        const size_t other = (size_t)mgk_random_below(seed, order_streams + draw, i, i);
        const size_t head = order[i - 1];
        order[i - 1] = order[other];
        order[other] = head;
    }
}
