/* SPDX-License-Identifier: MIT */
/* Man page notes for options that several programs have. */
#ifndef MGK_TOOLS_NOTES_H
#define MGK_TOOLS_NOTES_H

#include "tools/args.h"

extern const mgk_arg_note mgk_tool_notes[];          /* for MGK_TOOL_ARGS */
extern const mgk_arg_note mgk_tool_output_notes[];   /* for programs that write files: --force */
extern const mgk_arg_note mgk_tool_model_notes[];    /* for MGK_TOOL_MODEL_ARGS */
extern const mgk_arg_note mgk_tool_input_notes[];    /* for MGK_TOOL_INPUT_ARGS */
extern const mgk_arg_note mgk_tool_array_notes[];    /* for programs that read arrays: --dataset */
extern const mgk_arg_note mgk_tool_as_notes[];       /* for MGK_TOOL_AS_ARGS */
extern const mgk_arg_note mgk_tool_settings_notes[]; /* for MGK_TOOL_SETTINGS_ARGS */

#endif
