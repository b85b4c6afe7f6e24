/* SPDX-License-Identifier: MIT */
/* Reads differences and curves from a file as store/schema/measures.h describes it. */
#ifndef MGK_STORE_STATISTICS_READER_H
#define MGK_STORE_STATISTICS_READER_H

#include "base/arena.h"
#include "base/status.h"
#include "store/schema/measures.h"

/* The groups of a form in a file. Zeroed is empty. */
typedef struct mgk_statistics_list {
    mgk_measure_statistics *groups; /* [count] */
    size_t count;
    mgk_arena arena; /* of all that they contain */
} mgk_statistics_list;

/*
 * Reads all groups of a form, in a file that is not trusted; it may have none. Release with
 * mgk_statistics_list_free, also after a failure. STATUS_FORMAT: damaged; STATUS_SHAPE: arrays of a
 * group that contradict each other.
 */
mgk_status mgk_measures_read_statistics(const char *path, const mgk_statistics_form *form,
                                        mgk_statistics_list *out);
void mgk_statistics_list_free(mgk_statistics_list *list);

#endif
