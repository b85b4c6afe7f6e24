/* SPDX-License-Identifier: MIT */
/* mgk_convert_model: converts any checkpoint to the toolkit's own format. */
#include "api/api.h"
#include "base/file.h"
#include "model/formats/format.h"
#include "run/arguments.h"
#include "run/files.h"
#include "run/job.h"

void mgk_convert_options_init(mgk_convert_options *options, size_t size)
{
    const mgk_convert_options defaults = {.model = NULL};
    mgk_api_init(options, size, &defaults, sizeof(defaults));
}

static mgk_status claim_files(const mgk_convert_options *o, mgk_claims *claims)
{
    TRY(mgk_files_model(claims, o->model));
    TRY(mgk_claims_add_output(claims, o->output));
    return mgk_files_lock(claims, &o->job);
}

static mgk_status convert(const mgk_convert_options *o)
{
    mgk_status status;
    mgk_device *device = NULL;
    mgk_model *model = NULL;
    mgk_claims claims = {0};
    const mgk_dtype storage = o->half_precision     ? MGK_DTYPE_F16
                              : o->double_precision ? MGK_DTYPE_F64
                                                    : MGK_DTYPE_F32;
    if (!o->model || !o->output)
        return mgk_fail(STATUS_USAGE, "a model and an output file are needed");
    if (o->half_precision && o->double_precision)
        return mgk_fail(STATUS_USAGE, "weights are of double or of half precision, not both");
    TRY(mgk_job_check(&o->job));
    CHECK(claim_files(o, &claims));
    CHECK(mgk_check_ending(o->output, "a model is safetensors", ".safetensors"));
    CHECK(mgk_output_check(o->output, o->job.force));
    /* Weights are rounded once. */
    CHECK(mgk_device_open("cpu", storage == MGK_DTYPE_F32 ? MGK_SINGLE : MGK_DOUBLE, 1, &device));
    CHECK(mgk_job_load_model(o->model, &o->job, device, &model));
    mgk_job_report_remark(&o->job, o->model, model->remark);
    char name[256];
    mgk_model_name(o->model, name, sizeof(name));
    const mgk_model_note notes[] = {{"command", o->job.command ? o->job.command : "not known"},
                                    {"source", name}};
    CHECK(mgk_model_save_as(model, storage, o->output, o->job.force, notes, 2, NULL, 0));
out:
    mgk_model_free(model);
    mgk_device_close(device);
    mgk_claims_release(&claims);
    return status;
}

mgk_result mgk_convert_model(const mgk_convert_options *options)
{
    mgk_convert_options o = mgk_convert_options_default();
    mgk_status status = mgk_api_take(options, sizeof(o), &o);
    return mgk_api_result(status == STATUS_OK ? convert(&o) : status);
}
