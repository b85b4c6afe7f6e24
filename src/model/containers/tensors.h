/* SPDX-License-Identifier: MIT */
/*
 * The tensors of a checkpoint in any container: safetensors (one file, or shards with their index),
 * PyTorch's files (zip and legacy containers; state dicts and pickled modules), and the files of
 * llama2.c. Containers are recognised by content.
 *
 * Names are paths: nested keys of a pickle are joined by dots. Of modules, the dictionaries
 * _parameters, _buffers and _modules are omitted from the path. So {"model_state_dict":
 * {"a.weight": T}} has the tensor "model_state_dict.a.weight", and a pickled module has the names
 * of its state dict.
 */
#ifndef MGK_MODEL_TENSORS_H
#define MGK_MODEL_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model/containers/tensor_dtype.h"

#define MGK_MAX_AXES 8

typedef struct mgk_tensor_info {
    const char *name; /* owned by the checkpoint; without control characters */
    mgk_dtype dtype;
    int axes;                   /* 0 (one element) to MGK_MAX_AXES */
    size_t shape[MGK_MAX_AXES]; /* [axes] */
    size_t count;               /* elements, the product of the shape */
} mgk_tensor_info;

/* An open checkpoint, for one thread at a time. */
typedef struct mgk_tensors mgk_tensors;

/*
 * path: a file, or a folder with model.safetensors, model.safetensors.index.json, pytorch_model.bin
 * or pytorch_model.bin.index.json, or as the paper's code leaves them model.pt or one file
 * ..._output.model (the first that exists). Release with mgk_tensors_close. Checks
 * everything except the values. STATUS_FORMAT: damaged, or not a known container;
 * STATUS_UNSUPPORTED: element types that tensor_dtype.h does not list, more than MGK_MAX_AXES axes,
 * a harmful pickle. Messages name the file and the tensor.
 */
mgk_status mgk_tensors_open(const char *path, mgk_tensors **out);
void mgk_tensors_close(mgk_tensors *tensors); /* NULL is accepted */

/* Whether a file that begins with these bytes, 64 of them or all, may be opened by it: a container,
 * or a JSON object. */
bool mgk_tensors_recognise(const unsigned char *bytes, size_t size);

/* For people: "safetensors", "safetensors, 3 files", "PyTorch zip", "PyTorch legacy",
 * "llama2.c". */
const char *mgk_tensors_container(const mgk_tensors *tensors);

/* The files of the checkpoint, weights first [*count]: the input of the model's hash. */
const char *const *mgk_tensors_files(const mgk_tensors *tensors, size_t *count);

/* The number of tensors, and tensor `index` of them in the order of the file. */
size_t mgk_tensors_count(const mgk_tensors *tensors);
const mgk_tensor_info *mgk_tensors_at(const mgk_tensors *tensors, size_t index);

/* The place of a tensor of the checkpoint in that order. */
size_t mgk_tensors_index(const mgk_tensors *tensors, const mgk_tensor_info *tensor);

/* The tensor of this name, by binary search; NULL if there is none. */
const mgk_tensor_info *mgk_tensors_find(const mgk_tensors *tensors, const char *name);

/*
 * Values other than tensors: metadata of safetensors, and numbers, booleans and strings of pickles,
 * with the same kind of path ("layers.0.dec_attn.n_head"). NULL / false: no such value. Strings
 * with a zero byte are omitted.
 */
const char *mgk_tensors_text(const mgk_tensors *tensors, const char *name);
bool mgk_tensors_number(const mgk_tensors *tensors, const char *name, double *out);

/*
 * The class of the pickled object at this path ("": the root), "module.Name", as the file claims;
 * NULL: not an object.
 */
const char *mgk_tensors_class(const mgk_tensors *tensors, const char *name);

/* All values other than tensors, in the order of the file. */
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
 * Reads elements first ... first + count - 1 of a tensor, row-major for any strides, as float or
 * double to values [count]. STATUS_NUMERIC: NaN, infinity, or beyond float; STATUS_UNSUPPORTED: not
 * a real type; STATUS_FORMAT: the file is damaged.
 */
mgk_status mgk_tensors_read(const mgk_tensors *tensors, const mgk_tensor_info *tensor, size_t first,
                            size_t count, mgk_dtype type /* F32 or F64 */, void *values);

/* Reads all elements of a tensor of int64 [count]. STATUS_UNSUPPORTED: another type, or a view that
 * is not row-major; STATUS_FORMAT: the file is damaged. */
mgk_status mgk_tensors_read_integers(const mgk_tensors *tensors, const mgk_tensor_info *tensor,
                                     int64_t *values);

#endif
