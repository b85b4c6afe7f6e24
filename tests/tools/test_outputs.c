/* SPDX-License-Identifier: MIT */
/* The library too refuses outputs that are inputs or other outputs, as MGK_USAGE, and changes
 * nothing. */
#include "mgk.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"
#include "test.h"
#include "tiny.h"

static const char *const model = "model.safetensors", *const text = "text.txt";
static const char *const store = "store.h5", *const linked = "linked";

/* The watcher's last milestone. */
static char kept[500];

static void keep_line(void *context, const mgk_report *report)
{
    (void)context;
    if (report->milestone && strstr(report->note, ".part"))
        snprintf(kept, sizeof(kept), "%s", report->note);
}

static mgk_job job_of(bool force)
{
    return (mgk_job){
        .device = "cpu", .threads = 1, .force = force, .watcher = {.report = keep_line}};
}

static mgk_dump_options dump_of(bool force, const char *output)
{
    mgk_dump_options o = mgk_dump_options_default();
    o.job = job_of(force);
    o.model = model;
    o.input.text = &text;
    o.input.text_count = 1;
    o.input.samples = 2;
    o.output = output;
    return o;
}

static mgk_result dump(bool force)
{
    mgk_dump_options o = dump_of(force, linked);
    return mgk_dump_attention(&o, NULL);
}

static mgk_result dump_over_the_text(bool force)
{
    mgk_dump_options o = dump_of(force, text);
    return mgk_dump_attention(&o, NULL);
}

static mgk_result convert(bool force)
{
    mgk_convert_options o = mgk_convert_options_default();
    o.job = job_of(force);
    o.model = model;
    o.output = linked;
    return mgk_convert_model(&o);
}

static mgk_result rank(bool force)
{
    mgk_rank_options o = mgk_rank_options_default();
    o.job = job_of(force);
    o.inputs = &store;
    o.input_count = 1;
    o.output = "./store.h5";
    return mgk_rank_attention(&o, NULL);
}

static mgk_result plot(bool force)
{
    mgk_plot_options o = mgk_plot_options_default();
    o.job = job_of(force);
    o.inputs = &store;
    o.input_count = 1;
    o.output = "./store.h5";
    return mgk_plot_picture(&o);
}

static mgk_train_options train_of(bool force)
{
    mgk_train_options o = mgk_train_options_default();
    o.job = job_of(force);
    o.task = "lm";
    o.data = &text;
    o.data_count = 1;
    o.output = "new";
    return o;
}

static mgk_result train(bool force)
{
    mgk_train_options o = train_of(force);
    o.output = text;
    return mgk_train_model(&o);
}

static mgk_result train_log(bool force)
{
    mgk_train_options o = train_of(force);
    o.log = "./new.checkpoint";
    return mgk_train_model(&o);
}

static mgk_result train_held_out(bool force)
{
    mgk_train_options o = train_of(force);
    o.held_out = &store;
    o.held_out_count = 1;
    o.log = store;
    return mgk_train_model(&o);
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        mgk_result (*call)(bool force);
        const char *message;
    } cases[] = {
        {dump, "linked: is the same file as the input model.safetensors"},
        {dump_over_the_text, "text.txt: is the same file as the input text.txt"},
        {convert, "linked: is the same file as the input model.safetensors"},
        {rank, "./store.h5: is the same file as the input store.h5"},
        {plot, "./store.h5: is the same file as the input store.h5"},
        {train, "text.txt: is the same file as the input text.txt"},
        {train_log, "./new.checkpoint: is the same file as the output new.checkpoint"},
        {train_held_out, "store.h5: is the same file as the input store.h5"},
    };
    const char *const inputs[] = {model, text, store};
    char before[3][MGK_SHA256_HEX_SIZE], after[MGK_SHA256_HEX_SIZE];
    for (int i = 0; i < 3; i++)
        assert_ok(mgk_sha256_file(inputs[i], before[i]));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int force = 0; force < 2; force++) {
            assert_int_equal(cases[i].call(force), MGK_USAGE);
            assert_string_equal(mgk_error(), cases[i].message);
        }
    for (int i = 0; i < 3; i++) {
        assert_ok(mgk_sha256_file(inputs[i], after));
        assert_string_equal(after, before[i]);
    }
    assert_false(mgk_exists("new") || mgk_exists("new.mgk-lock") ||
                 mgk_exists("store.h5.mgk-lock"));
}

/* The library does not print; it reports removed files to its watcher. */
static void tells_what_was_left(void **state)
{
    (void)state;
    assert_ok(mgk_write_file("out.h5.mgk-abcdef.part", true, "half", 4));
    mgk_dump_options o = dump_of(true, "out.h5");
    kept[0] = '\0';
    assert_done(mgk_dump_attention(&o, NULL));
    assert_string_equal(kept, "out.h5.mgk-abcdef.part: left by a run that was killed, removed");
    assert_false(mgk_exists("out.h5.mgk-abcdef.part") || mgk_exists("out.h5.mgk-lock"));
    o.job.watcher.report = NULL;
    assert_ok(mgk_write_file("out.h5.mgk-abcdef.part", true, "half", 4));
    assert_done(mgk_dump_attention(&o, NULL));
    assert_false(mgk_exists("out.h5.mgk-abcdef.part"));
}

static int setup(void **state)
{
    (void)state;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    mkdir("outputs", 0777);
    if (chdir("outputs") != 0)
        return 1;
    tiny_save(&config, model);
    tiny_text(text, 400);
    unlink(linked);
    if (link(model, linked) != 0)
        return 1;
    mgk_dump_options o = dump_of(true, store);
    return mgk_dump_attention(&o, NULL) == MGK_OK ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses),
        cmocka_unit_test(tells_what_was_left),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
