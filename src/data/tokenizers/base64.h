/* SPDX-License-Identifier: MIT */
/* Bytes as text (RFC 4648, section 4), with padding and without line ends. */
#ifndef MGK_DATA_BASE64_H
#define MGK_DATA_BASE64_H

#include "data/buffer.h"
#include "data/datasets/lines.h"

/* Append to *out the text of bytes, or the bytes of a text. STATUS_FORMAT: it is not base64. */
mgk_status mgk_base64_encode(mgk_span bytes, mgk_buffer *out);
mgk_status mgk_base64_decode(mgk_span text, mgk_buffer *out);

#endif
