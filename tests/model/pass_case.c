/* SPDX-License-Identifier: MIT */
#include "model/pass_case.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "test.h"

mgk_config case_config(mgk_family family, const char *attention, int mixtures)
{
    mgk_config config;
    mgk_config_defaults(family, &config);
    snprintf(config.attention, sizeof(config.attention), "%s", attention);
    config.layers = 2;
    config.heads = 2;
    config.dim = 6;
    config.head_dim = 3;
    config.hidden = 7;
    config.length = 9;
    config.vocabulary = CASE_VOCABULARY;
    config.classes = family == MGK_FAMILY_LM ? 0 : CASE_CLASSES;
    config.mixtures = mixtures;
    config.dropout = 0;
    return config;
}

/* Initial weights would hide errors: biases are zero, gains one and priors equal. */
static void scatter_weights(mgk_model *model)
{
    const mgk_parameters *parameters = &model->parameters;
    double *weights;
    assert_ok(mgk_alloc(parameters->total, sizeof(*weights), &weights));
    assert_ok(mgk_model_download(model, model->weights, weights));
    for (size_t i = 0; i < parameters->count; i++) {
        const mgk_parameter *p = &parameters->list[i];
        bool prior = strstr(p->name, "prior") != NULL;
        for (size_t k = 0; k < p->count; k++) {
            double *weight = &weights[p->offset + k];
            if (prior)
                *weight = 0.1 + 0.8 * mgk_random_uniform(11, i, k);
            else
                *weight += 0.2 * mgk_random_normal(11, i, k);
        }
    }
    assert_ok(mgk_model_upload(model, weights, model->weights));
    mgk_free(weights);
}

static void fill_batch(pass_case *c)
{
    static const int32_t lengths[CASE_SEQUENCES] = {CASE_TOKENS, 4, 1, 5};
    bool lm = c->model->config.family == MGK_FAMILY_LM;
    memcpy(c->lengths, lengths, sizeof(lengths));
    for (int i = 0; i < CASE_SEQUENCES * CASE_TOKENS; i++) {
        bool valid = i % CASE_TOKENS < lengths[i / CASE_TOKENS];
        uint64_t index = (uint64_t)i;
        c->ids[i] = valid ? (int32_t)mgk_random_below(12, 0, index, CASE_VOCABULARY) : -1;
        /* A language model need not have a target at every position. */
        c->targets[i] =
            valid && i % 5 != 3 ? (int32_t)mgk_random_below(12, 1, index, CASE_VOCABULARY) : -1;
        if (!lm)
            c->targets[i] = i % CASE_CLASSES;
    }
    c->batch = (mgk_batch){CASE_SEQUENCES, CASE_TOKENS, c->ids, c->lengths, NULL};
}

void case_open(pass_case *c, const mgk_config *config)
{
    mgk_config resolved = *config;
    *c = (pass_case){0};
    assert_ok(mgk_config_resolve(&resolved));
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &c->device));
    assert_ok(mgk_model_create(&resolved, 7, c->device, &c->model));
    scatter_weights(c->model);
    fill_batch(c);
}

void case_close(pass_case *c)
{
    mgk_model_free(c->model);
    mgk_device_close(c->device);
}

mgk_loss case_loss_of(mgk_pass *pass, const mgk_batch *batch, const int32_t *targets, uint64_t seed,
                      uint64_t stream)
{
    mgk_loss loss = {0}; /* on a CPU device memory is host memory */
    assert_ok(mgk_pass_load(pass, batch, targets, seed, stream));
    assert_ok(mgk_pass_forward(pass, NULL));
    assert_ok(mgk_pass_loss(pass, 1, &loss));
    return loss;
}

double case_loss(const pass_case *c, mgk_pass *pass)
{
    return case_loss_of(pass, &c->batch, c->targets, 3, 5).sum;
}
