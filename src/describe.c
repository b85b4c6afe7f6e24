/* mgk_describe_file: what a file is, and what it holds. */
#include "describe.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "face.h"

mgk_status mgk_describe_add(cJSON *object, const char *name, cJSON *item)
{
    if (cJSON_AddItemToObject(object, name, item))
        return STATUS_OK;
    cJSON_Delete(item);
    return mgk_fail(STATUS_MEMORY, "no memory for a description");
}

/* HDF5 begins at 0, or at 512, 1024, ... behind a block of somebody else's (MATLAB's). */
static bool is_hdf5(const mgk_mapping *file)
{
    static const unsigned char signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    for (size_t at = 0; at + sizeof(signature) <= file->size; at = at ? 2 * at : 512)
        if (memcmp(file->data + at, signature, sizeof(signature)) == 0)
            return true;
    return false;
}

static mgk_status print_json(const cJSON *tree, char **text)
{
    char *printed = cJSON_Print(tree);
    if (!printed)
        return mgk_fail(STATUS_MEMORY, "no memory for a description");
    mgk_status status = mgk_copy_string(printed, text);
    cJSON_free(printed);
    return status;
}

static mgk_status describe(const char *path, bool json, char **text)
{
    mgk_status status;
    mgk_mapping file;
    cJSON *tree = NULL;
    TRY(mgk_map_file(path, &file));
    bool hdf5 = is_hdf5(&file);
    double bytes = (double)file.size;
    mgk_unmap_file(&file);
    tree = cJSON_CreateObject();
    CHECK(mgk_describe_add(tree, "file", cJSON_CreateString(path)));
    CHECK(mgk_describe_add(tree, "bytes", cJSON_CreateNumber(bytes)));
    CHECK(hdf5 ? mgk_describe_hdf5(path, tree) : mgk_describe_model(path, tree));
    CHECK(json ? print_json(tree, text) : mgk_describe_text(tree, text));
out:
    cJSON_Delete(tree);
    return status;
}

mgk_result mgk_describe_file(const char *path, bool json, char **text)
{
    *text = NULL;
    return mgk_face_result(describe(path, json, text));
}
