/* SPDX-License-Identifier: MIT */
/* A tiny model and a batch for it: odd sizes, sequences of different lengths, random weights. */
#ifndef MGK_TESTS_MODEL_PASS_CASE_H
#define MGK_TESTS_MODEL_PASS_CASE_H

#include "model/core/pass.h"
#include "model/core/regularise.h"

enum { CASE_SEQUENCES = 4, CASE_TOKENS = 7, CASE_VOCABULARY = 11, CASE_CLASSES = 3 };

typedef struct pass_case {
    mgk_device *device;
    mgk_model *model;
    mgk_batch batch;
    int32_t ids[CASE_SEQUENCES * CASE_TOKENS];
    int32_t lengths[CASE_SEQUENCES];
    int32_t targets[CASE_SEQUENCES * CASE_TOKENS]; /* the family's number of targets */
    mgk_regularisation what;                       /* terms of the loss of test_gradient.c; none */
    double smoothing;                              /* of targets there */
} pass_case;

/* A configuration of two small layers: dim 6, 2 heads of 3, hidden 7, 9 positions. */
mgk_config case_config(mgk_family family, const char *attention, int mixtures);

/* Opens the CPU in float64 and makes the model (resolving `config`) and its batch. */
void case_open(pass_case *c, const mgk_config *config);
void case_close(pass_case *c);

/* The summed loss of a batch after a forward pass. */
mgk_loss case_loss_of(mgk_pass *pass, const mgk_batch *batch, const int32_t *targets, uint64_t seed,
                      uint64_t stream);

/* The loss of the case's batch, with seed 3, stream 5. */
double case_loss(const pass_case *c, mgk_pass *pass);

#endif
