/* SPDX-License-Identifier: MIT */
/* The names of the parts of models, see mgk_job. */
#ifndef MGK_RUN_PART_H
#define MGK_RUN_PART_H

#include <stdbool.h>

#include "base/status.h"

/* STATUS_USAGE: not the name of a part; NULL is one. */
mgk_status mgk_part_check(const char *part);

/* Whether it is the decoder of an encoder-decoder model that the part's attention belongs to. */
bool mgk_part_decodes(const char *part);

#endif
