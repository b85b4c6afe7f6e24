/* SPDX-License-Identifier: MIT */
#include "data/tokenizers/piece_model.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"

enum { MOST_BYTES = 1 << 24 }; /* of a file; real ones have less than 8 MB */

/* How a field is written. */
enum { VARINT, FIXED64, BYTES, FIXED32 = 5 };

/* A field of a message. */
typedef struct field {
    uint64_t number;
    int wire;
    uint64_t value; /* of VARINT and FIXED32 */
    mgk_span bytes; /* of BYTES */
} field;

static mgk_status malformed(const char *what)
{
    return mgk_fail(STATUS_FORMAT, "no model of SentencePiece: %s", what);
}

static mgk_status read_varint(mgk_span *rest, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && rest->size > 0; shift += 7) {
        unsigned char byte = (unsigned char)rest->data[0];
        *rest = (mgk_span){rest->data + 1, rest->size - 1};
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return STATUS_OK;
    }
    return malformed("a number without end");
}

static mgk_status read_fixed(mgk_span *rest, size_t size, uint64_t *out)
{
    *out = 0;
    if (rest->size < size)
        return malformed("it ends within a number");
    for (size_t i = 0; i < size; i++)
        *out |= (uint64_t)(unsigned char)rest->data[i] << 8 * i;
    *rest = (mgk_span){rest->data + size, rest->size - size};
    return STATUS_OK;
}

/* Cuts the next field off; the rest is not empty. */
static mgk_status read_field(mgk_span *rest, field *out)
{
    uint64_t tag, size;
    TRY(read_varint(rest, &tag));
    *out = (field){.number = tag >> 3, .wire = (int)(tag & 7)};
    switch (out->wire) {
    case VARINT:
        return read_varint(rest, &out->value);
    case FIXED64:
        return read_fixed(rest, 8, &out->value);
    case FIXED32:
        return read_fixed(rest, 4, &out->value);
    case BYTES:
        TRY(read_varint(rest, &size));
        if (size > rest->size)
            return malformed("it ends within a field");
        out->bytes = (mgk_span){rest->data, (size_t)size};
        *rest = (mgk_span){rest->data + size, rest->size - (size_t)size};
        return STATUS_OK;
    default:
        return malformed("a field of an unknown type");
    }
}

/* Whether it is this field; its type must be right. */
static bool is_field(const field *f, uint64_t number, int wire)
{
    return f->number == number && f->wire == wire;
}

static mgk_status read_piece(mgk_span rest, mgk_piece *out)
{
    field f;
    *out = (mgk_piece){.text = {"", 0}, .kind = MGK_PIECE_NORMAL};
    while (rest.size > 0) {
        TRY(read_field(&rest, &f));
        if (is_field(&f, 1, BYTES))
            out->text = f.bytes;
        if (is_field(&f, 2, FIXED32)) {
            uint32_t bits = (uint32_t)f.value;
            memcpy(&out->score, &bits, sizeof(bits));
        }
        if (is_field(&f, 3, VARINT)) {
            if (f.value < MGK_PIECE_NORMAL || f.value > MGK_PIECE_BYTE)
                return malformed("a piece of an unknown kind");
            out->kind = (mgk_piece_kind)f.value;
        }
    }
    if (out->text.size == 0 || mgk_utf8_valid(out->text.data, out->text.size) != out->text.size)
        return malformed("a piece without text, or one that is not UTF-8");
    return isfinite(out->score) ? STATUS_OK : malformed("a score that is not a number");
}

static mgk_status read_training(mgk_span rest, mgk_piece_model *out)
{
    enum { UNIGRAM = 1, BPE = 2 };
    uint64_t kind = UNIGRAM;
    bool suffix = false;
    field f;
    while (rest.size > 0) {
        TRY(read_field(&rest, &f));
        if (is_field(&f, 3, VARINT))
            kind = f.value;
        if (is_field(&f, 24, VARINT))
            suffix = f.value != 0;
        if (is_field(&f, 35, VARINT))
            out->byte_fallback = f.value != 0;
        if (is_field(&f, 40, VARINT))
            out->unknown = f.value < MOST_BYTES ? (int64_t)f.value : -1;
    }
    if (kind != UNIGRAM && kind != BPE)
        return mgk_fail(STATUS_UNSUPPORTED, "a model of SentencePiece that is neither Unigram nor "
                                            "BPE: give ids with `tokens`");
    if (suffix)
        return mgk_fail(STATUS_UNSUPPORTED, "a model of SentencePiece with white space as suffix: "
                                            "give ids with `tokens`");
    out->unigram = kind == UNIGRAM;
    return STATUS_OK;
}

static mgk_status read_normalization(mgk_span rest, mgk_piece_model *out)
{
    field f;
    while (rest.size > 0) {
        TRY(read_field(&rest, &f));
        if (is_field(&f, 2, BYTES))
            out->charsmap = f.bytes;
        if (is_field(&f, 3, VARINT))
            out->dummy_prefix = f.value != 0;
        if (is_field(&f, 4, VARINT))
            out->remove_spaces = f.value != 0;
        if (is_field(&f, 5, VARINT))
            out->escape_spaces = f.value != 0;
    }
    return STATUS_OK;
}

bool mgk_piece_model_begins(mgk_span bytes)
{
    /* A piece, which begins with its text. A text that begins with a line end is no tokenizer. */
    return bytes.size > 4 && bytes.data[0] == 0x0a && bytes.data[2] == 0x0a &&
           bytes.data[1] > bytes.data[3];
}

mgk_status mgk_piece_model_read(mgk_span bytes, mgk_piece_model *out)
{
    field f;
    *out = (mgk_piece_model){.unigram = true, .charsmap = {"", 0}};
    out->dummy_prefix = out->remove_spaces = out->escape_spaces = true;
    if (bytes.size > MOST_BYTES)
        return malformed("it is larger than any such model");
    while (bytes.size > 0) {
        mgk_piece piece;
        TRY(read_field(&bytes, &f));
        if (is_field(&f, 1, BYTES)) {
            TRY(read_piece(f.bytes, &piece));
            TRY(mgk_buffer_append(&out->pieces, &piece, sizeof(piece)));
        }
        if (is_field(&f, 2, BYTES))
            TRY(read_training(f.bytes, out));
        if (is_field(&f, 3, BYTES))
            TRY(read_normalization(f.bytes, out));
    }
    if (out->unknown < 0 || (size_t)out->unknown >= mgk_piece_count(out) ||
        mgk_piece_at(out, (size_t)out->unknown)->kind != MGK_PIECE_UNKNOWN)
        return malformed("no unknown piece");
    return STATUS_OK;
}

size_t mgk_piece_count(const mgk_piece_model *model)
{
    return model->pieces.size / sizeof(mgk_piece);
}

const mgk_piece *mgk_piece_at(const mgk_piece_model *model, size_t id)
{
    return (const mgk_piece *)(const void *)model->pieces.data + id;
}

void mgk_piece_model_free(mgk_piece_model *model)
{
    mgk_buffer_free(&model->pieces);
}
