/* SPDX-License-Identifier: MIT */
/* Names of models and titles, shared by all pictures. */
#include "plot/plot.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/file.h"
#include "base/number.h"
#include "base/utf8.h"
#include "model/core/model_hash.h"
#include "run/job.h"

mgk_status mgk_plot_check_names(const mgk_plot_options *o, size_t models)
{
    if (models < 1 || models > MGK_GROUPS_MAX)
        return mgk_fail(STATUS_USAGE, "%zu models: expected 1 to %d", models, MGK_GROUPS_MAX);
    if (o->name_count > 0 && o->name_count != models)
        return mgk_fail(STATUS_USAGE, "%zu %s for %zu %s", o->name_count,
                        MGK_NOUN(o->name_count, "name", "names"), models,
                        MGK_NOUN(models, "model", "models"));
    return STATUS_OK;
}

const char *mgk_plot_name(const mgk_plot_options *o, size_t model, const char *otherwise)
{
    return model < o->name_count ? o->names[model] : otherwise;
}

/* A picture for a report may have no texts before. */
static void add_text(mgk_plot *plot, const char *key, const char *value)
{
    plot->texts[plot->picture.text_count++] = (mgk_text_pair){key, value};
    plot->picture.texts = plot->texts;
}

void mgk_plot_set_title(mgk_plot *plot, const char *name, const char *about)
{
    if (plot->options->title || (!*name && !*about))
        return;
    snprintf(plot->title, sizeof(plot->title), "%.180s%s%s", name, *name && *about ? ", " : "",
             about);
    plot->picture.title = plot->title;
    add_text(plot, "Title", plot->title);
}

void mgk_plot_add_hash(mgk_plot *plot, const char *sha256)
{
    if (*sha256 && !*plot->hashes)
        add_text(plot, "Model SHA-256", plot->hashes);
    mgk_model_hash_list(sha256, plot->hashes, sizeof(plot->hashes));
}

void mgk_plot_kind_title(const char *attention, int heads, char out[MGK_PLOT_TITLE])
{
    static const struct {
        const char *kind, *title;
    } rows[] = {{"mgk", "MGK"}, {"smgk", "sMGK"}, {"mlk", "MLK"}, {"smlk", "sMLK"}};
    char title[MGK_PLOT_TITLE - 24]; /* leaves room for the number of heads */
    mgk_utf8_copy(attention, SIZE_MAX, title, sizeof(title));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(attention, rows[i].kind) == 0)
            strcpy(title, rows[i].title);
    snprintf(out, MGK_PLOT_TITLE, "%s, %d %s", title, heads, MGK_NOUN(heads, "head", "heads"));
}

/* Appends the file name of a path [length] without its ending. */
static void append_title(const char *path, size_t length, char out[MGK_PLOT_TITLE])
{
    size_t first = length, dot = length;
    while (first > 0 && path[first - 1] != '/')
        first--;
    while (dot > first && path[dot - 1] != '.')
        dot--;
    const bool is_ending = dot > first + 1 && isalpha((unsigned char)path[dot]);
    const size_t used = strlen(out), end = is_ending ? dot - 1 : length;
    mgk_utf8_copy(path + first, end - first, out + used, MGK_PLOT_TITLE - used);
}

void mgk_plot_file_title(const char *path, char out[MGK_PLOT_TITLE])
{
    *out = '\0';
    append_title(path, strlen(path), out);
}

void mgk_plot_joined_title(const char *paths, char out[MGK_PLOT_TITLE])
{
    static const char join[] = " + ";
    const char *second = strstr(paths, join);
    *out = '\0';
    append_title(paths, second ? (size_t)(second - paths) : strlen(paths), out);
    if (!second)
        return;
    mgk_append(out, MGK_PLOT_TITLE, join);
    append_title(second + strlen(join), strlen(second + strlen(join)), out);
}

void mgk_plot_model_title(const char *path, char out[MGK_PLOT_TITLE])
{
    char name[MGK_PLOT_TITLE];
    mgk_model_name(path, name, sizeof(name));
    mgk_plot_file_title(name, out);
}

void mgk_plot_path_end(const char *path, char out[MGK_PLOT_TITLE])
{
    const size_t length = strlen(path);
    path += length < MGK_PLOT_TITLE ? 0 : length - MGK_PLOT_TITLE + 1;
    while ((*path & 0xc0) == 0x80) /* within a character of UTF-8 */
        path++;
    mgk_utf8_copy(path, SIZE_MAX, out, MGK_PLOT_TITLE);
}

void mgk_plot_tell_apart(char *titles, size_t size, const char *names, size_t stride, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mgk_plot_title common;
        bool differ = false;
        mgk_utf8_copy(titles + i * stride, SIZE_MAX, common, sizeof(common));
        for (size_t k = i + 1; k < count; k++)
            differ = differ || (strcmp(titles + k * stride, common) == 0 &&
                                strcmp(names + k * stride, names + i * stride) != 0);
        for (size_t k = i; differ && k < count; k++) {
            const char *name = names + k * stride;
            if (*name && strcmp(titles + k * stride, common) == 0)
                snprintf(titles + k * stride, size, "%s: %s", name, common);
        }
    }
}

size_t mgk_plot_tokens(const mgk_plot_options *options)
{
    enum { USUAL = 100 };
    return options->tokens > 0 ? (size_t)options->tokens : USUAL;
}
