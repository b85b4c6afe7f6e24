/* Reads the differences between inputs from a file as store/schema/measures.h describes it. */
#ifndef MGK_STORE_DIFFERENCES_READER_H
#define MGK_STORE_DIFFERENCES_READER_H

#include "base/arena.h"
#include "base/status.h"
#include "store/schema/measures.h"

/* The comparisons of a file. Zeroed is empty. */
typedef struct mgk_measure_comparisons {
    mgk_measure_differences *comparisons; /* [count] */
    size_t count;
    mgk_arena arena; /* of all that they contain */
} mgk_measure_comparisons;

/*
 * Reads all comparisons of a file, which is not trusted; a file without differences has none.
 * Release with mgk_measure_comparisons_free, also after a failure. STATUS_FORMAT: damaged;
 * STATUS_SHAPE: arrays of a comparison that contradict each other.
 */
mgk_status mgk_measures_read_differences(const char *path, mgk_measure_comparisons *out);
void mgk_measure_comparisons_free(mgk_measure_comparisons *comparisons);

#endif
