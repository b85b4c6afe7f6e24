/* SPDX-License-Identifier: MIT */
/* Recordings in the public functions: export, ranks, and inputs of the wrong kind. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/containers/tensors.h"
#include "store/schema/reader.h"
#include "tiny.h"

#define WHISPER MGK_TEST_GOLDEN "/hugging_face/whisper"
#define BERT MGK_TEST_GOLDEN "/hugging_face/bert"

#define FOLDER "speech"

enum { S = 2, L = 2, H = 3, N = 10 };

static const char store_path[] = "sounds.h5";
static const char *const files[] = {MGK_TEST_GOLDEN "/sounds/clip.wav",
                                    MGK_TEST_GOLDEN "/sounds/stereo.wav"};

static mgk_dump_options options_of(const char *model)
{
    mgk_dump_options o = mgk_dump_options_default();
    o.job = (mgk_job){.device = "cpu", .threads = 1, .force = true};
    o.model = model;
    o.input.audio = files;
    o.input.audio_count = S;
    o.output = store_path;
    o.double_precision = true;
    return o;
}

/* All recordings in their order: their attention, and seconds as the text of tokens. */
static void exported(void **state)
{
    (void)state;
    const mgk_dump_options o = options_of(WHISPER);
    mgk_dump_summary summary;
    mgk_store_reader *store;
    mgk_tensors *tensors;
    char text[N][MGK_TOKEN_TEXT];
    double found[N * N], expected[N * N];
    int32_t length;
    assert_done(mgk_dump_attention(&o, &summary));
    assert_int_equal(summary.samples, S);
    assert_ok(mgk_store_open(store_path, NULL, &store));
    assert_ok(mgk_tensors_open(WHISPER "/expected.safetensors", &tensors));
    const mgk_tensor_info *info = mgk_tensors_find(tensors, "attention");
    for (int32_t i = 0; i < L * S * H; i++) {
        const int32_t sample = i / H % S;
        assert_int_equal(mgk_store_describe(store)->sample_index[sample], sample);
        assert_ok(mgk_tensors_read(tensors, info, (size_t)i * N * N, (size_t)N * N, MGK_DTYPE_F64,
                                   expected));
        assert_ok(
            mgk_store_read_matrix(store, sample, i / (H * S), i % H, STORE_F64, found, &length));
        assert_int_equal(length, N);
        for (int k = 0; k < N * N; k++)
            assert_close(found[k], expected[k], 1e-10, 0);
    }
    assert_ok(mgk_store_read_token_text(store, 0, text));
    assert_string_equal(text[0], "0.00");
    assert_string_equal(text[9], "0.90");
    mgk_tensors_close(tensors);
    mgk_store_close(store);
}

/* Writes a file of the folder of a speech model that has a tokenizer. */
static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* `length` cuts what a decoder writes; recordings keep theirs. */
static void cut_targets(void **state)
{
    (void)state;
    static const char *const parts[] = {"config.json", "model.safetensors",
                                        "preprocessor_config.json"};
    char from[600], to[64];
    mgk_store_reader *store;
    mkdir(FOLDER, 0777);
    for (int i = 0; i < 3; i++) {
        snprintf(from, sizeof(from), WHISPER "/%s", parts[i]);
        snprintf(to, sizeof(to), FOLDER "/%s", parts[i]);
        assert_int_equal(symlink(from, to), 0);
    }
    write_text(FOLDER "/tokenizer.json",
               "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": []}}");
    write_text("targets.txt", "abab\nba\n");
    mgk_dump_options o = options_of(FOLDER);
    o.job.part = "cross";
    o.input.target = "targets.txt";
    o.input.length = 3;
    assert_done(mgk_dump_attention(&o, NULL));
    assert_ok(mgk_store_open(store_path, NULL, &store));
    assert_int_equal(mgk_store_describe(store)->tokens, 3);
    assert_int_equal(mgk_store_describe(store)->key_tokens, N);
    mgk_store_close(store);
    for (int i = 0; i < 3; i++) {
        snprintf(to, sizeof(to), FOLDER "/%s", parts[i]);
        unlink(to);
    }
    unlink(FOLDER "/tokenizer.json");
    unlink("targets.txt");
    rmdir(FOLDER);
}

/* Streamed on several threads, each with batches of its own. */
static void ranked(void **state)
{
    (void)state;
    mgk_rank_options o = mgk_rank_options_default();
    mgk_rank_summary summary;
    o.job = (mgk_job){.device = "cpu", .threads = 2, .force = true};
    o.model = WHISPER;
    o.input = options_of(WHISPER).input;
    assert_done(mgk_rank_attention(&o, &summary));
    assert_int_equal(summary.count, L);
    assert_int_equal(summary.layers[1].matrices, S * H);
    mgk_release(summary.layers);
    mgk_release(summary.histogram);
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
    static const char *const none[] = {MGK_TEST_GOLDEN "/sounds/clip.wav", "none.wav"};
    static const char *const text[] = {WHISPER "/config.json"};
    mgk_dump_options o = options_of(BERT);
    fails(&o, MGK_USAGE, "hugging_face/bert reads tokens, not sounds");
    o = options_of(WHISPER);
    o.input.audio = none;
    fails(&o, MGK_IO, "none.wav: ");
    o.input.audio = text;
    o.input.audio_count = 1;
    fails(&o, MGK_INPUT, "config.json: not a WAV file");
    o = options_of(WHISPER);
    o.input.samples = S + 1;
    fails(&o, MGK_INPUT, "the number of recordings is 2");
    o = options_of(WHISPER);
    o.input.length = N - 1;
    fails(&o, MGK_USAGE, "a recording has 10 tokens");
    o.input.length = 0;
    o.input.lines = true;
    fails(&o, MGK_USAGE, "about text, not sounds");
    o = options_of(WHISPER);
    o.input.text = text;
    o.input.text_count = 1;
    fails(&o, MGK_USAGE, "one of `text`");
    o.input.audio_count = 0;
    fails(&o, MGK_USAGE, "hugging_face/whisper reads sounds");
    mgk_network *network;
    assert_int_equal(mgk_network_open(WHISPER, &o.job, false, &network), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "reads pictures or sounds"));
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
        cmocka_unit_test(cut_targets),
        cmocka_unit_test(ranked),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, remove_store);
}
