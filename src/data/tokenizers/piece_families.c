/* SPDX-License-Identifier: MIT */
/* The steps and the vocabulary of each class, as in transformers 5. */
#include <string.h>

#include "data/tokenizers/piece_family.h"

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

const mgk_piece_family mgk_piece_families[] = {
    {
        .class = "LlamaTokenizer",
        .model_types = {"llama", "mistral"},
        .unknown = -1,
        .steps = llama_steps,
        .drops_unknown = true,
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

const size_t mgk_piece_family_count = sizeof(mgk_piece_families) / sizeof(mgk_piece_families[0]);
