/* What stands in place of a file where its download went wrong. */
#ifndef MGK_BASE_DOWNLOAD_H
#define MGK_BASE_DOWNLOAD_H

#include <stddef.h>

/*
 * What a file that begins with these bytes is, for a message: a pointer of Git LFS (its
 * specification, version 1), or a page of HTML, such as that of an error. NULL: neither. 64 bytes
 * tell.
 */
const char *mgk_download_left(const void *bytes, size_t size);

#endif
