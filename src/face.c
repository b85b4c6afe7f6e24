#include "face.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/numpy.h"
#include "base/unfinished.h"
#include "model/format.h"
#include "model/model_hash.h"
#include "recognise.h"
#include "store/integers.h"

const char *mgk_error(void)
{
    return mgk_fail_message();
}

const char *mgk_version(void)
{
    return MGK_VERSION;
}

void mgk_release(void *memory)
{
    mgk_free(memory);
}

void mgk_remove_unfinished(void)
{
    mgk_unfinished_remove();
}

mgk_result mgk_face_result(mgk_status status)
{
    switch (status) {
    case STATUS_OK:
        return MGK_OK;
    case STATUS_USAGE:
        return MGK_USAGE;
    case STATUS_INTERRUPTED:
        return MGK_INTERRUPTED;
    default:
        return MGK_FAILED;
    }
}

const mgk_job *mgk_face_job(const mgk_job *job)
{
    static const mgk_job usual = {.device = NULL};
    return job ? job : &usual;
}

mgk_status mgk_face_check_place(const char *what, const void *place)
{
    return place ? STATUS_OK : mgk_fail(STATUS_USAGE, "no %s is given", what);
}

mgk_status mgk_face_check_array(const char *what, const void *array, size_t count)
{
    if (array || count == 0)
        return STATUS_OK;
    return mgk_fail(STATUS_USAGE, "%s: %zu of them, but no array", what, count);
}

mgk_status mgk_face_check_names(const char *what, const char *const *names, size_t count)
{
    TRY(mgk_face_check_array(what, names, count));
    for (size_t i = 0; i < count; i++)
        if (!names[i])
            return mgk_fail(STATUS_USAGE, "%s: number %zu of %zu is none", what, i + 1, count);
    return STATUS_OK;
}

mgk_status mgk_face_check_input(const mgk_input *input)
{
    TRY(mgk_face_check_names("text", input->text, input->text_count));
    TRY(mgk_face_check_names("data", input->data, input->data_count));
    return mgk_face_check_names("images", input->images, input->image_count);
}

mgk_status mgk_face_device(const mgk_job *job, bool double_precision, mgk_device **out)
{
    TRY(mgk_device_open(job->device ? job->device : "auto",
                        double_precision ? MGK_DOUBLE : MGK_SINGLE, job->threads, out));
    if (!job->tf32)
        return STATUS_OK;
    mgk_status status = (*out)->op->allow_tf32(*out);
    if (status != STATUS_OK) {
        mgk_device_close(*out);
        *out = NULL;
    }
    return status;
}

mgk_status mgk_face_check_job(const mgk_job *job)
{
    return mgk_device_check(job->device ? job->device : "auto", job->threads);
}

mgk_result mgk_check_job(const mgk_job *job)
{
    return mgk_face_result(mgk_face_check_job(mgk_face_job(job)));
}

void mgk_face_report(const mgk_job *job, const mgk_report *report)
{
    if (job->watcher.report)
        job->watcher.report(job->watcher.context, report);
}

void mgk_face_report_device(const mgk_job *job, const mgk_device *device)
{
    char note[sizeof(device->name) + 16];
    snprintf(note, sizeof(note), "computing on %s", device->name);
    mgk_face_report(job, &(mgk_report){.note = note});
}

bool mgk_face_stopped(const mgk_job *job)
{
    return job->watcher.stop && job->watcher.stop(job->watcher.context);
}

/* The task whose samples an input asks for. */
static mgk_status input_task(const mgk_input *input, const mgk_config *config, mgk_task *task)
{
    if ((input->text_count > 0) + (input->tokens != NULL) + (input->task != NULL) != 1)
        return mgk_fail(STATUS_USAGE, "expected one of --text, --tokens and --task");
    if (input->task)
        return mgk_task_from_name(input->task, task);
    *task = input->tokens ? MGK_TASK_TOKENS : config->dual ? MGK_TASK_RETRIEVAL : MGK_TASK_LM;
    return STATUS_OK;
}

/* Generated lists get the proportions of the recipe within the model's length. */
static void fit_listops(mgk_dataset_options *options)
{
    if (options->listops_below > options->length + 1)
        options->listops_below = options->length + 1;
    options->listops_above = options->listops_below / 4;
}

/* Ids of an HDF5 file are read here: src/data does not know the format. */
static mgk_status open_tokens(const char *path, mgk_dataset_options *options, mgk_dataset **out)
{
    mgk_file_kind kind;
    mgk_store_integers read;
    bool numpy;
    TRY(mgk_recognise(path, &kind));
    TRY(mgk_recognise_numpy(path, &numpy));
    if (kind != MGK_FILE_ARRAYS || numpy)
        return mgk_dataset_open(options, out);
    TRY(mgk_store_read_integers(path, MGK_MOST_TOKEN_IDS, &read));
    const mgk_token_array array = {read.values, read.rows, read.columns, read.flat,
                                   read.is_unsigned};
    options->ids = &array;
    mgk_status status = mgk_dataset_open(options, out);
    mgk_free(read.values);
    return status;
}

/* Matrices of N = 4096 take 64 MB each: longer ones must be asked for. */
static size_t default_length(const mgk_input *input, const mgk_config *config)
{
    enum { MOST = 4096 };
    if (input->length)
        return (size_t)input->length;
    return (size_t)(config->length < MOST ? config->length : MOST);
}

mgk_status mgk_face_input(const mgk_input *input, const mgk_model *model,
                          const mgk_tokenizer *tokenizer, uint64_t seed, mgk_dataset **out)
{
    const mgk_config *config = &model->config;
    mgk_task task;
    *out = NULL;
    TRY(input_task(input, config, &task));
    if (input->length < 0)
        return mgk_fail(STATUS_USAGE, "length %d: expected a positive number", input->length);
    if (input->length > config->length)
        return mgk_fail(STATUS_SHAPE, "length %d: the model has %d positions", input->length,
                        config->length);
    mgk_dataset_options options = mgk_dataset_defaults(task);
    options.split = MGK_SPLIT_EVAL;
    options.paths = input->tokens ? &input->tokens : input->task ? input->data : input->text;
    options.path_count = input->tokens ? 1 : input->task ? input->data_count : input->text_count;
    options.length = default_length(input, config);
    options.seed = seed;
    options.samples = input->samples > 0 ? (size_t)input->samples : 0;
    options.article_per_file = input->article_per_file;
    options.vocabulary = (size_t)config->vocabulary;
    options.padding = config->padding;
    options.fit = input->length == 0;
    options.tokenizer = tokenizer;
    options.lines = input->lines;
    fit_listops(&options);
    TRY(input->tokens ? open_tokens(input->tokens, &options, out)
                      : mgk_dataset_open(&options, out));
    size_t vocabulary = mgk_dataset_shape_of(*out).vocabulary;
    /* A model may have more tokens than its tokenizer: their number is often rounded up. */
    if (vocabulary == (size_t)config->vocabulary ||
        (tokenizer && vocabulary < (size_t)config->vocabulary))
        return STATUS_OK;
    mgk_dataset_close(*out);
    *out = NULL;
    return mgk_fail(STATUS_SHAPE,
                    "the input has a vocabulary of %zu tokens (text: 256 bytes), the model of %d",
                    vocabulary, config->vocabulary);
}

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

mgk_status mgk_face_choose(const char *what, const int *wanted, size_t count, int limit,
                           int32_t **out, size_t *out_count)
{
    size_t chosen = wanted ? count : (size_t)limit;
    TRY(mgk_alloc(chosen, sizeof(**out), out));
    for (size_t i = 0; i < chosen; i++) {
        int index = wanted ? wanted[i] : (int)i;
        if (index < 0 || index >= limit) {
            mgk_free(*out);
            *out = NULL;
            return mgk_fail(STATUS_SHAPE, "%s %d: there are %d, counted from 0", what, index,
                            limit);
        }
        (*out)[i] = index;
    }
    if (chosen > 1)
        qsort(*out, chosen, sizeof(**out), ascending);
    *out_count = 0;
    for (size_t i = 0; i < chosen; i++)
        if (i == 0 || (*out)[i] != (*out)[*out_count - 1])
            (*out)[(*out_count)++] = (*out)[i];
    return STATUS_OK;
}

bool mgk_face_contains(const int32_t *numbers, size_t count, int32_t number)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

mgk_status mgk_face_load(const char *path, const mgk_job *job, mgk_device *device, mgk_model **out)
{
    const mgk_model_options options = {.head_dim = job->head_dim, .attention = job->attention};
    *out = NULL;
    if (options.head_dim < 0)
        return mgk_fail(STATUS_USAGE, "head dim %d: expected a positive number", options.head_dim);
    return mgk_model_load(path, &options, device, out);
}

void mgk_face_model_name(const char *path, char *name, size_t size)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t first = length;
    while (first > 0 && path[first - 1] != '/')
        first--;
    snprintf(name, size, "%.*s", (int)(length - first), path + first);
}

void mgk_face_report_remark(const mgk_job *job, const char *path, const char *remark)
{
    char note[900], name[128];
    if (!remark)
        return;
    mgk_face_model_name(path, name, sizeof(name));
    snprintf(note, sizeof(note), "%s: %s", name, remark);
    const mgk_report report = {.note = note, .milestone = true};
    mgk_face_report(job, &report);
}

mgk_status mgk_face_open_model(const char *path, const mgk_job *job, mgk_face_model *out)
{
    mgk_status status;
    *out = (mgk_face_model){0};
    CHECK(mgk_device_open("cpu", MGK_SINGLE, 1, &out->device));
    CHECK(mgk_face_load(path, job, out->device, &out->model));
    CHECK(mgk_model_sha256(path, out->sha256));
out:
    if (status != STATUS_OK)
        mgk_face_close_model(out);
    return status;
}

mgk_status mgk_face_outline_model(const char *path, const mgk_job *job, mgk_face_model *out)
{
    mgk_status status;
    *out = (mgk_face_model){0};
    CHECK(mgk_face_load(path, job, NULL, &out->model));
    CHECK(mgk_model_sha256(path, out->sha256));
out:
    if (status != STATUS_OK)
        mgk_face_close_model(out);
    return status;
}

void mgk_face_close_model(mgk_face_model *model)
{
    mgk_model_free(model->model);
    mgk_device_close(model->device);
    *model = (mgk_face_model){0};
}

void mgk_face_list_hash(const char *sha256, char *list, size_t size)
{
    size_t used = strlen(list);
    if (*sha256 && !strstr(list, sha256))
        snprintf(list + used, size - used, "%s%s", used ? ", " : "", sha256);
}

mgk_status mgk_face_download(mgk_device *device, const void *reals, size_t count, double *out)
{
    if (device->precision == MGK_DOUBLE)
        return device->op->download(device, out, reals, count * sizeof(double));
    float *single;
    TRY(mgk_alloc(count, sizeof(*single), &single));
    mgk_status status = device->op->download(device, single, reals, count * sizeof(*single));
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        out[i] = (double)single[i];
    mgk_free(single);
    return status;
}
