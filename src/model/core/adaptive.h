/* SPDX-License-Identifier: MIT */
/*
 * The loss of an adaptive softmax (Grave et al. 2017). K cutoffs divide the vocabulary. The head is
 * a softmax over the frequent words before the first cutoff, and one entry for each of the K
 * clusters after it; each cluster has a softmax over its words:
 *   p(w) = p_head(w)                    for a frequent word,
 *   p(w) = p_head(cluster k) p_k(w)     for a word of cluster k.
 * Rows are processed in blocks, and only rows whose word is in a cluster compute its logits.
 */
#ifndef MGK_MODEL_ADAPTIVE_H
#define MGK_MODEL_ADAPTIVE_H

#include "kernels/backend.h"

/* The output layer; arrays are on the device. */
typedef struct mgk_adaptive {
    size_t dim, vocabulary, clusters; /* C, V, K >= 1 */
    const int *cutoffs;       /* [K] first words of the clusters: ascending, in (0, V]; V: empty */
    const void *words, *bias; /* [V, C], [V] or NULL */
    const void *frequent;     /* [cutoffs[0], C] in place of the first rows of words, or NULL */
    const void *cluster_weight, *cluster_bias; /* [K, C], [K] or NULL */
    size_t block;                              /* logits that exist at a time; 0: 2^24 */
} mgk_adaptive;

/* Where gradients go; arrays are on the device. */
typedef struct mgk_adaptive_gradient {
    double scale;                        /* weight of a target in the loss */
    void *words, *bias;                  /* += [V, C], [V] or NULL */
    void *frequent;                      /* += [cutoffs[0], C], or NULL with that of the output */
    void *cluster_weight, *cluster_bias; /* += [K, C], [K] or NULL */
    void *hidden;                        /* written: [rows, C], 0 without a target */
} mgk_adaptive_gradient;

/*
 * Adds the cross-entropy of `rows` hidden states [rows, C] against targets [rows] (< 0: none; less
 * than V), both on the device, to *loss in device memory. `correct` only counts frequent words that
 * are the head's first choice, so it is a lower bound. Waits for the device, so it cannot be
 * recorded.
 */
mgk_status mgk_adaptive_loss(mgk_device *device, const mgk_adaptive *output, size_t rows,
                             const void *hidden, const int32_t *targets, mgk_loss *loss);

/* The gradient of the same loss; it computes the logits anew, because they exist in blocks. */
mgk_status mgk_adaptive_backward(mgk_device *device, const mgk_adaptive *output, size_t rows,
                                 const void *hidden, const int32_t *targets,
                                 const mgk_adaptive_gradient *gradient);

#endif
