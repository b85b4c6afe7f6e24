/* SPDX-License-Identifier: MIT */
#include "api/api.h"

#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/unfinished.h"
#include "run/arguments.h"
#include "run/files.h"
#include "run/job.h"

const char *mgk_error(void)
{
    return mgk_fail_message();
}

const char *mgk_version(void)
{
    return MGK_VERSION;
}

void mgk_release(void *memory)
{
    mgk_free(memory);
}

void mgk_remove_unfinished(void)
{
    mgk_unfinished_remove();
}

static mgk_status write_output(const mgk_job *job, const char *path, const void *bytes, size_t size)
{
    mgk_claims claims = {0};
    TRY(mgk_check_place("path", path));
    TRY(mgk_check_array("bytes", bytes, size));
    mgk_status status = mgk_claims_add_output(&claims, path);
    if (status == STATUS_OK)
        status = mgk_files_lock(&claims, job);
    if (status == STATUS_OK)
        status = mgk_write_file(path, job->force, bytes, size);
    mgk_claims_release(&claims);
    return status;
}

mgk_result mgk_write_output(const mgk_job *job, const char *path, const void *bytes, size_t size)
{
    return mgk_api_result(write_output(mgk_job_or_default(job), path, bytes, size));
}

mgk_result mgk_api_result(mgk_status status)
{
    switch (status) {
    case STATUS_OK:
        return MGK_OK;
    case STATUS_USAGE:
        return MGK_USAGE;
    case STATUS_INTERRUPTED:
        return MGK_INTERRUPTED;
    case STATUS_MEMORY:
        return MGK_MEMORY;
    case STATUS_DEVICE:
        return MGK_DEVICE;
    case STATUS_IO:
        return MGK_IO;
    case STATUS_EXISTS:
        return MGK_EXISTS;
    case STATUS_FORMAT:
    case STATUS_SHAPE:
    case STATUS_NUMERIC:
    case STATUS_UNSUPPORTED:
        return MGK_INPUT;
    }
    return MGK_INPUT;
}

mgk_result mgk_check_job(const mgk_job *job)
{
    return mgk_api_result(mgk_job_check(mgk_job_or_default(job)));
}

void mgk_api_init(void *options, size_t size, const void *defaults, size_t known)
{
    if (!options || size < sizeof(size))
        return;
    memset(options, 0, size);
    memcpy(options, defaults, size < known ? size : known);
    memcpy(options, &size, sizeof(size));
}

mgk_status mgk_api_take(const void *options, size_t known, void *out)
{
    const unsigned char *bytes = options;
    size_t size;
    if (!options)
        return STATUS_OK;
    memcpy(&size, options, sizeof(size));
    if (size < sizeof(size) || size > 64 * known)
        return mgk_fail(STATUS_USAGE, "options: expected to be begun by their defaults function");
    for (size_t i = known; i < size; i++)
        if (bytes[i] != 0)
            return mgk_fail(STATUS_USAGE,
                            "options: a field is set that version %s of the library does not know",
                            MGK_VERSION);
    memcpy(out, options, size < known ? size : known);
    memcpy(out, &known, sizeof(known));
    return STATUS_OK;
}
