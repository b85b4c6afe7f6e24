/* SPDX-License-Identifier: MIT */
/* The rows of the registry. */
#ifndef MGK_KERNELS_ATTENTION_KINDS_H
#define MGK_KERNELS_ATTENTION_KINDS_H

#include "kernels/attention.h"

extern const mgk_attention_kind mgk_attention_softmax;
extern const mgk_attention_kind mgk_attention_mgk;
extern const mgk_attention_kind mgk_attention_smgk;
extern const mgk_attention_kind mgk_attention_linear;
extern const mgk_attention_kind mgk_attention_mlk;
extern const mgk_attention_kind mgk_attention_smlk;
extern const mgk_attention_kind mgk_attention_band;
extern const mgk_attention_kind mgk_attention_dilated;
extern const mgk_attention_kind mgk_attention_strided;
extern const mgk_attention_kind mgk_attention_fixed;
extern const mgk_attention_kind mgk_attention_random;
extern const mgk_attention_kind mgk_attention_block;
extern const mgk_attention_kind mgk_attention_global;
extern const mgk_attention_kind mgk_attention_bigbird;
extern const mgk_attention_kind mgk_attention_multi_scale;
extern const mgk_attention_kind mgk_attention_performer;
extern const mgk_attention_kind mgk_attention_rfa;
extern const mgk_attention_kind mgk_attention_cosformer;
extern const mgk_attention_kind mgk_attention_dpfp;
extern const mgk_attention_kind mgk_attention_delta;
extern const mgk_attention_kind mgk_attention_average;
extern const mgk_attention_kind mgk_attention_hard_coded;
extern const mgk_attention_kind mgk_attention_synthesizer_random;
extern const mgk_attention_kind mgk_attention_gaussian;
extern const mgk_attention_kind mgk_attention_adaptive_span;
extern const mgk_attention_kind mgk_attention_linformer;
extern const mgk_attention_kind mgk_attention_nystrom;
extern const mgk_attention_kind mgk_attention_csalr;
extern const mgk_attention_kind mgk_attention_talking_heads;
extern const mgk_attention_kind mgk_attention_realformer;
extern const mgk_attention_kind mgk_attention_lazyformer;
extern const mgk_attention_kind mgk_attention_synthesizer_factored;
extern const mgk_attention_kind mgk_attention_synthesizer_dense;
extern const mgk_attention_kind mgk_attention_multi_query;
extern const mgk_attention_kind mgk_attention_predictive;
extern const mgk_attention_kind mgk_attention_collaborative;

#endif
