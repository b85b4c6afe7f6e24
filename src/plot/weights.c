/* SPDX-License-Identifier: MIT */
/* Reads key weights from attention stores or from models. */
#include <string.h>

#include "base/memory.h"
#include "model/core/model.h"
#include "plot/plot.h"
#include "run/job.h"
#include "run/recognise.h"

/* Chooses among 0, 1, 2, ... like mgk_plot_choose. */
static mgk_status choose_numbers(const char *path, const char *what, const int *wanted,
                                 size_t wanted_count, int limit, int32_t **numbers, size_t *count)
{
    int32_t *all, *positions = NULL;
    TRY(mgk_alloc((size_t)limit, sizeof(*all), &all));
    for (int32_t i = 0; i < limit; i++)
        all[i] = i;
    mgk_status status = mgk_plot_choose(path, what, wanted, wanted_count, all, (size_t)limit,
                                        &positions, numbers, count);
    mgk_free(all);
    mgk_free(positions);
    return status;
}

static mgk_status copy_weights(const mgk_model *model, mgk_plot_matrices *out)
{
    mgk_status status;
    mgk_panels *panels = &out->panels;
    size_t size = panels->rows * panels->cols, total;
    double *matrix = NULL;
    TRY(mgk_multiply(panels->layers * panels->heads * panels->keys, size, &total));
    TRY(mgk_alloc(total, sizeof(*out->values), &out->values));
    CHECK(mgk_alloc(size, sizeof(*matrix), &matrix));
    float *value = out->values;
    for (size_t l = 0; l < panels->layers; l++)
        for (size_t h = 0; h < panels->heads; h++)
            for (size_t r = 0; r < panels->keys; r++) {
                CHECK(mgk_key_weight(model, out->layers[l], out->heads[h], (int)r, matrix));
                for (size_t i = 0; i < size; i++)
                    *value++ = (float)matrix[i];
            }
    panels->f32 = out->values;
out:
    mgk_free(matrix);
    return status;
}

static mgk_status gather(const mgk_plot_options *o, const char *path, const mgk_model *model,
                         mgk_plot_matrices *out)
{
    const mgk_config *config = &model->config;
    mgk_panels *panels = &out->panels;
    TRY(choose_numbers(path, "layer", o->layers, o->layer_count, config->layers, &out->layers,
                       &panels->layers));
    TRY(choose_numbers(path, "head", o->heads, o->head_count, config->heads, &out->heads,
                       &panels->heads));
    panels->keys = (size_t)mgk_model_key_weights(model, out->layers[0]);
    for (size_t l = 1; l < panels->layers; l++) {
        const size_t keys = (size_t)mgk_model_key_weights(model, out->layers[l]);
        TRY(mgk_plot_expect_alike(path, "key projections",
                                  (const int32_t[]){out->layers[0], out->layers[l]},
                                  (const size_t[]){panels->keys, keys}));
    }
    panels->rows = (size_t)config->dim;
    panels->cols = (size_t)config->head_dim;
    panels->layer_numbers = out->layers;
    panels->head_numbers = out->heads;
    mgk_plot_kind_title(config->attention, config->heads, out->title);
    return copy_weights(model, out);
}

static mgk_status read_model(const mgk_plot_options *o, const char *path, mgk_plot_matrices *out)
{
    mgk_model_view file;
    mgk_plot_model_title(path, out->model);
    mgk_plot_path_end(path, out->place);
    out->path = path;
    out->sample = -1;
    TRY(mgk_model_view_open(path, &o->job, &file));
    memcpy(out->sha256, file.sha256, sizeof(out->sha256));
    mgk_status status = gather(o, path, file.model, out);
    mgk_model_view_close(&file);
    return status;
}

mgk_status mgk_plot_read_weights(const mgk_plot_options *options, const char *const *paths,
                                 size_t count, mgk_plot_matrices *out)
{
    /* Each file is read separately; the names belong to all files. */
    mgk_plot_options one = *options;
    one.name_count = 0;
    TRY(mgk_plot_check_names(options, count));
    for (size_t i = 0; i < count; i++) {
        mgk_file_kind kind;
        TRY(mgk_recognise(paths[i], &kind));
        if (kind == MGK_FILE_ARRAYS || kind == MGK_FILE_RANKS_HDF5)
            TRY(mgk_plot_read_stores(&one, &paths[i], 1, STORE_KEY_WEIGHTS, &out[i]));
        else
            TRY(read_model(options, paths[i], &out[i]));
    }
    return STATUS_OK;
}
