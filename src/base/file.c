/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/unfinished.h"

const char *mgk_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool mgk_is_file_name(const char *name)
{
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

mgk_status mgk_folder_of(const char *path, char **out)
{
    size_t length = (size_t)(mgk_file_name(path) - path);
    TRY(mgk_copy_string(length > 0 ? path : ".", out));
    if (length > 0)
        (*out)[length > 1 ? length - 1 : 1] = '\0'; /* the root keeps its slash */
    return STATUS_OK;
}

bool mgk_exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

bool mgk_is_same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

bool mgk_is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool mgk_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

mgk_status mgk_join_path(const char *folder, const char *name, char **out)
{
    size_t length = strlen(folder), room = length + strlen(name) + 2;
    bool closed = length > 0 && folder[length - 1] == '/';
    TRY(mgk_alloc(room, 1, out));
    snprintf(*out, room, "%s%s%s", folder, closed ? "" : "/", name);
    return STATUS_OK;
}

/* Opens a regular file of `size` bytes. */
static mgk_status open_regular(const char *path, int *descriptor, size_t *size)
{
    struct stat info;
    *size = 0;
    /* O_NONBLOCK: opening a pipe must not wait for its writer. */
    *descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*descriptor < 0)
        return mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
    if (fstat(*descriptor, &info) == 0 && S_ISREG(info.st_mode)) {
        *size = (size_t)info.st_size;
        return STATUS_OK;
    }
    close(*descriptor);
    return mgk_fail(STATUS_IO, "%s: not a regular file", path);
}

mgk_status mgk_map_file(const char *path, mgk_mapping *out)
{
    mgk_status status = STATUS_OK;
    int descriptor;
    size_t size;
    *out = (mgk_mapping){0};
    TRY(open_regular(path, &descriptor, &size));
    void *data = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : NULL;
    if (data == MAP_FAILED && errno == ENOMEM)
        status = mgk_fail(STATUS_MEMORY,
                          "%s: its %zu bytes do not fit into the memory that a process may address "
                          "(ulimit -v)",
                          path, size);
    else if (data == MAP_FAILED)
        status = mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
    else
        *out = (mgk_mapping){.data = data, .size = size};
    close(descriptor);
    return status;
}

mgk_status mgk_map_limited(const char *path, size_t most, mgk_mapping *out)
{
    TRY(mgk_map_file(path, out));
    if (out->size <= most)
        return STATUS_OK;
    mgk_status status =
        mgk_fail(STATUS_FORMAT, "%s: %zu bytes, expected at most %zu", path, out->size, most);
    mgk_unmap_file(out);
    return status;
}

void mgk_unmap_file(mgk_mapping *mapping)
{
    if (mapping->data)
        munmap((void *)(uintptr_t)mapping->data, mapping->size);
    *mapping = (mgk_mapping){0};
}

mgk_status mgk_file_open(const char *path, mgk_file *out)
{
    *out = (mgk_file){0};
    TRY(open_regular(path, &out->descriptor, &out->size));
    mgk_status status = mgk_copy_string(path, &out->path);
    if (status != STATUS_OK)
        close(out->descriptor);
    return status;
}

void mgk_file_close(mgk_file *file)
{
    if (file->path)
        close(file->descriptor);
    mgk_free(file->path);
    *file = (mgk_file){0};
}

mgk_status mgk_file_read(const mgk_file *file, size_t first, size_t count, void *bytes)
{
    if (first > file->size || count > file->size - first)
        return mgk_fail(STATUS_FORMAT, "%s: %zu %s at %zu, beyond its end at %zu", file->path,
                        count, MGK_NOUN(count, "byte", "bytes"), first, file->size);
    for (unsigned char *next = bytes; count > 0;) {
        ssize_t got = pread(file->descriptor, next, count, (off_t)first);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return mgk_fail(STATUS_IO, "%s: %s", file->path, strerror(errno));
        if (got == 0)
            return mgk_fail(STATUS_FORMAT, "%s: has become shorter", file->path);
        next += got;
        first += (size_t)got;
        count -= (size_t)got;
    }
    return STATUS_OK;
}

mgk_status mgk_file_read_beginning(const char *path, size_t most, void *bytes, size_t *size)
{
    mgk_file file;
    TRY(mgk_file_open(path, &file));
    *size = file.size < most ? file.size : most;
    mgk_status status = mgk_file_read(&file, 0, *size, bytes);
    mgk_file_close(&file);
    return status;
}

/* `failed` describes the operation if the reason does not. */
static mgk_status fail_output(const char *path, const char *failed, int reason)
{
    switch (reason) {
    case ENOSPC:
        return mgk_fail(STATUS_IO, "%s: no space left on the device", path);
    case EDQUOT:
        return mgk_fail(STATUS_IO, "%s: no space left within the disk quota", path);
    case EFBIG:
        return mgk_fail(STATUS_IO, "%s: the file may not grow further (ulimit -f)", path);
    default:
        return mgk_fail(STATUS_IO, "%s: cannot %s: %s", path, failed, strerror(reason));
    }
}

mgk_status mgk_fail_write(const char *path, int reason)
{
    return fail_output(path, "write", reason);
}

/* Why an earlier write of the stream failed, which is not known any more, one more byte shows. */
static int ask_reason(FILE *file)
{
    return write(fileno(file), "", 1) == 1 ? EIO : errno;
}

mgk_status mgk_close_written(FILE *file, const char *path)
{
    const bool failed = ferror(file);
    int reason = fflush(file) == 0 ? 0 : errno;
    if (failed && reason == 0)
        reason = ask_reason(file);
    if (fclose(file) != 0 && reason == 0)
        reason = errno;
    return reason == 0 ? STATUS_OK : mgk_fail_write(path, reason);
}

static const char letters[] = "0123456789abcdefghijklmnopqrstuv", part_start[] = ".mgk-",
                  part_end[] = ".part";

enum { LETTERS = 6, START = sizeof(part_start) - 1, ENDING = START + LETTERS + sizeof(part_end) };

bool mgk_is_part_ending(const char *ending)
{
    return strlen(ending) == ENDING - 1 && strncmp(ending, part_start, START) == 0 &&
           strspn(ending + START, letters) == LETTERS &&
           strcmp(ending + START + LETTERS, part_end) == 0;
}

/* Replaces the six characters from `name` on by random ones. */
static bool draw_name(char *name)
{
    unsigned char bytes[LETTERS];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        name[i] = letters[bytes[i] % 32];
    return true;
}

/*
 * Creates path.mgk-XXXXXX.part, unlike mkstemp with the permissions of the user's umask. It is
 * registered before it is created, because a signal may come at any time.
 */
static int create_temporary(char *path, size_t name)
{
    int descriptor = -1;
    for (int attempt = 0; attempt < 100 && descriptor < 0; attempt++) {
        if (!draw_name(path + name))
            return -1;
        mgk_unfinished_add(path);
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        const int reason = errno;
        if (descriptor < 0)
            mgk_unfinished_end(path);
        errno = reason;
        if (descriptor < 0 && reason != EEXIST)
            return -1;
    }
    return descriptor;
}

static mgk_status open_folder_of(const char *path, int *descriptor)
{
    char *folder;
    TRY(mgk_folder_of(path, &folder));
    *descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int reason = errno;
    mgk_free(folder);
    return *descriptor >= 0 ? STATUS_OK : fail_output(path, "create", reason);
}

mgk_status mgk_output_open(const char *path, bool force, mgk_output *out)
{
    mgk_status status = STATUS_OK;
    struct stat info;
    *out = (mgk_output){.descriptor = -1, .folder = -1, .force = force};
    if (!path[0])
        return mgk_fail(STATUS_IO, "an output file needs a name");
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return mgk_fail(STATUS_IO, "%s: not a regular file", path);
    if (!force && mgk_exists(path))
        return mgk_fail(STATUS_EXISTS, "%s: exists (use `force` to overwrite it)", path);
    size_t length = strlen(path);
    TRY(mgk_copy_string(path, &out->path));
    CHECK(open_folder_of(path, &out->folder));
    CHECK(mgk_alloc(length + ENDING, 1, &out->temporary));
    memcpy(out->temporary, path, length);
    snprintf(out->temporary + length, ENDING, "%sXXXXXX%s", part_start, part_end);
    out->descriptor = create_temporary(out->temporary, length + START);
    if (out->descriptor < 0) {
        status = fail_output(path, "create", errno);
        mgk_free(out->temporary);
        out->temporary = NULL;
        goto out;
    }
    flock(out->descriptor, LOCK_EX | LOCK_NB); /* file systems without locks: none */
out:
    if (status != STATUS_OK)
        mgk_output_discard(out);
    return status;
}

mgk_status mgk_output_check(const char *path, bool force)
{
    mgk_output output;
    TRY(mgk_output_open(path, force, &output));
    mgk_output_discard(&output);
    return STATUS_OK;
}

static mgk_status sync_content(const mgk_output *output)
{
    return fsync(output->descriptor) == 0 ? STATUS_OK : mgk_fail_write(output->path, errno);
}

/*
 * Without force, does not replace a file created in the meantime, if the file system supports it.
 */
static mgk_status take_name(const mgk_output *output)
{
    unsigned flags = output->force ? 0 : RENAME_NOREPLACE;
    int failed = renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->path, flags);
    if (failed && flags && (errno == EINVAL || errno == ENOSYS))
        failed = rename(output->temporary, output->path);
    if (failed && errno == EEXIST)
        return mgk_fail(STATUS_EXISTS,
                        "%s: was created by something else while it was being written",
                        output->path);
    return failed ? mgk_fail(STATUS_IO, "%s: %s", output->path, strerror(errno)) : STATUS_OK;
}

mgk_status mgk_output_commit(mgk_output *output)
{
    mgk_status status;
    CHECK(sync_content(output));
    CHECK(take_name(output));
    mgk_unfinished_end(output->temporary);
    mgk_free(output->temporary);
    output->temporary = NULL;
    /* The output is there, whether or not the folder can be synced; some file systems cannot. */
    (void)fsync(output->folder);
out:
    mgk_output_discard(output);
    return status;
}

void mgk_output_discard(mgk_output *output)
{
    if (output->temporary) {
        unlink(output->temporary);
        mgk_unfinished_end(output->temporary);
    }
    if (output->path && output->descriptor >= 0)
        close(output->descriptor);
    if (output->path && output->folder >= 0)
        close(output->folder);
    mgk_free(output->temporary);
    mgk_free(output->path);
    *output = (mgk_output){0};
}

static mgk_status fill(const mgk_output *output, const void *data, size_t size)
{
    FILE *file = fopen(output->temporary, "wb");
    if (!file)
        return mgk_fail_write(output->path, errno);
    if (size == 0 || fwrite(data, 1, size, file) == size)
        return mgk_close_written(file, output->path);
    mgk_status status = mgk_fail_write(output->path, errno);
    fclose(file);
    return status;
}

mgk_status mgk_write_file(const char *path, bool force, const void *data, size_t size)
{
    mgk_output output;
    TRY(mgk_output_open(path, force, &output));
    mgk_status status = fill(&output, data, size);
    if (status == STATUS_OK)
        return mgk_output_commit(&output);
    mgk_output_discard(&output);
    return status;
}

bool mgk_close_text(FILE *stream)
{
    bool complete = !ferror(stream);
    return fclose(stream) == 0 && complete;
}
