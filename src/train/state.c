#include "train/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/format.h"

mgk_status mgk_run_create(mgk_model *model, mgk_train_run *out)
{
    mgk_status status;
    mgk_device *device = model->device;
    size_t bytes = model->parameters.total * device->real_size;
    *out = (mgk_train_run){.model = model};
    CHECK(device->op->allocate(device, bytes, &out->gradient));
    CHECK(device->op->allocate(device, bytes, &out->m));
    CHECK(device->op->allocate(device, bytes, &out->v));
out:
    if (status != STATUS_OK)
        mgk_run_free(out);
    return status;
}

void mgk_run_free(mgk_train_run *run)
{
    if (!run->model)
        return;
    mgk_device *device = run->model->device;
    device->op->release(device, run->gradient);
    device->op->release(device, run->m);
    device->op->release(device, run->v);
    *run = (mgk_train_run){0};
}

/* What must be the same for a continued run to equal an uninterrupted one. */
static void describe_settings(const mgk_train_settings *s, char *text, size_t size)
{
    snprintf(text, size,
             "steps %lld batch %d accumulation %d rate %a warmup %lld decay %d weight_decay %a "
             "clip %a beta1 %a beta2 %a epsilon %a seed %llu",
             (long long)s->steps, s->batch, s->accumulation, s->rate, (long long)s->warmup,
             (int)s->decay, s->weight_decay, s->clip, s->beta1, s->beta2, s->epsilon,
             (unsigned long long)s->seed);
}

static void describe_progress(const mgk_train_run *run, char *text, size_t size)
{
    snprintf(text, size, "step %lld best %d %a %a %lld log %a %lld %lld", (long long)run->step,
             run->has_best, run->best.loss, run->best.accuracy, (long long)run->best.count,
             run->since_log.sum, (long long)run->since_log.count,
             (long long)run->since_log.correct);
}

static mgk_status parse_progress(const char *text, const char *path, mgk_train_run *run)
{
    long long step, count, log_count, log_correct;
    double loss, accuracy, log_sum;
    int has_best;
    if (sscanf(text, "step %lld best %d %la %la %lld log %la %lld %lld", &step, &has_best, &loss,
               &accuracy, &count, &log_sum, &log_count, &log_correct) != 8 ||
        step < 0)
        return mgk_fail(STATUS_FORMAT, "%s: malformed training state", path);
    run->step = step;
    run->has_best = has_best != 0;
    run->best = (mgk_evaluation){loss, accuracy, count};
    run->since_log = (mgk_loss){log_sum, log_count, log_correct};
    return STATUS_OK;
}

enum { TEXT_SIZE = 512 };

mgk_status mgk_run_save(const mgk_train_run *run, const mgk_train_settings *settings)
{
    mgk_status status;
    size_t total = run->model->parameters.total;
    double *m = NULL, *v = NULL;
    char settings_text[TEXT_SIZE], progress_text[TEXT_SIZE];
    describe_settings(settings, settings_text, sizeof(settings_text));
    describe_progress(run, progress_text, sizeof(progress_text));
    const mgk_model_note notes[] = {{"training_settings", settings_text},
                                    {"training_progress", progress_text}};
    CHECK(mgk_alloc(total, sizeof(*m), &m));
    CHECK(mgk_alloc(total, sizeof(*v), &v));
    CHECK(mgk_model_download(run->model, run->m, m));
    CHECK(mgk_model_download(run->model, run->v, v));
    const mgk_model_extra extras[] = {{"m.", m}, {"v.", v}};
    CHECK(mgk_model_save(run->model, settings->checkpoint, true, notes, 2, extras, 2));
out:
    mgk_free(m);
    mgk_free(v);
    return status;
}

static mgk_status check_same_run(const mgk_safetensors *file, const mgk_train_run *run,
                                 const mgk_train_settings *settings)
{
    char expected[TEXT_SIZE];
    const char *found = mgk_safetensors_metadata(file, "training_settings");
    if (!found || !mgk_safetensors_metadata(file, "training_progress"))
        return mgk_fail(STATUS_FORMAT, "%s: holds no training state to resume", settings->resume);
    describe_settings(settings, expected, sizeof(expected));
    if (strcmp(found, expected) != 0)
        return mgk_fail(STATUS_USAGE,
                        "%s: was trained with other settings than these; resume with the command "
                        "that began it",
                        settings->resume);
    const char *found_config = mgk_safetensors_metadata(file, "config");
    char *config;
    TRY(mgk_config_to_json(&run->model->config, &config));
    bool same = found_config && strcmp(config, found_config) == 0;
    mgk_free(config);
    if (!same)
        return mgk_fail(STATUS_SHAPE, "%s: belongs to a model of another configuration",
                        settings->resume);
    return STATUS_OK;
}

static mgk_status read_array(const mgk_safetensors *file, const mgk_train_run *run,
                             const char *path, const char *prefix, void *array)
{
    const mgk_parameters *parameters = &run->model->parameters;
    double *values;
    TRY(mgk_alloc(parameters->total, sizeof(*values), &values));
    mgk_status status = mgk_format_read_tensors(file, path, prefix, parameters, values);
    if (status == STATUS_OK)
        status = mgk_model_upload(run->model, values, array);
    mgk_free(values);
    return status;
}

mgk_status mgk_run_load(mgk_train_run *run, const mgk_train_settings *settings)
{
    mgk_status status;
    mgk_safetensors *file = NULL;
    CHECK(mgk_safetensors_open(settings->resume, &file));
    CHECK(check_same_run(file, run, settings));
    CHECK(
        parse_progress(mgk_safetensors_metadata(file, "training_progress"), settings->resume, run));
    CHECK(read_array(file, run, settings->resume, "", run->model->weights));
    CHECK(read_array(file, run, settings->resume, "m.", run->m));
    CHECK(read_array(file, run, settings->resume, "v.", run->v));
out:
    mgk_safetensors_close(file);
    return status;
}
