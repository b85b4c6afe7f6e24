/*
 * A checkpoint as formats see it: tensors, and the config.json beside them. How one of its tensors
 * becomes a parameter of ours is said by a recipe.
 */
#ifndef MGK_MODEL_CHECKPOINT_H
#define MGK_MODEL_CHECKPOINT_H

#include <cjson/cJSON.h>

#include "model/containers/tensors.h"
#include "model/core/model.h"

typedef struct mgk_checkpoint {
    const char *path; /* as given: a file or a folder */
    char *folder;     /* that holds it: where configuration and vocabulary lie */
    mgk_tensors *tensors;
    char *config_path;                 /* folder/config.json; NULL where there is none */
    cJSON *config;                     /* its object; NULL */
    struct mgk_known_prefix *prefixes; /* those that were asked for: recipes ask again and again */
} mgk_checkpoint;

/* Fails as mgk_tensors_open does, and for a config.json that is no JSON. */
mgk_status mgk_checkpoint_open(const char *path, mgk_checkpoint *out);
void mgk_checkpoint_close(mgk_checkpoint *checkpoint); /* a zeroed one is accepted */

/*
 * The object in a JSON file of the checkpoint's folder, released with cJSON_Delete, and the file's
 * path, released with mgk_free (on failure, too); both are NULL where there is no such file.
 */
mgk_status mgk_checkpoint_json(const mgk_checkpoint *checkpoint, const char *name, char **path,
                               cJSON **object);

enum { MGK_TENSOR_NAME = 256 };

/*
 * What stands before `anchor`, a constant string, in the first name that ends with it, such as
 * "bert." or ""; false: no name does.
 */
bool mgk_checkpoint_prefix(const mgk_checkpoint *checkpoint, const char *anchor,
                           char prefix[MGK_TENSOR_NAME]);

/*
 * Values of config.json. A key that is missing or null gives the fallback; one of another type is
 * STATUS_FORMAT, named. Strings belong to the checkpoint.
 */
mgk_status mgk_checkpoint_integer(const mgk_checkpoint *checkpoint, const char *key, int fallback,
                                  int *out);
mgk_status mgk_checkpoint_real(const mgk_checkpoint *checkpoint, const char *key, double fallback,
                               double *out);
mgk_status mgk_checkpoint_flag(const mgk_checkpoint *checkpoint, const char *key, bool fallback,
                               bool *out);
mgk_status mgk_checkpoint_string(const mgk_checkpoint *checkpoint, const char *key,
                                 const char *fallback, const char **out);

/* The same of objects in config.json: one of them, NULL where it is missing; and members of one, or
 * of NULL, which has none: *out keeps its value then. */
mgk_status mgk_checkpoint_object(const mgk_checkpoint *checkpoint, const char *key,
                                 const cJSON **out);
mgk_status mgk_checkpoint_real_of(const mgk_checkpoint *checkpoint, const cJSON *object,
                                  const char *key, double *out);
mgk_status mgk_checkpoint_string_of(const mgk_checkpoint *checkpoint, const cJSON *object,
                                    const char *key, const char **out);

/* STATUS_FORMAT: config.json lacks `key`, which has no usual value. */
mgk_status mgk_checkpoint_needed(const mgk_checkpoint *checkpoint, const char *key, int *out);

/*
 * The layer that a parameter belongs to, and its name within it: "layers.3.norm1.bias" is
 * "norm1.bias" of 3; others keep their name, of −1.
 */
const char *mgk_layer_of_name(const char *name, int *layer);

/*
 * Where a parameter comes from. Zeroed but for `name`: that tensor, shaped alike.
 */
typedef struct mgk_recipe {
    char name[MGK_TENSOR_NAME];
    size_t rows;     /* the tensor has so many rows; 0: as many as the parameter */
    size_t first;    /* the parameter's first row among them */
    bool transposed; /* it is [in, out] */
    int axes;        /* not 0: it has this shape instead, and as many elements */
    size_t shape[MGK_MAX_AXES];
    char plus[MGK_TENSOR_NAME]; /* not "": row 0 of this tensor is added to every row; */
    size_t plus_rows;           /* it has so many */
    /* Not NULL: values [parameter->count] are computed from these and other tensors, whose shapes
     * it checks; where values are NULL, that is all it does. */
    mgk_status (*compute)(const mgk_checkpoint *, const mgk_config *, const struct mgk_recipe *,
                          const mgk_parameter *, double *values);
} mgk_recipe;

/* The tensor with this name, printed as by printf; NULL where there is none. */
__attribute__((format(printf, 2, 3))) const mgk_tensor_info *
mgk_checkpoint_find(const mgk_checkpoint *checkpoint, const char *format, ...);

/*
 * A tensor of this name and shape, or a failure that names it: STATUS_SHAPE: "tensor "x" is
 * missing, expected [2,3]", or "is [3,2], expected [2,3]".
 */
mgk_status mgk_checkpoint_expect(const mgk_checkpoint *checkpoint, const char *name, int axes,
                                 const size_t *shape, const mgk_tensor_info **out);

/* Checks that the tensors of a recipe are there, in the shapes that the parameter asks for. */
mgk_status mgk_recipe_check(const mgk_checkpoint *checkpoint, const mgk_config *config,
                            const mgk_recipe *recipe, const mgk_parameter *parameter);

/* Makes the parameter by the recipe, in the weights of the model. */
mgk_status mgk_recipe_follow(const mgk_checkpoint *checkpoint, const mgk_recipe *recipe,
                             const mgk_parameter *parameter, const mgk_model *model);

#endif
