#include "base/sha256.h"

#include <sha2.h>
#include <string.h>

#include "base/file.h"

mgk_status mgk_sha256_file(const char *path, char hex[MGK_SHA256_HEX_SIZE])
{
    mgk_mapping mapping;
    TRY(mgk_map_file(path, &mapping));
    const unsigned char nothing[1] = {0};
    SHA256Data(mapping.data ? mapping.data : nothing, mapping.size, hex);
    mgk_unmap_file(&mapping);
    return STATUS_OK;
}

bool mgk_sha256_is_hex(const char *text)
{
    return strlen(text) == MGK_SHA256_HEX_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == MGK_SHA256_HEX_SIZE - 1;
}
