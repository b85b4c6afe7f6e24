/* SPDX-License-Identifier: MIT */
/* mgk_network_*: one sequence at a time. */
#include "test.h"

#include "tiny.h"

enum { N = 9 };

static const char *const path = "network_model.safetensors";

static mgk_network *open_network(bool double_precision)
{
    const mgk_job job = {.device = "cpu", .threads = 1};
    mgk_network *network;
    assert_done(mgk_network_open(path, &job, double_precision, &network));
    return network;
}

static void shape(void **state)
{
    (void)state;
    mgk_network *network = open_network(true);
    mgk_network_shape s = mgk_network_shape_of(network);
    assert_string_equal(s.attention, "mgk");
    assert_int_equal(s.layers, 3);
    assert_int_equal(s.heads, 4);
    assert_int_equal(s.head_dim, 2);
    assert_int_equal(s.dim, 6);
    assert_int_equal(s.length, N);
    assert_int_equal(s.mixtures, 2);
    assert_int_equal(s.vocabulary, 256);
    assert_true(s.causal);
    assert_int_equal(s.padding, -1);
    mgk_network_close(network);
}

/* Rows sum to 1, no query sees later keys, heads and precisions differ as expected. */
static void attention(void **state)
{
    (void)state;
    static const int32_t tokens[N] = {0, 255, 3, 3, 77, 1, 9, 100, 42};
    mgk_network *wide = open_network(true), *narrow = open_network(false);
    double a[N][N], b[N][N], other[N][N];
    for (int n = 1; n <= N; n += 4) {
        double *rows = &a[0][0];
        assert_done(mgk_network_attention(wide, tokens, n, 2, 3, rows));
        assert_done(mgk_network_attention(narrow, tokens, n, 2, 3, &b[0][0]));
        assert_done(mgk_network_attention(wide, tokens, n, 2, 1, &other[0][0]));
        double difference = 0;
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j < n; j++) {
                sum += rows[i * n + j];
                assert_close((&b[0][0])[i * n + j], rows[i * n + j], 1e-5, 1e-4);
                assert_true(j <= i ? rows[i * n + j] > 0 : !(rows[i * n + j] > 0));
                difference = fmax(difference, fabs(rows[i * n + j] - (&other[0][0])[i * n + j]));
            }
            assert_close(sum, 1, 1e-14, 0);
        }
        assert_true(n == 1 || difference > 1e-6);
    }
    mgk_network_close(wide);
    mgk_network_close(narrow);
}

/* One pass gives the same as a pass per layer and head, and writes nothing after it. */
static void attention_of_all(void **state)
{
    (void)state;
    static const int32_t tokens[N] = {0, 255, 3, 3, 77, 1, 9, 100, 42};
    enum { LAYERS = 3, HEADS = 4, MOST = LAYERS * HEADS * N * N };
    for (int double_precision = 0; double_precision < 2; double_precision++) {
        mgk_network *network = open_network(double_precision);
        double all[MOST + 1], one[N * N];
        for (int n = 1; n <= N; n += 4) {
            all[LAYERS * HEADS * n * n] = 77;
            assert_done(mgk_network_attention_all(network, tokens, n, all));
            for (int m = 0; m < LAYERS * HEADS; m++) {
                assert_done(mgk_network_attention(network, tokens, n, m / HEADS, m % HEADS, one));
                assert_memory_equal(all + m * n * n, one, (size_t)(n * n) * sizeof(double));
            }
            assert_true(all[LAYERS * HEADS * n * n] == 77);
        }
        assert_int_equal(mgk_network_attention_all(network, tokens, N + 1, all), MGK_USAGE);
        mgk_network_close(network);
    }
}

/* Chosen layers and heads are parts of all, in the model's order. */
static void attention_of_some(void **state)
{
    (void)state;
    static const int32_t tokens[N] = {0, 255, 3, 3, 77, 1, 9, 100, 42};
    static const int layers[] = {2, 0, 2}, heads[] = {3, 1};
    enum { HEADS = 4, ENTRIES = N * N };
    mgk_network *network = open_network(true);
    double all[3 * HEADS * ENTRIES], some[4 * ENTRIES + 1];
    some[4 * ENTRIES] = 77;
    assert_done(mgk_network_attention_all(network, tokens, N, all));
    assert_done(mgk_network_attention_of(network, tokens, N, layers, 3, heads, 2, some));
    for (int l = 0; l < 2; l++)
        for (int h = 0; h < 2; h++)
            assert_memory_equal(some + (2 * l + h) * ENTRIES,
                                all + (2 * l * HEADS + 2 * h + 1) * ENTRIES,
                                ENTRIES * sizeof(double));
    assert_true(some[4 * ENTRIES] == 77);
    assert_done(mgk_network_attention_of(network, tokens, N, NULL, 0, heads, 1, some));
    assert_memory_equal(some, all + 3 * ENTRIES, ENTRIES * sizeof(double));
    static const int none[] = {3, -1};
    assert_int_equal(mgk_network_attention_of(network, tokens, N, none, 1, NULL, 0, all),
                     MGK_INPUT);
    assert_int_equal(mgk_network_attention_of(network, tokens, N, NULL, 0, none + 1, 1, all),
                     MGK_INPUT);
    assert_int_equal(mgk_network_attention_of(network, tokens, N, none, 0, NULL, 0, all),
                     MGK_USAGE);
    mgk_network_close(network);
}

/* Bytes as people read them. */
static void texts_of_tokens(void **state)
{
    (void)state;
    mgk_network *network = open_network(true);
    const char *text;
    assert_done(mgk_network_token_text(network, 'a', &text));
    assert_string_equal(text, "a");
    assert_done(mgk_network_token_text(network, '\n', &text));
    assert_string_equal(text, "\\n");
    assert_int_equal(mgk_network_token_text(network, 256, &text), MGK_USAGE);
    assert_int_equal(mgk_network_token_text(network, -1, &text), MGK_USAGE);
    assert_null(text);
    mgk_network_close(network);
}

/* For a model of bytes the bytes are ids; others have a tokenizer in their folder, or none. */
static void tokens_of_text(void **state)
{
    (void)state;
    const mgk_job job = {.device = "cpu", .threads = 1};
    const char *const folder = MGK_TEST_GOLDEN "/hugging_face/bert";
    static const char text[] = {'a', '\0', (char)0xff};
    mgk_network *network = open_network(true);
    int32_t *tokens;
    int count;
    assert_done(mgk_network_tokenize(network, text, sizeof(text), &tokens, &count));
    assert_int_equal(count, 3);
    assert_true(tokens[0] == 'a' && tokens[1] == 0 && tokens[2] == 255);
    mgk_release(tokens);
    assert_done(mgk_network_tokenize(network, NULL, 0, &tokens, &count));
    assert_int_equal(count, 0);
    mgk_release(tokens);
    mgk_network_close(network);
    assert_done(mgk_network_open(folder, &job, true, &network));
    assert_int_equal(mgk_network_tokenize(network, "a", 1, &tokens, &count), MGK_INPUT);
    assert_null(tokens);
    mgk_network_close(network);
}

static void refuses(void **state)
{
    (void)state;
    static const int32_t tokens[N + 1] = {0}, padding[] = {1, -1}, large[] = {256};
    mgk_network *network = open_network(true);
    double a[(N + 1) * (N + 1)];
    assert_int_equal(mgk_network_attention(network, tokens, 0, 0, 0, a), MGK_USAGE);
    assert_int_equal(mgk_network_attention(network, tokens, N + 1, 0, 0, a), MGK_USAGE);
    assert_int_equal(mgk_network_attention(network, tokens, 1, 3, 0, a), MGK_USAGE);
    assert_int_equal(mgk_network_attention(network, tokens, 1, -1, 0, a), MGK_USAGE);
    assert_int_equal(mgk_network_attention(network, tokens, 1, 0, 4, a), MGK_USAGE);
    assert_int_equal(mgk_network_attention(network, padding, 2, 0, 0, a), MGK_USAGE);
    assert_int_equal(mgk_network_attention(network, large, 1, 0, 0, a), MGK_USAGE);
    mgk_network_close(network);
    mgk_network_close(NULL);
    const mgk_job job = {.device = "cpu"};
    assert_int_equal(mgk_network_open("network_none", &job, true, &network), MGK_IO);
    assert_null(network);
}

/* A checkpoint without head dimension and kind gets them from the job. */
static void job_tells_what_the_file_does_not(void **state)
{
    (void)state;
    static const char *const file = MGK_TEST_GOLDEN "/authors/lra_mlk.pt";
    mgk_job job = {.device = "cpu", .threads = 1};
    mgk_network *network;
    assert_int_equal(mgk_network_open(file, &job, true, &network), MGK_USAGE);
    assert_null(network);
    job.head_dim = 5;
    assert_done(mgk_network_open(file, &job, true, &network));
    assert_string_equal(mgk_network_shape_of(network).attention, "mgk");
    mgk_network_close(network);
    job.attention = "mlk";
    assert_done(mgk_network_open(file, &job, true, &network));
    assert_string_equal(mgk_network_shape_of(network).attention, "mlk");
    mgk_network_close(network);
    job.attention = "linear";
    assert_int_equal(mgk_network_open(file, &job, true, &network), MGK_USAGE);
}

static int setup(void **state)
{
    (void)state;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape),
        cmocka_unit_test(attention),
        cmocka_unit_test(attention_of_all),
        cmocka_unit_test(attention_of_some),
        cmocka_unit_test(texts_of_tokens),
        cmocka_unit_test(tokens_of_text),
        cmocka_unit_test(refuses),
        cmocka_unit_test(job_tells_what_the_file_does_not),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
