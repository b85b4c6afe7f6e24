/* SPDX-License-Identifier: MIT */
/* mgk-convert: converts any checkpoint to the toolkit's own format. */
#include "tools/tool.h"

int main(int argc, char **argv)
{
    mgk_tool tool = {0};
    mgk_arg_list models = {0};
    mgk_convert_options o = mgk_convert_options_default();
    enum { SINGLE, DOUBLE, HALF };
    int precision = SINGLE;
    const mgk_arg args[] = {
        {MGK_ARG_FILE, 'o', "output", &o.output, "OUT.safetensors", "The model.", NULL},
        {MGK_ARG_CHOICE, 0, "precision", &precision, "single|double|half",
         "Type of the stored weights: float32, float64 or float16.", NULL},
        MGK_TOOL_MODEL_ARGS(&tool),
        MGK_TOOL_ARGS(&tool),
        MGK_TOOL_FORCE_ARG(&tool),
    };
    const mgk_program program = {
        .name = "mgk-convert",
        .usage = "MODEL -o OUT.safetensors [options]",
        .summary =
            "Reads a model in any supported format, a file or a folder, and writes it in the "
            "toolkit's own format.",
        .examples = "  mgk-convert all-MiniLM-L6-v2/ -o minilm.safetensors\n"
                    "  mgk-convert lra_retrieval.pt --head-dim 32 -o retrieval.safetensors\n",
        .args = args,
        .count = sizeof(args) / sizeof(args[0]),
        .screen = "output precision force quiet",
        .notes = {mgk_tool_model_notes, mgk_tool_notes, mgk_tool_output_notes},
        .operands = &models,
    };
    int exit_status;
    if (!mgk_tool_begin(&tool, &program, argc, argv, &exit_status))
        return exit_status;
    if (models.count != 1)
        return mgk_tool_usage(&tool, "one MODEL is needed");
    mgk_status status = mgk_tool_output(&tool, &o.output, MGK_TOOL_MODEL);
    if (status != STATUS_OK)
        return mgk_tool_refuse(&tool, status);
    o.model = models.words[0];
    o.double_precision = precision == DOUBLE;
    o.half_precision = precision == HALF;
    mgk_tool_listen(&tool);
    o.job = tool.job;
    return mgk_tool_end(&tool, mgk_convert_model(&o));
}
