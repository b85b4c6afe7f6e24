/* SPDX-License-Identifier: MIT */
/* mgk_dump_attention: the store against its model. */
#include "dump_case.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sha256.h"
#include "kernels/attention.h"
#include "model/formats/format.h"
#include "store/schema/reader.h"
#include "test.h"
#include "tiny.h"

/* Stored matrices of one sample equal those from the network for its tokens. */
static void compare_sample(mgk_store_reader *reader, mgk_network *network, int sample)
{
    const mgk_store_description *d = mgk_store_describe(reader);
    int32_t tokens[N], length;
    double stored[N * N], expected[N * N];
    const int n = d->tokens;
    assert_ok(mgk_store_read_tokens(reader, sample, tokens, &length));
    for (int l = 0; l < d->layers; l++)
        for (int h = 0; h < d->heads; h++) {
            assert_ok(mgk_store_read_matrix(reader, sample, l, h, STORE_F64, stored, NULL));
            assert_done(mgk_network_attention(network, tokens, length, d->layer_index[l],
                                              d->head_index[h], expected));
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {
                    bool valid = i < length && j < length;
                    assert_close(stored[i * n + j], valid ? expected[i * length + j] : 0, 1e-12,
                                 1e-12);
                }
        }
}

static void compare_with_network(int samples)
{
    mgk_store_reader *reader = case_open_store();
    mgk_network *network;
    mgk_job job = {.device = "cpu", .threads = 1};
    assert_int_equal(mgk_store_describe(reader)->samples, samples);
    assert_done(mgk_network_open(case_model, &job, true, &network));
    for (int s = 0; s < samples; s++)
        compare_sample(reader, network, s);
    mgk_network_close(network);
    mgk_store_close(reader);
}

static void every_kind_and_family(void **state)
{
    (void)state;
    const mgk_attention_kind *kind;
    for (size_t i = 0; (kind = mgk_attention_row(i)); i++)
        for (int family = 0; family < 2; family++) {
            if (family == MGK_FAMILY_LM ? kind->not_causal : kind->causal_only)
                continue;
            mgk_config config = tiny_config((mgk_family)family, kind->name);
            tiny_save(&config, case_model);
            mgk_dump_options o = case_options(&case_text, 5);
            if (kind->no_matrix) {
                assert_int_not_equal(mgk_dump_attention(&o, NULL), MGK_OK);
                assert_non_null(strstr(mgk_error(), "no N x N matrix exists"));
                continue;
            }
            assert_done(mgk_dump_attention(&o, NULL));
            compare_with_network(5);
        }
}

static void layers_of_different_keys(void **state)
{
    (void)state;
    for (int family = 0; family < 2; family++) {
        mgk_config config = tiny_config((mgk_family)family, "mgk,softmax,smgk");
        tiny_save(&config, case_model);
        mgk_dump_options o = case_options(&case_text, 5);
        assert_done(mgk_dump_attention(&o, NULL));
        compare_with_network(5);
    }
}

static void chosen_layers_and_heads(void **state)
{
    (void)state;
    const int layers[] = {2, 0, 2}, heads[] = {3, 1};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, case_model);
    mgk_dump_options o = case_options(&case_text, 3);
    o.layers = layers;
    o.layer_count = 3;
    o.heads = heads;
    o.head_count = 2;
    mgk_dump_summary summary;
    assert_done(mgk_dump_attention(&o, &summary));
    assert_int_equal(summary.layers, 2);
    assert_int_equal(summary.heads, 2);
    mgk_store_reader *reader = case_open_store();
    const mgk_store_description *d = mgk_store_describe(reader);
    assert_int_equal(d->layers, 2);
    assert_int_equal(d->layer_index[1], 2);
    assert_int_equal(d->head_index[0], 1);
    mgk_store_close(reader);
    compare_with_network(3);
}

/* In a model with layers that have no matrix the others are exported. */
static void layers_without_matrices(void **state)
{
    (void)state;
    const int layers[] = {0, 2};
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "softmax");
    strcpy(config.attention, "softmax,set,camtl");
    tiny_save(&config, case_model);
    mgk_dump_options o = case_options(&case_text, 3);
    unlink(case_store);
    assert_int_not_equal(mgk_dump_attention(&o, NULL), MGK_OK);
    assert_non_null(strstr(mgk_error(), "layer 1, attention \"set\": no N x N matrix exists"));
    assert_non_null(strstr(mgk_error(), "choose them by `layers`"));
    assert_int_not_equal(access(case_store, F_OK), 0);
    o.layers = layers;
    o.layer_count = 2;
    assert_done(mgk_dump_attention(&o, NULL));
    compare_with_network(3);
}

static void save_model_of_pairs(void)
{
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "mgk");
    config.dual = true;
    tiny_save(&config, case_model);
}

/* Each document of a pair is a sample; an odd number of samples leaves one document out. */
static void documents_of_pairs(void **state)
{
    (void)state;
    save_model_of_pairs();
    mgk_dump_options o = case_options(&case_text, 5);
    o.input = (mgk_input){
        .task = "retrieval", .data = &case_text, .data_count = 1, .samples = 5, .length = N};
    assert_done(mgk_dump_attention(&o, NULL));
    mgk_store_reader *reader = case_open_store();
    const int32_t *index = mgk_store_describe(reader)->sample_index;
    assert_int_equal(index[0] % 2, 0);
    assert_int_equal(index[1], index[0] + 1);
    assert_int_equal(index[4] % 2, 0);
    mgk_store_close(reader);
    compare_with_network(5);
}

/* A text is cut into windows, which know nothing of each other. */
static void windows_for_pairs(void **state)
{
    (void)state;
    save_model_of_pairs();
    mgk_dump_options o = case_options(&case_text, 5);
    assert_done(mgk_dump_attention(&o, NULL));
    compare_with_network(5);
}

/* Single sequences for a model of pairs, shorter than N. */
static void tokens_for_pairs(void **state)
{
    (void)state;
    FILE *file = fopen("dump_tokens.txt", "w");
    assert_non_null(file);
    fputs("1 2 3\n255\n9 8 7 6 5 4 3 2 1 0\n", file);
    assert_int_equal(fclose(file), 0);
    mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "mgk");
    config.dual = true;
    tiny_save(&config, case_model);
    mgk_dump_options o = case_options(NULL, 3);
    o.input.text_count = 0;
    o.input.tokens = "dump_tokens.txt";
    assert_done(mgk_dump_attention(&o, NULL));
    mgk_store_reader *reader = case_open_store();
    int32_t sum = 0;
    for (int s = 0; s < 3; s++) {
        int32_t tokens[N], length;
        assert_ok(mgk_store_read_tokens(reader, s, tokens, &length));
        sum += length;
        for (int i = length; i < N; i++)
            assert_int_equal(tokens[i], -1);
    }
    assert_int_equal(sum, 3 + 1 + N);
    mgk_store_close(reader);
    compare_with_network(3);
}

/* Also with a length, which is the most that a text may have. */
static void a_short_text_decides_the_length(void **state)
{
    (void)state;
    FILE *file = fopen("dump_short.txt", "w");
    assert_non_null(file);
    fputs("hello", file);
    assert_int_equal(fclose(file), 0);
    const char *const paths[] = {"dump_short.txt"};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    tiny_save(&config, case_model);
    mgk_dump_options o = case_options(paths, 1);
    o.input.length = 7;
    mgk_dump_summary summary;
    assert_done(mgk_dump_attention(&o, &summary));
    assert_int_equal(summary.length, 4);
    mgk_store_reader *reader = case_open_store();
    int32_t tokens[N], length;
    assert_int_equal(mgk_store_describe(reader)->tokens, 4);
    assert_ok(mgk_store_read_tokens(reader, 0, tokens, &length));
    assert_int_equal(length, 4);
    assert_int_equal(tokens[0], 'h');
    mgk_store_close(reader);
    compare_with_network(1);
    o.input.samples = 2;
    assert_int_equal(mgk_dump_attention(&o, NULL), MGK_INPUT);
    assert_string_equal(mgk_error(), "2 samples: the input has 1, of up to 7 tokens");
}

/* Samples are different windows, and the first ones do not depend on their number. */
static void samples_do_not_repeat(void **state)
{
    (void)state;
    enum { ALL = 70 };
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    tiny_save(&config, case_model);
    bool seen[1000] = {false};
    int32_t first[2];
    for (int run = 0; run < 2; run++) {
        mgk_dump_options o = case_options(&case_text, run == 0 ? 2 : ALL);
        assert_done(mgk_dump_attention(&o, NULL));
        mgk_store_reader *reader = case_open_store();
        const mgk_store_description *d = mgk_store_describe(reader);
        for (int s = 0; s < d->samples; s++) {
            assert_in_range(d->sample_index[s], 0, 999);
            if (run == 0)
                first[s] = d->sample_index[s];
            else if (s < 2)
                assert_int_equal(d->sample_index[s], first[s]);
            assert_true(run == 0 || !seen[d->sample_index[s]]);
            seen[d->sample_index[s]] = run == 1;
        }
        mgk_store_close(reader);
    }
}

static void what_the_store_says(void **state)
{
    (void)state;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    config.normalizer_epsilon = 1e-6;
    tiny_save(&config, case_model);
    mgk_dump_options o = case_options(&case_text, 1);
    o.double_precision = false;
    o.dtype = "f16";
    o.job.command = "mgk-dump ...";
    assert_done(mgk_dump_attention(&o, NULL));
    mgk_store_reader *reader = case_open_store();
    const mgk_store_description *d = mgk_store_describe(reader);
    assert_false(d->row_normalized);
    assert_true(d->causal);
    assert_int_equal(d->storage, STORE_F16);
    assert_string_equal(d->model, case_model);
    assert_string_equal(d->attention, "mgk");
    assert_string_equal(d->precision, "single");
    assert_string_equal(d->command, "mgk-dump ...");
    assert_string_equal(d->software, "mgk " MGK_VERSION);
    char hex[MGK_SHA256_HEX_SIZE];
    assert_ok(mgk_sha256_file(case_model, hex));
    assert_string_equal(d->model_sha256, hex);
    assert_int_equal(d->training_step, 0); /* its weights are random */
    mgk_config stored;
    assert_ok(mgk_config_from_json(d->config, strlen(d->config), &stored));
    assert_int_equal(stored.hidden, 5);
    mgk_store_close(reader);
}

/* Keys of 10^5 exceed f16; infinity must not be stored silently. */
static void values_beyond_the_type(void **state)
{
    (void)state;
    case_save_large_keys();
    mgk_dump_options o = case_options(&case_text, 1);
    o.save = MGK_SAVE_KEYS;
    assert_done(mgk_dump_attention(&o, NULL));
    unlink(case_store);
    o.dtype = "f16";
    assert_int_equal(mgk_dump_attention(&o, NULL), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "layer 1: keys"));
    assert_int_not_equal(access(case_store, F_OK), 0);
}

static void keep_note(void *context, const mgk_report *report)
{
    if (report->warning)
        snprintf(context, 200, "%s", report->note);
}

/* With narrow Gaussians most keys are so far away that no score is above 0: that is told. */
static void scores_that_vanish(void **state)
{
    (void)state;
    char note[200];
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    for (int r = 0; r < 2; r++)
        config.variance[r] = 5e-3;
    tiny_save(&config, case_model);
    for (int wide = 0; wide < 2; wide++) {
        mgk_dump_options o = case_options(&case_text, 1);
        o.save = MGK_SAVE_ATTENTION | MGK_SAVE_SCORES;
        o.double_precision = wide;
        o.dtype = wide ? "f64" : "f16";
        o.job.watcher = (mgk_watcher){.report = keep_note, .context = note};
        o.job.force = true;
        *note = '\0';
        assert_done(mgk_dump_attention(&o, NULL));
        if (wide)
            assert_string_equal(note, "");
        else
            assert_true(strncmp(note, "scores: ", 8) == 0 && strstr(note, "too small for f16"));
    }
}

static void refuses(void **state)
{
    (void)state;
    const int none[] = {L};
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    tiny_save(&config, case_model);
    const mgk_dump_options right = case_options(&case_text, 1);
    mgk_dump_options o = right;
    o.input.samples = MGK_ALL_SAMPLES - 1;
    assert_int_equal(mgk_dump_attention(&o, NULL), MGK_USAGE);
    o = right;
    o.input.length = N + 1;
    assert_int_equal(mgk_dump_attention(&o, NULL), MGK_INPUT);
    o = right;
    o.layers = none;
    o.layer_count = 1;
    assert_int_equal(mgk_dump_attention(&o, NULL), MGK_INPUT);
    o = right;
    o.save = 64;
    assert_int_equal(mgk_dump_attention(&o, NULL), MGK_USAGE);
    o = right;
    o.dtype = "bf16";
    assert_int_equal(mgk_dump_attention(&o, NULL), MGK_USAGE);
    o = right;
    o.input.task = "lm";
    assert_int_equal(mgk_dump_attention(&o, NULL), MGK_USAGE);
    config.vocabulary = 15;
    tiny_save(&config, case_model);
    o = right;
    assert_int_equal(mgk_dump_attention(&o, NULL), MGK_INPUT);
    assert_non_null(strstr(mgk_error(), "vocabulary"));
    o.input.text_count = 0;
    o.input.task = "listops";
    o.input.samples = 4;
    assert_done(mgk_dump_attention(&o, NULL));
    compare_with_network(4);
}

/* Writes sequences of ids, which -1 ends, as lines of text. */
static void write_tokens(const mgk_tensors *expected, const char *path)
{
    double ids[64];
    const mgk_tensor_info *info = mgk_tensors_find(expected, "ids");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_in_range(info->count, 1, 64);
    assert_ok(mgk_tensors_read(expected, info, 0, info->count, MGK_DTYPE_F64, ids));
    for (size_t i = 0; i < info->count; i++) {
        if (ids[i] >= 0)
            fprintf(file, "%.0f ", ids[i]);
        if ((i + 1) % info->shape[1] == 0)
            fputs("\n", file);
    }
    fclose(file);
}

/* Checkpoints of other software whose loss a reference has computed. */
static void perplexity(void **state)
{
    (void)state;
    static const char *const folders[] = {MGK_TEST_GOLDEN "/hugging_face/gpt2",
                                          MGK_TEST_GOLDEN "/hugging_face/llama"};
    for (size_t i = 0; i < 2; i++) {
        char path[512];
        mgk_tensors *expected;
        double loss[2];
        mgk_dump_options o = case_options(NULL, 3);
        mgk_dump_summary summary;
        snprintf(path, sizeof(path), "%s/expected.safetensors", folders[i]);
        assert_ok(mgk_tensors_open(path, &expected));
        assert_ok(mgk_tensors_read(expected, mgk_tensors_find(expected, "loss"), 0, 2,
                                   MGK_DTYPE_F64, loss));
        write_tokens(expected, "dump_ids.txt");
        mgk_tensors_close(expected);
        o.model = folders[i];
        o.input.text_count = 0;
        o.input.tokens = "dump_ids.txt";
        o.layers = (const int[]){0};
        o.layer_count = 1;
        assert_done(mgk_dump_attention(&o, &summary));
        assert_int_equal(summary.predicted, 0);
        o.perplexity = true;
        assert_done(mgk_dump_attention(&o, &summary));
        assert_int_equal(summary.predicted, (int64_t)loss[1]);
        assert_close(summary.loss, loss[0] / loss[1], 0, 1e-12);
        unlink("dump_ids.txt");
    }
    mgk_dump_options o = case_options(&case_text, 1);
    const mgk_config config = tiny_config(MGK_FAMILY_ENCODER, "mgk");
    tiny_save(&config, case_model);
    o.perplexity = true;
    assert_int_equal(mgk_dump_attention(&o, NULL), MGK_USAGE);
}

static bool stop_after_a_batch(void *context)
{
    int *batches = context;
    return (*batches)++ == 1;
}

static void interrupted(void **state)
{
    (void)state;
    int batches = 0;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    tiny_save(&config, case_model);
    tiny_text("dump_long.txt", 60000);
    const char *const paths[] = {"dump_long.txt"};
    mgk_dump_options o = case_options(paths, 1000);
    o.job.watcher = (mgk_watcher){.stop = stop_after_a_batch, .context = &batches};
    unlink(case_store);
    assert_int_equal(mgk_dump_attention(&o, NULL), MGK_INTERRUPTED);
    assert_int_not_equal(access(case_store, F_OK), 0);
}

/* HDF5 first fills a cache of its index, about 10 MB; another 30 MB of file then take no memory.
 * Rarely, on a busy machine, something else takes 5 MB, but not again for the next 30 MB. */
static void memory_does_not_grow(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    static const int samples[] = {2000, 6000, 10000, 14000};
    struct rusage before, after;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    tiny_save(&config, case_model);
    tiny_text("dump_long.txt", 140000);
    const char *const paths[] = {"dump_long.txt"};
    mgk_dump_options o = case_options(paths, samples[0]);
    mgk_dump_summary summary;
    long growth = LONG_MAX;
    assert_done(mgk_dump_attention(&o, &summary));
    for (size_t i = 1; i < 4 && growth > 4 * 1024; i++) {
        getrusage(RUSAGE_SELF, &before);
        o.input.samples = samples[i];
        assert_done(mgk_dump_attention(&o, &summary));
        getrusage(RUSAGE_SELF, &after);
        growth = after.ru_maxrss - before.ru_maxrss;
    }
    assert_true(summary.bytes > 45e6);
    assert_in_range(growth, 0, 4 * 1024);
}

static int setup(void **state)
{
    (void)state;
    case_enter("dump_files");
    tiny_text(case_text, 900);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_and_family),
        cmocka_unit_test(layers_of_different_keys),
        cmocka_unit_test(chosen_layers_and_heads),
        cmocka_unit_test(layers_without_matrices),
        cmocka_unit_test(documents_of_pairs),
        cmocka_unit_test(windows_for_pairs),
        cmocka_unit_test(tokens_for_pairs),
        cmocka_unit_test(a_short_text_decides_the_length),
        cmocka_unit_test(samples_do_not_repeat),
        cmocka_unit_test(what_the_store_says),
        cmocka_unit_test(values_beyond_the_type),
        cmocka_unit_test(scores_that_vanish),
        cmocka_unit_test(perplexity),
        cmocka_unit_test(refuses),
        cmocka_unit_test(interrupted),
        cmocka_unit_test(memory_does_not_grow),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
