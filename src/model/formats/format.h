/* SPDX-License-Identifier: MIT */
/*
 * The registry of checkpoint formats: how files become a model. A format is one file and one row in
 * format.c. Files are recognised by content, never by name alone.
 */
#ifndef MGK_MODEL_FORMAT_H
#define MGK_MODEL_FORMAT_H

#include "model/containers/safetensors.h"
#include "model/core/model.h"
#include "model/formats/checkpoint.h"

/* Facts about a checkpoint that only the user knows. */
typedef struct mgk_model_options {
    int head_dim;             /* D, if the number of heads is not stored; 0: the format's usual D */
    const char *attention;    /* kind, if the tensors do not determine it; NULL: the usual kind */
    const char *trained_with; /* options of the training that the tensors do not tell, by the names
                                 that the training code has for them, "no_pos,pre_lnorm"; NULL: none
                               */
    const char *part; /* "text" or "vision", if the folder has both models; NULL: usual_part; */
    const char *usual_part; /* NULL: a folder with both is refused */
    bool decoder; /* the decoder of an encoder-decoder model, see mgk_config.memory, in place of its
                     encoder */
    bool encoder; /* the encoder, only of such a model */
} mgk_model_options;

typedef struct mgk_model_format {
    const char *name;               /* for people */
    const char *const *model_types; /* [·, NULL]: of config.json; NULL: `matches` decides, or */
    const struct mgk_decoder *families; /* rows that have model types, and that decoder.c configures
                                           and reads; NULL: this format has functions for it */
    const char *const *beside;          /* [·, NULL]: name parts of redundant tensors; or NULL */
    const char *const *apart; /* [·, NULL]: words in the names of heads, see unused.h; or NULL */
    const struct mgk_model_format *decoder; /* of the same files, whose encoder this is; or NULL */
    const char *root;  /* a tensor of all models, under the name of the model's module; or NULL */
    bool asks;         /* uses the options; other formats refuse them, */
    bool trained_with; /* and this one, too */
    /* Writes the assumptions about the model, for people; "": none. NULL: never any. */
    mgk_status (*assumed)(const mgk_checkpoint *, const mgk_model_options *, const mgk_config *,
                          char *text, size_t size);
    const char *anchor; /* a tensor of all models in model_types */
    bool (*matches)(const mgk_checkpoint *);
    /* The configuration; the caller resolves it, and adds the file's name to errors. */
    mgk_status (*configure)(const mgk_checkpoint *, const mgk_model_options *, mgk_config *);
    /* The step of training of the weights, -1 if the file does not say; NULL: no file says. */
    mgk_status (*step)(const mgk_checkpoint *, int64_t *);
    /* The text of the tokenizer that the file carries, NULL: none; NULL: no file does. */
    const char *(*tokenizer)(const mgk_checkpoint *);
    /* The source of a parameter of that configuration. */
    mgk_status (*recipe)(const mgk_checkpoint *, const mgk_config *, const mgk_parameter *,
                         mgk_recipe *);
} mgk_model_format;

/* Whether config.json says by a model type that a checkpoint is of this format. */
static inline bool mgk_format_has_types(const mgk_model_format *format)
{
    return format->model_types || format->families;
}

/* The configuration of a checkpoint of the format, not resolved. Errors as of mgk_model_load. */
mgk_status mgk_format_configure(const mgk_model_format *format, const mgk_checkpoint *checkpoint,
                                const mgk_model_options *options, mgk_config *config);

/*
 * Loads a model of any known format, a file or a folder, onto the device; options may be NULL;
 * release with mgk_model_free. model->remark names unused tensors and assumptions. Without a device
 * (NULL) only headers and configuration are read and checked, not the weights. STATUS_USAGE:
 * options that contradict the files; STATUS_IO: the file cannot be read; STATUS_FORMAT: no format
 * matches, or the file is malformed; STATUS_UNSUPPORTED: an unknown kind of model or attention, or
 * the wanted decoder does not exist;
 * STATUS_SHAPE: a tensor is missing or has another shape; STATUS_NUMERIC: a weight is not finite.
 */
mgk_status mgk_model_load(const char *path, const mgk_model_options *options, mgk_device *device,
                          mgk_model **out);

/*
 * A key and value for the file's metadata, besides "format" and "config"; value NULL: see
 * mgk_metadata.
 */
typedef struct mgk_model_note {
    const char *key, *value;
} mgk_model_note;

/*
 * An additional array with the layout of the weights; its tensors are named prefix + name. Host
 * float64 [parameters.total].
 */
typedef struct mgk_model_extra {
    const char *prefix;
    const double *values;
} mgk_model_extra;

/*
 * Writes the toolkit's own format: safetensors in the model's precision, with the configuration
 * and, if they are known, the step and the tokenizer as metadata. The file is written completely or
 * not at all; see base/file.h for `force`. With mgk_model_save_as weights are of type `storage`;
 * STATUS_NUMERIC: it cannot hold one.
 */
mgk_status mgk_model_save_as(const mgk_model *model, mgk_dtype storage, const char *path,
                             bool force, const mgk_model_note *notes, size_t note_count,
                             const mgk_model_extra *extras, size_t extra_count);
mgk_status mgk_model_save(const mgk_model *model, const char *path, bool force,
                          const mgk_model_note *notes, size_t note_count,
                          const mgk_model_extra *extras, size_t extra_count);

extern const mgk_model_format mgk_format_native;      /* the toolkit's own */
extern const mgk_model_format mgk_format_lra;         /* the paper's code: encoders */
extern const mgk_model_format mgk_format_lm;          /* and language models */
extern const mgk_model_format mgk_format_llama2c;     /* llama2.c */
extern const mgk_model_format mgk_format_linformer;   /* linformer */
extern const mgk_model_format mgk_format_performer;   /* performer-pytorch */
extern const mgk_model_format mgk_format_bert;        /* Hugging Face: bert, roberta, distilbert, */
extern const mgk_model_format mgk_format_longformer;  /* longformer, */
extern const mgk_model_format mgk_format_gpt2;        /* gpt2 and its relatives, */
extern const mgk_model_format mgk_format_llama;       /* llama and many like it, */
extern const mgk_model_format mgk_format_neox;        /* gpt_neox, */
extern const mgk_model_format mgk_format_bloom;       /* bloom, falcon, */
extern const mgk_model_format mgk_format_opt;         /* opt, */
extern const mgk_model_format mgk_format_vit;         /* vit, deit, dinov2, */
extern const mgk_model_format mgk_format_modernbert;  /* modernbert, */
extern const mgk_model_format mgk_format_esm;         /* esm, */
extern const mgk_model_format mgk_format_reformer;    /* reformer, */
extern const mgk_model_format mgk_format_deberta;     /* deberta-v2, */
extern const mgk_model_format mgk_format_clip_vision; /* clip: its model of pictures */
extern const mgk_model_format mgk_format_clip_text;   /* and of text; the encoders of */
extern const mgk_model_format mgk_format_t5;          /* t5, */
extern const mgk_model_format mgk_format_bart;        /* bart, mbart, marian, pegasus, */
extern const mgk_model_format mgk_format_whisper;     /* whisper; */
/* and their decoders, which those of the encoders name */
extern const mgk_model_format mgk_format_t5_decoder, mgk_format_bart_decoder,
    mgk_format_whisper_decoder;

/*
 * Reads the tensors prefix + name of a file of mgk_model_save to host float64 [parameters.total].
 * STATUS_SHAPE names one that is missing or has another shape.
 */
mgk_status mgk_format_read_tensors(const mgk_checkpoint *checkpoint, const char *prefix,
                                   const mgk_parameters *parameters, double *values);

#endif
