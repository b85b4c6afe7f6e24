/* SPDX-License-Identifier: MIT */
#include "report/picture.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/measures/registry.h"
#include "base/file.h"
#include "diversity/diversity.h"
#include "report/text.h"

/* ---- what to draw ---------------------------------------------------------------------------- */

/* The kinds of pictures that a page may hold. */
static const struct {
    const char *name;
    mgk_plot_kind kind;
} kinds[] = {{"depth", MGK_PLOT_DEPTH}, {"heads", MGK_PLOT_HEADS},     {"pairs", MGK_PLOT_PAIRS},
             {"roles", MGK_PLOT_ROLES}, {"compare", MGK_PLOT_COMPARE}, {"prune", MGK_PLOT_PRUNE},
             {"map", MGK_PLOT_MAP},     {"mixture", MGK_PLOT_MIXTURE}};

mgk_status mgk_report_parse_picture(const char *text, size_t length, mgk_report_picture *out)
{
    char line[256] = "", kind[32] = "";
    *out = (mgk_report_picture){.measure = ""};
    snprintf(line, sizeof(line), "%.*s", (int)length, text);
    const int words = sscanf(line, "%31[a-z] %63[a-z0-9_]", kind, out->measure);
    if (words < 1 || sscanf(line, "%*[^:]: %159[^\n]", out->label) != 1)
        return mgk_fail(STATUS_FORMAT, "page: no picture \"%s\"", line);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(kind, kinds[i].name) == 0) {
            out->kind = kinds[i].kind;
            return STATUS_OK;
        }
    return mgk_fail(STATUS_FORMAT, "page: no kind of picture \"%s\"", kind);
}

/* ---- SVG in a page --------------------------------------------------------------------------- */

/* If a place of the SVG continues with the word, writes it. */
static bool copy_word(FILE *page, const char **svg, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(*svg, word, length) != 0)
        return false;
    fputs(word, page);
    *svg += length;
    return true;
}

/* Skips an attribute that declares a name space, which HTML knows. */
static bool skip_name_space(const char **svg)
{
    const char *quote;
    if (strncmp(*svg, " xmlns", 6) != 0 || !(quote = strchr(*svg, '"')) ||
        !(quote = strchr(quote + 1, '"')))
        return false;
    *svg = quote + 1;
    return true;
}

/* Copies the element <svg>. Names of its parts get the picture's number, because every picture has
 * the same ones. Text between tags stays as it is. */
static void copy_svg(FILE *page, const char *svg, const mgk_report_picture *picture, size_t number)
{
    const char *root = strstr(svg, "<svg");
    if (!root)
        return;
    fputs("<svg role=\"img\" aria-label=\"", page);
    mgk_report_html(page, picture->label);
    fputc('"', page);
    bool tag = true;
    for (svg = root + 4; *svg;)
        if (tag && (copy_word(page, &svg, " id=\"") || copy_word(page, &svg, "href=\"#") ||
                    copy_word(page, &svg, "url(#")))
            fprintf(page, "p%zu-", number);
        else if (!tag || !skip_name_space(&svg)) {
            tag = *svg == '<' || (tag && *svg != '>');
            fputc(*svg++, page);
        }
}

static void write_missing(FILE *page, const char *name, const char *reason)
{
    const mgk_measure *measure = mgk_measure_find(name);
    const char *needs = measure ? mgk_measure_needs_text(measure) : "";
    fputs("<p class=\"missing\">Not drawn: ", page);
    mgk_report_html(page, reason);
    if (*needs)
        fprintf(page, "; mgk-diversity measures it with %s", needs);
    fputs(".</p>\n", page);
}

mgk_status mgk_report_picture_write(FILE *page, const mgk_report_picture *picture, size_t number,
                                    const mgk_report_drawn *from, mgk_report_draw *draw,
                                    bool *drawn)
{
    mgk_plot_options o = mgk_plot_options_default();
    char *svg = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&svg, &size);
    if (!memory)
        return mgk_fail(STATUS_MEMORY, "no memory for a picture");
    o.kind = picture->kind;
    o.measure = *picture->measure ? picture->measure : NULL;
    o.inputs = from->paths;
    o.input_count = from->count;
    o.names = from->names;
    o.name_count = from->names ? from->count : 0;
    o.title = from->title;
    mgk_status status = from->count > 0 ? draw(&o, from->sets, memory)
                                        : mgk_fail(STATUS_FORMAT, "no table has a value of \"%s\"",
                                                   picture->measure);
    if (!mgk_close_text(memory))
        status = mgk_fail(STATUS_MEMORY, "no memory for a picture");
    *drawn = status == STATUS_OK;
    if (*drawn)
        copy_svg(page, svg, picture, number);
    else if (status != STATUS_MEMORY && status != STATUS_IO)
        write_missing(page, picture->measure, mgk_fail_message());
    free(svg);
    return status == STATUS_MEMORY || status == STATUS_IO ? status : STATUS_OK;
}
