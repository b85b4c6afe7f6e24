/* SPDX-License-Identifier: MIT */
/* Tokenizers: recognition of files, texts of tokens, words, and refused files. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "data/datasets/lines.h"
#include "data/tokenizer_case.h"

static const char wordpiece[] =
    "{\"added_tokens\":[{\"id\":1,\"content\":\"[CLS]\",\"normalized\":false}],"
    "\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":true},"
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
    "\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",2],\"cls\":[\"[CLS]\",1]},"
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"vocab\":"
    "{\"[UNK]\":0,\"[CLS]\":1,\"[SEP]\":2,\"walk\":3,\"##ing\":4,\"a\":5}}}";

static const char unigram[] =
    "{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\xe2\x96\x81\"},"
    "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true,\"vocab\":[[\"<unk>\",0],"
    "[\"\xe2\x96\x81\",-2],[\"a\",-3],[\"b\",-3.5],[\"ab\",-6.5],[\"\xe2\x96\x81\x61\",-4],"
    "[\"<0xC3>\",-9],[\"<0xA9>\",-9],[\"<0x0A>\",-9],[\"bb\",-8]]}}";

static const char bytes[] =
    "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"\\u0120\":3,\"\\u0120ab\":4,"
    "\"\\u010a\":5,\"\\u00c3\\u00a9\":6,\"\\u00e2\\u0124\":7,\"abab\":9},"
    "\"merges\":[\"a b\",\"\\u0120 ab\",\"ab ab\"]}}";

static void folders_offer_their_best_file(void **state)
{
    const char *folder = path_of(state, "model");
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_false(mgk_tokenizer_in_folder(folder));
    assert_closed(folder, STATUS_IO, "model: no tokenizer.json, vocab.txt, vocab.json with");
    write_text(state, "model/vocab.json", "{\"a\":0,\"b\":1,\"ab\":2}");
    assert_false(mgk_tokenizer_in_folder(folder));
    assert_closed(path_of(state, "model/vocab.json"), STATUS_IO, "merges.txt");
    const char *merges = write_text(state, "model/merges.txt", "#version: 0.2\na b\n");
    assert_true(mgk_tokenizer_in_folder(folder));
    const char *places[] = {folder, merges, path_of(state, "model/vocab.json")};
    for (int i = 0; i < 3; i++) {
        mgk_tokenizer *tokenizer = tokenizer_of(places[i]);
        assert_encoded(tokenizer, "abba", 2, 1, 0);
        mgk_tokenizer_close(tokenizer);
    }
    write_text(state, "model/vocab.txt", "[UNK]\n[CLS]\n[SEP]\nA\na\n");
    mgk_tokenizer *tokenizer = tokenizer_of(folder);
    assert_encoded(tokenizer, "A b", 4, 0);
    mgk_tokenizer_close(tokenizer);
    write_text(state, "model/tokenizer_config.json", "{\"do_lower_case\":false}");
    tokenizer = tokenizer_of(folder);
    assert_encoded(tokenizer, "A b", 3, 0);
    mgk_tokenizer_close(tokenizer);
    write_text(state, "model/tokenizer.json", wordpiece);
    tokenizer = tokenizer_of(folder);
    assert_encoded(tokenizer, "Walking a [CLS]b", 3, 4, 5, 1, 0);
    mgk_token_frame frame = mgk_tokenizer_frame(tokenizer);
    assert_int_equal(frame.before_count, 1);
    assert_int_equal(frame.before[0], 1);
    assert_int_equal(frame.after_count, 1);
    assert_int_equal(frame.after[0], 2);
    mgk_tokenizer_close(tokenizer);
}

/* As tokenizers 0.23.3 has it: white space that a token includes can be the next token's own. */
static void space_is_of_two_tokens(void **state)
{
    static const char text[] =
        "{\"added_tokens\":[{\"id\":4,\"content\":\"<m>\",\"rstrip\":true},"
        "{\"id\":5,\"content\":\"  \"}],\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\","
        "\"vocab\":{\"<unk>\":0,\"x\":1,\" \":2,\"y\":3},\"merges\":[]}}";
    mgk_tokenizer *tokenizer = tokenizer_of(write_text(state, "tokenizer.json", text));
    assert_encoded(tokenizer, "<m> x", 4, 1);
    assert_encoded(tokenizer, "<m>  x", 4, 5, 1);
    assert_encoded(tokenizer, "<m>   x", 4, 5, 2, 1);
    mgk_tokenizer_close(tokenizer);
}

/* Where a long text may be cut: nowhere if an added token has a space, as it is written or as it is
 * normalized, or if a step makes the character before a space vanish. */
static void cuts_respect_normal_forms(void **state)
{
    static const struct {
        const char *normalizer, *added;
        bool cut;
    } cases[] = {
        {"{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"}", "",
         true},
        {"{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"}",
         "{\"id\":4,\"content\":\"x y\",\"normalized\":true}", false},
        {"{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"}",
         "{\"id\":4,\"content\":\"x\xe2\x96\x81y\",\"normalized\":true}", false},
        {"{\"type\":\"Sequence\",\"normalizers\":["
         "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"b\"},"
         "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"}]}",
         "", true},
        {"{\"type\":\"Sequence\",\"normalizers\":["
         "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"\"},"
         "{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":true},"
         "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"}]}",
         "", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[1000];
        snprintf(text, sizeof(text),
                 "{\"added_tokens\":[%s],\"normalizer\":%s,"
                 "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\xe2\x96\x81\"},"
                 "\"model\":{\"type\":\"BPE\",\"vocab\":{\"x\":0,\"y\":1},\"merges\":[]}}",
                 cases[i].added, cases[i].normalizer);
        mgk_tokenizer *tokenizer = tokenizer_of(write_text(state, "tokenizer.json", text));
        assert_int_equal(mgk_tokenizer_cut(tokenizer, "x y", 3), cases[i].cut ? 1 : 0);
        mgk_tokenizer_close(tokenizer);
    }
}

/* Strings with a zero byte would end there. */
static void zero_bytes_are_refused(void **state)
{
    const char *path = write_text(state, "tokenizer.json",
                                  "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\","
                                  "\"vocab\":{\"u\":0,\"x\\u0000y\":1}}}");
    assert_closed(path, STATUS_UNSUPPORTED, "JSON with \\u0000 in a string");
    path = write_text(state, "tokenizer.json",
                      "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\","
                      "\"vocab\":{\"u\":0,\"x\\\\u0000y\":1}}}");
    mgk_tokenizer_close(tokenizer_of(path));
}

static void words_are_those_of_a_list(void **state)
{
    const char *path = write_text(state, "words", "<eos> 10\nthe 9\n<unk>\t3\r\n=\nna\xc3\xafve");
    mgk_tokenizer *tokenizer = tokenizer_of(path);
    assert_int_equal(mgk_tokenizer_vocabulary(tokenizer), 5);
    assert_string_equal(mgk_tokenizer_subword(tokenizer), "");
    assert_string_equal(mgk_tokenizer_text(tokenizer, 2), "<unk>");
    assert_encoded(tokenizer, " = the =\n\nThe na\xc3\xafve\xc2\xa0the", 3, 1, 3, 0, 0, 2, 4, 1, 0);
    assert_encoded(tokenizer, "the\r\nthe\rthe\n", 1, 0, 1, 0, 1, 0);
    assert_encoded(tokenizer, "\n", 0);
    mgk_tokenizer_close(tokenizer);
    tokenizer = tokenizer_of(write_text(state, "words", "the\n<unk>\n"));
    assert_encoded(tokenizer, "the\nof\n", 0, 1);
    mgk_tokenizer_close(tokenizer);
    assert_closed(write_text(state, "words", "<unk>\nthe\nof\nthe 3\n"), STATUS_FORMAT,
                  "words: no list of words, one a line: in line 4 \"the\" stands twice");
    assert_closed(write_text(state, "words", "<unk>\n\nthe\n"), STATUS_FORMAT, "line 2 is blank");
    assert_closed(write_text(state, "words", "the\nof\n"), STATUS_FORMAT, "[UNK] or <unk>");
    assert_closed(write_text(state, "config.json", "{\"hidden_size\":4,\"model_type\":\"bert\"}"),
                  STATUS_FORMAT, "config.json: no tokenizer: expected tokenizer.json");
    assert_closed(write_text(state, "words", ""), STATUS_FORMAT, "words: 0 bytes");
    assert_closed(path_of(state, "absent"), STATUS_IO, "absent");
}

static void tokens_are_shown_as_text(void **state)
{
    static const char *const shown[] = {"a",   "b",        "ab",           " ", " ab",
                                        "\\n", "\xc3\xa9", "<0xE2><0x82>", "",  "abab"};
    mgk_tokenizer *tokenizer = tokenizer_of(write_text(state, "tokenizer.json", bytes));
    assert_int_equal(mgk_tokenizer_vocabulary(tokenizer), 10);
    for (int32_t id = 0; id < 10; id++)
        assert_string_equal(mgk_tokenizer_text(tokenizer, id), shown[id]);
    assert_string_equal(mgk_tokenizer_text(tokenizer, -1), "");
    assert_string_equal(mgk_tokenizer_text(tokenizer, 10), "");
    assert_string_equal(mgk_tokenizer_subword(tokenizer), " ");
    assert_encoded(tokenizer, "abab ab\n", 9, 4, 5);
    assert_encoded(tokenizer, "xaxbx", 2); /* bytes without a token are dropped */
    mgk_tokenizer_close(tokenizer);
    tokenizer = tokenizer_of(write_text(state, "tokenizer.json", wordpiece));
    assert_string_equal(mgk_tokenizer_text(tokenizer, 4), "##ing");
    assert_string_equal(mgk_tokenizer_subword(tokenizer), "##");
    mgk_tokenizer_close(tokenizer);
}

/* The sum of scores decides; what is no piece is bytes if all have tokens. */
static void pieces_of_the_largest_score_are_taken(void **state)
{
    mgk_tokenizer *tokenizer = tokenizer_of(write_text(state, "tokenizer.json", unigram));
    assert_encoded(tokenizer, "a", 5);              /* -4 > -2 - 3 */
    assert_encoded(tokenizer, "ab", 5, 3);          /* -4 - 3.5 > -2 - 6.5 */
    assert_encoded(tokenizer, "bab", 1, 3, 4);      /* -3 - 3.5 = -6.5: the first way found stays */
    assert_encoded(tokenizer, "bb", 1, 3, 3);       /* -7 > -8 */
    assert_encoded(tokenizer, "\xc3\xa9", 1, 6, 7); /* U+00E9 */
    assert_encoded(tokenizer, "xy\n", 1, 0);        /* x has no byte, so none of them counts */
    assert_string_equal(mgk_tokenizer_text(tokenizer, 5), " a");
    assert_string_equal(mgk_tokenizer_text(tokenizer, 6), "<0xC3>");
    assert_string_equal(mgk_tokenizer_text(tokenizer, 8), "\\n");
    assert_string_equal(mgk_tokenizer_subword(tokenizer), " ");
    mgk_tokenizer_close(tokenizer);
}

/* Writes `text` with the first `old` replaced. */
static const char *write_edited(void **state, const char *text, const char *old, const char *new)
{
    char edited[4096];
    const char *place = strstr(text, old);
    assert_non_null(place);
    snprintf(edited, sizeof(edited), "%.*s%s%s", (int)(place - text), text, new,
             place + strlen(old));
    return write_text(state, "tokenizer.json", edited);
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *text, *old, *new;
        mgk_status status;
        const char *message;
    } cases[] = {
        {wordpiece, "\"WordPiece\"", "\"Unigram\"", STATUS_FORMAT, "not a list of pieces"},
        {wordpiece, "\"WordPiece\"", "\"Characters\"", STATUS_UNSUPPORTED,
         "\"Characters\": expected"},
        {wordpiece, "\"WordPiece\"", "\"BPE\"", STATUS_FORMAT, "\"merges\" is not a list"},
        {wordpiece, "BertPreTokenizer", "ByteLevel", STATUS_UNSUPPORTED, "WordPiece of bytes"},
        {wordpiece, "BertPreTokenizer", "UnicodeScripts", STATUS_UNSUPPORTED,
         "\"UnicodeScripts\" is"},
        {wordpiece, "BertPreTokenizer", "Metaspace", STATUS_FORMAT, "its replacement is no sign"},
        {wordpiece, "BertPreTokenizer", "Split", STATUS_FORMAT, "without \"pattern\""},
        {wordpiece, "BertNormalizer", "Nmt", STATUS_UNSUPPORTED, "normalizer \"Nmt\" is not known"},
        {wordpiece, "BertNormalizer", "Precompiled", STATUS_FORMAT, "without its table"},
        {wordpiece, "BertNormalizer\"", "Precompiled\",\"precompiled_charsmap\":\"AAAA!\"",
         STATUS_FORMAT, "precompiled_charsmap: not base64"},
        {wordpiece, "BertNormalizer\"", "Precompiled\",\"precompiled_charsmap\":\"BAAAAAAAAAA=\"",
         STATUS_FORMAT, "precompiled_charsmap: too short"},
        {wordpiece, "BertNormalizer", "Prepend", STATUS_FORMAT, "without \"prepend\""},
        {wordpiece, "BertNormalizer\"", "Replace\",\"pattern\":{\"String\":\"a\"}", STATUS_FORMAT,
         "without \"content\""},
        {wordpiece, "BertProcessing", "Other", STATUS_UNSUPPORTED, "post_processor \"Other\""},
        {wordpiece, "\"walk\":3", "\"walk\":2", STATUS_FORMAT, "\"[SEP]\" and to \"walk\""},
        {wordpiece, "\"walk\":3", "\"walk\":3.5", STATUS_FORMAT, "\"walk\": the id is not a whole"},
        {wordpiece, "\"walk\":3", "\"walk\":-3", STATUS_FORMAT, "id -3 is not in [0, 1048576)"},
        {wordpiece, "\"walk\":3", "\"walk\":1048576", STATUS_FORMAT, "id 1048576 is not in"},
        {wordpiece, "\"walk\":3", "\"walk\":1e300", STATUS_FORMAT, "not a whole number"},
        {wordpiece, "\"walk\":3", "\"a\":3", STATUS_FORMAT, "\"a\" stands twice"},
        {wordpiece, "\"id\":1", "\"id\":6", STATUS_FORMAT, "id 6, in the vocabulary 1"},
        {wordpiece, "\"id\":1", "\"id\":-1", STATUS_FORMAT, "id -1 is not in"},
        {wordpiece, "\"[SEP]\",2", "\"[SEP]\",99", STATUS_FORMAT, "every text has the id 99"},
        {wordpiece, "[\"[SEP]\",2]", "[\"[SEP]\"]", STATUS_FORMAT, "\"sep\": the id is not"},
        {wordpiece, "\"unk_token\":\"[UNK]\"", "\"unk_token\":\"[X]\"", STATUS_FORMAT, "\"[X]\""},
        {wordpiece, "\"unk_token\":\"[UNK]\",", "", STATUS_FORMAT, "no token for unknown words"},
        {wordpiece, "\"lowercase\":true", "\"lowercase\":1", STATUS_FORMAT, "not true or false"},
        {wordpiece, "\"vocab\":{", "\"other\":{", STATUS_FORMAT, "not an object of tokens"},
        {unigram, "\"unk_id\":0", "\"unk_id\":10", STATUS_FORMAT, "unk_id 10 is not in [0, 10)"},
        {unigram, "\"unk_id\":0", "\"unk_id\":null", STATUS_FORMAT, "no token for unknown words"},
        {unigram, "{\"pre_tokenizer\":{\"type\":\"Metaspace\"",
         "{\"normalizer\":{\"type\":\"Prepend\",\"prepend\":\"x\"},"
         "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"prepend_scheme\":\"first\"",
         STATUS_UNSUPPORTED, "the scheme \"first\" after such steps"},
        {unigram, "[\"a\",-3]", "[\"a\"]", STATUS_FORMAT, "piece 2: expected a text and its score"},
        {unigram, "[\"a\",-3]", "[\"a\",-3,1]", STATUS_FORMAT, "piece 2: expected"},
        {unigram, "[\"a\",-3]", "[\"a\",-1e999]", STATUS_FORMAT, "its score is not a number"},
        {unigram, "Metaspace\"", "Metaspace\",\"prepend_scheme\":\"last\"", STATUS_FORMAT,
         "not always, first or never"},
        {bytes, "\"a b\"", "\"a c\"", STATUS_FORMAT, "merge 1: \"c\" is not in the vocabulary"},
        {bytes, "\"a b\"", "\"b a\"", STATUS_FORMAT, "merge 1: \"ba\" is not in the vocabulary"},
        {bytes, "\"a b\"", "\"a b a\"", STATUS_FORMAT, "merge 1: expected two tokens"},
        {bytes, "\"a b\"", "[\"a\"]", STATUS_FORMAT, "merge 1: expected two tokens"},
        {bytes, "\"a b\"", "7", STATUS_FORMAT, "merge 1: expected two tokens"},
        {bytes, "\"BPE\"", "\"BPE\",\"byte_fallback\":true", STATUS_UNSUPPORTED, "byte_fallback"},
        {bytes, "\"BPE\"", "\"BPE\",\"dropout\":0.5", STATUS_UNSUPPORTED, "dropout"},
        {bytes, "{\"type\":\"ByteLevel\"",
         "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"behavior\":\"Isolated\","
         "\"pattern\":{\"Regex\":\"(a\"}}],\"x\":\"\"",
         STATUS_UNSUPPORTED, "regular expression: at byte 2: missing closing parenthesis"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path = write_edited(state, cases[i].text, cases[i].old, cases[i].new);
        assert_closed(path, cases[i].status, cases[i].message);
        assert_closed(path, cases[i].status, "tokenizer.json: ");
    }
}

/* Each piece is searched for among the descriptions: without a limit, the number of steps is their
 * product. */
static void frames_of_many_pieces_are_refused(void **state)
{
    enum { PIECES = 65 };
    static const char processor[] = "{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",2],\"cls\":"
                                    "[\"[CLS]\",1]}";
    for (int pieces = PIECES - 1; pieces <= PIECES; pieces++) {
        char template[PIECES * 32 + 256];
        int used =
            snprintf(template, sizeof(template),
                     "{\"type\":\"TemplateProcessing\",\"special_tokens\":{\"z\":{\"ids\":[]}},"
                     "\"single\":[");
        for (int i = 1; i < pieces; i++)
            used += snprintf(template + used, sizeof(template) - (size_t)used,
                             "{\"SpecialToken\":{\"id\":\"z\"}},");
        snprintf(template + used, sizeof(template) - (size_t)used,
                 "{\"Sequence\":{\"id\":\"A\"}}]}");
        const char *path = write_edited(state, wordpiece, processor, template);
        if (pieces == PIECES)
            assert_closed(path, STATUS_FORMAT, "post_processor of 65 pieces, expected at most 64");
        else
            mgk_tokenizer_close(tokenizer_of(path));
    }
}

static void files_cut_anywhere_are_refused(void **state)
{
    static const char *const texts[] = {wordpiece, bytes, unigram};
    for (int t = 0; t < 3; t++) {
        const char *path = write_text(state, "cut.json", texts[t]);
        for (size_t size = strlen(texts[t]) - 1; size > 0; size--) {
            assert_int_equal(truncate(path, (off_t)size), 0);
            assert_closed(path, STATUS_FORMAT, "cut.json: ");
        }
    }
}

/* A list may be valid wherever it ends, and never does harm. */
static void lists_cut_anywhere_do_no_harm(void **state)
{
    static const char merges[] = "#version: 0.2\na b\n\nab ab\nab abab\n";
    const char *path =
        write_text(state, "vocab.json", "{\"a\":0,\"b\":1,\"ab\":2,\"abab\":3,\"ababab\":4}");
    const char *list = write_text(state, "merges.txt", merges);
    for (size_t size = sizeof(merges) - 1; size > 0; size--) {
        mgk_tokenizer *tokenizer;
        assert_int_equal(truncate(list, (off_t)size), 0);
        mgk_status status = mgk_tokenizer_open(path, &tokenizer);
        assert_true(status == STATUS_OK || status == STATUS_FORMAT);
        mgk_tokenizer_close(tokenizer);
    }
    write_text(state, "merges.txt", "a b c\n");
    assert_closed(path, STATUS_FORMAT, "merges.txt: line 1: expected two tokens");
    write_text(state, "tokenizer_config.json", "{\"tokenizer_class\":\"Qwen2Tokenizer\"}");
    write_text(state, "merges.txt", "a b\n");
    assert_closed(path, STATUS_UNSUPPORTED, "\"Qwen2Tokenizer\" needs its tokenizer.json");
    write_text(state, "tokenizer_config.json", "{");
    assert_closed(path, STATUS_FORMAT, "tokenizer_config.json: not a JSON object");
    path = write_text(state, "vocab.txt", "[UNK]\na\n");
    write_text(state, "tokenizer_config.json", "{}");
    assert_closed(path, STATUS_FORMAT, "the vocabulary has no \"[CLS]\"");
}

/* Makes a tokenizer of bytes whose words are matches of a regular expression. */
static mgk_tokenizer *tokenizer_of_pattern(void **state, const char *pattern)
{
    char split[512];
    snprintf(split, sizeof(split),
             "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"behavior\":"
             "\"Isolated\",\"pattern\":{\"Regex\":\"%s\"}},{\"type\":\"ByteLevel\","
             "\"use_regex\":false,\"add_prefix_space\":false}]}",
             pattern);
    return tokenizer_of(
        write_edited(state, bytes, "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}", split));
}

static void patterns_that_take_forever_end(void **state)
{
    static const char *const patterns[] = {"(a+)+$", "(a|aa)+$", "(.*)*\\\\d", "(?:a?a?)*b"};
    char text[64];
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = '!';
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        mgk_tokenizer *tokenizer = tokenizer_of_pattern(state, patterns[i]);
        mgk_token_encoder *encoder;
        mgk_buffer ids = {0};
        assert_ok(mgk_token_encoder_open(tokenizer, &encoder));
        mgk_status status = mgk_token_encode(encoder, text, sizeof(text), &ids);
        if (status != STATUS_OK) {
            assert_int_equal(status, STATUS_UNSUPPORTED);
            assert_non_null(strstr(mgk_fail_message(), "takes too many steps"));
        } else {
            assert_true(i > 0);
        }
        mgk_buffer_free(&ids);
        mgk_token_encoder_close(encoder);
        mgk_tokenizer_close(tokenizer);
    }
}

/* Where such a text would go is not known; and no normalizer fills the memory. */
static void replacements_have_limits(void **state)
{
    static const char *const steps[][3] = {
        {"{\"Regex\":\"x*\"}", "y", "matches between characters"},
        {"{\"String\":\"a\"}",
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "many times as long"},
    };
    enum { SIZE = 1 << 13 };
    char text[SIZE], normalizer[512];
    memset(text, 'a', sizeof(text));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        mgk_token_encoder *encoder;
        mgk_buffer ids = {0};
        snprintf(normalizer, sizeof(normalizer),
                 "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":%s,\"content\":\"%s\"},"
                 "\"pre_tokenizer\"",
                 steps[i][0], steps[i][1]);
        mgk_tokenizer *tokenizer =
            tokenizer_of(write_edited(state, unigram, "{\"pre_tokenizer\"", normalizer));
        assert_ok(mgk_token_encoder_open(tokenizer, &encoder));
        assert_int_equal(mgk_token_encode(encoder, text, sizeof(text), &ids), STATUS_UNSUPPORTED);
        assert_non_null(strstr(mgk_fail_message(), steps[i][2]));
        mgk_buffer_free(&ids);
        mgk_token_encoder_close(encoder);
        mgk_tokenizer_close(tokenizer);
    }
}

static void matches_of_nothing_go_on(void **state)
{
    mgk_tokenizer *tokenizer = tokenizer_of_pattern(state, "(?=b)");
    assert_encoded(tokenizer, "aabab", 0, 0, 1, 0, 1);
    mgk_tokenizer_close(tokenizer);
    tokenizer = tokenizer_of_pattern(state, "x*");
    assert_encoded(tokenizer, "abab", 0, 1, 0, 1);
    mgk_tokenizer_close(tokenizer);
}

/* A word of a megabyte would take seconds if every merge searched all of it. */
static void long_words_take_no_longer(void **state)
{
    enum { SIZE = 1 << 20 };
    mgk_tokenizer *tokenizer = tokenizer_of(write_text(state, "tokenizer.json", bytes));
    mgk_token_encoder *encoder;
    mgk_buffer ids = {0};
    char *text;
    assert_ok(mgk_alloc(SIZE, 1, &text));
    for (int i = 0; i < SIZE; i++)
        text[i] = i % 2 ? 'b' : 'a';
    assert_ok(mgk_token_encoder_open(tokenizer, &encoder));
    clock_t start = clock();
    assert_ok(mgk_token_encode(encoder, text, SIZE, &ids));
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 20);
    assert_int_equal(ids.size / sizeof(int32_t), SIZE / 4);
    for (int i = 0; i < SIZE / 4; i++)
        assert_int_equal(((int32_t *)(void *)ids.data)[i], 9);
    mgk_buffer_free(&ids);
    mgk_free(text);
    mgk_token_encoder_close(encoder);
    mgk_tokenizer_close(tokenizer);
}

/* Pieces of 4 MB that share no beginnings would take a tree of gigabytes. */
static void pieces_of_any_size_are_refused(void **state)
{
    enum { PIECES = 4150, SIZE = 1020 };
    static const char head[] =
        "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0]";
    char *text;
    size_t used = sizeof(head) - 1;
    assert_ok(mgk_alloc(PIECES, SIZE + 16, &text));
    memcpy(text, head, used);
    for (int i = 0; i < PIECES; i++) {
        used += (size_t)sprintf(text + used, ",[\"%04d", i);
        memset(text + used, 'a' + i % 26, SIZE - 4);
        used += SIZE - 4;
        used += (size_t)sprintf(text + used, "\",0]");
    }
    sprintf(text + used, "]}}");
    assert_closed(write_text(state, "tokenizer.json", text), STATUS_UNSUPPORTED,
                  "more than 4194304 beginnings");
    mgk_free(text);
}

typedef struct shared {
    const mgk_tokenizer *tokenizer;
    bool same;
} shared;

static void *encode_often(void *context)
{
    static const int32_t expected[] = {3, 4, 5, 1, 0};
    shared *job = context;
    mgk_token_encoder *encoder = NULL;
    mgk_buffer ids = {0};
    job->same = mgk_token_encoder_open(job->tokenizer, &encoder) == STATUS_OK;
    for (int i = 0; i < 2000 && job->same; i++) {
        static const char text[] = "W\xc3\xa1lking a [CLS]b";
        ids.size = 0;
        job->same = mgk_token_encode(encoder, text, sizeof(text) - 1, &ids) == STATUS_OK &&
                    ids.size == sizeof(expected) && memcmp(ids.data, expected, ids.size) == 0;
    }
    mgk_buffer_free(&ids);
    mgk_token_encoder_close(encoder);
    return NULL;
}

static void threads_share_a_tokenizer(void **state)
{
    enum { THREADS = 4 };
    mgk_tokenizer *tokenizer = tokenizer_of(write_text(state, "tokenizer.json", wordpiece));
    pthread_t threads[THREADS];
    shared jobs[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (shared){.tokenizer = tokenizer};
        assert_int_equal(pthread_create(&threads[i], NULL, encode_often, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(jobs[i].same);
    }
    mgk_tokenizer_close(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(folders_offer_their_best_file),
        folder_test(space_is_of_two_tokens),
        folder_test(cuts_respect_normal_forms),
        folder_test(zero_bytes_are_refused),
        folder_test(words_are_those_of_a_list),
        folder_test(tokens_are_shown_as_text),
        folder_test(what_is_wrong_is_named),
        folder_test(files_cut_anywhere_are_refused),
        folder_test(lists_cut_anywhere_do_no_harm),
        folder_test(patterns_that_take_forever_end),
        folder_test(matches_of_nothing_go_on),
        folder_test(frames_of_many_pieces_are_refused),
        folder_test(long_words_take_no_longer),
        folder_test(threads_share_a_tokenizer),
        folder_test(pieces_of_the_largest_score_are_taken),
        folder_test(pieces_of_any_size_are_refused),
        folder_test(replacements_have_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
