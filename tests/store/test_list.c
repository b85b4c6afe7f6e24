/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/fixture.h"
#include "store/foreign/list.h"
#include "test.h"

#define PATH "list.h5"

typedef struct collected {
    char text[8192];
    size_t used;
    int entries, stop_after;
} collected;

/* Writes one line per entry. */
static mgk_status collect(void *context, const mgk_store_entry *entry)
{
    collected *all = context;
    char shape[100] = "";
    for (int i = 0; i < entry->rank; i++)
        snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape), "%s%d", i ? "," : "",
                 (int)entry->shape[i]);
    all->used += (size_t)snprintf(all->text + all->used, sizeof(all->text) - all->used,
                                  "%s@%s %s [%s] (%s) %s\n", entry->object,
                                  entry->attribute ? entry->attribute : "", entry->type, shape,
                                  entry->axes, entry->value);
    assert_true(all->used < sizeof(all->text));
    if (++all->entries == all->stop_after)
        return mgk_fail(STATUS_INTERRUPTED, "enough");
    return STATUS_OK;
}

static void everything_is_listed(void **state)
{
    (void)state;
    collected all = {0};
    mgk_store_description description = fixture_description(7, STORE_F16, FIXTURE_ALL);
    assert_ok(fixture_store(PATH, &description, STORE_F32, 0));
    assert_ok(mgk_store_list(PATH, collect, &all));
    const char *expected[] = {
        "/@format string [] () mgk-attention\n",
        "/@format_version int32 [] () 1\n",
        "/@causal int32 [] () 1\n",
        "/@training_step int64 [] () 3000000000\n",
        "/attention@ float16 [3,2,2,7,7] (sample, layer, head, query, key) \n",
        "/attention@row_normalized int32 [] () 1\n",
        "/keys@ float16 [3,2,2,2,7,3] (sample, layer, head, mixture, key, dim) \n",
        "/key_weights@ float32 [2,2,2,5,3] (layer, head, mixture, model_dim, dim) \n",
        "/priors@ float32 [2,2,2] (layer, head, mixture) \n",
        "/lengths@ int32 [3] (sample) \n",
        "/layer@ int32 [2] () \n",
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        if (!strstr(all.text, expected[i]))
            fail_msg("no line \"%s\" in\n%s", expected[i], all.text);
    assert_null(strstr(all.text, "REFERENCE_LIST"));
    /* 13 root attributes, row_normalized, 11 objects, tokens, lengths and 8 scales */
    assert_int_equal(all.entries, 13 + 1 + 11 + 2 + 8);
}

static void visitor_can_stop(void **state)
{
    (void)state;
    collected all = {.stop_after = 2};
    assert_fails(mgk_store_list(PATH, collect, &all), STATUS_INTERRUPTED);
    assert_int_equal(all.entries, 2);
}

static void bad_files(void **state)
{
    (void)state;
    collected all = {0};
    assert_fails(mgk_store_list("missing.h5", collect, &all), STATUS_IO);
    assert_int_equal(truncate(PATH, 1000), 0);
    assert_fails(mgk_store_list(PATH, collect, &all), STATUS_FORMAT);
    assert_int_equal(all.entries, 0);
    unlink(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_listed),
        cmocka_unit_test(visitor_can_stop),
        cmocka_unit_test(bad_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
