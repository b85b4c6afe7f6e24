/* mgk_describe_file: what a file is, and what it holds. */
#include "describe.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "face.h"
#include "recognise.h"

mgk_status mgk_describe_add(cJSON *object, const char *name, cJSON *item)
{
    if (cJSON_AddItemToObject(object, name, item))
        return STATUS_OK;
    cJSON_Delete(item);
    return mgk_fail(STATUS_MEMORY, "no memory for a description");
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

/* Names and texts come from files, and names of files from anywhere: JSON is UTF-8. */
static mgk_status make_valid(char **text)
{
    char *valid;
    size_t size = strlen(*text) + 1;
    mgk_status status = mgk_alloc(size, 1, &valid);
    if (status == STATUS_OK)
        mgk_utf8_copy(*text, size, valid, size);
    mgk_free(*text);
    *text = valid;
    return status;
}

mgk_status mgk_describe_print(const cJSON *tree, bool json, char **text)
{
    TRY(json ? print_json(tree, text) : mgk_describe_text(tree, text));
    return make_valid(text);
}

static mgk_status describe_file(const char *path, const mgk_job *job, cJSON *tree)
{
    mgk_file file;
    mgk_file_kind kind;
    TRY(mgk_file_open(path, &file));
    double bytes = (double)file.size;
    mgk_file_close(&file);
    TRY(mgk_recognise(path, &kind));
    TRY(mgk_describe_add(tree, "bytes", cJSON_CreateNumber(bytes)));
    if (kind == MGK_FILE_RANKS_CSV)
        return mgk_describe_ranks(path, tree);
    if (kind == MGK_FILE_JSON) {
        mgk_status status = mgk_describe_ranks(path, tree);
        if (status != STATUS_FORMAT)
            return status;
    }
    if (kind == MGK_FILE_RANKS_HDF5)
        return mgk_describe_rank_arrays(path, tree);
    return kind == MGK_FILE_ARRAYS ? mgk_describe_arrays(path, tree)
                                   : mgk_describe_checkpoint(path, job, tree);
}

static mgk_status describe(const char *path, const mgk_job *job, bool json, char **text)
{
    mgk_status status;
    cJSON *tree = NULL;
    CHECK(mgk_face_check_place("file", path));
    CHECK(mgk_face_check_place("place for the text", text));
    tree = cJSON_CreateObject();
    CHECK(mgk_describe_add(tree, "file", cJSON_CreateString(path)));
    CHECK(mgk_is_folder(path) ? mgk_describe_checkpoint(path, job, tree)
                              : describe_file(path, job, tree));
    CHECK(mgk_describe_print(tree, json, text));
out:
    cJSON_Delete(tree);
    return status;
}

mgk_result mgk_describe_file(const char *path, const mgk_job *job, bool json, char **text)
{
    if (text)
        *text = NULL;
    return mgk_face_result(describe(path, mgk_face_job(job), json, text));
}
