/* Vocabularies in plain files, with tokenizer_config.json beside them for what they do not say. */
#include <string.h>

#include "data/tokenizer_json.h"

/* Parses the configuration; *tree is NULL where there is none. */
static mgk_status parse_config(mgk_span config, cJSON **tree)
{
    *tree = NULL;
    if (config.size == 0)
        return STATUS_OK;
    mgk_status status = mgk_json_parse_object(config.data, config.size, tree);
    return status == STATUS_OK ? status : mgk_fail_prefix(status, "tokenizer_config.json");
}

/* A special token: what the configuration calls it, or its usual name. */
static mgk_span name_of(const cJSON *config, const char *key, const char *usual)
{
    mgk_span name = mgk_json_text(cJSON_GetObjectItemCaseSensitive(config, key));
    return name.data ? name : (mgk_span){usual, strlen(usual)};
}

static mgk_status find_special(const mgk_tokenizer *tokenizer, mgk_span name, int32_t *id)
{
    char quoted[MGK_QUOTE_SIZE];
    *id = mgk_vocabulary_find(&tokenizer->vocabulary, name);
    if (*id < 0)
        return mgk_fail(STATUS_FORMAT, "the vocabulary has no \"%s\"", mgk_quote(name, quoted));
    return STATUS_OK;
}

/* Adds a special token that the vocabulary may have. */
static mgk_status add_special(mgk_tokenizer *tokenizer, mgk_span name, bool takes_space)
{
    mgk_added_token token = {.left = takes_space};
    token.id = mgk_vocabulary_find(&tokenizer->vocabulary, name);
    return token.id < 0 ? STATUS_OK : mgk_tokenizer_add_token(tokenizer, name, token, false);
}

static mgk_status set_frame(mgk_tokenizer *tokenizer, mgk_span first, mgk_span last)
{
    int32_t id;
    TRY(find_special(tokenizer, first, &id));
    TRY(mgk_buffer_append(&tokenizer->before, &id, sizeof(id)));
    TRY(find_special(tokenizer, last, &id));
    return mgk_buffer_append(&tokenizer->after, &id, sizeof(id));
}

static mgk_status read_token_lines(mgk_span text, mgk_vocabulary *vocabulary)
{
    mgk_lines lines = {.rest = text};
    mgk_span line;
    while (mgk_next_line(&lines, &line))
        TRY(mgk_vocabulary_set(vocabulary, (int64_t)lines.number - 1, line));
    return STATUS_OK;
}

static mgk_status configure_wordpiece(const cJSON *config, mgk_tokenizer *tokenizer)
{
    mgk_bert_steps bert = {.clean = true};
    mgk_span first = name_of(config, "cls_token", "[CLS]");
    mgk_span last = name_of(config, "sep_token", "[SEP]");
    mgk_span unknown = name_of(config, "unk_token", "[UNK]");
    TRY(mgk_json_flag(config, "do_lower_case", true, &bert.lower));
    TRY(mgk_json_flag(config, "strip_accents", bert.lower, &bert.accents));
    TRY(mgk_json_flag(config, "tokenize_chinese_chars", true, &bert.ideographs));
    TRY(mgk_tokenizer_add_bert(tokenizer, bert));
    TRY(find_special(tokenizer, unknown, &tokenizer->unknown));
    TRY(set_frame(tokenizer, first, last));
    const mgk_span specials[] = {first, last, unknown, name_of(config, "pad_token", "[PAD]"),
                                 name_of(config, "mask_token", "[MASK]")};
    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++)
        TRY(add_special(tokenizer, specials[i], false));
    return mgk_tokenizer_add_stage(tokenizer, (mgk_cut_stage){.kind = MGK_CUT_BERT});
}

mgk_status mgk_tokenizer_read_wordpiece(mgk_span vocabulary, mgk_span config,
                                        mgk_tokenizer *tokenizer)
{
    enum { LONGEST_WORD = 100 };
    cJSON *tree;
    tokenizer->model = &mgk_wordpiece;
    tokenizer->longest_word = LONGEST_WORD;
    TRY(read_token_lines(vocabulary, &tokenizer->vocabulary));
    TRY(parse_config(config, &tree));
    mgk_status status = configure_wordpiece(tree, tokenizer);
    cJSON_Delete(tree);
    return status;
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

/* GPT-2 has no frame, RoBERTa <s> and </s>: of other tokenizers these files do not tell all. */
static mgk_status is_roberta(const cJSON *config, const mgk_tokenizer *tokenizer, bool *answer)
{
    mgk_span class = mgk_json_text(cJSON_GetObjectItemCaseSensitive(config, "tokenizer_class"));
    char quoted[MGK_QUOTE_SIZE];
    *answer = mgk_vocabulary_find(&tokenizer->vocabulary, (mgk_span){"<s>", 3}) >= 0 &&
              mgk_vocabulary_find(&tokenizer->vocabulary, (mgk_span){"</s>", 4}) >= 0;
    if (!class.data)
        return STATUS_OK;
    bool gpt2 =
        mgk_span_equals(class, "GPT2Tokenizer") || mgk_span_equals(class, "GPT2TokenizerFast");
    *answer = mgk_span_equals(class, "RobertaTokenizer") ||
              mgk_span_equals(class, "RobertaTokenizerFast");
    if (!gpt2 && !*answer)
        return mgk_fail(STATUS_UNSUPPORTED,
                        "tokenizer_class \"%s\" needs its tokenizer.json: of vocab.json, those of "
                        "GPT-2 and RoBERTa are known",
                        mgk_quote(class, quoted));
    return STATUS_OK;
}

static mgk_status configure_bpe(const cJSON *config, mgk_tokenizer *tokenizer)
{
    bool roberta, prefix;
    TRY(is_roberta(config, tokenizer, &roberta));
    TRY(mgk_json_flag(config, "add_prefix_space", false, &prefix));
    TRY(mgk_tokenizer_add_byte_level(tokenizer, prefix, true));
    if (!roberta)
        return add_special(tokenizer, name_of(config, "eos_token", "<|endoftext|>"), false);
    mgk_span first = name_of(config, "cls_token", "<s>"),
             last = name_of(config, "sep_token", "</s>");
    TRY(set_frame(tokenizer, first, last));
    TRY(add_special(tokenizer, first, false));
    TRY(add_special(tokenizer, last, false));
    TRY(add_special(tokenizer, name_of(config, "pad_token", "<pad>"), false));
    TRY(add_special(tokenizer, name_of(config, "unk_token", "<unk>"), false));
    return add_special(tokenizer, name_of(config, "mask_token", "<mask>"), true);
}

mgk_status mgk_tokenizer_read_bpe(const cJSON *vocabulary, mgk_span merges, mgk_span config,
                                  mgk_tokenizer *tokenizer)
{
    cJSON *tree;
    size_t lines = 0;
    tokenizer->model = &mgk_bpe;
    TRY(mgk_json_vocabulary(vocabulary, &tokenizer->vocabulary));
    for (size_t i = 0; i < merges.size; i++)
        lines += merges.data[i] == '\n';
    TRY(mgk_bpe_prepare(tokenizer, lines + 1));
    TRY(read_merge_lines(merges, tokenizer));
    TRY(parse_config(config, &tree));
    mgk_status status = configure_bpe(tree, tokenizer);
    cJSON_Delete(tree);
    return status;
}
