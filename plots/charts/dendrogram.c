/* SPDX-License-Identifier: MIT */
#include "plots/charts/dendrogram.h"

#include <math.h>

#include "base/memory.h"

enum { TICKS = 4 };

mgk_axis mgk_dendrogram_axis(const mgk_dendrogram *trees, size_t count)
{
    double highest = 0;
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; trees[t].nodes && i + 1 < trees[t].leaves; i++)
            highest = fmax(highest, trees[t].nodes[i].height);
    return mgk_axis_over(0, highest > 0 ? highest : 1, false, false, TICKS);
}

/* Labels the last tick, and zero where it has room. */
static void draw_ticks(mgk_canvas *canvas, const mgk_axis *axis, mgk_style style, mgk_rect area)
{
    const double em = style.text.size, bottom = area.y + area.height, mark = 0.25 * em;
    const double baseline = bottom + mark + 0.15 * em + MGK_CAP_HEIGHT * style.small.size;
    const mgk_tick *last = &axis->ticks.tick[axis->ticks.count - 1];
    double right = area.x;
    mgk_canvas_line(canvas, area.x, bottom, area.x + area.width, bottom, style.thin);
    for (size_t i = 0; i < axis->ticks.count; i++) {
        right = area.x + area.width * axis->ticks.tick[i].value / axis->high;
        mgk_canvas_line(canvas, right, bottom, right, bottom + mark, style.thin);
    }
    const double zero = area.x + mgk_text_width("0", style.small) + 0.4 * em;
    const double left = right - mgk_text_width(last->label, style.small) / 2;
    if (last->value > 0)
        mgk_canvas_text(canvas, right, baseline, last->label, style.small, ANCHOR_MIDDLE);
    if (last->value == 0 || left > zero)
        mgk_canvas_text(canvas, area.x, baseline, "0", style.small, ANCHOR_START);
}

mgk_status mgk_dendrogram_draw(mgk_canvas *canvas, const mgk_dendrogram *tree, const mgk_axis *axis,
                               mgk_style style, double pitch, mgk_rect area)
{
    const size_t leaves = tree->leaves;
    mgk_point *places; /* [2 leaves − 1], where each node's own line begins */
    if (!tree->nodes)
        return STATUS_OK;
    TRY(mgk_alloc(2 * leaves - 1, sizeof(*places), &places));
    for (size_t i = 0; i < leaves; i++)
        places[i] = (mgk_point){area.x, area.y + pitch * ((double)tree->rows[i] + 0.5)};
    for (size_t i = 0; i + 1 < leaves; i++) {
        const mgk_point a = places[tree->nodes[i].first], b = places[tree->nodes[i].second];
        const double x = area.x + area.width * tree->nodes[i].height / axis->high;
        const mgk_point bracket[] = {a, {x, a.y}, {x, b.y}, b};
        mgk_canvas_polyline(canvas, bracket, 4, style.thin);
        places[leaves + i] = (mgk_point){x, (a.y + b.y) / 2};
    }
    mgk_free(places);
    draw_ticks(canvas, axis, style, area);
    return STATUS_OK;
}
