/* SPDX-License-Identifier: MIT */
#include "train/initial.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/names.h"
#include "base/random.h"
#include "base/text.h"

mgk_status mgk_initial_from_name(const char *name, mgk_initial_values *values)
{
    static const char *const names[] = {"ours", "lra", "lm"};
    int index = 0;
    TRY(mgk_names_choose("initial", name, names, sizeof(names) / sizeof(names[0]), &index));
    *values = (mgk_initial_values)index;
    return STATUS_OK;
}

/* The numbers of a parameter, N(mean, deviation). */
static void draw_normal(const mgk_parameter *p, double mean, double deviation, uint64_t seed,
                        uint64_t stream, double *out)
{
    for (size_t k = 0; k < p->count; k++)
        out[k] = mean + deviation * mgk_random_normal(seed, stream, k);
}

/* The same, uniform in ±1/√inputs, as PyTorch begins its linear maps. */
static void draw_uniform(const mgk_parameter *p, size_t inputs, uint64_t seed, uint64_t stream,
                         double *out)
{
    const double bound = 1 / sqrt((double)inputs);
    for (size_t k = 0; k < p->count; k++)
        out[k] = bound * (2 * mgk_random_uniform(seed, stream, k) - 1);
}

/* Whether the parameter is the weight or the bias of a linear map that every model may have. */
static bool is_map(const mgk_parameter *p, bool bias)
{
    static const char *const maps[] = {
        "attention.query.", "attention.key.",    "attention.value.",   "attention.output.",
        "feed_forward.in.", "feed_forward.out.", "classifier.hidden.", "classifier.output."};
    const char *end = bias ? "bias" : "weight";
    bool found = !bias && (strcmp(p->name, "output.weight") == 0 ||
                           strcmp(p->name, "output.clusters.weight") == 0);
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
        found |= strstr(p->name, maps[i]) != NULL && mgk_ends_with(p->name, end);
    return found;
}

/* The inputs of the map that a bias belongs to. */
static size_t inputs_of(const mgk_parameters *parameters, const mgk_parameter *bias)
{
    const size_t stem = strlen(bias->name) - strlen("bias");
    for (size_t i = 0; i < parameters->count; i++) {
        const mgk_parameter *p = &parameters->list[i];
        if (strncmp(p->name, bias->name, stem) == 0 && strcmp(p->name + stem, "weight") == 0)
            return p->shape[p->axes - 1];
    }
    return 1;
}

static void draw(const mgk_parameters *parameters, size_t i, mgk_initial_values values,
                 uint64_t seed, double *weights)
{
    static const double spread = 0.02, shift = 0.5, narrow = 0.01;
    const mgk_parameter *p = &parameters->list[i];
    const bool lm = values == MGK_INITIAL_LM;
    double *out = weights + p->offset;
    if (mgk_ends_with(p->name, "attention.key_shift")) {
        draw_normal(p, 0, shift, seed, i, out);
        memset(out, 0, p->count / p->shape[0] * sizeof(*out));
    } else if (lm && mgk_ends_with(p->name, ".projection.weight")) {
        draw_normal(p, 0, narrow, seed, i, out);
    } else if (strncmp(p->name, "embedding.", strlen("embedding.")) == 0 && p->axes == 2) {
        draw_normal(p, 0, spread, seed, i, out);
    } else if (lm &&
               (is_map(p, false) || mgk_ends_with(p->name, "norm.weight") ||
                mgk_ends_with(p->name, "norm1.weight") || mgk_ends_with(p->name, "norm2.weight"))) {
        draw_normal(p, is_map(p, false) ? 0 : 1, spread, seed, i, out);
    } else if (!lm && is_map(p, false)) {
        draw_uniform(p, p->shape[p->axes - 1], seed, i, out);
    } else if (!lm && is_map(p, true)) {
        draw_uniform(p, inputs_of(parameters, p), seed, i, out);
    }
}

mgk_status mgk_initial_draw(mgk_model *model, mgk_initial_values values, uint64_t seed)
{
    const mgk_parameters *parameters = &model->parameters;
    double *weights;
    if (values == MGK_INITIAL_OURS)
        return STATUS_OK;
    TRY(mgk_alloc(parameters->total, sizeof(*weights), &weights));
    mgk_status status = mgk_model_download(model, model->weights, weights);
    for (size_t i = 0; status == STATUS_OK && i < parameters->count; i++)
        draw(parameters, i, values, seed, weights);
    if (status == STATUS_OK)
        status = mgk_model_upload(model, weights, model->weights);
    mgk_free(weights);
    return status;
}
