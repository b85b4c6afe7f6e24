/* A job (mgk.h): the device it names, the model it loads, the watcher it reports to. */
#ifndef MGK_RUN_JOB_H
#define MGK_RUN_JOB_H

#include "base/sha256.h"
#include "kernels/backend.h"
#include "mgk.h"
#include "model/core/model.h"

/* The job, or that of the defaults where it is NULL. */
const mgk_job *mgk_job_or_default(const mgk_job *job);

/*
 * Checks what every job says, also where it opens no device: STATUS_USAGE for a device that is no
 * name of one, or threads beyond 0 to 4096; where the device is not there, as opening it fails.
 */
mgk_status mgk_job_check(const mgk_job *job);

/* Opens the job's device. STATUS_USAGE: it has no TF32, which the job wants. */
mgk_status mgk_job_open_device(const mgk_job *job, bool double_precision, mgk_device **out);

/* Loads a model as the job says. */
mgk_status mgk_job_load_model(const char *path, const mgk_job *job, mgk_device *device,
                              mgk_model **out);

/* Passes a report on to the job's watcher. */
void mgk_job_report(const mgk_job *job, const mgk_report *report);

/* Tells the job's watcher what it computes on: the kernels decide how long it takes. */
void mgk_job_report_device(const mgk_job *job, const mgk_device *device);

/* Tells the job's watcher a remark about the file or folder at `path`; NULL: there is none. */
void mgk_job_report_remark(const mgk_job *job, const char *path, const char *remark);

/* Whether the job's watcher asks to stop. */
bool mgk_job_stopped(const mgk_job *job);

/* The last component of a model's path, also where it is a folder: "b" of "a/b/". */
void mgk_model_name(const char *path, char *name, size_t size);

/* A model opened on the CPU to be looked at, in single precision. Zeroed is closed. */
typedef struct mgk_model_view {
    mgk_device *device;
    mgk_model *model;
    char sha256[MGK_SHA256_HEX_SIZE]; /* of its file */
} mgk_model_view;

mgk_status mgk_model_view_open(const char *path, const mgk_job *job, mgk_model_view *out);

/* The same without weights: neither they nor a device are needed to say what a model is. */
mgk_status mgk_model_view_outline(const char *path, const mgk_job *job, mgk_model_view *out);
void mgk_model_view_close(mgk_model_view *model);

#endif
