/* SPDX-License-Identifier: MIT */
/* The progress bar on standard error. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"

#define PATH "progress.txt"

static int kept_stderr;

/* Redirects standard error to a file. */
static void redirect(void)
{
    fflush(stderr);
    kept_stderr = dup(STDERR_FILENO);
    int file = open(PATH, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(kept_stderr >= 0 && file >= 0);
    assert_true(dup2(file, STDERR_FILENO) >= 0);
    close(file);
}

/* Ends the redirection; returns the text. */
static const char *written(void)
{
    static char text[4096];
    fflush(stderr);
    ssize_t size = pread(STDERR_FILENO, text, sizeof(text) - 1, 0);
    dup2(kept_stderr, STDERR_FILENO);
    close(kept_stderr);
    unlink(PATH);
    assert_true(size >= 0);
    text[size] = '\0';
    return text;
}

static void test_lines(void **state)
{
    (void)state;
    redirect();
    mgk_progress_bar bar = mgk_progress_start("training", "tokens", false);
    bool terminal = bar.terminal;
    mgk_progress_update(&bar, 1, 10, 100, "loss 5");
    mgk_progress_update(&bar, 2, 10, 200, "loss 4");
    mgk_progress_say(&bar, "%d of %s", 5, "ten");
    bar.started -= 2000; /* so long that a slow machine does not change the rate */
    mgk_progress_update(&bar, 10, 10, 4000100, "loss 3");
    mgk_progress_finish(&bar);
    const char *text = written();
    assert_false(terminal);
    assert_null(strstr(text, "loss 5"));
    assert_memory_equal(text, "5 of ten\n", 9);
    assert_non_null(strstr(text, "training 100 %  10/10  2 k tokens/s  loss 3\n"));
}

/* The next model begins with fewer steps: what the one before has taken does not count. */
static void test_other_work(void **state)
{
    (void)state;
    redirect();
    mgk_progress_bar bar = mgk_progress_start("pruning", "runs", false);
    mgk_progress_update(&bar, 0, 10, 0, "");
    bar.started -= 100000;
    mgk_progress_update(&bar, 10, 10, 10, "");
    mgk_progress_update(&bar, 100, 200, 100, "");
    bar.started -= 100000;
    mgk_progress_update(&bar, 20, 200, 20, "");
    bar.started -= 2000;
    bar.last_drawn -= 2000; /* so that it is drawn */
    mgk_progress_update(&bar, 120, 200, 200020, "");
    mgk_progress_update(&bar, 200, 200, 200100, "one");
    mgk_progress_update(&bar, 0, 50, 0, "");
    mgk_progress_update(&bar, 50, 50, 50, "other"); /* too soon, but for its end */
    mgk_progress_finish(&bar);
    const char *text = written();
    assert_non_null(strstr(text, "pruning  60 %  120/200  100 runs/s  26:40 left\n"));
    assert_non_null(strstr(text, "  one\n"));
    assert_non_null(strstr(text, "  other\n"));
}

/* Notes after the end do not repeat the final line. */
static void test_last_line_once(void **state)
{
    (void)state;
    redirect();
    mgk_progress_bar bar = mgk_progress_start("ranking", "matrices", false);
    mgk_progress_update(&bar, 4, 4, 4, "");
    mgk_progress_update(&bar, 4, 4, 4, "");
    mgk_progress_say(&bar, "rounded");
    mgk_progress_finish(&bar);
    assert_string_equal(written(), "ranking 100 %  4/4\nrounded\n");
}

static void test_time_left(void **state)
{
    (void)state;
    redirect();
    mgk_progress_bar bar = mgk_progress_start("ranks", "matrices", false);
    /* 600 steps in ten minutes, 60 remain; earlier steps do not count. A slow machine adds a tenth
     * of its delay to the time left. */
    mgk_progress_update(&bar, 100, 760, 1000, "");
    bar.started -= 600;
    bar.last_drawn -= 600;
    mgk_progress_update(&bar, 700, 760, 1063, "");
    bar.started -= 71400;
    bar.last_drawn -= 10;
    mgk_progress_update(&bar, 700, 760, 1063, "");
    assert_string_equal(written(), "ranks  92 %  700/760  0.105 matrices/s  1:00 left\n"
                                   "ranks  92 %  700/760  0.000875 matrices/s  2:00:00 left\n");
}

static void test_terminal(void **state)
{
    (void)state;
    redirect();
    mgk_progress_bar bar = mgk_progress_start("training", "tokens", false);
    bar.terminal = true;
    mgk_progress_update(&bar, 5, 5, 5,
                        "a note that is far too long for the eighty columns of a terminal");
    mgk_progress_say(&bar, "said");
    mgk_progress_update(&bar, 5, 5, 5, "");
    mgk_progress_finish(&bar);
    mgk_progress_finish(&bar);
    const char *text = written();
    assert_memory_equal(text, "\rtraining [####################] 100 %  5/5  a note", 51);
    const char *clear = strstr(text, "\033[K");
    assert_non_null(clear);
    assert_true(clear - text <= 80);
    assert_memory_equal(clear, "\033[K\r\033[Ksaid\n\rtraining", 20);
    size_t size = strlen(text);
    assert_memory_equal(text + size - 4, "\033[K\n", 4);
}

static void test_quiet(void **state)
{
    (void)state;
    redirect();
    mgk_progress_bar bar = mgk_progress_start("training", "tokens", true);
    mgk_progress_update(&bar, 10, 10, 1, "");
    mgk_progress_say(&bar, "hello");
    mgk_progress_finish(&bar);
    assert_string_equal(written(), "");
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    redirect();
    mgk_progress_bar bar = mgk_progress_start("training", "tokens", false);
    mgk_progress_update(&bar, 0, 0, 0, "");
    mgk_progress_finish(&bar);
    assert_string_equal(written(), "training   0 %  0/0\n");
}

static void test_clock(void **state)
{
    (void)state;
    double first = mgk_seconds();
    usleep(20000);
    double elapsed = mgk_seconds() - first;
    assert_true(elapsed >= 0.02 && elapsed < 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),          cmocka_unit_test(test_other_work),
        cmocka_unit_test(test_last_line_once), cmocka_unit_test(test_time_left),
        cmocka_unit_test(test_terminal),       cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_nothing_to_do),  cmocka_unit_test(test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
