/* An open archive, as its parts know it. */
#ifndef MGK_BASE_ZIP_PRIVATE_H
#define MGK_BASE_ZIP_PRIVATE_H

#include <zip.h>

#include "base/zip.h"

struct mgk_zip {
    char *path;
    zip_t *archive;
    size_t count;
    mgk_zip_entry *entries; /* [count] */
    unsigned char **kept;   /* [count], NULL or the whole entry */
    size_t keepable;        /* bytes that may be kept yet */
    size_t skippable;       /* bytes that may be skipped yet */
    /* The entry that was read last, and how far. */
    zip_file_t *current;
    const mgk_zip_entry *current_entry;
    size_t position;
};

/* Closes the entry that was read last, if any. */
void mgk_zip_close_current(mgk_zip *zip);

#endif
