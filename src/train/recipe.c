/* SPDX-License-Identifier: MIT */
/* Values of github.com/minhtannguyen/transformer-mgk, commit 73608b3: lra/run_tasks.py, and
 * language-modeling/lmtool-fwms/src/train.py with the options of script.sh. */
#include "train/recipe.h"

#include <math.h>
#include <string.h>

#include "base/names.h"

static const char *const names[] = {"ours", "lra", "lm"};

static const mgk_recipe_values rows[] = {
    [MGK_RECIPE_LRA] = {.steps = 20000,
                        .warmup = 8000,
                        .batch = 32,
                        .rate = 1e-4,
                        .epsilon = 1e-6,
                        .dropout = 0.1,
                        .dropout_hidden = 0.1,
                        .betas = "0.9,0.999",
                        .schedule = "one-cycle",
                        .initial = "lra"},
    [MGK_RECIPE_LM] = {.steps = 500000,
                       .warmup = 2000,
                       .batch = 96,
                       .rate = 2.5e-4,
                       .clip = 0.25,
                       .epsilon = 1e-8,
                       .dropout = 0.1,
                       .dropout_hidden = 0.1,
                       .dropout_output = 0.1,
                       .betas = "0.9,0.999",
                       .schedule = "cosine-from-0",
                       .initial = "lm"},
};

mgk_status mgk_recipe_from_name(const char *name, mgk_train_recipe *recipe)
{
    int index = 0;
    TRY(mgk_names_choose("recipe", name, names, sizeof(names) / sizeof(names[0]), &index));
    *recipe = (mgk_train_recipe)index;
    return STATUS_OK;
}

const mgk_recipe_values *mgk_recipe_values_of(mgk_train_recipe recipe)
{
    return recipe == MGK_RECIPE_OURS ? NULL : &rows[recipe];
}

/* Whether all kinds of the layers, which must be known, are of the paper's linear ones. */
static bool is_linear(const mgk_config *config)
{
    bool all = true;
    for (int layer = 0; layer < config->layers; layer++) {
        const char *name = mgk_config_kind(config, layer)->name;
        all &= strcmp(name, "linear") == 0 || strcmp(name, "mlk") == 0 || strcmp(name, "smlk") == 0;
    }
    return all;
}

static bool is_gaussian(const mgk_config *config)
{
    bool all = true;
    for (int layer = 0; layer < config->layers; layer++)
        all &= mgk_config_kind(config, layer)->gaussian;
    return all;
}

/* The code drops entries of the matrices of softmax and mixtures, and has none for other kinds. */
static bool drops(const mgk_config *config)
{
    bool all = true;
    for (int layer = 0; layer < config->layers; layer++)
        all &= mgk_attention_drops(mgk_config_kind(config, layer));
    return all;
}

static void configure_encoder(mgk_config *config)
{
    config->dropout_attention = drops(config) ? 0.1 : 0;
    config->classifier = 2 * config->dim;
    config->pooling = MGK_POOLING_LENGTH;
    config->row_normalized = !is_linear(config);
    config->mix_keys = is_linear(config) && config->mixtures > 1;
}

static void configure_language_model(mgk_config *config)
{
    config->positions_backward = config->positions == MGK_POSITIONS_SINUSOIDAL;
    if (!is_gaussian(config))
        return;
    for (int r = 1; r < config->mixtures; r++)
        config->variance[r] = sqrt(config->head_dim) / 3;
    config->normalizer_epsilon = config->prior == MGK_PRIOR_HARD ? 0 : 1e-6;
}

mgk_status mgk_recipe_configure(mgk_train_recipe recipe, mgk_config *config)
{
    const mgk_family family = recipe == MGK_RECIPE_LM ? MGK_FAMILY_LM : MGK_FAMILY_ENCODER;
    if (recipe == MGK_RECIPE_OURS)
        return STATUS_OK;
    if (config->family != family)
        return mgk_fail(STATUS_USAGE, "`recipe` %s is for %s", names[recipe],
                        family == MGK_FAMILY_LM ? "language models" : "classifiers");
    if (recipe == MGK_RECIPE_LM)
        configure_language_model(config);
    else
        configure_encoder(config);
    if (config->prior == MGK_PRIOR_EM && is_gaussian(config))
        config->prior_queries = MGK_QUERIES_ALL;
    return STATUS_OK;
}
