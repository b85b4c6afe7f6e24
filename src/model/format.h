/*
 * The registry of checkpoint formats: how a file on disk becomes a model. A format is one file
 * and one row in format.c. Files are recognised by content, never by name alone.
 */
#ifndef MGK_MODEL_FORMAT_H
#define MGK_MODEL_FORMAT_H

#include "model/model.h"
#include "model/safetensors.h"

typedef struct mgk_model_format {
    const char *name; /* for people */
    /* Whether the file is of this format; a file that cannot be read is of none. */
    bool (*matches)(const char *path);
    /* As mgk_model_load. */
    mgk_status (*load)(const char *path, mgk_device *device, mgk_model **out);
} mgk_model_format;

/*
 * Loads a model of any known format onto the device; released with mgk_model_free. STATUS_IO: the
 * file cannot be read; STATUS_FORMAT: no format matches, or the file is malformed;
 * STATUS_UNSUPPORTED: an unknown attention kind; STATUS_SHAPE: a tensor is missing or of another
 * shape; STATUS_NUMERIC: a weight is not finite.
 */
mgk_status mgk_model_load(const char *path, mgk_device *device, mgk_model **out);

/* A key and value for the file's metadata, beside "format" and "config". */
typedef struct mgk_model_note {
    const char *key, *value;
} mgk_model_note;

/*
 * Another array of the weights' layout to be kept in the file, its tensors named prefix + name;
 * host float64 [parameters.total].
 */
typedef struct mgk_model_extra {
    const char *prefix;
    const double *values;
} mgk_model_extra;

/*
 * Writes the toolkit's own format: safetensors in the model's precision, its configuration as
 * metadata. The file appears whole or not at all; see base/file.h for `force`.
 */
mgk_status mgk_model_save(const mgk_model *model, const char *path, bool force,
                          const mgk_model_note *notes, size_t note_count,
                          const mgk_model_extra *extras, size_t extra_count);

/* The toolkit's own format. */
extern const mgk_model_format mgk_format_native;

/*
 * Reads the tensors prefix + name of a file that mgk_model_save wrote into host float64
 * [parameters.total]; STATUS_SHAPE names one that is missing or shaped otherwise.
 */
mgk_status mgk_format_read_tensors(const mgk_safetensors *file, const char *path,
                                   const char *prefix, const mgk_parameters *parameters,
                                   double *values);

#endif
