/* SPDX-License-Identifier: MIT */
/* How the code of the paper trains its models, as settings of a run. */
#ifndef MGK_TRAIN_RECIPE_H
#define MGK_TRAIN_RECIPE_H

#include "base/status.h"
#include "model/core/config.h"

typedef enum mgk_train_recipe {
    MGK_RECIPE_OURS, /* "ours": the toolkit's defaults */
    MGK_RECIPE_LRA,  /* "lra": the paper's encoders (run_tasks.py) */
    MGK_RECIPE_LM    /* "lm": its language models (train.py) */
} mgk_train_recipe;

/* The numbers and words of a recipe. */
typedef struct mgk_recipe_values {
    int64_t steps, warmup;
    int batch;
    double rate, weight_decay, clip, epsilon, dropout, dropout_hidden, dropout_output;
    const char *betas, *schedule, *initial;
} mgk_recipe_values;

/* Finds "ours", "lra" or "lm"; STATUS_USAGE for other names. */
mgk_status mgk_recipe_from_name(const char *name, mgk_train_recipe *recipe);

/* NULL: the toolkit's own. */
const mgk_recipe_values *mgk_recipe_values_of(mgk_train_recipe recipe);

/*
 * Sets what a recipe wants of a configuration with kinds and sizes: "lra" a classifier of width
 * 2 C, pooling over all N, dropout of attention where all kinds have it, soft-E of all queries, and
 * linear kinds that mix keys and divide by √N; "lm" positions that count backward, and of mixtures
 * the variances √D and √D/3 and 1e-6 in the sum of a row, unless hard-E, and soft-E of all queries.
 * STATUS_USAGE: the recipe is for another family.
 */
mgk_status mgk_recipe_configure(mgk_train_recipe recipe, mgk_config *config);

#endif
