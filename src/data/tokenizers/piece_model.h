/* SPDX-License-Identifier: MIT */
/*
 * The .model files of SentencePiece: a message of Protocol Buffers (sentencepiece_model.proto).
 *
 *   1  pieces, each a message: 1 text, 2 score (float), 3 kind
 *   2  how it was trained: 3 kind of model, 24 white space as suffix, 35 byte fallback, 40 id of
 * the unknown piece 3  normalization: 2 table of characters (charsmap.h), 3 space in front, 4
 * spaces are removed, 5 spaces are written as U+2581
 */
#ifndef MGK_DATA_PIECE_MODEL_H
#define MGK_DATA_PIECE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "data/buffer.h"
#include "data/datasets/lines.h"

typedef enum mgk_piece_kind {
    MGK_PIECE_NORMAL = 1,
    MGK_PIECE_UNKNOWN,
    MGK_PIECE_CONTROL,      /* such as <s> */
    MGK_PIECE_USER_DEFINED, /* found whole in every text */
    MGK_PIECE_UNUSED,
    MGK_PIECE_BYTE /* <0x00> to <0xFF> */
} mgk_piece_kind;

typedef struct mgk_piece {
    mgk_span text; /* valid UTF-8, within the file */
    float score;   /* finite */
    mgk_piece_kind kind;
} mgk_piece;

typedef struct mgk_piece_model {
    mgk_buffer pieces; /* mgk_piece, by id */
    bool unigram;      /* otherwise BPE */
    bool byte_fallback;
    int64_t unknown;   /* id */
    mgk_span charsmap; /* size 0: none */
    bool dummy_prefix, remove_spaces, escape_spaces;
} mgk_piece_model;

/* Whether a file begins like such a model. */
bool mgk_piece_model_begins(mgk_span bytes);

/* Reads a model; it refers to `bytes`. STATUS_FORMAT: malformed; STATUS_UNSUPPORTED: another kind
 * of model than Unigram and BPE. Release *out with mgk_piece_model_free, also on failure. */
mgk_status mgk_piece_model_read(mgk_span bytes, mgk_piece_model *out);

size_t mgk_piece_count(const mgk_piece_model *model);
const mgk_piece *mgk_piece_at(const mgk_piece_model *model, size_t id);

void mgk_piece_model_free(mgk_piece_model *model);

#endif
