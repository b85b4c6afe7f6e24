/* SPDX-License-Identifier: MIT */
/*
 * What the name of a checkpoint of the LRA code tells and its tensors do not. The code names its
 * files after options of the training:
 *   21_09_2021_08:44:52_softmax_retrieval_4096_head4_layers2_fixed_pe_key2:0.0_output.model
 */
#ifndef MGK_MODEL_LRA_NAME_H
#define MGK_MODEL_LRA_NAME_H

#include <stdbool.h>

typedef struct mgk_lra_name {
    int heads;     /* 0: the name does not tell */
    int layers;    /* the same */
    bool fixed;    /* fixed positions */
    char kind[16]; /* "softmax", "linear" or "none"; "": not told */
} mgk_lra_name;

/* Of any path; one that has not this form tells nothing. */
mgk_lra_name mgk_lra_name_of(const char *path);

#endif
