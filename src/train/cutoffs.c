/* SPDX-License-Identifier: MIT */
#include "train/cutoffs.h"

#include "base/number.h"

static mgk_status read_cutoffs(const char *cutoffs, mgk_config *config)
{
    const char *end = cutoffs;
    int64_t value, before = 0;
    for (;; end++) {
        if (!mgk_read_int64(end, &end, &value) || value <= before || (*end && *end != ','))
            return mgk_fail(STATUS_USAGE,
                            "`adaptive_cutoffs` \"%.80s\": expected ascending positive numbers "
                            "with commas between them",
                            cutoffs);
        if (value >= config->vocabulary)
            return mgk_fail(STATUS_USAGE,
                            "`adaptive_cutoffs` \"%.80s\": %lld is not below the number of tokens, "
                            "%d",
                            cutoffs, (long long)value, config->vocabulary);
        if (config->cutoff_count == MGK_MAX_CUTOFFS)
            return mgk_fail(STATUS_USAGE, "`adaptive_cutoffs` \"%.80s\": expected at most %d",
                            cutoffs, MGK_MAX_CUTOFFS);
        config->cutoffs[config->cutoff_count++] = (int)value;
        before = value;
        if (!*end)
            return STATUS_OK;
    }
}

mgk_status mgk_cutoffs_set(const char *cutoffs, int divisor, mgk_config *config)
{
    if (divisor < 0)
        return mgk_fail(STATUS_USAGE, "`adaptive_divisor` is %d, expected a positive number",
                        divisor);
    if (!cutoffs)
        return divisor > 1 ? mgk_fail(STATUS_USAGE, "`adaptive_divisor` needs `adaptive_cutoffs`")
                           : STATUS_OK;
    if (config->family != MGK_FAMILY_LM)
        return mgk_fail(STATUS_USAGE,
                        "`adaptive_cutoffs` is for language models, not for classifiers");
    TRY(read_cutoffs(cutoffs, config));
    config->cutoff_divisor = divisor > 1 ? divisor : 0;
    if (mgk_config_part_width(config, config->cutoff_count) == 0)
        return mgk_fail(STATUS_USAGE,
                        "`adaptive_divisor` %d leaves no numbers of `dim`, %d, to the embeddings "
                        "after the last cutoff",
                        divisor, config->dim);
    return STATUS_OK;
}
