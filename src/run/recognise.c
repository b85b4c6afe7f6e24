#include "run/recognise.h"

#include <string.h>

#include "base/file.h"
#include "base/numpy.h"
#include "store/foreign/list.h"

/* HDF5 begins at byte 0, or at 512, 1024, ... after a user block (MATLAB writes one). */
static mgk_status find_hdf5(const mgk_file *file, bool *found)
{
    static const unsigned char signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char bytes[sizeof(signature)];
    *found = false;
    for (size_t at = 0; !*found && at + sizeof(bytes) <= file->size; at = at ? 2 * at : 512) {
        TRY(mgk_file_read(file, at, sizeof(bytes), bytes));
        *found = memcmp(bytes, signature, sizeof(bytes)) == 0;
    }
    return STATUS_OK;
}

static bool is_rank_csv(const char *start, size_t size)
{
    static const char header[] = "sample,layer,head,n,rank,";
    return size >= sizeof(header) - 1 && memcmp(start, header, sizeof(header) - 1) == 0;
}

/* A model may begin with '{' too, if the binary length at its start is 123 (mod 256). */
static bool is_json(const char *start, size_t size)
{
    return size > 0 && start[0] == '{' && !memchr(start, '\0', size);
}

/* Examines a few bytes only, because the file may be larger than memory. */
static mgk_status look_into(const mgk_file *file, mgk_file_kind *out, bool *hdf5)
{
    char start[64];
    size_t size = file->size < sizeof(start) ? file->size : sizeof(start);
    bool numpy;
    TRY(mgk_file_read(file, 0, size, start));
    TRY(find_hdf5(file, hdf5));
    TRY(mgk_recognise_numpy(file->path, &numpy));
    *out = *hdf5 || numpy             ? MGK_FILE_ARRAYS
           : is_rank_csv(start, size) ? MGK_FILE_RANKS_CSV
           : is_json(start, size)     ? MGK_FILE_JSON
                                      : MGK_FILE_OTHER;
    return STATUS_OK;
}

/* Ends the listing after the root's attributes, which come first. */
static mgk_status find_format(void *context, const mgk_store_entry *entry)
{
    mgk_file_kind *kind = context;
    if (!entry->attribute)
        return STATUS_INTERRUPTED;
    if (strcmp(entry->attribute, "format") == 0 && strcmp(entry->value, "mgk-ranks") == 0)
        *kind = MGK_FILE_RANKS_HDF5;
    return STATUS_OK;
}

mgk_status mgk_recognise(const char *path, mgk_file_kind *out)
{
    mgk_file file;
    bool hdf5 = false;
    *out = MGK_FILE_OTHER; /* a folder, perhaps with a model */
    if (mgk_is_folder(path))
        return STATUS_OK;
    TRY(mgk_file_open(path, &file));
    mgk_status status = look_into(&file, out, &hdf5);
    mgk_file_close(&file);
    if (status != STATUS_OK || !hdf5)
        return status;
    status = mgk_store_list(path, find_format, out);
    return status == STATUS_INTERRUPTED ? STATUS_OK : status;
}

mgk_status mgk_expect_arrays(const char *path, const char *otherwise)
{
    mgk_file_kind kind;
    TRY(mgk_recognise(path, &kind));
    switch (kind) {
    case MGK_FILE_ARRAYS:
        return STATUS_OK;
    case MGK_FILE_RANKS_HDF5:
    case MGK_FILE_RANKS_CSV:
    case MGK_FILE_JSON:
        return mgk_fail(STATUS_FORMAT, "%s: rank results, not matrices (mgk-plot ranks draws them)",
                        path);
    default:
        return mgk_fail(STATUS_FORMAT, "%s: not an HDF5 file, nor one of NumPy's; %s", path,
                        otherwise);
    }
}
