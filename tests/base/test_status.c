/* SPDX-License-Identifier: MIT */
/* Statuses and their messages. */
#include "test.h"

#include <pthread.h>
#include <string.h>

static void test_texts(void **state)
{
    (void)state;
    assert_string_equal(mgk_status_text(STATUS_OK), "success");
    for (int code = STATUS_OK; code <= STATUS_INTERRUPTED; code++)
        for (int other = STATUS_OK; other < code; other++)
            assert_string_not_equal(mgk_status_text((mgk_status)code),
                                    mgk_status_text((mgk_status)other));
    assert_string_equal(mgk_status_text((mgk_status)1000), "unknown status");
}

static void test_messages(void **state)
{
    (void)state;
    char longer[2000];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(mgk_fail(STATUS_SHAPE, "%d of %s", 3, "four"), STATUS_SHAPE);
    assert_string_equal(mgk_fail_message(), "3 of four");
    assert_int_equal(mgk_fail_prefix(STATUS_IO, "a.h5"), STATUS_IO);
    assert_string_equal(mgk_fail_message(), "a.h5: 3 of four");
    mgk_fail(STATUS_IO, "again: %s", mgk_fail_message());
    assert_string_equal(mgk_fail_message(), "again: a.h5: 3 of four");
    mgk_fail(STATUS_IO, "%s", longer);
    assert_int_equal(strlen(mgk_fail_message()), 1023);
    mgk_fail(STATUS_IO, "a\nb\x1b[31m\x7f");
    assert_string_equal(mgk_fail_message(), "a?b?[31m?");
}

static void *other_thread(void *out)
{
    const char **messages = out;
    messages[0] = strcmp(mgk_fail_message(), "no failure") == 0 ? "none" : "some";
    mgk_fail(STATUS_IO, "theirs");
    return NULL;
}

static void test_threads_have_their_own(void **state)
{
    (void)state;
    pthread_t thread;
    const char *theirs = NULL;
    mgk_fail(STATUS_IO, "mine");
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &theirs), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(theirs, "none");
    assert_string_equal(mgk_fail_message(), "mine");
}

static mgk_status try_then_count(mgk_status first, int *count)
{
    TRY(first);
    ++*count;
    return STATUS_OK;
}

static mgk_status check_then_count(mgk_status first, int *count)
{
    mgk_status status;
    CHECK(first);
    ++*count;
out:
    return status;
}

static void test_forwarding(void **state)
{
    (void)state;
    int count = 0;
    assert_int_equal(try_then_count(STATUS_IO, &count), STATUS_IO);
    assert_int_equal(check_then_count(STATUS_NUMERIC, &count), STATUS_NUMERIC);
    assert_int_equal(count, 0);
    assert_int_equal(try_then_count(STATUS_OK, &count), STATUS_OK);
    assert_int_equal(check_then_count(STATUS_OK, &count), STATUS_OK);
    assert_int_equal(count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_threads_have_their_own),
        cmocka_unit_test(test_forwarding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
