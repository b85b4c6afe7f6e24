/* Bar charts: costs or accuracies of several models, side by side in every category. */
#ifndef MGK_PLOTS_BARS_H
#define MGK_PLOTS_BARS_H

#include <stddef.h>

#include "plots/options.h"

typedef struct mgk_bars {
    const double *values;          /* [series_count, category_count], finite */
    const char *const *series;     /* [series_count], in the legend */
    const char *const *categories; /* [category_count], under the bars */
    size_t series_count, category_count;
    const char *y_label; /* NULL: none */
} mgk_bars;

/* STATUS_SHAPE: no bar, or too many; STATUS_NUMERIC: a value that is not finite. */
mgk_status mgk_draw_bars(const mgk_bars *bars, const mgk_picture_options *options,
                         const char *path);

#endif
