/* SPDX-License-Identifier: MIT */
#include "plots/scales/colormap.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { POINTS = 33 };

/*
 * Evenly spaced points of each map, interpolated linearly in between; 33 points keep every
 * component within two 8-bit steps of the published 256-entry tables. Viridis and magma: van der
 * Walt and Smith (2015); cividis: Nunez, Anderton and Renslow (2018); coolwarm: Moreland (2009).
 */
static const mgk_rgb viridis[POINTS] = {
    {68, 1, 84},    {71, 13, 96},   {72, 24, 106},  {72, 35, 116},  {71, 45, 123},  {69, 54, 129},
    {66, 64, 134},  {63, 73, 137},  {59, 82, 139},  {55, 90, 141},  {51, 99, 141},  {47, 106, 142},
    {44, 114, 142}, {41, 122, 142}, {38, 129, 142}, {35, 137, 142}, {33, 144, 140}, {31, 152, 139},
    {31, 159, 136}, {33, 166, 133}, {40, 174, 128}, {49, 181, 123}, {62, 188, 116}, {76, 194, 108},
    {93, 201, 99},  {110, 206, 88}, {130, 211, 76}, {150, 216, 63}, {171, 220, 50}, {192, 223, 36},
    {213, 226, 26}, {234, 229, 26}, {253, 231, 37}};

static const mgk_rgb magma[POINTS] = {
    {0, 0, 4},       {3, 3, 17},      {10, 8, 34},     {19, 13, 51},    {29, 17, 70},
    {40, 17, 90},    {54, 16, 106},   {67, 15, 118},   {80, 18, 124},   {93, 23, 127},
    {105, 28, 129},  {118, 33, 129},  {130, 38, 129},  {143, 42, 129},  {156, 46, 127},
    {169, 50, 125},  {182, 55, 121},  {195, 59, 117},  {207, 65, 112},  {219, 72, 106},
    {230, 81, 99},   {238, 92, 94},   {245, 105, 92},  {249, 120, 93},  {251, 135, 97},
    {253, 150, 104}, {254, 165, 113}, {254, 180, 123}, {254, 195, 135}, {254, 209, 148},
    {253, 224, 162}, {252, 238, 176}, {252, 253, 191}};

static const mgk_rgb cividis[POINTS] = {
    {0, 34, 78},     {0, 40, 91},     {0, 46, 106},    {4, 51, 113},    {26, 56, 111},
    {39, 62, 110},   {50, 67, 109},   {59, 73, 108},   {67, 78, 108},   {75, 84, 108},
    {82, 89, 109},   {90, 95, 110},   {97, 101, 111},  {104, 106, 113}, {111, 112, 115},
    {117, 118, 118}, {124, 123, 120}, {132, 129, 121}, {139, 135, 120}, {147, 141, 120},
    {155, 147, 118}, {163, 154, 117}, {171, 160, 114}, {179, 166, 112}, {187, 173, 108},
    {195, 180, 105}, {204, 186, 100}, {212, 193, 95},  {221, 201, 88},  {230, 208, 81},
    {239, 215, 72},  {248, 223, 60},  {254, 232, 56}};

static const mgk_rgb coolwarm[POINTS] = {
    {59, 76, 192},   {68, 90, 204},   {77, 104, 215},  {87, 117, 225},  {98, 130, 234},
    {108, 142, 241}, {119, 154, 247}, {130, 165, 251}, {141, 176, 254}, {152, 185, 255},
    {163, 194, 254}, {174, 201, 252}, {184, 208, 249}, {194, 213, 244}, {204, 217, 238},
    {213, 219, 230}, {221, 221, 221}, {229, 216, 209}, {236, 211, 197}, {241, 204, 185},
    {244, 196, 173}, {247, 187, 160}, {247, 177, 148}, {247, 166, 135}, {244, 154, 123},
    {241, 141, 111}, {236, 127, 99},  {229, 112, 88},  {222, 96, 77},   {213, 80, 66},
    {203, 62, 56},   {192, 40, 47},   {180, 4, 38}};

static const mgk_rgb grey[2] = {{0, 0, 0}, {255, 255, 255}};

typedef struct colormap_row {
    const char *name;
    const mgk_rgb *points; /* [count] */
    size_t count;
} colormap_row;

static const colormap_row maps[COLORMAP_COUNT] = {
    [COLORMAP_VIRIDIS] = {"viridis", viridis, POINTS},
    [COLORMAP_MAGMA] = {"magma", magma, POINTS},
    [COLORMAP_CIVIDIS] = {"cividis", cividis, POINTS},
    [COLORMAP_GREY] = {"grey", grey, 2},
    [COLORMAP_COOLWARM] = {"coolwarm", coolwarm, POINTS},
};

static uint8_t mix(uint8_t a, uint8_t b, double fraction)
{
    return (uint8_t)lround(a + fraction * (b - a));
}

mgk_rgb mgk_colormap_at(mgk_colormap map, double t)
{
    const colormap_row *row = &maps[map];
    if (isnan(t))
        return MGK_NAN_COLOR;
    double position = fmin(fmax(t, 0.0), 1.0) * (double)(row->count - 1);
    size_t index = (size_t)position;
    if (index >= row->count - 1)
        return row->points[row->count - 1];
    mgk_rgb a = row->points[index], b = row->points[index + 1];
    double fraction = position - (double)index;
    return (mgk_rgb){mix(a.r, b.r, fraction), mix(a.g, b.g, fraction), mix(a.b, b.b, fraction)};
}

mgk_rgb mgk_hatch_at(size_t x, size_t y)
{
    enum { PERIOD = 8, STRIPE = 2 };
    const mgk_rgb stripe = {200, 200, 200}, paper = {255, 255, 255};
    return (x + y) % PERIOD < STRIPE ? stripe : paper;
}

mgk_status mgk_colormap_parse(const char *name, mgk_colormap *out)
{
    for (int i = 0; i < COLORMAP_COUNT; i++)
        if (strcmp(name, maps[i].name) == 0) {
            *out = (mgk_colormap)i;
            return STATUS_OK;
        }
    return mgk_fail(STATUS_USAGE,
                    "colour map \"%s\": expected viridis, magma, cividis, grey or coolwarm", name);
}
