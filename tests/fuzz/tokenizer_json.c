/* SPDX-License-Identifier: MIT */
/* tokenizer.json, and after a zero byte a text to encode. */
#include <string.h>

#include "data/tokenizers/tokenizer_private.h"
#include "fuzz/encode.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_parts parts = {bytes, size};
    size_t json, length;
    const uint8_t *tree = fuzz_next_part(&parts, &json);
    const uint8_t *text = fuzz_next_part(&parts, &length);
    mgk_tokenizer *tokenizer;
    if (mgk_tokenizer_create(&tokenizer) != STATUS_OK)
        return 0;
    if (mgk_tokenizer_read_json(json > 0 ? (const char *)tree : "", json, tokenizer) == STATUS_OK)
        fuzz_encode(tokenizer, (const char *)text, length);
    mgk_tokenizer_close(tokenizer);
    return 0;
}
