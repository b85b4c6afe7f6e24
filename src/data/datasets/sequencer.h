/* SPDX-License-Identifier: MIT */
/* Makes the token ids of single texts: at most N, with the tokens that a model expects around each
 * sequence. */
#ifndef MGK_DATA_SEQUENCER_H
#define MGK_DATA_SEQUENCER_H

#include "data/tokenizers/tokenizer.h"

typedef struct mgk_sequencer {
    const mgk_tokenizer *tokenizer; /* borrowed; NULL: bytes are their own ids */
    mgk_token_encoder *encoder;
    mgk_token_frame frame;
    size_t room;    /* ids of a text, without the frame */
    mgk_buffer ids; /* int32_t, of the last text */
} mgk_sequencer;

/* The ids that a frame leaves of N. STATUS_SHAPE: none. */
mgk_status mgk_frame_room(const mgk_token_frame *frame, size_t length, size_t *room);

/* Release *out with mgk_sequencer_close, also after a failure. Fails as mgk_frame_room. */
mgk_status mgk_sequencer_open(const mgk_tokenizer *tokenizer, size_t length, mgk_sequencer *out);
void mgk_sequencer_close(mgk_sequencer *sequencer); /* a zeroed one is accepted */

/* Writes the ids of a text to sequencer->ids; what is cut off is not read. STATUS_SHAPE: the text
 * has no tokens; else as mgk_token_encode. */
mgk_status mgk_sequencer_read(mgk_sequencer *sequencer, const char *text, size_t size);

#endif
