#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

const char *mgk_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

mgk_status mgk_map_file(const char *path, mgk_mapping *out)
{
    mgk_status status = STATUS_OK;
    struct stat info;
    *out = (mgk_mapping){0};
    /* O_NONBLOCK: opening a pipe must not wait for its writer. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
    if (fstat(descriptor, &info) != 0) {
        status = mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
        goto out;
    }
    if (!S_ISREG(info.st_mode)) {
        status = mgk_fail(STATUS_IO, "%s: not a regular file", path);
        goto out;
    }
    if (info.st_size == 0)
        goto out;
    void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
        status = mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
        goto out;
    }
    out->data = data;
    out->size = (size_t)info.st_size;
out:
    close(descriptor);
    return status;
}

void mgk_unmap_file(mgk_mapping *mapping)
{
    if (mapping->data)
        munmap((void *)(uintptr_t)mapping->data, mapping->size);
    *mapping = (mgk_mapping){0};
}

/* Replaces the six letters from `name` on by random ones. */
static bool draw_name(char *name)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuv";
    unsigned char bytes[6];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        name[i] = letters[bytes[i] % 32];
    return true;
}

/* Creates path.XXXXXX.part; unlike mkstemp with the permissions that the user's umask leaves. */
static int create_temporary(char *path, size_t name)
{
    int descriptor = -1;
    for (int attempt = 0; attempt < 100 && descriptor < 0; attempt++) {
        if (!draw_name(path + name))
            return -1;
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno != EEXIST)
            return -1;
    }
    return descriptor;
}

mgk_status mgk_output_open(const char *path, bool force, mgk_output *out)
{
    mgk_status status = STATUS_OK;
    struct stat info;
    *out = (mgk_output){0};
    if (!path[0])
        return mgk_fail(STATUS_IO, "an output file needs a name");
    if (stat(path, &info) == 0) {
        if (!S_ISREG(info.st_mode))
            return mgk_fail(STATUS_IO, "%s: not a regular file", path);
        if (!force)
            return mgk_fail(STATUS_EXISTS, "%s: exists (use --force to overwrite it)", path);
    }
    size_t length = strlen(path);
    TRY(mgk_alloc(length + sizeof(".XXXXXX.part"), 1, &out->temporary));
    CHECK(mgk_copy_string(path, &out->path));
    memcpy(out->temporary, path, length);
    memcpy(out->temporary + length, ".XXXXXX.part", sizeof(".XXXXXX.part"));
    int descriptor = create_temporary(out->temporary, length + 1);
    if (descriptor < 0) {
        status = mgk_fail(STATUS_IO, "%s: cannot create: %s", path, strerror(errno));
        mgk_free(out->temporary);
        out->temporary = NULL;
        goto out;
    }
    close(descriptor);
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

static mgk_status sync_path(const char *path, int flags)
{
    mgk_status status = STATUS_OK;
    int descriptor = open(path, flags | O_CLOEXEC);
    if (descriptor < 0)
        return mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
    /* Some file systems cannot sync a folder and say so with EINVAL: not a loss of data. */
    if (fsync(descriptor) != 0 && errno != EINVAL)
        status = mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
    close(descriptor);
    return status;
}

static mgk_status sync_folder_of(const char *path)
{
    char *folder;
    TRY(mgk_copy_string(path, &folder));
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder ? 1 : 0] = '\0';
    mgk_status status = sync_path(slash ? folder : ".", O_RDONLY | O_DIRECTORY);
    mgk_free(folder);
    return status;
}

mgk_status mgk_output_commit(mgk_output *output)
{
    mgk_status status = STATUS_OK;
    CHECK(sync_path(output->temporary, O_RDONLY));
    if (rename(output->temporary, output->path) != 0) {
        status = mgk_fail(STATUS_IO, "%s: %s", output->path, strerror(errno));
        goto out;
    }
    mgk_free(output->temporary);
    output->temporary = NULL;
    CHECK(sync_folder_of(output->path));
out:
    mgk_output_discard(output);
    return status;
}

void mgk_output_discard(mgk_output *output)
{
    if (output->temporary)
        unlink(output->temporary);
    mgk_free(output->temporary);
    mgk_free(output->path);
    *output = (mgk_output){0};
}

mgk_status mgk_write_file(const char *path, bool force, const void *data, size_t size)
{
    mgk_output output;
    TRY(mgk_output_open(path, force, &output));
    FILE *file = fopen(output.temporary, "wb");
    bool written = file && (size == 0 || fwrite(data, 1, size, file) == size);
    if (file && fclose(file) != 0)
        written = false;
    if (!written) {
        mgk_status status = mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
        mgk_output_discard(&output);
        return status;
    }
    return mgk_output_commit(&output);
}
