/* SPDX-License-Identifier: MIT */
/* What a reader of the results of a run must know; the files of the results repeat it. */
#ifndef MGK_RUN_WARNINGS_H
#define MGK_RUN_WARNINGS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* Lines of text. Zeroed is empty. */
typedef struct mgk_warnings {
    char **lines; /* [count] */
    size_t count, room;
    bool incomplete; /* there was no memory for a line */
} mgk_warnings;

/* Adds a copy of a line, valid UTF-8 or not. */
void mgk_warnings_add(mgk_warnings *warnings, const char *line);
void mgk_warnings_free(mgk_warnings *warnings);

/* Adds the lines, if there are any, to a JSON object as its member "warnings"; false: no memory,
 * now or for a line. */
bool mgk_warnings_describe(cJSON *object, const mgk_warnings *warnings);

#endif
