/* SPDX-License-Identifier: MIT */
#include "plots/options.h"

mgk_picture_options mgk_picture_defaults(void)
{
    return (mgk_picture_options){
        .colormap = COLORMAP_VIRIDIS, .scaling = SCALING_LOG, .pooling = POOLING_MEAN};
}

mgk_picture_options mgk_picture_signed_defaults(void)
{
    return (mgk_picture_options){
        .colormap = COLORMAP_COOLWARM, .scaling = SCALING_LINEAR, .pooling = POOLING_MEAN};
}

mgk_scale_rule mgk_picture_rule(const mgk_picture_options *options)
{
    return (mgk_scale_rule){.scaling = options->scaling,
                            .symmetric = options->colormap == COLORMAP_COOLWARM,
                            .floor = options->log_floor};
}
