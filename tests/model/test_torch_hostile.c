/* SPDX-License-Identifier: MIT */
/* Invalid PyTorch files: each gives a precise error, none does harm. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/containers/tensors.h"

#define GOLDEN MGK_TEST_DATA "/../golden/containers/"

/* A file in memory, because tests write thousands. */
static int file;
static char path[64];

static int open_file(void **state)
{
    (void)state;
    file = memfd_create("hostile", 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    return file < 0;
}

static int close_file(void **state)
{
    (void)state;
    return close(file);
}

static void put(const void *bytes, size_t size)
{
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(pwrite(file, bytes, size, 0), size);
}

static const char preface[] = "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
                              "\x80\2M\xe9\3."
                              "\x80\2}U\15little_endian\x88s.";

/* Writes an old container: the pickle `object`, the list of storages `keys`, and one storage of
 * four floats that claims `count`. */
static void put_legacy_as(const char *object, size_t size, const char *keys, uint64_t count)
{
    static const float storage[] = {1, 2, 3, 4};
    unsigned char bytes[4096], *end = bytes;
    assert_true(size < sizeof(bytes) / 2);
    end = (unsigned char *)mempcpy(end, preface, sizeof(preface) - 1);
    end = (unsigned char *)mempcpy(end, object, size);
    end = (unsigned char *)mempcpy(end, keys, strlen(keys));
    end = (unsigned char *)mempcpy(end, &count, sizeof(count));
    end = (unsigned char *)mempcpy(end, storage, sizeof(storage));
    put(bytes, (size_t)(end - bytes));
}

#define KEYS     \
    "\x80\2]U\1" \
    "0a."

static void put_legacy(const char *object, size_t size)
{
    bool named = memmem(object, size, "storage", 7);
    put_legacy_as(object, size, named ? KEYS : "\x80\2].", 4);
}

static void assert_refused(const char *what, mgk_status expected, const char *words)
{
    mgk_tensors *tensors;
    mgk_status status = mgk_tensors_open(path, &tensors);
    const char *message = status == STATUS_OK ? "nothing" : mgk_fail_message();
    if (status != expected || strncmp(message, path, strlen(path)) != 0 || !strstr(message, words))
        fail_msg("%s: \"%s\" (%s) does not say \"%s\"", what, message, mgk_status_text(status),
                 words);
    assert_null(tensors);
}

#define STORAGE(type, count, view) \
    "(U\7storagec" type "\nU\1"    \
    "0U\3cpu" count view "tQ"
#define FLOATS STORAGE("torch\nFloatStorage", "K\4", "N")
/* A call of _rebuild_tensor_v2. */
#define TENSOR(storage, offset, shape, strides) \
    "ctorch._utils\n_rebuild_tensor_v2\n(" storage offset shape strides "\x89NtR"
/* A dictionary with one entry, w. */
#define DICT(thing) "\x80\2}U\1w" thing "s."

static void test_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *object;
        size_t size;
        mgk_status expected; /* STATUS_OK: it can be read */
        const char *words;
    } cases[] = {
#define CASE(thing, status, words) {DICT(thing), sizeof(DICT(thing)) - 1, status, words}
        CASE(TENSOR(FLOATS, "K\0", "K\4\x85", "K\1\x85"), STATUS_OK, ""),
        CASE(TENSOR(FLOATS, "K\3", ")", ")"), STATUS_OK, ""),
        CASE(TENSOR(FLOATS, "K\0", "K\0\x85", "K\1\x85"), STATUS_OK, ""),
        CASE(TENSOR(FLOATS, "K\3", "M\xe8\3\x85", "K\0\x85"), STATUS_OK, ""),
        CASE(TENSOR(FLOATS, "K\1", "K\4\x85", "K\1\x85"), STATUS_FORMAT,
             "tensor \"w\": leaves its storage of 16 bytes"),
        CASE(TENSOR(FLOATS, "K\4", ")", ")"), STATUS_FORMAT, "leaves its storage"),
        CASE(TENSOR(FLOATS, "K\0", "K\2K\2\x86", "K\3K\1\x86"), STATUS_FORMAT, "leaves its"),
        CASE(TENSOR(FLOATS, "K\0", "K\5\x85", "K\1\x85"), STATUS_FORMAT, "leaves its storage"),
        CASE(TENSOR(FLOATS, "J\xff\xff\xff\xff", ")", ")"), STATUS_FORMAT, "expected storage"),
        CASE(TENSOR(FLOATS, "K\0", "J\xff\xff\xff\xff\x85", "K\1\x85"), STATUS_FORMAT,
             "not a whole number from 0"),
        CASE(TENSOR(FLOATS, "K\3", "K\2\x85", "J\xff\xff\xff\xff\x85"), STATUS_FORMAT,
             "not a whole number from 0"),
        CASE(TENSOR(FLOATS, "K\0", "K\2\x85", "\x8a\10\xff\xff\xff\xff\xff\xff\xff\x7f\x85"),
             STATUS_FORMAT, "leaves its storage"),
        CASE(TENSOR(FLOATS, "\x8a\10\xff\xff\xff\xff\xff\xff\xff\x7f", "K\3\x85",
                    "\x8a\10\xff\xff\xff\xff\xff\xff\xff\x7f\x85"),
             STATUS_FORMAT, "leaves its storage"),
        CASE(TENSOR(FLOATS, "K\0", "\x8a\5\0\0\0\0\1\x85", "K\0\x85"), STATUS_UNSUPPORTED,
             "repeats 16 bytes"),
        CASE(TENSOR(FLOATS, "K\0", "\x8a\5\0\0\0\0\1\x8a\5\0\0\0\0\1\x86", "K\0K\0\x86"),
             STATUS_FORMAT, "too large"),
        CASE(TENSOR(FLOATS, "K\0", "K\4\x85", ")"), STATUS_FORMAT, "1 sizes and 0 strides"),
        CASE(TENSOR(FLOATS, "K\0", "K\4", "K\1"), STATUS_FORMAT, "not a tuple"),
        CASE(TENSOR(FLOATS, "K\0", "(K\1K\1K\1K\1K\1K\1K\1K\1K\1t", ")"), STATUS_UNSUPPORTED,
             "9 axes"),
        CASE(TENSOR("N", "K\0", ")", ")"), STATUS_FORMAT, "not a storage"),
        CASE("ctorch._utils\n_rebuild_tensor_v2\n)R", STATUS_FORMAT, "expected storage"),
        CASE("ctorch._utils\n_rebuild_tensor_v2\nNR", STATUS_FORMAT, "expected storage"),
        CASE(TENSOR(STORAGE("torch\nComplexFloatStorage", "K\2", "N"), "K\0", ")", ")"),
             STATUS_UNSUPPORTED, "torch.ComplexFloatStorage"),
        CASE(TENSOR(STORAGE("os\nFloatStorage", "K\4", "N"), "K\0", ")", ")"), STATUS_UNSUPPORTED,
             "elements of type os.FloatStorage"),
        CASE(TENSOR(STORAGE("torch\nFloatStorage", "K\5", "N"), "K\0", ")", ")"), STATUS_FORMAT,
             "has 4 elements, expected 5"),
        CASE(TENSOR(STORAGE("torch\nFloatStorage", "J\xff\xff\xff\xff", "N"), "K\0", ")", ")"),
             STATUS_FORMAT, "not a storage"),
        CASE(TENSOR(STORAGE("torch\nFloatStorage", "\x8a\10\xff\xff\xff\xff\xff\xff\xff\x7f", "N"),
                    "K\0", ")", ")"),
             STATUS_FORMAT, "too large"),
        /* views of storages: key, first element, elements */
        CASE(TENSOR(STORAGE("torch\nFloatStorage", "K\4", "U\1vK\2K\2\x87"), "K\0", "K\2\x85",
                    "K\1\x85"),
             STATUS_OK, ""),
        CASE(TENSOR(STORAGE("torch\nFloatStorage", "K\4", "U\1vK\2K\2\x87"), "K\1", "K\2\x85",
                    "K\1\x85"),
             STATUS_FORMAT, "leaves its storage of 8 bytes"),
        CASE(TENSOR(STORAGE("torch\nFloatStorage", "K\4", "U\1vK\2K\3\x87"), "K\0", ")", ")"),
             STATUS_FORMAT, "a view beyond its end"),
        /* names */
        CASE("}U\2\33[" TENSOR(FLOATS, "K\0", ")", ")") "s", STATUS_FORMAT, "control character 27"),
        CASE("}(U\1a}U\1b" TENSOR(FLOATS, "K\0", ")", ")") "sU\3a.b" TENSOR(FLOATS, "K\0", ")",
                                                                            ")") "u",
             STATUS_FORMAT, "\"w.a.b\" stands twice"),
#undef CASE
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mgk_tensors *tensors;
        char what[32];
        snprintf(what, sizeof(what), "case %zu", i);
        put_legacy(cases[i].object, cases[i].size);
        if (cases[i].expected == STATUS_OK) {
            assert_ok(mgk_tensors_open(path, &tensors));
            mgk_tensors_close(tensors);
        } else {
            assert_refused(what, cases[i].expected, cases[i].words);
        }
    }
}

/* A tensor in a view of a storage: elements 2 and 3 of 1, 2, 3, 4. */
static void test_view(void **state)
{
    (void)state;
    static const char object[] = DICT(TENSOR(
        STORAGE("torch\nFloatStorage", "K\4", "U\1vK\2K\2\x87"), "K\0", "K\2\x85", "K\1\x85"));
    mgk_tensors *tensors;
    float values[2];
    put_legacy(object, sizeof(object) - 1);
    assert_ok(mgk_tensors_open(path, &tensors));
    assert_ok(
        mgk_tensors_read(tensors, mgk_tensors_find(tensors, "w"), 0, 2, MGK_DTYPE_F32, values));
    assert_true(values[0] == 3 && values[1] == 4);
    mgk_tensors_close(tensors);
}

/* Opens a file whose storage has `count` floats: 1, 2, 3, 4, and zeros. */
static mgk_tensors *open_large(const char *object, size_t size, size_t count)
{
    mgk_tensors *tensors;
    struct stat info;
    put_legacy_as(object, size, KEYS, count);
    assert_int_equal(fstat(file, &info), 0);
    assert_int_equal(ftruncate(file, info.st_size + (off_t)(4 * (count - 4))), 0);
    assert_ok(mgk_tensors_open(path, &tensors));
    return tensors;
}

/* Strided tensors: a transposed matrix, read in many pieces; two distant elements. */
static void test_strides(void **state)
{
    (void)state;
    enum { PIECES = 100000 };
    static const char matrix[] = DICT(TENSOR(STORAGE("torch\nFloatStorage", "J\0\0\20\0", "N"),
                                             "K\0", "M\0\4M\0\4\x86", "K\1M\0\4\x86")),
                      pair[] = DICT(TENSOR(STORAGE("torch\nFloatStorage", "J\0\0\40\0", "N"), "K\2",
                                           "K\2\x85", "J\5\0\20\0\x85"));
    float value, values[2];
    mgk_tensors *tensors = open_large(matrix, sizeof(matrix) - 1, 1 << 20);
    const mgk_tensor_info *tensor = mgk_tensors_find(tensors, "w");
    for (size_t i = 0; i < PIECES; i++) {
        assert_ok(mgk_tensors_read(tensors, tensor, i, 1, MGK_DTYPE_F32, &value));
        assert_true(value == (i % 1024 == 0 && i < 4096 ? (float)i / 1024 + 1 : 0));
    }
    mgk_tensors_close(tensors);
    tensors = open_large(pair, sizeof(pair) - 1, 1 << 21);
    tensor = mgk_tensors_find(tensors, "w");
    assert_ok(mgk_tensors_read(tensors, tensor, 0, 2, MGK_DTYPE_F32, values));
    assert_true(values[0] == 3 && values[1] == 0);
    mgk_tensors_close(tensors);
}

static void test_storages(void **state)
{
    (void)state;
    static const char object[] = DICT(TENSOR(FLOATS, "K\0", ")", ")"));
    static const struct {
        const char *keys;
        uint64_t count;
        const char *words;
    } cases[] = {
        {"\x80\2].", 4, "storage \"0\" is missing"},
        {"\x80\2]U\1"
         "1a.",
         4, "a storage without a reference"},
        {"\x80\2](U\1"
         "0U\1"
         "0e.",
         4, "or a repeated one"},
        {"\x80\2]Na.", 4, "a storage without a reference"},
        {"\x80\2N.", 4, "no list"},
        {KEYS, 5, "has 5 elements"},
        {KEYS, UINT64_MAX, "has 18446744073709551615 elements"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put_legacy_as(object, sizeof(object) - 1, cases[i].keys, cases[i].count);
        assert_refused(cases[i].words, STATUS_FORMAT, cases[i].words);
    }
}

/* Trees that are small to write and endless to traverse. */
static void test_trees(void **state)
{
    (void)state;
    char object[2000];
    size_t size = 0;
    mgk_tensors *tensors;
    /* x = (x, x), forty times: 2^40 paths lead to the first one */
    memcpy(object, "\x80\2]", 3);
    size = 3;
    for (int i = 0; i < 40; i++)
        size = (size_t)((char *)mempcpy(object + size, "2\x86", 2) - object);
    object[size++] = '.';
    put_legacy(object, size);
    assert_refused("ways", STATUS_FORMAT, "more than 1048576 values");
    memcpy(object, "\x80\2]", 3);
    memset(object + 3, '\x85', 201);
    object[204] = '.';
    put_legacy(object, 205);
    assert_refused("depth", STATUS_FORMAT, "nests more than 200 levels");
    /* a list and a dictionary that contain themselves */
    static const char cycle[] = "\x80\2]q\0(h\0}q\1(U\1ah\1U\1bh\0ue.";
    put_legacy(cycle, sizeof(cycle) - 1);
    assert_ok(mgk_tensors_open(path, &tensors));
    assert_int_equal(mgk_tensors_count(tensors), 0);
    mgk_tensors_close(tensors);
    /* a key that is not inspected, so that a zero byte at its end goes unnoticed */
    memcpy(object, "\x80\2}X\xe9\3\0", 8);
    memset(object + 8, 'a', 1001);
    memcpy(object + 1008, "\0K\1s.", 5);
    put_legacy(object, 1013);
    assert_refused("key", STATUS_FORMAT, "longer than 1000 bytes");
    /* a call that wraps itself */
    static const char wrap[] = "\x80\2]q\0(ctorch._utils\n_rebuild_parameter\nh\0Rq\1h\1e.";
    put_legacy(wrap, sizeof(wrap) - 1);
    assert_ok(mgk_tensors_open(path, &tensors));
    mgk_tensors_close(tensors);
}

static unsigned char *repeat(unsigned char *end, const char *text, size_t times)
{
    size_t size = strlen(text);
    for (; times > 0; times--)
        end = (unsigned char *)mempcpy(end, text, size);
    return end;
}

/* A long collection that is entered repeatedly, although it contains nothing of interest. */
static void test_long_collections(void **state)
{
    (void)state;
    enum { LONG = 1 << 16, ENTRIES = 1 << 11, ROOM = 1 << 20 };
    static const struct {
        const char *item, *collect;
    } cases[] = {{"N", "l"}, {"N", "t"}, {"NN", "d"}, {"N]", "d"}};
    unsigned char *bytes;
    assert_ok(mgk_alloc(ROOM, 1, &bytes));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned char *end = (unsigned char *)mempcpy(bytes, preface, sizeof(preface) - 1);
        end = repeat(end, "\x80\2]((", 1);
        end = repeat(end, cases[i].item, LONG);
        end = repeat(end, cases[i].collect, 1);
        end = repeat(end, "q\1", 1);
        end = repeat(end, "h\1", ENTRIES);
        end = repeat(end, "e.\x80\2].", 1);
        put(bytes, (size_t)(end - bytes));
        assert_refused(cases[i].item, STATUS_FORMAT, "leads to more than 67108864 items");
    }
    mgk_free(bytes);
}

static void read_everything(void)
{
    mgk_tensors *tensors;
    float values[64];
    if (mgk_tensors_open(path, &tensors) != STATUS_OK) {
        assert_null(tensors);
        return;
    }
    for (size_t i = 0; i < mgk_tensors_count(tensors); i++) {
        const mgk_tensor_info *tensor = mgk_tensors_at(tensors, i);
        size_t count = tensor->count < 64 ? tensor->count : 64;
        assert_ptr_equal(mgk_tensors_find(tensors, tensor->name), tensor);
        if (mgk_tensors_read(tensors, tensor, tensor->count - count, count, MGK_DTYPE_F32,
                             values) == STATUS_OK)
            for (size_t k = 0; k < count; k++)
                assert_true(isfinite(values[k]));
    }
    mgk_tensors_close(tensors);
}

static unsigned char *bytes_of(const char *name, size_t *size)
{
    mgk_mapping mapping;
    unsigned char *bytes;
    assert_ok(mgk_map_file(name, &mapping));
    assert_ok(mgk_alloc(mapping.size, 1, &bytes));
    memcpy(bytes, mapping.data, mapping.size);
    *size = mapping.size;
    mgk_unmap_file(&mapping);
    return bytes;
}

static const char *const files[] = {GOLDEN "zip.pt", GOLDEN "deflated.pt", GOLDEN "legacy.pt"};

static void test_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        size_t size;
        unsigned char *bytes = bytes_of(files[i], &size);
        for (size_t cut = 0; cut < size; cut++) {
            put(bytes, cut);
            assert_refused(files[i], STATUS_FORMAT, "");
        }
        mgk_free(bytes);
    }
}

static void test_mutations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        size_t size;
        unsigned char *bytes = bytes_of(files[i], &size);
        for (size_t place = 0; place < size; place++) {
            unsigned char change = (unsigned char)(place % 3 ? 1 << place % 8 : 0xff);
            bytes[place] ^= change;
            put(bytes, size);
            read_everything();
            bytes[place] ^= change;
        }
        mgk_free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_view),
        cmocka_unit_test(test_strides),   cmocka_unit_test(test_storages),
        cmocka_unit_test(test_trees),     cmocka_unit_test(test_long_collections),
        cmocka_unit_test(test_cut),       cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, open_file, close_file);
}
