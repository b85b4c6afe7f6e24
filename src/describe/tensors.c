/* SPDX-License-Identifier: MIT */
/* Describes the tensors of a container, model or not. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "describe/describe.h"
#include "model/containers/tensors.h"

enum {
    MAX_TENSORS = 10000, /* shown */
    MAX_VALUES = 1000,
    MAX_TEXT = 200 /* bytes of a name or text */
};

/* Cuts a long text at a character boundary. */
static const char *shorten(const char *text, char shown[MAX_TEXT])
{
    static const char more[] = "...";
    bool fits = strlen(text) < MAX_TEXT;
    mgk_utf8_copy(text, SIZE_MAX, shown, fits ? MAX_TEXT : MAX_TEXT - sizeof(more) + 1);
    if (!fits)
        strcat(shown, more);
    return shown;
}

static mgk_status add_text(cJSON *object, const char *name, const char *text)
{
    char shown_name[MAX_TEXT], shown[MAX_TEXT];
    return mgk_describe_add(object, shorten(name, shown_name),
                            cJSON_CreateString(shorten(text, shown)));
}

/* Adds the number of entries left out of a list. */
static mgk_status add_rest(cJSON *object, size_t count, size_t shown)
{
    char text[48];
    if (count <= shown)
        return STATUS_OK;
    snprintf(text, sizeof(text), "%zu more", count - shown);
    return mgk_describe_add(object, "...", cJSON_CreateString(text));
}

static mgk_status add_tensor(cJSON *list, const mgk_tensor_info *info)
{
    char name[MAX_TEXT];
    double shape[MGK_MAX_AXES];
    cJSON *tensor = cJSON_CreateObject();
    TRY(mgk_describe_add(list, shorten(info->name, name), tensor));
    TRY(mgk_describe_add(tensor, "type", cJSON_CreateString(mgk_dtype_name(info->dtype))));
    for (int axis = 0; axis < info->axes; axis++)
        shape[axis] = (double)info->shape[axis];
    return mgk_describe_add(tensor, "shape", cJSON_CreateDoubleArray(shape, info->axes));
}

static mgk_status add_tensors(const mgk_tensors *tensors, cJSON *tree)
{
    size_t count = mgk_tensors_count(tensors);
    cJSON *list = cJSON_CreateObject();
    TRY(mgk_describe_add(tree, "stored", list));
    for (size_t i = 0; i < count && i < MAX_TENSORS; i++)
        TRY(add_tensor(list, mgk_tensors_at(tensors, i)));
    return add_rest(list, count, MAX_TENSORS);
}

static mgk_status add_value(cJSON *list, const mgk_tensors_value *value)
{
    char shown[MAX_TEXT];
    const char *name = *value->name ? value->name : "(root)";
    if (value->kind != MGK_VALUE_NUMBER)
        return add_text(list, name, value->text);
    return mgk_describe_add(list, shorten(name, shown), cJSON_CreateNumber(value->number));
}

/* Adds the values of one sort, classes or all others, as an object of this name, if there
 * are any. */
static mgk_status add_values(const mgk_tensors *tensors, bool classes, const char *name,
                             cJSON *tree)
{
    size_t count = 0;
    cJSON *list = NULL;
    for (size_t i = 0; i < mgk_tensors_value_count(tensors); i++) {
        const mgk_tensors_value *value = mgk_tensors_value_at(tensors, i);
        if ((value->kind == MGK_VALUE_CLASS) != classes || count++ >= MAX_VALUES)
            continue;
        if (!list)
            TRY(mgk_describe_add(tree, name, list = cJSON_CreateObject()));
        TRY(add_value(list, value));
    }
    return add_rest(list, count, MAX_VALUES);
}

static mgk_status add_files(const mgk_tensors *tensors, cJSON *tree)
{
    size_t count;
    const char *const *files = mgk_tensors_files(tensors, &count);
    if (count == 1)
        return STATUS_OK;
    cJSON *list = cJSON_CreateArray();
    TRY(mgk_describe_add(tree, "files", list));
    for (size_t i = 0; i < count; i++)
        TRY(mgk_describe_append(list, cJSON_CreateString(files[i])));
    return STATUS_OK;
}

static bool is_own(const mgk_tensors *tensors)
{
    const char *format = mgk_tensors_text(tensors, "format");
    return format && strcmp(format, "mgk") == 0;
}

/* The toolkit's own models store the tensors that are listed already; states of runs have more. */
static bool are_listed(const mgk_tensors *tensors, const cJSON *tree)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(tree, "tensors");
    return is_own(tensors) && (size_t)cJSON_GetArraySize(list) == mgk_tensors_count(tensors);
}

/* They all have one. */
static mgk_status add_type(const mgk_tensors *tensors, cJSON *tree)
{
    if (mgk_tensors_count(tensors) == 0)
        return STATUS_OK;
    return add_text(tree, "type", mgk_dtype_name(mgk_tensors_at(tensors, 0)->dtype));
}

static mgk_status add_container(const mgk_tensors *tensors, cJSON *tree)
{
    TRY(mgk_describe_add(tree, "container", cJSON_CreateString(mgk_tensors_container(tensors))));
    TRY(add_files(tensors, tree));
    TRY(add_values(tensors, true, "classes", tree));
    TRY(add_values(tensors, false, "metadata", tree));
    return are_listed(tensors, tree) ? add_type(tensors, tree) : add_tensors(tensors, tree);
}

/* Whether to describe a file that is not a model; a damaged file in the toolkit's own format is an
 * error, and so are facts about the model that do not fit the file. */
static bool is_foreign(const mgk_tensors *tensors, const mgk_job *job, mgk_status status)
{
    const bool told = job->head_dim != 0 || job->attention || job->trained_with || job->part;
    return !is_own(tensors) && status != STATUS_MEMORY && status != STATUS_IO &&
           !(told && status == STATUS_USAGE);
}

mgk_status mgk_describe_checkpoint(const char *path, const mgk_job *job, cJSON *tree)
{
    mgk_tensors *tensors;
    TRY(mgk_tensors_open(path, &tensors));
    mgk_status status = mgk_describe_model(path, job, tree);
    if (status != STATUS_OK && is_foreign(tensors, job, status)) {
        CHECK(mgk_describe_add(tree, "kind", cJSON_CreateString("tensors")));
        CHECK(mgk_describe_add(tree, "no_model", cJSON_CreateString(mgk_fail_message())));
    }
    if (status == STATUS_OK)
        status = add_container(tensors, tree);
out:
    mgk_tensors_close(tensors);
    return status;
}
