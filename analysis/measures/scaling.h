/* SPDX-License-Identifier: MIT */
/* Heads as points of a plane, from their distances. */
#ifndef MGK_ANALYSIS_SCALING_H
#define MGK_ANALYSIS_SCALING_H

#include <stddef.h>

#include "base/status.h"

enum { MGK_SCALING_AXES = 2 };

/*
 * Classical multidimensional scaling (Torgerson 1952) of n >= 1 heads with squared distances [n,
 * n], symmetric, finite, 0 on the diagonal. With J = I - 11ᵀ/n and the eigenvalues lambda_1 >=
 * lambda_2 >= ... of B = -1/2 J D J, axis k has the coordinates sqrt(lambda_k) times the
 * eigenvector, 0 if lambda_k < 0: points [n, MGK_SCALING_AXES]. The coordinate of an axis that is
 * farthest from 0 is positive. shares [MGK_SCALING_AXES]: |lambda_k| / sum |lambda| (Mardia 1978),
 * the share of the variance that the axis shows; NaN if all distances are 0. Where the distances
 * are those of points in a space of any dimension, no lambda is negative.
 *
 * Takes n^3 steps and 2 n^2 numbers. STATUS_MEMORY; STATUS_NUMERIC: LAPACK finds no eigenvalues.
 */
mgk_status mgk_classical_scaling(size_t n, const double *squares, double *points, double *shares);

#endif
