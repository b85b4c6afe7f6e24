/*
 * What is told of a matrix whose singular values are counted and not computed: the largest one, and
 * the one nearest to the threshold. Both are found by a few products with AᵀA, or with the inverse
 * of what was factored for the count.
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
 * σ₁ of the matrix that was loaded: a singular value is as near to what is told as six digits, and
 * hardly ever another one. NaN where it is not found, as where many are nearly as large.
 */
double mgk_landmarks_largest(mgk_landmarks *landmarks, mgk_gram *gram);

/*
 * The singular value nearest to tau, where `above` of them are above it. It is found with the
 * factors of the last count, between whose shift and tau² no σ² lies: |σ - tau| to three digits. A
 * σ below √δ, of that count, is told as any other value below it. NaN where it is not found.
 */
double mgk_landmarks_nearest(mgk_landmarks *landmarks, mgk_gram *gram, double tau, size_t above);

#endif
