/* SPDX-License-Identifier: MIT */
/* mgk-info: describes a file, the machine, the measures of attention diversity, or the kinds
 * of attention. */
#include <stdio.h>

#include "tools/listing.h"
#include "tools/outline.h"
#include "tools/tool.h"

/* Notes for the man page, after the help of each option. */
static const mgk_arg_note notes[] = {
    {"measures",
     "With --json it prints an array of objects with the names `name`, `level`, `unit`, "
     "`range`, `formula`, `source` and `needs`.\n"
     "An empty text means no unit, common knowledge as the source, and attention alone "
     "as the need."},
    {"kinds",
     "The columns are the name; what computes it; the devices; whether there is a causal form "
     "(only: no other); whether an N x N matrix exists; the largest rank of a matrix without a "
     "causal mask, with which it can be {N}; and then the formula of an entry before "
     "normalisation, the settings with their defaults, and why there is "
     "no matrix.\n"
     "With --json it prints an array of objects with the names `name`, `formula`, `primitives`, "
     "`parameters`, `devices`, `causal`, `matrix`, `rank_bound`, where there is a causal form "
     "`rank_bound_causal`, and where `matrix` is false `reason`.\n"
     "The value of `parameters` is an object: the name of each setting and its default, a number "
     "or a word. Settings are options of `mgk-train`(1)."},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    mgk_tool tool = {0};
    mgk_arg_list files = {0};
    bool all = false, json = false, machine = false, measures = false, kinds = false;
    const mgk_arg args[] = {
        {MGK_ARG_FLAG, 0, "all", &all, NULL,
         "Of a model, print all settings and tensors, and all parts of sums.", NULL},
        {MGK_ARG_FLAG, 0, "json", &json, NULL, "Print JSON, which has everything.", NULL},
        {MGK_ARG_FLAG, 0, "machine", &machine, NULL,
         "Describe the machine: processor, kernels, BLAS, memory, GPU.", NULL},
        {MGK_ARG_FLAG, 0, "measures", &measures, NULL,
         "List the measures of mgk-diversity, a line each.", NULL},
        {MGK_ARG_FLAG, 0, "kinds", &kinds, NULL,
         "List the kinds of attention with their settings, a line each.", NULL},
        MGK_TOOL_MODEL_ARGS(&tool),
        MGK_TOOL_ARGS(&tool),
    };
    const mgk_program program = {
        .name = "mgk-info",
        .usage = "FILE|FOLDER|--machine|--measures|--kinds [--all|--json]",
        .summary = "Describes a model, a checkpoint of other software, an attention store, another "
                   "HDF5 or NumPy file, a rank file, or a training log; or this machine; or the "
                   "measures of attention diversity, or the kinds of attention.",
        .examples = "  mgk-info mgk4.safetensors\n"
                    "  mgk-info mgk4.safetensors --json | jq .flops_forward\n"
                    "  mgk-info checkpoint.pt\n"
                    "  mgk-info mgk4.h5\n"
                    "  mgk-info --machine\n"
                    "  mgk-info --measures\n"
                    "  mgk-info --kinds\n",
        .args = args,
        .count = sizeof(args) / sizeof(args[0]),
        .screen = "all json machine measures kinds",
        .notes = {notes, mgk_tool_model_notes, mgk_tool_notes},
        .operands = &files,
    };
    int exit_status;
    if (!mgk_tool_begin(&tool, &program, argc, argv, &exit_status))
        return exit_status;
    if (files.count + machine + measures + kinds != 1)
        return mgk_tool_usage(&tool, "one FILE is needed, or --machine, --measures or --kinds");
    char *text = NULL;
    mgk_result result = mgk_check_job(&tool.job);
    if (result == MGK_OK && measures)
        mgk_list_measures(json);
    else if (result == MGK_OK && kinds)
        mgk_list_kinds(json);
    else if (result == MGK_OK)
        result = machine ? mgk_describe_machine(json, &text)
                         : mgk_describe_file(files.words[0], &tool.job, json, &text);
    if (text && (all || json))
        fputs(text, stdout);
    else if (text)
        mgk_outline_print(text);
    if (text && json)
        putchar('\n');
    mgk_release(text);
    return mgk_tool_end(&tool, result);
}
