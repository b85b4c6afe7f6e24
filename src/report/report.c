/* SPDX-License-Identifier: MIT */
/* Collects the inputs, and fills the places of the page. */
#include "report/report.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "plots/scales/colormap.h"
#include "report/differences.h"
#include "report/models.h"
#include "report/page.h"
#include "report/stores.h"
#include "report/tables.h"
#include "report/text.h"
#include "run/job.h"
#include "run/recognise.h"

/* What the page shows. */
typedef struct content {
    const mgk_report_options *options;
    mgk_report_draw *draw;
    mgk_report_tables tables;
    mgk_plot_measures measures; /* of the models */
    mgk_report_drawn drawn;     /* room for what a picture is drawn from: all models or tables */
    const char **paths;         /* [path_count], of stores */
    mgk_report_store *stores; /* [store_count], each path as often as tables read it differently */
    size_t path_count, store_count, pictures;
    mgk_report_reading readings[MGK_GROUPS_MAX]; /* of each model */
    int32_t store_of[MGK_GROUPS_MAX];            /* of each model; -1: none */
    bool hidden;  /* the place is in a part that these models do not need */
    bool undrawn; /* the place is a picture that could not be drawn */
} content;

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Reads the tables, and keeps the paths of the stores. */
static mgk_status sort_inputs(content *c)
{
    const mgk_report_options *o = c->options;
    mgk_file_kind kind;
    TRY(mgk_report_tables_make(o->input_count, &c->tables));
    TRY(mgk_alloc(o->input_count, sizeof(*c->paths), &c->paths));
    for (size_t i = 0; i < o->input_count; i++) {
        TRY(mgk_recognise(o->inputs[i], &kind));
        if (mgk_file_is_diversity(kind))
            TRY(mgk_report_tables_read(&c->tables, o->inputs[i]));
        else if (kind == MGK_FILE_ARRAYS)
            c->paths[c->path_count++] = o->inputs[i];
        else
            return mgk_fail(STATUS_FORMAT,
                            "%s: neither measures of mgk-diversity nor an attention store",
                            o->inputs[i]);
    }
    return c->tables.count > 0
               ? STATUS_OK
               : mgk_fail(STATUS_FORMAT, "%s: no measures; mgk-diversity makes them from a store",
                          o->inputs[0]);
}

/* A matrix that cannot be read as a table has read it, or is gone, is not shown. */
static mgk_status tell_unread(const content *c, const char *path, mgk_status status)
{
    char note[1024];
    if (status == STATUS_MEMORY || status == STATUS_INTERRUPTED)
        return status;
    snprintf(note, sizeof(note), "not shown, because it cannot be read as its table says: %s",
             mgk_fail_message());
    mgk_job_report_remark(&c->options->job, path, note);
    return STATUS_OK;
}

/* Opens a path as the table of model i has read it, unless it is open so. */
static mgk_status open_named(content *c, const char *path, size_t i, bool exact)
{
    for (size_t s = 0; s < c->store_count; s++)
        if (c->stores[s].path == path && c->stores[s].reading &&
            mgk_report_same_reading(c->stores[s].reading, &c->readings[i]))
            return STATUS_OK;
    mgk_report_store *store = &c->stores[c->store_count];
    mgk_status status = mgk_report_open_store(c->options, path, &c->readings[i], exact, store);
    if (status == STATUS_OK) {
        c->store_count++;
        return STATUS_OK;
    }
    mgk_report_close_store(store);
    *store = (mgk_report_store){.path = NULL};
    return tell_unread(c, path, status);
}

/* Opens a path for each model whose table names it, or else as usual. A table of the same path goes
 * before those of other files of this name. */
static mgk_status open_path(content *c, const char *path)
{
    const char *file = mgk_file_name(path);
    bool exact = false, named = false;
    for (size_t i = 0; i < c->measures.count; i++)
        exact = exact || strcmp(c->measures.inputs[i].values->name, path) == 0;
    for (size_t i = 0; i < c->measures.count; i++) {
        const char *name = c->measures.inputs[i].values->name;
        if (!c->readings[i].known ||
            strcmp(exact ? name : mgk_file_name(name), exact ? path : file))
            continue;
        named = true;
        TRY(open_named(c, path, i, exact));
    }
    return named
               ? STATUS_OK
               : mgk_report_open_store(c->options, path, NULL, exact, &c->stores[c->store_count++]);
}

static mgk_status open_stores(content *c)
{
    for (size_t i = 0; i < c->measures.count; i++)
        TRY(mgk_report_reading_of(&c->tables.models[i].sources[0], &c->readings[i]));
    TRY(mgk_alloc(c->path_count * (c->measures.count + 1), sizeof(*c->stores), &c->stores));
    for (size_t i = 0; i < c->path_count; i++)
        TRY(open_path(c, c->paths[i]));
    return STATUS_OK;
}

/* Tells why a store is not shown. */
static void tell_unused(const content *c, size_t s)
{
    int32_t alone[MGK_GROUPS_MAX]; /* what the models would have without the other stores */
    char note[1024] = "not shown: no table has its name or model, and its layers and heads";
    mgk_report_match(&c->measures, c->readings, &c->stores[s], 1, alone);
    for (size_t i = 0; i < c->measures.count; i++)
        if (alone[i] >= 0)
            snprintf(note, sizeof(note), "not shown: %.900s is shown for this model",
                     c->stores[c->store_of[i]].path);
    mgk_job_report_remark(&c->options->job, c->stores[s].path, note);
}

/* Tells of stores that are not shown. */
static void tell_all_unused(const content *c)
{
    for (size_t s = 0; s < c->store_count; s++) {
        bool used = false;
        for (size_t i = 0; i < c->measures.count; i++)
            used = used || c->store_of[i] == (int32_t)s;
        if (!used)
            tell_unused(c, s);
    }
}

/* Gives the models their titles. */
static mgk_status name_models(content *c)
{
    const mgk_report_tables *tables = &c->tables;
    mgk_plot_options options = mgk_plot_options_default();
    const size_t most = tables->count + tables->model_count;
    TRY(mgk_alloc(most, sizeof(*c->drawn.paths), &c->drawn.paths));
    TRY(mgk_alloc(most, sizeof(*c->drawn.sets), &c->drawn.sets));
    TRY(mgk_alloc(most, sizeof(*c->drawn.names), &c->drawn.names));
    for (size_t i = 0; i < tables->model_count; i++) {
        c->drawn.paths[i] = tables->paths[tables->models[i].tables[0]];
        c->drawn.sets[i] = &tables->models[i].set;
    }
    options.inputs = c->drawn.paths;
    options.input_count = tables->model_count;
    mgk_plot plot = {.options = &options, .sets = c->drawn.sets};
    return mgk_plot_read_measures(&plot, &c->measures);
}

/* A store tells the name of its model, which says more than that of a file, unless several models
 * of the page would have it. */
static void name_by_stores(content *c)
{
    char names[MGK_GROUPS_MAX][MGK_PLOT_TITLE];
    for (size_t i = 0; i < c->measures.count; i++) {
        const mgk_report_store *store = c->store_of[i] >= 0 ? &c->stores[c->store_of[i]] : NULL;
        mgk_plot_file_title(store ? store->description->model : "", names[i]);
    }
    for (size_t i = 0; i < c->measures.count; i++) {
        mgk_plot_measured *model = &c->measures.inputs[i];
        bool taken = !*names[i];
        for (size_t k = 0; k < c->measures.count && !taken; k++)
            taken = k != i && (strcmp(names[k], names[i]) == 0 ||
                               strcmp(c->measures.inputs[k].title, names[i]) == 0);
        if (!taken)
            mgk_utf8_copy(names[i], SIZE_MAX, model->title, sizeof(model->title));
    }
}

static mgk_status open_content(content *c)
{
    TRY(sort_inputs(c));
    TRY(mgk_report_tables_merge(&c->tables));
    TRY(name_models(c));
    TRY(open_stores(c));
    mgk_report_match(&c->measures, c->readings, c->stores, c->store_count, c->store_of);
    name_by_stores(c);
    tell_all_unused(c);
    return STATUS_OK;
}

static void close_content(content *c)
{
    for (size_t i = 0; i < c->store_count; i++)
        mgk_report_close_store(&c->stores[i]);
    for (size_t i = 0; i < c->measures.count; i++)
        mgk_report_reading_free(&c->readings[i]);
    mgk_free(c->stores);
    mgk_free(c->paths);
    mgk_plot_measures_free(&c->measures);
    mgk_report_tables_free(&c->tables);
    mgk_free(c->drawn.paths);
    mgk_free(c->drawn.sets);
    mgk_free(c->drawn.names);
}

static bool has_mixture(const content *c)
{
    for (size_t i = 0; i < c->measures.count; i++)
        if (c->store_of[i] >= 0 && c->stores[c->store_of[i]].description->mixtures > 1)
            return true;
    return mgk_report_has_mixture(&c->measures);
}

static bool is_compared(const content *c)
{
    for (size_t i = 0; i < c->tables.count; i++)
        if (c->tables.sets[i].difference_count > 0)
            return true;
    return false;
}

static bool is_pruned(const content *c)
{
    for (size_t i = 0; i < c->tables.model_count; i++)
        if (c->tables.models[i].set.point_count > 0)
            return true;
    return false;
}

static bool is_across_layers(const content *c)
{
    for (size_t i = 0; i < c->measures.count; i++)
        if (c->measures.inputs[i].values->layout.across)
            return true;
    return false;
}

/* Which parts of the page there are. */
static const struct {
    const char *name;
    bool (*applies)(const content *c);
} conditions[] = {{"mixture", has_mixture},
                  {"compared", is_compared},
                  {"pruned", is_pruned},
                  {"across", is_across_layers}};

/* ---- places ---------------------------------------------------------------------------------- */

static mgk_status write_style(FILE *page, content *c)
{
    (void)c;
    fputs(mgk_report_style, page);
    return STATUS_OK;
}

static mgk_status write_script(FILE *page, content *c)
{
    (void)c;
    fputs(mgk_report_script, page);
    return STATUS_OK;
}

static mgk_status write_version(FILE *page, content *c)
{
    (void)c;
    fputs(MGK_VERSION, page);
    return STATUS_OK;
}

/* The names of the models. */
static mgk_status write_models(FILE *page, content *c)
{
    for (size_t i = 0; i < c->measures.count; i++) {
        fputs(i > 0 ? ", " : "", page);
        mgk_report_html(page, c->measures.inputs[i].title);
    }
    return STATUS_OK;
}

static mgk_status write_command(FILE *page, content *c)
{
    mgk_report_html(page, c->options->job.command ? c->options->job.command : "not known");
    return STATUS_OK;
}

/* The colours of the pictures, red, green and blue of 256 steps. */
static void write_colors(FILE *page)
{
    unsigned char colors[256 * 3];
    for (size_t i = 0; i < 256; i++) {
        const mgk_rgb color = mgk_colormap_at(COLORMAP_VIRIDIS, (double)i / 255);
        colors[3 * i] = color.r;
        colors[3 * i + 1] = color.g;
        colors[3 * i + 2] = color.b;
    }
    mgk_report_base64(page, colors, sizeof(colors));
}

static mgk_status write_data(FILE *page, content *c)
{
    fputs("{\"colors\":", page);
    write_colors(page);
    fputs(",\n\"models\":", page);
    TRY(mgk_report_models(page, &c->tables, &c->measures, c->stores, c->store_of));
    fputs(",\n\"differences\":", page);
    mgk_report_differences(page, &c->tables);
    fputs(",\n\"stores\":", page);
    TRY(mgk_report_stores(page, &c->options->job, c->stores, c->store_count));
    fputc('}', page);
    return STATUS_OK;
}

static const struct {
    const char *name;
    mgk_status (*write)(FILE *page, content *c);
} parts[] = {{"style", write_style},   {"script", write_script},   {"data", write_data},
             {"models", write_models}, {"version", write_version}, {"command", write_command}};

/* ---- the page -------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static void add_drawn(mgk_report_drawn *drawn, const char *path, const mgk_diversity_set *set,
                      const char *name)
{
    drawn->paths[drawn->count] = path;
    drawn->sets[drawn->count] = set;
    drawn->names[drawn->count++] = name;
}

/* Lists the tables that compare their inputs. */
static void list_comparisons(const content *c, mgk_report_drawn *out)
{
    const mgk_report_tables *tables = &c->tables;
    for (size_t i = 0; i < tables->count; i++)
        if (tables->sets[i].difference_count > 0)
            add_drawn(out, tables->paths[i], &tables->sets[i], NULL);
    out->names = NULL;
}

/* Whether a model has what a picture shows. */
static bool suits(const mgk_plot_measured *model, const mgk_report_picture *picture)
{
    const size_t m = mgk_diversity_find(model->values, picture->measure);
    if (picture->kind == MGK_PLOT_PRUNE)
        return model->set->point_count > 0;
    if (picture->kind == MGK_PLOT_MAP && !model->values->layout.across)
        return false;
    return !*picture->measure || (m < model->values->layout.chosen && mgk_plot_has_value(model, m));
}

/* Lists the models that have what a picture shows. */
static void list_models(const content *c, const mgk_report_picture *picture, mgk_report_drawn *out)
{
    const bool names_it = picture->kind == MGK_PLOT_HEADS || picture->kind == MGK_PLOT_MAP;
    for (size_t i = 0; i < c->measures.count; i++) {
        const mgk_plot_measured *model = &c->measures.inputs[i];
        if (suits(model, picture))
            add_drawn(out, model->path, model->set, model->title);
    }
    /* A picture of one model does not always name it, which matters if there are others. */
    if (out->count == 1 && c->measures.count > 1 && !names_it)
        out->title = out->names[0];
}

/* Writes a picture, or a word in its place. */
static mgk_status write_picture(FILE *page, content *c, const char *text, size_t length)
{
    mgk_report_picture picture;
    bool drawn;
    TRY(mgk_report_parse_picture(text, length, &picture));
    if (mgk_job_stopped(&c->options->job))
        return mgk_fail(STATUS_INTERRUPTED, "interrupted");
    mgk_report_drawn from = c->drawn;
    if (picture.kind == MGK_PLOT_COMPARE)
        list_comparisons(c, &from);
    else
        list_models(c, &picture, &from);
    TRY(mgk_report_picture_write(page, &picture, ++c->pictures, &from, c->draw, &drawn));
    c->undrawn = !drawn;
    return STATUS_OK;
}

/* Leaves out what follows, unless the condition holds. */
static mgk_status hide(content *c, const char *condition)
{
    for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++)
        if (begins(condition, conditions[i].name)) {
            c->hidden = !conditions[i].applies(c);
            return STATUS_OK;
        }
    return mgk_fail(STATUS_FORMAT, "page: no condition \"%.20s\"", condition);
}

/* Fills a place, text [length]. */
static mgk_status fill(FILE *page, content *c, const char *text, size_t length)
{
    static const char picture[] = "picture ", when[] = "when ";
    if (begins(text, when))
        return hide(c, text + strlen(when));
    if (begins(text, "end"))
        c->hidden = false;
    else if (c->hidden)
        return STATUS_OK;
    else if (begins(text, picture))
        return write_picture(page, c, text + strlen(picture), length - strlen(picture));
    else {
        for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
            if (begins(text, parts[i].name))
                return parts[i].write(page, c);
        return mgk_fail(STATUS_FORMAT, "page: no part \"%.*s\"", (int)length, text);
    }
    return STATUS_OK;
}

/* The page behind the caption of a picture that is not there. */
static const char *skip_caption(content *c, const char *rest)
{
    const char *end = strstr(rest, "</figure>");
    c->undrawn = false;
    return end ? end : rest;
}

static mgk_status write_page(FILE *page, content *c)
{
    static const char begin[] = "<!--@ ", end[] = " -->";
    const char *rest = mgk_report_page, *place;
    while ((place = strstr(rest, begin))) {
        if (!c->hidden)
            fwrite(rest, 1, (size_t)(place - rest), page);
        place += strlen(begin);
        rest = strstr(place, end);
        if (!rest)
            return mgk_fail(STATUS_FORMAT, "page: a place without an end");
        TRY(fill(page, c, place, (size_t)(rest - place)));
        rest += strlen(end);
        if (c->undrawn)
            rest = skip_caption(c, rest);
    }
    fputs(rest, page);
    return STATUS_OK;
}

static mgk_status write_file(content *c)
{
    mgk_output output;
    const mgk_report_options *o = c->options;
    TRY(mgk_output_open(o->output, o->job.force, &output));
    FILE *page = fopen(output.temporary, "wb");
    mgk_status status = page ? write_page(page, c) : mgk_fail_write(o->output, errno);
    if (page && status == STATUS_OK)
        status = mgk_close_written(page, o->output);
    else if (page)
        fclose(page);
    if (status == STATUS_OK)
        return mgk_output_commit(&output);
    mgk_output_discard(&output);
    return status;
}

mgk_status mgk_report_write(const mgk_report_options *options, mgk_report_draw *draw)
{
    content c = {.options = options, .draw = draw};
    mgk_status status = open_content(&c);
    if (status == STATUS_OK)
        status = write_file(&c);
    close_content(&c);
    return status;
}
