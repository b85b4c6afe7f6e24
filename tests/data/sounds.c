/* SPDX-License-Identifier: MIT */
/* Recordings and their spectra; tests/golden/whisper.py makes the files. Bad ones are made here. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "data/sounds/sounds.h"
#include "data/sounds/wav.h"
#include "model/containers/tensors.h"

static const char top[] = MGK_TEST_GOLDEN "/sounds/";
static const char made[] = "made.wav";

static void open_expected(const char *path, mgk_tensors **out)
{
    char full[512];
    snprintf(full, sizeof(full), "%s/%s/expected.safetensors", MGK_TEST_GOLDEN, path);
    assert_ok(mgk_tensors_open(full, out));
}

/* The samples of each kind of file, exactly. */
static void test_samples(void **state)
{
    (void)state;
    mgk_tensors *tensors;
    int files = 0;
    open_expected("sounds", &tensors);
    for (size_t t = 0; t < mgk_tensors_count(tensors); t++) {
        const mgk_tensor_info *info = mgk_tensors_at(tensors, t);
        char path[600];
        mgk_wav wav;
        float *found, *expected;
        if (!strstr(info->name, ".wav"))
            continue;
        files++;
        snprintf(path, sizeof(path), "%s%s", top, info->name);
        assert_ok(mgk_wav_open(path, &wav));
        assert_int_equal(wav.rate, 16000);
        assert_int_equal(wav.count, info->count);
        assert_ok(mgk_alloc(info->count, sizeof(*found), &found));
        assert_ok(mgk_alloc(info->count, sizeof(*expected), &expected));
        assert_ok(mgk_tensors_read(tensors, info, 0, info->count, MGK_DTYPE_F32, expected));
        assert_ok(mgk_wav_read(&wav, wav.count, found));
        for (size_t i = 0; i < info->count; i++)
            if (found[i] != expected[i])
                fail_msg("%s [%zu]: %.9g, expected %.9g", info->name, i, (double)found[i],
                         (double)expected[i]);
        mgk_free(found);
        mgk_free(expected);
        mgk_wav_close(&wav);
    }
    assert_int_equal(files, 5);
    mgk_tensors_close(tensors);
}

/*
 * Compares the frames of recordings [count] with rows of an expected tensor [count, rows, M], from
 * row `first` of each recording on.
 */
static void check_frames(const char *folder, const char *const *names, size_t count,
                         const mgk_sound_form *form, int tokens, size_t first)
{
    const size_t bands = (size_t)form->bands, rows = mgk_sound_rows(tokens);
    char paths[2][600];
    const char *list[] = {paths[0], paths[1]};
    mgk_tensors *tensors;
    mgk_sounds *sounds;
    double *found, *expected;
    int32_t *ids;
    open_expected(folder, &tensors);
    const mgk_tensor_info *info = mgk_tensors_find(tensors, "frames");
    const size_t each = info->count / count;
    assert_true(first * bands + each <= rows * bands);
    for (size_t i = 0; i < count; i++)
        snprintf(paths[i], sizeof(paths[i]), "%s%s", top, names[i]);
    assert_ok(mgk_alloc(rows * bands, sizeof(*found), &found));
    assert_ok(mgk_alloc(each, sizeof(*expected), &expected));
    assert_ok(mgk_alloc((size_t)tokens, sizeof(*ids), &ids));
    assert_ok(mgk_sounds_open(list, count, form, tokens, &sounds));
    assert_int_equal(mgk_sounds_count(sounds), count);
    assert_null(mgk_sounds_remark(sounds));
    for (size_t i = 0; i < count; i++) {
        assert_ok(mgk_tensors_read(tensors, info, i * each, each, MGK_DTYPE_F64, expected));
        memset(found, 1, rows * bands * sizeof(*found));
        assert_ok(mgk_sounds_read(sounds, i, ids, found));
        for (size_t k = 0; k < each; k++)
            assert_close(found[first * bands + k], expected[k], 1e-11, 0);
        for (size_t k = 0; k < bands; k++)
            assert_true(found[k] == 0 && found[(rows - 1) * bands + k] == 0);
        for (int t = 0; t < tokens; t++)
            assert_int_equal(ids[t], t);
    }
    const mgk_token_text text = mgk_sounds_text(sounds);
    assert_string_equal(text.of(text.context, 0), "0.00");
    assert_string_equal(text.of(text.context, tokens), "");
    mgk_sounds_close(sounds);
    mgk_tensors_close(tensors);
    mgk_free(found);
    mgk_free(expected);
    mgk_free(ids);
}

static void test_frames(void **state)
{
    (void)state;
    static const char *const names[] = {"clip.wav", "stereo.wav"};
    const mgk_sound_form usual = {.bands = 80, .rate = 16000, .hop = 160, .window = 400};
    const mgk_sound_form small = {.bands = 7, .rate = 16000, .hop = 800, .window = 120};
    check_frames("sounds", names, 1, &usual, 1500, 1);
    check_frames("hugging_face/whisper", names, 2, &small, 10, 0);
}

/* A recording that is cut, and one of another rate. */
static void test_lengths(void **state)
{
    (void)state;
    char path[600];
    const char *const list[] = {path};
    const mgk_sound_form form = {.bands = 3, .rate = 16000, .hop = 100, .window = 8};
    const mgk_sound_form slow = {.bands = 3, .rate = 8000, .hop = 100, .window = 8};
    mgk_sounds *sounds;
    double frames[3 * 6];
    int32_t ids[2];
    snprintf(path, sizeof(path), "%sclip.wav", top);
    assert_ok(mgk_sounds_open(list, 1, &form, 2, &sounds));
    assert_string_equal(mgk_sounds_remark(sounds),
                        "1 of 1 recording is longer than 0.025 s: the rest is left out");
    assert_ok(mgk_sounds_read(sounds, 0, ids, frames));
    const mgk_token_text text = mgk_sounds_text(sounds);
    assert_string_equal(text.of(text.context, 1), "0.01");
    mgk_sounds_close(sounds);
    assert_fails(mgk_sounds_open(list, 1, &slow, 2, &sounds), STATUS_UNSUPPORTED);
    assert_non_null(strstr(mgk_fail_message(), "16000 samples a second, the model hears 8000"));
}

enum { HEADER = 44, SAMPLES = 4 };

/* A file of four samples of 16 bits. */
static const unsigned char good[HEADER + 2 * SAMPLES] = {
    'R', 'I', 'F', 'F', 44, 0, 0,   0,    'W', 'A', 'V', 'E', 'f', 'm', 't', ' ', 16, 0,
    0,   0,   1,   0,   1,  0, 128, 0x3e, 0,   0,   0,   125, 0,   0,   2,   0,   16, 0,
    'd', 'a', 't', 'a', 8,  0, 0,   0,    1,   0,   255, 255, 0,   64,  0,   128};

static mgk_status open_bytes(const unsigned char *bytes, size_t size, mgk_wav *out)
{
    assert_ok(mgk_write_file(made, true, bytes, size));
    return mgk_wav_open(made, out);
}

static void test_damaged(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        unsigned char value;
        mgk_status status;
        const char *says;
    } cases[] = {
        {3, 'X', STATUS_FORMAT, "not a WAV file"},      /* RIFX */
        {8, 'A', STATUS_FORMAT, "not a WAV file"},      /* AAVE */
        {12, 'g', STATUS_FORMAT, "without a format"},   /* "gmt " */
        {16, 15, STATUS_FORMAT, "format has 15 bytes"}, /* of "fmt " */
        {17, 255, STATUS_FORMAT, "beyond its end"},     /* "fmt " beyond the end */
        {20, 7, STATUS_UNSUPPORTED, "kind 7 and 16"},   /* mu-law */
        {20, 3, STATUS_UNSUPPORTED, "kind 3 and 16"},   /* reals of 16 bits */
        {22, 0, STATUS_FORMAT, "damaged: 0 channels"},  /* channels */
        {22, 2, STATUS_FORMAT, "damaged: 2 channels"},  /* of 2 bytes together */
        {27, 255, STATUS_FORMAT, "damaged"},            /* rate */
        {32, 0, STATUS_FORMAT, "damaged"},              /* bytes of a sample */
        {34, 8, STATUS_UNSUPPORTED, "kind 1 and 8"},    /* bits */
        {36, 'D', STATUS_FORMAT, "cut off before"},     /* no "data" */
        {40, 9, STATUS_FORMAT, "cut off: 8 bytes of samples, expected 9"},
        {40, 1, STATUS_FORMAT, "has no samples"},
    };
    mgk_wav wav;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned char bytes[sizeof(good)];
        memcpy(bytes, good, sizeof(good));
        bytes[cases[i].at] = cases[i].value;
        if (open_bytes(bytes, sizeof(bytes), &wav) != cases[i].status ||
            !strstr(mgk_fail_message(), cases[i].says))
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, mgk_fail_message(), cases[i].says);
    }
    for (size_t size = 0; size < sizeof(good); size++)
        assert_fails(open_bytes(good, size, &wav), STATUS_FORMAT);
    assert_fails(mgk_wav_open("absent.wav", &wav), STATUS_IO);
}

/* A size that the writer did not know, and numbers that are none. */
static void test_unusual(void **state)
{
    (void)state;
    unsigned char bytes[sizeof(good)];
    float samples[SAMPLES];
    mgk_wav wav;
    memcpy(bytes, good, sizeof(good));
    memset(bytes + 40, 255, 4);
    assert_ok(open_bytes(bytes, sizeof(bytes), &wav));
    assert_int_equal(wav.count, SAMPLES);
    assert_ok(mgk_wav_read(&wav, SAMPLES, samples));
    assert_true(samples[0] == 0x1p-15F && samples[1] == -0x1p-15F && samples[2] == 0.5F &&
                samples[3] == -1);
    mgk_wav_close(&wav);
    memcpy(bytes, good, sizeof(good));
    bytes[20] = 3; /* two reals of 32 bits, the second infinite */
    bytes[32] = 4;
    bytes[34] = 32;
    memcpy(bytes + HEADER, (const float[]){0.25F, HUGE_VALF}, 8);
    assert_ok(open_bytes(bytes, sizeof(bytes), &wav));
    assert_int_equal(wav.count, 2);
    assert_ok(mgk_wav_read(&wav, 1, samples));
    assert_true(samples[0] == 0.25F);
    assert_fails(mgk_wav_read(&wav, 2, samples), STATUS_NUMERIC);
    assert_non_null(strstr(mgk_fail_message(), "made.wav: sample 1 is not finite"));
    mgk_wav_close(&wav);
}

/* A file of chunks without samples ends. */
static void test_many_chunks(void **state)
{
    (void)state;
    enum { SIZE = 12 + 8 * 5000 };
    unsigned char *bytes;
    mgk_wav wav;
    assert_ok(mgk_alloc(SIZE, 1, &bytes));
    memcpy(bytes, good, 12);
    assert_fails(open_bytes(bytes, SIZE, &wav), STATUS_FORMAT);
    assert_non_null(strstr(mgk_fail_message(), "1000 chunks, and no samples"));
    mgk_free(bytes);
}

static int remove_file(void **state)
{
    (void)state;
    unlink(made);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples), cmocka_unit_test(test_frames),
        cmocka_unit_test(test_lengths), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_unusual), cmocka_unit_test(test_many_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
