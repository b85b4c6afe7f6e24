/* SPDX-License-Identifier: MIT */
#include "analysis/run/failure.h"

#include <stdio.h>

void mgk_failure_open(mgk_failure *failure)
{
    *failure = (mgk_failure){.status = STATUS_OK};
    omp_init_lock(&failure->lock);
}

void mgk_failure_close(mgk_failure *failure)
{
    omp_destroy_lock(&failure->lock);
}

void mgk_failure_record(mgk_failure *failure, size_t part, mgk_status status)
{
    if (status == STATUS_OK)
        return;
    omp_set_lock(&failure->lock);
    if (failure->status == STATUS_OK || part < failure->part) {
        failure->status = status;
        failure->part = part;
        snprintf(failure->message, sizeof(failure->message), "%s", mgk_fail_message());
    }
    omp_unset_lock(&failure->lock);
}

bool mgk_failure_before(mgk_failure *failure, size_t part)
{
    omp_set_lock(&failure->lock);
    const bool failed = failure->status != STATUS_OK && failure->part <= part;
    omp_unset_lock(&failure->lock);
    return failed;
}

mgk_status mgk_failure_return(const mgk_failure *failure)
{
    return failure->status == STATUS_OK ? STATUS_OK
                                        : mgk_fail(failure->status, "%s", failure->message);
}
