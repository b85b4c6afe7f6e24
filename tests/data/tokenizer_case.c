/* SPDX-License-Identifier: MIT */
#include "data/tokenizer_case.h"

#include <string.h>

mgk_tokenizer *tokenizer_of(const char *path)
{
    mgk_tokenizer *tokenizer;
    assert_ok(mgk_tokenizer_open(path, &tokenizer));
    return tokenizer;
}

void assert_ids(const mgk_tokenizer *tokenizer, const char *text, size_t size,
                const int32_t *expected, size_t count)
{
    mgk_token_encoder *encoder;
    mgk_buffer ids = {0};
    assert_ok(mgk_token_encoder_open(tokenizer, &encoder));
    for (int again = 0; again < 2; again++) { /* the second time from the cache */
        ids.size = 0;
        assert_ok(mgk_token_encode(encoder, text, size, &ids));
        assert_int_equal(ids.size / sizeof(int32_t), count);
        if (count > 0)
            assert_memory_equal(ids.data, expected, ids.size);
    }
    mgk_buffer_free(&ids);
    mgk_token_encoder_close(encoder);
}

void assert_closed(const char *path, mgk_status expected, const char *part)
{
    mgk_tokenizer *tokenizer;
    mgk_status status = mgk_tokenizer_open(path, &tokenizer);
    const char *message = mgk_fail_message();
    if (status != expected || !strstr(message, part))
        fail_msg("%s: \"%s\", expected %s: \"...%s...\"", mgk_status_text(status), message,
                 mgk_status_text(expected), part);
    assert_null(tokenizer);
}
