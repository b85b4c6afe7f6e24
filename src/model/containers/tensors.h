/*
 * The tensors of a checkpoint, whatever contains them: safetensors (one file, or shards with their
 * index) and PyTorch's files (zip and legacy containers; state dicts and pickled modules).
 * Containers are recognised by content.
 *
 * Names are paths: what a pickle nests is joined by dots, and of modules the dictionaries
 * _parameters, _buffers and _modules are left out, so that {"model_state_dict": {"a.weight": T}}
 * has the tensor "model_state_dict.a.weight", and a pickled module has the names of its state dict.
 */
#ifndef MGK_MODEL_TENSORS_H
#define MGK_MODEL_TENSORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "model/containers/tensor_dtype.h"

#define MGK_MAX_AXES 8

typedef struct mgk_tensor_info {
    const char *name; /* owned by the checkpoint; free of control characters */
    mgk_dtype dtype;
    int axes;                   /* 0 (one element) to MGK_MAX_AXES */
    size_t shape[MGK_MAX_AXES]; /* [axes] */
    size_t count;               /* elements, the product of the shape */
} mgk_tensor_info;

/* An open checkpoint. To be used by one thread at a time. */
typedef struct mgk_tensors mgk_tensors;

/*
 * path: a file, or a folder that holds model.safetensors, model.safetensors.index.json,
 * pytorch_model.bin, or pytorch_model.bin.index.json (the first there is). Released with
 * mgk_tensors_close. Everything but the values is checked: STATUS_FORMAT: damaged, or no container
 * that is known; STATUS_UNSUPPORTED: element types that are not listed in tensor_dtype.h, more than
 * MGK_MAX_AXES axes, a pickle that wants to do more than hold data. Messages name the file and the
 * tensor.
 */
mgk_status mgk_tensors_open(const char *path, mgk_tensors **out);
void mgk_tensors_close(mgk_tensors *tensors); /* NULL is accepted */

/* Whether a file that begins with these bytes, 64 of them or all, may be opened by it: a container,
 * or a JSON object. */
bool mgk_tensors_recognise(const unsigned char *bytes, size_t size);

/* For people: "safetensors", "safetensors, 3 files", "PyTorch zip", "PyTorch legacy". */
const char *mgk_tensors_container(const mgk_tensors *tensors);

/* The files that were read, weights first [*count]: what a hash of the model is made of. */
const char *const *mgk_tensors_files(const mgk_tensors *tensors, size_t *count);

/* The number of tensors, and tensor `index` of them in the order of the file. */
size_t mgk_tensors_count(const mgk_tensors *tensors);
const mgk_tensor_info *mgk_tensors_at(const mgk_tensors *tensors, size_t index);

/* The tensor of this name; NULL where there is none. Not linear. */
const mgk_tensor_info *mgk_tensors_find(const mgk_tensors *tensors, const char *name);

/*
 * What stands beside the tensors: metadata of safetensors, and of pickles numbers, truths and
 * strings by the same kind of path ("layers.0.dec_attn.n_head"). NULL / false: not there. Strings
 * that hold a zero byte are left out.
 */
const char *mgk_tensors_text(const mgk_tensors *tensors, const char *name);
bool mgk_tensors_number(const mgk_tensors *tensors, const char *name, double *out);

/* The class a pickled object at this path ("" the root) claims to be, "module.Name"; NULL: not an
 * object. */
const char *mgk_tensors_class(const mgk_tensors *tensors, const char *name);

/* All that stands beside the tensors, in the order of the file. */
typedef enum mgk_value_kind { MGK_VALUE_TEXT, MGK_VALUE_NUMBER, MGK_VALUE_CLASS } mgk_value_kind;

typedef struct mgk_tensors_value {
    const char *name;
    mgk_value_kind kind;
    const char *text; /* or the class; NULL for a number */
    double number;
} mgk_tensors_value;

size_t mgk_tensors_value_count(const mgk_tensors *tensors);
const mgk_tensors_value *mgk_tensors_value_at(const mgk_tensors *tensors, size_t index);

/*
 * Elements first ... first + count - 1 of a tensor, row-major, whatever its strides, as float or
 * double [count]. STATUS_NUMERIC: NaN, infinity, or beyond float; STATUS_UNSUPPORTED: not a real
 * type; STATUS_FORMAT: the file turns out to be damaged.
 */
mgk_status mgk_tensors_read(const mgk_tensors *tensors, const mgk_tensor_info *tensor, size_t first,
                            size_t count, mgk_dtype type /* F32 or F64 */, void *values);

#endif
