/* SPDX-License-Identifier: MIT */
/* Detects HDF5 files on which the library crashes or hangs: a separate program, mgk-h5-probe, reads
 * them first and dies instead of this process. Private to src/store. */
#ifndef MGK_STORE_H5_PROBE_H
#define MGK_STORE_H5_PROBE_H

#include "base/status.h"

/*
 * Runs mgk-h5-probe, which reads everything that readers may ask for in the file, unless it has
 * just read the same file. STATUS_FORMAT: the program did not finish; STATUS_IO: the program cannot
 * run, and the file stays unread. The program is searched in the folder MGK_LIBEXEC of the
 * environment; else in libexec/mgk next to the folder of this library, or of the program into which
 * the library is linked; else in the configured installation folder.
 */
mgk_status mgk_h5_probe(const char *path);

#endif
