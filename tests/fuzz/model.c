/* SPDX-License-Identifier: MIT */
/*
 * Models: config.json with tensors, and the recipes that read them. The parts of an input are
 * config.json, preprocessor_config.json and a list of tensors, one per line: "name 2 3". All
 * weights are 0; the shapes are true, because the file really has that size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fuzz/fuzz.h"
#include "model/formats/format.h"

enum { MOST_TENSORS = 128, MOST_NUMBERS = 1 << 16, MOST_BYTES = 1 << 28, NAME = 128 };

/* A device that only allocates weights. */
static mgk_status allocate(mgk_device *device, size_t bytes, void *out)
{
    (void)device;
    if (bytes > MOST_BYTES)
        abort(); /* impossible for so few numbers */
    return mgk_alloc(bytes, 1, out);
}

static void release(mgk_device *device, void *array)
{
    (void)device;
    mgk_free(array);
}

static mgk_status upload(mgk_device *device, void *array, const void *host, size_t bytes)
{
    (void)device;
    memcpy(array, host, bytes);
    return STATUS_OK;
}

static const mgk_operations operations = {
    .allocate = allocate, .release = release, .upload = upload};

/* Parses "name 2 3"; false: not a tensor, or a large one. */
static bool read_line(const char *line, char name[NAME], mgk_tensor_view *out)
{
    static const float zeros[MOST_NUMBERS];
    size_t count = 1;
    int read = 0;
    *out = (mgk_tensor_view){
        .name = name, .storage = MGK_DTYPE_F32, .source = MGK_DTYPE_F32, .data = zeros};
    if (sscanf(line, "%127s%n", name, &read) != 1)
        return false;
    line += read;
    for (unsigned size; out->axes < MGK_MAX_AXES && sscanf(line, "%7u%n", &size, &read) == 1;
         line += read) {
        out->shape[out->axes++] = size;
        if (__builtin_mul_overflow(count, size, &count))
            return false;
    }
    return count <= MOST_NUMBERS;
}

/* Writes the file of the listed tensors; false: they are invalid. */
static bool write_tensors(char *list)
{
    static char names[MOST_TENSORS][NAME];
    mgk_tensor_view views[MOST_TENSORS];
    char path[FUZZ_PATH], *rest = list;
    size_t count = 0;
    for (const char *line; count < MOST_TENSORS && (line = strsep(&rest, "\n"));)
        count += read_line(line, names[count], &views[count]);
    fuzz_path("model.safetensors", path);
    return mgk_safetensors_write(path, true, views, count, NULL, 0) == STATUS_OK;
}

static void load(const char *path)
{
    const mgk_model_options options[] = {
        {0}, {.decoder = true}, {.head_dim = 5}, {.attention = "linear"}};
    mgk_device device = {.op = &operations, .precision = MGK_SINGLE, .real_size = sizeof(float)};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        mgk_model *model;
        if (mgk_model_load(path, &options[i], i < 2 ? &device : NULL, &model) == STATUS_OK)
            mgk_model_free(model);
        else if (model)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const names[] = {"config.json", "preprocessor_config.json"};
    fuzz_parts parts = {bytes, size};
    size_t length;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const uint8_t *part = fuzz_next_part(&parts, &length);
        fuzz_write(names[i], length > 0 ? part : NULL, length);
    }
    const uint8_t *list = fuzz_next_part(&parts, &length);
    char *text = list ? strndup((const char *)list, length) : NULL;
    if (text && write_tensors(text))
        load(fuzz_folder());
    free(text);
    return 0;
}
