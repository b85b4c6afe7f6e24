/* SPDX-License-Identifier: MIT */
/* Matrices in NumPy files: every type, order and number of axes, in .npy and .npz. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "store/foreign/list.h"
#include "store/make_numpy.h"
#include "store/schema/reader.h"
#include "test.h"

#define NPY "matrices.npy"
#define NPZ "matrices.npz"

enum { S = 2, L = 3, H = 2, N = 5, ALL = S * L * H * N * N };

static numpy_bytes arrays[12];

/* Element number i in C order; exact in every type, and of both signs. */
static double value(size_t i)
{
    return ((double)i - 100) / 4;
}

static uint16_t half_of(double x)
{
    _Static_assert(ALL / 4 < 2048, "multiples of 1/4 below 2^9 are exact in binary16");
    uint16_t sign = x < 0 ? 0x8000 : 0;
    double magnitude = fabs(x);
    int exponent = 0;
    if (magnitude == 0)
        return sign;
    magnitude = frexp(magnitude, &exponent);
    return (uint16_t)(sign | (unsigned)(exponent - 1 + 15) << 10 |
                      (unsigned)((magnitude * 2 - 1) * 1024));
}

/* Writes one element as this type: "f2", "f4", "f8". */
static void store(double x, size_t size, bool big_endian, unsigned char *out)
{
    unsigned char bytes[8];
    const float single = (float)x;
    const uint16_t half = half_of(x);
    memcpy(bytes, size == 8 ? (const void *)&x : size == 4 ? (const void *)&single : &half, size);
    for (size_t i = 0; i < size; i++)
        out[i] = bytes[big_endian ? size - 1 - i : i];
}

/* Makes value(0), value(1), ... in this shape [rank], with this layout. */
static void make_array(const char *descr, bool fortran_order, int rank, const size_t *shape,
                       numpy_bytes *out)
{
    static unsigned char elements[ALL * 8];
    size_t size = (size_t)(descr[2] - '0'), count = 1, used = 1;
    char text[100] = "(";
    for (int i = 0; i < rank; i++) {
        count *= shape[i];
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%zu,", shape[i]);
    }
    snprintf(text + used, sizeof(text) - used, ")");
    for (size_t i = 0; i < count; i++) {
        size_t place = i, rest = i, stride = count;
        for (int axis = rank - 1; fortran_order && axis >= 0; axis--) {
            place = axis == rank - 1 ? 0 : place;
            stride /= shape[axis];
            place += rest % shape[axis] * stride;
            rest /= shape[axis];
        }
        store(value(i), size, descr[0] == '>', elements + place * size);
    }
    make_npy(descr, fortran_order, text, elements, count * size, out);
}

static void write_npy(const numpy_bytes *array)
{
    assert_ok(mgk_write_file(NPY, true, array->bytes, array->size));
}

/* Every matrix is correct, read forwards and backwards. */
static void expect_matrices(const char *path, const char *name, int32_t samples, int32_t layers,
                            int32_t heads)
{
    mgk_store_reader *reader;
    assert_ok(mgk_store_open(path, name, &reader));
    const mgk_store_description *d = mgk_store_describe(reader);
    assert_int_equal(d->samples, samples);
    assert_int_equal(d->layers, layers);
    assert_int_equal(d->heads, heads);
    assert_int_equal(d->tokens, N);
    assert_int_equal(d->layer_index[layers - 1], layers - 1);
    int32_t count = samples * layers * heads;
    for (int32_t turn = 0; turn < 2 * count; turn++) {
        int32_t i = turn < count ? turn : 2 * count - 1 - turn, length;
        double matrix[N * N];
        float single[N * N];
        int32_t s = i / heads / layers, l = i / heads % layers, h = i % heads;
        assert_ok(mgk_store_read_matrix(reader, s, l, h, STORE_F64, matrix, &length));
        assert_ok(mgk_store_read_matrix(reader, s, l, h, STORE_F32, single, NULL));
        assert_int_equal(length, N);
        for (size_t k = 0; k < N * N; k++) {
            assert_true(matrix[k] == value((size_t)i * N * N + k));
            assert_true((double)single[k] == matrix[k]);
        }
    }
    assert_fails(mgk_store_read_matrix(reader, samples, 0, 0, STORE_F64, NULL, NULL), STATUS_USAGE);
    mgk_store_close(reader);
}

static void every_type_and_order(void **state)
{
    (void)state;
    static const char *const types[] = {"<f2", ">f2", "<f4", ">f4", "<f8", ">f8"};
    const size_t shape[] = {S, L, H, N, N};
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
        for (int fortran = 0; fortran < 2; fortran++) {
            make_array(types[t], fortran, 5, shape, &arrays[0]);
            write_npy(&arrays[0]);
            expect_matrices(NPY, NULL, S, L, H);
            make_array(types[t], fortran, 4, shape + 1, &arrays[0]);
            write_npy(&arrays[0]);
            expect_matrices(NPY, NULL, L, 1, H);
            make_array(types[t], fortran, 3, shape + 2, &arrays[0]);
            write_npy(&arrays[0]);
            expect_matrices(NPY, "any name", H, 1, 1);
            make_array(types[t], fortran, 2, shape + 3, &arrays[0]);
            write_npy(&arrays[0]);
            expect_matrices(NPY, NULL, 1, 1, 1);
        }
}

/* A file that another program cuts while it is open ends no program. */
static void files_that_shrink(void **state)
{
    (void)state;
    const size_t shape[] = {S, L, H, N, N};
    for (int fortran = 0; fortran < 2; fortran++) {
        double matrix[N * N];
        mgk_store_reader *reader;
        make_array("<f8", fortran, 5, shape, &arrays[0]);
        write_npy(&arrays[0]);
        assert_ok(mgk_store_open(NPY, NULL, &reader));
        assert_ok(mgk_store_read_matrix(reader, S - 1, L - 1, H - 1, STORE_F64, matrix, NULL));
        assert_int_equal(truncate(NPY, 200), 0);
        assert_fails(mgk_store_read_matrix(reader, S - 1, L - 1, H - 1, STORE_F64, matrix, NULL),
                     STATUS_FORMAT);
        assert_non_null(strstr(mgk_fail_message(), NPY ": has become shorter"));
        mgk_store_close(reader);
    }
}

static void archives(void **state)
{
    (void)state;
    const size_t shape[] = {S, L, H, N, N}, other[] = {3, 4};
    const char *const names[] = {"attention.npy", "ids.npy", "single.npy"};
    make_array(">f8", false, 5, shape, &arrays[0]);
    make_array("<f4", false, 2, other, &arrays[1]);
    make_array("<f4", true, 2, shape + 3, &arrays[2]);
    for (int deflated = 0; deflated < 2; deflated++) {
        make_npz(NPZ, names, arrays, 2, deflated);
        expect_matrices(NPZ, NULL, S, L, H);
        make_npz(NPZ, names, arrays, 3, deflated);
        expect_matrices(NPZ, "attention", S, L, H);
        expect_matrices(NPZ, "single", 1, 1, 1);
    }
}

/* [S, H, N, N] in layer_0 ... layer_11, where only the order of numbers is right. */
static void arrays_of_layers(void **state)
{
    (void)state;
    enum { LAYERS = 12 };
    static const char *const names[] = {
        "layer_0.npy", "layer_1.npy", "layer_10.npy", "layer_11.npy", "layer_2.npy", "layer_3.npy",
        "layer_4.npy", "layer_5.npy", "layer_6.npy",  "layer_7.npy",  "layer_8.npy", "layer_9.npy"};
    static const int numbers[] = {0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9};
    const size_t shape[] = {S, H, N, N};
    mgk_store_reader *reader;
    for (size_t i = 0; i < LAYERS; i++) {
        float mark = (float)numbers[i];
        make_array("<f4", false, 4, shape, &arrays[i]);
        memcpy(arrays[i].bytes + arrays[i].size - sizeof(mark), &mark, sizeof(mark));
    }
    make_npz(NPZ, names, arrays, LAYERS, true);
    assert_ok(mgk_store_open(NPZ, "layer_*", &reader));
    assert_int_equal(mgk_store_describe(reader)->layers, LAYERS);
    assert_int_equal(mgk_store_describe(reader)->heads, H);
    for (int32_t layer = 0; layer < LAYERS; layer++) {
        double matrix[N * N];
        assert_ok(mgk_store_read_matrix(reader, S - 1, layer, H - 1, STORE_F64, matrix, NULL));
        assert_true(matrix[0] == value((S * H - 1) * N * N));
        assert_true(matrix[N * N - 1] == layer);
    }
    assert_int_equal(mgk_store_widest(reader), STORE_F32);
    mgk_store_close(reader);
    assert_fails(mgk_store_open(NPZ, "l*x", &reader), STATUS_FORMAT);
    make_array("<f8", false, 4, shape, &arrays[1]); /* a wide layer among narrow ones */
    make_npz(NPZ, names, arrays, LAYERS, true);
    assert_ok(mgk_store_open(NPZ, "layer_*", &reader));
    assert_int_equal(mgk_store_describe(reader)->storage, STORE_F32);
    assert_int_equal(mgk_store_widest(reader), STORE_F64);
    mgk_store_close(reader);
    make_array("<f4", false, 3, shape + 1, &arrays[3]);
    make_npz(NPZ, names, arrays, LAYERS, true);
    assert_fails(mgk_store_open(NPZ, "layer_*", &reader), STATUS_SHAPE);
    assert_non_null(strstr(mgk_fail_message(), "layers differ: \"layer_0\" is [2,2,5,5], "
                                               "\"layer_11\" is [2,5,5]"));
}

static void expect_refusal(const char *path, const char *name, mgk_status expected,
                           const char *said)
{
    mgk_store_reader *reader;
    assert_fails(mgk_store_open(path, name, &reader), expected);
    assert_null(reader);
    if (!strstr(mgk_fail_message(), said) || !strstr(mgk_fail_message(), path))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), said);
}

static void others_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *descr, *shape;
        size_t bytes;
        mgk_status status;
        const char *said;
    } cases[] = {
        {"<i4", "(5, 5)", 100, STATUS_UNSUPPORTED, "the array holds int32, expected float16"},
        {"|b1", "(5, 5)", 25, STATUS_UNSUPPORTED, "holds bool"},
        {"|O", "(5, 5)", 25, STATUS_UNSUPPORTED, "holds object"},
        {"<c8", "(1, 1)", 8, STATUS_UNSUPPORTED, "holds complex64"},
        {"<f16", "(1, 1)", 16, STATUS_UNSUPPORTED, "holds float128"},
        {"<f4", "(3, 0, 4)", 0, STATUS_SHAPE, "is [3,0,4], which holds no matrices"},
        {"<f4", "(25,)", 100, STATUS_SHAPE, "has 1 axis, expected 2 to 5"},
        {"<f4", "()", 4, STATUS_SHAPE, "has 0 axes"},
        {"<f4", "(1, 1, 1, 1, 5, 5)", 100, STATUS_SHAPE, "has 6 axes"},
        {"<f4", "(1, 1, 1, 1, 1, 1, 1, 5, 5)", 100, STATUS_SHAPE, "has 9 axes"},
        {"<f4", "(0, 5, 5)", 0, STATUS_SHAPE, "is [0,5,5], which holds no matrices"},
        {"<f4", "(3, 0, 0)", 0, STATUS_SHAPE, "which holds no matrices"},
        {"<f4", "(4294967296, 0, 0)", 0, STATUS_SHAPE, "which holds no matrices"},
    };
    static const unsigned char zeros[128];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make_npy(cases[i].descr, false, cases[i].shape, zeros, cases[i].bytes, &arrays[0]);
        write_npy(&arrays[0]);
        expect_refusal(NPY, NULL, cases[i].status, cases[i].said);
    }
}

static void archives_leave_choices(void **state)
{
    (void)state;
    const size_t shape[] = {H, N, N};
    const char *const names[] = {"one.npy", "two.npy", "three.txt"};
    make_array("<f4", true, 3, shape, &arrays[0]);
    make_array("<f8", false, 2, shape + 1, &arrays[1]);
    make_array("<f4", false, 2, shape + 1, &arrays[2]);
    make_npz(NPZ, names, arrays, 3, false);
    expect_refusal(NPZ, NULL, STATUS_FORMAT, "\"one\" [2,5,5], \"two\" [5,5]");
    expect_refusal(NPZ, "three", STATUS_FORMAT, "no array \"three\"");
    expect_refusal(NPZ, "one.npy", STATUS_FORMAT, "no array \"one.npy\"");
    expect_refusal(NPZ, "one", STATUS_UNSUPPORTED, "\"one\" is in Fortran order");
    make_npy("<i8", false, "(1,)", "12345678", 8, &arrays[0]);
    make_npy("<i8", false, "(1,)", "12345678", 8, &arrays[1]);
    make_npz(NPZ, names, arrays, 2, false);
    expect_refusal(NPZ, NULL, STATUS_FORMAT, "no array of matrices is in it");
    arrays[1].size--;
    make_npz(NPZ, names, arrays, 2, false);
    expect_refusal(NPZ, NULL, STATUS_FORMAT, "\"two.npy\": npy elements take 7 bytes");
}

/* Attention of N queries to another number of keys, in both orders of axes. */
static void rectangles(void **state)
{
    (void)state;
    static const size_t shapes[][2] = {{N, 3}, {3, N}, {1, N}, {N, 1}};
    for (size_t c = 0; c < 4; c++)
        for (int fortran = 0; fortran < 2; fortran++) {
            const size_t rows = shapes[c][0], columns = shapes[c][1];
            const size_t shape[] = {S, L, H, rows, columns};
            mgk_store_reader *reader;
            double matrix[N * N];
            int32_t length, keys;
            make_array("<f8", fortran, 5, shape, &arrays[0]);
            write_npy(&arrays[0]);
            assert_ok(mgk_store_open(NPY, NULL, &reader));
            const mgk_store_description *d = mgk_store_describe(reader);
            assert_true(d->cross);
            assert_int_equal(d->tokens, rows);
            assert_int_equal(d->key_tokens, columns);
            for (int32_t i = 0; i < S * L * H; i++) {
                assert_ok(mgk_store_read_matrix(reader, i / H / L, i / H % L, i % H, STORE_F64,
                                                matrix, &length));
                assert_ok(mgk_store_read_key_length(reader, i / H / L, &keys));
                assert_int_equal(length, rows);
                assert_int_equal(keys, columns);
                for (size_t k = 0; k < rows * columns; k++)
                    assert_true(matrix[k] == value((size_t)i * rows * columns + k));
            }
            mgk_store_close(reader);
        }
}

/* Square matrices go before others, and without a name two axes alone are no matrices among other
 * arrays. */
static void square_arrays_are_chosen_first(void **state)
{
    (void)state;
    const size_t square[] = {H, N, N}, wide[] = {L, H, 3, N}, flat[] = {3, N};
    const char *const names[] = {"square.npy", "wide.npy", "flat.npy"};
    mgk_store_reader *reader;
    make_array("<f4", false, 3, square, &arrays[0]);
    make_array("<f4", false, 4, wide, &arrays[1]);
    make_array("<f4", false, 2, flat, &arrays[2]);
    make_npz(NPZ, names, arrays, 3, false);
    expect_matrices(NPZ, NULL, H, 1, 1);
    make_npz(NPZ, names + 1, arrays + 1, 2, false);
    assert_ok(mgk_store_open(NPZ, NULL, &reader));
    assert_int_equal(mgk_store_describe(reader)->samples, L);
    assert_int_equal(mgk_store_describe(reader)->tokens, 3);
    assert_true(mgk_store_describe(reader)->cross);
    mgk_store_close(reader);
    assert_ok(mgk_store_open(NPZ, "flat", &reader));
    assert_int_equal(mgk_store_describe(reader)->key_tokens, N);
    mgk_store_close(reader);
    make_npy("<i8", false, "(1,)", "12345678", 8, &arrays[1]);
    make_npz(NPZ, names + 1, arrays + 1, 2, false);
    expect_refusal(NPZ, NULL, STATUS_FORMAT, "no array of matrices is in it");
}

/* A file cut off anywhere is refused when it is opened; one with a changed byte never crashes. */
static void damaged_files(void **state)
{
    (void)state;
    const size_t shape[] = {N, N};
    const char *name = "a.npy";
    make_array("<f4", false, 2, shape, &arrays[0]);
    for (int kind = 0; kind < 3; kind++) {
        const char *path = kind == 0 ? NPY : NPZ;
        mgk_mapping file;
        unsigned char bytes[1024];
        mgk_store_reader *reader;
        if (kind == 0)
            write_npy(&arrays[0]);
        else
            make_npz(NPZ, &name, arrays, 1, kind == 2);
        assert_ok(mgk_map_file(path, &file));
        assert_true(file.size < sizeof(bytes));
        size_t size = file.size;
        memcpy(bytes, file.data, size);
        mgk_unmap_file(&file);
        for (size_t kept = 0; kept < size; kept++) {
            assert_ok(mgk_write_file(path, true, bytes, kept));
            assert_fails(mgk_store_open(path, NULL, &reader), STATUS_FORMAT);
        }
        for (size_t i = 0; i < size; i++) {
            double matrix[64 * 64];
            bytes[i] ^= 0x55;
            assert_ok(mgk_write_file(path, true, bytes, size));
            bytes[i] ^= 0x55;
            if (mgk_store_open(path, NULL, &reader) != STATUS_OK)
                continue;
            assert_true(mgk_store_describe(reader)->tokens <= 64);
            mgk_store_read_matrix(reader, 0, 0, 0, STORE_F64, matrix, NULL);
            mgk_store_close(reader);
        }
    }
}

static mgk_status count_entry(void *context, const mgk_store_entry *entry)
{
    int *count = context;
    assert_null(entry->attribute);
    if (*count == 0) {
        assert_string_equal(entry->object, "first");
        assert_string_equal(entry->type, "float64");
        assert_int_equal(entry->rank, 2);
        assert_int_equal(entry->shape[1], N);
    }
    ++*count;
    return *count == 3 ? STATUS_INTERRUPTED : STATUS_OK;
}

static void arrays_are_listed(void **state)
{
    (void)state;
    const size_t shape[] = {N, N};
    const char *const names[] = {"first.npy", "second.npy", "third.npy", "fourth.npy"};
    int count = 0;
    for (int i = 0; i < 4; i++)
        make_array("<f8", false, 2, shape, &arrays[i]);
    make_npz(NPZ, names, arrays, 2, true);
    assert_ok(mgk_store_list(NPZ, count_entry, &count));
    assert_int_equal(count, 2);
    make_npz(NPZ, names, arrays, 4, true);
    count = 0;
    assert_fails(mgk_store_list(NPZ, count_entry, &count), STATUS_INTERRUPTED);
}

static int remove_files(void **state)
{
    (void)state;
    unlink(NPY);
    return unlink(NPZ);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_order),
        cmocka_unit_test(archives),
        cmocka_unit_test(arrays_of_layers),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(archives_leave_choices),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(arrays_are_listed),
        cmocka_unit_test(files_that_shrink),
        cmocka_unit_test(rectangles),
        cmocka_unit_test(square_arrays_are_chosen_first),
    };
    return cmocka_run_group_tests(tests, NULL, remove_files);
}
