/* SPDX-License-Identifier: MIT */
/* The public list of kinds and settings, and settings of callers, against the registry. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "kernels/attention.h"
#include "run/kind_settings.h"

static void compare_settings(size_t index, const mgk_attention_kind *kind, size_t count)
{
    mgk_setting_description d;
    size_t found = 0;
    for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name; row++) {
        const int usual = mgk_attention_setting_get(&kind->defaults, row);
        if (usual == 0)
            continue;
        assert_int_equal(mgk_describe_setting(index, found++, &d), MGK_OK);
        assert_string_equal(d.name, row->name);
        assert_int_equal(d.number, row->words ? 0 : usual);
        assert_true(row->words ? !strcmp(d.word, row->words[usual]) : !d.word);
    }
    assert_int_equal(found, count);
    assert_int_equal(mgk_describe_setting(index, found, &d), MGK_USAGE);
}

static void every_kind_is_described(void **state)
{
    (void)state;
    const mgk_attention_kind *kind;
    mgk_kind_description d;
    mgk_setting_description setting;
    size_t count = 0;
    for (; (kind = mgk_attention_row(count)); count++) {
        assert_int_equal(mgk_describe_kind(count, &d), MGK_OK);
        assert_string_equal(d.name, kind->name);
        assert_true(strlen(d.name) < MGK_KIND_NAME);
        assert_true(*d.formula && *d.primitives && *d.rank_bound);
        assert_true(!strcmp(d.devices, "cpu") || !strcmp(d.devices, "cpu cuda"));
        assert_true(d.matrix == !*d.reason);
        assert_string_equal(d.causal, kind->causal_only ? "only" : kind->not_causal ? "no" : "yes");
        compare_settings(count, kind, d.settings);
    }
    assert_true(count >= 6);
    assert_int_equal(mgk_describe_kind(count, &d), MGK_USAGE);
    assert_int_equal(mgk_describe_kind(SIZE_MAX, &d), MGK_USAGE);
    assert_int_equal(mgk_describe_setting(count, 0, &setting), MGK_USAGE);
}

/* A setting without a public field would stay 0. */
static void every_setting_can_be_given(void **state)
{
    (void)state;
    mgk_kind_settings given = {.feature_map = "identity",
                               .feature_draw = "iid",
                               .window = 2,
                               .dilation = 3,
                               .block = 4,
                               .global = 5,
                               .random = 6,
                               .features = 7,
                               .landmarks = 8,
                               .projection = 9,
                               .clusters = 10,
                               .parts = 11,
                               .hashes = 12,
                               .kernel = 13};
    mgk_attention_settings taken;
    int expected = 2;
    assert_ok(mgk_settings_take(&given, &taken));
    for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name; row++)
        if (row->words)
            assert_int_equal(mgk_attention_setting_get(&taken, row), row->most);
        else
            assert_int_equal(mgk_attention_setting_get(&taken, row), expected++);
    given = (mgk_kind_settings){.feature_map = NULL};
    assert_ok(mgk_settings_take(&given, &taken));
    for (const mgk_attention_setting *row = mgk_attention_setting_rows; row->name; row++)
        assert_int_equal(mgk_attention_setting_get(&taken, row), 0);
}

static void unknown_words_are_refused(void **state)
{
    (void)state;
    static const char *const words[] = {"positiv", "none", "", "Positive"};
    mgk_attention_settings taken;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const mgk_kind_settings given = {.feature_map = words[i]};
        assert_fails(mgk_settings_take(&given, &taken), STATUS_USAGE);
        assert_non_null(strstr(mgk_fail_message(), "`feature_map`"));
        assert_non_null(strstr(mgk_fail_message(), "positive"));
    }
}

static void unknown_kinds_are_refused(void **state)
{
    (void)state;
    mgk_config config;
    assert_ok(mgk_settings_kinds("mgk,softmax", &config));
    assert_string_equal(config.attention, "mgk,softmax");
    assert_fails(mgk_settings_kinds("mgk,sofmax", &config), STATUS_USAGE);
    assert_non_null(strstr(mgk_fail_message(), "\"sofmax\" is not a known kind; similar: softmax"));
    assert_fails(mgk_settings_kinds("mgk,", &config), STATUS_USAGE);
    assert_fails(mgk_settings_kinds("", &config), STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_described),
        cmocka_unit_test(every_setting_can_be_given),
        cmocka_unit_test(unknown_words_are_refused),
        cmocka_unit_test(unknown_kinds_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
