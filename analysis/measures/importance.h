/* SPDX-License-Identifier: MIT */
/* What a head is worth to the model: the quantities that a source of importances knows. */
#ifndef MGK_ANALYSIS_IMPORTANCE_H
#define MGK_ANALYSIS_IMPORTANCE_H

typedef enum mgk_importance {
    MGK_IMPORTANCE_ABLATION, /* loss without the head − loss, in nats */
    MGK_IMPORTANCE_GRADIENT, /* |∂L/∂ξ|, ξ a factor of the head's output (Michel et al. 2019) */
    MGK_IMPORTANCE_DIVERGENCE, /* KL divergence of the logits without the head from those with it */
    MGK_IMPORTANCE_HIDDEN      /* relative change of the last hidden states */
} mgk_importance;

/* An importance as a member of a bit set. */
#define MGK_IMPORTANCE_BIT(which) (1u << (which))

enum { MGK_IMPORTANCES = MGK_IMPORTANCE_HIDDEN + 1 };

#endif
