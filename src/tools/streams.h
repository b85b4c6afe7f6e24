/* SPDX-License-Identifier: MIT */
/*
 * Standard input as a file to read, and standard output as a file to write. The library reads and
 * writes named files alone, so both are files in a temporary folder ($TMPDIR, or /tmp).
 */
#ifndef MGK_TOOLS_STREAMS_H
#define MGK_TOOLS_STREAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Zeroed is closed. */
typedef struct mgk_streams {
    char *folder; /* NULL: none */
    char *input;  /* the copy of standard input; NULL: not read */
    char *output; /* the file whose content goes to standard output; NULL: none */
    int result;   /* the standard output that the program was started with */
} mgk_streams;

/* Whether the name of an output means standard output: "-", or with a format "-.json". */
bool mgk_is_stream(const char *path);

/* If *path is "-", copies standard input to a file and sets *path to its name. STATUS_USAGE: it has
 * been read already. */
mgk_status mgk_streams_read(mgk_streams *streams, const char **path);

/*
 * If *path means standard output, sets it to the name of a file with an ending of `endings`,
 * "csv|json", the first of them for "-". From here on what the program prints goes to standard
 * error, or if quiet nowhere. STATUS_USAGE: another ending.
 */
mgk_status mgk_streams_write(mgk_streams *streams, const char **path, const char *endings,
                             bool quiet);

/* Sends the output's content to standard output; does nothing without one. STATUS_IO: errno says
 * why. */
mgk_status mgk_streams_send(mgk_streams *streams);

/* Removes the folder and its files. */
void mgk_streams_close(mgk_streams *streams);

/* The same, as far as a signal handler can do it: files that nothing writes any more. */
void mgk_streams_abandon(void);

#endif
