/* SPDX-License-Identifier: MIT */
/* The axes in front of the matrices of an array of other software, which only users know. */
#ifndef MGK_STORE_AXES_H
#define MGK_STORE_AXES_H

#include <stdbool.h>

#include "base/status.h"

enum { MGK_LEADING_SAMPLE, MGK_LEADING_LAYER, MGK_LEADING_HEAD, MGK_LEADING_AXES };

/* Some of these axes, each at most once, in the order of the array. */
typedef struct mgk_leading_axes {
    int count;
    int at[MGK_LEADING_AXES]; /* [count], of the enumeration */
} mgk_leading_axes;

/* What an array of `count` leading axes has if users do not say it: sample; sample, head; or
 * sample, layer, head. */
mgk_leading_axes mgk_usual_axes(int count);

/* Whether `axis`, of the enumeration, is one of the axes. */
bool mgk_axes_have(const mgk_leading_axes *axes, int axis);

/* Reads "layer,head", in any case and with spaces around the words. STATUS_USAGE: another word, or
 * an axis twice. */
mgk_status mgk_axes_parse(const char *text, mgk_leading_axes *out);

#endif
