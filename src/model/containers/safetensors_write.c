/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "model/containers/safetensors.h"
#include "model/containers/safetensors_private.h"

#define CHUNK 4096    /* elements converted at a time */
#define ALIGNMENT 8   /* of the first tensor, in bytes from the start of the file */
#define MAX_ELEMENT 8 /* bytes */

/* The placeholder of the digest. */
static const char no_digest[MGK_SHA256_HEX_SIZE] =
    "0000000000000000000000000000000000000000000000000000000000000000";

static mgk_status check_view(const mgk_tensor_view *view, size_t *bytes)
{
    size_t count;
    TRY(mgk_safetensors_check_name(view->name));
    if (view->axes < 0 || view->axes > MGK_MAX_AXES)
        return mgk_fail(STATUS_UNSUPPORTED, "tensor \"%.200s\" has %d axes, expected 0 to %d",
                        view->name, view->axes, MGK_MAX_AXES);
    if (!mgk_dtype_is_real(view->storage) ||
        (view->source != MGK_DTYPE_F32 && view->source != MGK_DTYPE_F64))
        return mgk_fail(STATUS_UNSUPPORTED, "tensor \"%.200s\": cannot store %s as %s", view->name,
                        mgk_dtype_name(view->source), mgk_dtype_name(view->storage));
    return mgk_safetensors_measure(view->name, view->storage, view->axes, view->shape, &count,
                                   bytes);
}

/* cJSON's adders accept NULL and return false or NULL: that reports a lack of memory. */
static bool describe_view(cJSON *header, const mgk_tensor_view *view, size_t begin, size_t end)
{
    cJSON *entry = cJSON_AddObjectToObject(header, view->name);
    bool added = cJSON_AddStringToObject(entry, "dtype", mgk_dtype_name(view->storage)) != NULL;
    cJSON *shape = cJSON_AddArrayToObject(entry, "shape");
    for (int axis = 0; axis < view->axes; axis++)
        added &= mgk_json_append(shape, cJSON_CreateNumber((double)view->shape[axis]));
    cJSON *offsets = cJSON_AddArrayToObject(entry, "data_offsets");
    added &= mgk_json_append(offsets, cJSON_CreateNumber((double)begin));
    added &= mgk_json_append(offsets, cJSON_CreateNumber((double)end));
    return added && shape;
}

static mgk_status describe(const mgk_tensor_view *tensors, size_t count,
                           const mgk_metadata *metadata, size_t metadata_count, cJSON *header)
{
    bool added = header != NULL;
    if (metadata_count > 0) {
        cJSON *pairs = cJSON_AddObjectToObject(header, MGK_SAFETENSORS_METADATA);
        for (size_t i = 0; i < metadata_count; i++) {
            const char *value = metadata[i].value ? metadata[i].value : no_digest;
            added &= cJSON_AddStringToObject(pairs, metadata[i].key, value) != NULL;
        }
    }
    size_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        size_t bytes;
        TRY(check_view(&tensors[i], &bytes));
        added &= describe_view(header, &tensors[i], begin, begin + bytes);
        begin += bytes;
    }
    if (!added)
        return mgk_fail(STATUS_MEMORY, "no memory for the header");
    return mgk_json_check_keys(header);
}

/* The header with its length, its text, and spaces up to the alignment. */
static mgk_status make_header(const mgk_tensor_view *tensors, size_t count,
                              const mgk_metadata *metadata, size_t metadata_count, char **out,
                              size_t *size)
{
    mgk_status status = STATUS_OK;
    char *text = NULL;
    cJSON *header = cJSON_CreateObject();
    CHECK(describe(tensors, count, metadata, metadata_count, header));
    text = cJSON_PrintUnformatted(header);
    if (!text) {
        status = mgk_fail(STATUS_MEMORY, "no memory for the header");
        goto out;
    }
    size_t length = strlen(text);
    uint64_t padded = (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (padded > MGK_SAFETENSORS_MAX_HEADER) {
        status = mgk_fail(STATUS_FORMAT, "the header is over %d bytes", MGK_SAFETENSORS_MAX_HEADER);
        goto out;
    }
    *size = sizeof(padded) + (size_t)padded;
    CHECK(mgk_alloc(*size, 1, out));
    memset(*out, ' ', *size);
    memcpy(*out, &padded, sizeof(padded));
    memcpy(*out + sizeof(padded), text, length);
out:
    cJSON_free(text);
    cJSON_Delete(header);
    return status;
}

static mgk_status write_bytes(FILE *stream, const char *path, const void *bytes, size_t size)
{
    if (fwrite(bytes, 1, size, stream) != size)
        return mgk_fail_write(path, errno);
    return STATUS_OK;
}

static mgk_status write_tensor(FILE *stream, const char *path, const mgk_tensor_view *view)
{
    unsigned char chunk[CHUNK * MAX_ELEMENT];
    const unsigned char *source = view->data;
    size_t source_size = mgk_dtype_size(view->source), size = mgk_dtype_size(view->storage);
    size_t count, bytes;
    TRY(mgk_safetensors_measure(view->name, view->storage, view->axes, view->shape, &count,
                                &bytes));
    for (size_t first = 0; first < count; first += CHUNK) {
        size_t filled = count - first < CHUNK ? count - first : CHUNK;
        for (size_t i = 0; i < filled; i++) {
            double value = mgk_dtype_decode(view->source, source + (first + i) * source_size);
            if (!mgk_dtype_encode(view->storage, value, chunk + i * size))
                return mgk_fail(STATUS_NUMERIC,
                                "%s: tensor \"%.200s\": element %zu is %g, which %s cannot hold",
                                path, view->name, first + i, value, mgk_dtype_name(view->storage));
        }
        TRY(write_bytes(stream, path, chunk, filled * size));
    }
    return STATUS_OK;
}

static mgk_status write_all(const mgk_output *output, const char *header, size_t header_size,
                            const mgk_tensor_view *tensors, size_t count)
{
    mgk_status status;
    FILE *stream = fopen(output->temporary, "wb");
    if (!stream)
        return mgk_fail_write(output->path, errno);
    CHECK(write_bytes(stream, output->path, header, header_size));
    for (size_t i = 0; i < count; i++)
        CHECK(write_tensor(stream, output->path, &tensors[i]));
    return mgk_close_written(stream, output->path);
out:
    fclose(stream);
    return status;
}

mgk_status mgk_safetensors_write(const char *path, bool force, const mgk_tensor_view *tensors,
                                 size_t count, const mgk_metadata *metadata, size_t metadata_count)
{
    mgk_output output = {0};
    char *header = NULL;
    size_t header_size = 0;
    mgk_status status =
        make_header(tensors, count, metadata, metadata_count, &header, &header_size);
    if (status != STATUS_OK)
        return mgk_fail_prefix(status, path);
    CHECK(mgk_output_open(path, force, &output));
    CHECK(write_all(&output, header, header_size, tensors, count));
    for (size_t i = 0; status == STATUS_OK && i < metadata_count; i++)
        if (!metadata[i].value)
            status = mgk_safetensors_seal(output.temporary, header, header_size, metadata[i].key);
    if (status != STATUS_OK) {
        mgk_fail_prefix(status, path);
        goto out;
    }
    CHECK(mgk_output_commit(&output));
out:
    mgk_output_discard(&output);
    mgk_free(header);
    return status;
}
