/* SPDX-License-Identifier: MIT */
#include "train/read_log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "train/log.h"

enum { MOST_BYTES = 1 << 28 }; /* of a log: three million rows */

/* `columns` cells, of which an empty one is NaN, and those after the ninth are not kept. False for
 * any other line. */
static bool parse_row(const char *line, int columns, double cells[MGK_LOG_COLUMNS])
{
    double further;
    const char *end = line;
    for (int i = 0; i < columns; i++, line = end + 1) {
        double *cell = i < MGK_LOG_COLUMNS ? &cells[i] : &further;
        end = line;
        *cell = NAN;
        if (*line != ',' && *line != '\0' && !mgk_read_real(line, &end, cell))
            return false;
        if (*end != (i + 1 < columns ? ',' : '\0'))
            return false;
    }
    return !isnan(cells[MGK_LOG_STEP]);
}

/* The line from `start`, without its end, as a string; returns where the next one starts. */
static size_t take_line(const mgk_mapping *file, size_t start, char *out, size_t size)
{
    size_t end = start;
    while (end < file->size && file->data[end] != '\n')
        end++;
    size_t length = end - start;
    if (length > 0 && file->data[end - 1] == '\r')
        length--;
    snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1),
             (const char *)file->data + start);
    return end + 1;
}

/* Columns that a first line names, those of terms after the others; 0: it is not that of a log. */
static int count_columns(const char *line)
{
    const size_t usual = sizeof(MGK_LOG_HEADER) - 1;
    int columns = MGK_LOG_COLUMNS;
    if (strncmp(line, MGK_LOG_HEADER, usual) != 0 || (line[usual] != '\0' && line[usual] != ','))
        return 0;
    for (const char *at = line + usual; *at; at++)
        columns += *at == ',';
    return columns;
}

static mgk_status parse(const char *path, const mgk_mapping *file, mgk_log_take take, void *context)
{
    char line[512];
    size_t at = take_line(file, 0, line, sizeof(line));
    const int columns = count_columns(line);
    if (columns == 0)
        return mgk_fail(STATUS_FORMAT, "%s: not a training log of this toolkit", path);
    for (size_t number = 2; at < file->size; number++) {
        double cells[MGK_LOG_COLUMNS];
        at = take_line(file, at, line, sizeof(line));
        if (!parse_row(line, columns, cells))
            return mgk_fail(STATUS_FORMAT, "%s: line %zu: expected %d numbers or empty cells", path,
                            number, columns);
        TRY(take(context, cells));
    }
    return STATUS_OK;
}

bool mgk_log_recognise(const void *bytes, size_t size)
{
    static const char header[] = MGK_LOG_HEADER;
    return size >= sizeof(header) - 1 && memcmp(bytes, header, sizeof(header) - 1) == 0;
}

mgk_status mgk_log_read(const char *path, mgk_log_take take, void *context)
{
    mgk_mapping file;
    TRY(mgk_map_limited(path, MOST_BYTES, &file));
    mgk_status status = parse(path, &file, take, context);
    mgk_unmap_file(&file);
    return status;
}
