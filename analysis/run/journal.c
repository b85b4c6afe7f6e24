/* SPDX-License-Identifier: MIT */
#include "analysis/run/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <zlib.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

/* Least room for the settings: those of another run, to say how they differ, may be longer. */
enum { OTHER_SETTINGS = 1 << 16 };

/* "89abcdef ", before a part. */
enum { CHECKSUM = 9 };

struct mgk_journal {
    char *path;
    int descriptor; /* −1: a journal that sends */
    FILE *file;     /* of its own, while lines are read; lines may be appended before and after */
    mgk_journal_send *send;
    void *receiver;
    size_t line_size; /* bytes of the longest line, with its end and a zero byte */
    char *line;       /* [line_size], while lines are read */
    size_t number;    /* of the current line, from 1 */
    size_t resumed, appended;
    bool broken; /* a line was written incompletely: nothing may follow it */
    bool named;  /* the file has this path, and may remain */
};

static mgk_status fail_file(const mgk_journal *j)
{
    return mgk_fail(STATUS_IO, "%s: %s", j->path, strerror(errno));
}

static mgk_status begin_reading(mgk_journal *j)
{
    const int copy = fcntl(j->descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0 || lseek(copy, 0, SEEK_SET) != 0) {
        mgk_status status = fail_file(j);
        if (copy >= 0)
            close(copy);
        return status;
    }
    j->number = 0;
    j->file = fdopen(copy, "r");
    if (j->file)
        return mgk_alloc(j->line_size, 1, &j->line);
    close(copy);
    return mgk_fail(STATUS_MEMORY, "%s: no memory", j->path);
}

void mgk_journal_end(mgk_journal *journal)
{
    if (journal->file)
        fclose(journal->file);
    mgk_free(journal->line);
    journal->file = NULL;
    journal->line = NULL;
}

/* Reads the next line, without its end; *end if there is none, or an incomplete one. */
static mgk_status read_line(mgk_journal *j, bool *end)
{
    *end = !fgets(j->line, (int)j->line_size, j->file);
    if (*end)
        return ferror(j->file) ? fail_file(j) : STATUS_OK;
    j->number++;
    size_t length = strlen(j->line);
    *end = feof(j->file);
    if (*end || (length > 0 && j->line[length - 1] == '\n')) {
        j->line[length > 0 ? length - 1 : 0] = '\0';
        return STATUS_OK;
    }
    return mgk_fail(STATUS_FORMAT, "%s: line %zu is too long or holds a zero byte", j->path,
                    j->number);
}

/* Fails because of a setting, which is NULL where it is missing. */
static mgk_status fail_setting(const char *path, const char *name, const cJSON *found,
                               const cJSON *expected)
{
    char *theirs = cJSON_PrintUnformatted(found), *ours = cJSON_PrintUnformatted(expected);
    mgk_status status =
        (found && !theirs) || (expected && !ours)
            ? mgk_fail(STATUS_MEMORY, "%s: no memory for its settings", path)
            : mgk_fail(STATUS_USAGE,
                       "%s: was left by a run with \"%.60s\" %.150s, not %.150s; resume with the "
                       "command that began it, or `force` to start anew",
                       path, name, found ? theirs : "missing", expected ? ours : "missing");
    cJSON_free(theirs);
    cJSON_free(ours);
    return status;
}

/* Fails with the first setting that differs between two objects. */
static mgk_status tell_difference(const char *path, const cJSON *found, const cJSON *expected)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, expected)
    {
        const cJSON *other = cJSON_GetObjectItemCaseSensitive(found, item->string);
        if (!other || !cJSON_Compare(other, item, 1))
            return fail_setting(path, item->string, other, item);
    }
    cJSON_ArrayForEach(item, found)
    {
        if (!cJSON_GetObjectItemCaseSensitive(expected, item->string))
            return fail_setting(path, item->string, item, NULL);
    }
    return mgk_fail(STATUS_USAGE, "%s: was left by a run with other settings", path);
}

static mgk_status check_settings(const mgk_journal *j, const char *settings)
{
    cJSON *found = NULL, *expected = NULL;
    mgk_status status = STATUS_OK;
    if (strcmp(j->line, settings) == 0)
        return STATUS_OK;
    CHECK(mgk_json_parse_object(settings, strlen(settings), &expected));
    status = mgk_json_parse_object(j->line, strlen(j->line), &found);
    if (status == STATUS_OK)
        status = tell_difference(j->path, found, expected);
    else if (status != STATUS_MEMORY)
        status = mgk_fail(STATUS_FORMAT, "%s: not the journal of an interrupted run", j->path);
out:
    cJSON_Delete(found);
    cJSON_Delete(expected);
    return status;
}

/* Checks the settings and counts the other lines; *size is the end of the last complete one. */
static mgk_status survey(mgk_journal *j, const char *settings, off_t *size)
{
    bool end;
    *size = 0;
    TRY(read_line(j, &end));
    if (end)
        return STATUS_OK;
    TRY(check_settings(j, settings));
    *size = ftello(j->file);
    for (;;) {
        TRY(read_line(j, &end));
        if (end)
            return STATUS_OK;
        *size = ftello(j->file);
        j->resumed++;
    }
}

/* Appends two texts, by a single write unless the file system splits it. */
static mgk_status append_texts(mgk_journal *j, struct iovec parts[2])
{
    while (parts[0].iov_len + parts[1].iov_len > 0 && !j->broken) {
        ssize_t put = writev(j->descriptor, parts, 2);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            j->broken = true;
            return mgk_fail_write(j->path, errno);
        }
        for (int i = 0; i < 2; i++) {
            const size_t done = (size_t)put < parts[i].iov_len ? (size_t)put : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + done;
            parts[i].iov_len -= done;
            put -= (ssize_t)done;
        }
    }
    return j->broken ? mgk_fail(STATUS_IO, "%s: cannot be written to its end", j->path) : STATUS_OK;
}

/* Truncates the file to the settings and, if it is resumed, the complete lines. */
static mgk_status prepare(mgk_journal *j, mgk_journal_start start, const char *settings)
{
    off_t size = 0;
    if (start == MGK_JOURNAL_RESUME) {
        TRY(begin_reading(j));
        TRY(survey(j, settings, &size));
        mgk_journal_end(j);
    }
    if (ftruncate(j->descriptor, size) != 0)
        return fail_file(j);
    if (size > 0)
        return STATUS_OK;
    struct iovec parts[2] = {{(char *)(uintptr_t)settings, strlen(settings)}, {"\n", 1}};
    return append_texts(j, parts);
}

/* Whether the path still refers to the open file. */
static bool is_in_place(const mgk_journal *j)
{
    struct stat here, there;
    return fstat(j->descriptor, &here) == 0 && stat(j->path, &there) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* Only one process may write a journal. */
static mgk_status lock_file(const mgk_journal *j, mgk_journal_start start)
{
    struct stat info;
    if (fstat(j->descriptor, &info) != 0)
        return fail_file(j);
    if (!S_ISREG(info.st_mode))
        return mgk_fail(STATUS_IO, "%s: not a regular file", j->path);
    /* Without support for locks in the file system, every process may write. */
    if (flock(j->descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return mgk_fail(STATUS_EXISTS, "%s: another run is writing it", j->path);
    if (!is_in_place(j))
        return mgk_fail(STATUS_EXISTS, "%s: another run has just removed it", j->path);
    if (start == MGK_JOURNAL_REFUSE && info.st_size > 0)
        return mgk_fail(STATUS_EXISTS,
                        "%s: an unfinished run has left it (use `resume` to continue that run, "
                        "or `force` to start anew)",
                        j->path);
    return STATUS_OK;
}

static mgk_status open_file(mgk_journal *j)
{
    /* O_NONBLOCK: opening a pipe must not wait. O_NOFOLLOW: a link is not a journal. */
    const int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
    j->descriptor = open(j->path, flags, 0666);
    if (j->descriptor < 0 && errno == ELOOP)
        return mgk_fail(STATUS_IO, "%s: not a regular file", j->path);
    return j->descriptor < 0 ? fail_file(j) : STATUS_OK;
}

static void release(mgk_journal *j)
{
    mgk_journal_end(j);
    if (j->descriptor >= 0)
        close(j->descriptor);
    mgk_free(j->path);
    mgk_free(j);
}

static mgk_status make(mgk_journal **out)
{
    TRY(mgk_alloc(1, sizeof(**out), out));
    (*out)->descriptor = -1;
    return STATUS_OK;
}

/* Makes room for lines, and for `settings` bytes of settings; fgets takes an int. */
static mgk_status set_line_size(mgk_journal *j, size_t line_bytes, size_t settings)
{
    const size_t around = CHECKSUM + 1, most = INT_MAX - around;
    const size_t longest = line_bytes > settings ? line_bytes : settings;
    if (longest > most)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: a line of %zu bytes, expected at most %zu",
                        j->path, longest, most);
    j->line_size = around + longest;
    return STATUS_OK;
}

mgk_status mgk_journal_open(const char *path, mgk_journal_start start, const char *settings,
                            size_t line_bytes, mgk_journal **out)
{
    mgk_journal *j;
    mgk_status status;
    const size_t own = strlen(settings) + 1;
    *out = NULL;
    TRY(make(&j));
    j->named = true;
    CHECK(mgk_copy_string(path, &j->path));
    CHECK(set_line_size(j, line_bytes, own > OTHER_SETTINGS ? own : OTHER_SETTINGS));
    CHECK(open_file(j));
    CHECK(lock_file(j, start));
    CHECK(prepare(j, start, settings));
    *out = j;
    return STATUS_OK;
out:
    release(j);
    return status;
}

mgk_status mgk_journal_open_temporary(size_t line_bytes, mgk_journal **out)
{
    mgk_journal *j;
    mgk_status status;
    *out = NULL;
    TRY(make(&j));
    CHECK(mgk_copy_string("temporary file", &j->path));
    CHECK(set_line_size(j, line_bytes, 0));
    FILE *file = tmpfile();
    if (file) {
        j->descriptor = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
        fclose(file);
    }
    CHECK(j->descriptor < 0 || fcntl(j->descriptor, F_SETFL, O_APPEND) < 0 ? fail_file(j)
                                                                           : STATUS_OK);
    CHECK(prepare(j, MGK_JOURNAL_REPLACE, "{}"));
    *out = j;
    return STATUS_OK;
out:
    release(j);
    return status;
}

mgk_status mgk_journal_open_sender(mgk_journal_send *send, void *receiver, mgk_journal **out)
{
    TRY(make(out));
    (*out)->send = send;
    (*out)->receiver = receiver;
    return STATUS_OK;
}

size_t mgk_journal_resumed(const mgk_journal *journal)
{
    return journal->resumed;
}

size_t mgk_journal_lines(const mgk_journal *journal)
{
    return journal->resumed + journal->appended;
}

mgk_status mgk_journal_begin(mgk_journal *journal)
{
    bool end;
    TRY(begin_reading(journal));
    return read_line(journal, &end); /* the settings */
}

uint32_t mgk_journal_checksum(const char *text, size_t size)
{
    return (uint32_t)crc32_z(0, (const unsigned char *)text, size);
}

static void write_checksum(const char *text, size_t size, char out[CHECKSUM + 1])
{
    snprintf(out, CHECKSUM + 1, "%08lx ", (unsigned long)mgk_journal_checksum(text, size));
}

/* A line without a checksum is as one that is damaged. */
static mgk_status check_line(const mgk_journal *j)
{
    const size_t length = strlen(j->line);
    char expected[CHECKSUM + 1];
    if (length >= CHECKSUM) {
        write_checksum(j->line + CHECKSUM, length - CHECKSUM, expected);
        if (memcmp(j->line, expected, CHECKSUM) == 0)
            return STATUS_OK;
    }
    return mgk_fail(STATUS_FORMAT,
                    "%s: line %zu does not have the checksum of its content: it is damaged, or of "
                    "an earlier version; `force` starts anew",
                    j->path, j->number);
}

mgk_status mgk_journal_next(mgk_journal *journal, const char **line)
{
    bool end;
    *line = NULL;
    TRY(read_line(journal, &end));
    if (end)
        return STATUS_OK;
    TRY(check_line(journal));
    *line = journal->line + CHECKSUM;
    return STATUS_OK;
}

mgk_status mgk_journal_fail_line(const mgk_journal *journal, mgk_status status)
{
    return mgk_fail(status, "%s: line %zu: %s", journal->path, journal->number, mgk_fail_message());
}

mgk_status mgk_journal_append(mgk_journal *journal, const char *text, size_t size)
{
    char checksum[CHECKSUM + 1];
    if (journal->send)
        return journal->send(journal->receiver, text, size);
    write_checksum(text, size - 1, checksum);
    struct iovec parts[2] = {{checksum, CHECKSUM}, {(char *)(uintptr_t)text, size}};
    TRY(append_texts(journal, parts));
    journal->appended++;
    return STATUS_OK;
}

bool mgk_journal_close(mgk_journal *journal, bool keep)
{
    if (!journal)
        return false;
    keep = keep && journal->named && mgk_journal_lines(journal) > 0;
    if (!keep && journal->named && is_in_place(journal))
        unlink(journal->path);
    release(journal);
    return keep;
}
