/* SPDX-License-Identifier: MIT */
/* Matrices of other software whose first or last columns are all zeros, as those of padding are. */
#ifndef MGK_RUN_ZERO_KEYS_H
#define MGK_RUN_ZERO_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "cluster/cluster.h"

typedef struct mgk_zero_keys {
    size_t matrices; /* their number */
    size_t most;     /* the largest number of such columns in a matrix */
    bool cross;      /* the keys are of another sequence than the queries */
} mgk_zero_keys;

/* Looks at the first queries and keys of a matrix whose rows are n apart. By several threads at
 * once. */
void mgk_zero_keys_look(mgk_zero_keys *zero_keys, const double *matrix, size_t queries, size_t keys,
                        size_t n);

/* Collective: what all processes have counted; NULL: this one alone has. STATUS_MEMORY. */
mgk_status mgk_zero_keys_sum(const mgk_cluster *cluster, const mgk_zero_keys *own,
                             mgk_zero_keys *out);

/* Writes what zeros at the ends of rows may mean, in matrices of at most n keys; "" without such
 * matrices. */
void mgk_zero_keys_explain(const char *name, const mgk_zero_keys *zero_keys, size_t n, char *note,
                           size_t size);

#endif
