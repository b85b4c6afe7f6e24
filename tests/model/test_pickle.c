/* SPDX-License-Identifier: MIT */
/* Pickles as data: the result of each instruction; no pickle does harm. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/containers/pickle.h"

enum { LIMIT = 1 << 24 };

/* A pickle as a string constant, which may contain zeros. */
#define READ(arena, text, out) \
    mgk_pickle_read((const unsigned char *)(text), sizeof(text) - 1, arena, out)

static mgk_pickle_value *root_of(mgk_arena *arena, const char *text, size_t size)
{
    mgk_pickle pickle;
    assert_ok(mgk_pickle_read((const unsigned char *)text, size, arena, &pickle));
    assert_int_equal(pickle.size, size);
    return pickle.root;
}

#define ROOT(text) root_of(&arena, text, sizeof(text) - 1)

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        int64_t value;
    } cases[] = {
#define CASE(text, value) {"\x80\2" text ".", sizeof("\x80\2" text ".") - 1, value}
        CASE("K\xff", 255),
        CASE("M\1\2", 513),
        CASE("J\xff\xff\xff\xff", -1),
        CASE("J\0\0\0\x80", INT32_MIN),
        CASE("\x8a\0", 0),
        CASE("\x8a\1\xff", -1),
        CASE("\x8a\2\0\x80", -32768),
        CASE("\x8a\2\xff\0", 255),
        CASE("\x8a\10\0\0\0\0\0\0\0\x80", INT64_MIN),
        CASE("\x8b\2\0\0\0\1\1", 257),
#undef CASE
    };
    mgk_arena arena = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const mgk_pickle_value *value = root_of(&arena, cases[i].text, cases[i].size);
        assert_int_equal(value->kind, MGK_PICKLE_INTEGER);
        assert_true(value->as.integer == cases[i].value);
    }
    assert_true(ROOT("\x80\2G\xbf\xf8\0\0\0\0\0\0.")->as.real == -1.5);
    const mgk_pickle_value *large = ROOT("\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.");
    assert_int_equal(large->kind, MGK_PICKLE_LONG);
    assert_int_equal(large->as.bytes.length, 10);
    assert_int_equal(ROOT("\x80\2\x88.")->kind, MGK_PICKLE_BOOL);
    assert_int_equal(ROOT("\x80\2\x89.")->as.integer, 0);
    assert_int_equal(ROOT("\x80\2N.")->kind, MGK_PICKLE_NONE);
    mgk_arena_free(&arena);
}

static void test_texts(void **state)
{
    (void)state;
    mgk_arena arena = {0};
    assert_true(mgk_pickle_is(ROOT("\x80\2X\3\0\0\0abc."), MGK_PICKLE_TEXT, "abc"));
    assert_true(mgk_pickle_is(ROOT("\x80\2U\3abc."), MGK_PICKLE_TEXT, "abc"));
    assert_true(mgk_pickle_is(ROOT("\x80\4\x8c\3abc."), MGK_PICKLE_TEXT, "abc"));
    assert_true(mgk_pickle_is(ROOT("\x80\4\x8d\3\0\0\0\0\0\0\0abc."), MGK_PICKLE_TEXT, "abc"));
    assert_true(mgk_pickle_is(ROOT("\x80\4"
                                   "C\3abc."),
                              MGK_PICKLE_BYTES, "abc"));
    assert_false(mgk_pickle_is(ROOT("\x80\4"
                                    "C\3abc."),
                               MGK_PICKLE_TEXT, "abc"));
    assert_false(mgk_pickle_is(ROOT("\x80\2U\3abc."), MGK_PICKLE_TEXT, "abcd"));
    assert_true(mgk_pickle_is(ROOT("\x80\2ccollections\nOrderedDict\n."), MGK_PICKLE_GLOBAL,
                              "collections.OrderedDict"));
    assert_true(mgk_pickle_is(ROOT("\x80\4\x95\7\0\0\0\0\0\0\0\x8c\1a\x8c\1b\x93."),
                              MGK_PICKLE_GLOBAL, "a.b"));
    mgk_arena_free(&arena);
}

static void assert_items(const mgk_pickle_value *value, mgk_pickle_kind kind, size_t count)
{
    assert_int_equal(value->kind, kind);
    assert_int_equal(value->as.items->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(value->as.items->list[i]->kind, MGK_PICKLE_INTEGER);
        assert_int_equal(value->as.items->list[i]->as.integer, i + 1);
    }
}

static void test_collections(void **state)
{
    (void)state;
    mgk_arena arena = {0};
    assert_items(ROOT("\x80\2]K\1a."), MGK_PICKLE_LIST, 1);
    assert_items(ROOT("\x80\2](K\1K\2K\3e."), MGK_PICKLE_LIST, 3);
    assert_items(ROOT("\x80\2](K\1K\2eK\3a."), MGK_PICKLE_LIST, 3);
    assert_items(ROOT("\x80\2(K\1K\2l."), MGK_PICKLE_LIST, 2);
    assert_items(ROOT("\x80\2)."), MGK_PICKLE_TUPLE, 0);
    assert_items(ROOT("\x80\2(K\1K\2K\3K\4t."), MGK_PICKLE_TUPLE, 4);
    assert_items(ROOT("\x80\2K\1K\2K\3\x87."), MGK_PICKLE_TUPLE, 3);
    assert_items(ROOT("\x80\2K\1K\2\x86."), MGK_PICKLE_TUPLE, 2);
    assert_items(ROOT("\x80\2K\1\x85."), MGK_PICKLE_TUPLE, 1);
    assert_items(ROOT("\x80\2}K\1K\2s(K\3K\4K\5K\6u."), MGK_PICKLE_DICT, 6);
    assert_items(ROOT("\x80\2(K\1K\2d."), MGK_PICKLE_DICT, 2);
    assert_items(ROOT("\x80\4\x8f(K\1K\2\x90."), MGK_PICKLE_SET, 2);
    assert_items(ROOT("\x80\4(K\1K\2\x91."), MGK_PICKLE_SET, 2);
    /* kept, dropped, doubled */
    assert_items(ROOT("\x80\2]K\1q\0aK\7\60K\2a(K\7K\10\61K\3a."), MGK_PICKLE_LIST, 3);
    assert_items(ROOT("\x80\4](K\1\x94K\2\x94"
                      "0h\1e."),
                 MGK_PICKLE_LIST, 2);
    const mgk_pickle_value *twice = ROOT("\x80\2K\5"
                                         "2\x86.");
    assert_ptr_equal(twice->as.items->list[0], twice->as.items->list[1]);
    mgk_arena_free(&arena);
}

static void test_objects(void **state)
{
    (void)state;
    mgk_arena arena = {0};
    mgk_pickle pickle;
    const mgk_pickle_value *value = ROOT("\x80\2cmodels\nGPT\n)\x81}U\1dK\4sb.");
    assert_string_equal(mgk_pickle_class(value), "models.GPT");
    assert_int_equal(value->as.object->arguments->kind, MGK_PICKLE_TUPLE);
    assert_int_equal(value->as.object->state->as.items->count, 2);
    value = ROOT("\x80\2ca\nb\n)R(K\1K\2e(K\1K\2uK\3a.");
    assert_items(value->as.object->list, MGK_PICKLE_LIST, 3);
    assert_items(value->as.object->dict, MGK_PICKLE_DICT, 2);
    assert_null(value->as.object->state);
    assert_string_equal(mgk_pickle_class(ROOT("\x80\4ca\nb\n)}\x92.")), "a.b");
    assert_null(mgk_pickle_class(ROOT("\x80\2K\1)R.")));
    assert_ok(READ(&arena, "\x80\2]K\1QaK\2Qa.and more", &pickle));
    assert_int_equal(pickle.size, 12);
    assert_int_equal(pickle.persistent.count, 2);
    assert_int_equal(pickle.persistent.list[1]->as.object->arguments->as.integer, 2);
    mgk_arena_free(&arena);
}

/* A list that contains itself. */
static void test_cycle(void **state)
{
    (void)state;
    mgk_arena arena = {0};
    const mgk_pickle_value *value = ROOT("\x80\2]q\0h\0a.");
    assert_ptr_equal(value->as.items->list[0], value);
    mgk_arena_free(&arena);
}

static void assert_refused(const char *text, size_t size, mgk_status expected, const char *words)
{
    mgk_arena arena = {.limit = LIMIT};
    mgk_pickle pickle;
    mgk_status status = mgk_pickle_read((const unsigned char *)text, size, &arena, &pickle);
    if (status != expected || !strstr(mgk_fail_message(), words))
        fail_msg("\"%s\" (%s) does not say \"%s\"", mgk_fail_message(), mgk_status_text(status),
                 words);
    mgk_arena_free(&arena);
}

#define REFUSED(text, status, words) assert_refused(text, sizeof(text) - 1, status, words)

static void test_harm(void **state)
{
    (void)state;
    static const char *const names[] = {"os\nsystem",
                                        "posix\nsystem",
                                        "nt\nsystem",
                                        "subprocess\nPopen",
                                        "builtins\neval",
                                        "__builtin__\nexec",
                                        "builtins\nopen",
                                        "builtins\n__import__",
                                        "runpy\n_run_code",
                                        "pty\nspawn",
                                        "shutil\nrmtree",
                                        "socket\nsocket",
                                        "pickle\nloads",
                                        "importlib\nimport_module",
                                        "a.os\nsystem",
                                        "a\nos.popen",
                                        "os\npopen.__call__",
                                        "__builtins__\nexec",
                                        "urllib.request\nurlopen"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char text[128], words[128];
        int length = snprintf(text, sizeof(text), "\x80\2c%s\nU\4echo\x85R.", names[i]);
        snprintf(words, sizeof(words), "calls %s; not read", names[i]);
        *strchr(words, '\n') = '.';
        assert_refused(text, (size_t)length, STATUS_UNSUPPORTED, words);
    }
    REFUSED("\x80\4\x8c\2os\x8c\6system\x93.", STATUS_UNSUPPORTED, "calls os.system; not read");
    REFUSED("\x80\4\x8c\5torch\x8c\11os.system\x93.", STATUS_UNSUPPORTED, "torch.os.system");
}

/* Names that only resemble dangerous ones, and modules of users. */
static void test_harmless(void **state)
{
    (void)state;
    static const char *const names[] = {
        "cosmosis\nsystem",    "builtins\nset",    "models.code\npos", "code.net\nNet",
        "commands.run\nTrain", "pdb.models\nBert", "imp\nImputer",     "builtins\ngetattr",
        "builtins\nopened",    "os\nstat_result",  "my.socket\nNet",   "operator\nattrgetter",
        "models.os.nt\nNet",   "opened\neval"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char text[128], class[128];
        mgk_arena arena = {0};
        mgk_pickle pickle;
        int length = snprintf(text, sizeof(text), "\x80\2c%s\n)R.", names[i]);
        snprintf(class, sizeof(class), "%s", names[i]);
        *strchr(class, '\n') = '.';
        assert_ok(mgk_pickle_read((const unsigned char *)text, (size_t)length, &arena, &pickle));
        assert_string_equal(mgk_pickle_class(pickle.root), class);
        mgk_arena_free(&arena);
    }
}

static void test_malformed(void **state)
{
    (void)state;
    REFUSED("", STATUS_FORMAT, "not a pickle");
    REFUSED("(lp0\n.", STATUS_FORMAT, "not a pickle");
    REFUSED("\x80\1N.", STATUS_UNSUPPORTED, "protocol 1");
    REFUSED("\x80\6N.", STATUS_UNSUPPORTED, "protocol 6");
    REFUSED("\x80\2.", STATUS_FORMAT, "nothing on its stack");
    REFUSED("\x80\2NNt.", STATUS_FORMAT, "no mark");
    REFUSED("\x80\2N(a.", STATUS_FORMAT, "nothing on its stack");
    REFUSED("\x80\2NNa.", STATUS_FORMAT, "a value that cannot hold them");
    REFUSED("\x80\2](Nu.", STATUS_FORMAT, "key without a value");
    REFUSED("\x80\2(Nd.", STATUS_FORMAT, "key without a value");
    REFUSED("\x80\2]NNs.", STATUS_FORMAT, "a value that cannot hold them");
    REFUSED("\x80\2h\0.", STATUS_FORMAT, "has not kept value 0");
    REFUSED("\x80\2Nq\2h\1.", STATUS_FORMAT, "has not kept value 1");
    REFUSED("\x80\2Nr\xff\xff\xff\xff.", STATUS_FORMAT, "keeps value 4294967295");
    REFUSED("\x80\2X\xff\xff\xff\xff"
            "abc.",
            STATUS_FORMAT, "cut short");
    REFUSED("\x80\4\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
            "abc.",
            STATUS_FORMAT, "cut short");
    REFUSED("\x80\4\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", STATUS_FORMAT, "frame");
    REFUSED("\x80\2cmodule\nname", STATUS_FORMAT, "cut short");
    REFUSED("\x80\2cmod\0ule\nname\n.", STATUS_FORMAT, "zero byte");
    REFUSED("\x80\4NN\x93.", STATUS_FORMAT, "not text");
    REFUSED("\x80\2(imodule\nname\n.", STATUS_UNSUPPORTED, "instruction 0x69");
    REFUSED("\x80\5\x97.", STATUS_UNSUPPORTED, "instruction 0x97");
    REFUSED("\x80\2I1\n.", STATUS_UNSUPPORTED, "instruction 0x49");
}

/* Millions of instructions that allocate memory end at the arena's limit, or in a plain tree. */
static void test_bombs(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    static const char fillers[] = {']', '}', '(', 'N', '2', '\x8f'};
    unsigned char *bytes;
    assert_ok(mgk_alloc(SIZE, 1, &bytes));
    for (size_t i = 0; i < sizeof(fillers); i++) {
        mgk_arena arena = {.limit = LIMIT};
        mgk_pickle pickle;
        memset(bytes, fillers[i], SIZE);
        memcpy(bytes, "\x80\4N", 3);
        assert_true(mgk_pickle_read(bytes, SIZE, &arena, &pickle) != STATUS_OK);
        assert_true(arena.used <= LIMIT);
        mgk_arena_free(&arena);
    }
    /* lists within lists, deeper than any stack of calls */
    mgk_arena arena = {0};
    mgk_pickle pickle;
    memset(bytes, ']', SIZE / 2);
    memset(bytes + SIZE / 2, 'a', SIZE / 2);
    memcpy(bytes, "\x80\4]", 3);
    bytes[SIZE - 3] = '.';
    assert_ok(mgk_pickle_read(bytes, SIZE, &arena, &pickle));
    assert_int_equal(pickle.size, SIZE - 2);
    mgk_arena_free(&arena);
    mgk_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),     cmocka_unit_test(test_texts),
        cmocka_unit_test(test_collections), cmocka_unit_test(test_objects),
        cmocka_unit_test(test_cycle),       cmocka_unit_test(test_harm),
        cmocka_unit_test(test_harmless),    cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_bombs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
