/* SPDX-License-Identifier: MIT */
/*
 * Tensor cores: mma.sync.m16n8k8 of TF32 and m8n8k4 of double, with the PTX manual's places of
 * numbers in lanes. The manual leaves the rounding of float sums open; here a sum is rounded
 * towards zero, as GPUs do.
 */
#include "cuda_runtime.h"

namespace
{

/* What a lane gives: its numbers of the sum and of the factors. */
struct tf32_lane {
    float (&sum)[4];
    const float (&a)[4], (&b)[2];
};

struct double_lane {
    double *sum[2], a, b;
};

float tf32(float x)
{
    return __uint_as_float(__float_as_uint(x) & 0xffffe000u);
}

float towards_zero(double x)
{
    const float nearest = (float)x;
    const bool farther = fabs((double)nearest) > fabs(x); /* then it is not 0 */
    return __uint_as_float(__float_as_uint(nearest) - (unsigned)farther);
}

/* Sums of products of all lanes. Sanitizers, which would find nothing in these loops, would take
 * half of the time of all kernels; and without the processor's own fused multiply-add each of them
 * is a call of the C library. */
#if defined(__x86_64__) && defined(__GLIBC__)
#define SUMS_PRODUCTS \
    __attribute__((noinline, no_sanitize("address", "undefined"), target_clones("fma", "default")))
#else
#define SUMS_PRODUCTS __attribute__((noinline, no_sanitize("address", "undefined")))
#endif

/* sum [16, 8] += a [16, 8] b [8, 8]; the products are exact in double. */
SUMS_PRODUCTS void add_product(double (&sum)[16][8], const double (&a)[16][8],
                               const double (&b)[8][8])
{
    for (unsigned row = 0; row < 16; row++)
        for (unsigned k = 0; k < 8; k++)
            for (unsigned column = 0; column < 8; column++)
                sum[row][column] += a[row][k] * b[k][column];
}

/* sum [8, 8] += a [8, 4] b [4, 8], each product and sum rounded once. */
SUMS_PRODUCTS void fuse_product(double (&sum)[8][8], const double (&a)[8][4],
                                const double (&b)[4][8])
{
    for (unsigned row = 0; row < 8; row++)
        for (unsigned k = 0; k < 4; k++)
            for (unsigned column = 0; column < 8; column++)
                sum[row][column] = fma(a[row][k], b[k][column], sum[row][column]);
}

void multiply_tf32_lanes(void *const *lanes)
{
    double sum[16][8], a[16][8], b[8][8];
    for (unsigned lane = 0; lane < 32; lane++) {
        const tf32_lane &of = *(const tf32_lane *)lanes[lane];
        const unsigned g = lane / 4, t = lane % 4;
        for (unsigned h = 0; h < 2; h++) {
            b[4 * h + t][g] = (double)tf32(of.b[h]);
            for (unsigned i = 0; i < 2; i++) {
                a[8 * i + g][4 * h + t] = (double)tf32(of.a[2 * h + i]);
                sum[8 * i + g][2 * t + h] = (double)of.sum[2 * i + h];
            }
        }
    }
    add_product(sum, a, b);
    for (unsigned lane = 0; lane < 32; lane++) {
        const tf32_lane &of = *(const tf32_lane *)lanes[lane];
        for (unsigned i = 0; i < 2; i++)
            for (unsigned e = 0; e < 2; e++)
                of.sum[2 * i + e] = towards_zero(sum[8 * i + lane / 4][2 * (lane % 4) + e]);
    }
}

void multiply_double_lanes(void *const *lanes)
{
    double sum[8][8], a[8][4], b[4][8];
    for (unsigned lane = 0; lane < 32; lane++) {
        const double_lane &of = *(const double_lane *)lanes[lane];
        const unsigned g = lane / 4, t = lane % 4;
        a[g][t] = of.a;
        b[t][g] = of.b;
        for (unsigned e = 0; e < 2; e++)
            sum[g][2 * t + e] = *of.sum[e];
    }
    fuse_product(sum, a, b);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned e = 0; e < 2; e++)
            *((const double_lane *)lanes[lane])->sum[e] = sum[lane / 4][2 * (lane % 4) + e];
}

} // namespace

void mgk_multiply_tf32(float (&sum)[4], const float (&a)[4], const float (&b)[2])
{
    tf32_lane own = {sum, a, b};
    emulator_operate(&own, multiply_tf32_lanes);
}

void mgk_multiply_double(double &sum0, double &sum1, double a, double b)
{
    double_lane own = {{&sum0, &sum1}, a, b};
    emulator_operate(&own, multiply_double_lanes);
}
