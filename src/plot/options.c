/* SPDX-License-Identifier: MIT */
/* The options that each picture takes. */
#include "plot/options.h"
#include "base/append.h"

#include <stddef.h>
#include <string.h>

/* Pictures, and the single matrix of those that are grids. */
enum {
    ATTENTION = 1 << 0,
    WEIGHTS = 1 << 1,
    KEYS = 1 << 2,
    RANKS = 1 << 3,
    CURVES = 1 << 4,
    COST = 1 << 5,
    FIGURE2 = 1 << 6,
    FIGURE5 = 1 << 7,
    FIGURE6 = 1 << 8,
    FIGURE11 = 1 << 9,
    FIGURE12 = 1 << 10,
    HEADS = 1 << 11,
    DEPTH = 1 << 12,
    PAIRS = 1 << 13,
    ROLES = 1 << 14,
    COMPARE = 1 << 15,
    PRUNE = 1 << 16,
    MAP = 1 << 17,
    MIXTURE = 1 << 18,
    PERFORMER2 = 1 << 19,
    PERFORMER4 = 1 << 20,
    PERFORMER10 = 1 << 21,
    PERFORMER11 = 1 << 22,
    PERFORMER13 = 1 << 23,
    PERFORMER14 = 1 << 24,
    FIGURES_CURVES = 1 << 25,
    FIGURES_COST = 1 << 26,
    FIGURE8 = 1 << 27,
    PICTURES = 28,
    ALONE = 1 << 28
};

static const char *const pictures[PICTURES] = {"attention",
                                               "weights",
                                               "keys",
                                               "ranks",
                                               "curves",
                                               "cost",
                                               "figure 2",
                                               "figure 5",
                                               "figure 6",
                                               "figure 11",
                                               "figure 12",
                                               "heads",
                                               "depth",
                                               "pairs",
                                               "roles",
                                               "compare",
                                               "prune",
                                               "map",
                                               "mixture",
                                               "performer 2",
                                               "performer 4",
                                               "performer 10",
                                               "performer 11",
                                               "performer 13",
                                               "performer 14",
                                               "figure 1, 4, 9 or 10",
                                               "figure 3, 7, 13 or 14",
                                               "figure 8"};

/* What each of them takes; NULL: nothing. */
static const char *const inputs[PICTURES] = {
    "attention stores, or arrays of matrices",
    "models or attention stores",
    "attention stores",
    "files of mgk-rank",
    "logs of mgk-train, or files of mgk-diversity",
    "models",
    "an attention store and a file of mgk-rank for each model",
    "attention stores",
    "files of mgk-rank",
    "models or attention stores",
    "attention stores",
    "files of mgk-diversity",
    "files of mgk-diversity",
    "files of mgk-diversity",
    "files of mgk-diversity",
    "files of mgk-diversity",
    "files of mgk-diversity",
    "files of mgk-diversity",
    "files of mgk-diversity",
    NULL,
    NULL,
    "attention stores",
    "an attention store",
    "an attention store, and perhaps a matrix of similarities as text",
    "attention stores of a model that runs as other kinds",
    "logs of mgk-train",
    "a model",
    "attention stores"};

enum {
    STORES = ATTENTION | FIGURE2 | FIGURE5 | FIGURE8 | PERFORMER10 | PERFORMER11,
    SAMPLES = STORES | KEYS | FIGURE12,
    MATRICES = SAMPLES | WEIGHTS | FIGURE11,
    TABLES = RANKS | FIGURE6,
    MODELS = WEIGHTS | COST | FIGURE11 | FIGURES_COST,
    MAPS = HEADS | PAIRS | ROLES | MIXTURE,
    MEASURES = MAPS | DEPTH | MAP,
    DIVERSITY = MEASURES | COMPARE,
    ALL = (1 << PICTURES) - 1,
    NAMED = ALL & ~(PERFORMER2 | PERFORMER4 | PERFORMER13)
};

/* An option is set if its field differs from the default; `name` is as in messages. */
typedef struct option_row {
    const char *name;
    size_t offset, size;
    int taken_by;
} option_row;

#define FIELD(field) offsetof(mgk_plot_options, field), sizeof(((mgk_plot_options *)NULL)->field)

static const option_row rows[] = {
    {"`matrix`", FIELD(matrix), ATTENTION | WEIGHTS | KEYS | ALONE},
    {"`sample`", FIELD(sample), SAMPLES | ALONE},
    {"`layers`", FIELD(layers),
     MATRICES | TABLES | DIVERSITY | CURVES | PERFORMER13 | PERFORMER14 | ALONE},
    {"`heads`", FIELD(heads),
     MATRICES | TABLES | MEASURES | CURVES | PERFORMER13 | PERFORMER14 | ALONE},
    {"`tokens`", FIELD(tokens), KEYS | FIGURE12 | PERFORMER13 | ALONE},
    {"`dataset`", FIELD(dataset), STORES | ALONE},
    {"`axes`", FIELD(axes), STORES | ALONE},
    {"`mask`", FIELD(mask), STORES | ALONE},
    {"`columns`", FIELD(columns), ATTENTION},
    {"`labels`", FIELD(labels), ATTENTION},
    {"`words`", FIELD(words), ATTENTION | ALONE},
    {"`labels_file`", FIELD(labels_file), ATTENTION | ALONE},
    {"`last`", FIELD(last), ATTENTION | ALONE},
    {"`sweep`", FIELD(sweep), RANKS},
    {"`measure`", FIELD(measure), RANKS | HEADS | DEPTH | PAIRS | COMPARE | PRUNE | MAP | CURVES},
    {"`from_zero`", FIELD(from_zero), ALL | ALONE},
    {"`from_one`", FIELD(from_one),
     ALL & ~(COST | PRUNE | PERFORMER2 | PERFORMER4 | PERFORMER13 | FIGURES_CURVES | FIGURES_COST)},
    {"`bands`", FIELD(bands), CURVES},
    {"`smooth`", FIELD(smooth), CURVES | FIGURES_CURVES},
    {"`skip_missing`", FIELD(skip_missing), HEADS | DEPTH | PAIRS},
    {"`names`", FIELD(name_count), NAMED},
    {"`title`", FIELD(title), ALL | ALONE},
    {"`colors`", FIELD(colors), MATRICES | MAPS | MAP | PERFORMER2 | PERFORMER13 | ALONE},
    {"`scale`", FIELD(scale), MATRICES | MAPS | PERFORMER13 | ALONE},
    {"`shared`", FIELD(shared), MATRICES | ROLES},
    {"`separate`", FIELD(separate), ATTENTION | WEIGHTS | KEYS | PERFORMER10 | PERFORMER11},
    {"`pooling`", FIELD(pooling), MATRICES},
    {"`panel`", FIELD(panel), MATRICES},
    {"`head_dim`", FIELD(job.head_dim), MODELS | ALONE},
    {"`attention`", FIELD(job.attention), MODELS | ALONE},
};

static mgk_status picture_of(const mgk_plot_options *o, int *out)
{
    static const int figures[] = {
        [1] = FIGURES_CURVES, [2] = FIGURE2,         [3] = FIGURES_COST, [4] = FIGURES_CURVES,
        [5] = FIGURE5,        [6] = FIGURE6,         [7] = FIGURES_COST, [8] = FIGURE8,
        [9] = FIGURES_CURVES, [10] = FIGURES_CURVES, [11] = FIGURE11,    [12] = FIGURE12,
        [13] = FIGURES_COST,  [14] = FIGURES_COST};
    static const int kinds[] = {[MGK_PLOT_ATTENTION] = ATTENTION,
                                [MGK_PLOT_WEIGHTS] = WEIGHTS,
                                [MGK_PLOT_KEYS] = KEYS,
                                [MGK_PLOT_RANKS] = RANKS,
                                [MGK_PLOT_CURVES] = CURVES,
                                [MGK_PLOT_COST] = COST,
                                [MGK_PLOT_HEADS] = HEADS,
                                [MGK_PLOT_DEPTH] = DEPTH,
                                [MGK_PLOT_PAIRS] = PAIRS,
                                [MGK_PLOT_ROLES] = ROLES,
                                [MGK_PLOT_COMPARE] = COMPARE,
                                [MGK_PLOT_PRUNE] = PRUNE,
                                [MGK_PLOT_MAP] = MAP,
                                [MGK_PLOT_MIXTURE] = MIXTURE};
    static const int performers[] = {[2] = PERFORMER2,   [4] = PERFORMER4,   [10] = PERFORMER10,
                                     [11] = PERFORMER11, [13] = PERFORMER13, [14] = PERFORMER14};
    const size_t count = sizeof(performers) / sizeof(*performers);
    _Static_assert(sizeof(figures) <= sizeof(performers), "`figure` is an index of both");
    const size_t figure = o->figure >= 0 && (size_t)o->figure < count ? (size_t)o->figure : 0;
    if (o->kind == MGK_PLOT_FIGURE) {
        *out = figure < sizeof(figures) / sizeof(*figures) ? figures[figure] : 0;
        return *out ? STATUS_OK : mgk_fail(STATUS_USAGE, "figure %d: expected 1 to 14", o->figure);
    }
    if (o->kind == MGK_PLOT_PERFORMER) {
        *out = performers[figure];
        return *out ? STATUS_OK
                    : mgk_fail(STATUS_USAGE, "performer %d: expected 2, 4, 10, 11, 13 or 14",
                               o->figure);
    }
    if ((size_t)o->kind >= sizeof(kinds) / sizeof(*kinds))
        return mgk_fail(STATUS_USAGE, "no such kind of picture");
    *out = kinds[o->kind];
    return STATUS_OK;
}

static size_t index_of(int picture)
{
    size_t index = 0;
    while (picture >> index != 1)
        index++;
    return index;
}

static mgk_status check_files(const mgk_plot_options *o, int picture)
{
    const size_t index = index_of(picture);
    if (inputs[index] && o->input_count == 0)
        return mgk_fail(STATUS_USAGE, "%s: no input, expected %s", pictures[index], inputs[index]);
    if (!inputs[index] && o->input_count > 0)
        return mgk_fail(STATUS_USAGE, "%s takes no input, got %s", pictures[index], o->inputs[0]);
    return o->output ? STATUS_OK
                     : mgk_fail(STATUS_USAGE, "%s: no `output`, the name of the picture",
                                pictures[index]);
}

static mgk_status refuse(const option_row *row, int picture)
{
    char takers[24 * PICTURES] = ""; /* more than the names of all */
    const size_t index = index_of(picture);
    for (size_t i = 0; i < PICTURES; i++)
        if (row->taken_by >> i & 1)
            mgk_append(takers, sizeof(takers), "%s%s", *takers ? ", " : "", pictures[i]);
    return mgk_fail(STATUS_USAGE, "%s: not an option of %s, but of %s", row->name, pictures[index],
                    takers);
}

/* A sheet has no room for labels, and each of its matrices has its own range. */
static mgk_status check_sheet(const mgk_plot_options *o)
{
    const char *name = o->labels        ? "`labels`"
                       : o->words       ? "`words`"
                       : o->labels_file ? "`labels_file`"
                       : o->shared      ? "`shared`"
                                        : NULL;
    if (o->columns < 0)
        return mgk_fail(STATUS_USAGE, "%d columns: expected at least 1", o->columns);
    return o->columns && name ? mgk_fail(STATUS_USAGE, "`columns` and %s exclude each other", name)
                              : STATUS_OK;
}

mgk_status mgk_plot_check_options(const mgk_plot_options *o)
{
    const mgk_plot_options defaults = mgk_plot_options_default();
    int picture;
    TRY(picture_of(o, &picture));
    TRY(check_files(o, picture));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const option_row *row = &rows[i];
        bool given = memcmp((const char *)o + row->offset, (const char *)&defaults + row->offset,
                            row->size) != 0;
        if (given && !(row->taken_by & picture))
            return refuse(row, picture);
        if (given && o->matrix && !(row->taken_by & ALONE))
            return mgk_fail(STATUS_USAGE, "%s: not an option of one matrix alone (`matrix`)",
                            row->name);
    }
    if (o->from_zero && o->from_one)
        return mgk_fail(STATUS_USAGE, "`from_zero` and `from_one` exclude each other");
    if (o->shared && o->separate)
        return mgk_fail(STATUS_USAGE, "`shared` and `separate` exclude each other");
    TRY(check_sheet(o));
    if (o->skip_missing && !o->measure)
        return mgk_fail(STATUS_USAGE, "`skip_missing` needs a `measure`");
    if (o->measure && strchr(o->measure, ',') && !(picture & (COMPARE | CURVES)))
        return mgk_fail(
            STATUS_USAGE,
            "`measure`: %s takes one measure, not a list; compare and curves take several",
            pictures[index_of(picture)]);
    return STATUS_OK;
}
