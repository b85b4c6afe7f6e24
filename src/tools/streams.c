/* SPDX-License-Identifier: MIT */
#include "tools/streams.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

/* For the signal handler: what is to be removed, "" for nothing. */
static char folder_name[PATH_MAX], input_name[PATH_MAX], output_name[PATH_MAX];

bool mgk_is_stream(const char *path)
{
    return path && path[0] == '-' && (path[1] == '\0' || path[1] == '.');
}

static mgk_status make_folder(mgk_streams *s)
{
    const char *parent = getenv("TMPDIR");
    if (s->folder)
        return STATUS_OK;
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/mgk-XXXXXX", parent && *parent ? parent : "/tmp") >=
        (int)sizeof(path))
        return mgk_fail(STATUS_IO, "TMPDIR: the name is too long");
    if (!mkdtemp(path))
        return mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
    strcpy(folder_name, path);
    return mgk_copy_string(path, &s->folder);
}

/* The path of a file in the folder. */
static mgk_status make_path(const mgk_streams *s, const char *name, const char *ending,
                            char kept[PATH_MAX], char **out)
{
    if (snprintf(kept, PATH_MAX, "%s/%s%s", s->folder, name, ending) >= PATH_MAX)
        return mgk_fail(STATUS_IO, "TMPDIR: the name is too long");
    return mgk_copy_string(kept, out);
}

/* Copies all bytes; false: errno says why not. */
static bool copy(int from, int to)
{
    enum { ROOM = 1 << 16 };
    static char bytes[ROOM];
    for (;;) {
        ssize_t length = read(from, bytes, ROOM);
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            return length == 0;
        for (ssize_t done = 0; done < length;) {
            const ssize_t written = write(to, bytes + done, (size_t)(length - done));
            if (written < 0 && errno != EINTR)
                return false;
            done += written > 0 ? written : 0;
        }
    }
}

mgk_status mgk_streams_read(mgk_streams *s, const char **path)
{
    if (strcmp(*path, "-") != 0)
        return STATUS_OK;
    if (s->input)
        return mgk_fail(STATUS_USAGE, "standard input, \"-\", can be read once");
    TRY(make_folder(s));
    TRY(make_path(s, "standard-input", "", input_name, &s->input));
    const int file = open(s->input, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const bool copied = file >= 0 && copy(STDIN_FILENO, file);
    const int reason = errno;
    if (file >= 0)
        close(file);
    if (!copied)
        return mgk_fail(STATUS_IO, "standard input: %s", strerror(reason));
    *path = s->input;
    return STATUS_OK;
}

/* The ending that "-" or "-.json" asks for, without the dot; NULL: it is none of them. */
static const char *choose_ending(const char *path, const char *endings, size_t *length)
{
    const char *asked = path[1] == '.' ? path + 2 : NULL;
    for (const char *at = endings;; at += *length + 1) {
        *length = strcspn(at, "|");
        if (!asked || (strlen(asked) == *length && memcmp(asked, at, *length) == 0))
            return at;
        if (!at[*length])
            return NULL;
    }
}

/* Lets standard output be standard error, or nothing. */
static mgk_status redirect(mgk_streams *s, bool quiet)
{
    fflush(stdout);
    s->result = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (s->result < 0)
        return mgk_fail(STATUS_IO, "standard output: %s", strerror(errno));
    const int other = quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : STDERR_FILENO;
    const bool done = other >= 0 && dup2(other, STDOUT_FILENO) >= 0;
    if (quiet && other >= 0)
        close(other);
    return done ? STATUS_OK : mgk_fail(STATUS_IO, "standard output: %s", strerror(errno));
}

mgk_status mgk_streams_write(mgk_streams *s, const char **path, const char *endings, bool quiet)
{
    char ending[16];
    size_t length;
    if (!mgk_is_stream(*path))
        return STATUS_OK;
    const char *chosen = choose_ending(*path, endings, &length);
    if (!chosen)
        return mgk_fail(STATUS_USAGE, "-o %s: standard output takes %s; name a file for others",
                        *path, endings);
    snprintf(ending, sizeof(ending), ".%.*s", (int)length, chosen);
    TRY(make_folder(s));
    TRY(make_path(s, "standard-output", ending, output_name, &s->output));
    TRY(redirect(s, quiet));
    *path = s->output;
    return STATUS_OK;
}

mgk_status mgk_streams_send(mgk_streams *s)
{
    if (!s->output)
        return STATUS_OK;
    const int file = open(s->output, O_RDONLY | O_CLOEXEC);
    const bool sent = file >= 0 && copy(file, s->result);
    const int reason = errno;
    if (file >= 0)
        close(file);
    errno = reason;
    return sent ? STATUS_OK : mgk_fail(STATUS_IO, "standard output: %s", strerror(reason));
}

static void remove_files(const char *folder)
{
    DIR *files = opendir(folder);
    for (const struct dirent *file; files && (file = readdir(files));)
        if (strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0)
            unlinkat(dirfd(files), file->d_name, 0);
    if (files)
        closedir(files);
    rmdir(folder);
}

void mgk_streams_close(mgk_streams *s)
{
    if (s->folder)
        remove_files(s->folder);
    if (s->result > STDERR_FILENO)
        close(s->result);
    mgk_free(s->folder);
    mgk_free(s->input);
    mgk_free(s->output);
    *s = (mgk_streams){0};
    folder_name[0] = input_name[0] = output_name[0] = '\0';
}

void mgk_streams_abandon(void)
{
    if (input_name[0])
        unlink(input_name);
    if (output_name[0])
        unlink(output_name);
    if (folder_name[0])
        rmdir(folder_name);
}
