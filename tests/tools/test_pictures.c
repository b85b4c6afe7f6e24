/* SPDX-License-Identifier: MIT */
/* Pictures in the public functions: export, ranks, and inputs of the wrong kind. */
#include "test.h"

#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "model/containers/tensors.h"
#include "store/schema/reader.h"
#include "tiny.h"

#define VIT MGK_TEST_GOLDEN "/hugging_face/vit"
#define BERT MGK_TEST_GOLDEN "/hugging_face/bert"

enum { S = 2, L = 2, H = 3, N = 10 };

static const char store_path[] = "pictures.h5";
static const char *const files[] = {MGK_TEST_GOLDEN "/pictures/photo.png",
                                    MGK_TEST_GOLDEN "/pictures/palette.png"};

static mgk_dump_options options_of(const char *model)
{
    mgk_dump_options o = mgk_dump_options_default();
    o.job = (mgk_job){.device = "cpu", .threads = 1, .force = true};
    o.model = model;
    o.input.images = files;
    o.input.image_count = S;
    o.output = store_path;
    o.double_precision = true;
    return o;
}

/* The position of picture `file` among the store's samples, which are drawn by seed. */
static int32_t place_of(const mgk_store_description *store, int32_t file)
{
    for (int32_t s = 0; s < store->samples; s++)
        if (store->sample_index[s] == file)
            return s;
    fail_msg("picture %d is not in the store", file);
    return -1;
}

static void check_matrices(mgk_store_reader *store)
{
    mgk_tensors *tensors;
    double found[N * N], expected[N * N];
    assert_ok(mgk_tensors_open(VIT "/expected.safetensors", &tensors));
    const mgk_tensor_info *info = mgk_tensors_find(tensors, "attention");
    for (int32_t i = 0; i < L * S * H; i++) {
        int32_t sample = place_of(mgk_store_describe(store), i / H % S), length;
        assert_ok(mgk_tensors_read(tensors, info, (size_t)i * N * N, (size_t)N * N, MGK_DTYPE_F64,
                                   expected));
        assert_ok(
            mgk_store_read_matrix(store, sample, i / (H * S), i % H, STORE_F64, found, &length));
        assert_int_equal(length, N);
        for (int k = 0; k < N * N; k++)
            assert_close(found[k], expected[k], 1e-10, 0);
    }
    mgk_tensors_close(tensors);
}

/* Exports all named pictures: their attention, and patches as the text of tokens. */
static void exported(void **state)
{
    (void)state;
    const mgk_dump_options o = options_of(VIT);
    mgk_dump_summary summary;
    mgk_store_reader *store;
    char text[N][MGK_TOKEN_TEXT];
    assert_done(mgk_dump_attention(&o, &summary));
    assert_int_equal(summary.samples, S);
    assert_int_equal(summary.length, N);
    assert_ok(mgk_store_open(store_path, NULL, &store));
    check_matrices(store);
    assert_ok(mgk_store_read_token_text(store, 0, text));
    assert_string_equal(text[0], "class");
    assert_string_equal(text[4], "1,0");
    assert_string_equal(mgk_store_describe(store)->token_text.subword, "");
    mgk_store_close(store);
}

static void ranked(void **state)
{
    (void)state;
    const char *const stores[] = {store_path};
    mgk_rank_summary stored, streamed;
    const mgk_dump_options dump = options_of(VIT);
    assert_done(mgk_dump_attention(&dump, NULL));
    mgk_rank_options o = mgk_rank_options_default();
    o.job = dump.job;
    o.inputs = stores;
    o.input_count = 1;
    assert_done(mgk_rank_attention(&o, &stored));
    o.inputs = NULL;
    o.input_count = 0;
    o.model = VIT;
    o.input = dump.input;
    o.double_precision = true;
    assert_done(mgk_rank_attention(&o, &streamed));
    assert_int_equal(stored.count, L);
    assert_int_equal(streamed.count, L);
    for (size_t l = 0; l < L; l++) {
        assert_int_equal(streamed.layers[l].matrices, S * H);
        assert_true(streamed.layers[l].mean == stored.layers[l].mean);
        assert_true(streamed.layers[l].effective == stored.layers[l].effective);
    }
    mgk_release(stored.layers);
    mgk_release(stored.histogram);
    mgk_release(streamed.layers);
    mgk_release(streamed.histogram);
}

static void fails(const mgk_dump_options *o, mgk_result expected, const char *says)
{
    unlink(store_path);
    assert_int_equal(mgk_dump_attention(o, NULL), expected);
    if (!strstr(mgk_error(), says))
        fail_msg("\"%s\" does not say \"%s\"", mgk_error(), says);
    assert_int_not_equal(access(store_path, F_OK), 0);
}

static void refuses(void **state)
{
    (void)state;
    static const char *const none[] = {MGK_TEST_GOLDEN "/pictures/photo.png", "none.png"};
    static const char *const text[] = {VIT "/config.json"};
    mgk_dump_options o = options_of(BERT);
    fails(&o, MGK_USAGE, "hugging_face/bert reads tokens, not pictures");
    o = options_of(VIT);
    o.input.images = none;
    fails(&o, MGK_IO, "none.png: ");
    o.input.images = text;
    o.input.image_count = 1;
    fails(&o, MGK_INPUT, "config.json: not a PNG");
    o = options_of(VIT);
    o.input.samples = S + 1;
    fails(&o, MGK_INPUT, "the number of pictures is 2");
    o = options_of(VIT);
    o.input.length = N - 1;
    fails(&o, MGK_USAGE, "a picture has 10 tokens");
    o.input.length = N;
    assert_done(mgk_dump_attention(&o, NULL));
    o.input.lines = true;
    fails(&o, MGK_USAGE, "`lines`");
    o = options_of(VIT);
    o.input.text = text;
    o.input.text_count = 1;
    fails(&o, MGK_USAGE, "one of `text`");
    o.input.image_count = 0;
    fails(&o, MGK_USAGE, "hugging_face/vit reads pictures");
    mgk_network *network;
    assert_int_equal(mgk_network_open(VIT, &o.job, false, &network), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "reads pictures"));
    assert_null(network);
}

static int remove_store(void **state)
{
    (void)state;
    unlink(store_path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exported),
        cmocka_unit_test(ranked),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, remove_store);
}
