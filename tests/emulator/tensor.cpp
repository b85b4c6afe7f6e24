/* SPDX-License-Identifier: MIT */
/*
 * Tensor cores: mma.sync.m16n8k8 of TF32 and m8n8k4 of double, with the PTX manual's places of
 * numbers in lanes. The manual leaves the rounding of float sums open; here a sum is rounded
 * towards zero, as GPUs do.
 */
#include "cuda_runtime.h"

static float tf32(float x)
{
    return __uint_as_float(__float_as_uint(x) & 0xffffe000u);
}

static float towards_zero(double x)
{
    const float nearest = (float)x;
    return fabs((double)nearest) > fabs(x) ? nextafterf(nearest, 0) : nearest;
}

void mgk_multiply_tf32(float (&sum)[4], const float (&a)[4], const float (&b)[2])
{
    struct factors {
        float a[4], b[2];
    } own = {{tf32(a[0]), tf32(a[1]), tf32(a[2]), tf32(a[3])}, {tf32(b[0]), tf32(b[1])}};
    const emulator_value *lanes = emulator_exchange(&own, sizeof(own));
    const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    for (unsigned i = 0; i < 2; i++)
        for (unsigned e = 0; e < 2; e++) {
            double total = (double)sum[2 * i + e];
            for (unsigned h = 0; h < 2; h++)
                for (unsigned k = 0; k < 4; k++) {
                    const factors *left = (const factors *)lanes[4 * g + k].bytes;
                    const factors *right = (const factors *)lanes[4 * (2 * t + e) + k].bytes;
                    total += (double)left->a[2 * h + i] * (double)right->b[h];
                }
            sum[2 * i + e] = towards_zero(total);
        }
}

void mgk_multiply_double(double &sum0, double &sum1, double a, double b)
{
    const double own[2] = {a, b};
    const emulator_value *lanes = emulator_exchange(own, sizeof(own));
    const unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    for (unsigned k = 0; k < 4; k++) {
        const double left = ((const double *)lanes[4 * g + k].bytes)[0];
        sum0 = fma(left, ((const double *)lanes[4 * (2 * t) + k].bytes)[1], sum0);
        sum1 = fma(left, ((const double *)lanes[4 * (2 * t + 1) + k].bytes)[1], sum1);
    }
}
