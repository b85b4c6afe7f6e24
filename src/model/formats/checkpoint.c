/* SPDX-License-Identifier: MIT */
#include "model/formats/checkpoint.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

/* More anchors than any format has. */
enum { KNOWN_PREFIXES = 16 };

struct mgk_known_prefix {
    const char *anchor; /* NULL: free */
    bool found;
    char prefix[MGK_TENSOR_NAME];
};

mgk_status mgk_checkpoint_json(const mgk_checkpoint *checkpoint, const char *name, char **path,
                               cJSON **object)
{
    mgk_mapping file;
    struct stat info;
    *object = NULL;
    TRY(mgk_join_path(checkpoint->folder, name, path));
    if (stat(*path, &info) != 0) {
        mgk_free(*path);
        *path = NULL;
        return STATUS_OK;
    }
    TRY(mgk_map_limited(*path, MGK_JSON_BYTES, &file));
    mgk_status status = mgk_json_parse_object((const char *)file.data, file.size, object);
    mgk_unmap_file(&file);
    return status == STATUS_OK ? STATUS_OK : mgk_fail_prefix(status, *path);
}

/* The toolkit's own files are complete: they ignore other files in the folder. */
static bool is_complete(const mgk_checkpoint *checkpoint)
{
    const char *format = mgk_tensors_text(checkpoint->tensors, "format");
    return format && strcmp(format, "mgk") == 0;
}

/* Whether a path ends like that of a file: ".safetensors", but not "Qwen2.5-0.5B". */
static bool has_ending(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && dot[1] && dot[1 + strspn(dot + 1, "abcdefghijklmnopqrstuvwxyz")] == '\0';
}

/* A path that leads nowhere may be a model's name on Hugging Face: "owner/name" without such a
 * folder. */
static mgk_status expect_no_name(const char *path)
{
    struct stat info;
    char *owner;
    const char *slash = strchr(path, '/');
    if (!slash || slash == path || *path == '.' || !slash[1] || strchr(slash + 1, '/') ||
        has_ending(path) || stat(path, &info) == 0)
        return STATUS_OK;
    TRY(mgk_folder_of(path, &owner));
    mgk_status status = STATUS_OK;
    if (!mgk_is_folder(owner))
        status = mgk_fail(STATUS_IO,
                          "%s: no such file or folder; models are not downloaded by name: \"hf "
                          "download %s\" does it, and prints the folder to give here",
                          path, path);
    mgk_free(owner);
    return status;
}

mgk_status mgk_checkpoint_open(const char *path, mgk_checkpoint *out)
{
    mgk_status status;
    *out = (mgk_checkpoint){.path = path};
    CHECK(expect_no_name(path));
    CHECK(mgk_tensors_open(path, &out->tensors));
    CHECK(mgk_is_folder(path) ? mgk_copy_string(path, &out->folder)
                              : mgk_folder_of(path, &out->folder));
    CHECK(mgk_alloc(KNOWN_PREFIXES, sizeof(*out->prefixes), &out->prefixes));
    CHECK(mgk_alloc(mgk_tensors_count(out->tensors), sizeof(*out->used), &out->used));
    /*
     * Reads any config.json, but does not let a broken one prevent loading files that do not need
     * it.
     */
    if (!is_complete(out))
        CHECK(mgk_checkpoint_json(out, "config.json", &out->config_path, &out->config));
out:
    if (status != STATUS_OK)
        mgk_checkpoint_close(out);
    return status;
}

void mgk_checkpoint_close(mgk_checkpoint *checkpoint)
{
    cJSON_Delete(checkpoint->config);
    mgk_free(checkpoint->config_path);
    mgk_free(checkpoint->folder);
    mgk_free(checkpoint->prefixes);
    mgk_free(checkpoint->used);
    mgk_tensors_close(checkpoint->tensors);
    *checkpoint = (mgk_checkpoint){0};
}

static bool find_prefix(const mgk_checkpoint *checkpoint, const char *anchor,
                        char prefix[MGK_TENSOR_NAME])
{
    size_t length = strlen(anchor);
    for (size_t i = 0; i < mgk_tensors_count(checkpoint->tensors); i++) {
        const char *name = mgk_tensors_at(checkpoint->tensors, i)->name;
        size_t size = strlen(name), before = size - length;
        if (size < length || before >= MGK_TENSOR_NAME / 2 || strcmp(name + before, anchor) != 0 ||
            (before > 0 && name[before - 1] != '.'))
            continue;
        memcpy(prefix, name, before);
        prefix[before] = '\0';
        return true;
    }
    return false;
}

const mgk_tensor_info *mgk_checkpoint_find(const mgk_checkpoint *checkpoint, const char *format,
                                           ...)
{
    char name[MGK_TENSOR_NAME];
    va_list words;
    va_start(words, format);
    vsnprintf(name, sizeof(name), format, words);
    va_end(words);
    return mgk_tensors_find(checkpoint->tensors, name);
}

bool mgk_checkpoint_prefix(const mgk_checkpoint *checkpoint, const char *anchor,
                           char prefix[MGK_TENSOR_NAME])
{
    struct mgk_known_prefix *known = checkpoint->prefixes;
    for (; known < checkpoint->prefixes + KNOWN_PREFIXES && known->anchor; known++)
        if (strcmp(known->anchor, anchor) == 0) {
            if (known->found)
                memcpy(prefix, known->prefix, sizeof(known->prefix));
            return known->found;
        }
    bool found = find_prefix(checkpoint, anchor, prefix);
    if (known < checkpoint->prefixes + KNOWN_PREFIXES) {
        *known = (struct mgk_known_prefix){.anchor = anchor, .found = found};
        if (found)
            snprintf(known->prefix, sizeof(known->prefix), "%s", prefix);
    }
    return found;
}

static const cJSON *member(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNull(item) ? NULL : item;
}

static const cJSON *item_of(const mgk_checkpoint *checkpoint, const char *key)
{
    return member(checkpoint->config, key);
}

static mgk_status wrong_type(const mgk_checkpoint *checkpoint, const char *key, const char *type)
{
    return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is not %s", checkpoint->config_path, key, type);
}

mgk_status mgk_checkpoint_integer(const mgk_checkpoint *checkpoint, const char *key, int fallback,
                                  int *out)
{
    const cJSON *item = item_of(checkpoint, key);
    *out = fallback;
    if (!item)
        return STATUS_OK;
    if (!cJSON_IsNumber(item) || item->valuedouble != (double)item->valueint)
        return wrong_type(checkpoint, key, "an integer");
    *out = item->valueint;
    return STATUS_OK;
}

mgk_status mgk_checkpoint_needed(const mgk_checkpoint *checkpoint, const char *key, int *out)
{
    if (!item_of(checkpoint, key))
        return mgk_fail(STATUS_FORMAT, "%s: \"%s\" is missing", checkpoint->config_path, key);
    return mgk_checkpoint_integer(checkpoint, key, 0, out);
}

mgk_status mgk_checkpoint_real_of(const mgk_checkpoint *checkpoint, const cJSON *object,
                                  const char *key, double *out)
{
    const cJSON *item = member(object, key);
    if (!item)
        return STATUS_OK;
    if (!cJSON_IsNumber(item))
        return wrong_type(checkpoint, key, "a number");
    *out = item->valuedouble;
    return STATUS_OK;
}

mgk_status mgk_checkpoint_real(const mgk_checkpoint *checkpoint, const char *key, double fallback,
                               double *out)
{
    *out = fallback;
    return mgk_checkpoint_real_of(checkpoint, checkpoint->config, key, out);
}

mgk_status mgk_checkpoint_flag(const mgk_checkpoint *checkpoint, const char *key, bool fallback,
                               bool *out)
{
    const cJSON *item = item_of(checkpoint, key);
    *out = fallback;
    if (!item)
        return STATUS_OK;
    if (!cJSON_IsBool(item))
        return wrong_type(checkpoint, key, "true or false");
    *out = cJSON_IsTrue(item);
    return STATUS_OK;
}

mgk_status mgk_checkpoint_string_of(const mgk_checkpoint *checkpoint, const cJSON *object,
                                    const char *key, const char **out)
{
    const cJSON *item = member(object, key);
    if (!item)
        return STATUS_OK;
    if (!cJSON_IsString(item))
        return wrong_type(checkpoint, key, "a string");
    *out = item->valuestring;
    return STATUS_OK;
}

mgk_status mgk_checkpoint_string(const mgk_checkpoint *checkpoint, const char *key,
                                 const char *fallback, const char **out)
{
    *out = fallback;
    return mgk_checkpoint_string_of(checkpoint, checkpoint->config, key, out);
}

mgk_status mgk_checkpoint_object(const mgk_checkpoint *checkpoint, const char *key,
                                 const cJSON **out)
{
    const cJSON *item = item_of(checkpoint, key);
    if (item && !cJSON_IsObject(item))
        return wrong_type(checkpoint, key, "an object");
    *out = item;
    return STATUS_OK;
}

const char *mgk_layer_of_name(const char *name, int *layer)
{
    static const char layers[] = "layers.";
    char *rest;
    *layer = -1;
    if (strncmp(name, layers, sizeof(layers) - 1) != 0)
        return name;
    long number = strtol(name + sizeof(layers) - 1, &rest, 10);
    if (*rest != '.' || number < 0 || number > INT_MAX)
        return name;
    *layer = (int)number;
    return rest + 1;
}
