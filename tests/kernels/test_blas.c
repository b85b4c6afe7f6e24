/* SPDX-License-Identifier: MIT */
/* The choice among OpenBLAS's kernels, tested with a library that imitates it. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/blas.h"
#include "kernels/processor.h"
#include "test.h"

static const mgk_blas_names fake = {MGK_FAKE_OPENBLAS, MGK_FAKE_OPENBLAS};

static mgk_blas_library library;
static mgk_blas_table table;
static mgk_blas_choice choice;

/* NULL: not set. */
static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static mgk_status choose(int level, const char *own, const char *users, const char *wrong)
{
    set("FAKE_OWN", own);
    set("FAKE_WRONG", wrong);
    set("OPENBLAS_CORETYPE", users);
    return mgk_blas_choose(&fake, level, &library, &table, &choice);
}

static void expect(int level, const char *own, const char *users, const char *wrong,
                   const char *kernels, mgk_blas_chooser chooser, bool below)
{
    assert_ok(choose(level, own, users, wrong));
    assert_string_equal(choice.kernels, kernels);
    assert_int_equal(choice.chooser, chooser);
    assert_int_equal(choice.below, below);
    assert_string_equal(choice.version, "OpenBLAS 9.8.7");
    mgk_blas_library_close(&library);
}

static void what_the_processor_has(void **state)
{
    (void)state;
    expect(4, "Prescott", NULL, NULL, "SkylakeX", MGK_BLAS_BY_TOOLKIT, false);
    expect(3, "Prescott", NULL, NULL, "Haswell", MGK_BLAS_BY_TOOLKIT, false);
    expect(2, "Prescott", NULL, NULL, "Prescott", MGK_BLAS_BY_OPENBLAS, false);
    expect(4, "Haswell", NULL, NULL, "SkylakeX", MGK_BLAS_BY_TOOLKIT, false);
    expect(0, "ARMV8", NULL, NULL, "ARMV8", MGK_BLAS_BY_OPENBLAS, false);
}

static void own_choice_is_kept(void **state)
{
    (void)state;
    expect(4, "Cooperlake", NULL, NULL, "Cooperlake", MGK_BLAS_BY_OPENBLAS, false);
    expect(3, "Zen", NULL, NULL, "Zen", MGK_BLAS_BY_OPENBLAS, false);
    expect(2, "Sandybridge", NULL, NULL, "Sandybridge", MGK_BLAS_BY_OPENBLAS, false);
}

static void wrong_products_are_noticed(void **state)
{
    (void)state;
    expect(4, "SapphireRapids", NULL, "dSapphireRapids", "SkylakeX", MGK_BLAS_BY_TOOLKIT, false);
    expect(4, "SapphireRapids", NULL, "sSapphireRapids", "SkylakeX", MGK_BLAS_BY_TOOLKIT, false);
    expect(4, "Prescott", NULL, "sSkylakeX", "Haswell", MGK_BLAS_BY_TOOLKIT, true);
    expect(4, "Prescott", NULL, "sSkylakeX dHaswell", "Prescott", MGK_BLAS_BY_OPENBLAS, true);
    expect(2, "Prescott", NULL, "dPrescott", "Nehalem", MGK_BLAS_BY_TOOLKIT, false);
    assert_fails(choose(4, "Prescott", NULL, "dSkylakeX sHaswell dPrescott sNehalem"),
                 STATUS_DEVICE);
    assert_non_null(strstr(mgk_fail_message(), "OpenBLAS 9.8.7"));
}

static void users_choice_wins(void **state)
{
    (void)state;
    expect(4, "SkylakeX", "Haswell", NULL, "Haswell", MGK_BLAS_BY_USER, true);
    expect(4, "SkylakeX", "haswell", NULL, "Haswell", MGK_BLAS_BY_USER, true);
    expect(4, "Prescott", "Unheard", NULL, "SkylakeX", MGK_BLAS_BY_TOOLKIT, false);
    expect(4, "Prescott", "", NULL, "SkylakeX", MGK_BLAS_BY_TOOLKIT, false);
    assert_fails(choose(4, "SkylakeX", "Haswell", "dHaswell"), STATUS_DEVICE);
    assert_non_null(strstr(mgk_fail_message(), "OPENBLAS_CORETYPE=Haswell"));
}

/* OpenBLAS sees a setting of one thread; other libraries see the environment unchanged. */
static void environment_is_left_alone(void **state)
{
    char *(*get_config)(void);
    (void)state;
    setenv("OPENBLAS_NUM_THREADS", "7", 1);
    assert_ok(choose(4, "Prescott", NULL, NULL));
    assert_string_equal(getenv("OPENBLAS_NUM_THREADS"), "7");
    assert_null(getenv("OPENBLAS_CORETYPE"));
    assert_ok(mgk_blas_library_find(&library, "openblas_get_config", &get_config));
    assert_non_null(strstr(get_config(), "threads=1"));
    mgk_blas_library_close(&library);
    unsetenv("OPENBLAS_NUM_THREADS");
}

/* A host program with its own OpenBLAS and kernels keeps them. */
static void hosts_library_is_left_alone(void **state)
{
#ifdef MGK_SANITIZED
    (void)state;
    skip(); /* sanitizers refuse the loading of a private copy */
#else
    char *(*hosts_kernels)(void);
    (void)state;
    set("FAKE_OWN", "Prescott");
    void *host = dlopen(MGK_FAKE_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(host);
    void *symbol = dlsym(host, "openblas_get_corename");
    memcpy(&hosts_kernels, &symbol, sizeof(symbol));
    expect(4, "Prescott", NULL, NULL, "SkylakeX", MGK_BLAS_BY_TOOLKIT, false);
    assert_string_equal(hosts_kernels(), "Prescott");
    assert_int_equal(dlclose(host), 0);
#endif
}

static void missing_library_is_named(void **state)
{
    const mgk_blas_names missing = {"libopenblas-missing.so.0", MGK_FAKE_OPENBLAS};
    const mgk_blas_names half = {MGK_FAKE_OPENBLAS, "liblapacke-missing.so.3"};
    (void)state;
    set("OPENBLAS_CORETYPE", NULL);
    assert_fails(mgk_blas_choose(&missing, 4, &library, &table, &choice), STATUS_DEVICE);
    assert_non_null(strstr(mgk_fail_message(), "libopenblas-missing.so.0"));
    assert_fails(mgk_blas_choose(&half, 4, &library, &table, &choice), STATUS_DEVICE);
    assert_non_null(strstr(mgk_fail_message(), "liblapacke-missing.so.3"));
}

static char *asked_for; /* OPENBLAS_CORETYPE of the tests' caller */

/* The real library uses the processor's kernels, unless OPENBLAS_CORETYPE asks for fewer. */
static void the_real_library(void **state)
{
    (void)state;
    int granted;
    set("OPENBLAS_CORETYPE", asked_for);
    assert_ok(mgk_blas_open());
    assert_non_null(mgk_blas.dgemm);
    if (asked_for)
        assert_int_equal(mgk_blas_chosen()->chooser, MGK_BLAS_BY_USER);
    else
        assert_false(mgk_blas_chosen()->below);
    assert_int_equal(strncmp(mgk_blas_chosen()->version, "OpenBLAS 0.", 11), 0);
    assert_ok(mgk_blas_reserve(3, &granted));
    assert_int_equal(granted, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_processor_has),     cmocka_unit_test(own_choice_is_kept),
        cmocka_unit_test(wrong_products_are_noticed), cmocka_unit_test(users_choice_wins),
        cmocka_unit_test(environment_is_left_alone),  cmocka_unit_test(hosts_library_is_left_alone),
        cmocka_unit_test(missing_library_is_named),   cmocka_unit_test(the_real_library),
    };
    asked_for = getenv("OPENBLAS_CORETYPE");
    if (asked_for)
        asked_for = strdup(asked_for);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(asked_for);
    return failed;
}
