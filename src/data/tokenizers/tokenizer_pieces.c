/* SPDX-License-Identifier: MIT */
/*
 * Reads .model files as transformers does: each class of tokenizers has its own vocabulary, made of
 * the pieces, and its own steps, which are not those of SentencePiece.
 */
#include <stdio.h>
#include <string.h>

#include "data/tokenizers/piece_family.h"

static mgk_span name_of(const mgk_notes *notes, mgk_piece_role token)
{
    return token.key ? mgk_notes_name(notes, token.key, token.usual)
                     : (mgk_span){token.usual, strlen(token.usual)};
}

/* Adds tokens that are no pieces. */
static mgk_status add_roles(const mgk_notes *notes, const mgk_piece_role *roles,
                            mgk_tokenizer *tokenizer)
{
    for (size_t i = 0; i < MGK_PIECE_ROLES && roles[i].usual; i++) {
        /* CamemBERT's second unknown token is not to be used. */
        double score = strcmp(roles[i].usual, "<unk>NOTUSED") == 0 ? -100 : 0;
        TRY(mgk_unigram_add(tokenizer, name_of(notes, roles[i]), score));
    }
    return STATUS_OK;
}

/* Adds T5's sentinels, the last one first, to the vocabulary and to the added tokens. */
static mgk_status add_sentinels(const mgk_notes *notes, mgk_tokenizer *tokenizer)
{
    enum { USUAL = 100, MOST = 10000 };
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(notes->config, "extra_ids");
    int64_t count = USUAL;
    char name[32];
    if (value)
        TRY(mgk_json_id(value, "extra_ids", &count));
    if (count < 0 || count > MOST)
        return mgk_fail(STATUS_FORMAT,
                        "tokenizer_config.json: \"extra_ids\" %lld: expected 0 to %d",
                        (long long)count, MOST);
    while (count-- > 0) {
        snprintf(name, sizeof(name), "<extra_id_%d>", (int)count);
        mgk_span text = {name, strlen(name)};
        mgk_added_token token = {.id = mgk_vocabulary_size(&tokenizer->vocabulary)};
        TRY(mgk_unigram_add(tokenizer, text, 0));
        TRY(mgk_tokenizer_add_token(tokenizer, text, token, false));
    }
    return STATUS_OK;
}

static mgk_status add_unigram(const mgk_piece_family *kind, const mgk_notes *notes,
                              const mgk_piece_model *model, mgk_tokenizer *tokenizer)
{
    tokenizer->model = &mgk_unigram_model;
    tokenizer->unigram.joined_unknown = true;
    TRY(add_roles(notes, kind->front, tokenizer));
    for (size_t id = kind->dropped; id < mgk_piece_count(model); id++) {
        const mgk_piece *piece = mgk_piece_at(model, id);
        TRY(mgk_unigram_add(tokenizer, piece->text, (double)piece->score));
    }
    TRY(add_roles(notes, kind->back, tokenizer));
    if (kind->sentinels)
        TRY(add_sentinels(notes, tokenizer));
    tokenizer->unknown = (int32_t)(kind->unknown < 0 ? model->unknown : kind->unknown);
    return mgk_unigram_finish(tokenizer);
}

static mgk_status add_bpe(const mgk_piece_family *kind, const mgk_notes *notes,
                          const mgk_piece_model *model, mgk_tokenizer *tokenizer)
{
    tokenizer->model = &mgk_bpe_model;
    tokenizer->bpe.fuse_unknown = tokenizer->bpe.byte_fallback = true;
    for (size_t id = 0; id < mgk_piece_count(model); id++) {
        const mgk_piece *piece = mgk_piece_at(model, id);
        TRY(mgk_vocabulary_set(&tokenizer->vocabulary, (int64_t)id, piece->text));
    }
    if (!kind->drops_unknown)
        TRY(mgk_notes_find(mgk_notes_name(notes, "unk_token", "<unk>"), tokenizer,
                           &tokenizer->unknown));
    return mgk_bpe_merge_in_order(model, tokenizer);
}

/* Control and user-defined pieces are found in the text. */
static mgk_status add_control(const mgk_piece_model *model, mgk_tokenizer *tokenizer)
{
    char quoted[MGK_QUOTE_SIZE];
    for (size_t id = 0; id < mgk_piece_count(model); id++) {
        const mgk_piece *piece = mgk_piece_at(model, id);
        mgk_added_token token = {0};
        if (piece->kind != MGK_PIECE_CONTROL && piece->kind != MGK_PIECE_USER_DEFINED)
            continue;
        if (mgk_vocabulary_find(&tokenizer->named, piece->text) >= 0)
            continue;
        token.id = mgk_vocabulary_find(&tokenizer->vocabulary, piece->text);
        if (token.id < 0)
            return mgk_fail(STATUS_UNSUPPORTED,
                            "the piece \"%s\" has no id: its tokenizer.json is "
                            "needed",
                            mgk_quote(piece->text, quoted));
        TRY(mgk_tokenizer_add_token(tokenizer, piece->text, token, false));
    }
    return STATUS_OK;
}

/* DeBERTa's mask is no piece: it has the next id. */
static mgk_status add_mask(const mgk_notes *notes, mgk_tokenizer *tokenizer)
{
    mgk_span name = mgk_notes_name(notes, "mask_token", "[MASK]");
    if (mgk_vocabulary_find(&tokenizer->vocabulary, name) >= 0 ||
        mgk_vocabulary_find(&tokenizer->named, name) >= 0)
        return STATUS_OK;
    int32_t size = mgk_vocabulary_size(&tokenizer->vocabulary);
    int32_t named = mgk_vocabulary_size(&tokenizer->named);
    return mgk_tokenizer_add_token(tokenizer, name,
                                   (mgk_added_token){.id = size > named ? size : named}, false);
}

static mgk_status add_tokens(const mgk_piece_family *kind, const mgk_notes *notes,
                             const mgk_piece_model *model, mgk_tokenizer *tokenizer)
{
    TRY(mgk_notes_add_tokens(notes, tokenizer));
    for (size_t i = 0; i < MGK_PIECE_ROLES && kind->special[i].usual; i++) {
        mgk_piece_role token = kind->special[i];
        bool mask = strcmp(token.key, "mask_token") == 0;
        TRY(mgk_notes_add_special(notes, token.key, token.usual, mask && kind->mask_takes_space,
                                  tokenizer));
    }
    if (kind->mask_is_extra)
        TRY(add_mask(notes, tokenizer));
    TRY(add_control(model, tokenizer));
    return mgk_notes_add_others(notes, tokenizer);
}

static mgk_status add_to_frame(const mgk_notes *notes, const mgk_piece_family *kind,
                               mgk_piece_role token, const char *option, bool usual,
                               mgk_tokenizer *tokenizer, mgk_buffer *side)
{
    bool wanted = token.usual != NULL;
    int32_t id;
    if (kind->optional)
        TRY(mgk_json_flag(notes->config, option, usual, &wanted));
    if (!wanted)
        return STATUS_OK;
    TRY(mgk_notes_find(name_of(notes, token), tokenizer, &id));
    return mgk_buffer_append(side, &id, sizeof(id));
}

static mgk_status build(const mgk_piece_family *kind, const mgk_notes *notes,
                        const mgk_piece_model *model, mgk_tokenizer *tokenizer)
{
    if (kind->unigram != model->unigram)
        return mgk_fail(STATUS_UNSUPPORTED, "%s with a model of SentencePiece that is %s",
                        kind->class, model->unigram ? "Unigram" : "BPE");
    TRY(kind->steps(notes, model, tokenizer));
    TRY(kind->unigram ? add_unigram(kind, notes, model, tokenizer)
                      : add_bpe(kind, notes, model, tokenizer));
    TRY(add_tokens(kind, notes, model, tokenizer));
    TRY(add_to_frame(notes, kind, kind->before, "add_bos_token", true, tokenizer,
                     &tokenizer->before));
    return add_to_frame(notes, kind, kind->after, "add_eos_token", false, tokenizer,
                        &tokenizer->after);
}

/* The family of the model in the same folder; -1: there is no such model. */
static mgk_status family_of_model(const mgk_tokenizer_notes *texts, int *out)
{
    cJSON *model;
    mgk_span type;
    char quoted[MGK_QUOTE_SIZE];
    *out = -1;
    TRY(mgk_notes_model_type(texts, &model, &type));
    for (size_t i = 0; i < mgk_piece_family_count && type.data; i++)
        for (size_t k = 0; mgk_piece_families[i].model_types[k]; k++)
            if (mgk_span_equals(type, mgk_piece_families[i].model_types[k]))
                *out = (int)i;
    if (type.data)
        mgk_quote(type, quoted);
    bool unknown = type.data && *out < 0;
    cJSON_Delete(model);
    if (!unknown)
        return STATUS_OK;
    return mgk_fail(STATUS_UNSUPPORTED,
                    "which ids a model of the type \"%s\" gives to pieces of SentencePiece is not "
                    "known: its tokenizer.json is needed",
                    quoted);
}

static mgk_status find_family(const mgk_tokenizer_notes *texts, const mgk_notes *notes, int *out)
{
    enum { MOST = 32 };
    const char *known[MOST] = {NULL};
    for (size_t i = 0; i < mgk_piece_family_count && i + 1 < MOST; i++)
        known[i] = mgk_piece_families[i].class;
    TRY(mgk_notes_class(notes, known, out));
    return *out < 0 ? family_of_model(texts, out) : STATUS_OK;
}

static mgk_status read_family(const mgk_piece_model *model, const mgk_tokenizer_notes *texts,
                              mgk_tokenizer *tokenizer)
{
    mgk_status status;
    mgk_notes notes;
    int which;
    TRY(mgk_notes_open(texts, &notes));
    CHECK(find_family(texts, &notes, &which));
    CHECK(which < 0 ? mgk_tokenizer_read_sentencepiece(model, tokenizer)
                    : build(&mgk_piece_families[which], &notes, model, tokenizer));
out:
    mgk_notes_close(&notes);
    return status;
}

mgk_status mgk_tokenizer_read_pieces(mgk_span bytes, const mgk_tokenizer_notes *texts,
                                     mgk_tokenizer *tokenizer)
{
    mgk_piece_model model;
    mgk_status status = mgk_piece_model_read(bytes, &model);
    if (status == STATUS_OK)
        status = texts->ids.size > 0 ? mgk_tokenizer_read_marian(&model, texts, tokenizer)
                                     : read_family(&model, texts, tokenizer);
    mgk_piece_model_free(&model);
    return status;
}
