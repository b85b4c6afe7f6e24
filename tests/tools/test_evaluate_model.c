/* SPDX-License-Identifier: MIT */
/* Losses of models on texts and ids, with windows that slide, and of classifiers: against windows
 * that are run one by one, against transformers, and against the log of the training. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../store/make_numpy.h"
#include "base/memory.h"
#include "model/core/model.h"
#include "model/core/pass.h"
#include "model/formats/format.h"
#include "test.h"
#include "tiny.h"

enum { N = 9, BYTES = 62 };

static const char *const model_path = "evaluate/model.safetensors";
static const char *const text = "evaluate.txt";
static const char *const ids_path = "evaluate.npy";

/* What is summed over predicted tokens. */
typedef struct sums {
    double loss;
    int64_t count, correct;
} sums;

static mgk_evaluate_options options(void)
{
    mgk_evaluate_options o = mgk_evaluate_options_default();
    o.job = (mgk_job){.device = "cpu", .threads = 1};
    o.model = model_path;
    o.input.text = &text;
    o.input.text_count = 1;
    o.double_precision = true;
    return o;
}

static void write_text(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_ids(const int32_t *ids, size_t count)
{
    static numpy_bytes array;
    char shape[32];
    FILE *file = fopen(ids_path, "wb");
    assert_non_null(file);
    snprintf(shape, sizeof(shape), "(%zu,)", count);
    make_npy("<i4", false, shape, ids, count * sizeof(*ids), &array);
    assert_int_equal(fwrite(array.bytes, 1, array.size, file), array.size);
    assert_int_equal(fclose(file), 0);
}

/* Adds what the model predicts after the last of these ids. */
static void predict(mgk_model *model, const int32_t *ids, int count, int32_t next, sums *s)
{
    const int32_t length = count;
    const mgk_batch batch = {1, count, ids, &length, NULL};
    const size_t classes = (size_t)model->config.vocabulary;
    mgk_pass *pass;
    double *logits, sum = 0;
    size_t best = 0;
    assert_ok(mgk_alloc(classes, sizeof(*logits), &logits));
    assert_ok(mgk_pass_create(model, 1, count, 0, false, &pass));
    assert_ok(mgk_pass_load(pass, &batch, NULL, 0, 0));
    assert_ok(mgk_pass_forward(pass, NULL));
    assert_ok(mgk_pass_compute_logits(pass, mgk_pass_hidden(pass), (size_t)count - 1, 1));
    memcpy(logits, mgk_pass_logits(pass).values, classes * sizeof(*logits));
    for (size_t i = 0; i < classes; i++) {
        sum += exp(logits[i]);
        best = logits[i] > logits[best] ? i : best;
    }
    s->loss += log(sum) - logits[next];
    s->count++;
    s->correct += best == (size_t)next;
    mgk_pass_free(pass);
    mgk_free(logits);
}

/* Of a text of `count` ids: token t is predicted by the first window 0, K, 2 K … that has it or the
 * one before it, of at most `room` ids and with `begin` (-1: nothing) in front of it. */
static sums one_by_one(const char *path, const int32_t *ids, int count, int room, int stride,
                       int32_t begin)
{
    mgk_device *device;
    mgk_model *model;
    sums s = {0};
    assert_ok(mgk_device_open("cpu", MGK_DOUBLE, 1, &device));
    assert_ok(mgk_model_load(path, NULL, device, &model));
    for (int t = begin < 0; t < count; t++) {
        int32_t window[N + 1];
        int start = 0, used = 0;
        while (t >= start + room + (begin < 0))
            start += stride;
        if (begin >= 0)
            window[used++] = begin;
        for (int i = start; i < t; i++)
            window[used++] = ids[i];
        predict(model, window, used, ids[t], &s);
    }
    mgk_model_free(model);
    mgk_device_close(device);
    return s;
}

static void compare(const mgk_evaluate_options *o, const sums *expected)
{
    mgk_evaluation_summary found;
    assert_done(mgk_evaluate_model(o, &found));
    assert_int_equal(found.targets, expected->count);
    assert_close(found.loss, expected->loss / (double)expected->count, 0, 1e-12);
    assert_close(found.accuracy, (double)expected->correct / (double)expected->count, 0, 1e-15);
    assert_close(found.perplexity, exp(found.loss), 0, 1e-15);
    assert_true(found.language_model);
}

static const int strides[] = {0, 1, 2, 4, 8, 9};
enum { STRIDES = sizeof(strides) / sizeof(strides[0]) };

/* A text of bytes, as text, as a task and as ids. */
static void windows_of_bytes(void **state)
{
    (void)state;
    char bytes[BYTES];
    int32_t ids[BYTES];
    const mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    for (int i = 0; i < BYTES; i++)
        ids[i] = bytes[i] = (char)('a' + (i * i + i / 3) % 26);
    tiny_save(&config, model_path);
    for (int size = 2; size <= BYTES; size += size < 12 ? 1 : 25) {
        write_text(text, bytes, (size_t)size);
        write_ids(ids, (size_t)size);
        for (int i = 0; i < STRIDES && strides[i] < size; i++) {
            mgk_evaluate_options o = options();
            mgk_evaluation_summary found;
            const sums expected =
                one_by_one(model_path, ids, size, N, strides[i] ? strides[i] : N, -1);
            o.stride = strides[i];
            compare(&o, &expected);
            assert_done(mgk_evaluate_model(&o, &found));
            assert_close(found.bits_per_byte, found.loss / log(2), 0, 1e-14);
            o.input = (mgk_input){.task = "lm", .data = &text, .data_count = 1};
            compare(&o, &expected);
            o.input = (mgk_input){.tokens = ids_path};
            compare(&o, &expected);
            assert_done(mgk_evaluate_model(&o, &found));
            assert_true(isnan(found.bits_per_byte)); /* ids are no bytes */
        }
    }
}

/* [UNK] 0, [CLS] 1, [SEP] 2, a 3, b 4: windows between the two. Words have no such frame. */
static void windows_of_a_tokenizer(void **state)
{
    (void)state;
    static const char letters[] = "a b a a b x b a b b a b a a b a x x b a b a a";
    int32_t ids[sizeof(letters) / 2], count = 0;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    config.vocabulary = 7;
    tiny_save(&config, model_path);
    write_text(text, letters, sizeof(letters) - 1);
    write_text("evaluate/vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\nb\n", 22);
    write_text("evaluate.words", "<unk>\n<none>\n<more>\na\nb\n", 24);
    for (size_t i = 0; i < sizeof(letters); i += 2)
        ids[count++] = letters[i] == 'a' ? 3 : letters[i] == 'b' ? 4 : 0;
    for (int i = 0; i < STRIDES - 1; i++) {
        mgk_evaluate_options o = options();
        mgk_evaluation_summary found;
        const int room = N - 2, stride = strides[i] == 0 || strides[i] > room ? room : strides[i];
        sums expected = one_by_one(model_path, ids, count, room, stride, 1);
        o.stride = strides[i];
        compare(&o, &expected);
        assert_done(mgk_evaluate_model(&o, &found));
        assert_close(found.bits_per_byte, expected.loss / log(2) / (sizeof(letters) - 1), 0, 1e-12);
        o.input.tokenizer = "evaluate.words";
        expected = one_by_one(model_path, ids, count, N, strides[i] ? strides[i] : N, -1);
        compare(&o, &expected);
    }
    unlink("evaluate/vocab.txt");
}

/* Windows of 15 and one more, which transformers predicts and does not read: its documentation's
 * loop over a text of 50 ids, with max_length 16, model and cross-entropy in float64. */
static void as_transformers(void **state)
{
    (void)state;
    static const struct {
        int stride;
        double loss;
    } rows[] = {{6, 5.046385825696625}, {0, 4.85056770131438}, {1, 4.93610623442214}};
    int32_t ids[50];
    for (int i = 0; i < 50; i++)
        ids[i] = (7 * i * i + 3 * i) % 37;
    write_ids(ids, 50);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        mgk_evaluate_options o = options();
        mgk_evaluation_summary found;
        o.model = MGK_TEST_GOLDEN "/hugging_face/gpt2";
        o.input = (mgk_input){.tokens = ids_path, .length = 15};
        o.stride = rows[i].stride;
        assert_done(mgk_evaluate_model(&o, &found));
        assert_int_equal(found.targets, 49);
        assert_close(found.loss, rows[i].loss, 0, 1e-12);
    }
}

/* The losses of lines: all tokens but the first of each, or all after the frame. */
static void lines_and_strings(void **state)
{
    (void)state;
    static const char *const strings[] = {"abc", "de"};
    const mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    mgk_evaluate_options o = options();
    mgk_evaluation_summary found;
    tiny_save(&config, model_path);
    write_text(text, "abc\n\nde\n", 8);
    sums expected = one_by_one(model_path, (const int32_t[]){'a', 'b', 'c'}, 3, N, N, -1);
    const sums more = one_by_one(model_path, (const int32_t[]){'d', 'e'}, 2, N, N, -1);
    expected.loss += more.loss;
    expected.count += more.count;
    expected.correct += more.correct;
    o.input.lines = true;
    compare(&o, &expected);
    o.input = (mgk_input){.strings = strings, .string_count = 2};
    compare(&o, &expected);
    assert_done(mgk_evaluate_model(&o, &found));
    assert_close(found.bits_per_byte, found.loss / log(2), 0, 1e-14);
    o.input.samples = 1;
    assert_done(mgk_evaluate_model(&o, &found));
    assert_true(found.samples == 1 && found.targets < 3);
}

/* Of each sample what it has alone; in sum what all have. */
static void losses_of_samples(void **state)
{
    (void)state;
    const mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    mgk_evaluate_options o = options();
    mgk_evaluation_summary found, other_text;
    uint64_t hashes[4];
    tiny_save(&config, model_path);
    const sums one = one_by_one(model_path, (const int32_t[]){'a', 'b', 'c'}, 3, N, N, -1);
    const sums other = one_by_one(model_path, (const int32_t[]){'d', 'e'}, 2, N, N, -1);
    write_text(text, "abc\nd\nde\nabc\n", 13);
    o.input.lines = true;
    o.per_sample = true;
    assert_done(mgk_evaluate_model(&o, &found));
    assert_int_equal(found.sample_loss_count, 4);
    const mgk_sample_loss *losses = found.sample_losses;
    assert_close(losses[0].loss, one.loss, 0, 1e-12);
    assert_int_equal(losses[0].targets, 2);
    assert_int_equal(losses[0].correct, one.correct);
    assert_true(losses[1].loss == 0 && losses[1].targets == 0);
    assert_close(losses[2].loss, other.loss, 0, 1e-12);
    assert_int_equal(losses[2].correct, other.correct);
    for (size_t i = 0; i < 4; i++)
        hashes[i] = losses[i].hash;
    assert_true(losses[3].hash != losses[0].hash); /* the same at another place */
    mgk_release(found.sample_losses);
    write_text(text, "abc\ne\nde\nabd\n", 13);
    assert_done(mgk_evaluate_model(&o, &other_text));
    for (size_t i = 0; i < 4; i++)
        assert_true((other_text.sample_losses[i].hash == hashes[i]) == (i < 3));
    mgk_release(other_text.sample_losses);
    o.per_sample = false;
    assert_done(mgk_evaluate_model(&o, &found));
    assert_null(found.sample_losses);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static void incomparable(const mgk_evaluation_summary *a, const mgk_evaluation_summary *b,
                         mgk_result expected, const char *part)
{
    mgk_evaluation_difference d;
    assert_int_equal(mgk_compare_evaluations(a, b, NULL, &d), expected);
    if (!strstr(mgk_error(), part))
        fail_msg("\"%s\", expected \"...%s...\"", mgk_error(), part);
}

static void count_warnings(void *context, const mgk_report *report)
{
    *(int *)context += report->warning;
}

/* A model without a head against itself: windows of 9 targets and a last one of fewer. */
static void differences_of_losses(void **state)
{
    (void)state;
    enum { SIZE = 20 * N + 4 };
    char bytes[SIZE];
    const mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    const mgk_head head = {0, 1};
    int warnings = 0;
    mgk_evaluate_options o = options();
    mgk_job job = {.threads = 2, .watcher = {.report = count_warnings, .context = &warnings}};
    mgk_evaluation_summary whole, without, other;
    mgk_evaluation_difference d, again;
    tiny_save(&config, model_path);
    for (int i = 0; i < SIZE; i++)
        bytes[i] = (char)('a' + (i * i + i / 3) % 26);
    write_text(text, bytes, SIZE);
    o.per_sample = true;
    assert_done(mgk_evaluate_model(&o, &whole));
    o.remove = &head;
    o.remove_count = 1;
    assert_done(mgk_evaluate_model(&o, &without));
    assert_true(whole.removed_heads == 0 && without.removed_heads == 1);
    assert_int_equal(whole.sample_losses[20].targets, 3);
    assert_done(mgk_compare_evaluations(&whole, &without, &job, &d));
    assert_close(d.loss, without.loss - whole.loss, 1e-13, 0);
    assert_close(d.accuracy, without.accuracy - whole.accuracy, 1e-13, 0);
    assert_true(d.loss_low < d.loss && d.loss < d.loss_high);
    assert_true(d.accuracy_low <= d.accuracy && d.accuracy <= d.accuracy_high);
    assert_true(d.samples == 21 && warnings == 0);
    job.threads = 1;
    assert_done(mgk_compare_evaluations(&whole, &without, &job, &again));
    assert_memory_equal(&again, &d, sizeof(d));
    assert_done(mgk_compare_evaluations(&whole, &whole, &job, &d));
    assert_true(d.loss == 0 && d.loss_low == 0 && d.loss_high == 0);
    /* fewer samples, other ones, and none */
    o.input.samples = 5;
    assert_done(mgk_evaluate_model(&o, &other));
    incomparable(&whole, &other, MGK_INPUT, "evaluations of 21 and 5 samples");
    assert_done(mgk_compare_evaluations(&other, &other, &job, &d));
    assert_int_equal(warnings, 1);
    mgk_release(other.sample_losses);
    write_text(text, bytes, SIZE - 1);
    o.input.samples = 0;
    assert_done(mgk_evaluate_model(&o, &other));
    incomparable(&whole, &other, MGK_INPUT, "sample 20 has other targets");
    other.sample_losses[0].hash++;
    incomparable(&whole, &other, MGK_INPUT, "sample 0 has other targets");
    other.sample_losses[0].loss = (double)NAN;
    incomparable(&other, &other, MGK_INPUT, "the loss of sample 0 is not finite");
    for (size_t i = 0; i < other.sample_loss_count; i++)
        other.sample_losses[i] = (mgk_sample_loss){.targets = 0};
    incomparable(&other, &other, MGK_INPUT, "without targets");
    mgk_release(other.sample_losses);
    other.sample_losses = NULL;
    incomparable(&whole, &other, MGK_USAGE, "`per_sample`");
    mgk_release(whole.sample_losses);
    mgk_release(without.sample_losses);
}

/* The last number of a column of the log of a training, counted from 0. */
static double logged(const char *path, int column)
{
    char line[512], last[512] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        strcpy(last, line);
    assert_int_equal(fclose(file), 0);
    const char *cell = last;
    for (int i = 0; i < column; i++)
        cell = strchr(cell, ',') + 1;
    return atof(cell);
}

/* A short training whose log has the held-out loss; data NULL: lists are generated. */
static mgk_train_options training(const char *task, const char *const *data)
{
    mgk_train_options t = mgk_train_options_default();
    t.job = (mgk_job){.device = "cpu", .threads = 1, .force = true};
    t.task = task;
    t.data = t.held_out = data;
    t.data_count = t.held_out_count = data != NULL;
    t.architecture = (mgk_architecture){.attention = "mgk",
                                        .layers = 1,
                                        .heads = 2,
                                        .dim = 4,
                                        .head_dim = 2,
                                        .hidden = 4,
                                        .length = 12};
    t.steps = t.batch = 2;
    t.warmup = 0;
    t.double_precision = true;
    t.output = model_path;
    t.log = "evaluate.csv";
    return t;
}

/* The model of the training is written in single precision. */
static void expect_logged(mgk_evaluate_options *o, const char *log)
{
    const bool language_model = strcmp(o->input.task, "lm") == 0;
    mgk_evaluation_summary found;
    mgk_sample_loss all = {.loss = 0};
    o->per_sample = true;
    assert_done(mgk_evaluate_model(o, &found));
    for (size_t i = 0; i < found.sample_loss_count; i++) {
        all.loss += found.sample_losses[i].loss;
        all.targets += found.sample_losses[i].targets;
        all.correct += found.sample_losses[i].correct;
    }
    mgk_release(found.sample_losses);
    assert_int_equal(all.targets, found.targets);
    assert_close(all.loss / (double)all.targets, found.loss, 0, 1e-14);
    assert_close((double)all.correct / (double)all.targets, found.accuracy, 0, 1e-14);
    if (!language_model) /* a pair is one */
        assert_int_equal(found.sample_loss_count, found.targets);
    assert_close(found.loss, logged(log, 5), 0, 1e-5);
    assert_close(found.accuracy, logged(log, 6), 0, 1e-5);
    assert_true(found.language_model == language_model);
    assert_true(isnan(found.perplexity) == !language_model);
}

/* What a training says of held-out data is what an evaluation says of them. */
static void as_the_training(void **state)
{
    (void)state;
    static const char *const tasks[] = {"lm", "retrieval", "listops", "retrieval", "listops"};
    static const char lists[] =
        "Source\tTarget\n( ( ( [MAX 2 ) 9 ) ] )\t9\n( ( ( [MIN 4 ) 7 ) ] )\t4\n";
    for (size_t i = 0; i < 5; i++) {
        static const char *const trees = "evaluate.tsv";
        const char *const data = i % 2 == 0 && i > 0 ? trees : text;
        mgk_train_options t = training(tasks[i], &data);
        mgk_evaluate_options o = options();
        tiny_text(text, 400);
        write_text(trees, lists, sizeof(lists) - 1);
        t.class_token = i > 2;
        assert_done(mgk_train_model(&t));
        o.input = (mgk_input){.task = tasks[i], .data = &data, .data_count = 1};
        expect_logged(&o, t.log);
    }
}

static void refused(const mgk_evaluate_options *o, mgk_result expected, const char *part)
{
    assert_int_equal(mgk_evaluate_model(o, NULL), expected);
    if (!strstr(mgk_error(), part))
        fail_msg("\"%s\", expected \"...%s...\"", mgk_error(), part);
}

/* With bounds and seed of the training, the lists that it generated and held out are evaluated. */
static void generated_lists(void **state)
{
    (void)state;
    mgk_train_options t = training("listops", NULL);
    mgk_evaluate_options o = options();
    mgk_evaluation_summary other;
    t.listops_above = 4;
    t.listops_below = 10;
    t.listops_samples = 8;
    t.evaluate_samples = 50;
    t.job.seed = o.job.seed = 3;
    assert_done(mgk_train_model(&t));
    o.input = (mgk_input){.task = "listops", .samples = 50};
    assert_done(mgk_evaluate_model(&o, &other));
    assert_true(other.length > 9);
    o.input.listops_above = 4;
    o.input.listops_below = 10;
    expect_logged(&o, t.log);
    o.input.listops_above = 9;
    refused(&o, MGK_USAGE, "`listops_above` is to be at most `listops_below` - 2");
    o.input.listops_below = 14;
    refused(&o, MGK_USAGE, "expected `listops_below` of at most 13");
    o.input.listops_below = -1;
    refused(&o, MGK_USAGE, "`listops_below` -1: expected a positive number");
    o.input = (mgk_input){.task = "lm", .listops_above = 4};
    refused(&o, MGK_USAGE, "`listops_above` belongs to `task` listops");
    o.input = (mgk_input){.task = "listops", .data = &text, .data_count = 1, .listops_below = 9};
    refused(&o, MGK_USAGE, "`listops_below` is for lists that are generated");
}

static void refusals(void **state)
{
    (void)state;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "softmax");
    mgk_evaluate_options o = options();
    tiny_save(&config, model_path);
    tiny_text(text, 100);
    o.stride = -1;
    refused(&o, MGK_USAGE, "`stride` -1");
    o.stride = N + 1;
    refused(&o, MGK_USAGE, "windows have 9 tokens");
    o.stride = 2;
    o.input.lines = true;
    refused(&o, MGK_USAGE, "windows of a text");
    o.input = (mgk_input){.tokens = "evaluate.ids"};
    write_text("evaluate.ids", "1 2 3\n4 5 6\n", 12);
    refused(&o, MGK_USAGE, "one axis");
    o.stride = 0;
    assert_done(mgk_evaluate_model(&o, NULL));
    write_text("evaluate.ids", "1\n4\n", 4);
    refused(&o, MGK_INPUT, "no token that follows");
    config = tiny_config(MGK_FAMILY_ENCODER, "softmax");
    tiny_save(&config, model_path);
    refused(&o, MGK_USAGE, "no targets for this model");
    o.model = NULL;
    refused(&o, MGK_USAGE, "a model is needed");
}

static int prepare(void **state)
{
    (void)state;
    mkdir("evaluate", 0755);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_bytes),  cmocka_unit_test(windows_of_a_tokenizer),
        cmocka_unit_test(as_transformers),   cmocka_unit_test(lines_and_strings),
        cmocka_unit_test(losses_of_samples), cmocka_unit_test(differences_of_losses),
        cmocka_unit_test(as_the_training),   cmocka_unit_test(generated_lists),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
