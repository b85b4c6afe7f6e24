#include "api/api.h"

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
    default:
        return MGK_FAILED;
    }
}

mgk_result mgk_check_job(const mgk_job *job)
{
    return mgk_api_result(mgk_job_check(mgk_job_or_default(job)));
}
