/* SPDX-License-Identifier: MIT */
#include "data/pictures/resize.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

enum { FRACTION = 22 }; /* fraction bits of a weight; a sum has 8 more bits */

/* The inputs of one output value. */
typedef struct window {
    size_t first, count;
    int32_t *weights; /* [count], in units of 2^-22 */
} window;

/* The windows of the outputs of a row or column that are kept. */
typedef struct windows {
    window *list; /* [kept] */
    int32_t *weights;
} windows;

static double box(double x)
{
    return x > -0.5 && x <= 0.5 ? 1 : 0;
}

static double bilinear(double x)
{
    return fabs(x) < 1 ? 1 - fabs(x) : 0;
}

static double hamming(double x)
{
    double angle = fabs(x) * M_PI;
    if (x == 0)
        return 1;
    return fabs(x) < 1 ? sin(angle) / angle * (0.54 + 0.46 * cos(angle)) : 0;
}

/* Cubic convolution (Keys 1981), a = -1/2. */
static double bicubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double sinc(double x)
{
    return x == 0 ? 1 : sin(x * M_PI) / (x * M_PI);
}

static double lanczos(double x)
{
    return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
}

/* The filters and their radii. */
static const struct {
    double (*value)(double x);
    double reach;
} filters[] = {
    [MGK_RESAMPLING_LANCZOS] = {lanczos, 3}, [MGK_RESAMPLING_BILINEAR] = {bilinear, 1},
    [MGK_RESAMPLING_BICUBIC] = {bicubic, 2}, [MGK_RESAMPLING_BOX] = {box, 0.5},
    [MGK_RESAMPLING_HAMMING] = {hamming, 1},
};

/* Rounds weights that sum to 1 to fixed point; overwrites exact [count]. */
static void fix_weights(window *w, double *exact)
{
    double sum = 0;
    for (size_t k = 0; k < w->count; k++)
        sum += exact[k];
    for (size_t k = 0; k < w->count; k++) {
        double weight = sum != 0 ? exact[k] / sum : exact[k];
        w->weights[k] = (int32_t)(weight * (1 << FRACTION) + (weight < 0 ? -0.5 : 0.5));
    }
}

/* A row or column of `in` values resized to `out`, of which `kept` from `first` on are kept. */
typedef struct resizing {
    size_t in, out, first, kept;
} resizing;

static mgk_status make_filtered(const resizing *r, mgk_resampling resampling, windows *made)
{
    const size_t in = r->in, out = r->out;
    double scale = (double)in / (double)out, stretch = scale > 1 ? scale : 1;
    double reach = filters[resampling].reach * stretch;
    size_t most = (size_t)ceil(reach) * 2 + 1;
    double *exact;
    TRY(mgk_alloc(most, sizeof(*exact), &exact));
    mgk_status status = mgk_alloc(r->kept * most, sizeof(*made->weights), &made->weights);
    for (size_t i = 0; status == STATUS_OK && i < r->kept; i++) {
        window *w = &made->list[i];
        double center = ((double)(r->first + i) + 0.5) * scale;
        double low = center - reach + 0.5, high = center + reach + 0.5;
        w->first = low > 0 ? (size_t)low : 0;
        w->count = (high < (double)in ? (size_t)high : in) - w->first;
        w->weights = made->weights + i * most;
        for (size_t k = 0; k < w->count; k++)
            exact[k] =
                filters[resampling].value(((double)(k + w->first) - center + 0.5) * (1 / stretch));
        fix_weights(w, exact);
    }
    mgk_free(exact);
    return status;
}

/* One input per output; positions accumulate as in Pillow, so that rounding agrees. */
static mgk_status make_nearest(const resizing *r, windows *made)
{
    double step = (double)r->in / (double)r->out, place = step * 0.5;
    TRY(mgk_alloc(r->kept, sizeof(*made->weights), &made->weights));
    for (size_t i = 0; i < r->first; i++)
        place += step;
    for (size_t i = 0; i < r->kept; i++, place += step) {
        size_t nearest = (size_t)place < r->in ? (size_t)place : r->in - 1;
        made->weights[i] = 1 << FRACTION;
        made->list[i] = (window){nearest, 1, made->weights + i};
    }
    return STATUS_OK;
}

static mgk_status make_windows(size_t in, size_t out, size_t kept, mgk_resampling resampling,
                               windows *made)
{
    const resizing r = {in, out, (out - kept) / 2, kept};
    TRY(mgk_alloc(kept, sizeof(*made->list), &made->list));
    return resampling == MGK_RESAMPLING_NEAREST ? make_nearest(&r, made)
                                                : make_filtered(&r, resampling, made);
}

static void free_windows(windows *made)
{
    mgk_free(made->list);
    mgk_free(made->weights);
}

/* Filters values that are `stride` apart into one value. */
static unsigned char filtered(const window *w, const unsigned char *values, size_t stride)
{
    int32_t sum = 1 << (FRACTION - 1);
    for (size_t k = 0; k < w->count; k++)
        sum += values[(w->first + k) * stride] * w->weights[k];
    sum >>= FRACTION;
    return (unsigned char)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* Copies the square in the centre of a picture that is not resized. */
static void copy_centre(const mgk_image *image, size_t side, unsigned char *out)
{
    const size_t row = side * MGK_CHANNELS;
    const size_t top = (image->height - side) / 2, left = (image->width - side) / 2;
    for (size_t y = 0; y < side; y++)
        memcpy(out + y * row, image->pixels + ((top + y) * image->width + left) * MGK_CHANNELS,
               row);
}

mgk_status mgk_image_resize(const mgk_image *image, mgk_resampling resampling, size_t width,
                            size_t height, size_t side, unsigned char *out)
{
    mgk_status status;
    windows across = {0}, down = {0};
    unsigned char *narrow = NULL; /* [height, side, 3] */
    size_t row = side * MGK_CHANNELS;
    if (resampling == MGK_RESAMPLING_NONE) {
        if (image->width != width || image->height != height)
            return mgk_fail(STATUS_SHAPE,
                            "%zu x %zu pixels: the model does not resize, expected %zu x %zu",
                            image->width, image->height, width, height);
        copy_centre(image, side, out);
        return STATUS_OK;
    }
    CHECK(make_windows(image->width, width, side, resampling, &across));
    CHECK(make_windows(image->height, height, side, resampling, &down));
    CHECK(mgk_alloc(image->height * row, 1, &narrow));
    for (size_t y = 0; y < image->height; y++)
        for (size_t i = 0; i < row; i++)
            narrow[y * row + i] = filtered(
                &across.list[i / MGK_CHANNELS],
                image->pixels + y * image->width * MGK_CHANNELS + i % MGK_CHANNELS, MGK_CHANNELS);
    for (size_t y = 0; y < side; y++)
        for (size_t i = 0; i < row; i++)
            out[y * row + i] = filtered(&down.list[y], narrow + i, row);
out:
    mgk_free(narrow);
    free_windows(&across);
    free_windows(&down);
    return status;
}
