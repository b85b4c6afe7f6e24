/* SPDX-License-Identifier: MIT */
#include "run/recognise.h"

#include <stdio.h>
#include <string.h>

#include "base/download.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/numpy.h"
#include "base/text.h"
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

static bool begins_with(const char *start, size_t size, const char *header)
{
    const size_t length = strlen(header);
    return size >= length && memcmp(start, header, length) == 0;
}

/* STATUS_FORMAT for the journal of a run (see run/run_journal.h), which its program continues. */
static mgk_status refuse_journal(const char *path, const char *start, size_t size)
{
    static const char *const programs[] = {"mgk-rank", "mgk-diversity"};
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
        char header[64];
        snprintf(header, sizeof(header), "{\"journal of %s\"", programs[i]);
        if (begins_with(start, size, header))
            return mgk_fail(STATUS_FORMAT,
                            "%s: unfinished results of %s, whose option resume continues", path,
                            programs[i]);
    }
    return STATUS_OK;
}

/* A model may begin with '{' too, if the binary length at its start is 123 (mod 256). */
static bool is_json(const char *start, size_t size)
{
    return size > 0 && start[0] == '{' && !memchr(start, '\0', size);
}

/* Whether the text has a member "values" that is an array: behind the settings. */
static bool has_values(const char *text)
{
    static const char name[] = "\"values\"";
    for (const char *at = text; (at = strstr(at, name)); at++) {
        const char *next = at + sizeof(name) - 1;
        next += strspn(next, " \t\r\n");
        next += *next == ':';
        if (next[strspn(next, " \t\r\n")] == '[')
            return true;
    }
    return false;
}

/* JSON of measures or of something else. */
static mgk_status look_into_json(const mgk_file *file, mgk_file_kind *out)
{
    enum { MOST = 1 << 20 /* longer than settings */ };
    const size_t size = file->size < MOST ? file->size : MOST;
    char *text;
    TRY(mgk_alloc(size + 1, 1, &text));
    mgk_status status = mgk_file_read(file, 0, size, text);
    *out = status == STATUS_OK && has_values(text) ? MGK_FILE_DIVERSITY_JSON : MGK_FILE_JSON;
    mgk_free(text);
    return status;
}

/* Examines the beginning only, because the file may be larger than memory. */
static mgk_status look_into(const mgk_file *file, mgk_file_kind *out, bool *hdf5)
{
    char start[64];
    size_t size = file->size < sizeof(start) ? file->size : sizeof(start);
    bool numpy;
    TRY(mgk_file_read(file, 0, size, start));
    TRY(refuse_journal(file->path, start, size));
    TRY(find_hdf5(file, hdf5));
    TRY(mgk_recognise_numpy(file->path, &numpy));
    *out = *hdf5 || numpy                                          ? MGK_FILE_ARRAYS
           : begins_with(start, size, "sample,layer,head,n,rank,") ? MGK_FILE_RANKS_CSV
           : begins_with(start, size, "input,level,measure,")      ? MGK_FILE_DIVERSITY_CSV
           : is_json(start, size)                                  ? MGK_FILE_JSON
                                                                   : MGK_FILE_OTHER;
    return *out == MGK_FILE_JSON ? look_into_json(file, out) : STATUS_OK;
}

/* Ends the listing after the root's attributes, which come first. */
static mgk_status find_format(void *context, const mgk_store_entry *entry)
{
    mgk_file_kind *kind = context;
    if (!entry->attribute)
        return STATUS_INTERRUPTED;
    if (strcmp(entry->attribute, "format") == 0 && strcmp(entry->value, "mgk-ranks") == 0)
        *kind = MGK_FILE_RANKS_HDF5;
    if (strcmp(entry->attribute, "format") == 0 && strcmp(entry->value, "mgk-diversity") == 0)
        *kind = MGK_FILE_DIVERSITY_HDF5;
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

/* Something else than a file of arrays. */
static mgk_status fail_arrays(const char *path, const char *otherwise)
{
    char start[64];
    mgk_file file;
    if (mgk_is_folder(path))
        return mgk_fail(STATUS_FORMAT, "%s: a folder, no file of HDF5 or NumPy; %s", path,
                        otherwise);
    TRY(mgk_file_open(path, &file));
    const size_t size = file.size < sizeof(start) ? file.size : sizeof(start);
    mgk_status status = mgk_file_read(&file, 0, size, start);
    mgk_file_close(&file);
    TRY(status);
    const char *left = mgk_download_left(start, size);
    if (left)
        return mgk_fail(STATUS_FORMAT, "%s: %s", path, left);
    const bool torch = mgk_ends_with(path, ".pt") || mgk_ends_with(path, ".pth");
    return mgk_fail(STATUS_FORMAT, "%s: not an HDF5 file, nor one of NumPy's; %s%s", path,
                    otherwise, torch ? ", and numpy.save stores tensors of matrices" : "");
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
    case MGK_FILE_DIVERSITY_HDF5:
    case MGK_FILE_DIVERSITY_CSV:
    case MGK_FILE_DIVERSITY_JSON:
        return mgk_fail(STATUS_FORMAT,
                        "%s: measures of diversity, not matrices (mgk-plot heads draws them)",
                        path);
    default:
        return fail_arrays(path, otherwise);
    }
}
