/* SPDX-License-Identifier: MIT */
/* mgk-report: one page about the diversity of heads. */
#include "tools/tool.h"

/* Notes for the man page, after the help of each option. */
static const mgk_arg_note notes[] = {
    {"output", "The page contains all that it shows: it loads nothing, from no network and no "
               "other file."},
    {"samples", "Matrices take most of the page: 0.3 MB for each sample of 64 tokens of a model "
                "with 6 layers of 8 heads, and four times as much for twice the tokens."},
    {"tokens", "If a sample has more tokens, what its queries give to later ones is not shown; "
               "with a causal mask nothing is missing.\n"
               "The measures are of all tokens."},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    mgk_tool tool = {0};
    mgk_arg_list inputs = {NULL, 0};
    mgk_report_options o = mgk_report_options_default();
    const mgk_arg args[] = {
        {MGK_ARG_HEADING, 0, "Content", NULL, NULL, NULL, NULL},
        {MGK_ARG_FILE, 'o', "output", &o.output, "REPORT.html", "The page.", NULL},
        {MGK_ARG_COUNT, 0, "samples", &o.samples, "N",
         "Samples of each store whose matrices are shown, from the first; 4 if not given.", NULL},
        {MGK_ARG_COUNT, 0, "tokens", &o.tokens, "N",
         "Tokens of each sample that are shown, from the first; 128 if not given.", NULL},
        MGK_TOOL_ARGS(&tool),
        MGK_TOOL_FORCE_ARG(&tool),
    };
    const mgk_program program = {
        .name = "mgk-report",
        .usage = "TABLE... [STORE...] -o REPORT.html [options]",
        .summary = "Makes one page about the diversity of heads, which any browser opens without "
                   "a network, from tables of mgk-diversity and stores of mgk-dump.",
        .examples = "  mgk-diversity mgk4.h5 -o mgk4-diversity.h5\n"
                    "  mgk-report mgk4-diversity.h5 mgk4.h5 -o mgk4.html\n"
                    "  mgk-report softmax8-diversity.h5 mgk4-diversity.h5 mgk4.h5 --samples 2 -o "
                    "both.html\n",
        .args = args,
        .count = sizeof(args) / sizeof(args[0]),
        .screen = "output samples tokens force",
        .notes = {notes, mgk_tool_notes, mgk_tool_output_notes},
        .operands = &inputs,
    };
    int exit_status;
    if (!mgk_tool_begin(&tool, &program, argc, argv, &exit_status))
        return exit_status;
    if (inputs.count == 0 || !o.output)
        return mgk_tool_usage(&tool, "a table and -o are needed");
    mgk_status status = mgk_tool_output(&tool, &o.output, MGK_TOOL_PAGE);
    if (status != STATUS_OK)
        return mgk_tool_refuse(&tool, status);
    mgk_tool_listen(&tool);
    o.inputs = inputs.words;
    o.input_count = inputs.count;
    o.job = tool.job;
    return mgk_tool_end(&tool, mgk_write_report(&o));
}
