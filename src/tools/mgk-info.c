/* SPDX-License-Identifier: MIT */
/* mgk-info: describes a file, the machine, or the measures of attention diversity. */
#include <stdio.h>

#include "tools/outline.h"
#include "tools/tool.h"

/* Notes for the man page, after the help of each option. */
static const mgk_arg_note notes[] = {
    {"measures",
     "With --json it prints an array of objects with the names `name`, `level`, `unit`, "
     "`range`, `formula`, `source` and `needs`.\n"
     "An empty text means no unit, common knowledge as the source, and attention alone "
     "as the need."},
    {NULL, NULL},
};

/* Prints "; LABEL TEXT", or for the first text " (LABEL TEXT"; nothing for an empty text. */
static void print_remark(const char *label, const char *text, bool *begun)
{
    if (!*text)
        return;
    printf("%s%s%s", *begun ? "; " : " (", label, text);
    *begun = true;
}

static void print_measure(const mgk_measure_description *measure)
{
    bool begun = false;
    printf("%-22s %-6s %s", measure->name, measure->level, measure->formula);
    print_remark("", measure->unit, &begun);
    print_remark("", measure->range, &begun);
    print_remark("", measure->source, &begun);
    print_remark("needs ", measure->needs, &begun);
    puts(begun ? ")" : "");
}

static void print_member(const char *name, const char *text)
{
    printf("\"%s\": \"", name);
    for (; *text; text++)
        printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    putchar('"');
}

static void print_measure_json(const mgk_measure_description *measure)
{
    const struct {
        const char *name, *text;
    } members[] = {{"name", measure->name},       {"level", measure->level},
                   {"unit", measure->unit},       {"range", measure->range},
                   {"formula", measure->formula}, {"source", measure->source},
                   {"needs", measure->needs}};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        fputs(i == 0 ? "{" : ", ", stdout);
        print_member(members[i].name, members[i].text);
    }
    putchar('}');
}

/* Prints the measures of mgk-diversity: a line for each, or an array of objects. */
static void print_measures(bool json)
{
    mgk_measure_description measure;
    for (size_t i = 0; mgk_describe_measure(i, &measure) == MGK_OK; i++)
        if (json) {
            fputs(i == 0 ? "[" : ",\n ", stdout);
            print_measure_json(&measure);
        } else
            print_measure(&measure);
    if (json)
        puts("]");
}

int main(int argc, char **argv)
{
    mgk_tool tool = {0};
    mgk_arg_list files = {0};
    bool all = false, json = false, machine = false, measures = false;
    const mgk_arg args[] = {
        {MGK_ARG_FLAG, 0, "all", &all, NULL,
         "Of a model, print all settings and tensors, and all parts of sums.", NULL},
        {MGK_ARG_FLAG, 0, "json", &json, NULL, "Print JSON, which has everything.", NULL},
        {MGK_ARG_FLAG, 0, "machine", &machine, NULL,
         "Describe the machine: processor, kernels, BLAS, memory, GPU.", NULL},
        {MGK_ARG_FLAG, 0, "measures", &measures, NULL,
         "List the measures of mgk-diversity, a line each.", NULL},
        MGK_TOOL_MODEL_ARGS(&tool),
        MGK_TOOL_ARGS(&tool),
    };
    const mgk_program program = {
        .name = "mgk-info",
        .usage = "FILE|FOLDER|--machine|--measures [--all|--json]",
        .summary = "Describes a model, a checkpoint of other software, an attention store, another "
                   "HDF5 or NumPy file, a rank file, or a training log; or this machine; or the "
                   "measures of "
                   "attention diversity.",
        .examples = "  mgk-info mgk4.safetensors\n"
                    "  mgk-info mgk4.safetensors --json | jq .flops_forward\n"
                    "  mgk-info checkpoint.pt\n"
                    "  mgk-info mgk4.h5\n"
                    "  mgk-info --machine\n"
                    "  mgk-info --measures\n",
        .args = args,
        .count = sizeof(args) / sizeof(args[0]),
        .screen = "all json machine measures",
        .notes = {notes, mgk_tool_model_notes, mgk_tool_notes},
        .operands = &files,
    };
    int exit_status;
    if (!mgk_tool_begin(&tool, &program, argc, argv, &exit_status))
        return exit_status;
    if (files.count + machine + measures != 1)
        return mgk_tool_usage(&tool, "one FILE is needed, or --machine, or --measures");
    char *text = NULL;
    mgk_result result = mgk_check_job(&tool.job);
    if (result == MGK_OK && measures)
        print_measures(json);
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
