/* SPDX-License-Identifier: MIT */
/*
 * PyTorch's pickles. Tensors are calls of torch._utils._rebuild_tensor_v2 and its variants, with a
 * storage, which is a persistent value, and numbers. Modules are objects whose state holds the
 * dictionaries _parameters, _buffers and _modules.
 */
#ifndef MGK_MODEL_TORCH_H
#define MGK_MODEL_TORCH_H

#include "model/containers/pickle.h"
#include "model/containers/tensors_private.h"

/* Adds a zip container (PyTorch 1.6 and later). Errors as mgk_tensors_open. */
mgk_status mgk_torch_add_zip(mgk_tensors *tensors, const char *path);

/* The format before 1.6, and of _use_new_zipfile_serialization=False. */
bool mgk_torch_is_legacy(const unsigned char *bytes, size_t size);
mgk_status mgk_torch_add_legacy(mgk_tensors *tensors, const char *path);

/* The limit of the arena of one file's pickles, in bytes. */
#define MGK_TORCH_MEMORY ((size_t)1 << 30)

/*
 * A storage, as identified by the persistent tuple ('storage', type, key, location,
 * elements[, view]). Only old files have a view, the tuple (key, first element, elements) or None.
 */
typedef struct mgk_torch_storage_id {
    mgk_dtype dtype;
    const char *key; /* owned by the pickle */
    size_t count;    /* elements */
    size_t first;    /* of the view, in elements; 0 without */
    size_t viewed;   /* elements of the view; `count` without */
} mgk_torch_storage_id;

/*
 * STATUS_FORMAT: another kind of value; STATUS_UNSUPPORTED: an element type that
 * model/containers/tensor_dtype.h does not list.
 */
mgk_status mgk_torch_read_storage_id(const mgk_pickle_value *value, mgk_torch_storage_id *out);

/*
 * How a container finds the bytes of a storage with id.count elements: *storage is the argument of
 * mgk_tensors_part.read. STATUS_FORMAT: no such storage, or it is too short.
 */
typedef struct mgk_torch_storages {
    mgk_status (*find)(const void *context, const mgk_torch_storage_id *id, const void **storage);
    const void *context;
} mgk_torch_storages;

/*
 * Whether an object is a tensor or a parameter; *call then receives its call of _rebuild_tensor*.
 */
bool mgk_torch_is_tensor(const mgk_pickle_value *value, mgk_pickle_object *call);

/*
 * Fills *out, except for its name, from the call. STATUS_FORMAT: arguments of other kinds, or a
 * view beyond its storage; STATUS_UNSUPPORTED: more than MGK_MAX_AXES axes, or an element type that
 * is not listed.
 */
mgk_status mgk_torch_read_tensor(const mgk_pickle_object *call, const mgk_torch_storages *storages,
                                 mgk_stored_tensor *out);

/*
 * Adds every tensor and value of the tree to the last part. Names and texts are copied: the tree
 * may be released afterwards.
 */
mgk_status mgk_torch_add_tree(mgk_tensors *tensors, mgk_pickle_value *root,
                              const mgk_torch_storages *storages);

#endif
