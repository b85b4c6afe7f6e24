/* SPDX-License-Identifier: MIT */
#include "analysis/run/rank_journal.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/run/rank_line.h"
#include "base/file.h"
#include "base/locale.h"
#include "base/memory.h"

static mgk_status parse_lines(mgk_journal *journal, size_t input, const mgk_source *source,
                              mgk_rank_table *table, bool *known)
{
    for (;;) {
        const char *line;
        TRY(mgk_journal_next(journal, &line));
        if (!line)
            return STATUS_OK;
        mgk_status status = mgk_rank_line_parse(line, input, source, table, known);
        if (status != STATUS_OK)
            return mgk_journal_fail_line(journal, status);
    }
}

mgk_status mgk_rank_journal_read(mgk_journal *journal, size_t input, const mgk_source *source,
                                 mgk_rank_table *table, bool **known)
{
    mgk_plain_locale scope;
    *known = NULL;
    if (mgk_journal_lines(journal) == 0)
        return STATUS_OK;
    TRY(mgk_rank_table_reserve(table, source->count));
    TRY(mgk_alloc(source->count, sizeof(**known), known));
    TRY(mgk_plain_locale_begin(&scope));
    mgk_status status = mgk_journal_begin(journal);
    if (status == STATUS_OK)
        status = parse_lines(journal, input, source, table, *known);
    mgk_journal_end(journal);
    mgk_plain_locale_end(&scope);
    return status;
}

mgk_status mgk_rank_journal_append(mgk_journal *journal, size_t input, const mgk_rank_table *table,
                                   size_t r)
{
    mgk_plain_locale scope;
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return mgk_fail(STATUS_MEMORY, "no memory for a line of the journal");
    mgk_status status = mgk_plain_locale_begin(&scope);
    if (status == STATUS_OK) {
        status = mgk_rank_line_write(stream, input, table, r);
        mgk_plain_locale_end(&scope);
    }
    if (!mgk_close_text(stream) && status == STATUS_OK)
        status = mgk_fail(STATUS_MEMORY, "no memory for a line of the journal");
    if (status == STATUS_OK)
        status = mgk_journal_append(journal, text, size);
    free(text);
    return status;
}
