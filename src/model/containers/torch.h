/*
 * What PyTorch pickles: tensors as calls of torch._utils._rebuild_tensor_v2 and its kin with a
 * storage, which is a persistent value, and numbers; modules as objects whose state holds the
 * dictionaries _parameters, _buffers and _modules.
 */
#ifndef MGK_MODEL_TORCH_H
#define MGK_MODEL_TORCH_H

#include "model/containers/pickle.h"
#include "model/containers/tensors_private.h"

/* A zip container (PyTorch 1.6 and later); mgk_tensors_add_container chooses. */
mgk_status mgk_torch_add_zip(mgk_tensors *tensors, const char *path);

/* What was written before, and still is with _use_new_zipfile_serialization=False. */
bool mgk_torch_is_legacy(const unsigned char *bytes, size_t size);
mgk_status mgk_torch_add_legacy(mgk_tensors *tensors, const char *path);

/* The limit of the arena of one file's pickles. */
#define MGK_TORCH_MEMORY ((size_t)1 << 30)

/*
 * A storage as the persistent tuple ('storage', type, key, location, elements[, view]) names it.
 * A view, which only old files have, is the tuple (key, first element, elements) or None.
 */
typedef struct mgk_torch_storage_id {
    mgk_dtype dtype;
    const char *key; /* of the pickle */
    size_t count;    /* elements */
    size_t first;    /* of the view, in elements; 0 without */
    size_t viewed;   /* its elements; `count` without */
} mgk_torch_storage_id;

/*
 * STATUS_FORMAT: another kind of value; STATUS_UNSUPPORTED: a type of elements that
 * model/containers/tensor_dtype.h does not list.
 */
mgk_status mgk_torch_read_storage_id(const mgk_pickle_value *value, mgk_torch_storage_id *out);

/*
 * How a container finds the bytes of a storage, id.count elements: what mgk_tensors_part.read
 * takes. STATUS_FORMAT: it has no such storage, or one that is too short.
 */
typedef struct mgk_torch_storages {
    mgk_status (*find)(const void *context, const mgk_torch_storage_id *id, const void **storage);
    const void *context;
} mgk_torch_storages;

/* Whether an object is a tensor or a parameter; the call of _rebuild_tensor* in it then. */
bool mgk_torch_is_tensor(const mgk_pickle_value *value, mgk_pickle_object *call);

/*
 * The tensor that the call makes; all but its name. STATUS_FORMAT: arguments of other kinds, or a
 * view that leaves its storage; STATUS_UNSUPPORTED: more than MGK_MAX_AXES axes, or a type that is
 * not listed.
 */
mgk_status mgk_torch_read_tensor(const mgk_pickle_object *call, const mgk_torch_storages *storages,
                                 mgk_stored_tensor *out);

/*
 * Adds every tensor of the tree to the last part, and what stands beside them. Names and texts are
 * copied: the tree may go then.
 */
mgk_status mgk_torch_add_tree(mgk_tensors *tensors, mgk_pickle_value *root,
                              const mgk_torch_storages *storages);

#endif
