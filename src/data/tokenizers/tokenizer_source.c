/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/tokenizer_source.h"

#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "data/tokenizers/base64.h"

const char *mgk_tokenizer_source_name(const mgk_tokenizer_source *source)
{
    if (source->path)
        return mgk_file_name(source->path);
    return source->carried->child ? source->carried->child->string : "";
}

bool mgk_tokenizer_is_object(mgk_span text)
{
    size_t start = 0;
    while (start < text.size && text.data[start] && strchr(" \t\r\n", text.data[start]))
        start++;
    return start < text.size && text.data[start] == '{';
}

mgk_span mgk_tokenizer_part_bytes(const mgk_tokenizer_part *part)
{
    if (part->mapping.data)
        return (mgk_span){(const char *)part->mapping.data, part->mapping.size};
    return (mgk_span){part->decoded.data ? (const char *)part->decoded.data : "",
                      part->decoded.size};
}

void mgk_tokenizer_part_close(mgk_tokenizer_part *part)
{
    mgk_unmap_file(&part->mapping);
    mgk_buffer_free(&part->decoded);
}

/* Adds an open file to those that were read. */
static mgk_status note(cJSON *read, const char *name, const mgk_tokenizer_part *part)
{
    mgk_buffer text = {0};
    mgk_status status = mgk_base64_encode(mgk_tokenizer_part_bytes(part), &text);
    if (status == STATUS_OK)
        status = mgk_buffer_append(&text, "", 1);
    if (status == STATUS_OK &&
        !mgk_json_add(read, name, cJSON_CreateString((const char *)text.data)))
        status = mgk_fail(STATUS_MEMORY, "no memory for the files of a tokenizer");
    mgk_buffer_free(&text);
    return status;
}

static mgk_status map(const mgk_tokenizer_source *source, const char *path, mgk_tokenizer_part *out)
{
    TRY(mgk_map_limited(path, MGK_JSON_BYTES, &out->mapping));
    if (out->mapping.size == 0)
        return mgk_fail(STATUS_FORMAT, "%s: 0 bytes", path);
    return source->read ? note(source->read, mgk_file_name(path), out) : STATUS_OK;
}

static mgk_status decode(const cJSON *file, mgk_tokenizer_part *out)
{
    const char *text = cJSON_GetStringValue(file);
    mgk_status status = text ? mgk_base64_decode((mgk_span){text, strlen(text)}, &out->decoded)
                             : mgk_fail(STATUS_FORMAT, "expected text");
    if (status == STATUS_OK && out->decoded.size == 0)
        status = mgk_fail(STATUS_FORMAT, "0 bytes");
    return status == STATUS_OK ? status : mgk_fail_prefix(status, file->string);
}

mgk_status mgk_tokenizer_source_own(const mgk_tokenizer_source *source, mgk_tokenizer_part *out)
{
    *out = (mgk_tokenizer_part){0};
    if (source->path)
        return map(source, source->path, out);
    return source->carried->child ? decode(source->carried->child, out)
                                  : mgk_fail(STATUS_FORMAT, "it has no files");
}

/* Makes the path of another file in the same folder. */
static mgk_status beside(const char *path, const char *name, char **out)
{
    char *folder;
    TRY(mgk_folder_of(path, &folder));
    mgk_status status = mgk_join_path(folder, name, out);
    mgk_free(folder);
    return status;
}

static mgk_status map_beside(const mgk_tokenizer_source *source, const char *name, bool needed,
                             mgk_tokenizer_part *out)
{
    struct stat info;
    char *path;
    TRY(beside(source->path, name, &path));
    const bool there = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    mgk_status status = needed || there ? map(source, path, out) : STATUS_OK;
    mgk_free(path);
    return status;
}

mgk_status mgk_tokenizer_source_other(const mgk_tokenizer_source *source, const char *name,
                                      bool needed, mgk_tokenizer_part *out)
{
    *out = (mgk_tokenizer_part){0};
    if (source->path)
        return map_beside(source, name, needed, out);
    const cJSON *file = cJSON_GetObjectItemCaseSensitive(source->carried, name);
    if (file)
        return decode(file, out);
    return needed ? mgk_fail(STATUS_FORMAT, "%s: it is missing", name) : STATUS_OK;
}
