/* SPDX-License-Identifier: MIT */
/* The interface of containers: each opens a file and adds its tensors and values. */
#ifndef MGK_MODEL_TENSORS_PRIVATE_H
#define MGK_MODEL_TENSORS_PRIVATE_H

#include "base/arena.h"
#include "model/containers/tensors.h"

/* An open file, and the functions that read and close it. */
typedef struct mgk_tensors_part {
    const char *path;
    void *file;
    /* Reads bytes first ... first + count - 1 of the container's `storage`. */
    mgk_status (*read)(void *file, const void *storage, size_t first, size_t count, void *bytes);
    void (*close)(void *file);
} mgk_tensors_part;

/* A tensor and its location. */
typedef struct mgk_stored_tensor {
    mgk_tensor_info info; /* first: callers hold a pointer to it */
    size_t part;
    const void *storage;
    size_t offset;                /* of the first element, in elements */
    size_t strides[MGK_MAX_AXES]; /* [axes], in elements */
} mgk_stored_tensor;

/* The bytes from the first to the last element of the strided tensor that was read last. */
typedef struct mgk_tensors_span {
    const mgk_stored_tensor *tensor; /* NULL: none */
    unsigned char *bytes;
} mgk_tensors_span;

struct mgk_tensors {
    mgk_arena arena; /* of names, texts and the arrays below */
    const char *container;
    size_t part_count, file_count, count, value_count;
    size_t part_room, file_room, room, value_room; /* capacities of the arrays */
    mgk_tensors_part *parts;
    const char **files;
    mgk_stored_tensor *list;           /* in the order of the file */
    const mgk_stored_tensor **by_name; /* [count], after mgk_tensors_complete */
    mgk_tensors_value *values;         /* in the order of the file */
    size_t distinct_values;
    const mgk_tensors_value *
        *sorted_values;     /* [distinct_values], by kind and name, after mgk_tensors_complete */
    mgk_tensors_span *span; /* after mgk_tensors_complete */
};

/*
 * Adds an open file as a part, and to the list of files. Takes ownership, even on failure;
 * mgk_tensors_close closes it.
 */
mgk_status mgk_tensors_add_part(mgk_tensors *tensors, const char *path, mgk_tensors_part part);

/* Adds a file to the list of files. */
mgk_status mgk_tensors_add_file(mgk_tensors *tensors, const char *path);

/*
 * Adds a tensor of the last part; its name and storage must live as long as the part.
 * STATUS_FORMAT: a name with control characters.
 */
mgk_status mgk_tensors_add(mgk_tensors *tensors, const mgk_stored_tensor *tensor);
mgk_status mgk_tensors_add_value(mgk_tensors *tensors, const mgk_tensors_value *value);

/*
 * Ends adding. STATUS_FORMAT: two tensors have the same name. Of values with the same name, the
 * first is used.
 */
mgk_status mgk_tensors_complete(mgk_tensors *tensors);

/* Sets the strides of a row-major tensor. */
void mgk_tensors_set_strides(mgk_stored_tensor *tensor);

#endif
