/* SPDX-License-Identifier: MIT */
/* Two inputs as one source, so that heads of both are compared with each other. */
#ifndef MGK_RUN_JOINED_SOURCE_H
#define MGK_RUN_JOINED_SOURCE_H

#include "run/sources.h"

/*
 * Makes one input of this name, which is borrowed, of two opened ones, both of which it closes,
 * also on failure. It has the layers of the first, then those of the second, whose numbers are
 * counted on from `all_layers` of the first; and what both have alike of vectors and projections,
 * no outputs of layers and no importances. STATUS_SHAPE: samples, heads or sequences differ; so
 * `prepare` fails if a sample of both has other tokens, or another number of them.
 */
mgk_status mgk_join_sources(mgk_source_input inputs[2], const char *name, mgk_source_input *out);

#endif
