/* SPDX-License-Identifier: MIT */
/* The options of training: their defaults, and what recipes make of them. */
#include "api/api.h"
#include "train/recipe.h"
#include "train/train.h"

void mgk_train_options_init(mgk_train_options *options, size_t size)
{
    mgk_train_settings settings = mgk_train_defaults();
    const mgk_train_options defaults = {.architecture = {.dropout = 0},
                                        .steps = settings.steps,
                                        .warmup = -1,
                                        .dropout_attention = -1,
                                        .batch = settings.batch,
                                        .accumulation = settings.accumulation,
                                        .rate = settings.rate,
                                        .weight_decay = settings.weight_decay,
                                        .clip = settings.clip,
                                        .evaluate_every = settings.evaluate_every,
                                        .log_every = settings.log_every};
    mgk_api_init(options, size, &defaults, sizeof(defaults));
}

/* Those of "ours" are the defaults. */
static mgk_recipe_values recipe_values(mgk_train_recipe recipe)
{
    const mgk_recipe_values *values = mgk_recipe_values_of(recipe);
    const mgk_train_options ours = mgk_train_options_default();
    if (values)
        return *values;
    return (mgk_recipe_values){.steps = ours.steps,
                               .warmup = ours.warmup,
                               .batch = ours.batch,
                               .rate = ours.rate,
                               .weight_decay = ours.weight_decay,
                               .clip = ours.clip,
                               .betas = ours.adam_betas,
                               .epsilon = ours.adam_epsilon,
                               .schedule = ours.schedule,
                               .initial = ours.initial,
                               .dropout = ours.architecture.dropout,
                               .dropout_hidden = ours.dropout_hidden,
                               .dropout_output = ours.dropout_output};
}

mgk_result mgk_train_options_recipe(mgk_train_options *options, const char *recipe)
{
    mgk_train_recipe which;
    if (!options || !recipe)
        return mgk_api_result(mgk_fail(STATUS_USAGE, "a recipe needs options and a name"));
    mgk_status status = mgk_recipe_from_name(recipe, &which);
    if (status != STATUS_OK)
        return mgk_api_result(status);
    const mgk_recipe_values values = recipe_values(which);
    options->recipe = recipe;
    options->steps = values.steps;
    options->warmup = values.warmup;
    options->batch = values.batch;
    options->rate = values.rate;
    options->weight_decay = values.weight_decay;
    options->clip = values.clip;
    options->adam_betas = values.betas;
    options->adam_epsilon = values.epsilon;
    options->schedule = values.schedule;
    options->initial = values.initial;
    options->architecture.dropout = values.dropout;
    options->dropout_hidden = values.dropout_hidden;
    options->dropout_output = values.dropout_output;
    return mgk_api_result(STATUS_OK);
}
