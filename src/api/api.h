/* Shared by the functions of mgk.h. */
#ifndef MGK_API_H
#define MGK_API_H

#include <stddef.h>

#include "base/status.h"
#include "mgk.h"

/* The public result of an internal status; the message stays this thread's. */
mgk_result mgk_api_result(mgk_status status);

/*
 * Options begin with their size, which tells the version of the caller's header; `known` is the
 * size that this library has.
 */

/* Fills the caller's options [size] with defaults [known], and with 0 behind them; NULL is
 * accepted. */
void mgk_api_init(void *options, size_t size, const void *defaults, size_t known);

/*
 * Takes over the caller's options, NULL: none, into *out, which has the defaults. STATUS_USAGE:
 * they were not begun by their defaults, or have a field that this library does not know.
 */
mgk_status mgk_api_take(const void *options, size_t known, void *out);

#endif
