/*
 * HDF5 files that would crash the library, or never let go of it: a process of their own dies
 * instead of this one. Private to src/store; called between mgk_h5_enter and mgk_h5_leave.
 */
#ifndef MGK_STORE_H5_PROBE_H
#define MGK_STORE_H5_PROBE_H

#include <stddef.h>

#include "base/status.h"

/*
 * Has a child process read what readers may ask for in the file of `bytes` bytes (mgk_h5_survey),
 * within limits of time and memory. STATUS_FORMAT: it did not come back; STATUS_IO: there is no
 * process to be had.
 */
mgk_status mgk_h5_probe(const char *path, size_t bytes);

/*
 * Opens the file and reads every object, attribute, type, shape, label, list of filters and index
 * of chunks, the strings or some of very many, and of numbers the first and the last. What
 * is wrong with them is of no interest here: readers say it.
 */
void mgk_h5_survey(const char *path);

#endif
