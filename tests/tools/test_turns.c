/* SPDX-License-Identifier: MIT */
/* Several inputs of mgk_measure_diversity: one is open at a time, and what is wrong with any of
 * them is found before the first is measured. */
#include "mgk.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model/formats/format.h"
#include "store/schema/reader.h"
#include "test.h"
#include "tiny.h"

enum { INPUTS = 4 };

static const char *const ids = "ids.txt", *const output = "out.csv";
static const char *const models[INPUTS] = {"a.safetensors", "b.safetensors", "c.safetensors",
                                           "d.safetensors"};
static const char *const stores[INPUTS] = {"a.h5", "b.h5", "c.h5", "d.h5"};

/* ---- what is open ---------------------------------------------------------------------------- */

/* The linker redirects these calls of the library (--wrap). */
mgk_status __real_mgk_model_load(const char *path, const mgk_model_options *options,
                                 mgk_device *device, mgk_model **out);
mgk_status __wrap_mgk_model_load(const char *path, const mgk_model_options *options,
                                 mgk_device *device, mgk_model **out);
void __real_mgk_model_free(mgk_model *model);
void __wrap_mgk_model_free(mgk_model *model);
mgk_status __real_mgk_store_open_as(const char *path, const char *dataset, const char *axes,
                                    mgk_store_reader **out);
mgk_status __wrap_mgk_store_open_as(const char *path, const char *dataset, const char *axes,
                                    mgk_store_reader **out);
void __real_mgk_store_close(mgk_store_reader *reader);
void __wrap_mgk_store_close(mgk_store_reader *reader);

static int opened, now_open, most_open;

static mgk_status count_opened(mgk_status status)
{
    if (status != STATUS_OK)
        return status;
    opened++;
    now_open++;
    most_open = now_open > most_open ? now_open : most_open;
    return STATUS_OK;
}

mgk_status __wrap_mgk_model_load(const char *path, const mgk_model_options *options,
                                 mgk_device *device, mgk_model **out)
{
    return count_opened(__real_mgk_model_load(path, options, device, out));
}

void __wrap_mgk_model_free(mgk_model *model)
{
    now_open -= model != NULL;
    __real_mgk_model_free(model);
}

mgk_status __wrap_mgk_store_open_as(const char *path, const char *dataset, const char *axes,
                                    mgk_store_reader **out)
{
    return count_opened(__real_mgk_store_open_as(path, dataset, axes, out));
}

void __wrap_mgk_store_close(mgk_store_reader *reader)
{
    now_open -= reader != NULL;
    __real_mgk_store_close(reader);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* What the watcher saw; `other` takes its `place` as soon as a sample is done. */
static struct {
    int remarks;
    int64_t done, most; /* matrices; it asks to stop after so many, if not 0 */
    const char *other, *place;
} seen;

static bool stop(void *context)
{
    (void)context;
    return seen.most > 0 && seen.done > seen.most;
}

static void watch(void *context, const mgk_report *report)
{
    (void)context;
    seen.remarks += strstr(report->note, " cut to ") != NULL;
    seen.done = report->done > seen.done ? report->done : seen.done;
    if (report->done == 0 || !seen.other)
        return;
    assert_int_equal(rename(seen.other, seen.place), 0);
    seen.other = NULL;
}

static mgk_diversity_options usual_options(void)
{
    static const char *const measures[] = {"js", "entropy"};
    mgk_diversity_options o = mgk_diversity_options_default();
    o.job = (mgk_job){
        .device = "cpu", .threads = 1, .force = true, .watcher = {.report = watch, .stop = stop}};
    o.measures = measures;
    o.measure_count = 2;
    o.output = output;
    opened = now_open = most_open = 0;
    memset(&seen, 0, sizeof(seen));
    return o;
}

static mgk_diversity_options of_models(size_t count)
{
    mgk_diversity_options o = usual_options();
    o.models = models;
    o.model_count = count;
    o.input.tokens = ids;
    o.input.length = 5;
    return o;
}

static mgk_diversity_options of_stores(size_t count)
{
    mgk_diversity_options o = usual_options();
    o.inputs = stores;
    o.input_count = count;
    return o;
}

static void save_model(const char *attention, int layers, const char *path)
{
    mgk_config config = tiny_config(MGK_FAMILY_LM, attention);
    config.layers = layers;
    unlink(path);
    tiny_save(&config, path);
}

static void write_store(const char *model, const int *layers, size_t count, const char *path)
{
    mgk_dump_options o = mgk_dump_options_default();
    o.job = (mgk_job){.device = "cpu", .threads = 1, .force = true};
    o.model = model;
    o.input.tokens = ids;
    o.layers = layers;
    o.layer_count = count;
    o.output = path;
    assert_done(mgk_dump_attention(&o, NULL));
}

/* Each input is opened twice, to be described and to be measured, and no two at once. */
static void expect_turns(const mgk_diversity_options *o)
{
    assert_done(mgk_measure_diversity(o, NULL));
    assert_int_equal(most_open, 1);
    assert_int_equal(now_open, 0);
    assert_int_equal(opened, 2 * INPUTS);
}

static void one_model_is_open_at_a_time(void **state)
{
    (void)state;
    mgk_diversity_options o = of_models(INPUTS);
    o.compare = true;
    o.prune = true;
    expect_turns(&o);
    assert_int_equal(seen.remarks, INPUTS); /* not again where a model is opened again */
    o = of_models(1);
    assert_done(mgk_measure_diversity(&o, NULL));
    assert_int_equal(opened, 1);
}

static void one_store_is_open_at_a_time(void **state)
{
    (void)state;
    mgk_diversity_options o = of_stores(INPUTS);
    expect_turns(&o);
    o = of_stores(1);
    assert_done(mgk_measure_diversity(&o, NULL));
    assert_int_equal(opened, 1);
}

/* Each store has 3 samples of 3 layers of 4 heads. */
static void finished_inputs_are_not_opened_again(void **state)
{
    (void)state;
    mgk_diversity_options o = of_stores(INPUTS);
    unlink(output);
    seen.most = 3 * 12 + 11;
    assert_int_equal(mgk_measure_diversity(&o, NULL), MGK_INTERRUPTED);
    o = of_stores(INPUTS);
    o.resume = true;
    assert_done(mgk_measure_diversity(&o, NULL));
    assert_int_equal(opened, INPUTS + INPUTS - 1);
}

/* ---- wrong inputs ---------------------------------------------------------------------------- */

/* The call fails before anything is measured. */
static void assert_refused(const mgk_diversity_options *o, mgk_result expected, const char *text)
{
    unlink(output);
    assert_int_equal(mgk_measure_diversity(o, NULL), expected);
    if (!strstr(mgk_error(), text))
        fail_msg("\"%s\" lacks \"%s\"", mgk_error(), text);
    assert_int_equal(seen.done, 0);
    assert_int_equal(now_open, 0);
    assert_int_not_equal(access("out.csv.part", F_OK), 0);
}

static void wrong_inputs_are_found_before_measuring(void **state)
{
    (void)state;
    static const int last = 2, both[] = {0, 2};
    static const char *const projection = "projection_key";
    const char *paths[] = {models[0], "absent.safetensors"};
    mgk_diversity_options o = of_models(2);
    o.models = paths;
    assert_refused(&o, MGK_IO, "absent.safetensors");
    paths[1] = "short.safetensors";
    o = of_models(2);
    o.models = paths;
    o.layers = &last;
    o.layer_count = 1;
    assert_refused(&o, MGK_INPUT, "layer 2");
    o = of_stores(2);
    paths[0] = stores[0];
    paths[1] = "short.h5";
    o.inputs = paths;
    o.layers = both;
    o.layer_count = 2;
    assert_refused(&o, MGK_INPUT, "short.h5: no layer 2");
    o.layers = NULL;
    o.measures = &projection;
    o.measure_count = 1;
    assert_refused(&o, MGK_INPUT, "needs a running model");
    paths[1] = "last.h5";
    paths[0] = "short.h5";
    o = of_stores(2);
    o.inputs = paths;
    o.compare = true;
    assert_refused(&o, MGK_INPUT, "short.h5 and last.h5 have no layer and measure in common");
}

/* The journal names the models that were there at the beginning. */
static void a_model_that_is_replaced_is_refused(void **state)
{
    (void)state;
    static const char *const other = "other.safetensors";
    save_model("linear", 3, other);
    mgk_diversity_options o = of_models(INPUTS);
    seen.other = other;
    seen.place = models[INPUTS - 1];
    unlink(output);
    assert_int_equal(mgk_measure_diversity(&o, NULL), MGK_IO);
    assert_string_equal(mgk_error(), "d.safetensors: was replaced while the run was under way");
    assert_true(seen.done > 0);
    assert_int_equal(now_open, 0);
    assert_int_not_equal(access(output, F_OK), 0);
    save_model("softmax", 3, models[INPUTS - 1]);
}

/* Another store of the same model and the same sizes. */
static void a_store_that_is_replaced_is_refused(void **state)
{
    (void)state;
    static const char *const other = "other.h5";
    write_store(models[INPUTS - 1], NULL, 0, other);
    mgk_diversity_options o = of_stores(INPUTS);
    seen.other = other;
    seen.place = stores[INPUTS - 1];
    unlink(output);
    assert_int_equal(mgk_measure_diversity(&o, NULL), MGK_IO);
    assert_string_equal(mgk_error(), "d.h5: was replaced while the run was under way");
    assert_true(seen.done > 0);
    assert_int_equal(now_open, 0);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    static const int last = 2;
    FILE *file = fopen(ids, "w");
    assert_non_null(file);
    for (int i = 0; i < 24; i++)
        fprintf(file, "%d%c", 7 * i % 31, i % 8 == 7 ? '\n' : ' ');
    assert_int_equal(fclose(file), 0);
    for (size_t i = 0; i < INPUTS; i++) {
        save_model(i == 1 ? "mgk" : "softmax", 3, models[i]);
        write_store(models[i], NULL, 0, stores[i]);
    }
    save_model("softmax", 2, "short.safetensors");
    write_store("short.safetensors", NULL, 0, "short.h5");
    write_store(models[0], &last, 1, "last.h5");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_model_is_open_at_a_time),
        cmocka_unit_test(one_store_is_open_at_a_time),
        cmocka_unit_test(finished_inputs_are_not_opened_again),
        cmocka_unit_test(wrong_inputs_are_found_before_measuring),
        cmocka_unit_test(a_model_that_is_replaced_is_refused),
        cmocka_unit_test(a_store_that_is_replaced_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
