/* SPDX-License-Identifier: MIT */
/*
 * Two singular values of a matrix whose others are only counted: the largest one, and the one
 * nearest to the threshold. Each takes a few products with AᵀA, or with the inverse of the last
 * factorisation.
 */
#ifndef MGK_ANALYSIS_LANDMARKS_H
#define MGK_ANALYSIS_LANDMARKS_H

#include <stddef.h>

#include "analysis/counting/gram.h"
#include "base/status.h"

/* The workspace of one thread, for matrices up to n_max. */
typedef struct mgk_landmarks mgk_landmarks;

/* STATUS_MEMORY. Closed with mgk_landmarks_close. */
mgk_status mgk_landmarks_open(size_t n_max, mgk_landmarks **out);
void mgk_landmarks_close(mgk_landmarks *landmarks); /* NULL is accepted */

/*
 * σ₁ of the loaded matrix to six digits: a singular value lies within this distance of the result,
 * and it is almost always the largest. NaN if not found, for instance if many singular values are
 * nearly as large.
 */
double mgk_landmarks_largest(mgk_landmarks *landmarks, mgk_gram *gram);

/*
 * The singular value nearest to tau, if `above` of them are above it, with |σ - tau| to three
 * digits. It uses the factors of the last count; no σ² may lie between its shift and tau². A σ
 * below √δ of that count may be given as another value below √δ. NaN if not found.
 */
double mgk_landmarks_nearest(mgk_landmarks *landmarks, mgk_gram *gram, double tau, size_t above);

#endif
