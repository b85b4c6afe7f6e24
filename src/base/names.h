/* SPDX-License-Identifier: MIT */
/* Lists of names for messages about a name that does not exist. */
#ifndef MGK_BASE_NAMES_H
#define MGK_BASE_NAMES_H

#include <stddef.h>

#include "base/status.h"

enum { MGK_NAMES_HINT = 1200 };

/* Writes "a, b, c"; names that find no room are left out. */
void mgk_names_join(const char *const *names, size_t count, char *out, size_t size);

/*
 * What a name may mean that is not one of `names`: "similar: a, b", those that contain it or are a
 * typing error or two away, whatever the case of their letters; without such a name "there are"
 * and all of them.
 */
void mgk_names_hint(const char *wrong, const char *const *names, size_t count,
                    char out[MGK_NAMES_HINT]);

/* The same of a few names, of which all are told: "expected one of a, b, c; similar: b". */
void mgk_names_expected(const char *wrong, const char *const *names, size_t count,
                        char out[MGK_NAMES_HINT]);

/* The index of the word of an option, of `names`. STATUS_USAGE: it is none of them; the message
 * names the option's field and is as above. */
mgk_status mgk_names_choose(const char *field, const char *word, const char *const *names,
                            size_t count, int *index);

#endif
