/* SPDX-License-Identifier: MIT */
/*
 * A checkpoint for formats: its tensors and its config.json. A recipe describes how a tensor
 * becomes a parameter.
 */
#ifndef MGK_MODEL_CHECKPOINT_H
#define MGK_MODEL_CHECKPOINT_H

#include <cjson/cJSON.h>

#include "model/containers/tensors.h"
#include "model/core/model.h"

typedef struct mgk_checkpoint {
    const char *path; /* as given: a file or a folder */
    char *folder;     /* of the checkpoint, with configuration and vocabulary */
    mgk_tensors *tensors;
    char *config_path; /* folder/config.json; NULL if there is none */
    cJSON *config;     /* its object; NULL */
    const char *told;  /* model_type, if config.json lacks it and tensors' names tell it; or NULL */
    struct mgk_known_prefix *prefixes; /* cache: recipes repeat requests */
    bool *used; /* of each tensor in the order of the file: a recipe expected it */
} mgk_checkpoint;

/*
 * Fails as mgk_tensors_open, and if config.json is not valid JSON. Close with mgk_checkpoint_close.
 */
mgk_status mgk_checkpoint_open(const char *path, mgk_checkpoint *out);
void mgk_checkpoint_close(mgk_checkpoint *checkpoint); /* a zeroed one is accepted */

/*
 * Reads the object in a JSON file of the checkpoint's folder, released with cJSON_Delete, and the
 * file's path, released with mgk_free (even on failure); both are NULL without such a file.
 */
mgk_status mgk_checkpoint_json(const mgk_checkpoint *checkpoint, const char *name, char **path,
                               cJSON **object);

enum { MGK_TENSOR_NAME = 256 };

/*
 * The part before `anchor`, a constant string, in the first name that ends with it, such as "bert."
 * or ""; false: no such name.
 */
bool mgk_checkpoint_prefix(const mgk_checkpoint *checkpoint, const char *anchor,
                           char prefix[MGK_TENSOR_NAME]);

/*
 * Values of config.json. A missing or null key gives the fallback; a value of another type gives
 * STATUS_FORMAT, with its name. The checkpoint owns strings.
 */
mgk_status mgk_checkpoint_integer(const mgk_checkpoint *checkpoint, const char *key, int fallback,
                                  int *out);
mgk_status mgk_checkpoint_real(const mgk_checkpoint *checkpoint, const char *key, double fallback,
                               double *out);
mgk_status mgk_checkpoint_flag(const mgk_checkpoint *checkpoint, const char *key, bool fallback,
                               bool *out);
mgk_status mgk_checkpoint_string(const mgk_checkpoint *checkpoint, const char *key,
                                 const char *fallback, const char **out);

/*
 * The same for objects in config.json. mgk_checkpoint_object finds one, NULL if missing; the other
 * functions read its members, and keep *out if the member, or the object, is missing.
 */
mgk_status mgk_checkpoint_object(const mgk_checkpoint *checkpoint, const char *key,
                                 const cJSON **out);
mgk_status mgk_checkpoint_real_of(const mgk_checkpoint *checkpoint, const cJSON *object,
                                  const char *key, double *out);
mgk_status mgk_checkpoint_string_of(const mgk_checkpoint *checkpoint, const cJSON *object,
                                    const char *key, const char **out);

/* Reads a required integer. STATUS_FORMAT: config.json lacks `key`. */
mgk_status mgk_checkpoint_needed(const mgk_checkpoint *checkpoint, const char *key, int *out);

/*
 * Splits off the layer of a parameter's name: "layers.3.norm1.bias" gives "norm1.bias" and
 * *layer = 3; other names are unchanged, with −1.
 */
const char *mgk_layer_of_name(const char *name, int *layer);

/* The source of a parameter. With all fields 0 except `name`: that tensor, of the same shape. */
typedef struct mgk_recipe {
    char name[MGK_TENSOR_NAME];
    size_t tensors;     /* not 0: so many tensors, one after another, make up the rows; the last '*'
                           in `name` stands for the number of each. All else is of one of them */
    size_t rows;        /* rows of the tensor; 0: as many as the parameter */
    size_t first;       /* the parameter's first row in the tensor */
    size_t block;       /* not 0: so many rows of the parameter are adjacent in the tensor; */
    size_t stride;      /* the next ones are so many rows further */
    size_t head;        /* not 0: such parts of the parameter's rows are permuted, so that pairs of
                           rows, which `turned` first rows of the tensor make, lie head / 2 apart: */
    size_t turned;      /* row i is paired with row i + turned / 2, or, */
    bool interleaved;   /* if set, row 2 i with row 2 i + 1 */
    double times, more; /* not 0: numbers are multiplied by `times`; then `more` is added */
    bool transposed;    /* the tensor is [in, out] */
    int axes;           /* not 0: the tensor has this shape instead, with as many elements */
    size_t shape[MGK_MAX_AXES];
    char plus[MGK_TENSOR_NAME]; /* not "": row 0 of this tensor is added to every row; */
    size_t plus_rows;           /* its number of rows */
    /*
     * Not NULL: computes values [parameter->count] from these and other tensors, and checks their
     * shapes; with values NULL it only checks.
     */
    mgk_status (*compute)(const mgk_checkpoint *, const mgk_config *, const struct mgk_recipe *,
                          const mgk_parameter *, double *values);
} mgk_recipe;

/* The tensor with the printed name; NULL if there is none. */
__attribute__((format(printf, 2, 3))) const mgk_tensor_info *
mgk_checkpoint_find(const mgk_checkpoint *checkpoint, const char *format, ...);

/*
 * Finds a tensor of this name and shape, and marks it as used. STATUS_UNSUPPORTED: its numbers are
 * not real. STATUS_SHAPE, with a message that names it: "tensor "x" is
 * missing, expected [2,3]", or "is [3,2], expected [2,3]".
 */
mgk_status mgk_checkpoint_expect(const mgk_checkpoint *checkpoint, const char *name, int axes,
                                 const size_t *shape, const mgk_tensor_info **out);

/* Checks that the tensors of a recipe exist with the shapes that the parameter needs. */
mgk_status mgk_recipe_check(const mgk_checkpoint *checkpoint, const mgk_config *config,
                            const mgk_recipe *recipe, const mgk_parameter *parameter);

/* For mgk_recipe.compute: a bias that a family does not have. */
mgk_status mgk_recipe_zeros(const mgk_checkpoint *checkpoint, const mgk_config *config,
                            const mgk_recipe *recipe, const mgk_parameter *parameter,
                            double *values);

/* Computes the parameter by the recipe, into the weights of the model. */
mgk_status mgk_recipe_follow(const mgk_checkpoint *checkpoint, const mgk_recipe *recipe,
                             const mgk_parameter *parameter, const mgk_model *model);

#endif
