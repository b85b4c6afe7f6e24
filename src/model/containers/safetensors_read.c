/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/containers/safetensors.h"
#include "model/containers/safetensors_private.h"

#define LENGTH_SIZE 8      /* bytes of the header length */
#define MAX_INTEGER 0x1p53 /* JSON numbers are read as double and are exact up to here */

/* A tensor and the offset of its first byte from the end of the header. */
typedef struct placed_tensor {
    mgk_tensor_info info; /* first: callers hold a pointer to it */
    size_t offset;
} placed_tensor;

struct mgk_safetensors {
    mgk_file file;
    cJSON *header; /* owns the names and the metadata */
    size_t count, metadata_count;
    placed_tensor *tensors;       /* [count], by offset */
    mgk_metadata *metadata;       /* [metadata_count] */
    size_t data_start, data_size; /* bytes */
};

mgk_status mgk_safetensors_check_name(const char *name)
{
    if (strcmp(name, MGK_SAFETENSORS_METADATA) == 0)
        return mgk_fail(STATUS_FORMAT, "tensor name \"%s\" is reserved", name);
    for (const char *c = name; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return mgk_fail(STATUS_FORMAT, "a tensor name holds the control character %d", *c);
    }
    return STATUS_OK;
}

mgk_status mgk_safetensors_measure(const char *name, mgk_dtype dtype, int axes, const size_t *shape,
                                   size_t *count, size_t *bytes)
{
    mgk_status status = STATUS_OK;
    *count = 1;
    for (int axis = 0; axis < axes && status == STATUS_OK; axis++)
        status = mgk_multiply(*count, shape[axis], count);
    if (status == STATUS_OK)
        status = mgk_multiply(*count, mgk_dtype_size(dtype), bytes);
    if (status != STATUS_OK)
        return mgk_fail(STATUS_FORMAT, "tensor \"%.200s\" is too large for this machine", name);
    return STATUS_OK;
}

/*
 * Reads a JSON array of at most `limit` non-negative integers, *count of them;
 * `what` names the array in messages about tensor `name`.
 */
static mgk_status read_integers(const cJSON *array, const char *name, const char *what, int limit,
                                size_t *values, int *count)
{
    const cJSON *item;
    *count = 0;
    if (!cJSON_IsArray(array))
        return mgk_fail(STATUS_FORMAT, "tensor \"%.200s\": %s is not an array", name, what);
    cJSON_ArrayForEach(item, array)
    {
        double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
        if (!(value >= 0 && value <= MAX_INTEGER) || value != floor(value))
            return mgk_fail(STATUS_FORMAT,
                            "tensor \"%.200s\": %s holds something other than a size", name, what);
        if (*count == limit)
            return mgk_fail(STATUS_UNSUPPORTED, "tensor \"%.200s\": %s has more than %d entries",
                            name, what, limit);
        values[(*count)++] = (size_t)value;
    }
    return STATUS_OK;
}

static mgk_status read_tensor(const cJSON *entry, size_t data_size, placed_tensor *placed)
{
    const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(entry, "dtype");
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(entry, "shape");
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(entry, "data_offsets");
    mgk_tensor_info *tensor = &placed->info;
    size_t range[2], bytes;
    int range_count;
    TRY(mgk_safetensors_check_name(entry->string));
    tensor->name = entry->string;
    if (!cJSON_IsObject(entry) || !cJSON_IsString(dtype))
        return mgk_fail(STATUS_FORMAT, "tensor \"%.200s\" has no dtype", tensor->name);
    mgk_status status = mgk_dtype_parse(dtype->valuestring, &tensor->dtype);
    if (status != STATUS_OK)
        return mgk_fail(status, "tensor \"%.200s\" is of type \"%.16s\", which is not supported",
                        tensor->name, dtype->valuestring);
    TRY(read_integers(shape, tensor->name, "shape", MGK_MAX_AXES, tensor->shape, &tensor->axes));
    TRY(read_integers(offsets, tensor->name, "data_offsets", 2, range, &range_count));
    if (range_count != 2 || range[0] > range[1] || range[1] > data_size)
        return mgk_fail(STATUS_FORMAT,
                        "tensor \"%.200s\": data_offsets are not a range within the %zu %s of "
                        "data%s",
                        tensor->name, data_size, MGK_NOUN(data_size, "byte", "bytes"),
                        range_count == 2 && range[0] <= range[1]
                            ? ": is the file a download that is not complete?"
                            : "");
    TRY(mgk_safetensors_measure(tensor->name, tensor->dtype, tensor->axes, tensor->shape,
                                &tensor->count, &bytes));
    if (bytes != range[1] - range[0])
        return mgk_fail(STATUS_FORMAT, "tensor \"%.200s\" takes %zu %s, expected %zu by its shape",
                        tensor->name, range[1] - range[0],
                        MGK_NOUN(range[1] - range[0], "byte", "bytes"), bytes);
    placed->offset = range[0];
    return STATUS_OK;
}

static size_t size_of(const mgk_tensor_info *tensor)
{
    return tensor->count * mgk_dtype_size(tensor->dtype);
}

static size_t end_of(const placed_tensor *tensor)
{
    return tensor->offset + size_of(&tensor->info);
}

/* An empty tensor precedes the one that starts at the same offset. */
static int compare_places(const void *a, const void *b)
{
    const placed_tensor *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (end_of(x) != end_of(y))
        return end_of(x) < end_of(y) ? -1 : 1;
    return strcmp(x->info.name, y->info.name);
}

static mgk_status check_layout(const mgk_safetensors *file)
{
    size_t end = 0;
    for (size_t i = 0; i < file->count; i++) {
        const placed_tensor *tensor = &file->tensors[i];
        if (tensor->offset < end)
            return mgk_fail(STATUS_FORMAT, "tensors \"%.200s\" and \"%.200s\" overlap",
                            file->tensors[i - 1].info.name, tensor->info.name);
        if (tensor->offset > end)
            return mgk_fail(STATUS_FORMAT, "%zu %s before tensor \"%.200s\" %s to none",
                            tensor->offset - end, MGK_NOUN(tensor->offset - end, "byte", "bytes"),
                            tensor->info.name, MGK_NOUN(tensor->offset - end, "belongs", "belong"));
        end = end_of(tensor);
    }
    if (end != file->data_size)
        return mgk_fail(
            STATUS_FORMAT, "%zu %s to no tensor", file->data_size - end,
            MGK_NOUN(file->data_size - end, "byte at the end belongs", "bytes at the end belong"));
    return STATUS_OK;
}

static mgk_status read_metadata(mgk_safetensors *file, const cJSON *metadata)
{
    const cJSON *item;
    size_t count = 0;
    if (!cJSON_IsObject(metadata))
        return mgk_fail(STATUS_FORMAT, MGK_SAFETENSORS_METADATA " is not an object");
    cJSON_ArrayForEach(item, metadata) count++;
    TRY(mgk_alloc(count, sizeof(*file->metadata), &file->metadata));
    cJSON_ArrayForEach(item, metadata)
    {
        if (!cJSON_IsString(item))
            return mgk_fail(STATUS_FORMAT, MGK_SAFETENSORS_METADATA " holds other than strings");
        file->metadata[file->metadata_count++] = (mgk_metadata){item->string, item->valuestring};
    }
    return STATUS_OK;
}

static mgk_status read_tensors(mgk_safetensors *file)
{
    const cJSON *entry;
    size_t entries = 0;
    cJSON_ArrayForEach(entry, file->header) entries++;
    TRY(mgk_alloc(entries + 1, sizeof(*file->tensors), &file->tensors));
    cJSON_ArrayForEach(entry, file->header)
    {
        if (strcmp(entry->string, MGK_SAFETENSORS_METADATA) == 0) {
            TRY(read_metadata(file, entry));
        } else {
            TRY(read_tensor(entry, file->data_size, &file->tensors[file->count++]));
        }
    }
    qsort(file->tensors, file->count, sizeof(*file->tensors), compare_places);
    return check_layout(file);
}

static mgk_status parse_header(mgk_safetensors *file, size_t length)
{
    char *text;
    TRY(mgk_alloc(length + 1, 1, &text)); /* + 1: an allocation of 0 bytes would be NULL */
    mgk_status status = mgk_file_read(&file->file, LENGTH_SIZE, length, text);
    if (status == STATUS_OK) {
        status = mgk_json_parse_object(text, length, &file->header);
        if (status != STATUS_OK)
            mgk_fail_prefix(status, "safetensors header");
    }
    mgk_free(text);
    return status;
}

static mgk_status read_header(mgk_safetensors *file)
{
    size_t size = file->file.size;
    uint64_t length;
    if (size < LENGTH_SIZE)
        return mgk_fail(STATUS_FORMAT, "%zu %s too short for a safetensors file", size,
                        MGK_NOUN(size, "byte is", "bytes are"));
    TRY(mgk_file_read(&file->file, 0, LENGTH_SIZE, &length));
    if (length > MGK_SAFETENSORS_MAX_HEADER || length > size - LENGTH_SIZE)
        return mgk_fail(STATUS_FORMAT,
                        "not a safetensors file, or a download that is not complete: a header of "
                        "%llu bytes, expected at most %d and the file's size",
                        (unsigned long long)length, MGK_SAFETENSORS_MAX_HEADER);
    file->data_start = LENGTH_SIZE + (size_t)length;
    file->data_size = size - file->data_start;
    TRY(parse_header(file, (size_t)length));
    return read_tensors(file);
}

mgk_status mgk_safetensors_open(const char *path, mgk_safetensors **out)
{
    mgk_status status = STATUS_OK;
    mgk_safetensors *file = NULL;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*file), &file));
    CHECK(mgk_file_open(path, &file->file));
    status = read_header(file);
    if (status != STATUS_OK)
        mgk_fail_prefix(status, path);
out:
    if (status == STATUS_OK)
        *out = file;
    else
        mgk_safetensors_close(file);
    return status;
}

void mgk_safetensors_close(mgk_safetensors *file)
{
    if (!file)
        return;
    cJSON_Delete(file->header);
    mgk_free(file->tensors);
    mgk_free(file->metadata);
    mgk_file_close(&file->file);
    mgk_free(file);
}

size_t mgk_safetensors_count(const mgk_safetensors *file)
{
    return file->count;
}

const mgk_tensor_info *mgk_safetensors_at(const mgk_safetensors *file, size_t index)
{
    return &file->tensors[index].info;
}

const mgk_metadata *mgk_safetensors_all_metadata(const mgk_safetensors *file, size_t *count)
{
    *count = file->metadata_count;
    return file->metadata;
}

mgk_status mgk_safetensors_read_bytes(const mgk_safetensors *file, const mgk_tensor_info *tensor,
                                      size_t first, size_t count, void *bytes)
{
    const placed_tensor *placed = (const placed_tensor *)tensor;
    if (first > size_of(tensor) || count > size_of(tensor) - first)
        return mgk_fail(STATUS_FORMAT, "%s: tensor \"%.200s\" has only %zu %s", file->file.path,
                        tensor->name, size_of(tensor), MGK_NOUN(size_of(tensor), "byte", "bytes"));
    return mgk_file_read(&file->file, file->data_start + placed->offset + first, count, bytes);
}
