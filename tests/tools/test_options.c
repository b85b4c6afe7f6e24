/* SPDX-License-Identifier: MIT */
/*
 * Compatibility within a soname: options of older and newer headers, and the sizes of all
 * structures. A new field goes after the last one, beyond its padding; then update the size in the
 * table below.
 */
#include "mgk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "tiny.h"

static const char *const model = "options_model.safetensors", *const copy =
                                                                  "options_copy.safetensors";

static mgk_convert_options begin(void)
{
    mgk_convert_options o = mgk_convert_options_default();
    o.job.device = "cpu";
    o.job.force = true;
    o.model = model;
    o.output = copy;
    return o;
}

/* Copies the first `size` bytes of options into exactly as much memory, as in a program with an
 * older header. */
static mgk_convert_options *cut(const mgk_convert_options *o, size_t size)
{
    mgk_convert_options *older = malloc(size);
    assert_non_null(older);
    memcpy(older, o, size);
    memcpy(older, &size, sizeof(size));
    return older;
}

static void older_headers_have_fewer_fields(void **state)
{
    (void)state;
    const size_t size = offsetof(mgk_convert_options, double_precision);
    mgk_convert_options o = begin();
    o.double_precision = true; /* ignored */
    mgk_convert_options *older = cut(&o, size);
    assert_done(mgk_convert_model(older));
    free(older);
    char *text;
    assert_done(mgk_describe_file(copy, NULL, false, &text));
    assert_non_null(strstr(text, "F32"));
    mgk_release(text);
}

static void precisions_exclude_each_other(void **state)
{
    (void)state;
    mgk_convert_options o = begin();
    o.half_precision = true;
    char *text;
    assert_done(mgk_convert_model(&o));
    assert_done(mgk_describe_file(copy, NULL, false, &text));
    assert_non_null(strstr(text, "F16"));
    mgk_release(text);
    o.double_precision = true;
    assert_int_equal(mgk_convert_model(&o), MGK_USAGE);
    assert_non_null(strstr(mgk_error(), "not both"));
}

static void newer_headers_have_more_fields(void **state)
{
    (void)state;
    struct {
        mgk_convert_options options;
        size_t later;
    } newer;
    memset(&newer, 0xff, sizeof(newer));
    mgk_convert_options_init(&newer.options, sizeof(newer));
    assert_int_equal(newer.options.size, sizeof(newer));
    assert_int_equal(newer.later, 0);
    newer.options = begin();
    newer.options.size = sizeof(newer);
    assert_done(mgk_convert_model(&newer.options));
    newer.later = 1;
    assert_int_equal(mgk_convert_model(&newer.options), MGK_USAGE);
    assert_non_null(strstr(mgk_error(), "does not know"));
}

static void defaults_come_first(void **state)
{
    (void)state;
    mgk_convert_options o = begin();
    o.size = 0;
    assert_int_equal(mgk_convert_model(&o), MGK_USAGE);
    assert_non_null(strstr(mgk_error(), "defaults function"));
    o.size = (size_t)-1;
    assert_int_equal(mgk_convert_model(&o), MGK_USAGE);
}

static void defaults_fill_what_the_caller_has(void **state)
{
    (void)state;
    unsigned char bytes[sizeof(mgk_rank_options)];
    memset(bytes, 0xa5, sizeof(bytes));
    mgk_rank_options_init((mgk_rank_options *)(void *)bytes, 3 * sizeof(size_t));
    for (size_t i = 3 * sizeof(size_t); i < sizeof(bytes); i++)
        assert_int_equal(bytes[i], 0xa5);
}

static void header_and_library_are_of_one_version(void **state)
{
    (void)state;
    char version[64];
    snprintf(version, sizeof(version), "%d.%d.%d", MGK_VERSION_MAJOR, MGK_VERSION_MINOR,
             MGK_VERSION_PATCH);
    assert_string_equal(version, mgk_version());
    assert_int_equal(MGK_VERSION_NUMBER,
                     MGK_VERSION_MAJOR * 1000000 + MGK_VERSION_MINOR * 1000 + MGK_VERSION_PATCH);
}

#if defined(__x86_64__)
#define ROW(type, size, last, offset)                           \
    {                                                           \
#type, sizeof(type), size, offsetof(type, last), offset \
    }
static void structures_have_their_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t size, expected_size, offset, expected_offset; /* of the last field */
    } rows[] = {
        ROW(mgk_report, 56, activity, 40),
        ROW(mgk_watcher, 24, context, 16),
        ROW(mgk_job, 112, cluster, 104),
        ROW(mgk_input, 192, reserved, 168),
        ROW(mgk_architecture, 120, reserved, 96),
        ROW(mgk_train_options, 712, streams, 708),
        ROW(mgk_kind_settings, 112, reserved, 64),
        ROW(mgk_kind_description, 104, reserved, 72),
        ROW(mgk_setting_description, 48, reserved, 24),
        ROW(mgk_convert_options, 144, half_precision, 137),
        ROW(mgk_network_shape, 72, reserved, 48),
        ROW(mgk_dump_options, 400, output, 384),
        ROW(mgk_dump_summary, 88, reserved, 56),
        ROW(mgk_evaluate_options, 360, per_sample, 352),
        ROW(mgk_sample_loss, 32, hash, 24),
        ROW(mgk_evaluation_summary, 96, reserved, 80),
        ROW(mgk_evaluation_difference, 104, reserved, 72),
        ROW(mgk_table_column, 96, reserved, 64),
        ROW(mgk_rank_options, 488, head_count, 480),
        ROW(mgk_rank_layer, 120, reserved, 104),
        ROW(mgk_rank_summary, 144, reserved, 136),
        ROW(mgk_matrix_rank, 96, reserved, 64),
        ROW(mgk_measure_description, 88, reserved, 56),
        ROW(mgk_diversity_options, 496, prune_held_out, 492),
        ROW(mgk_plot_options, 352, smooth, 348),
        ROW(mgk_report_options, 152, tokens, 148),
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].size != rows[i].expected_size || rows[i].offset != rows[i].expected_offset)
            fail_msg(
                "%s: %zu bytes, the last field at %zu; programs have %zu and %zu: is a new soname "
                "needed?",
                rows[i].name, rows[i].size, rows[i].offset, rows[i].expected_size,
                rows[i].expected_offset);
}
#endif

static void ours_sets_the_defaults_again(void **state)
{
    (void)state;
    const mgk_train_options fresh = mgk_train_options_default();
    mgk_train_options o = fresh;
    assert_int_equal(mgk_train_options_recipe(&o, "lm"), MGK_OK);
    assert_int_not_equal(o.steps, fresh.steps);
    assert_int_equal(mgk_train_options_recipe(&o, "ours"), MGK_OK);
    assert_string_equal(o.recipe, "ours");
    o.recipe = fresh.recipe;
    assert_memory_equal(&o, &fresh, sizeof(o));
}

static int setup(void **state)
{
    (void)state;
    mgk_config config = tiny_config(MGK_FAMILY_LM, "mgk");
    tiny_save(&config, model);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(older_headers_have_fewer_fields),
        cmocka_unit_test(precisions_exclude_each_other),
        cmocka_unit_test(newer_headers_have_more_fields),
        cmocka_unit_test(defaults_come_first),
        cmocka_unit_test(ours_sets_the_defaults_again),
        cmocka_unit_test(defaults_fill_what_the_caller_has),
        cmocka_unit_test(header_and_library_are_of_one_version),
#if defined(__x86_64__)
        cmocka_unit_test(structures_have_their_sizes),
#endif
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
