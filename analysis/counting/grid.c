#include "analysis/counting/grid.h"

#include <string.h>

/* Bits of the significand after the leading one. */
static const struct {
    const char *name;
    int bits;
    double roundoff;
} formats[MGK_GRID_COUNT] = {
    [MGK_GRID_F64] = {"f64", 52, 0x1p-53},
    [MGK_GRID_F32] = {"f32", 23, 0x1p-24},
    [MGK_GRID_F16] = {"f16", 10, 0x1p-11},
    [MGK_GRID_BF16] = {"bf16", 7, 0x1p-8},
};

const char *mgk_grid_name(mgk_grid grid)
{
    return formats[grid].name;
}

double mgk_grid_roundoff(mgk_grid grid)
{
    return formats[grid].roundoff;
}

uint64_t mgk_grid_bits(size_t count, const double *entries)
{
    uint64_t used = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &entries[i], sizeof(bits));
        used |= bits;
    }
    return used;
}

mgk_grid mgk_grid_of_bits(uint64_t used)
{
    used &= (UINT64_C(1) << 52) - 1;
    if (used == 0)
        return MGK_GRID_F64;
    int needed = 52 - __builtin_ctzll(used);
    mgk_grid grid = MGK_GRID_BF16;
    while (formats[grid].bits < needed)
        grid--;
    return grid;
}

mgk_grid mgk_grid_detect(size_t count, const double *entries)
{
    return mgk_grid_of_bits(mgk_grid_bits(count, entries));
}
