/* SPDX-License-Identifier: MIT */
/* The text of a tokenizer that a model carries, such as tokenizer.json, and after a zero byte a
 * text to encode. */
#include <stdlib.h>
#include <string.h>

#include "data/tokenizers/tokenizer.h"
#include "fuzz/encode.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_parts parts = {bytes, size};
    size_t carried, length;
    const uint8_t *first = fuzz_next_part(&parts, &carried);
    const uint8_t *text = fuzz_next_part(&parts, &length);
    mgk_tokenizer *tokenizer;
    char *copy = strndup(carried > 0 ? (const char *)first : "", carried);
    if (copy && mgk_tokenizer_open_text(copy, &tokenizer) == STATUS_OK) {
        fuzz_encode(tokenizer, (const char *)text, length);
        mgk_tokenizer_close(tokenizer);
    }
    free(copy);
    return 0;
}
