/* SPDX-License-Identifier: MIT */
#include "train/read_log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "train/log.h"

enum { MOST_BYTES = 1 << 28 }; /* of a log: three million rows */

/* Nine cells, of which an empty one is NaN. False for any other line. */
static bool parse_row(const char *line, double cells[MGK_LOG_COLUMNS])
{
    const char *end = line;
    for (int i = 0; i < MGK_LOG_COLUMNS; i++, line = end + 1) {
        end = line;
        cells[i] = NAN;
        if (*line != ',' && *line != '\0' && !mgk_read_real(line, &end, &cells[i]))
            return false;
        if (*end != (i + 1 < MGK_LOG_COLUMNS ? ',' : '\0'))
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

static mgk_status parse(const char *path, const mgk_mapping *file, mgk_log_take take, void *context)
{
    char line[512];
    size_t at = take_line(file, 0, line, sizeof(line));
    if (strcmp(line, MGK_LOG_HEADER) != 0)
        return mgk_fail(STATUS_FORMAT, "%s: not a training log of this toolkit", path);
    for (size_t number = 2; at < file->size; number++) {
        double cells[MGK_LOG_COLUMNS];
        at = take_line(file, at, line, sizeof(line));
        if (!parse_row(line, cells))
            return mgk_fail(STATUS_FORMAT, "%s: line %zu: expected %d numbers or empty cells", path,
                            number, MGK_LOG_COLUMNS);
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
