/* mgk-info: describes a file. */
#include <stdio.h>

#include "tools/tool.h"

/* Notes for the man page, after the help of each option. */
static const mgk_arg_note notes[] = {
    {"force", "This program writes no files."},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    mgk_tool tool = {0};
    mgk_arg_list files = {0};
    bool json = false, machine = false;
    const mgk_arg args[] = {
        {MGK_ARG_FLAG, 0, "json", &json, NULL, "Print JSON.", NULL},
        {MGK_ARG_FLAG, 0, "machine", &machine, NULL,
         "Describe the machine: processor, kernels, BLAS, memory, GPU.", NULL},
        MGK_TOOL_MODEL_ARGS(&tool),
        MGK_TOOL_ARGS(&tool),
    };
    const mgk_program program = {
        .name = "mgk-info",
        .usage = "FILE|FOLDER|--machine [--json]",
        .summary = "Describes a model, a checkpoint of other software, an attention store, another "
                   "HDF5 or NumPy file, or a rank file.",
        .examples = "  mgk-info mgk4.safetensors\n"
                    "  mgk-info mgk4.safetensors --json | jq .flops_forward\n"
                    "  mgk-info checkpoint.pt\n"
                    "  mgk-info mgk4.h5\n"
                    "  mgk-info --machine\n",
        .args = args,
        .count = sizeof(args) / sizeof(args[0]),
        .notes = {notes, mgk_tool_model_notes, mgk_tool_notes},
        .operands = &files,
    };
    int exit_status;
    if (!mgk_tool_begin(&tool, &program, argc, argv, &exit_status))
        return exit_status;
    if (files.count + machine != 1)
        return mgk_tool_usage(&tool, "one FILE is needed, or --machine");
    char *text = NULL;
    mgk_result result = mgk_check_job(&tool.job);
    if (result == MGK_OK)
        result = machine ? mgk_describe_machine(json, &text)
                         : mgk_describe_file(files.words[0], &tool.job, json, &text);
    if (result == MGK_OK)
        fputs(text, stdout);
    if (result == MGK_OK && json)
        putchar('\n');
    mgk_release(text);
    return mgk_tool_end(&tool, result);
}
