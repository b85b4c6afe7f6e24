/* SPDX-License-Identifier: MIT */
/* mgk: the other programs as its commands. `mgk rank ...` runs mgk-rank, which lies beside it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/args.h"
#include "tools/suggest.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* The commands as the completion offers them, and what each does. */
static const char *const commands[] = {"train",  "eval", "dump",    "rank", "diversity", "plot",
                                       "report", "info", "convert", "help", NULL};
static const char *const purposes[] = {
    "train a model",
    "measure how well models predict",
    "run a model and write its attention matrices to HDF5",
    "count ranks, of matrices in files or of a running model",
    "measure how diverse or redundant heads are",
    "draw matrices, ranks, measures, training curves and figures",
    "make one page about the diversity of heads",
    "describe a file, the machine, the measures, or the kinds",
    "write any model that is read in the toolkit's own format",
    "print the help of a command",
};

static int print_help(void)
{
    puts("Usage: mgk COMMAND [ARGUMENTS]\n"
         "Answers how diverse, or redundant, the attention of a transformer is.\n"
         "\n"
         "Commands:");
    for (size_t i = 0; commands[i]; i++)
        printf("  %-10s %s\n", commands[i], purposes[i]);
    puts("\n"
         "Each command is a program, mgk-rank for rank, with a man page of this name.\n"
         "`mgk help rank` prints its help, `mgk --version` prints the version.\n"
         "\n"
         "Examples:\n"
         "  mgk dump mgk4.safetensors --text valid.txt --samples 100 -o mgk4.h5\n"
         "  mgk rank mgk4.h5 -o mgk4.csv");
    return fflush(stdout) == 0 ? 0 : EXIT_FAILED;
}

static int refuse(const char *word)
{
    mgk_suggestion meant = mgk_suggest_for(word, strlen(word));
    for (size_t i = 0; commands[i]; i++)
        mgk_suggest(&meant, commands[i]);
    fprintf(stderr, "mgk: \"%s\" is no command%s%s%s (see mgk --help)\n", word,
            meant.name ? "; did you mean " : "", meant.name ? meant.name : "",
            meant.name ? "?" : "");
    return EXIT_USAGE;
}

/* The path of the program beside this one: "mgk-rank" for "rank". Where this one's folder is not
 * known, PATH leads to it. */
static void make_path(const char *command, char path[2 * PATH_MAX])
{
    char own[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(own, '/');
    if (slash)
        slash[1] = '\0';
    snprintf(path, 2 * PATH_MAX, "%smgk-%s", slash ? own : "", command);
}

/* Replaces this program by that of the command words[0]. Its messages, and the command line that
 * its outputs record, name the program: mgk-rank. */
static int run(char **words)
{
    char path[2 * PATH_MAX];
    size_t i = 0;
    while (commands[i] && strcmp(commands[i], words[0]) != 0)
        i++;
    if (!commands[i])
        return refuse(words[0]);
    make_path(commands[i], path);
    words[0] = path;
    execvp(path, words);
    fprintf(stderr, "mgk: %s: %s\n", path, strerror(errno));
    return EXIT_FAILED;
}

/* "help", "help rank", "help rank all". */
static int help(int count, char **words)
{
    char option[] = "--help", all[] = "all";
    char *line[] = {words[1], option, count > 2 && strcmp(words[2], all) == 0 ? all : NULL, NULL};
    return count < 2 || strcmp(words[1], "help") == 0 ? print_help() : run(line);
}

int main(int argc, char **argv)
{
    const mgk_program program = {.name = "mgk", .first = commands};
    mgk_args_outcome outcome;
    if (argc > 1 && strcmp(argv[1], "help") == 0)
        return help(argc - 1, argv + 1);
    if (argc > 1 && argv[1][0] != '-')
        return run(argv + 1);
    mgk_status status = mgk_args_parse(&program, argc, argv, &outcome);
    if (status == STATUS_OK && outcome == MGK_ARGS_RUN)
        status = mgk_fail(STATUS_USAGE, "a command is needed (see mgk --help)");
    if (status == STATUS_OK && outcome == MGK_ARGS_PAGE)
        status = mgk_args_page(&program, stdout);
    if (status != STATUS_OK) {
        fprintf(stderr, "mgk: %s\n", mgk_fail_message());
        return EXIT_USAGE;
    }
    if (outcome == MGK_ARGS_HELP || outcome == MGK_ARGS_HELP_ALL)
        return print_help();
    if (outcome == MGK_ARGS_VERSION)
        puts("mgk " MGK_VERSION);
    else if (outcome == MGK_ARGS_COMPLETION)
        mgk_args_completion(&program, stdout);
    return fflush(stdout) == 0 ? 0 : EXIT_FAILED;
}
