/* SPDX-License-Identifier: MIT */
/* Draws a contact sheet of attention matrices, from more stores than a grid has room for. */
#include "plots/charts/sheet.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/number.h"
#include "plot/plot.h"

/* The title of a matrix. */
typedef char sheet_title[sizeof(mgk_plot_title) + 32];

/* What the sheet shows. */
typedef struct contents {
    mgk_plot_matrices *matrices; /* [inputs] */
    size_t inputs;
    mgk_sheet_panel *panels; /* [count] */
    sheet_title *titles;
    size_t count;
} contents;

static void release(contents *c)
{
    mgk_plot_matrices_free(c->matrices, c->matrices ? c->inputs : 0);
    mgk_free(c->matrices);
    mgk_free(c->panels);
    mgk_free(c->titles);
}

static mgk_status check_names(const mgk_plot_options *o)
{
    if (o->name_count == 0 || o->name_count == o->input_count)
        return STATUS_OK;
    return mgk_fail(STATUS_USAGE, "%zu %s for %zu %s", o->name_count,
                    MGK_NOUN(o->name_count, "name", "names"), o->input_count,
                    MGK_NOUN(o->input_count, "model", "models"));
}

/* Reads the inputs one by one: all at the position of the first one's sample. */
static mgk_status read_inputs(const mgk_plot_options *o, contents *c)
{
    mgk_plot_options one = *o;
    one.names = NULL;
    one.name_count = 0;
    TRY(check_names(o));
    TRY(mgk_alloc(o->input_count, sizeof(*c->matrices), &c->matrices));
    for (c->inputs = 0; c->inputs < o->input_count; c->inputs++) {
        mgk_plot_matrices *m = &c->matrices[c->inputs];
        TRY(mgk_plot_read_stores(&one, &o->inputs[c->inputs], 1, STORE_ATTENTION, m));
        one.sample = m->position;
    }
    mgk_plot_tell_models(c->matrices, c->inputs);
    return STATUS_OK;
}

/* The name of a model, its kind if no name is given; and which head it is if others are drawn. */
static void write_title(const mgk_plot *plot, const contents *c, size_t input, size_t layer,
                        size_t head, sheet_title out)
{
    const mgk_plot_matrices *m = &c->matrices[input];
    const long l = (long)m->layers[layer] + plot->picture.count_from,
               h = (long)m->heads[head] + plot->picture.count_from;
    const char *name = mgk_plot_name(plot->options, input, m->title);
    if (c->inputs == 1)
        snprintf(out, sizeof(sheet_title), "layer %ld, head %ld", l, h);
    else if (m->panels.layers * m->panels.heads == 1)
        snprintf(out, sizeof(sheet_title), "%s", name);
    else
        snprintf(out, sizeof(sheet_title), "%s, %ld-%ld", name, l, h);
}

static mgk_status list_panels(const mgk_plot *plot, contents *c)
{
    size_t total = 0;
    for (size_t i = 0; i < c->inputs; i++)
        total += c->matrices[i].panels.layers * c->matrices[i].panels.heads;
    TRY(mgk_alloc(total, sizeof(*c->panels), &c->panels));
    TRY(mgk_alloc(total, sizeof(*c->titles), &c->titles));
    for (size_t i = 0; i < c->inputs; i++) {
        mgk_panels *panels = &c->matrices[i].panels;
        panels->source = c->matrices[i].path;
        for (size_t k = 0; k < panels->layers * panels->heads; k++, c->count++) {
            const size_t layer = k / panels->heads, head = k % panels->heads;
            write_title(plot, c, i, layer, head, c->titles[c->count]);
            c->panels[c->count] = (mgk_sheet_panel){panels, layer, head, c->titles[c->count]};
        }
    }
    return STATUS_OK;
}

/* Each panel names its model, or there is only one. */
static void set_title(mgk_plot *plot, const contents *c)
{
    char sample[32];
    if (c->inputs == 1) {
        mgk_plot_title_model(plot, &c->matrices[0]);
        return;
    }
    snprintf(sample, sizeof(sample), "sample %d", c->matrices[0].sample);
    mgk_plot_set_title(plot, "", sample);
}

mgk_status mgk_plot_sheet(mgk_plot *plot)
{
    mgk_status status;
    const mgk_plot_options *o = plot->options;
    contents c = {.matrices = NULL};
    CHECK(read_inputs(o, &c));
    CHECK(list_panels(plot, &c));
    set_title(plot, &c);
    const mgk_sheet sheet = {c.panels, c.count, (size_t)o->columns, 160};
    CHECK(mgk_draw_sheet(&sheet, &plot->picture, o->output));
out:
    release(&c);
    return status;
}
