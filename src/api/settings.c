/* SPDX-License-Identifier: MIT */
/* mgk_describe_kind, mgk_describe_setting: the registry of kinds. */
#include "api/api.h"
#include "kernels/attention.h"
#include "run/arguments.h"

/* Setting number `index` of a kind; NULL: it has fewer. */
static const mgk_attention_setting *setting_of(const mgk_attention_kind *kind, size_t index)
{
    const mgk_attention_setting *row = mgk_attention_setting_rows;
    for (; row->name; row++)
        if (mgk_attention_setting_get(&kind->defaults, row) != 0 && index-- == 0)
            return row;
    return NULL;
}

static mgk_status find_kind(size_t index, const void *out, const mgk_attention_kind **kind)
{
    TRY(mgk_check_place("place for the description", out));
    *kind = mgk_attention_row(index);
    return *kind ? STATUS_OK : mgk_fail(STATUS_USAGE, "there is no kind %zu", index);
}

mgk_result mgk_describe_kind(size_t index, mgk_kind_description *out)
{
    const mgk_attention_kind *kind;
    mgk_status status = find_kind(index, out, &kind);
    if (status != STATUS_OK)
        return mgk_api_result(status);
    *out = (mgk_kind_description){.name = kind->name,
                                  .formula = kind->score,
                                  .primitives = kind->methods->primitives,
                                  .devices = kind->on_cuda ? "cpu cuda" : "cpu",
                                  .rank_bound = kind->rank_bound,
                                  .matrix = !kind->no_matrix,
                                  .reason = kind->no_matrix ? kind->no_matrix : ""};
    while (setting_of(kind, out->settings))
        out->settings++;
    return mgk_api_result(STATUS_OK);
}

mgk_result mgk_describe_setting(size_t kind, size_t index, mgk_setting_description *out)
{
    const mgk_attention_kind *of;
    mgk_status status = find_kind(kind, out, &of);
    if (status != STATUS_OK)
        return mgk_api_result(status);
    const mgk_attention_setting *row = setting_of(of, index);
    if (!row)
        return mgk_api_result(
            mgk_fail(STATUS_USAGE, "attention \"%s\" has no setting %zu", of->name, index));
    const int usual = mgk_attention_setting_get(&of->defaults, row);
    *out = (mgk_setting_description){.name = row->name,
                                     .number = row->words ? 0 : usual,
                                     .word = row->words ? row->words[usual] : NULL};
    return mgk_api_result(STATUS_OK);
}
