/* SPDX-License-Identifier: MIT */
/*
 * A window of real numbers x_n, n = 0 … W − 1, is folded: cosines see x_n + x_(W−n), sines see
 * x_n − x_(W−n), n = 1 … W/2 − 1. So each frame is two products of a vector and a table. W is no
 * power of two, and a frame has few frequencies: a fast Fourier transform would gain little.
 */
#include "data/sounds/spectrum.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

struct mgk_spectrum {
    mgk_sound_form form;
    size_t waves;    /* K = W / 2 + 1 */
    double *window;  /* [W] */
    double *cosines; /* [W / 2, K] of 2π n k / W */
    double *sines;   /* [W / 2, K] */
    double *bands;   /* [K, M] */
};

/* Hertz of a number on Slaney's mel scale: linear up to 1000, then logarithmic. */
static double hertz_of(double mel)
{
    return mel < 15 ? 200 * mel / 3 : 1000 * exp(log(6.4) / 27 * (mel - 15));
}

/* Its inverse at 8000 Hz, where the last band ends whatever the rate. */
static double last_mel(void)
{
    return 15 + log(8000.0 / 1000) * 27 / log(6.4);
}

/*
 * Triangles of area 1 between centres that are equally far from each other on the mel scale: band m
 * rises from centre m to m + 1 and falls to m + 2.
 */
static void fill_bands(mgk_spectrum *s)
{
    const size_t bands = (size_t)s->form.bands;
    const double step = last_mel() / (double)(bands + 1);
    for (size_t m = 0; m < bands; m++) {
        const double low = hertz_of(step * (double)m), centre = hertz_of(step * (double)(m + 1)),
                     high = hertz_of(step * (double)(m + 2));
        for (size_t k = 0; k < s->waves; k++) {
            /* whole Hertz at the end of the range, as published */
            const double hertz = (double)k * (s->form.rate / 2) / (double)(s->waves - 1);
            const double rise = (hertz - low) / (centre - low),
                         fall = (high - hertz) / (high - centre);
            s->bands[k * bands + m] = fmax(0, fmin(rise, fall)) * 2 / (high - low);
        }
    }
}

static void fill_waves(mgk_spectrum *s)
{
    const size_t window = (size_t)s->form.window;
    const double turn = 2 * M_PI / (double)window;
    for (size_t n = 0; n < window; n++)
        s->window[n] = 0.5 - 0.5 * cos(turn * (double)n);
    for (size_t n = 0; n < window / 2; n++)
        for (size_t k = 0; k < s->waves; k++) {
            /* n k turns further is the same angle, and a small one is more exact */
            const double angle = turn * (double)(n * k % window);
            s->cosines[n * s->waves + k] = cos(angle);
            s->sines[n * s->waves + k] = sin(angle);
        }
}

mgk_status mgk_spectrum_create(const mgk_sound_form *form, mgk_spectrum **out)
{
    const size_t window = (size_t)form->window, half = window / 2, waves = half + 1;
    mgk_status status;
    mgk_spectrum *s = NULL;
    *out = NULL;
    CHECK(mgk_alloc(1, sizeof(*s), &s));
    s->form = *form;
    s->waves = waves;
    CHECK(mgk_alloc(window, sizeof(*s->window), &s->window));
    CHECK(mgk_alloc(half * waves, sizeof(*s->cosines), &s->cosines));
    CHECK(mgk_alloc(half * waves, sizeof(*s->sines), &s->sines));
    CHECK(mgk_alloc(waves * (size_t)form->bands, sizeof(*s->bands), &s->bands));
    fill_waves(s);
    fill_bands(s);
    *out = s;
    s = NULL;
out:
    mgk_spectrum_free(s);
    return status;
}

void mgk_spectrum_free(mgk_spectrum *spectrum)
{
    if (!spectrum)
        return;
    mgk_free(spectrum->window);
    mgk_free(spectrum->cosines);
    mgk_free(spectrum->sines);
    mgk_free(spectrum->bands);
    mgk_free(spectrum);
}

/* The sample at a place, which may lie before the first of `count` or behind the last by less than
 * `count`: reflected at that one. */
static double reflected(const float *samples, size_t count, long place)
{
    const long last = (long)count - 1;
    place = labs(place);
    return (double)samples[place > last ? 2 * last - place : place];
}

/* power [K] of the window around sample `centre`; x [W] and y [2, K] are room. */
static void compute_power(const mgk_spectrum *s, const float *samples, size_t count, long centre,
                          double *x, double *y, double *power)
{
    const size_t window = (size_t)s->form.window, half = window / 2, waves = s->waves;
    double *re = y, *im = y + waves;
    for (size_t n = 0; n < window; n++)
        x[n] = s->window[n] * reflected(samples, count, centre + (long)n - (long)half);
    for (size_t k = 0; k < waves; k++) {
        re[k] = x[0] + (k % 2 ? -x[half] : x[half]);
        im[k] = 0;
    }
    for (size_t n = 1; n < half; n++) {
        const double even = x[n] + x[window - n], odd = x[n] - x[window - n];
        const double *cosines = s->cosines + n * waves, *sines = s->sines + n * waves;
        for (size_t k = 0; k < waves; k++) {
            re[k] += even * cosines[k];
            im[k] += odd * sines[k];
        }
    }
    for (size_t k = 0; k < waves; k++)
        power[k] = re[k] * re[k] + im[k] * im[k];
}

/* row [M] = log10 of the bands' power. */
static void add_bands(const mgk_spectrum *s, const double *power, double *row)
{
    const size_t bands = (size_t)s->form.bands;
    for (size_t m = 0; m < bands; m++)
        row[m] = 0;
    for (size_t k = 0; k < s->waves; k++)
        for (size_t m = 0; m < bands; m++)
            row[m] += s->bands[k * bands + m] * power[k];
    for (size_t m = 0; m < bands; m++)
        row[m] = log10(fmax(row[m], 1e-10));
}

mgk_status mgk_spectrum_frames(const mgk_spectrum *spectrum, const float *samples, size_t frames,
                               double *out)
{
    const size_t window = (size_t)spectrum->form.window, waves = spectrum->waves;
    const size_t bands = (size_t)spectrum->form.bands, hop = (size_t)spectrum->form.hop;
    double *room, largest = -INFINITY;
    TRY(mgk_alloc(window + 3 * waves, sizeof(*room), &room));
    double *power = room + window + 2 * waves;
    for (size_t t = 0; t < frames; t++) {
        compute_power(spectrum, samples, frames * hop, (long)(t * hop), room, room + window, power);
        add_bands(spectrum, power, out + t * bands);
    }
    for (size_t i = 0; i < frames * bands; i++)
        largest = fmax(largest, out[i]);
    for (size_t i = 0; i < frames * bands; i++)
        out[i] = (fmax(out[i], largest - 8) + 4) / 4;
    mgk_free(room);
    return STATUS_OK;
}
