#include "base/sha256.h"

#include <sha2.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

enum { PIECE = 1 << 20 }; /* bytes read at a time */

static mgk_status digest(const mgk_file *file, unsigned char *piece, char hex[MGK_SHA256_HEX_SIZE])
{
    SHA2_CTX context;
    SHA256Init(&context);
    for (size_t first = 0, count; first < file->size; first += count) {
        count = file->size - first < PIECE ? file->size - first : PIECE;
        TRY(mgk_file_read(file, first, count, piece));
        SHA256Update(&context, piece, count);
    }
    SHA256End(&context, hex);
    return STATUS_OK;
}

mgk_status mgk_sha256_file(const char *path, char hex[MGK_SHA256_HEX_SIZE])
{
    mgk_file file;
    unsigned char *piece;
    TRY(mgk_file_open(path, &file));
    mgk_status status = mgk_alloc(PIECE, 1, &piece);
    if (status == STATUS_OK)
        status = digest(&file, piece, hex);
    mgk_free(piece);
    mgk_file_close(&file);
    return status;
}

void mgk_sha256_bytes(const void *bytes, size_t count, char hex[MGK_SHA256_HEX_SIZE])
{
    SHA256Data(bytes, count, hex);
}

bool mgk_sha256_is_hex(const char *text)
{
    return strlen(text) == MGK_SHA256_HEX_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == MGK_SHA256_HEX_SIZE - 1;
}
