/* SPDX-License-Identifier: MIT */
/* Tokenizers of plain vocabularies, and the files that accompany them. */
#include <unistd.h>

#include "data/tokenizer_case.h"

/* Tokens that are not in the plain vocabulary come from other files in the folder. */
static void added_tokens_of_plain_vocabularies_are_read(void **state)
{
    write_text(state, "merges.txt", "a b\n");
    const char *path = write_text(state, "vocab.json",
                                  "{\"a\":0,\"b\":1,\"ab\":2,\"<|endoftext|>\":3,\"\\u0120\":4}");
    write_text(state, "added_tokens.json", "{\"<new>\":6,\"<sep>\":5}");
    write_text(state, "special_tokens_map.json",
               "{\"additional_special_tokens\":[{\"content\":\"<sep>\",\"lstrip\":true}],"
               "\"eos_token\":\"<|endoftext|>\"}");
    mgk_tokenizer *tokenizer = tokenizer_of(path);
    assert_int_equal(mgk_tokenizer_vocabulary(tokenizer), 7);
    assert_string_equal(mgk_tokenizer_text(tokenizer, 6), "<new>");
    assert_encoded(tokenizer, "ab <sep>a <new><|endoftext|>", 2, 5, 0, 4, 6, 3);
    assert_int_equal(mgk_tokenizer_frame(tokenizer).before_count, 0);
    mgk_tokenizer_close(tokenizer);
    write_text(
        state, "tokenizer_config.json",
        "{\"tokenizer_class\":\"GPT2Tokenizer\",\"add_bos_token\":true,\"bos_token\":\"<s>\","
        "\"added_tokens_decoder\":{\"5\":{\"content\":\"<s>\",\"special\":true},"
        "\"7\":{\"content\":\"<r>\",\"rstrip\":true}}}"); /* newer than the other files */
    tokenizer = tokenizer_of(path);
    assert_int_equal(mgk_tokenizer_vocabulary(tokenizer), 8);
    assert_encoded(tokenizer, "<r> a<s>", 7, 0, 5);
    assert_int_equal(mgk_tokenizer_frame(tokenizer).before_count, 1);
    assert_int_equal(mgk_tokenizer_frame(tokenizer).before[0], 5);
    assert_int_equal(mgk_tokenizer_frame(tokenizer).after_count, 0);
    mgk_tokenizer_close(tokenizer);
}

/* In WordPiece, special tokens are found in the original text, other added tokens in normalized
 * text. */
static void added_tokens_of_wordpiece(void **state)
{
    const char *path = write_text(state, "vocab.txt", "[UNK]\n[SEP]\na\n");
    write_text(state, "added_tokens.json", "{\"[CLS]\":3,\"New\":4,\"[X]\":5}");
    write_text(state, "tokenizer_config.json", "{\"additional_special_tokens\":[\"[X]\"]}");
    mgk_tokenizer *tokenizer = tokenizer_of(path);
    assert_encoded(tokenizer, "a NEW[X][x]", 2, 4, 5, 0, 0, 0);
    assert_int_equal(mgk_tokenizer_frame(tokenizer).before[0], 3);
    mgk_tokenizer_close(tokenizer);
}

static void what_would_change_ids_is_refused(void **state)
{
    static const struct {
        const char *file, *text;
        mgk_status status;
        const char *message;
    } cases[] = {
        {"tokenizer_config.json", "{\"additional_special_tokens\":[\"<sep>\"]}", STATUS_UNSUPPORTED,
         "vocab.json: the special token \"<sep>\" has no id"},
        {"tokenizer_config.json", "{\"pad_token\":\"<pad>\"}", STATUS_UNSUPPORTED,
         "\"<pad>\" has no"},
        {"tokenizer_config.json", "{\"split_special_tokens\":true}", STATUS_UNSUPPORTED,
         "\"split_special_tokens\" is not known"},
        {"tokenizer_config.json", "{\"add_eos_token\":true,\"eos_token\":\"z\"}", STATUS_FORMAT,
         "the vocabulary has no \"z\""},
        {"tokenizer_config.json", "{\"add_bos_token\":1}", STATUS_FORMAT, "not true or false"},
        {"tokenizer_config.json",
         "{\"tokenizer_class\":\"RobertaTokenizer\",\"add_bos_token\":true}", STATUS_UNSUPPORTED,
         "\"add_bos_token\" is not known"},
        {"tokenizer_config.json", "{\"added_tokens_decoder\":{\"x\":{\"content\":\"y\"}}}",
         STATUS_FORMAT, "\"added_tokens_decoder\": expected ids"},
        {"tokenizer_config.json", "{\"added_tokens_decoder\":[7]}", STATUS_FORMAT, "expected ids"},
        {"tokenizer_config.json", "{\"added_tokens_decoder\":{\"7\":{}}}", STATUS_FORMAT,
         "without"},
        {"tokenizer_config.json", "{\"added_tokens_decoder\":{\"1\":{\"content\":\"y\"}}}",
         STATUS_FORMAT, "added token \"y\": its id 1 is that of \"b\""},
        {"added_tokens.json", "{\"y\":1}", STATUS_FORMAT, "added token \"y\": its id 1 is that of"},
        {"added_tokens.json", "{\"y\":-1}", STATUS_FORMAT, "id -1 is not in"},
        {"added_tokens.json", "{\"y\":\"1\"}", STATUS_FORMAT,
         "added_tokens.json: \"y\": the id is"},
        {"added_tokens.json", "[]", STATUS_FORMAT, "added_tokens.json: not a JSON object"},
        {"special_tokens_map.json", "{", STATUS_FORMAT,
         "special_tokens_map.json: not a JSON object"},
    };
    const char *path = write_text(state, "vocab.json", "{\"a\":0,\"b\":1}");
    write_text(state, "merges.txt", "#version: 0.2\n");
    mgk_tokenizer_close(tokenizer_of(path));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *file = write_text(state, cases[i].file, cases[i].text);
        assert_closed(path, cases[i].status, cases[i].message);
        assert_int_equal(unlink(file), 0);
    }
}

/* The class determines how transformers reads such files. */
static void classes_that_are_not_known_are_refused(void **state)
{
    static const char *const vocabularies[] = {"[UNK]\n[CLS]\n[SEP]\na\n", "<unk>\na\n"};
    static const struct {
        const char *config;
        bool known[2];
    } cases[] = {
        {"{}", {true, true}},
        {"{\"tokenizer_class\":null}", {true, true}},
        {"{\"tokenizer_class\":\"BertTokenizer\"}", {true, false}},
        {"{\"tokenizer_class\":\"DistilBertTokenizerFast\"}", {true, false}},
        {"{\"tokenizer_class\":\"BertJapaneseTokenizer\"}", {false, false}},
        {"{\"tokenizer_class\":\"TransfoXLTokenizer\"}", {false, true}},
        {"{\"tokenizer_class\":\"CanineTokenizer\"}", {false, false}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t v = 0; v < 2; v++) {
            const char *path = write_text(state, "vocab.txt", vocabularies[v]);
            write_text(state, "tokenizer_config.json", cases[i].config);
            if (cases[i].known[v])
                mgk_tokenizer_close(tokenizer_of(path));
            else
                assert_closed(path, STATUS_UNSUPPORTED, "needs its tokenizer.json");
        }
    const char *path = write_text(state, "vocab.txt", vocabularies[0]);
    write_text(state, "tokenizer_config.json", "{\"do_basic_tokenize\":false}");
    assert_closed(path, STATUS_UNSUPPORTED, "\"do_basic_tokenize\" is false");
}

/* The letters of ESM: each is a token wherever it stands, and words of others are unknown. */
static void letters_of_proteins_are_tokens(void **state)
{
    static const char *const notes[][2] = {
        {"tokenizer_config.json", "{\"tokenizer_class\":\"EsmTokenizer\"}"},
        {"config.json", "{\"model_type\":\"esm\"}"},
    };
    const char *path =
        write_text(state, "vocab.txt", "<cls>\n<pad>\n<eos>\n<unk>\nL\nA\n.\n<null_1>\nA\n<mask>");
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        const char *note = write_text(state, notes[i][0], notes[i][1]);
        mgk_tokenizer *tokenizer = tokenizer_of(path);
        assert_int_equal(mgk_tokenizer_vocabulary(tokenizer), 10);
        assert_string_equal(mgk_tokenizer_kind(tokenizer), "letters");
        assert_encoded(tokenizer, "LLA.L", 4, 4, 8, 6, 4);
        assert_encoded(tokenizer, " L A\r\nL<mask>A<cls><null_1>\n", 4, 8, 4, 9, 8, 0, 7);
        assert_encoded(tokenizer, "LxyzA J J la", 4, 3, 8, 3, 3, 3);
        assert_int_equal(mgk_tokenizer_frame(tokenizer).before[0], 0);
        assert_int_equal(mgk_tokenizer_frame(tokenizer).after[0], 2);
        mgk_tokenizer_close(tokenizer);
        assert_int_equal(unlink(note), 0);
    }
    /* A configuration may say that nothing ends a sequence. */
    write_text(state, notes[0][0], "{\"tokenizer_class\":\"EsmTokenizer\",\"eos_token\":null}");
    mgk_tokenizer *endless = tokenizer_of(path);
    assert_int_equal(mgk_tokenizer_frame(endless).before_count, 1);
    assert_int_equal(mgk_tokenizer_frame(endless).after_count, 0);
    mgk_tokenizer_close(endless);
    write_text(state, notes[0][0], "{}");
    /* A list of another name has nothing to do with the model beside it. */
    static const char *const models[] = {"{\"model_type\":\"esm\"}", "[]"};
    for (size_t i = 0; i < 2; i++) {
        write_text(state, "config.json", models[i]);
        mgk_tokenizer *own = tokenizer_of(write_text(state, "words.txt", "<unk>\nL\n<eos>\n"));
        assert_string_equal(mgk_tokenizer_kind(own), "words");
        mgk_tokenizer_close(own);
    }
    write_text(state, "config.json", "{}");
    mgk_tokenizer *words = tokenizer_of(path = write_text(state, "vocab.txt", "<unk>\nL\n<eos>\n"));
    assert_string_equal(mgk_tokenizer_kind(words), "words");
    mgk_tokenizer_close(words);
    write_text(state, notes[0][0], notes[0][1]);
    assert_closed(path, STATUS_FORMAT, "the vocabulary has no \"<cls>\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(added_tokens_of_plain_vocabularies_are_read),
        folder_test(added_tokens_of_wordpiece),
        folder_test(what_would_change_ids_is_refused),
        folder_test(classes_that_are_not_known_are_refused),
        folder_test(letters_of_proteins_are_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
