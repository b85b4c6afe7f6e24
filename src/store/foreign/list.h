/* SPDX-License-Identifier: MIT */
/* Lists the arrays and attributes of a file of HDF5 or NumPy. */
#ifndef MGK_STORE_LIST_H
#define MGK_STORE_LIST_H

#include <stdint.h>

#include "base/status.h"

/* A dataset, or an attribute with one value. Strings are valid during the call. */
typedef struct mgk_store_entry {
    const char *object; /* path of the dataset or group, "/" for the root; NumPy: the array's name,
                           "" in a .npy file */
    const char
        *name; /* of a dataset, as users write it: an HDF5 path without the slash before it */
    /* the attribute that this entry describes; NULL: the entry is a dataset */
    const char *attribute;
    const char *type;      /* "float32", "int32", "string", ... */
    const char *axes;      /* labels of a dataset's axes: "sample, layer"; "": no labels */
    const char *value;     /* an attribute's value as text; "" for a dataset or another type */
    int rank;              /* axes of a dataset; 0 for an attribute */
    const uint64_t *shape; /* [rank] */
} mgk_store_entry;

/* Receives an entry; a status other than STATUS_OK ends the listing. It must not call the store. */
typedef mgk_status (*mgk_store_visit)(void *context, const mgk_store_entry *entry);

/* Visits the root's attributes, then every dataset followed by its attributes, without the
 * attributes by which HDF5 marks axes. For NumPy files: every array. */
mgk_status mgk_store_list(const char *path, mgk_store_visit visit, void *context);

/* Visits the arrays only, without attributes and labels: the less HDF5 reads of a damaged file, the
 * more likely it survives. */
mgk_status mgk_store_list_arrays(const char *path, mgk_store_visit visit, void *context);

#endif
