/* SPDX-License-Identifier: MIT */
#include "data/datasets/sequencer.h"

#include "base/number.h"

enum { PIECE = 1 << 16 /* bytes of text that are encoded at a time, if it can be cut there */ };

mgk_status mgk_frame_room(const mgk_token_frame *frame, size_t length, size_t *room)
{
    const size_t around = frame->before_count + frame->after_count;
    if (around >= length)
        return mgk_fail(STATUS_SHAPE,
                        "length %zu leaves no room for text: %zu special %s surround each sequence",
                        length, around, MGK_NOUN(around, "token", "tokens"));
    *room = length - around;
    return STATUS_OK;
}

mgk_status mgk_sequencer_open(const mgk_tokenizer *tokenizer, size_t length, mgk_sequencer *out)
{
    *out = (mgk_sequencer){.tokenizer = tokenizer, .room = length};
    if (!tokenizer)
        return STATUS_OK;
    out->frame = mgk_tokenizer_frame(tokenizer);
    TRY(mgk_frame_room(&out->frame, length, &out->room));
    return mgk_token_encoder_open(tokenizer, &out->encoder);
}

void mgk_sequencer_close(mgk_sequencer *sequencer)
{
    mgk_token_encoder_close(sequencer->encoder);
    mgk_buffer_free(&sequencer->ids);
    *sequencer = (mgk_sequencer){0};
}

static mgk_status read_bytes(mgk_sequencer *s, const char *text, size_t size)
{
    size = size < s->room ? size : s->room;
    TRY(mgk_buffer_reserve(&s->ids, size * sizeof(int32_t)));
    for (size_t i = 0; i < size; i++) {
        const int32_t id = (unsigned char)text[i];
        TRY(mgk_buffer_append(&s->ids, &id, sizeof(id)));
    }
    return STATUS_OK;
}

static mgk_status read_tokens(mgk_sequencer *s, const char *text, size_t size)
{
    const size_t before = s->frame.before_count, most = (before + s->room) * sizeof(int32_t);
    TRY(mgk_buffer_append(&s->ids, s->frame.before, before * sizeof(int32_t)));
    for (size_t piece; size > 0 && s->ids.size < most; text += piece, size -= piece) {
        piece = size > PIECE ? mgk_tokenizer_cut(s->tokenizer, text, PIECE) : 0;
        piece = piece > 0 ? piece : size;
        TRY(mgk_token_encode(s->encoder, text, piece, &s->ids));
    }
    if (s->ids.size > most)
        s->ids.size = most;
    return s->ids.size > before * sizeof(int32_t) ? STATUS_OK : mgk_fail(STATUS_SHAPE, "no tokens");
}

mgk_status mgk_sequencer_read(mgk_sequencer *sequencer, const char *text, size_t size)
{
    sequencer->ids.size = 0;
    if (!sequencer->tokenizer)
        return read_bytes(sequencer, text, size);
    TRY(read_tokens(sequencer, text, size));
    return mgk_buffer_append(&sequencer->ids, sequencer->frame.after,
                             sequencer->frame.after_count * sizeof(int32_t));
}
