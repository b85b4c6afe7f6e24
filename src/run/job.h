/* SPDX-License-Identifier: MIT */
/* A job (mgk.h): its device, its model and its watcher. */
#ifndef MGK_RUN_JOB_H
#define MGK_RUN_JOB_H

#include "base/sha256.h"
#include "kernels/backend.h"
#include "mgk.h"
#include "model/core/model.h"

/* The job, or the default job if it is NULL. */
const mgk_job *mgk_job_or_default(const mgk_job *job);

/* Checks the options of every job, even if it opens no device. STATUS_USAGE: an unknown device
 * name, or threads outside 0 to 4096; if the device is missing, the error of opening it. */
mgk_status mgk_job_check(const mgk_job *job);

/* Opens the job's device. STATUS_USAGE: the job asks for TF32, and the device has none. */
mgk_status mgk_job_open_device(const mgk_job *job, bool double_precision, mgk_device **out);

/* Loads a model with the job's options. */
mgk_status mgk_job_load_model(const char *path, const mgk_job *job, mgk_device *device,
                              mgk_model **out);

/* The same; of a folder with two models the one that reads `input`, if the job names none. */
mgk_status mgk_job_load_reader(const char *path, const mgk_job *job, const mgk_input *input,
                               mgk_device *device, mgk_model **out);

/* Lets a model run as `run_as` of the job says, if it does. */
mgk_status mgk_job_run_as(const mgk_job *job, mgk_model *model);

/* STATUS_UNSUPPORTED: the model is a decoder that reads an encoder's output, and the job does not
 * run it as such, as of a file that has the decoder alone. */
mgk_status mgk_job_check_encoder(const mgk_job *job, const mgk_model *model, const char *path);

/* Passes a report on to the job's watcher. */
void mgk_job_report(const mgk_job *job, const mgk_report *report);

/* Reports the device to the job's watcher: its kernels determine how long the job takes. */
void mgk_job_report_device(const mgk_job *job, const mgk_device *device);

/* Reports a remark about the file or folder at `path` to the job's watcher; NULL: no remark. */
void mgk_job_report_remark(const mgk_job *job, const char *path, const char *remark);

enum { MGK_LIMIT_NOTE = 80 };

/* Writes what a watcher is told if the memory of a job does not suffice for all threads. */
void mgk_job_limit_note(int threads, int wanted, char note[MGK_LIMIT_NOTE]);

/* Whether the job's watcher asks to stop. */
bool mgk_job_stopped(const mgk_job *job);

/* Copies the last component of a model's path, a file or a folder: "b" of "a/b/". */
void mgk_model_name(const char *path, char *name, size_t size);

/* A model opened on the CPU for inspection, in single precision. Zeroed is closed. */
typedef struct mgk_model_view {
    mgk_device *device;
    mgk_model *model;
    char sha256[MGK_SHA256_HEX_SIZE]; /* of its file */
} mgk_model_view;

mgk_status mgk_model_view_open(const char *path, const mgk_job *job, mgk_model_view *out);

/* The same without weights and without a device, which a description does not need. */
mgk_status mgk_model_view_outline(const char *path, const mgk_job *job, mgk_model_view *out);
void mgk_model_view_close(mgk_model_view *model);

#endif
