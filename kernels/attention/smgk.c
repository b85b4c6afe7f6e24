/* Mixture of Gaussian keys with one projection and M learned shifts (paper, design B): k_jr = W_K
 * x_j + b_r. */
#include "kernels/attention/kinds.h"

const mgk_attention_kind mgk_attention_smgk = {
    .name = "smgk",
    .score = "sum_r pi_jr exp(-|q_i - k_jr|^2 / (2 sigma_r^2)), k_jr = W_K x_j + b_r",
    .keys = MGK_KEYS_SHIFTED,
    .mixture = true,
    .gaussian = true,
    .forward = mgk_gaussian_forward,
    .backward = mgk_gaussian_backward,
    .matrix = mgk_gaussian_matrix,
    .matrix_output = mgk_gaussian_matrix_output,
    .update_prior = mgk_gaussian_update_prior,
    .flops = mgk_gaussian_flops,
};
