/* SPDX-License-Identifier: MIT */
/* Recognises the remains of failed downloads. */
#ifndef MGK_BASE_DOWNLOAD_H
#define MGK_BASE_DOWNLOAD_H

#include <stddef.h>

/*
 * Describes, for a message, a file that begins with these bytes: a Git LFS pointer (specification,
 * version 1) or an HTML page, such as an error page. NULL: neither. The first 64 bytes suffice.
 */
const char *mgk_download_left(const void *bytes, size_t size);

#endif
