/* Which container a file is, told by its first bytes. */
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/zip.h"
#include "model/containers/safetensors.h"
#include "model/containers/tensors_private.h"
#include "model/containers/torch.h"

enum {
    SHOWN = 64,          /* bytes that tell a container */
    MAX_MEMORY = 1 << 30 /* bytes for names and what is known of tensors */
};

static mgk_status read_safetensors(void *file, const void *storage, size_t first, size_t count,
                                   void *bytes)
{
    return mgk_safetensors_read_bytes(file, storage, first, count, bytes);
}

static void close_safetensors(void *file)
{
    mgk_safetensors_close(file);
}

static mgk_status add_safetensors(mgk_tensors *tensors, const char *path)
{
    mgk_safetensors *file;
    size_t count;
    TRY(mgk_safetensors_open(path, &file));
    TRY(mgk_tensors_add_part(
        tensors, path,
        (mgk_tensors_part){.file = file, .read = read_safetensors, .close = close_safetensors}));
    for (size_t i = 0; i < mgk_safetensors_count(file); i++) {
        const mgk_tensor_info *info = mgk_safetensors_at(file, i);
        mgk_stored_tensor tensor = {.info = *info, .storage = info};
        mgk_tensors_set_strides(&tensor);
        TRY(mgk_tensors_add(tensors, &tensor));
    }
    const mgk_metadata *metadata = mgk_safetensors_all_metadata(file, &count);
    for (size_t i = 0; i < count; i++)
        TRY(mgk_tensors_add_value(tensors, &(mgk_tensors_value){.name = metadata[i].key,
                                                                .kind = MGK_VALUE_TEXT,
                                                                .text = metadata[i].value}));
    return STATUS_OK;
}

/* Eight bytes of header length, then a JSON object. */
static bool is_safetensors(const unsigned char *bytes, size_t size)
{
    return size > 8 && bytes[8] == '{';
}

static const struct {
    const char *name;
    bool (*matches)(const unsigned char *bytes, size_t size);
    mgk_status (*add)(mgk_tensors *tensors, const char *path);
} containers[] = {{"PyTorch zip", mgk_is_zip, mgk_torch_add_zip},
                  {"PyTorch legacy", mgk_torch_is_legacy, mgk_torch_add_legacy},
                  {"safetensors", is_safetensors, add_safetensors}};

static mgk_status read_beginning(const char *path, unsigned char bytes[SHOWN], size_t *size)
{
    mgk_file file;
    TRY(mgk_file_open(path, &file));
    *size = file.size < SHOWN ? file.size : SHOWN;
    mgk_status status = mgk_file_read(&file, 0, *size, bytes);
    mgk_file_close(&file);
    return status;
}

static mgk_status add_container(mgk_tensors *tensors, const char *path, const unsigned char *bytes,
                                size_t size, const char **container)
{
    for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++) {
        if (containers[i].matches(bytes, size)) {
            *container = containers[i].name;
            return containers[i].add(tensors, path);
        }
    }
    return mgk_fail(STATUS_FORMAT,
                    "%s: not a file of tensors: expected safetensors, a PyTorch file, or the JSON "
                    "index of several such files",
                    path);
}

mgk_status mgk_tensors_add_container(mgk_tensors *tensors, const char *path, const char **container)
{
    unsigned char bytes[SHOWN];
    size_t size;
    TRY(read_beginning(path, bytes, &size));
    return add_container(tensors, path, bytes, size, container);
}

/* The first of the known names that the folder has. */
static mgk_status find_in_folder(const char *folder, char **out)
{
    static const char *const names[] = {"model.safetensors", "model.safetensors.index.json",
                                        "pytorch_model.bin", "pytorch_model.bin.index.json"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct stat info;
        TRY(mgk_join_path(folder, names[i], out));
        if (stat(*out, &info) == 0)
            return STATUS_OK;
        mgk_free(*out);
    }
    *out = NULL;
    return mgk_fail(STATUS_FORMAT, "%s: a folder without model.safetensors or pytorch_model.bin",
                    folder);
}

static mgk_status add(mgk_tensors *tensors, const char *path)
{
    unsigned char bytes[SHOWN];
    size_t size;
    TRY(read_beginning(path, bytes, &size));
    if (mgk_tensors_is_index(bytes, size))
        return mgk_tensors_add_shards(tensors, path);
    TRY(add_container(tensors, path, bytes, size, &tensors->container));
    return mgk_tensors_complete(tensors);
}

mgk_status mgk_tensors_open(const char *path, mgk_tensors **out)
{
    mgk_status status;
    mgk_tensors *tensors = NULL;
    char *found = NULL;
    *out = NULL;
    if (mgk_is_folder(path))
        TRY(find_in_folder(path, &found));
    CHECK(mgk_alloc(1, sizeof(*tensors), &tensors));
    tensors->arena.limit = MAX_MEMORY;
    CHECK(add(tensors, found ? found : path));
out:
    mgk_free(found);
    if (status == STATUS_OK)
        *out = tensors;
    else
        mgk_tensors_close(tensors);
    return status;
}
