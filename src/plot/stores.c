/* SPDX-License-Identifier: MIT */
/* Reads matrices of one sample from attention stores, only those that are drawn. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/utf8.h"
#include "kernels/attention.h"
#include "model/core/config.h"
#include "plot/plot.h"
#include "run/array_axes.h"
#include "run/job.h"
#include "run/recognise.h"
#include "store/schema/layout.h"
#include "store/schema/reader.h"

/* Stream of random numbers that only the choice of a sample uses. */
enum { SAMPLE_STREAM = 0x706c6f74 };

/* A store that is being read. */
typedef struct source {
    const mgk_plot_options *options;
    const char *path;
    mgk_store_reader *reader;
    const mgk_store_description *description;
    mgk_store_object object;
    int32_t sample;                 /* position of the sample */
    int32_t *layers, *heads;        /* positions of the chosen layers and heads */
    size_t layer_count, head_count; /* their numbers */
    size_t mixtures, rows, cols;    /* shape of one head's part of the object */
    size_t length, keys;            /* valid tokens, and those of keys */
} source;

static mgk_status open_source(source *s)
{
    bool matrices = s->object == STORE_ATTENTION;
    const char *dataset = matrices ? s->options->dataset : NULL,
               *axes = matrices ? s->options->axes : NULL;
    TRY(mgk_expect_arrays(s->path, "mgk-dump makes one from a model"));
    TRY(mgk_store_open_as(s->path, dataset, axes, &s->reader));
    if (matrices && s->options->mask)
        TRY(mgk_store_mask(s->reader, s->options->mask));
    s->description = mgk_store_describe(s->reader);
    if (dataset || s->description->objects & MGK_STORE_BIT(s->object))
        return STATUS_OK;
    return mgk_fail(STATUS_FORMAT, "%s: the store has no \"%s\"", s->path,
                    mgk_object_name(s->object));
}

/* Says how the axes of an array were taken, unless the options name them. */
static void tell_axes(const source *s)
{
    const mgk_plot_options *o = s->options;
    if (!o->axes && s->object == STORE_ATTENTION)
        mgk_array_axes_tell(&o->job, s->path, s->description, o->dataset);
}

/* Readers see the sample's number in the input, as in titles, and try it. */
static mgk_status fail_sample(const source *s, int32_t wanted)
{
    const mgk_store_description *d = s->description;
    char there[64] = "";
    for (int32_t i = 0; i < d->samples && !*there; i++)
        if (d->sample_index[i] == wanted)
            snprintf(there, sizeof(there), "; sample %d of the input is at %d", wanted, i);
    return mgk_fail(STATUS_SHAPE,
                    "%s: no sample at position %d: `sample` is the position in the file, 0 to %d%s",
                    s->path, wanted, d->samples - 1, there);
}

/* Chooses the same position in every store: the requested one, or by seed one that all
 * stores have. */
static mgk_status choose_sample(const mgk_plot_options *o, source *sources, size_t count)
{
    int32_t least = INT32_MAX;
    for (size_t i = 0; i < count; i++) {
        int32_t samples = sources[i].description->samples;
        if (o->sample >= samples)
            return fail_sample(&sources[i], o->sample);
        least = samples < least ? samples : least;
    }
    int32_t drawn = (int32_t)mgk_random_below(o->job.seed, SAMPLE_STREAM, 0, (uint64_t)least);
    for (size_t i = 0; i < count; i++)
        sources[i].sample = o->sample >= 0 ? o->sample : drawn;
    return STATUS_OK;
}

/* Determines the shape of one head's part of the object. */
static mgk_status measure(source *s)
{
    const mgk_store_description *d = s->description;
    int32_t length, keys;
    s->mixtures = s->object == STORE_ATTENTION ? 1 : (size_t)d->mixtures;
    s->rows = (size_t)(s->object == STORE_KEY_WEIGHTS ? d->model_dim
                       : s->object == STORE_KEYS      ? mgk_store_keys(d)
                                                      : d->tokens);
    s->cols = (size_t)(s->object == STORE_ATTENTION ? mgk_store_keys(d) : d->head_dim);
    TRY(mgk_store_read_length(s->reader, s->sample, &length));
    TRY(mgk_store_read_key_length(s->reader, s->sample, &keys));
    s->length = (size_t)length;
    s->keys = (size_t)keys;
    return STATUS_OK;
}

static mgk_status read_values(source *s, float **values)
{
    size_t size, total;
    TRY(mgk_multiply(s->rows, s->cols, &size));
    TRY(mgk_multiply(size, s->mixtures, &size));
    TRY(mgk_multiply(s->layer_count, s->head_count, &total));
    TRY(mgk_multiply(total, size, &total));
    TRY(mgk_alloc(total, sizeof(**values), values));
    float *out = *values;
    for (size_t l = 0; l < s->layer_count; l++)
        for (size_t h = 0; h < s->head_count; h++, out += size) {
            int32_t layer = s->layers[l], head = s->heads[h];
            if (s->object != STORE_ATTENTION) {
                TRY(mgk_store_read(s->reader, s->object, s->sample, layer, head, STORE_F32, out));
                continue;
            }
            TRY(mgk_store_read_matrix(s->reader, s->sample, layer, head, STORE_F32, out, NULL));
        }
    return STATUS_OK;
}

/*
 * The matrices that are drawn of a head in a layer of the model: the stored components that its
 * kind has. Layers with one shared key projection store it for each component; it is drawn once.
 */
static size_t count_drawn(const source *s, int32_t layer)
{
    const mgk_attention_kind *kind = mgk_kinds_of_layer(s->description->attention, layer);
    const bool shared = kind && kind->keys == MGK_KEYS_SHIFTED && s->object == STORE_KEY_WEIGHTS;
    return shared || (kind && !kind->mixture) ? 1 : s->mixtures;
}

/* Sets *drawn to the matrices of a head. STATUS_SHAPE: layers [layer_count] differ. */
static mgk_status choose_drawn(const source *s, const int32_t *layers, size_t *drawn)
{
    const char *what = s->object == STORE_KEYS ? "keys per position" : "key projections";
    *drawn = s->layer_count > 0 ? count_drawn(s, layers[0]) : s->mixtures;
    for (size_t l = 1; l < s->layer_count; l++)
        TRY(mgk_plot_expect_alike(s->path, what, (const int32_t[]){layers[0], layers[l]},
                                  (const size_t[]){*drawn, count_drawn(s, layers[l])}));
    return STATUS_OK;
}

/* Sets the panels to the valid tokens, and for keys to the first ones. */
static mgk_status set_panels(const source *s, mgk_plot_matrices *out)
{
    size_t drawn;
    size_t limit = s->object == STORE_KEYS ? mgk_plot_tokens(s->options) : SIZE_MAX;
    size_t valid = s->object == STORE_KEYS ? s->keys : s->length;
    size_t tokens = valid < limit ? valid : limit;
    TRY(choose_drawn(s, out->layers, &drawn));
    out->panels = (mgk_panels){.f32 = out->values,
                               .layers = s->layer_count,
                               .heads = s->head_count,
                               .keys = drawn,
                               .rows = s->object == STORE_KEY_WEIGHTS ? s->rows : tokens,
                               .cols = s->object == STORE_ATTENTION ? s->keys : s->cols,
                               .row_stride = s->cols,
                               .matrix_stride = s->rows * s->cols * (drawn == 1 ? s->mixtures : 1),
                               .layer_numbers = out->layers,
                               .head_numbers = out->heads};
    out->cross = s->object == STORE_ATTENTION && s->description->cross;
    if (out->panels.rows == 0 || out->panels.cols == 0)
        return mgk_fail(STATUS_SHAPE, "%s: sample %d is empty", s->path, s->sample);
    return STATUS_OK;
}

/* Adds which part of an encoder-decoder model it is to a title. */
static void add_part(const char *part, char title[MGK_PLOT_TITLE])
{
    static const char *const parts[][2] = {
        {"encoder", "encoder"}, {"decoder", "decoder"}, {"cross", "cross-attention"}};
    char kind[MGK_PLOT_TITLE - 20]; /* leaves room for the part */
    for (size_t i = 0; part && i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strcmp(part, parts[i][0]) == 0) {
            mgk_utf8_copy(title, SIZE_MAX, kind, sizeof(kind));
            snprintf(title, MGK_PLOT_TITLE, "%s, %s", parts[i][1], kind);
        }
}

/* Adds that a model of softmax ran as the kind of the title. */
static void add_run(const mgk_store_description *d, char title[MGK_PLOT_TITLE])
{
    char kind[MGK_PLOT_TITLE - 8]; /* leaves room for what is added */
    if (!(d->objects & MGK_STORE_BIT(STORE_APPROXIMATION_ERROR)))
        return;
    mgk_utf8_copy(title, SIZE_MAX, kind, sizeof(kind));
    snprintf(title, MGK_PLOT_TITLE, "run as %s", kind);
}

static mgk_status describe_model(const source *s, mgk_plot_matrices *out)
{
    const mgk_store_description *d = s->description;
    mgk_config config;
    int heads = d->heads;
    out->path = s->path;
    mgk_status status = mgk_config_from_json(d->config, strlen(d->config), &config);
    if (status == STATUS_MEMORY)
        return status;
    if (status == STATUS_OK) /* arrays of other software may lack it */
        heads = config.heads;
    if (d->attention[0])
        mgk_plot_kind_title(d->attention, heads, out->title);
    else
        mgk_plot_file_title(s->path, out->title);
    add_run(d, out->title);
    add_part(d->part, out->title);
    mgk_plot_file_title(d->model, out->model);
    mgk_plot_path_end(s->path, out->place);
    out->position = s->sample;
    out->sample = s->object == STORE_KEY_WEIGHTS ? -1 : d->sample_index[s->sample];
    if (d->model_sha256 && mgk_sha256_is_hex(d->model_sha256))
        memcpy(out->sha256, d->model_sha256, sizeof(out->sha256));
    return STATUS_OK;
}

/* Whether only zeros are right of the diagonal: arrays of other software do not say whether they
 * are masked. */
static bool looks_causal(const mgk_panels *panels)
{
    bool below = false;
    for (size_t m = 0; m < panels->layers * panels->heads; m++) {
        mgk_drawn_matrix view = mgk_panel_view(panels, 0, 0, m);
        for (size_t i = 0; i < view.rows; i++)
            for (size_t j = 0; j < view.cols; j++) {
                bool zero = mgk_view_at(&view, i, j) == 0;
                if (j > i && !zero)
                    return false;
                below = below || (j < i && !zero);
            }
    }
    return below;
}

/* Whether a column is 0 in all matrices. */
static bool is_unseen(const mgk_panels *panels, size_t column)
{
    for (size_t m = 0; m < panels->layers * panels->heads; m++) {
        mgk_drawn_matrix view = mgk_panel_view(panels, 0, 0, m);
        /* From the last row on: with a causal mask it sees every key. */
        for (size_t i = view.rows; i-- > 0;)
            if (mgk_view_at(&view, i, column) != 0)
                return false;
    }
    return true;
}

/* Finds the padding of an array that does not say its lengths: the keys at both ends that no query
 * sees. */
static void find_padding(mgk_panels *panels)
{
    const size_t cols = panels->cols;
    size_t first = 0, last = 0;
    while (first < cols && is_unseen(panels, first))
        first++;
    while (first + last < cols && is_unseen(panels, cols - 1 - last))
        last++;
    if (first == cols) /* no weight at all */
        return;
    panels->padding_first = first;
    panels->padding_last = last;
}

static mgk_status read_source(source *s, mgk_plot_matrices *out)
{
    const mgk_plot_options *o = s->options;
    const mgk_store_description *d = s->description;
    TRY(describe_model(s, out));
    TRY(mgk_plot_choose(s->path, "layer", o->layers, o->layer_count, d->layer_index,
                        (size_t)d->layers, &s->layers, &out->layers, &s->layer_count));
    TRY(mgk_plot_choose(s->path, "head", o->heads, o->head_count, d->head_index, (size_t)d->heads,
                        &s->heads, &out->heads, &s->head_count));
    TRY(measure(s));
    TRY(read_values(s, &out->values));
    TRY(set_panels(s, out));
    if (s->object != STORE_ATTENTION)
        return STATUS_OK;
    TRY(mgk_plot_label(o, s->path, s->reader, s->sample, out));
    out->panels.causal = d->causal || (!d->cross && looks_causal(&out->panels));
    if (!mgk_store_has_tokens(s->reader) && !o->mask)
        find_padding(&out->panels);
    return STATUS_OK;
}

static void close_source(source *s)
{
    mgk_store_close(s->reader);
    mgk_free(s->layers);
    mgk_free(s->heads);
}

mgk_status mgk_plot_read_stores(const mgk_plot_options *options, const char *const *paths,
                                size_t count, mgk_store_object object, mgk_plot_matrices *out)
{
    mgk_status status;
    source sources[MGK_GROUPS_MAX] = {{0}};
    CHECK(mgk_plot_check_names(options, count));
    for (size_t i = 0; i < count; i++) {
        sources[i] = (source){.options = options, .path = paths[i], .object = object};
        CHECK(open_source(&sources[i]));
        tell_axes(&sources[i]);
    }
    CHECK(choose_sample(options, sources, count));
    for (size_t i = 0; i < count; i++)
        CHECK(read_source(&sources[i], &out[i]));
out:
    for (size_t i = 0; i < MGK_GROUPS_MAX; i++)
        close_source(&sources[i]);
    return status;
}
