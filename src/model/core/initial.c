/* SPDX-License-Identifier: MIT */
/* Initial values of parameters, and what a model draws anew: random features and patterns. */
#include <math.h>

#include "base/random.h"
#include "model/core/parameters.h"

/* The factor of the initial weights for x − y. */
enum { PAIR_GAIN = 32 };

/* Streams of numbers that are drawn again and again; all others are below. */
static const uint64_t drawn_streams = (uint64_t)1 << 62;

static void draw_normal(const mgk_parameter *p, uint64_t seed, uint64_t stream, double *out)
{
    const size_t features = p->shape[1];
    for (size_t k = 0; k < p->count; k++) {
        const bool difference = p->initial == MGK_INITIAL_PAIR && k % features >= features / 4 * 3;
        out[k] = p->value * mgk_random_normal(seed, stream, k) * (difference ? PAIR_GAIN : 1);
    }
}

/*
 * Rows [count, dim], count <= dim: makes normal ones orthogonal by Gram and Schmidt, twice for
 * rounding, and gives each the length that it had, which is that of a normal vector.
 */
static void make_orthogonal(size_t count, size_t dim, double *rows)
{
    for (size_t i = 0; i < count; i++) {
        double *row = rows + i * dim, length = 0, left = 0;
        for (size_t d = 0; d < dim; d++)
            length += row[d] * row[d];
        for (size_t pass = 0; pass < 2 * i; pass++) {
            const double *other = rows + pass % i * dim;
            double dot = 0, square = 0;
            for (size_t d = 0; d < dim; d++) {
                dot += row[d] * other[d];
                square += other[d] * other[d];
            }
            for (size_t d = 0; d < dim; d++)
                row[d] -= dot / square * other[d];
        }
        for (size_t d = 0; d < dim; d++)
            left += row[d] * row[d];
        for (size_t d = 0; d < dim; d++)
            row[d] *= sqrt(length / left);
    }
}

/* The last axis is the dimension of a row; those before count rows, and heads. */
static void draw_orthogonal(const mgk_parameter *p, uint64_t seed, uint64_t stream, double *out)
{
    const size_t dim = p->shape[p->axes - 1], rows = p->shape[p->axes - 2];
    draw_normal(p, seed, stream, out);
    for (double *head = out; head < out + p->count; head += rows * dim)
        for (size_t first = 0; first < rows; first += dim)
            make_orthogonal(rows - first < dim ? rows - first : dim, dim, head + first * dim);
}

/* Edges may be drawn twice, and that to the query itself too. */
static void draw_edges(const mgk_parameter *p, uint64_t seed, uint64_t stream, double *out)
{
    const size_t n = p->shape[1], edges = (size_t)p->value;
    for (size_t k = 0; k < p->count; k++)
        out[k] = k / n == k % n ? 0 : MGK_NO_EDGE;
    for (size_t i = 0; i < p->shape[0]; i++)
        for (size_t e = 0; e < edges; e++)
            out[i * n + mgk_random_below(seed, stream, i * edges + e, n)] = 0;
}

static void fill(const mgk_parameter *p, uint64_t seed, uint64_t stream, double *out)
{
    if (p->initial == MGK_INITIAL_ORTHOGONAL)
        draw_orthogonal(p, seed, stream, out);
    else if (p->initial == MGK_INITIAL_EDGES)
        draw_edges(p, seed, stream, out);
    else if (p->initial != MGK_INITIAL_CONSTANT)
        draw_normal(p, seed, stream, out);
    else
        for (size_t k = 0; k < p->count; k++)
            out[k] = p->value;
}

void mgk_parameters_draw(const mgk_parameters *parameters, uint64_t seed, uint64_t draw,
                         double *weights)
{
    for (size_t i = 0; i < parameters->count; i++) {
        const mgk_parameter *p = &parameters->list[i];
        if (p->drawn)
            fill(p, seed, drawn_streams + (draw << 24) + i, weights + p->offset);
    }
}

void mgk_parameters_initialize(const mgk_parameters *parameters, uint64_t seed, double *weights)
{
    for (size_t i = 0; i < parameters->count; i++)
        if (!parameters->list[i].drawn)
            fill(&parameters->list[i], seed, i, weights + parameters->list[i].offset);
    mgk_parameters_draw(parameters, seed, 0, weights);
}
