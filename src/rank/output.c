/* SPDX-License-Identifier: MIT */
/* Writes the outputs of mgk-rank: a rank file and a picture. */
#include <string.h>

#include "base/file.h"
#include "rank/rank.h"
#include "run/rank_file.h"
#include "table/files.h"

mgk_status mgk_rank_check_endings(const mgk_rank_options *o)
{
    static const char png[] = ".png";
    const size_t tail = sizeof(png) - 1, length = o->png ? strlen(o->png) : 0;
    mgk_table_format format = MGK_TABLE_CSV;
    if (o->output)
        TRY(mgk_table_format_of(o->output, &format));
    if (o->spectrum && format != MGK_TABLE_HDF5)
        return mgk_fail(STATUS_USAGE, "a spectrum needs an HDF5 output (.h5)");
    if (o->png && (length <= tail || strcmp(o->png + length - tail, png) != 0))
        return mgk_fail(STATUS_USAGE, "%s: expected the ending .png", o->png);
    return STATUS_OK;
}

mgk_status mgk_rank_check_outputs(const mgk_rank_options *o)
{
    if (o->output)
        TRY(mgk_output_check(o->output, o->job.force));
    return o->png ? mgk_output_check(o->png, o->job.force) : STATUS_OK;
}

mgk_status mgk_rank_write_outputs(const mgk_rank_options *o, const mgk_rank_table *table)
{
    /* The rank file first: if drawing fails, the numbers are not lost. */
    if (o->output)
        TRY(mgk_rank_file_write(table, o->output, o->job.force));
    return o->png ? mgk_rank_draw(o, table) : STATUS_OK;
}
