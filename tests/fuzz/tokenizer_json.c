/* tokenizer.json, and text behind a zero byte that it makes tokens of. */
#include "fuzz/fuzz.h"

#include <string.h>

#include "data/tokenizer_private.h"

static const char usual[] =
    "It's [CLS] a <mask> walk\xc3\xa9 \xe6\x97\xa5\xff 12  \n x<|endoftext|>";

static void encode(const mgk_tokenizer *tokenizer, const char *text, size_t size)
{
    mgk_token_encoder *encoder;
    mgk_buffer ids = {0};
    if (mgk_token_encoder_open(tokenizer, &encoder) != STATUS_OK)
        return;
    (void)mgk_token_encode(encoder, text, size, &ids);
    int32_t vocabulary = mgk_tokenizer_vocabulary(tokenizer);
    const int32_t *id = (const int32_t *)(const void *)ids.data;
    for (size_t i = 0; i < ids.size / sizeof(*id); i++)
        if (id[i] < 0 || id[i] >= vocabulary || !mgk_tokenizer_text(tokenizer, id[i]))
            __builtin_trap();
    mgk_buffer_free(&ids);
    mgk_token_encoder_close(encoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *text = (const char *)bytes;
    size_t json = size > 0 ? strnlen(text, size) : 0;
    mgk_tokenizer *tokenizer;
    if (mgk_tokenizer_create(&tokenizer) != STATUS_OK)
        return 0;
    if (mgk_tokenizer_read_json(size > 0 ? text : "", json, tokenizer) == STATUS_OK) {
        encode(tokenizer, usual, sizeof(usual) - 1);
        if (json < size)
            encode(tokenizer, text + json + 1, size - json - 1);
    }
    mgk_tokenizer_close(tokenizer);
    return 0;
}
