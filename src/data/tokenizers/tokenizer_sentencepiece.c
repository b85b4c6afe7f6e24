/* SPDX-License-Identifier: MIT */
/*
 * SentencePiece's own encoding: of models whose class is not known, of Marian, whose tokenizer
 * calls that library, and of llama2.c, which imitates it.
 */
#include <string.h>

#include "base/memory.h"
#include "data/tokenizers/tokenizer_notes.h"

#define SIGN "\xe2\x96\x81"

/* Refuses pieces that SentencePiece treats in a way of their own. */
static mgk_status check_kinds(const mgk_piece_model *model)
{
    char quoted[MGK_QUOTE_SIZE];
    for (size_t id = 0; id < mgk_piece_count(model); id++) {
        const mgk_piece *piece = mgk_piece_at(model, id);
        bool plain = !model->unigram && model->charsmap.size == 0 &&
                     !memchr(piece->text.data, ' ', piece->text.size);
        if (piece->kind == MGK_PIECE_UNUSED || (piece->kind == MGK_PIECE_USER_DEFINED && !plain))
            return mgk_fail(STATUS_UNSUPPORTED,
                            "the piece \"%s\" is %s, and no tokenizer_config.json names the "
                            "\"tokenizer_class\": give ids with `tokens`",
                            mgk_quote(piece->text, quoted),
                            piece->kind == MGK_PIECE_UNUSED ? "unused" : "user-defined");
    }
    return STATUS_OK;
}

static mgk_status add_normalization(const mgk_piece_model *model, mgk_tokenizer *tokenizer)
{
    mgk_normal_step step = {.kind = MGK_NORMAL_PIECES,
                            .dummy_prefix = model->dummy_prefix,
                            .remove_spaces = model->remove_spaces,
                            .all_spaces = model->escape_spaces};
    const char *space = model->escape_spaces ? SIGN : " ";
    TRY(mgk_buffer_append(&step.content, space, strlen(space)));
    mgk_status status =
        model->charsmap.size > 0 ? mgk_charsmap_read(model->charsmap, &step.charsmap) : STATUS_OK;
    if (status == STATUS_OK)
        return mgk_normalizer_add_step(&tokenizer->normalizer, step);
    mgk_buffer_free(&step.content);
    mgk_charsmap_free(&step.charsmap);
    return status;
}

/* A character that is no piece could still become part of one, which our merges do not express. */
static mgk_status check_characters(mgk_span piece, const mgk_tokenizer *tokenizer)
{
    char quoted[MGK_QUOTE_SIZE];
    for (size_t at = 0, size; at < piece.size; at += size) {
        for (size = 1; at + size < piece.size && (piece.data[at + size] & 0xc0) == 0x80;)
            size++;
        if (mgk_vocabulary_find(&tokenizer->vocabulary, (mgk_span){piece.data + at, size}) < 0)
            return mgk_fail(STATUS_UNSUPPORTED, "piece \"%s\": a character of it is no piece",
                            mgk_quote(piece, quoted));
    }
    return STATUS_OK;
}

static mgk_status read_bpe(const mgk_piece_model *model, mgk_tokenizer *tokenizer)
{
    mgk_status status = STATUS_OK;
    size_t count = mgk_piece_count(model), normal = 0;
    mgk_scored_piece *pieces;
    tokenizer->model = &mgk_bpe_model;
    tokenizer->bpe.fuse_unknown = true;
    tokenizer->bpe.byte_fallback = model->byte_fallback;
    tokenizer->unknown = (int32_t)model->unknown;
    TRY(mgk_alloc(count, sizeof(*pieces), &pieces));
    for (size_t id = 0; id < count; id++) {
        const mgk_piece *piece = mgk_piece_at(model, id);
        CHECK(mgk_vocabulary_set(&tokenizer->vocabulary, (int64_t)id, piece->text));
        /* A user-defined piece is found first, in normalized text, and takes part in no merge. */
        if (piece->kind == MGK_PIECE_USER_DEFINED)
            CHECK(mgk_added_tokens_add(&tokenizer->added_normalized, piece->text,
                                       (mgk_added_token){.id = (int32_t)id}));
        if (piece->kind == MGK_PIECE_NORMAL)
            pieces[normal++] = (mgk_scored_piece){id, piece->score, piece->text};
    }
    for (size_t i = 0; i < normal; i++)
        CHECK(check_characters(pieces[i].text, tokenizer));
    CHECK(mgk_bpe_merge_by_score(pieces, normal, tokenizer));
out:
    mgk_free(pieces);
    return status;
}

/* Only normal pieces are found in texts. */
static mgk_status read_unigram(const mgk_piece_model *model, const mgk_vocabulary *marian,
                               mgk_tokenizer *tokenizer)
{
    mgk_unigram *unigram = &tokenizer->unigram;
    tokenizer->model = &mgk_unigram_model;
    unigram->single = true;
    unigram->byte_fallback = model->byte_fallback;
    unigram->unknown = -1;
    unigram->joined_unknown = marian != NULL;
    for (size_t i = 0; i < mgk_piece_count(model); i++) {
        const mgk_piece *piece = mgk_piece_at(model, i);
        int32_t id = marian ? mgk_vocabulary_find(marian, piece->text) : (int32_t)i;
        if (!marian)
            TRY(mgk_vocabulary_set(&tokenizer->vocabulary, (int64_t)i, piece->text));
        if (piece->kind != MGK_PIECE_NORMAL)
            continue;
        id = id < 0 ? tokenizer->unknown : id;
        TRY(mgk_unigram_add_piece(tokenizer, piece->text, (double)piece->score));
        TRY(mgk_buffer_append(&unigram->ids, &id, sizeof(id)));
    }
    if (unigram->ids.size == 0)
        return mgk_fail(STATUS_FORMAT, "a model of SentencePiece without normal pieces");
    return mgk_unigram_finish(tokenizer);
}

mgk_status mgk_tokenizer_read_sentencepiece(const mgk_piece_model *model, mgk_tokenizer *tokenizer)
{
    static const char every[] = "expected a token for each byte";
    TRY(check_kinds(model));
    TRY(add_normalization(model, tokenizer));
    tokenizer->unknown = (int32_t)model->unknown;
    TRY(model->unigram ? read_unigram(model, NULL, tokenizer) : read_bpe(model, tokenizer));
    for (int byte = 0; byte < 256 && model->byte_fallback; byte++)
        if (tokenizer->fallback[byte] < 0)
            return mgk_fail(STATUS_FORMAT, "a model of SentencePiece with byte fallback: %s",
                            every);
    return STATUS_OK;
}

mgk_status mgk_tokenizer_read_marian(const mgk_piece_model *model, const mgk_tokenizer_notes *texts,
                                     mgk_tokenizer *tokenizer)
{
    static const char *const special[][2] = {
        {"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}};
    mgk_status status;
    mgk_notes notes;
    cJSON *tree = NULL;
    int32_t end;
    TRY(mgk_notes_open(texts, &notes));
    if (!model->unigram || model->byte_fallback)
        CHECK(mgk_fail(STATUS_UNSUPPORTED, "not a plain Unigram model, as Marian has"));
    CHECK(check_kinds(model));
    CHECK(mgk_json_parse_object(texts->ids.data, texts->ids.size, &tree));
    CHECK(mgk_json_vocabulary(tree, &tokenizer->vocabulary));
    CHECK(mgk_notes_find(mgk_notes_name(&notes, "unk_token", "<unk>"), tokenizer,
                         &tokenizer->unknown));
    CHECK(add_normalization(model, tokenizer));
    CHECK(read_unigram(model, &tokenizer->vocabulary, tokenizer));
    tokenizer->language_codes = true;
    CHECK(mgk_notes_add_tokens(&notes, tokenizer));
    for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
        CHECK(mgk_notes_add_special(&notes, special[i][0], special[i][1], false, tokenizer));
    CHECK(mgk_notes_add_others(&notes, tokenizer));
    CHECK(mgk_notes_find(mgk_notes_name(&notes, "eos_token", "</s>"), tokenizer, &end));
    CHECK(mgk_buffer_append(&tokenizer->after, &end, sizeof(end)));
out:
    cJSON_Delete(tree);
    mgk_notes_close(&notes);
    return status;
}
