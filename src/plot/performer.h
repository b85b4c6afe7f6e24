/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the figures of "Rethinking Attention with Performers" (Choromanski et al. 2021,
 * arXiv 2009.14794), computed with the attention kinds "performer" and "softmax" of the toolkit.
 */
#ifndef MGK_PLOT_PERFORMER_H
#define MGK_PLOT_PERFORMER_H

#include "base/random.h"
#include "kernels/attention.h"
#include "mgk.h"

/* The device of these numbers, the CPU if the job names none, in float64. STATUS_UNSUPPORTED: it
 * lacks the features. */
mgk_status mgk_performer_open(const mgk_job *job, mgk_device **out);

/*
 * The mean squared errors of one random vector's estimates of the softmax kernel exp(x·y), with
 * trigonometric and with positive features, for vectors of length `length` at angles [count]; with
 * m independent vectors they are 1/m of this. The mean over normal vectors is a sum over a lattice,
 * exact to about ten digits up to length 2.
 */
mgk_status mgk_performer_kernel_errors(mgk_device *device, double length, const double *angles,
                                       size_t count, double *trigonometric, double *positive);

/* Draws of normal queries and keys with standard deviation `deviation`, and of values with 1, and
 * their softmax attention. */
typedef struct mgk_performer_problem {
    mgk_device *device;
    int draws, tokens, dim; /* a draw is a head */
    double deviation;
    uint64_t seed;
    void *input[3]; /* queries, keys, values [tokens, draws, dim], of the device */
    int32_t *length;
    double *exact; /* [tokens, draws, dim], on the host */
} mgk_performer_problem;

/* Zeroed is closed. The device is borrowed. */
mgk_status mgk_performer_problem_open(mgk_device *device, int draws, int tokens, int dim,
                                      double deviation, uint64_t seed, mgk_performer_problem *out);
void mgk_performer_problem_close(mgk_performer_problem *problem);

/* The mean squared error of the output in each draw, errors [draws], of a Performer with this many
 * random vectors. map: MGK_CHOICE_POSITIVE, or _TRIGONOMETRIC, which has two features a vector;
 * draw: MGK_DRAW_IID or _ORTHOGONAL. */
mgk_status mgk_performer_output_errors(const mgk_performer_problem *problem, int map, int draw,
                                       int vectors, double *errors);

#endif
