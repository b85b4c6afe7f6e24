/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/file.h"
#include "base/locale.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "table/text.h"

static mgk_status parse(char *text, size_t size, mgk_table *table)
{
    mgk_plain_locale scope;
    const size_t mark = mgk_utf8_mark(text, size);
    text += mark;
    size -= mark;
    const size_t blank = strspn(text, " \t\r\n");
    TRY(mgk_plain_locale_begin(&scope));
    mgk_status status = text[blank] == '{' ? mgk_table_parse_json(text, size, table)
                                           : mgk_table_parse_csv(text, size, table);
    mgk_plain_locale_end(&scope);
    return status == STATUS_OK ? mgk_table_check(table) : status;
}

enum { MOST_BYTES = 1 << 30 }; /* size limit of a file */

mgk_status mgk_table_read_text(const mgk_schema *schema, const char *path, mgk_table *out)
{
    mgk_status status = STATUS_OK;
    mgk_mapping mapping = {0};
    char *text = NULL;
    *out = (mgk_table){.schema = schema};
    CHECK(mgk_alloc(schema->column_count, sizeof(*out->values), &out->values));
    CHECK(mgk_map_limited(path, MOST_BYTES, &mapping));
    /* Parsers of numbers need a terminating NUL, which a mapping lacks. */
    CHECK(mgk_alloc(mapping.size + 1, 1, &text));
    if (mapping.size > 0)
        memcpy(text, mapping.data, mapping.size);
    status = parse(text, mapping.size, out);
    if (status != STATUS_OK)
        mgk_fail_prefix(status, path);
out:
    if (status != STATUS_OK)
        mgk_table_free(out);
    mgk_free(text);
    mgk_unmap_file(&mapping);
    return status;
}
