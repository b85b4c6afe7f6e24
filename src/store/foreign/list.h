/* Lists the arrays and attributes of a file of HDF5 or NumPy. */
#ifndef MGK_STORE_LIST_H
#define MGK_STORE_LIST_H

#include <stdint.h>

#include "base/status.h"

/* A dataset, or an attribute of one value. Strings last as long as the call. */
typedef struct mgk_store_entry {
    const char *object; /* path of the dataset or group, "/" for the root; NumPy: the array's name,
                           "" of a single one */
    const char *attribute; /* its attribute that this entry shows; NULL for a dataset itself */
    const char *type;      /* "float32", "int32", "string", ... */
    const char *axes;      /* labels of a dataset's axes: "sample, layer"; "" where it has none */
    const char *value;     /* of an attribute, as text; "" for a dataset or another type */
    int rank;              /* axes of a dataset; 0 for an attribute */
    const uint64_t *shape; /* [rank] */
} mgk_store_entry;

/* Receives an entry; anything but STATUS_OK ends the listing. It must not call the store. */
typedef mgk_status (*mgk_store_visit)(void *context, const mgk_store_entry *entry);

/*
 * Visits the root's attributes, then every dataset followed by its attributes. The
 * attributes by which HDF5 itself marks axes are left out. Of NumPy's files: every array.
 */
mgk_status mgk_store_list(const char *path, mgk_store_visit visit, void *context);

/*
 * Visits the arrays alone, without attributes and labels: what is not needed is not read, for
 * of a damaged file HDF5 survives the less the more it reads.
 */
mgk_status mgk_store_list_arrays(const char *path, mgk_store_visit visit, void *context);

#endif
