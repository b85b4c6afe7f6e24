/* SPDX-License-Identifier: MIT */
/* Reads plain vocabulary files and the files that accompany them. */
#include <string.h>

#include "data/tokenizers/tokenizer_notes.h"

static mgk_status add_to_frame(const mgk_tokenizer *tokenizer, mgk_span name, mgk_buffer *side)
{
    int32_t id;
    TRY(mgk_notes_find(name, tokenizer, &id));
    return mgk_buffer_append(side, &id, sizeof(id));
}

static mgk_status set_frame(mgk_tokenizer *tokenizer, mgk_span first, mgk_span last)
{
    TRY(add_to_frame(tokenizer, first, &tokenizer->before));
    return add_to_frame(tokenizer, last, &tokenizer->after);
}

static mgk_status read_token_lines(mgk_span text, mgk_vocabulary *vocabulary)
{
    mgk_lines lines = {.rest = text};
    mgk_span line;
    while (mgk_next_line(&lines, &line))
        TRY(mgk_vocabulary_set(vocabulary, (int64_t)lines.number - 1, line));
    return STATUS_OK;
}

/* Refuses options that would change ids but have no effect on this kind of tokenizer. */
static mgk_status expect_unset(const mgk_notes *notes, const char *key)
{
    bool set;
    TRY(mgk_json_flag(notes->config, key, false, &set));
    if (set)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "tokenizer_config.json: \"%s\" is not known here: its tokenizer.json is "
                        "needed",
                        key);
    return STATUS_OK;
}

/* The usual names of special tokens, for BERT and for MPNet. */
static const char *const bert_names[][2] = {
    {"cls_token", "[CLS]"}, {"sep_token", "[SEP]"},   {"unk_token", "[UNK]"},
    {"pad_token", "[PAD]"}, {"mask_token", "[MASK]"},
};
static const char *const mpnet_names[][2] = {
    {"cls_token", "<s>"},   {"sep_token", "</s>"},    {"unk_token", "[UNK]"},
    {"pad_token", "<pad>"}, {"mask_token", "<mask>"},
};

static mgk_status configure_wordpiece(const mgk_notes *notes, mgk_tokenizer *tokenizer)
{
    static const char *const known[] = {
        "MPNetTokenizer",   "BertTokenizer",       "DistilBertTokenizer",
        "ElectraTokenizer", "MobileBertTokenizer", NULL,
    };
    enum { MPNET };
    mgk_bert_steps bert = {.clean = true};
    bool basic;
    int class;
    TRY(mgk_notes_class(notes, known, &class));
    const bool mpnet = class == MPNET;
    const char *const(*names)[2] = mpnet ? mpnet_names : bert_names;
    TRY(mgk_json_flag(notes->config, "do_basic_tokenize", true, &basic));
    if (!basic)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "tokenizer_config.json: \"do_basic_tokenize\" is false, which is not "
                        "known here: its tokenizer.json is needed");
    TRY(expect_unset(notes, "add_bos_token"));
    TRY(expect_unset(notes, "add_eos_token"));
    TRY(mgk_json_flag(notes->config, "do_lower_case", true, &bert.lower));
    TRY(mgk_json_flag(notes->config, "strip_accents", bert.lower, &bert.accents));
    TRY(mgk_json_flag(notes->config, "tokenize_chinese_chars", true, &bert.ideographs));
    TRY(mgk_tokenizer_add_bert(tokenizer, bert));
    TRY(mgk_notes_add_tokens(notes, tokenizer));
    TRY(mgk_notes_find(mgk_notes_name(notes, "unk_token", "[UNK]"), tokenizer,
                       &tokenizer->unknown));
    TRY(set_frame(tokenizer, mgk_notes_name(notes, names[0][0], names[0][1]),
                  mgk_notes_name(notes, names[1][0], names[1][1])));
    for (size_t i = 0; i < sizeof(bert_names) / sizeof(bert_names[0]); i++) {
        bool takes_space = mpnet && strcmp(names[i][0], "mask_token") == 0;
        TRY(mgk_notes_add_special(notes, names[i][0], names[i][1], takes_space, tokenizer));
    }
    return mgk_tokenizer_add_stage(tokenizer, (mgk_cut_stage){.kind = MGK_CUT_BERT});
}

typedef mgk_status (*configure)(const mgk_notes *notes, mgk_tokenizer *tokenizer);

static mgk_status read_notes(const mgk_tokenizer_notes *texts, configure kind,
                             mgk_tokenizer *tokenizer)
{
    mgk_notes notes;
    TRY(mgk_notes_open(texts, &notes));
    mgk_status status = expect_unset(&notes, "split_special_tokens");
    if (status == STATUS_OK)
        status = kind(&notes, tokenizer);
    if (status == STATUS_OK)
        status = mgk_notes_add_others(&notes, tokenizer);
    mgk_notes_close(&notes);
    return status;
}

mgk_status mgk_tokenizer_read_wordpiece(mgk_span vocabulary, const mgk_tokenizer_notes *notes,
                                        mgk_tokenizer *tokenizer)
{
    enum { LONGEST_WORD = 100 };
    tokenizer->model = &mgk_wordpiece;
    tokenizer->longest_word = LONGEST_WORD;
    TRY(read_token_lines(vocabulary, &tokenizer->vocabulary));
    return read_notes(notes, configure_wordpiece, tokenizer);
}

/* Adds the tokens of the vocabulary, each of which is found wherever it stands. */
static mgk_status add_vocabulary(mgk_tokenizer *tokenizer)
{
    for (int32_t id = 0; id < mgk_vocabulary_size(&tokenizer->vocabulary); id++) {
        const mgk_span token = mgk_vocabulary_token(&tokenizer->vocabulary, id);
        const bool last = mgk_vocabulary_find(&tokenizer->vocabulary, token) == id;
        if (last && mgk_vocabulary_find(&tokenizer->named, token) < 0)
            TRY(mgk_tokenizer_add_token(tokenizer, token, (mgk_added_token){.id = id}, false));
    }
    return STATUS_OK;
}

/* Between the tokens all words are unknown. */
static mgk_status configure_esm(const mgk_notes *notes, mgk_tokenizer *tokenizer)
{
    TRY(mgk_notes_add_tokens(notes, tokenizer));
    TRY(add_vocabulary(tokenizer));
    TRY(mgk_notes_find(mgk_notes_name(notes, "unk_token", "<unk>"), tokenizer,
                       &tokenizer->unknown));
    TRY(add_to_frame(tokenizer, mgk_notes_name(notes, "cls_token", "<cls>"), &tokenizer->before));
    if (mgk_notes_lack(notes, "eos_token"))
        return STATUS_OK;
    return add_to_frame(tokenizer, mgk_notes_name(notes, "eos_token", "<eos>"), &tokenizer->after);
}

/* Whether a list of words, one of which is "<unk>", is the vocabulary of an ESM. */
static mgk_status is_esm(const mgk_tokenizer_notes *texts, bool *answer)
{
    static const char *const known[] = {"TransfoXLTokenizer", "EsmTokenizer", NULL};
    mgk_notes notes;
    cJSON *model = NULL;
    mgk_span type = {NULL, 0};
    int class;
    TRY(mgk_notes_open(texts, &notes));
    mgk_status status = mgk_notes_class(&notes, known, &class);
    mgk_notes_close(&notes);
    if (status == STATUS_OK && class < 0)
        status = mgk_notes_model_type(texts, &model, &type);
    *answer = status == STATUS_OK && (class == 1 || mgk_span_equals(type, "esm"));
    cJSON_Delete(model);
    return status;
}

mgk_status mgk_tokenizer_read_word_list(mgk_span list, const mgk_tokenizer_notes *notes,
                                        mgk_tokenizer *tokenizer)
{
    bool esm;
    TRY(is_esm(notes, &esm));
    if (!esm)
        return mgk_tokenizer_read_words(list, tokenizer);
    tokenizer->model = &mgk_letters;
    TRY(read_token_lines(list, &tokenizer->vocabulary));
    return read_notes(notes, configure_esm, tokenizer);
}

static mgk_status read_merge_lines(mgk_span text, mgk_tokenizer *tokenizer)
{
    static const char heading[] = "#version";
    mgk_lines lines = {.rest = text};
    mgk_span line, left;
    while (mgk_next_line(&lines, &line)) {
        mgk_span right = line;
        if (line.size == 0 || (line.size >= sizeof(heading) - 1 &&
                               memcmp(line.data, heading, sizeof(heading) - 1) == 0))
            continue;
        mgk_next_field(&right, ' ', &left);
        if (!right.data || memchr(right.data, ' ', right.size))
            return mgk_fail(STATUS_FORMAT, "merges.txt: line %zu: expected two tokens",
                            lines.number);
        TRY(mgk_bpe_add_merge(tokenizer, left, right));
    }
    return STATUS_OK;
}

/* GPT-2 has no frame, RoBERTa and BART have <s> and </s>; the files of other tokenizers do not
 * describe the frame. */
static mgk_status is_roberta(const mgk_notes *notes, const mgk_tokenizer *tokenizer, bool *answer)
{
    static const char *const known[] = {"GPT2Tokenizer", "RobertaTokenizer", "BartTokenizer", NULL};
    int which;
    TRY(mgk_notes_class(notes, known, &which));
    *answer = which > 0;
    if (which < 0)
        *answer = mgk_vocabulary_find(&tokenizer->vocabulary, (mgk_span){"<s>", 3}) >= 0 &&
                  mgk_vocabulary_find(&tokenizer->vocabulary, (mgk_span){"</s>", 4}) >= 0;
    return STATUS_OK;
}

/* Sets GPT-2's frame, if it has one. */
static mgk_status configure_gpt2(const mgk_notes *notes, mgk_tokenizer *tokenizer)
{
    static const char end_of_text[] = "<|endoftext|>";
    bool first, last;
    TRY(mgk_json_flag(notes->config, "add_bos_token", false, &first));
    TRY(mgk_json_flag(notes->config, "add_eos_token", false, &last));
    if (first)
        TRY(add_to_frame(tokenizer, mgk_notes_name(notes, "bos_token", end_of_text),
                         &tokenizer->before));
    if (last)
        TRY(add_to_frame(tokenizer, mgk_notes_name(notes, "eos_token", end_of_text),
                         &tokenizer->after));
    return mgk_notes_add_special(notes, "eos_token", end_of_text, false, tokenizer);
}

static mgk_status configure_roberta(const mgk_notes *notes, mgk_tokenizer *tokenizer)
{
    static const char *const specials[][2] = {{"cls_token", "<s>"},
                                              {"sep_token", "</s>"},
                                              {"pad_token", "<pad>"},
                                              {"unk_token", "<unk>"}};
    TRY(expect_unset(notes, "add_bos_token"));
    TRY(expect_unset(notes, "add_eos_token"));
    TRY(set_frame(tokenizer, mgk_notes_name(notes, "cls_token", "<s>"),
                  mgk_notes_name(notes, "sep_token", "</s>")));
    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++)
        TRY(mgk_notes_add_special(notes, specials[i][0], specials[i][1], false, tokenizer));
    return mgk_notes_add_special(notes, "mask_token", "<mask>", true, tokenizer);
}

static mgk_status configure_bpe(const mgk_notes *notes, mgk_tokenizer *tokenizer)
{
    bool roberta, prefix;
    TRY(is_roberta(notes, tokenizer, &roberta));
    TRY(mgk_json_flag(notes->config, "add_prefix_space", false, &prefix));
    TRY(mgk_tokenizer_add_byte_level(tokenizer, prefix, true));
    TRY(mgk_notes_add_tokens(notes, tokenizer));
    return roberta ? configure_roberta(notes, tokenizer) : configure_gpt2(notes, tokenizer);
}

mgk_status mgk_tokenizer_read_bpe(const cJSON *vocabulary, mgk_span merges,
                                  const mgk_tokenizer_notes *notes, mgk_tokenizer *tokenizer)
{
    tokenizer->model = &mgk_bpe_model;
    tokenizer->bpe.of_bytes = tokenizer->byte_alphabet = true;
    TRY(mgk_json_vocabulary(vocabulary, &tokenizer->vocabulary));
    TRY(mgk_bpe_prepare(tokenizer));
    TRY(read_merge_lines(merges, tokenizer));
    return read_notes(notes, configure_bpe, tokenizer);
}
