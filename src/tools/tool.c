/* SPDX-License-Identifier: MIT */
#include "tools/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "tools/waiting.h"

enum {
    EXIT_USAGE = 2,
    MESSAGE = 1024 /* largest size of a message of the library, in bytes */
};

static volatile sig_atomic_t asks;           /* the first signal only asks the job to stop */
static volatile sig_atomic_t interrupted;    /* the number of that signal, once it has arrived */
static volatile sig_atomic_t interrupted_at; /* in seconds() */

static int seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int)now.tv_sec;
}

/* Ends the program as the uncaught signal would, but removes unfinished files first. */
static void end_by(int number)
{
    mgk_remove_unfinished();
    mgk_streams_abandon();
    signal(number, SIG_DFL);
    raise(number);
}

/* The first signal asks, the second one ends; but at the time limit of a job Slurm sends SIGTERM
 * twice within moments, as one request. Whole seconds are compared: up to two may lie between. */
static void on_signal(int number)
{
    if (asks && !interrupted) {
        interrupted_at = seconds();
        interrupted = number;
    } else if (number != SIGTERM || interrupted != SIGTERM || seconds() - interrupted_at > 1) {
        end_by(number);
    }
}

/*
 * Signals end the program without leaving unfinished files. A signal that nohup ignores stays
 * ignored, except interrupts: shells ignore them for every background job of a script, and whoever
 * sends one there wants the job to stop. SIGXFSZ and SIGPIPE are ignored, so that writing fails
 * like on a full disk, or because the reader has gone, and is reported.
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
 * Flushes standard output, whose buffer may fail to be written, and sends the result there that
 * belongs there. Returns the exit status: a failure to write changes only that of a success. If the
 * reader of a pipe has gone, the program ends silently, as others do.
 */
static int flush_output(const char *name, mgk_streams *streams, int exit_status)
{
    int reason = errno; /* of an earlier failure */
    if (fflush(stdout) != 0)
        reason = errno;
    else if (ferror(stdout) == 0 && exit_status == 0 && mgk_streams_send(streams) != STATUS_OK)
        reason = errno;
    else if (!ferror(stdout))
        return exit_status;
    if (exit_status != 0)
        return exit_status;
    if (reason == EPIPE) {
        mgk_streams_close(streams);
        end_by(SIGPIPE);
    }
    fprintf(stderr, "%s: standard output: %s\n", name, reason ? strerror(reason) : "cannot write");
    return EXIT_FAILURE;
}

/* A bundle (scripts/bundle.sh) contains its own font; share/mgk/fonts.conf, next to bin/, points to
 * it. Without that file, or if the user has set another, fontconfig finds fonts as usual. */
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

/*
 * Of processes that were started together, rank 0 alone talks: what the others would say it says,
 * too. Their end must not be that of a failure, for which mpirun would end rank 0 before it has
 * told it.
 */
static void find_rank(mgk_tool *tool, char **argv)
{
    if (mgk_cluster_started(&tool->rank, &tool->processes) != MGK_OK || tool->rank == 0)
        return;
    mgk_wait_briefly(tool->program->name,
                     argv); /* the program that it starts has its own streams */
    tool->errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
        exit(EXIT_FAILURE);
}

/* Says why this process cannot join the others. Where rank 0 cannot either, it has said so and
 * ended this one before; otherwise it waits for it. */
static int refuse_to_join(const mgk_tool *tool)
{
    if (tool->rank > 0)
        sleep(1);
    dprintf(tool->rank > 0 ? tool->errors : STDERR_FILENO, "%s: %s\n", tool->program->name,
            mgk_error());
    return EXIT_FAILURE;
}

/* Joins the processes that share the job; false: this one ends, with *exit_status. */
static bool join_processes(mgk_tool *tool, int *exit_status)
{
    *exit_status = 0;
    if (tool->processes == 1)
        return true;
    if (!tool->shares)
        return tool->rank == 0;
    if (mgk_cluster_open(&tool->job.cluster) == MGK_OK)
        return true;
    *exit_status = refuse_to_join(tool);
    return false;
}

bool mgk_tool_begin(mgk_tool *tool, const mgk_program *program, int argc, char **argv,
                    int *exit_status)
{
    mgk_args_outcome outcome;
    bool joining = false;
    tool->program = program;
    *exit_status = 0;
    tool->job.settings = &tool->settings;
    find_rank(tool, argv);
    catch_signals();
    find_own_fonts();
    if (mgk_args_parse(program, argc, argv, &outcome) != STATUS_OK ||
        (outcome == MGK_ARGS_RUN && mgk_args_command(argc, argv, &tool->command) != STATUS_OK) ||
        (outcome == MGK_ARGS_PAGE && mgk_args_page(program, stdout) != STATUS_OK)) {
        fprintf(stderr, "%s: %s\n", program->name, mgk_fail_message());
        *exit_status = EXIT_USAGE;
    } else if (outcome == MGK_ARGS_HELP || outcome == MGK_ARGS_HELP_ALL) {
        mgk_args_help(program, outcome == MGK_ARGS_HELP_ALL, stdout);
    } else if (outcome == MGK_ARGS_COMPLETION) {
        mgk_args_completion(program, stdout);
    } else if (outcome == MGK_ARGS_VERSION) {
        printf("%s %s\n", program->name, mgk_version());
    } else if (outcome == MGK_ARGS_RUN) {
        mgk_wait_briefly(program->name, argv);
        tool->job.command = tool->command;
        joining = true;
        if (join_processes(tool, exit_status))
            return true;
    }
    *exit_status = flush_output(program->name, &tool->streams, *exit_status);
    if (tool->rank > 0 && !joining)
        *exit_status = 0;
    mgk_free(tool->command);
    mgk_args_free(program);
    return false;
}

/* The field of an option has the option's name, with these exceptions. */
static const char *field_of(const char *option)
{
    static const char *const others[][2] = {{"as", "run-as"},
                                            {"eval-every", "evaluate-every"},
                                            {"name", "names"},
                                            {"range", "last"},
                                            {"precision", "double-precision"}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(option, others[i][0]) == 0)
            return others[i][1];
    return option;
}

/* Whether "head_dim`..." begins with the field of the option "head-dim"; *end points after it. */
static bool is_field_of(const char *text, const char *option, const char **end)
{
    for (const char *field = field_of(option); *field; field++, text++)
        if (*text != (*field == '-' ? '_' : *field))
            return false;
    *end = text + 1;
    return *text == '`';
}

/* The option whose field stands in backquotes at `text`; NULL: not an option of the program. */
static const char *option_at(const mgk_program *program, const char *text, const char **end)
{
    for (size_t i = 0; *text == '`' && i < program->count; i++)
        if (program->args[i].type != MGK_ARG_HEADING &&
            is_field_of(text + 1, program->args[i].name, end))
            return program->args[i].name;
    return NULL;
}

/* Replaces fields of option structures in a library message, `head_dim`, by the program's options,
 * --head-dim. Fields without an option stay. */
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

/* Shows another activity of the job from now on. */
static void change_activity(mgk_tool *tool, const mgk_report *r)
{
    if (!r->activity || strcmp(r->activity, tool->bar.label) == 0)
        return;
    mgk_progress_finish(&tool->bar);
    tool->bar = mgk_progress_start(r->activity, r->unit, tool->quiet);
}

/* Adds a line; false: no memory. */
static bool add_line(mgk_tool_lines *lines, const char *line)
{
    const size_t length = strlen(line) + 1;
    mgk_status status = STATUS_OK;
    while (status == STATUS_OK && lines->room < lines->length + length)
        status = mgk_grow(lines->room, 1, &lines->room, &lines->text);
    if (status != STATUS_OK)
        return false;
    memcpy(lines->text + lines->length, line, length);
    lines->length += length;
    return true;
}

/* The line after one of them, or for NULL the first; NULL: there are no more. */
static const char *next_line(const mgk_tool_lines *lines, const char *line)
{
    const char *next = line ? line + strlen(line) + 1 : lines->text;
    return next && next < lines->text + lines->length ? next : NULL;
}

static bool has_line(const mgk_tool_lines *lines, const char *text)
{
    for (const char *line = NULL; (line = next_line(lines, line));)
        if (strcmp(line, text) == 0)
            return true;
    return false;
}

/* Without progress, warnings are about results, and a failure is one line. */
static void keep_warning(mgk_tool *tool, const char *note)
{
    if (!has_line(&tool->warnings, note) &&
        !add_line(&tool->warnings, note)) /* better too early than never */
        fprintf(stderr, "%s: %s\n", tool->program->name, note);
}

static void print_warnings(const mgk_tool *tool)
{
    for (const char *line = NULL; (line = next_line(&tool->warnings, line));)
        fprintf(stderr, "%s: %s\n", tool->program->name, line);
}

/* A warning or a remark that holds for several models, as that of the device, is printed for the
 * first. */
static void say_once(mgk_tool *tool, const char *note)
{
    if (has_line(&tool->said, note))
        return;
    (void)add_line(&tool->said, note); /* without memory it is printed again */
    mgk_progress_say(&tool->bar, "%s: %s", tool->program->name, note);
}

static void report(void *context, const mgk_report *r)
{
    mgk_tool *tool = context;
    char note[MESSAGE];
    if (r->warning && tool->no_warnings)
        return;
    translate(tool->program, r->note, note);
    if (tool->quiet) {
        if (r->warning)
            keep_warning(tool, note);
        return;
    }
    if (r->warning || r->total == 0) { /* not of the work, or it has not started, or has ended */
        say_once(tool, note);
        return;
    }
    change_activity(tool, r);
    mgk_progress_update(&tool->bar, r->done, r->total, r->amount, r->milestone ? "" : note);
    if (r->milestone)
        mgk_progress_say(&tool->bar, "%s: %lld of %lld: %s", tool->bar.label, (long long)r->done,
                         (long long)r->total, note);
}

static bool stop(void *context)
{
    (void)context;
    return interrupted != 0;
}

static mgk_status refuse_stream(const char *path, const char *why)
{
    return mgk_fail(STATUS_USAGE, "-o %s: %s cannot go to standard output: name a file", path, why);
}

mgk_status mgk_tool_output(mgk_tool *tool, const char **path, mgk_tool_result result)
{
    static const char *const endings[] = {[MGK_TOOL_TABLE] = "csv|json",
                                          [MGK_TOOL_PICTURE] = "png|svg|pdf",
                                          [MGK_TOOL_PAGE] = "html"};
    if (!mgk_is_stream(*path))
        return STATUS_OK;
    const char *dot = strchr(*path, '.');
    if (result == MGK_TOOL_STORE || (dot && strcmp(dot, ".h5") == 0))
        return refuse_stream(*path, "HDF5");
    if (result == MGK_TOOL_MODEL)
        return refuse_stream(*path, "a model");
    if (result == MGK_TOOL_PICTURE && isatty(STDOUT_FILENO))
        return mgk_fail(STATUS_USAGE,
                        "-o %s: standard output is a terminal: name a file, or redirect it", *path);
    return mgk_streams_write(&tool->streams, path, endings[result], tool->quiet);
}

void mgk_tool_listen(mgk_tool *tool)
{
    tool->job.watcher = (mgk_watcher){.report = report, .context = tool};
}

void mgk_tool_watch(mgk_tool *tool, const char *label, const char *unit)
{
    asks = tool->processes == 1 || !tool->leaves_nothing;
    tool->bar = mgk_progress_start(label, unit, tool->quiet);
    tool->job.watcher = (mgk_watcher){report, stop, tool};
}

static void release(mgk_tool *tool)
{
    mgk_cluster_close(tool->job.cluster);
    mgk_streams_close(&tool->streams);
    mgk_args_free(tool->program);
    mgk_free(tool->command);
    mgk_free(tool->warnings.text);
    mgk_free(tool->said.text);
}

int mgk_tool_end(mgk_tool *tool, mgk_result result)
{
    char message[MESSAGE];
    mgk_progress_finish(&tool->bar);
    translate(tool->program, mgk_error(), message);
    if (result != MGK_OK)
        fprintf(stderr, "%s: %s\n", tool->program->name, message);
    else
        print_warnings(tool);
    int exit_status = result == MGK_OK      ? EXIT_SUCCESS
                      : result == MGK_USAGE ? EXIT_USAGE
                                            : EXIT_FAILURE;
    if (tool->rank == 0)
        exit_status = flush_output(tool->program->name, &tool->streams, exit_status);
    release(tool);
    return tool->rank == 0 ? exit_status : 0;
}

/* Ends before the job has begun. */
static int end_early(mgk_tool *tool, const char *message, int exit_status)
{
    fprintf(stderr, "%s: %s%s\n", tool->program->name, message,
            exit_status == EXIT_USAGE ? " (see --help)" : "");
    if (tool->job.cluster) /* others may have begun */
        mgk_cluster_refuse(tool->job.cluster, message);
    release(tool);
    return tool->rank == 0 ? exit_status : 0;
}

int mgk_tool_usage(mgk_tool *tool, const char *message)
{
    return end_early(tool, message, EXIT_USAGE);
}

int mgk_tool_refuse(mgk_tool *tool, mgk_status status)
{
    return end_early(tool, mgk_fail_message(), status == STATUS_USAGE ? EXIT_USAGE : EXIT_FAILURE);
}
