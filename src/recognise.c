#include "recognise.h"

#include <string.h>

#include "base/file.h"
#include "base/numpy.h"
#include "store/list.h"

/* HDF5 begins at 0, or at 512, 1024, ... behind a block of somebody else's (MATLAB's). */
static bool is_hdf5(const mgk_mapping *file)
{
    static const unsigned char signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    for (size_t at = 0; at + sizeof(signature) <= file->size; at = at ? 2 * at : 512)
        if (memcmp(file->data + at, signature, sizeof(signature)) == 0)
            return true;
    return false;
}

static bool is_rank_csv(const mgk_mapping *file)
{
    static const char header[] = "sample,layer,head,n,rank,";
    return file->size >= sizeof(header) - 1 && memcmp(file->data, header, sizeof(header) - 1) == 0;
}

/* A model may begin with '{' as well: with its length, 123 (mod 256), in binary. */
static bool is_json(const mgk_mapping *file)
{
    size_t shown = file->size < 64 ? file->size : 64;
    return shown > 0 && file->data[0] == '{' && !memchr(file->data, '\0', shown);
}

/* The root's attributes come first; what follows is of no interest. */
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
    mgk_mapping file;
    *out = MGK_FILE_OTHER; /* a folder, perhaps of a model */
    if (mgk_is_folder(path))
        return STATUS_OK;
    TRY(mgk_map_file(path, &file));
    bool hdf5 = is_hdf5(&file), numpy = mgk_is_numpy(file.data, file.size);
    bool csv = is_rank_csv(&file), json = is_json(&file);
    mgk_unmap_file(&file);
    *out = hdf5 || numpy ? MGK_FILE_ARRAYS
           : csv         ? MGK_FILE_RANKS_CSV
           : json        ? MGK_FILE_JSON
                         : MGK_FILE_OTHER;
    if (!hdf5)
        return STATUS_OK;
    mgk_status status = mgk_store_list(path, find_format, out);
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
