/* SPDX-License-Identifier: MIT */
/*
 * Reads .model files as transformers does: each class of tokenizers has its own vocabulary, made of
 * the pieces, and its own steps, which are not those of SentencePiece.
 */
#include <stdio.h>
#include <string.h>

#include "data/tokenizers/piece_model.h"
#include "data/tokenizers/tokenizer_notes.h"

/* A token that the configuration may call otherwise. */
typedef struct role {
    const char *key; /* of tokenizer_config.json; NULL: the name is fixed */
    const char *usual;
} role;

enum { MOST_ROLES = 8 };

/* What a class makes of the pieces; lists end with an empty role. */
typedef struct family {
    const char *class;
    const char *model_types[5]; /* of config.json, which count if there is no class */
    bool unigram;
    size_t dropped;         /* pieces at the start that are left out */
    role front[MOST_ROLES]; /* tokens in their place */
    role back[2];           /* behind the pieces */
    int64_t unknown;        /* its id; -1: that of the model */
    mgk_status (*steps)(const mgk_notes *notes, const mgk_piece_model *model,
                        mgk_tokenizer *tokenizer);
    role before, after; /* every text */
    bool optional;      /* `before` and `after` are subject to add_bos_token and add_eos_token */
    role special[MOST_ROLES];
    bool mask_takes_space; /* on its left, unless the configuration says otherwise */
    bool mask_is_extra;    /* if it is no piece, it has the next id */
    bool sentinels;        /* there are <extra_id_0> and so on */
} family;

#define SIGN "\xe2\x96\x81"

static const mgk_span sign = {SIGN, sizeof(SIGN) - 1};

static mgk_status add_charsmap(const mgk_piece_model *model, mgk_tokenizer *tokenizer)
{
    mgk_charsmap map;
    if (model->charsmap.size == 0)
        return STATUS_OK;
    mgk_status status = mgk_charsmap_read(model->charsmap, &map);
    if (status == STATUS_OK)
        return mgk_normalizer_add_charsmap(&tokenizer->normalizer, map);
    mgk_charsmap_free(&map);
    return status;
}

static mgk_status add_replace(mgk_tokenizer *tokenizer, const char *pattern, bool literal,
                              mgk_span content)
{
    return mgk_normalizer_add_replace(&tokenizer->normalizer, (mgk_span){pattern, strlen(pattern)},
                                      literal, content);
}

static mgk_status read_prepend(const mgk_notes *notes, mgk_cut_prepend usual,
                               mgk_cut_prepend without, mgk_cut_prepend *out)
{
    bool prefix;
    TRY(mgk_json_flag(notes->config, "add_prefix_space", true, &prefix));
    *out = prefix ? usual : without;
    return STATUS_OK;
}

static mgk_status llama_steps(const mgk_notes *notes, const mgk_piece_model *model,
                              mgk_tokenizer *tokenizer)
{
    mgk_cut_prepend prepend;
    bool legacy;
    (void)model;
    TRY(mgk_json_flag(notes->config, "legacy", false, &legacy));
    TRY(read_prepend(notes, legacy ? MGK_CUT_ALWAYS : MGK_CUT_FIRST, MGK_CUT_NEVER, &prepend));
    return mgk_tokenizer_add_metaspace(tokenizer, sign, prepend, false);
}

static mgk_status gemma_steps(const mgk_notes *notes, const mgk_piece_model *model,
                              mgk_tokenizer *tokenizer)
{
    (void)notes;
    (void)model;
    return add_replace(tokenizer, " ", true, sign);
}

static mgk_status add_words(const mgk_notes *notes, mgk_tokenizer *tokenizer)
{
    mgk_cut_prepend prepend;
    TRY(read_prepend(notes, MGK_CUT_ALWAYS, MGK_CUT_NEVER, &prepend));
    TRY(mgk_tokenizer_add_pattern(tokenizer, (mgk_span){"\\s+", 3}, false,
                                  (mgk_cut_stage){.behavior = MGK_CUT_REMOVED, .spaced = true}));
    return mgk_tokenizer_add_metaspace(tokenizer, sign, prepend, true);
}

static mgk_status usual_steps(const mgk_notes *notes, const mgk_piece_model *model,
                              mgk_tokenizer *tokenizer)
{
    TRY(add_charsmap(model, tokenizer));
    return add_words(notes, tokenizer);
}

static mgk_status albert_steps(const mgk_notes *notes, const mgk_piece_model *model,
                               mgk_tokenizer *tokenizer)
{
    const mgk_span quote = {"\"", 1};
    bool keep, lower;
    TRY(mgk_json_flag(notes->config, "keep_accents", false, &keep));
    TRY(mgk_json_flag(notes->config, "do_lower_case", true, &lower));
    TRY(add_replace(tokenizer, "\x60\x60", true, quote)); /* backquotes */
    TRY(add_replace(tokenizer, "''", true, quote));
    if (!keep) {
        TRY(mgk_normalizer_add(&tokenizer->normalizer, MGK_NORMAL_NFKD));
        TRY(mgk_normalizer_add(&tokenizer->normalizer, MGK_NORMAL_STRIP_MARKS));
    }
    if (lower)
        TRY(mgk_normalizer_add(&tokenizer->normalizer, MGK_NORMAL_LOWER));
    return usual_steps(notes, model, tokenizer);
}

static mgk_status deberta_steps(const mgk_notes *notes, const mgk_piece_model *model,
                                mgk_tokenizer *tokenizer)
{
    mgk_cut_prepend prepend;
    bool lower, punctuation;
    (void)model;
    TRY(mgk_json_flag(notes->config, "do_lower_case", false, &lower));
    TRY(mgk_json_flag(notes->config, "split_by_punct", false, &punctuation));
    TRY(read_prepend(notes, MGK_CUT_ALWAYS, MGK_CUT_FIRST, &prepend));
    if (prepend == MGK_CUT_FIRST && punctuation)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "tokenizer_config.json: \"split_by_punct\" without \"add_prefix_space\" is "
                        "not known here");
    if (lower)
        TRY(mgk_normalizer_add(&tokenizer->normalizer, MGK_NORMAL_LOWER));
    TRY(add_replace(tokenizer, "\\s{2,}|[\\n\\r\\t]", false, (mgk_span){" ", 1}));
    TRY(mgk_normalizer_add(&tokenizer->normalizer, MGK_NORMAL_NFC));
    TRY(mgk_normalizer_add(&tokenizer->normalizer, MGK_NORMAL_STRIP_RIGHT));
    if (punctuation)
        TRY(mgk_tokenizer_add_stage(tokenizer, (mgk_cut_stage){.kind = MGK_CUT_PUNCTUATION}));
    return mgk_tokenizer_add_metaspace(tokenizer, sign, prepend, true);
}

static const family families[] = {
    {
        .class = "LlamaTokenizer",
        .model_types = {"llama", "mistral"},
        .unknown = -1,
        .steps = llama_steps,
        .before = {"bos_token", "<s>"},
        .after = {"eos_token", "</s>"},
        .optional = true,
        .special = {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}},
    },
    {
        .class = "GemmaTokenizer",
        .model_types = {"gemma", "gemma2", "gemma3", "gemma3_text"},
        .unknown = -1,
        .steps = gemma_steps,
        .before = {"bos_token", "<bos>"},
        .after = {"eos_token", "<eos>"},
        .optional = true,
        .special = {{"bos_token", "<bos>"},
                    {"eos_token", "<eos>"},
                    {"unk_token", "<unk>"},
                    {"pad_token", "<pad>"},
                    {"mask_token", "<mask>"}},
    },
    {
        .class = "T5Tokenizer",
        .model_types = {"t5", "mt5", "umt5"},
        .unigram = true,
        .unknown = 2,
        .steps = usual_steps,
        .after = {NULL, "</s>"},
        .sentinels = true,
        .special = {{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}},
    },
    {
        .class = "AlbertTokenizer",
        .model_types = {"albert"},
        .unigram = true,
        .unknown = 1,
        .steps = albert_steps,
        .before = {"cls_token", "[CLS]"},
        .after = {"sep_token", "[SEP]"},
        .special = {{"bos_token", "[CLS]"},
                    {"eos_token", "[SEP]"},
                    {"unk_token", "<unk>"},
                    {"sep_token", "[SEP]"},
                    {"pad_token", "<pad>"},
                    {"cls_token", "[CLS]"},
                    {"mask_token", "[MASK]"}},
    },
    {
        .class = "XLMRobertaTokenizer",
        .model_types = {"xlm-roberta"},
        .unigram = true,
        .dropped = 3,
        .front = {{"bos_token", "<s>"},
                  {"pad_token", "<pad>"},
                  {"eos_token", "</s>"},
                  {"unk_token", "<unk>"}},
        .back = {{"mask_token", "<mask>"}},
        .unknown = 3,
        .steps = usual_steps,
        .before = {"bos_token", "<s>"},
        .after = {"eos_token", "</s>"},
        .special = {{"bos_token", "<s>"},
                    {"eos_token", "</s>"},
                    {"unk_token", "<unk>"},
                    {"sep_token", "</s>"},
                    {"pad_token", "<pad>"},
                    {"cls_token", "<s>"},
                    {"mask_token", "<mask>"}},
    },
    {
        .class = "CamembertTokenizer",
        .model_types = {"camembert"},
        .unigram = true,
        .dropped = 1,
        .front = {{NULL, "<s>NOTUSED"},
                  {"pad_token", "<pad>"},
                  {NULL, "</s>NOTUSED"},
                  {"unk_token", "<unk>"},
                  {NULL, "<unk>NOTUSED"}},
        .back = {{"mask_token", "<mask>"}},
        .unknown = 3,
        .steps = usual_steps,
        .before = {"bos_token", "<s>"},
        .after = {"eos_token", "</s>"},
        .special = {{"bos_token", "<s>"},
                    {"eos_token", "</s>"},
                    {"unk_token", "<unk>"},
                    {"sep_token", "</s>"},
                    {"pad_token", "<pad>"},
                    {"cls_token", "<s>"},
                    {"mask_token", "<mask>"}},
        .mask_takes_space = true,
    },
    {
        .class = "DebertaV2Tokenizer",
        .mask_is_extra = true,
        .model_types = {"deberta-v2"},
        .unigram = true,
        .unknown = -1,
        .steps = deberta_steps,
        .before = {"cls_token", "[CLS]"},
        .after = {"sep_token", "[SEP]"},
        .special = {{"bos_token", "[CLS]"},
                    {"eos_token", "[SEP]"},
                    {"unk_token", "[UNK]"},
                    {"sep_token", "[SEP]"},
                    {"pad_token", "[PAD]"},
                    {"cls_token", "[CLS]"},
                    {"mask_token", "[MASK]"}},
    },
};

enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

static mgk_span name_of(const mgk_notes *notes, role token)
{
    return token.key ? mgk_notes_name(notes, token.key, token.usual)
                     : (mgk_span){token.usual, strlen(token.usual)};
}

/* Adds tokens that are no pieces. */
static mgk_status add_roles(const mgk_notes *notes, const role *roles, mgk_tokenizer *tokenizer)
{
    for (size_t i = 0; i < MOST_ROLES && roles[i].usual; i++) {
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

static mgk_status add_unigram(const family *kind, const mgk_notes *notes,
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

static mgk_status add_bpe(const family *kind, const mgk_notes *notes, const mgk_piece_model *model,
                          mgk_tokenizer *tokenizer)
{
    tokenizer->model = &mgk_bpe_model;
    tokenizer->bpe.fuse_unknown = tokenizer->bpe.byte_fallback = true;
    for (size_t id = 0; id < mgk_piece_count(model); id++) {
        const mgk_piece *piece = mgk_piece_at(model, id);
        TRY(mgk_vocabulary_set(&tokenizer->vocabulary, (int64_t)id, piece->text));
    }
    /* Llama's class names no unknown token. */
    if (kind->steps != llama_steps)
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

static mgk_status add_tokens(const family *kind, const mgk_notes *notes,
                             const mgk_piece_model *model, mgk_tokenizer *tokenizer)
{
    TRY(mgk_notes_add_tokens(notes, tokenizer));
    for (size_t i = 0; i < MOST_ROLES && kind->special[i].usual; i++) {
        role token = kind->special[i];
        bool mask = strcmp(token.key, "mask_token") == 0;
        TRY(mgk_notes_add_special(notes, token.key, token.usual, mask && kind->mask_takes_space,
                                  tokenizer));
    }
    if (kind->mask_is_extra)
        TRY(add_mask(notes, tokenizer));
    TRY(add_control(model, tokenizer));
    return mgk_notes_add_others(notes, tokenizer);
}

static mgk_status add_to_frame(const mgk_notes *notes, const family *kind, role token,
                               const char *option, bool usual, mgk_tokenizer *tokenizer,
                               mgk_buffer *side)
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

static mgk_status build(const family *kind, const mgk_notes *notes, const mgk_piece_model *model,
                        mgk_tokenizer *tokenizer)
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
static mgk_status family_of_model(mgk_span config, int *out)
{
    cJSON *tree;
    char quoted[MGK_QUOTE_SIZE];
    *out = -1;
    if (config.size == 0)
        return STATUS_OK;
    TRY(mgk_json_parse_object(config.data, config.size, &tree));
    mgk_span type = mgk_json_text(cJSON_GetObjectItemCaseSensitive(tree, "model_type"));
    for (int i = 0; i < FAMILIES && type.data; i++)
        for (size_t k = 0; families[i].model_types[k]; k++)
            if (mgk_span_equals(type, families[i].model_types[k]))
                *out = i;
    if (type.data)
        mgk_quote(type, quoted);
    bool unknown = type.data && *out < 0;
    cJSON_Delete(tree);
    if (!unknown)
        return STATUS_OK;
    return mgk_fail(STATUS_UNSUPPORTED,
                    "which ids a model of the type \"%s\" gives to pieces of SentencePiece is not "
                    "known: its tokenizer.json is needed",
                    quoted);
}

static mgk_status find_family(const mgk_tokenizer_notes *texts, const mgk_notes *notes, int *out)
{
    const char *known[FAMILIES + 1] = {NULL};
    for (int i = 0; i < FAMILIES; i++)
        known[i] = families[i].class;
    TRY(mgk_notes_class(notes, known, out));
    return *out < 0 ? family_of_model(texts->model, out) : STATUS_OK;
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
                    : build(&families[which], &notes, model, tokenizer));
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
