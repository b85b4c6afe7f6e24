/*
 * HDF5 files that would crash the library, or never let go of it: a program of its own,
 * mgk-h5-probe, reads them first and dies instead of this one. Private to src/store.
 */
#ifndef MGK_STORE_H5_PROBE_H
#define MGK_STORE_H5_PROBE_H

#include "base/status.h"

/*
 * Has mgk-h5-probe read what readers may ask for in the file, unless it has just read the same one.
 * STATUS_FORMAT: it did not come back; STATUS_IO: it cannot be run, and the file stays unread. The
 * program lies in the folder that MGK_LIBEXEC names in the environment; else in libexec/mgk beside
 * the folder of this library, or of the program that the library is linked into; else where it was
 * configured to be installed.
 */
mgk_status mgk_h5_probe(const char *path);

#endif
