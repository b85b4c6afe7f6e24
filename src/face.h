/* Shared by the files that implement mgk.h: statuses become results, options become parts. */
#ifndef MGK_FACE_H
#define MGK_FACE_H

#include "base/sha256.h"
#include "base/status.h"
#include "data/dataset.h"
#include "kernels/backend.h"
#include "mgk.h"
#include "model/model.h"

/* The public result of an internal status; the message stays this thread's. */
mgk_result mgk_face_result(mgk_status status);

/* The job, or that of the defaults where it is NULL. */
const mgk_job *mgk_face_job(const mgk_job *job);

/*
 * STATUS_USAGE: the caller has no place for a result, an array of count > 0 elements, or one of so
 * many names, is NULL. The message says what it is.
 */
mgk_status mgk_face_check_place(const char *what, const void *place);
mgk_status mgk_face_check_array(const char *what, const void *array, size_t count);
mgk_status mgk_face_check_names(const char *what, const char *const *names, size_t count);

/* The names and arrays of an input. */
mgk_status mgk_face_check_input(const mgk_input *input);

/*
 * Checks what every job says, also where it opens no device: STATUS_USAGE for a device that is no
 * name of one, or threads beyond 0 to 4096; where the device is not there, as opening it fails.
 */
mgk_status mgk_face_check_job(const mgk_job *job);

/* Opens the job's device. STATUS_USAGE: it has no TF32, which the job wants. */
mgk_status mgk_face_device(const mgk_job *job, bool double_precision, mgk_device **out);

/* Passes a report on to the job's watcher. */
void mgk_face_report(const mgk_job *job, const mgk_report *report);

/* Tells the job's watcher what it computes on: the kernels decide how long it takes. */
void mgk_face_report_device(const mgk_job *job, const mgk_device *device);

/* Whether the job's watcher asks to stop. */
bool mgk_face_stopped(const mgk_job *job);

/*
 * Opens what an input names for a model, as evaluation samples in a fixed order; text is read
 * through the tokenizer (see text_input.h), which is needed no longer. STATUS_USAGE: not
 * exactly one of text, tokens and task. STATUS_SHAPE: a length beyond the model's positions, or
 * another vocabulary than the model's, such as text where it was trained on lists.
 */
mgk_status mgk_face_input(const mgk_input *input, const mgk_model *model,
                          const mgk_tokenizer *tokenizer, uint64_t seed, mgk_dataset **out);

/*
 * Chosen indices below `limit`, ascending: `wanted` [count], or all when it is NULL. STATUS_SHAPE
 * names one that does not exist ("layer 9: the model has 6"). *out is released with mgk_free.
 */
mgk_status mgk_face_choose(const char *what, const int *wanted, size_t count, int limit,
                           int32_t **out, size_t *out_count);

/* Whether `number` is among numbers [count]. */
bool mgk_face_contains(const int32_t *numbers, size_t count, int32_t number);

/* Loads a model as the job says. */
mgk_status mgk_face_load(const char *path, const mgk_job *job, mgk_device *device, mgk_model **out);

/* The last component of a model's path, also where it is a folder: "b" of "a/b/". */
void mgk_face_model_name(const char *path, char *name, size_t size);

/* Tells the job's watcher a remark about the file or folder at `path`; NULL: there is none. */
void mgk_face_report_remark(const mgk_job *job, const char *path, const char *remark);

/* A model opened on the CPU to be looked at, in single precision. Zeroed is closed. */
typedef struct mgk_face_model {
    mgk_device *device;
    mgk_model *model;
    char sha256[MGK_SHA256_HEX_SIZE]; /* of its file */
} mgk_face_model;

mgk_status mgk_face_open_model(const char *path, const mgk_job *job, mgk_face_model *out);

/* The same without weights: neither they nor a device are needed to say what a model is. */
mgk_status mgk_face_outline_model(const char *path, const mgk_job *job, mgk_face_model *out);
void mgk_face_close_model(mgk_face_model *model);

/* Appends the hash of a model's file to a list of them, unless it is "" or there already. */
void mgk_face_list_hash(const char *sha256, char *list, size_t size);

/* Copies `count` reals of the device into numbers of the host. */
mgk_status mgk_face_download(mgk_device *device, const void *reals, size_t count, double *out);

#endif
