/* SPDX-License-Identifier: MIT */
/* Models of SentencePiece and llama2.c's tokenizer: which class reads them, and damaged files. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "data/tokenizer_case.h"

static const char top[] = MGK_TEST_GOLDEN "/tokenizers";

static mgk_mapping map_golden(const char *name)
{
    char path[512];
    mgk_mapping file;
    snprintf(path, sizeof(path), "%s/%s", top, name);
    assert_ok(mgk_map_file(path, &file));
    return file;
}

/* Writes a golden file in the test's folder under another name. */
static const char *copy_golden(void **state, const char *golden, const char *name)
{
    mgk_mapping file = map_golden(golden);
    const char *path = write_bytes(state, name, file.data, file.size);
    mgk_unmap_file(&file);
    return path;
}

/* The pieces of one file have other ids in each class. */
static void the_class_decides(void **state)
{
    static const struct {
        const char *config, *model;
        int32_t id; /* of piece 3 */
        size_t before, after;
    } rows[] = {
        {"{\"tokenizer_class\":\"XLMRobertaTokenizerFast\"}", "{}", 4, 1, 1},
        {"{\"tokenizer_class\":\"CamembertTokenizer\"}", "{}", 7, 1, 1},
        {"{}", "{\"model_type\":\"xlm-roberta\"}", 4, 1, 1},
        {"{\"tokenizer_class\":\"CamembertTokenizer\"}", "{\"model_type\":\"t5\"}", 7, 1, 1},
        {"{}", "{}", 3, 0, 0},
    };
    const char *path = copy_golden(state, "xlm-roberta/sentencepiece.bpe.model", "spiece.model");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        write_text(state, "tokenizer_config.json", rows[i].config);
        write_text(state, "config.json", rows[i].model);
        mgk_tokenizer *tokenizer = tokenizer_of(path);
        mgk_token_frame frame = mgk_tokenizer_frame(tokenizer);
        assert_int_equal(frame.before_count, rows[i].before);
        assert_int_equal(frame.after_count, rows[i].after);
        assert_string_equal(mgk_tokenizer_text(tokenizer, rows[i].id), " ");
        assert_string_not_equal(mgk_tokenizer_text(tokenizer, rows[i].id + 1), " ");
        mgk_tokenizer_close(tokenizer);
    }
    write_text(state, "config.json", "{\"model_type\":\"pegasus\"}");
    assert_closed(path, STATUS_UNSUPPORTED, "a model of the type \"pegasus\"");
    write_text(state, "tokenizer_config.json", "{\"tokenizer_class\":\"PegasusTokenizer\"}");
    assert_closed(path, STATUS_UNSUPPORTED, "\"PegasusTokenizer\" needs its tokenizer.json");
    write_text(state, "tokenizer_config.json", "{\"tokenizer_class\":\"LlamaTokenizer\"}");
    assert_closed(path, STATUS_UNSUPPORTED,
                  "LlamaTokenizer with a model of SentencePiece that is "
                  "Unigram");
}

/* Tokenizers of pieces have a file name each; tokenizer.json comes first. */
static void folders_offer_models_of_pieces(void **state)
{
    static const char *const names[] = {"tokenizer.model", "spiece.model",
                                        "sentencepiece.bpe.model", "spm.model"};
    const char *folder = path_of(state, "model");
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char name[64];
        snprintf(name, sizeof(name), "model/%s", names[i]);
        const char *path = copy_golden(state, "pieces-bpe/tokenizer.model", name);
        mgk_tokenizer_close(tokenizer_of(folder));
        assert_int_equal(unlink(path), 0);
        assert_false(mgk_tokenizer_in_folder(folder));
    }
    copy_golden(state, "marian/source.spm", "model/source.spm");
    assert_false(mgk_tokenizer_in_folder(folder));
    assert_closed(path_of(state, "model/source.spm"), STATUS_IO, "vocab.json");
    copy_golden(state, "marian/vocab.json", "model/vocab.json");
    mgk_tokenizer *tokenizer = tokenizer_of(folder);
    assert_int_equal(mgk_tokenizer_frame(tokenizer).after_count, 1);
    mgk_tokenizer_close(tokenizer);
    copy_golden(state, "gpt2/tokenizer.json", "model/tokenizer.json");
    tokenizer = tokenizer_of(folder);
    assert_int_equal(mgk_tokenizer_vocabulary(tokenizer), 900);
    mgk_tokenizer_close(tokenizer);
}

/* Settings of tokenizer_config.json that change ids. */
static void settings_change_steps(void **state)
{
    const char *path = copy_golden(state, "llama/tokenizer.model", "tokenizer.model");
    static const struct {
        const char *config;
        size_t before, after;
        int32_t first;
    } rows[] = {
        {"{\"tokenizer_class\":\"LlamaTokenizer\"}", 1, 0, 1},
        {"{\"tokenizer_class\":\"LlamaTokenizer\",\"add_bos_token\":false,\"add_eos_token\":true}",
         0, 1, 0},
        {"{\"tokenizer_class\":\"LlamaTokenizer\",\"bos_token\":\"</s>\"}", 1, 0, 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        write_text(state, "tokenizer_config.json", rows[i].config);
        mgk_tokenizer *tokenizer = tokenizer_of(path);
        mgk_token_frame frame = mgk_tokenizer_frame(tokenizer);
        assert_int_equal(frame.before_count, rows[i].before);
        assert_int_equal(frame.after_count, rows[i].after);
        if (frame.before_count > 0)
            assert_int_equal(frame.before[0], rows[i].first);
        mgk_tokenizer_close(tokenizer);
    }
    write_text(state, "tokenizer_config.json",
               "{\"tokenizer_class\":\"LlamaTokenizer\",\"add_prefix_space\":false}");
    mgk_tokenizer *without = tokenizer_of(path);
    write_text(state, "tokenizer_config.json", "{\"tokenizer_class\":\"LlamaTokenizer\"}");
    mgk_tokenizer *with = tokenizer_of(path);
    mgk_token_encoder *encoder;
    mgk_buffer ids = {0};
    for (int i = 0; i < 2; i++) {
        ids.size = 0;
        assert_ok(mgk_token_encoder_open(i ? with : without, &encoder));
        assert_ok(mgk_token_encode(encoder, "the", 3, &ids));
        const char *first = mgk_tokenizer_text(with, *(const int32_t *)(const void *)ids.data);
        assert_true((first[0] == ' ') == (i == 1));
        mgk_token_encoder_close(encoder);
    }
    mgk_buffer_free(&ids);
    mgk_tokenizer_close(with);
    mgk_tokenizer_close(without);
}

static void rewrite(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Cut anywhere, or with a byte that is another, a file is refused or read, and does no harm. */
static void damaged_files_do_no_harm(void **state)
{
    enum { PLACES = 120 };
    static const char *const files[][2] = {{"xlm-roberta/sentencepiece.bpe.model", "{}"},
                                           {"llama/tokenizer.model", "LlamaTokenizer"},
                                           {"llama2c/tokenizer.bin", "{}"}};
    for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
        mgk_mapping whole = map_golden(files[f][0]);
        const char *path = write_text(state, "model", "");
        char *bytes, config[64];
        assert_ok(mgk_alloc(whole.size, 1, &bytes));
        snprintf(config, sizeof(config), "{\"tokenizer_class\":\"%s\"}", files[f][1]);
        write_text(state, "tokenizer_config.json", files[f][1][0] == '{' ? "{}" : config);
        for (size_t i = 0; i < PLACES; i++) {
            mgk_tokenizer *tokenizer;
            size_t place = whole.size * i / PLACES;
            memcpy(bytes, whole.data, whole.size);
            bytes[place] = (char)(bytes[place] ^ (1 << i % 8));
            for (int cut = 0; cut < 2; cut++) {
                rewrite(path, bytes, cut ? place + 1 : whole.size);
                if (mgk_tokenizer_open(path, &tokenizer) == STATUS_OK)
                    mgk_tokenizer_close(tokenizer);
                else
                    assert_non_null(strstr(mgk_fail_message(), "model: "));
            }
        }
        mgk_free(bytes);
        mgk_unmap_file(&whole);
    }
}

/* The texts of tokens, put together, are the text again; that of byte tokens is their byte. */
static void tokens_together_are_the_text(void **state)
{
    static const char text[] = "The walker's  Gr\xc3\xb6\xc3\x9f"
                               "e, 1999!\n\xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80 x";
    static const char *const kinds[] = {"gpt2",  "llama3",       "phi",   "falcon",     "whisper",
                                        "llama", "llama-legacy", "gemma", "pieces-bpe", "llama2c"};
    (void)state;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        char path[512], joined[512] = "", expected[512] = "";
        mgk_token_encoder *encoder;
        mgk_buffer ids = {0};
        snprintf(path, sizeof(path), "%s/%s", top, kinds[k]);
        mgk_tokenizer *tokenizer = tokenizer_of(path);
        assert_ok(mgk_token_encoder_open(tokenizer, &encoder));
        bool bytes = k >= 5; /* SentencePiece: a space in front, and what has no piece as bytes */
        assert_ok(mgk_token_encode(encoder, text, sizeof(text) - 1, &ids));
        const int32_t *id = (const int32_t *)(const void *)ids.data;
        for (size_t i = 0, used = 0; i < ids.size / sizeof(*id); i++) {
            const char *token = mgk_tokenizer_text(tokenizer, id[i]);
            unsigned byte;
            while (*token) {
                if (sscanf(token, "<0x%2X>", &byte) == 1)
                    joined[used++] = (char)byte, token += 6;
                else if (token[0] == '\\' && token[1] == 'n')
                    joined[used++] = '\n', token += 2;
                else
                    joined[used++] = *token++;
            }
            joined[used] = '\0';
        }
        bool prefixed = bytes && strcmp(kinds[k], "gemma") != 0;
        /* SentencePiece alone leaves double spaces out. */
        snprintf(expected, sizeof(expected), "%s%s", prefixed ? " " : "", text);
        if (strcmp(kinds[k], "pieces-bpe") == 0) {
            char *two = strstr(expected, "  G");
            memmove(two, two + 1, strlen(two));
        }
        assert_string_equal(joined, expected);
        mgk_buffer_free(&ids);
        mgk_token_encoder_close(encoder);
        mgk_tokenizer_close(tokenizer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(the_class_decides),
        folder_test(folders_offer_models_of_pieces),
        folder_test(settings_change_steps),
        folder_test(damaged_files_do_no_harm),
        cmocka_unit_test(tokens_together_are_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
