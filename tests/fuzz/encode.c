/* SPDX-License-Identifier: MIT */
#include "fuzz/encode.h"

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

void fuzz_encode(const mgk_tokenizer *tokenizer, const char *text, size_t size)
{
    encode(tokenizer, usual, sizeof(usual) - 1);
    if (text)
        encode(tokenizer, text, size);
}
