/* SPDX-License-Identifier: MIT */
/* An interrupted pruning: a resumed run takes the finished orders from its journal, and its outputs
 * are those of a run that was not interrupted. */
#include "mgk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/run/journal.h"
#include "test.h"
#include "tiny.h"

/* The removal of the 4 heads of a layer takes a run more than there are, in 12 orders; samples of 9
 * tokens in two batches of the host. */
enum { MODELS = 2, ORDERS = 12, RUNS = 4 + 1, SAMPLES = 230, BATCHES = 2 };
enum { OF_MODEL = ORDERS * RUNS * BATCHES };

static const char *const models[MODELS] = {"softmax.safetensors", "mgk.safetensors"};
static const char *const others[MODELS] = {"mgk.safetensors", "softmax.safetensors"};
static const char *const text = "text.txt", *const journal = "out.csv.part";

/* ---- interruptions --------------------------------------------------------------------------- */

/* The runs of the models in reports; the watcher stops at number `most`, or when most samples of
 * the first model are measured. */
static struct {
    int64_t runs, most, first, total;
    int64_t matrices;
    bool stops_early;
    char finished[300];
} seen;

static void watch(void *context, const mgk_report *report)
{
    (void)context;
    if (strstr(report->note, "finished already"))
        snprintf(seen.finished, sizeof(seen.finished), "%s", report->note);
    if (!report->activity)
        seen.matrices = report->done;
    if (!report->activity || strcmp(report->activity, "pruning") != 0)
        return;
    seen.first = seen.runs == 0 ? report->done : seen.first;
    seen.total = report->total;
    seen.runs++;
}

static bool stop(void *context)
{
    (void)context;
    return (seen.stops_early && seen.matrices > 4 * SAMPLES / 3 * 2) ||
           (seen.most > 0 && seen.runs >= seen.most);
}

static mgk_diversity_options options_of(const char *output)
{
    static const char *const measures[] = {"entropy"};
    static const int layer = 1;
    mgk_diversity_options o = mgk_diversity_options_default();
    o.job = (mgk_job){
        .device = "cpu", .threads = 1, .force = true, .watcher = {.report = watch, .stop = stop}};
    o.models = models;
    o.model_count = MODELS;
    o.input = (mgk_input){.text = &text, .text_count = 1, .samples = SAMPLES};
    o.layers = &layer;
    o.layer_count = 1;
    o.measures = measures;
    o.measure_count = 1;
    o.prune = true;
    o.output = output;
    memset(&seen, 0, sizeof(seen));
    return o;
}

/* Leaves a journal after `runs` runs of the models without some heads. */
static void interrupt(const char *output, int64_t runs)
{
    mgk_diversity_options o = options_of(output);
    unlink(output);
    seen.most = runs;
    assert_int_equal(mgk_measure_diversity(&o, NULL), MGK_INTERRUPTED);
    assert_int_equal(seen.runs, runs);
    assert_int_not_equal(access(output, F_OK), 0);
}

/* ---- resumed runs ---------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *size)
{
    char *bytes = malloc(1 << 22);
    FILE *file = fopen(path, "rb");
    assert_non_null(bytes);
    assert_non_null(file);
    *size = fread(bytes, 1, 1 << 22, file);
    assert_in_range(*size, 1, (1 << 22) - 1);
    fclose(file);
    return bytes;
}

static void assert_same_files(const char *a, const char *b)
{
    size_t a_size, b_size;
    char *x = read_file(a, &a_size), *y = read_file(b, &b_size);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(x, y, a_size);
    free(x);
    free(y);
}

/* Interrupts after `runs` runs and resumes. */
static void check_resumed(const char *whole, const char *output, bool per_sample, int64_t runs)
{
    const int64_t orders = runs / OF_MODEL * ORDERS + runs % OF_MODEL / (RUNS * BATCHES);
    const int64_t samples = runs < OF_MODEL ? SAMPLES : MODELS * SAMPLES;
    char expected[100];
    interrupt(output, runs);
    mgk_diversity_options o = options_of(output);
    o.resume = true;
    o.per_sample = per_sample;
    assert_done(mgk_measure_diversity(&o, NULL));
    assert_same_files(whole, output);
    snprintf(expected, sizeof(expected), "%s.part: %d samples are finished already", output,
             (int)samples);
    if (orders > 0)
        snprintf(expected + strlen(expected), 60, ", and %d of 24 orders of pruning", (int)orders);
    assert_string_equal(seen.finished, expected);
    /* The orders in the journal are not run again. */
    assert_int_equal(seen.total, OF_MODEL);
    assert_int_equal(seen.first, orders % ORDERS * RUNS * BATCHES + 1);
    assert_int_equal(seen.runs, MODELS * OF_MODEL - orders * RUNS * BATCHES);
}

/* Interruptions in the middle of an order, at its end, and in the second model; then those of other
 * formats, and of records, whose readers of the journal take samples, not orders. */
static const struct {
    const char *whole, *output;
    bool per_sample;
    int64_t runs;
} resumed[] = {
    {"whole.csv", "out.csv", false, 1},
    {"whole.csv", "out.csv", false, RUNS *BATCHES},
    {"whole.csv", "out.csv", false, 5 * RUNS *BATCHES + 3},
    {"whole.csv", "out.csv", false, OF_MODEL - 1},
    {"whole.csv", "out.csv", false, OF_MODEL + 1},
    {"whole.csv", "out.csv", false, OF_MODEL + 11 * RUNS *BATCHES + 1},
    {"whole.json", "out.json", false, OF_MODEL + 3 * RUNS *BATCHES},
    {"samples.csv", "out.csv", true, OF_MODEL + 3 * RUNS *BATCHES},
    {"whole.h5", "out.h5", false, OF_MODEL + 3 * RUNS *BATCHES},
};
enum { RESUMED = sizeof(resumed) / sizeof(*resumed) };

/* Each takes seconds with sanitizers: there the last one runs, and the optimised build runs all. */
#ifdef MGK_SANITIZED
enum { FIRST = RESUMED - 1 };
#else
enum { FIRST = 0 };
#endif

static void resumed_runs_end_alike(void **state)
{
    (void)state;
    const char *made = "";
    for (size_t i = FIRST; i < RESUMED; i++) {
        mgk_diversity_options o = options_of(resumed[i].whole);
        o.per_sample = resumed[i].per_sample;
        if (strcmp(made, o.output) != 0) {
            assert_done(mgk_measure_diversity(&o, NULL));
            assert_int_equal(seen.runs, MODELS * OF_MODEL);
        }
        made = resumed[i].whole;
        check_resumed(resumed[i].whole, resumed[i].output, resumed[i].per_sample, resumed[i].runs);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void assert_refused(const mgk_diversity_options *o, const char *text_of_error)
{
    size_t before, after;
    char *x = read_file(journal, &before), *y;
    assert_int_equal(mgk_measure_diversity(o, NULL), MGK_USAGE);
    if (!strstr(mgk_error(), text_of_error))
        fail_msg("\"%s\" lacks \"%s\"", mgk_error(), text_of_error);
    y = read_file(journal, &after);
    assert_int_equal(before, after);
    assert_memory_equal(x, y, before);
    free(x);
    free(y);
}

static mgk_diversity_options resuming(void)
{
    mgk_diversity_options o = options_of("out.csv");
    o.resume = true;
    return o;
}

static void journals_of_other_runs_are_refused(void **state)
{
    (void)state;
    static const char *const js[] = {"js"};
    interrupt("out.csv", 2 * RUNS * BATCHES);
    mgk_diversity_options o = resuming();
    o.prune = false;
    assert_refused(&o, "\"records\" ");
    o = resuming();
    o.job.seed = 1;
    assert_refused(&o, "\"seed\" \"0\", not \"1\"");
    o = resuming();
    o.models = others;
    assert_refused(&o, "\"model\" \"softmax.safetensors\", not \"mgk.safetensors\"");
    o = resuming();
    o.model_count = 1;
    assert_refused(&o, "\"further models\" ");
    o = resuming();
    o.measures = js;
    assert_refused(&o, "\"records\" ");
    unlink(journal);
}

/* With these measures records are alike with pruning and without. */
static void pruning_is_a_setting(void **state)
{
    (void)state;
    static const char *const measures[] = {"js", "importance_ablation"};
    for (int pruned = 0; pruned < 2; pruned++) {
        mgk_diversity_options o = options_of("out.csv");
        o.measures = measures;
        o.measure_count = 2;
        o.prune = pruned;
        o.model_count = 1;
        seen.stops_early = true;
        unlink("out.csv");
        assert_int_equal(mgk_measure_diversity(&o, NULL), MGK_INTERRUPTED);
        o.resume = true;
        o.prune = !pruned;
        seen.stops_early = false;
        assert_refused(&o, pruned ? "\"prune\" true, not missing" : "\"prune\" missing, not true");
        o.prune = pruned;
        assert_done(mgk_measure_diversity(&o, NULL));
        assert_int_not_equal(access(journal, F_OK), 0);
    }
}

/* Gives the last line of the journal the checksum of its content. */
static void correct_last_checksum(void)
{
    enum { CHECKSUM = 9 };
    size_t size;
    char *all = read_file(journal, &size), *line = all + size - 1;
    while (line[-1] != '\n')
        line--;
    const size_t length = (size_t)(all + size - 1 - line) - CHECKSUM;
    FILE *file = fopen(journal, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, line - all, SEEK_SET), 0);
    assert_int_equal(
        fprintf(file, "%08x ", (unsigned)mgk_journal_checksum(line + CHECKSUM, length)), CHECKSUM);
    assert_int_equal(fclose(file), 0);
    free(all);
}

/* The last number of an order is how many samples its last value is the mean of. */
static void orders_are_not_trusted(void **state)
{
    (void)state;
    static const char *const wrong[] = {"406ce00000000000", /* 231 */
                                        "3fe0000000000000" /* 0.5 */, "bff0000000000000" /* −1 */,
                                        "7ff8000000000000" /* NaN */};
    interrupt("out.csv", RUNS * BATCHES + 1);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        FILE *file = fopen(journal, "r+");
        assert_non_null(file);
        assert_int_equal(fseek(file, -17, SEEK_END), 0);
        assert_int_equal(fputs(wrong[i], file) < 0, 0);
        assert_int_equal(fclose(file), 0);
        correct_last_checksum();
        mgk_diversity_options o = resuming();
        assert_int_equal(mgk_measure_diversity(&o, NULL), MGK_INPUT);
        assert_string_equal(mgk_error(),
                            "out.csv.part: line 232: not the values of an order of pruning");
    }
    unlink(journal);
}

static int setup(void **state)
{
    (void)state;
    tiny_text(text, 3000);
    for (size_t i = 0; i < MODELS; i++) {
        mgk_config config = tiny_config(MGK_FAMILY_LM, i == 0 ? "softmax" : "mgk");
        tiny_save(&config, models[i]);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resumed_runs_end_alike),
        cmocka_unit_test(journals_of_other_runs_are_refused),
        cmocka_unit_test(pruning_is_a_setting),
        cmocka_unit_test(orders_are_not_trusted),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
