/* SPDX-License-Identifier: MIT */
/* Tables of text: CSV, and JSON where the bytes begin with '{'. What is read is written and read
 * again, and must be the same. */
#include <stddef.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "table/files.h"

typedef struct record {
    size_t integer;
    int32_t gap, name;
    bool flag;
    int word;
    double real;
} record;

static const char *const words[] = {"red", "blue"};

static const mgk_column columns[] = {
    {"i", MGK_COLUMN_INTEGER, MGK_LEVEL_MATRIX, "", "", "", NULL, 0, offsetof(record, integer),
     false},
    {"gap", MGK_COLUMN_INTEGER_OR_NONE, MGK_LEVEL_MATRIX, "", "", "", NULL, 0,
     offsetof(record, gap), false},
    {"flag", MGK_COLUMN_FLAG, MGK_LEVEL_MATRIX, "", "", "", NULL, 0, offsetof(record, flag), false},
    {"word", MGK_COLUMN_WORD, MGK_LEVEL_MATRIX, "", "", "", words, 2, offsetof(record, word),
     false},
    {"name", MGK_COLUMN_NAME, MGK_LEVEL_MATRIX, "", "", "", NULL, 0, offsetof(record, name), false},
    {"real", MGK_COLUMN_REAL, MGK_LEVEL_MATRIX, "", "", "", NULL, 0, offsetof(record, real), false},
};

enum { COLUMNS = sizeof(columns) / sizeof(*columns), NAME = 4, REAL = 5 };

static const mgk_schema schema = {"fuzz", 1, "table", "rows", columns, COLUMNS};

static void compare(const mgk_table *a, const mgk_table *b)
{
    if (a->row_count != b->row_count)
        __builtin_trap();
    for (size_t r = 0; r < a->row_count; r++)
        for (size_t c = 0; c < COLUMNS; c++) {
            const mgk_values x = a->values[c], y = b->values[c];
            bool same = c == REAL   ? memcmp(&x.reals[r], &y.reals[r], sizeof(double)) == 0
                        : c == NAME ? strcmp(mgk_table_text(a, c, r), mgk_table_text(b, c, r)) == 0
                                    : x.integers[r] == y.integers[r];
            if (!same)
                __builtin_trap();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const copies[] = {"copy.csv", "copy.json"};
    char path[FUZZ_PATH];
    mgk_table table, back;
    int file = fuzz_file_open(bytes, size, path);
    mgk_status status = mgk_table_read_text(&schema, path, &table);
    fuzz_file_close(file);
    if (status != STATUS_OK)
        return 0;
    for (int of_json = 0; of_json < 2; of_json++) {
        fuzz_path(copies[of_json], path);
        status = of_json ? mgk_table_write_json(&table, path, true, NULL, NULL)
                         : mgk_table_write_csv(&table, path, true);
        if (status != STATUS_OK || mgk_table_read_text(&schema, path, &back) != STATUS_OK)
            __builtin_trap();
        compare(&table, &back);
        mgk_table_free(&back);
    }
    mgk_table_free(&table);
    return 0;
}
