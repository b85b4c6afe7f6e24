/* SPDX-License-Identifier: MIT */
/* The options that each picture takes. */
#ifndef MGK_PLOT_OPTIONS_H
#define MGK_PLOT_OPTIONS_H

#include "base/status.h"
#include "mgk.h"

/* STATUS_USAGE: an unknown picture, or an option that it does not take. */
mgk_status mgk_plot_check_options(const mgk_plot_options *options);

#endif
