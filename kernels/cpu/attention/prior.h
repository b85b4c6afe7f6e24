/* SPDX-License-Identifier: MIT */
/* What all mixtures do with their priors, which may have fewer dimensions than [H, M, N]. */
#ifndef MGK_KERNELS_CPU_PRIOR_H
#define MGK_KERNELS_CPU_PRIOR_H

#include "kernels/cpu/operations.h"

/*
 * dprior += the sums of parts [B, H, M, cols], the gradient of each sample's π_jr, over the samples
 * and the dimensions that the prior does not have; cols >= N. by_prior: parts are of ln π, and are
 * divided by π. A clamped prior has no gradient. Sums are in float64, always in the same order.
 * STATUS_MEMORY.
 */
mgk_status MGK_CPU(add_prior_gradient)(const mgk_attention_view *view, const mgk_prior_view *prior,
                                       bool by_prior, const real *parts, size_t cols, real *dprior);

/*
 * Adds parts [H, M + 1, cols], Σ γ_ijr over queries and samples and then the number of queries that
 * saw key j, to sums [2, P] of the prior, which may have fewer dimensions; cols >= N.
 */
void MGK_CPU(gather_responsibilities)(const mgk_attention_view *view, const mgk_prior_view *shape,
                                      const double *parts, size_t cols, double *sums);

#endif
