/* SPDX-License-Identifier: MIT */
#include "train/optimiser.h"

#include "base/number.h"

static bool is_beta(double value)
{
    return value >= 0 && value < 1;
}

mgk_status mgk_optimiser_set(const char *betas, double epsilon, mgk_train_settings *settings)
{
    const char *end;
    if (betas && (!mgk_read_real(betas, &end, &settings->beta1) || *end != ',' ||
                  !mgk_read_real(end + 1, &end, &settings->beta2) || *end ||
                  !is_beta(settings->beta1) || !is_beta(settings->beta2)))
        return mgk_fail(STATUS_USAGE,
                        "`adam_betas` \"%s\": expected two numbers from 0 to 1, without 1, such as "
                        "0.9,0.98",
                        betas);
    if (!(epsilon >= 0 && epsilon < 1))
        return mgk_fail(STATUS_USAGE, "`adam_epsilon` is %g, expected a number between 0 and 1",
                        epsilon);
    if (epsilon > 0)
        settings->epsilon = epsilon;
    return STATUS_OK;
}
