/* SPDX-License-Identifier: MIT */
#include "data/datasets/text_pieces.h"

enum { PIECE = 1 << 16 /* bytes of a piece, or more if the text cannot be cut there */ };

mgk_status mgk_texts_cut(const mgk_texts *texts, const mgk_tokenizer *tokenizer, size_t start,
                         size_t end, mgk_buffer *bytes, size_t *size)
{
    for (size_t wanted = PIECE; wanted < end - start; wanted *= 2) {
        bytes->size = 0;
        TRY(mgk_buffer_reserve(bytes, wanted));
        TRY(mgk_texts_read(texts, start, wanted, bytes->data));
        *size = mgk_tokenizer_cut(tokenizer, (const char *)bytes->data, wanted);
        if (*size > 0)
            return STATUS_OK;
    }
    *size = end - start;
    return STATUS_OK;
}

mgk_status mgk_texts_walk(const mgk_texts *texts, const mgk_tokenizer *tokenizer, size_t first,
                          size_t end,
                          mgk_status (*take)(void *context, const char *text, size_t size),
                          void *context)
{
    mgk_status status = STATUS_OK;
    mgk_buffer bytes = {0};
    for (size_t start = first, size; start < end; start += size) {
        CHECK(mgk_texts_cut(texts, tokenizer, start, end, &bytes, &size));
        bytes.size = 0;
        CHECK(mgk_buffer_reserve(&bytes, size));
        CHECK(mgk_texts_read(texts, start, size, bytes.data));
        CHECK(take(context, (const char *)bytes.data, size));
    }
out:
    mgk_buffer_free(&bytes);
    return status;
}

static mgk_status count(void *context, const char *text, size_t size)
{
    return mgk_learner_add(context, text, size);
}

mgk_status mgk_texts_learn(const char *const *paths, size_t path_count, mgk_learner *learner)
{
    mgk_texts texts = {0};
    mgk_status status = STATUS_OK;
    for (size_t i = 0; i < path_count; i++) {
        const size_t start = texts.size;
        CHECK(mgk_texts_add(&texts, paths[i]));
        CHECK(
            mgk_texts_walk(&texts, mgk_learner_cutter(learner), start, texts.size, count, learner));
    }
out:
    mgk_texts_free(&texts);
    return status;
}
