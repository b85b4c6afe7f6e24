/* SPDX-License-Identifier: MIT */
/* Included by every unit test: cmocka with the headers it needs, and further assertions. */
#ifndef MGK_TESTS_TEST_H
#define MGK_TESTS_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"

/* What sanitizers find does not depend on the numbers. There a test with other numbers runs three
 * times at most, and of a list of cases that differ in numbers alone every third one is taken. */
#ifdef MGK_SANITIZED
enum { TEST_STEP = 3 };
#else
enum { TEST_STEP = 1 };
#endif

static inline int test_repetitions(int all)
{
    return TEST_STEP == 1 || all < 3 ? all : 3;
}

/* The call succeeds; if not, prints its message. */
#define assert_ok(call)                                                          \
    do {                                                                         \
        mgk_status ok_status_ = (call);                                          \
        if (ok_status_ != STATUS_OK)                                             \
            fail_msg("%s: %s", mgk_status_text(ok_status_), mgk_fail_message()); \
    } while (0)

/* The call fails with exactly this status. */
#define assert_fails(call, expected) assert_int_equal((call), (expected))

/* |a - b| <= absolute + relative * |b|; false for NaN and infinities. */
#define assert_close(a, b, absolute, relative)                    \
    do {                                                          \
        double a_ = (a), b_ = (b);                                \
        if (!isfinite(a_) || !isfinite(b_) ||                     \
            !(fabs(a_ - b_) <= (absolute) + (relative)*fabs(b_))) \
            fail_msg("%s = %.17g, expected %.17g", #a, a_, b_);   \
    } while (0)

#endif
