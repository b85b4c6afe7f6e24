/* SPDX-License-Identifier: MIT */
/* mgk_describe_file: kind and contents of a file; mgk_describe_machine: the machine. */
#include "describe/describe.h"

#include <string.h>

#include "api/api.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "run/arguments.h"
#include "run/job.h"
#include "run/part.h"
#include "run/recognise.h"

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
    if (mgk_file_is_diversity(kind)) {
        mgk_status status = mgk_describe_diversity(path, tree);
        /* Arrays that form no measures are still listed. */
        return kind == MGK_FILE_DIVERSITY_HDF5 &&
                       (status == STATUS_FORMAT || status == STATUS_SHAPE ||
                        status == STATUS_UNSUPPORTED)
                   ? mgk_describe_arrays(path, tree)
                   : status;
    }
    if (kind == MGK_FILE_RANKS_HDF5)
        return mgk_describe_rank_arrays(path, tree);
    return kind == MGK_FILE_ARRAYS ? mgk_describe_arrays(path, tree)
                                   : mgk_describe_other(path, job, tree);
}

static mgk_status describe(const char *path, const mgk_job *job, bool json, char **text)
{
    mgk_status status;
    cJSON *tree = NULL;
    CHECK(mgk_check_place("file", path));
    CHECK(mgk_part_check(job->part));
    CHECK(mgk_check_place("place for the text", text));
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
    return mgk_api_result(describe(path, mgk_job_or_default(job), json, text));
}

static mgk_status describe_machine(bool json, char **text)
{
    mgk_status status;
    cJSON *tree = NULL;
    CHECK(mgk_check_place("place for the text", text));
    tree = cJSON_CreateObject();
    CHECK(mgk_describe_host(tree));
    CHECK(mgk_describe_print(tree, json, text));
out:
    cJSON_Delete(tree);
    return status;
}

mgk_result mgk_describe_machine(bool json, char **text)
{
    if (text)
        *text = NULL;
    return mgk_api_result(describe_machine(json, text));
}
