/* SPDX-License-Identifier: MIT */
#include "train/log.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/append.h"
#include "base/bits.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/locale.h"

static mgk_status fail_log(const char *path)
{
    return mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
}

/* Opens an existing file without a buffer, from which stdio would write failed bytes again. */
static FILE *open_unbuffered(const char *path)
{
    FILE *file = fopen(path, "r+");
    if (!file || setvbuf(file, NULL, _IONBF, 0) == 0)
        return file;
    fclose(file);
    errno = EIO; /* setvbuf need not set it */
    return NULL;
}

/* Writes text to the file immediately, completely or not at all, and advances the mark. */
static mgk_status put(mgk_train_log *rows, const char *text)
{
    size_t size = strlen(text);
    if (fwrite(text, 1, size, rows->file) != size) {
        mgk_status status = mgk_fail_write(rows->path, errno);
        (void)!ftruncate(fileno(rows->file), (off_t)rows->mark.size);
        return status;
    }
    rows->mark.size += (int64_t)size;
    rows->mark.hash = mgk_hash(rows->mark.hash, text, size);
    return STATUS_OK;
}

/* Whether the file, read from its start, begins with the bytes of the mark. */
static bool begins_with(FILE *file, const mgk_log_mark *mark)
{
    unsigned char bytes[4096];
    uint64_t hash = MGK_HASH_START;
    int64_t left = mark->size;
    while (left > 0) {
        size_t wanted = left < (int64_t)sizeof(bytes) ? (size_t)left : sizeof(bytes);
        size_t count = fread(bytes, 1, wanted, file);
        if (count == 0)
            return false;
        hash = mgk_hash(hash, bytes, count);
        left -= (int64_t)count;
    }
    return hash == mark->hash;
}

/*
 * Opens the log of the resumed run and truncates it at the mark; out->file stays NULL for other
 * files.
 */
static mgk_status open_own(const mgk_log_mark *mark, mgk_train_log *out)
{
    struct stat info;
    if (stat(out->path, &info) == 0 && !S_ISREG(info.st_mode))
        return STATUS_OK; /* opening a pipe would wait */
    FILE *file = open_unbuffered(out->path);
    if (!file)
        return errno == ENOENT ? STATUS_OK : fail_log(out->path);
    if (!begins_with(file, mark)) {
        fclose(file);
        return STATUS_OK;
    }
    out->file = file;
    out->mark = *mark;
    if (fseek(file, (long)mark->size, SEEK_SET) != 0 ||
        ftruncate(fileno(file), (off_t)mark->size) != 0)
        return fail_log(out->path);
    return STATUS_OK;
}

/* The first line, with its end. */
static void write_header(const mgk_regularisation *what, char *text, size_t size)
{
    snprintf(text, size, "%s", MGK_LOG_HEADER);
    for (int term = 0; term < MGK_TERMS; term++)
        if (what->weight[term] != 0)
            mgk_append(text, size, ",%s", mgk_term_names[term]);
    mgk_append(text, size, "\n");
}

mgk_status mgk_log_open(const char *path, bool force, const mgk_log_mark *mark,
                        const mgk_regularisation *what, mgk_train_log *out)
{
    char header[sizeof(MGK_LOG_HEADER) + 80];
    write_header(what, header, sizeof(header));
    *out = (mgk_train_log){
        .path = path, .mark = {0, MGK_HASH_START}, .what = what, .header = (int64_t)strlen(header)};
    if (!path)
        return STATUS_OK;
    if (mark && mark->size > 0)
        TRY(open_own(mark, out));
    if (out->file)
        return STATUS_OK;
    if (!force && mgk_exists(path))
        return mgk_fail(STATUS_EXISTS, "%s: exists%s (use `force` to overwrite it)", path,
                        mark ? " and is not the log of the run to continue" : "");
    /* Replaces a link or a pipe instead of writing to it. */
    TRY(mgk_write_file(path, true, NULL, 0));
    out->file = open_unbuffered(path);
    if (!out->file)
        return fail_log(path);
    return put(out, header);
}

void mgk_log_close(mgk_train_log *log, bool failed)
{
    if (!log->file)
        return;
    fclose(log->file);
    log->file = NULL;
    if (failed && log->mark.size <= log->header) /* only the header */
        unlink(log->path);
}

enum { ROW = 512 }; /* longer than all possible rows */

/* ",value", or "," if unknown. */
static void cell(char row[ROW], double value)
{
    if (isnan(value))
        mgk_append(row, ROW, ",");
    else
        mgk_append(row, ROW, ",%.9g", value);
}

mgk_status mgk_log_row(mgk_train_log *rows, int64_t step, int64_t tokens, double rate,
                       double train_loss, double gradient_norm, double token_bytes,
                       const mgk_evaluation *evaluation, const double terms[MGK_TERMS])
{
    mgk_plain_locale scope;
    char row[ROW] = "";
    if (!rows->file)
        return STATUS_OK;
    TRY(mgk_plain_locale_begin(&scope));
    mgk_append(row, ROW, "%lld,%lld", (long long)step, (long long)tokens);
    cell(row, rate);
    cell(row, train_loss);
    cell(row, gradient_norm);
    cell(row, evaluation ? evaluation->loss : NAN);
    cell(row, evaluation ? evaluation->accuracy : NAN);
    cell(row, evaluation && token_bytes > 0 ? mgk_bits(evaluation->loss) / token_bytes : NAN);
    cell(row, evaluation && token_bytes > 0 ? exp(evaluation->loss) : NAN);
    for (int term = 0; term < MGK_TERMS; term++)
        if (rows->what->weight[term] != 0)
            cell(row, terms[term]);
    mgk_append(row, ROW, "\n");
    mgk_plain_locale_end(&scope);
    return put(rows, row);
}
