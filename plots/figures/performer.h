/* SPDX-License-Identifier: MIT */
/*
 * Figures of "Rethinking Attention with Performers" (Choromanski et al. 2021, arXiv 2009.14794)
 * that are no chart alone, drawn from plain arrays, which are borrowed.
 */
#ifndef MGK_PLOTS_PERFORMER_H
#define MGK_PLOTS_PERFORMER_H

#include "plots/options.h"

/*
 * Figure 2: the mean squared errors of trigonometric and of positive features as estimates of
 * exp(x·y), for vectors of one length at an angle. The left panel is their ratio, symmetrised to
 * both signs of angle and length; the right ones are a slice at one length, the ratio above and
 * both errors below.
 */
typedef struct mgk_performer2_input {
    const double *ratio; /* [lengths, angles], trigonometric / positive, in the middle of cells that
                            divide lengths from 0 to `longest`, angles from 0 to pi; > 0 */
    size_t angles, lengths;
    double longest;
    double *slice_angles;             /* [slice_count], from 0 to pi */
    double *trigonometric, *positive; /* [slice_count], errors; > 0 */
    size_t slice_count;
    double slice_length;
} mgk_performer2_input;

mgk_status mgk_performer2(const mgk_performer2_input *input, const mgk_picture_options *options,
                          const char *path);

#endif
