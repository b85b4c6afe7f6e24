/* SPDX-License-Identifier: MIT */
#ifndef MGK_KERNELS_ATTENTION_PATTERN_H
#define MGK_KERNELS_ATTENTION_PATTERN_H
typedef struct mgk_pattern {
    int unused;
} mgk_pattern;
typedef struct mgk_pattern_row mgk_pattern_row;
#endif
