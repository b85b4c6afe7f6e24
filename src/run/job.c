/* SPDX-License-Identifier: MIT */
#include "run/job.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cores.h"
#include "cluster/cluster.h"
#include "model/core/model_hash.h"
#include "model/formats/format.h"
#include "run/kind_settings.h"
#include "run/part.h"

const mgk_job *mgk_job_or_default(const mgk_job *job)
{
    static const mgk_job usual = {.device = NULL};
    return job ? job : &usual;
}

mgk_status mgk_job_check(const mgk_job *job)
{
    return mgk_device_check(job->device ? job->device : "auto", job->threads);
}

mgk_status mgk_job_open_device(const mgk_job *job, bool double_precision, mgk_device **out)
{
    const bool several = job->cluster && job->threads == 0; /* they share the processors */
    TRY(mgk_device_open_in_turn(job->device ? job->device : "auto", mgk_cluster_place(job->cluster),
                                double_precision ? MGK_DOUBLE : MGK_SINGLE,
                                several ? mgk_default_threads() : job->threads, out));
    if (!job->tf32)
        return STATUS_OK;
    mgk_status status = (*out)->op->allow_tf32(*out);
    if (status != STATUS_OK) {
        mgk_device_close(*out);
        *out = NULL;
    }
    return status;
}

static mgk_status load(const char *path, const mgk_job *job, const char *usual_part,
                       mgk_device *device, mgk_model **out)
{
    const bool decoder = mgk_part_decodes(job->part);
    const bool encoder = job->part && strcmp(job->part, "encoder") == 0;
    const mgk_model_options options = {.head_dim = job->head_dim,
                                       .attention = job->attention,
                                       .trained_with = job->trained_with,
                                       .part = decoder || encoder ? NULL : job->part,
                                       .usual_part = usual_part,
                                       .decoder = decoder,
                                       .encoder = encoder};
    *out = NULL;
    TRY(mgk_part_check(job->part));
    if (options.head_dim < 0)
        return mgk_fail(STATUS_USAGE, "head dim %d: expected a positive number", options.head_dim);
    return mgk_model_load(path, &options, device, out);
}

mgk_status mgk_job_load_model(const char *path, const mgk_job *job, mgk_device *device,
                              mgk_model **out)
{
    return load(path, job, NULL, device, out);
}

mgk_status mgk_job_load_reader(const char *path, const mgk_job *job, const mgk_input *input,
                               mgk_device *device, mgk_model **out)
{
    return load(path, job, input->image_count > 0 ? "vision" : "text", device, out);
}

mgk_status mgk_job_run_as(const mgk_job *job, mgk_model *model)
{
    mgk_attention_settings settings;
    mgk_config known = model->config;
    TRY(mgk_job_take_settings(job, &settings));
    if (!job->run_as)
        return STATUS_OK;
    TRY(mgk_settings_kinds(job->run_as, &known));
    return mgk_model_run_as(model, job->run_as, &settings, (int)(job->seed % INT_MAX), job->seed);
}

mgk_status mgk_job_check_encoder(const mgk_job *job, const mgk_model *model, const char *path)
{
    if (model->config.memory == 0 || mgk_part_decodes(job->part))
        return STATUS_OK;
    return mgk_fail(
        STATUS_UNSUPPORTED,
        "%s: a decoder alone, without the encoder whose output it reads: name the model "
        "that has both, and choose the decoder by `part`",
        path);
}

void mgk_job_report(const mgk_job *job, const mgk_report *report)
{
    if (job->watcher.report && mgk_cluster_leads(job->cluster))
        job->watcher.report(job->watcher.context, report);
}

void mgk_job_report_device(const mgk_job *job, const mgk_device *device)
{
    char note[sizeof(device->name) + 64], each[48] = "";
    const int processes = mgk_cluster_size_of(job->cluster);
    if (processes > 1)
        snprintf(each, sizeof(each), ", each of %d processes", processes);
    snprintf(note, sizeof(note), "computing on %s%s", device->name, each);
    mgk_job_report(job, &(mgk_report){.note = note});
}

void mgk_job_limit_note(int threads, int wanted, char note[MGK_LIMIT_NOTE])
{
    snprintf(note, MGK_LIMIT_NOTE, "memory suffices for %d of %d threads (`memory`)", threads,
             wanted);
}

bool mgk_job_stopped(const mgk_job *job)
{
    return job->watcher.stop && job->watcher.stop(job->watcher.context);
}

void mgk_model_name(const char *path, char *name, size_t size)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t first = length;
    while (first > 0 && path[first - 1] != '/')
        first--;
    snprintf(name, size, "%.*s", (int)(length - first), path + first);
}

void mgk_job_report_remark(const mgk_job *job, const char *path, const char *remark)
{
    char note[900], name[128];
    if (!remark)
        return;
    mgk_model_name(path, name, sizeof(name));
    snprintf(note, sizeof(note), "%s: %s", name, remark);
    const mgk_report report = {.note = note, .milestone = true, .warning = true};
    mgk_job_report(job, &report);
}

mgk_status mgk_model_view_open(const char *path, const mgk_job *job, mgk_model_view *out)
{
    mgk_status status;
    *out = (mgk_model_view){0};
    CHECK(mgk_device_open("cpu", MGK_SINGLE, 1, &out->device));
    CHECK(mgk_job_load_model(path, job, out->device, &out->model));
    CHECK(mgk_model_sha256(path, out->sha256));
out:
    if (status != STATUS_OK)
        mgk_model_view_close(out);
    return status;
}

mgk_status mgk_model_view_outline(const char *path, const mgk_job *job, mgk_model_view *out)
{
    mgk_status status;
    *out = (mgk_model_view){0};
    CHECK(mgk_job_load_model(path, job, NULL, &out->model));
    CHECK(mgk_model_sha256(path, out->sha256));
out:
    if (status != STATUS_OK)
        mgk_model_view_close(out);
    return status;
}

void mgk_model_view_close(mgk_model_view *model)
{
    mgk_model_free(model->model);
    mgk_device_close(model->device);
    *model = (mgk_model_view){0};
}
