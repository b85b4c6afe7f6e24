/*
 * The registry of checkpoint formats: how files on disk become a model. A format is one file and
 * one row in format.c. Files are recognised by content, never by name alone.
 */
#ifndef MGK_MODEL_FORMAT_H
#define MGK_MODEL_FORMAT_H

#include "model/containers/safetensors.h"
#include "model/core/model.h"
#include "model/formats/checkpoint.h"

/* Facts about a checkpoint that only its user knows. */
typedef struct mgk_model_options {
    int head_dim; /* D, where the number of heads is not stored; 0: the format's usual one */
    const char *attention; /* kind, where tensors alone do not tell it; NULL: the usual one */
} mgk_model_options;

typedef struct mgk_model_format {
    const char *name;               /* for people */
    const char *const *model_types; /* [·, NULL]: those of config.json that this format reads; NULL:
                                       `matches` tells */
    const char *const *beside;      /* [·, NULL]: parts of the names of tensors that parameters are
                                       computed from, or that say nothing new; NULL: none */
    bool asks;                      /* options tell what the files do not; others refuse them */
    /* What was taken for granted about the model, for people; "": nothing. NULL: never anything. */
    const char *(*assumed)(const mgk_model_options *, const mgk_config *);
    const char *anchor; /* a tensor that all of model_types have */
    bool (*matches)(const mgk_checkpoint *);
    /* The configuration, resolved by the caller; what is wrong with it is named with its file. */
    mgk_status (*configure)(const mgk_checkpoint *, const mgk_model_options *, mgk_config *);
    /* Where a parameter of that configuration comes from. */
    mgk_status (*recipe)(const mgk_checkpoint *, const mgk_config *, const mgk_parameter *,
                         mgk_recipe *);
} mgk_model_format;

/*
 * Loads a model of any known format, a file or a folder, onto the device; options may be NULL;
 * released with mgk_model_free. model->remark says which tensors were of no use, and what was taken
 * for granted. Without a device (NULL) weights are not read, and so not checked for numbers that
 * are not finite: what headers and configuration tell. STATUS_USAGE: options that the files
 * contradict. STATUS_IO: the file cannot be read; STATUS_FORMAT: no format matches, or the file is
 * malformed; STATUS_UNSUPPORTED: a kind of model or attention that is not known; STATUS_SHAPE: a
 * tensor is missing or of another shape; STATUS_NUMERIC: a weight is not finite.
 */
mgk_status mgk_model_load(const char *path, const mgk_model_options *options, mgk_device *device,
                          mgk_model **out);

/* A key and value for the file's metadata, beside "format" and "config"; NULL: see mgk_metadata. */
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

extern const mgk_model_format mgk_format_native; /* the toolkit's own */
extern const mgk_model_format mgk_format_lra;    /* the paper's own code: encoders */
extern const mgk_model_format mgk_format_lm;     /* and language models */
extern const mgk_model_format mgk_format_bert;   /* Hugging Face: bert, roberta, distilbert, */
extern const mgk_model_format mgk_format_gpt2;   /* gpt2, */
extern const mgk_model_format mgk_format_llama;  /* llama, */
extern const mgk_model_format mgk_format_vit;    /* vit */

/*
 * Reads the tensors prefix + name of a file that mgk_model_save wrote into host float64
 * [parameters.total]; STATUS_SHAPE names one that is missing or shaped otherwise.
 */
mgk_status mgk_format_read_tensors(const mgk_checkpoint *checkpoint, const char *prefix,
                                   const mgk_parameters *parameters, double *values);

#endif
