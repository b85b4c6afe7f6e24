/* SPDX-License-Identifier: MIT */
/* Text is tokenised by the tokenizer in the model's folder, or by the named one. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/schema/reader.h"
#include "tiny.h"

enum { N = 9 };

/* [UNK] 0, [CLS] 1, [SEP] 2, a 3, b 4. */
static const char vocabulary[] = "[UNK]\n[CLS]\n[SEP]\na\nb\n";

static const char *const text = "text_input.txt";
static const char *const model_path = "text_input/model.safetensors";
static const char *const own = "text_input/vocab.txt";
static const char *const store_path = "text_input.h5";

static void write_file(const char *path, const char *content)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int prepare(void **state)
{
    (void)state;
    mkdir("text_input", 0755);
    unlink(own);
    write_file(text, "a b A\n\nb b x a b a b a\nb\n");
    return 0;
}

static void save_model(int tokens)
{
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    config.vocabulary = tokens;
    tiny_save(&config, model_path);
}

static mgk_dump_options options(int samples)
{
    mgk_dump_options o = mgk_dump_options_default();
    o.job.force = true;
    o.job.threads = 1;
    o.model = model_path;
    o.output = store_path;
    o.input.text = &text;
    o.input.text_count = 1;
    o.input.samples = samples;
    return o;
}

/* The stored tokens of the sample with this number in the input. */
static void assert_tokens(int32_t number, const int32_t *expected, int32_t count)
{
    mgk_store_reader *reader;
    int32_t tokens[N], length, sample = 0;
    assert_ok(mgk_store_open(store_path, NULL, &reader));
    const mgk_store_description *store = mgk_store_describe(reader);
    while (sample < store->samples && store->sample_index[sample] != number)
        sample++;
    assert_true(sample < store->samples);
    assert_ok(mgk_store_read_tokens(reader, sample, tokens, &length));
    assert_int_equal(length, count);
    assert_memory_equal(tokens, expected, (size_t)count * sizeof(*tokens));
    mgk_store_close(reader);
}

#define assert_sample(number, ...)                        \
    assert_tokens(number, (const int32_t[]){__VA_ARGS__}, \
                  sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static void text_is_read_by_the_tokenizer_in_the_folder(void **state)
{
    (void)state;
    save_model(7); /* more than the tokenizer's */
    write_file(own, vocabulary);
    mgk_dump_options o = options(1);
    assert_done(mgk_dump_attention(&o, NULL));
    assert_sample(0, 1, 3, 4, 3, 4, 4, 0, 3, 2);
    o.input.lines = true;
    o.input.samples = 3;
    assert_done(mgk_dump_attention(&o, NULL));
    assert_sample(0, 1, 3, 4, 3, 2);
    assert_sample(1, 1, 4, 4, 0, 3, 4, 3, 4, 2);
    assert_sample(2, 1, 4, 2);
    o.input.samples = 4;
    assert_int_equal(mgk_dump_attention(&o, NULL), MGK_INPUT);
}

static void a_tokenizer_that_is_named_comes_first(void **state)
{
    (void)state;
    save_model(256);
    write_file(own, vocabulary);
    write_file("text_input.words", "<eos>\n<unk>\nb\na\n");
    mgk_dump_options o = options(1);
    o.input.tokenizer = "text_input.words";
    assert_done(mgk_dump_attention(&o, NULL));
    assert_sample(0, 3, 2, 1, 0, 0, 2, 2, 1, 3);
}

/* A tokenizer next to them belongs to another model. */
static void models_of_bytes_need_none(void **state)
{
    (void)state;
    save_model(256);
    write_file(own, vocabulary);
    mgk_dump_options o = options(3);
    o.input.lines = true;
    assert_done(mgk_dump_attention(&o, NULL));
    assert_sample(0, 'a', ' ', 'b', ' ', 'A');
    assert_sample(2, 'b');
}

/* A class token comes before bytes and before what a tokenizer makes, and counts towards N. */
static void texts_begin_with_the_class_token(void **state)
{
    (void)state;
    const mgk_job job = {.device = "cpu", .threads = 1};
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "softmax");
    mgk_network *network;
    const char *of_class;
    int32_t *tokens;
    int count;
    config.vocabulary = 257;
    config.classes = 2;
    config.pooling = MGK_POOLING_FIRST;
    config.class_token = true;
    tiny_save(&config, model_path);
    mgk_dump_options o = options(3);
    o.input.lines = true;
    assert_done(mgk_dump_attention(&o, NULL));
    assert_sample(0, 256, 'a', ' ', 'b', ' ', 'A');
    assert_sample(1, 256, 'b', ' ', 'b', ' ', 'x', ' ', 'a', ' ');
    assert_done(mgk_network_open(model_path, &job, false, &network));
    assert_done(mgk_network_tokenize_cut(network, "ab b", 4, 3, &tokens, &count));
    assert_int_equal(count, 3);
    assert_memory_equal(tokens, ((const int32_t[]){256, 'a', 'b'}), 3 * sizeof(*tokens));
    mgk_release(tokens);
    assert_done(mgk_network_token_text(network, 256, &of_class));
    assert_string_equal(of_class, "[CLS]");
    mgk_network_close(network);
    write_file(own, vocabulary);
    config.vocabulary = 6;
    tiny_save(&config, model_path);
    assert_done(mgk_dump_attention(&o, NULL));
    assert_sample(0, 5, 1, 3, 4, 3, 2);
    config.pooling = MGK_POOLING_TOKENS;
    assert_int_equal(mgk_config_resolve(&config), STATUS_USAGE);
}

static void assert_message(const mgk_dump_options *o, mgk_result expected, const char *part)
{
    assert_int_equal(mgk_dump_attention(o, NULL), expected);
    if (!strstr(mgk_error(), part))
        fail_msg("\"%s\", expected \"...%s...\"", mgk_error(), part);
}

/* A text in memory is encoded as a file is, and refused where a file is. */
static void text_in_memory(void **state)
{
    (void)state;
    static const int32_t expected[] = {1, 3, 4, 2};
    const mgk_job job = {.device = "cpu", .threads = 1};
    mgk_network *network;
    int32_t *tokens;
    int count;
    save_model(7);
    write_file(own, vocabulary);
    assert_done(mgk_network_open("text_input", &job, false, &network));
    assert_done(mgk_network_tokenize(network, "a b", 3, &tokens, &count));
    assert_int_equal(count, 4);
    assert_memory_equal(tokens, expected, sizeof(expected));
    mgk_release(tokens);
    assert_int_equal(mgk_network_tokenize(network, "a \xff b", 5, &tokens, &count), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "byte 0xff at offset 2"));
    assert_null(tokens);
    mgk_network_close(network);
}

/* What is cut is the text, not the tokens around it. */
static void text_in_memory_is_cut(void **state)
{
    (void)state;
    static const int32_t expected[][4] = {{1, 3, 2}, {1, 3, 4, 2}};
    const mgk_job job = {.device = "cpu", .threads = 1};
    mgk_network *network;
    int32_t *tokens;
    int count;
    const char *word;
    save_model(7);
    write_file(own, vocabulary);
    assert_done(mgk_network_open("text_input", &job, false, &network));
    for (int length = 3; length < 6; length++) {
        assert_done(mgk_network_tokenize_cut(network, "a b", 3, length, &tokens, &count));
        assert_int_equal(count, length < 4 ? length : 4);
        assert_memory_equal(tokens, expected[length > 3], (size_t)count * sizeof(*tokens));
        mgk_release(tokens);
    }
    assert_int_equal(mgk_network_tokenize_cut(network, "a b", 3, 2, &tokens, &count), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "length 2 leaves no room for text"));
    assert_int_equal(mgk_network_tokenize_cut(network, "a b", 3, 0, &tokens, &count), MGK_USAGE);
    assert_done(mgk_network_token_text(network, 1, &word));
    assert_string_equal(word, "[CLS]");
    assert_done(mgk_network_token_text(network, 6, &word)); /* more than the tokenizer's */
    assert_string_equal(word, "");
    mgk_network_close(network);
}

/* Texts in memory are samples like the lines of a file; their ends may be given. */
static void strings_are_samples(void **state)
{
    (void)state;
    static const char *const strings[] = {"a b A", "b b x a b a b a", "b\n a"};
    static const size_t sizes[] = {5, 15, 1};
    save_model(7);
    write_file(own, vocabulary);
    mgk_dump_options o = options(3);
    o.input.text = NULL;
    o.input.text_count = 0;
    o.input.strings = strings;
    o.input.string_count = 3;
    assert_done(mgk_dump_attention(&o, NULL));
    assert_sample(0, 1, 3, 4, 3, 2);
    assert_sample(1, 1, 4, 4, 0, 3, 4, 3, 4, 2);
    assert_sample(2, 1, 4, 3, 2);
    o.input.string_sizes = sizes;
    assert_done(mgk_dump_attention(&o, NULL));
    assert_sample(2, 1, 4, 2);
    save_model(256);
    assert_done(mgk_dump_attention(&o, NULL));
    assert_sample(2, 'b');
}

static void strings_that_are_refused(void **state)
{
    (void)state;
    static const char *const strings[] = {"a b", "", "a \xff b"};
    save_model(7);
    write_file(own, vocabulary);
    mgk_dump_options o = options(1);
    o.input.strings = strings;
    o.input.string_count = 2;
    assert_message(&o, MGK_USAGE, "expected exactly one of");
    o.input.text_count = 0;
    assert_message(&o, MGK_INPUT, "text 1: no tokens");
    o.input.strings = strings + 2;
    o.input.string_count = 1;
    assert_message(&o, MGK_INPUT, "text 0: byte 0xff at offset 2");
    o.input.strings = strings;
    o.input.lines = true;
    assert_message(&o, MGK_USAGE, "`lines` belongs to `text`");
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    save_model(4);
    mgk_dump_options o = options(1);
    assert_message(&o, MGK_INPUT, "has a vocabulary of 4 and its folder has no tokenizer");
    write_file(own, vocabulary);
    assert_message(&o, MGK_INPUT, "the tokenizer has 5 tokens, the model text_input/model");
    o.input.tokenizer = "text_input.absent";
    assert_message(&o, MGK_IO, "text_input.absent");
    o.input.tokenizer = text;
    assert_message(&o, MGK_INPUT, "text_input.txt: no tokenizer");
    write_file("text_input.ids", "0 1 2\n");
    o.input.text_count = 0;
    o.input.tokens = "text_input.ids";
    o.input.lines = true;
    assert_message(&o, MGK_USAGE, "`lines` belongs to `text`");
    o.input.tokens = NULL;
    o.input.lines = false;
    o.input.task = "lm";
    assert_message(&o, MGK_USAGE, "`tokenizer` belongs to `text` and `tokens`");
}

/* The text of the first token of sample 0; "": the store has none. */
static void assert_text(const char *expected)
{
    char texts[N][MGK_TOKEN_TEXT] = {""};
    mgk_store_reader *reader;
    assert_ok(mgk_store_open(store_path, NULL, &reader));
    if (mgk_store_describe(reader)->token_text.subword)
        assert_ok(mgk_store_read_token_text(reader, 0, texts));
    assert_string_equal(texts[0], expected);
    mgk_store_close(reader);
}

static void ids_get_their_text_where_there_is_one(void **state)
{
    (void)state;
    static const char *const ids = "text_input.ids";
    mgk_dump_options o = options(1);
    write_file(ids, "3 4 0\n");
    o.input.text_count = 0;
    o.input.tokens = ids;
    save_model(7);
    assert_done(mgk_dump_attention(&o, NULL));
    assert_text("");
    write_file(own, vocabulary);
    assert_done(mgk_dump_attention(&o, NULL));
    assert_text("a");
    write_file(own, "[UNK]\nno frame\n"); /* cannot be read */
    assert_done(mgk_dump_attention(&o, NULL));
    assert_text("");
    write_file(own, vocabulary);
    save_model(5);
    assert_done(mgk_dump_attention(&o, NULL));
    assert_text("a");
    write_file(own, "[UNK]\n[CLS]\n[SEP]\na\nb\nc\n"); /* one token too many */
    assert_done(mgk_dump_attention(&o, NULL));
    assert_text("");
    save_model(256);
    assert_done(mgk_dump_attention(&o, NULL));
    assert_text("");
}

/* A model of pairs reads each line alone. */
static void lines_for_pairs(void **state)
{
    (void)state;
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "softmax");
    config.dual = true;
    tiny_save(&config, model_path);
    mgk_dump_options o = options(3);
    o.input.lines = true;
    assert_done(mgk_dump_attention(&o, NULL));
    assert_tokens(0, (const int32_t[]){'a', ' ', 'b', ' ', 'A'}, 5);
    assert_tokens(2, (const int32_t[]){'b'}, 1);
    o.input.article_per_file = true;
    assert_message(&o, MGK_USAGE, "`article_per_file` belongs to `task` retrieval");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(text_is_read_by_the_tokenizer_in_the_folder, prepare),
        cmocka_unit_test_setup(a_tokenizer_that_is_named_comes_first, prepare),
        cmocka_unit_test(texts_begin_with_the_class_token),
        cmocka_unit_test_setup(models_of_bytes_need_none, prepare),
        cmocka_unit_test_setup(text_in_memory, prepare),
        cmocka_unit_test_setup(text_in_memory_is_cut, prepare),
        cmocka_unit_test_setup(strings_are_samples, prepare),
        cmocka_unit_test_setup(strings_that_are_refused, prepare),
        cmocka_unit_test_setup(what_does_not_fit_is_refused, prepare),
        cmocka_unit_test_setup(ids_get_their_text_where_there_is_one, prepare),
        cmocka_unit_test_setup(lines_for_pairs, prepare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
