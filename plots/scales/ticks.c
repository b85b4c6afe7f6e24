/* SPDX-License-Identifier: MIT */
#include "plots/scales/ticks.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const minus = "\u2212";

bool mgk_is_one_value(double low, double high)
{
    const double half = high / 2 - low / 2; /* the range may exceed DBL_MAX */
    return !(half > 1e-12 * fmax(fabs(low), fabs(high)) && half >= DBL_MIN);
}

double mgk_round_step(double size)
{
    double power = pow(10, floor(log10(size)));
    double lead = size / power;
    /* The rounding of the division must not double a size that is already round. */
    const double slack = 1 - 1e-9;
    return power * (lead * slack <= 1 ? 1 : lead * slack <= 2 ? 2 : lead * slack <= 5 ? 5 : 10);
}

/* Appends 10^exponent with raised digits. */
static void append_power(char *label, size_t size, int exponent)
{
    static const char *const raised[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                         "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
    char digits[16];
    snprintf(digits, sizeof(digits), "%d", abs(exponent));
    strncat(label, "10", size - strlen(label) - 1);
    if (exponent < 0)
        strncat(label, "\u207b", size - strlen(label) - 1);
    for (const char *digit = digits; *digit; digit++)
        strncat(label, raised[*digit - '0'], size - strlen(label) - 1);
}

/* value = mantissa 10^exponent; omits a mantissa of 1. */
static void scientific_label(double value, int digits, char label[MGK_TICK_LABEL])
{
    char text[MGK_TICK_LABEL];
    snprintf(text, sizeof(text), "%.*e", digits - 1, fabs(value));
    char *e = strchr(text, 'e');
    int exponent = atoi(e + 1);
    do
        *e-- = '\0';
    while (strchr(text, '.') && (*e == '0' || *e == '.'));
    snprintf(label, MGK_TICK_LABEL, "%s", value < 0 ? minus : "");
    if (strtod(text, NULL) != 1) {
        strncat(label, text, MGK_TICK_LABEL - strlen(label) - 1);
        strncat(label, "\u00d7", MGK_TICK_LABEL - strlen(label) - 1);
    }
    append_power(label, MGK_TICK_LABEL, exponent);
}

static void fixed_label(double value, int decimals, char label[MGK_TICK_LABEL])
{
    snprintf(label, MGK_TICK_LABEL, "%s%.*f", value < 0 ? minus : "", decimals, fabs(value));
}

/* Whether a value is written as a power of ten. */
static bool is_scientific(double value)
{
    double size = fabs(value);
    return size != 0 && (size < 1e-3 || size >= 1e5);
}

void mgk_tick_label(double value, int digits, char label[MGK_TICK_LABEL])
{
    mgk_tick_label_as(value, digits, is_scientific(value), label);
}

void mgk_tick_label_as(double value, int digits, bool scientific, char label[MGK_TICK_LABEL])
{
    if (value == 0) {
        fixed_label(0, 0, label);
        return;
    }
    if (scientific) {
        scientific_label(value, digits, label);
        return;
    }
    char text[MGK_TICK_LABEL];
    snprintf(text, sizeof(text), "%.*g", digits, fabs(value));
    /* %g may write an exponent; strtod rounds equally, and fixed notation follows. */
    double rounded = strtod(text, NULL);
    int decimals = digits - 1 - (int)floor(log10(rounded));
    fixed_label(copysign(rounded, value), decimals > 0 ? decimals : 0, label);
    if (decimals > 0) {
        char *end = label + strlen(label) - 1;
        while (*end == '0')
            *end-- = '\0';
        if (*end == '.')
            *end = '\0';
    }
}

void mgk_ticks_label(mgk_ticks *ticks, int digits)
{
    for (size_t i = 0; i < ticks->count; i++)
        ticks->scientific = ticks->scientific || is_scientific(ticks->tick[i].value);
    for (size_t i = 0; i < ticks->count; i++)
        mgk_tick_label_as(ticks->tick[i].value, digits, ticks->scientific, ticks->tick[i].label);
}

static void add_tick(mgk_ticks *ticks, double value)
{
    if (ticks->count < MGK_TICKS_MAX)
        ticks->tick[ticks->count++].value = value;
}

/* Enough digits to distinguish multiples of the step. */
static int significant_digits(double value, double step)
{
    double digits = floor(log10(fabs(value)) + 1e-9) - floor(log10(step) + 1e-9) + 1;
    return (int)fmax(1, digits);
}

/* All labels of an axis have the same number of decimals, or all are scientific. */
static void label_linear(mgk_ticks *ticks, double step, double largest)
{
    int decimals = (int)fmax(0, -floor(log10(step) + 1e-9));
    for (size_t i = 0; i < ticks->count; i++) {
        mgk_tick *tick = &ticks->tick[i];
        if (tick->value != 0 && (largest >= 1e5 || step < 1e-4))
            scientific_label(tick->value, significant_digits(tick->value, step), tick->label);
        else
            fixed_label(tick->value, tick->value == 0 && step < 1e-4 ? 0 : decimals, tick->label);
    }
}

static mgk_ticks one_tick(double value)
{
    mgk_ticks ticks = {0};
    add_tick(&ticks, value);
    mgk_tick_label(value, 3, ticks.tick[0].label);
    return ticks;
}

mgk_ticks mgk_ticks_linear(double low, double high, size_t most)
{
    if (!isfinite(high - low) || mgk_is_one_value(low, high))
        return one_tick(low);
    size_t intervals = most < 2 ? 1 : most > MGK_TICKS_MAX ? MGK_TICKS_MAX - 1 : most - 1;
    return mgk_ticks_every(low, high, mgk_round_step((high - low) / (double)intervals));
}

mgk_ticks mgk_ticks_every(double low, double high, double step)
{
    mgk_ticks ticks = {0};
    if (!isnormal(step) || mgk_is_one_value(low, high))
        return one_tick(low);
    double slack = 1e-9 * (high - low);
    double first = ceil((low - slack) / step), last = floor((high + slack) / step);
    for (double k = first; k <= last && ticks.count < MGK_TICKS_MAX && isfinite(k * step); k++)
        add_tick(&ticks, k == 0 ? 0 : k * step);
    label_linear(&ticks, step, fmax(fabs(low), fabs(high)));
    return ticks;
}

/* 1, 2 and 5 in every decade. */
static mgk_ticks ticks_within_decades(double low, double high)
{
    static const double leads[] = {1, 2, 5};
    mgk_ticks ticks = {0};
    for (int decade = (int)floor(log10(low)); decade <= (int)floor(log10(high)); decade++)
        for (size_t i = 0; i < 3; i++) {
            double value = leads[i] * pow(10, decade);
            if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9))
                add_tick(&ticks, value);
        }
    mgk_ticks_label(&ticks, 1);
    return ticks;
}

mgk_ticks mgk_ticks_log(double low, double high, size_t most)
{
    mgk_ticks ticks = {0};
    if (!(low > 0) || !(high > low) || !isfinite(high))
        return mgk_ticks_linear(low, low, most);
    int first = (int)ceil(log10(low) - 1e-9), last = (int)floor(log10(high) + 1e-9);
    int decades = last - first + 1;
    if (decades < 3) {
        ticks = ticks_within_decades(low, high);
        if (ticks.count >= 2 && ticks.count <= most)
            return ticks;
        if (decades < 2)
            return mgk_ticks_linear(low, high, most);
        ticks = (mgk_ticks){0};
    }
    int limit = most < 2 ? 2 : most > MGK_TICKS_MAX ? MGK_TICKS_MAX : (int)most;
    int every = (decades + limit - 1) / limit;
    ticks.scientific = true;
    for (int decade = first; decade <= last; decade++)
        if ((last - decade) % every == 0) {
            add_tick(&ticks, pow(10, decade));
            append_power(ticks.tick[ticks.count - 1].label, MGK_TICK_LABEL, decade);
        }
    return ticks;
}
