/* SPDX-License-Identifier: MIT */
/* What help, man page and completion share of a table of options. */
#ifndef MGK_TOOLS_ARGS_ROW_H
#define MGK_TOOLS_ARGS_ROW_H

#include "tools/args.h"

enum { MGK_ARG_TEXT_SIZE = 256, MGK_ARGS_EVERYWHERE = 2 };

/* The options that every program has in addition. */
extern const mgk_arg mgk_args_everywhere[MGK_ARGS_EVERYWHERE];

/* Writes an option's default; empty if it only means "not set", because the help explains 0. */
void mgk_arg_default_text(const mgk_arg *arg, char text[MGK_ARG_TEXT_SIZE]);

#endif
