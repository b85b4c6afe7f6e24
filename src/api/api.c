/* SPDX-License-Identifier: MIT */
#include "api/api.h"

#include <string.h>

#include "base/memory.h"
#include "base/unfinished.h"
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
