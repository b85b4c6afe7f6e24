#include "tools/tool.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum {
    EXIT_USAGE = 2,
    MESSAGE = 1024 /* bytes of a message of the library, at most */
};

static volatile sig_atomic_t asks;        /* the first signal only asks to stop */
static volatile sig_atomic_t interrupted; /* it has come */

/* Ends the program as if the signal were not caught, but without files that it has begun. */
static void end_by(int number)
{
    mgk_remove_unfinished();
    signal(number, SIG_DFL);
    raise(number);
}

static void on_signal(int number)
{
    if (asks && !interrupted)
        interrupted = 1;
    else
        end_by(number);
}

/*
 * Signals end programs that leave nothing half-written. What nohup had ignored stays ignored. An
 * interrupt is caught even so: shells ignore it for every job that a script puts into the
 * background, and who sends one there means it. Ignored are those that come of writing: to a file
 * at the limit of its size, which is as good as a full disk, and to somebody who reads no more.
 */
static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
    struct sigaction action = {.sa_handler = on_signal}, before;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i] != SIGINT && sigaction(numbers[i], NULL, &before) == 0 &&
            before.sa_handler == SIG_IGN)
            continue;
        sigaction(numbers[i], &action, NULL);
    }
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

/*
 * What was printed may still be on its way, or lost. The exit status: that of a failure where it
 * succeeded before. One whose reader has gone ends as others do, silently.
 */
static int flush_output(const char *name, int exit_status)
{
    int reason = errno; /* of what has failed before */
    if (fflush(stdout) != 0)
        reason = errno;
    else if (!ferror(stdout))
        return exit_status;
    if (exit_status != 0)
        return exit_status;
    if (reason == EPIPE)
        end_by(SIGPIPE);
    fprintf(stderr, "%s: standard output: %s\n", name, reason ? strerror(reason) : "cannot write");
    return EXIT_FAILURE;
}

/*
 * A bundle (scripts/bundle.sh) brings its own font; share/mgk/fonts.conf, beside bin/, says where
 * it is. Where there is no such file, or the user has set another, fontconfig finds fonts as usual.
 */
static void find_own_fonts(void)
{
    static const char below[] = "/share/mgk/fonts.conf";
    char path[PATH_MAX + sizeof below];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    path[length > 0 ? length : 0] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
    strcat(path, below);
    if (access(path, R_OK) == 0)
        setenv("FONTCONFIG_FILE", path, 0);
}

bool mgk_tool_begin(mgk_tool *tool, const mgk_program *program, int argc, char **argv,
                    int *exit_status)
{
    mgk_args_outcome outcome;
    tool->program = program;
    *exit_status = 0;
    catch_signals();
    find_own_fonts();
    if (mgk_args_parse(program, argc, argv, &outcome) != STATUS_OK ||
        (outcome == MGK_ARGS_RUN && mgk_args_command(argc, argv, &tool->command) != STATUS_OK) ||
        (outcome == MGK_ARGS_PAGE && mgk_args_page(program, stdout) != STATUS_OK)) {
        fprintf(stderr, "%s: %s\n", program->name, mgk_fail_message());
        *exit_status = EXIT_USAGE;
    } else if (outcome == MGK_ARGS_HELP) {
        mgk_args_help(program, stdout);
    } else if (outcome == MGK_ARGS_COMPLETION) {
        mgk_args_completion(program, stdout);
    } else if (outcome == MGK_ARGS_VERSION) {
        printf("%s %s\n", program->name, mgk_version());
    } else if (outcome == MGK_ARGS_RUN) {
        tool->job.command = tool->command;
        return true;
    }
    *exit_status = flush_output(program->name, *exit_status);
    mgk_args_free(program);
    return false;
}

/* The field of an option is spelt as that, but for these. */
static const char *field_of(const char *option)
{
    static const char *const others[][2] = {{"name", "names"}, {"range", "last"}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(option, others[i][0]) == 0)
            return others[i][1];
    return option;
}

/* Whether "head_dim`..." begins with the field of the option "head-dim"; *end is behind it. */
static bool is_field_of(const char *text, const char *option, const char **end)
{
    for (const char *field = field_of(option); *field; field++, text++)
        if (*text != (*field == '-' ? '_' : *field))
            return false;
    *end = text + 1;
    return *text == '`';
}

/* The option whose field stands in backquotes at `text`, NULL: none of the program's. */
static const char *option_at(const mgk_program *program, const char *text, const char **end)
{
    for (size_t i = 0; *text == '`' && i < program->count; i++)
        if (program->args[i].type != MGK_ARG_HEADING &&
            is_field_of(text + 1, program->args[i].name, end))
            return program->args[i].name;
    return NULL;
}

/*
 * What the library says, as the program says it: fields of option structures, `head_dim`, become
 * the program's own options, --head-dim. Those that it does not have stay.
 */
static void translate(const mgk_program *program, const char *message, char text[MESSAGE])
{
    size_t used = 0;
    while (*message && used < MESSAGE - 1) {
        const char *end, *option = option_at(program, message, &end);
        if (option) {
            used += (size_t)snprintf(text + used, MESSAGE - used, "--%s", option);
            message = end;
        } else {
            text[used++] = *message++;
        }
    }
    text[used < MESSAGE ? used : MESSAGE - 1] = '\0';
}

static void report(void *context, const mgk_report *r)
{
    mgk_tool *tool = context;
    char note[MESSAGE];
    translate(tool->program, r->note, note);
    if (r->total == 0) { /* before or after the work */
        if (!tool->quiet)
            mgk_progress_say(&tool->bar, "%s: %s", tool->program->name, note);
        return;
    }
    mgk_progress_update(&tool->bar, r->done, r->total, r->amount, r->milestone ? "" : note);
    if (r->milestone && !tool->quiet)
        mgk_progress_say(&tool->bar, "%s: %lld of %lld: %s", tool->bar.label, (long long)r->done,
                         (long long)r->total, note);
}

static bool stop(void *context)
{
    (void)context;
    return interrupted != 0;
}

void mgk_tool_listen(mgk_tool *tool)
{
    tool->job.watcher = (mgk_watcher){.report = report, .context = tool};
}

void mgk_tool_watch(mgk_tool *tool, const char *label, const char *unit)
{
    asks = 1;
    tool->bar = mgk_progress_start(label, unit, tool->quiet);
    tool->job.watcher = (mgk_watcher){report, stop, tool};
}

int mgk_tool_end(mgk_tool *tool, mgk_result result)
{
    char message[MESSAGE];
    mgk_progress_finish(&tool->bar);
    translate(tool->program, mgk_error(), message);
    if (result != MGK_OK)
        fprintf(stderr, "%s: %s\n", tool->program->name, message);
    int exit_status = result == MGK_OK      ? EXIT_SUCCESS
                      : result == MGK_USAGE ? EXIT_USAGE
                                            : EXIT_FAILURE;
    exit_status = flush_output(tool->program->name, exit_status);
    mgk_args_free(tool->program);
    mgk_free(tool->command);
    return exit_status;
}

int mgk_tool_usage(mgk_tool *tool, const char *message)
{
    fprintf(stderr, "%s: %s (see --help)\n", tool->program->name, message);
    mgk_args_free(tool->program);
    mgk_free(tool->command);
    return EXIT_USAGE;
}
