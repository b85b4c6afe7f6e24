/* Archives are opened, and what they say of themselves is checked. */
#include "base/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "base/memory.h"
#include "base/zip_private.h"

enum {
    MAX_ENTRIES = 1 << 18,
    MAX_RATIO = 1032,  /* deflate: 258 bytes from two bits */
    MAX_KEPT = 1 << 27 /* bytes of all entries that are kept as they were inflated */
};

/* Bytes that may be inflated only to get past them, besides all there are: some, and so many times
 * the file's size. */
static const size_t MAX_SKIPPED = (size_t)1 << 29, MAX_SKIPPED_RATIO = 128;

bool mgk_is_zip(const unsigned char *bytes, size_t size)
{
    return size >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

/* libzip's own words for its error codes, but where it finds no directory at the end. */
static mgk_status fail_open(const char *path, int code)
{
    if (code == ZIP_ER_NOZIP)
        return mgk_fail(STATUS_FORMAT, "%s: a ZIP archive that is cut short or damaged", path);
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    mgk_status status = mgk_fail(code == ZIP_ER_MEMORY ? STATUS_MEMORY : STATUS_FORMAT,
                                 "%s: as a ZIP archive: %s", path, zip_error_strerror(&error));
    zip_error_fini(&error);
    return status;
}

/* Opens what is a regular file; a pipe must not be waited for. */
static mgk_status open_archive(const char *path, zip_t **archive, size_t *size)
{
    struct stat info;
    int code = 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return mgk_fail(STATUS_IO, "%s: %s", path, strerror(errno));
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(descriptor);
        return mgk_fail(STATUS_IO, "%s: not a regular file", path);
    }
    *size = (size_t)info.st_size;
    *archive = zip_fdopen(descriptor, 0, &code);
    if (*archive)
        return STATUS_OK; /* which has closed the descriptor */
    close(descriptor);
    return fail_open(path, code);
}

static mgk_status read_entry(const mgk_zip *zip, size_t index, size_t *stored, mgk_zip_entry *entry)
{
    enum { NEEDED = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD };
    zip_stat_t info;
    if (zip_stat_index(zip->archive, index, 0, &info) != 0 || (info.valid & NEEDED) != NEEDED)
        return mgk_fail(STATUS_FORMAT, "%s: entry %zu has no name or size", zip->path, index);
    if ((info.valid & ZIP_STAT_ENCRYPTION_METHOD) && info.encryption_method != ZIP_EM_NONE)
        return mgk_fail(STATUS_UNSUPPORTED, "%s: entry \"%.200s\" is encrypted", zip->path,
                        info.name);
    if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "%s: entry \"%.200s\" is compressed by method %d, expected deflate or none",
                        zip->path, info.name, info.comp_method);
    if (zip_name_locate(zip->archive, info.name, 0) != (zip_int64_t)index)
        return mgk_fail(STATUS_FORMAT, "%s: entry \"%.200s\" stands twice", zip->path, info.name);
    bool possible = info.comp_method == ZIP_CM_STORE ? info.size == info.comp_size
                                                     : info.size / MAX_RATIO <= info.comp_size;
    if (!possible)
        return mgk_fail(STATUS_FORMAT,
                        "%s: entry \"%.200s\" claims to hold %llu bytes in %llu, which cannot be",
                        zip->path, info.name, (unsigned long long)info.size,
                        (unsigned long long)info.comp_size);
    *entry = (mgk_zip_entry){
        .name = info.name, .size = info.size, .deflated = info.comp_method == ZIP_CM_DEFLATE};
    *stored = info.comp_size;
    return STATUS_OK;
}

/* Entries that share bytes could give many times what the file holds. */
static mgk_status read_directory(mgk_zip *zip, size_t file_size)
{
    size_t stored = 0, left = file_size;
    zip->keepable = MAX_KEPT;
    zip->skippable = MAX_SKIPPED + MAX_SKIPPED_RATIO * file_size;
    zip_int64_t count = zip_get_num_entries(zip->archive, 0);
    if (count < 0 || count > MAX_ENTRIES)
        return mgk_fail(STATUS_FORMAT, "%s: %lld entries, expected at most %d", zip->path,
                        (long long)count, MAX_ENTRIES);
    zip->count = (size_t)count;
    TRY(mgk_alloc(zip->count, sizeof(*zip->entries), &zip->entries));
    TRY(mgk_alloc(zip->count, sizeof(*zip->kept), &zip->kept));
    for (size_t i = 0; i < zip->count; i++) {
        TRY(read_entry(zip, i, &stored, &zip->entries[i]));
        if (stored > left)
            return mgk_fail(STATUS_FORMAT, "%s: entries overlap: together they exceed the file",
                            zip->path);
        left -= stored;
        zip->skippable += zip->entries[i].size;
    }
    return STATUS_OK;
}

mgk_status mgk_zip_open(const char *path, mgk_zip **out)
{
    mgk_status status;
    mgk_zip *zip = NULL;
    size_t size = 0;
    *out = NULL;
    TRY(mgk_alloc(1, sizeof(*zip), &zip));
    CHECK(mgk_copy_string(path, &zip->path));
    CHECK(open_archive(path, &zip->archive, &size));
    CHECK(read_directory(zip, size));
out:
    if (status == STATUS_OK)
        *out = zip;
    else
        mgk_zip_close(zip);
    return status;
}

void mgk_zip_close(mgk_zip *zip)
{
    if (!zip)
        return;
    mgk_zip_close_current(zip);
    if (zip->archive)
        zip_discard(zip->archive);
    for (size_t i = 0; zip->kept && i < zip->count; i++)
        mgk_free(zip->kept[i]);
    mgk_free(zip->kept);
    mgk_free(zip->entries);
    mgk_free(zip->path);
    mgk_free(zip);
}

size_t mgk_zip_count(const mgk_zip *zip)
{
    return zip->count;
}

const mgk_zip_entry *mgk_zip_at(const mgk_zip *zip, size_t index)
{
    return &zip->entries[index];
}

const mgk_zip_entry *mgk_zip_find(const mgk_zip *zip, const char *name)
{
    zip_int64_t index = zip_name_locate(zip->archive, name, 0);
    return index < 0 ? NULL : &zip->entries[index];
}
