/* SPDX-License-Identifier: MIT */
/* No file is read and written, or written twice, under any name; one run at a time writes it. */
#include "base/claims.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "test.h"

/* Each test works in a new folder. */
static char folder[40];

static int enter_folder(void **state)
{
    (void)state;
    strcpy(folder, "claims_test.XXXXXX");
    return mkdtemp(folder) ? chdir(folder) : -1;
}

static void remove_all(void)
{
    DIR *here = opendir(".");
    for (struct dirent *entry; (entry = readdir(here));)
        if (remove(entry->d_name) != 0 && entry->d_name[0] != '.' && chdir(entry->d_name) == 0) {
            remove_all();
            assert_int_equal(chdir(".."), 0);
            assert_int_equal(rmdir(entry->d_name), 0);
        }
    closedir(here);
}

static int leave_folder(void **state)
{
    (void)state;
    remove_all();
    return chdir("..") == 0 ? rmdir(folder) : -1;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void expect_message(const char *said)
{
    if (!strstr(mgk_fail_message(), said))
        fail_msg("\"%s\" does not say \"%s\"", mgk_fail_message(), said);
}

/* Reported lines, concatenated. */
static char told[4096];

static void keep_line(void *context, const char *line)
{
    (void)context;
    assert_true(strlen(told) + strlen(line) + 2 < sizeof(told));
    strcat(strcat(told, line), "\n");
}

/* An output under each of these names is recognised as the file `first`. */
static void one_by_every_name(const char *first, const char *const *names, size_t count)
{
    char message[200];
    for (size_t i = 0; i < count; i++)
        for (int input = 0; input < 2; input++) {
            mgk_claims claims = {0};
            assert_ok(input ? mgk_claims_add_input(&claims, first)
                            : mgk_claims_add_output(&claims, first));
            assert_fails(mgk_claims_add_output(&claims, names[i]), STATUS_USAGE);
            snprintf(message, sizeof(message), "%s: is the same file as the %s %s", names[i],
                     input ? "input" : "output", first);
            expect_message(message);
            mgk_claims_release(&claims);
            /* The order of the two names does not matter. */
            assert_ok(mgk_claims_add_output(&claims, names[i]));
            assert_fails(input ? mgk_claims_add_input(&claims, first)
                               : mgk_claims_add_output(&claims, first),
                         STATUS_USAGE);
            expect_message(first);
            expect_message(names[i]);
            mgk_claims_release(&claims);
        }
}

static void existing_files(void **state)
{
    (void)state;
    static const char *const names[] = {
        "a",    "./a",    ".//a",       "inner/../a", "symbolic",          "indirect",
        "hard", "here/a", "inner/up/a", "here/hard",  "here/here/symbolic"};
    write_text("a", "text");
    write_text("b", "text");
    assert_int_equal(mkdir("inner", 0777), 0);
    assert_int_equal(symlink("a", "symbolic") | symlink("symbolic", "indirect"), 0);
    assert_int_equal(link("a", "hard") | symlink(".", "here") | symlink("..", "inner/up"), 0);
    one_by_every_name("a", names, sizeof(names) / sizeof(names[0]));
    char *absolute = realpath("a", NULL);
    one_by_every_name("symbolic", (const char *const *)&absolute, 1);
    free(absolute);
    /* Files with equal content are different files; an input may be read twice. */
    mgk_claims claims = {0};
    assert_ok(mgk_claims_add_input(&claims, "a"));
    assert_ok(mgk_claims_add_input(&claims, "hard"));
    assert_ok(mgk_claims_add_output(&claims, "b"));
    assert_ok(mgk_claims_add_output(&claims, "c"));
    mgk_claims_release(&claims);
}

static void outputs_to_be(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "./a", "inner/../a", "here/a", "inner/up/a"};
    assert_int_equal(mkdir("inner", 0777) | symlink(".", "here") | symlink("..", "inner/up"), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        mgk_claims claims = {0};
        assert_ok(mgk_claims_add_output(&claims, "a"));
        assert_ok(mgk_claims_add_output(&claims, "inner/a"));
        assert_fails(mgk_claims_add_output(&claims, names[i]), STATUS_USAGE);
        expect_message(" is the same file as the output a");
        mgk_claims_release(&claims);
    }
}

static void folders_of_inputs(void **state)
{
    (void)state;
    mgk_claims claims = {0};
    assert_int_equal(mkdir("data", 0777) | mkdir("data/pos", 0777), 0);
    write_text("data/pos/1.txt", "text");
    assert_ok(mgk_claims_add_input(&claims, "data"));
    assert_ok(mgk_claims_add_output(&claims, "data/new"));
    assert_fails(mgk_claims_add_output(&claims, "data/pos/../pos/1.txt"), STATUS_USAGE);
    expect_message("is the same file as the input data/pos/1.txt");
    mgk_claims_release(&claims);
}

/* User files with the name of a lock are not treated as locks. */
static void inputs_in_the_place_of_locks(void **state)
{
    (void)state;
    mgk_claims claims = {0};
    write_text("a.mgk-lock", "");
    assert_ok(mgk_claims_add_input(&claims, "a.mgk-lock"));
    assert_fails(mgk_claims_add_output(&claims, "a"), STATUS_USAGE);
    expect_message("a.mgk-lock: is the same file as the input a.mgk-lock");
    mgk_claims_release(&claims);
    write_text("a.mgk-lock", "mine");
    assert_ok(mgk_claims_add_output(&claims, "a"));
    assert_fails(mgk_claims_lock(&claims, keep_line, NULL), STATUS_IO);
    expect_message("a.mgk-lock: expected the lock of a");
    mgk_claims_release(&claims);
    assert_true(mgk_exists("a.mgk-lock"));
    unlink("a.mgk-lock");
    /* Links are not followed. */
    write_text("precious", "");
    assert_int_equal(symlink("precious", "a.mgk-lock"), 0);
    assert_ok(mgk_claims_add_output(&claims, "a"));
    assert_fails(mgk_claims_lock(&claims, keep_line, NULL), STATUS_IO);
    expect_message("a.mgk-lock: cannot lock a: ");
    mgk_claims_release(&claims);
    assert_true(mgk_exists("precious") && mgk_exists("a.mgk-lock"));
}

static void what_is_no_file(void **state)
{
    (void)state;
    mgk_claims claims = {0};
    assert_int_equal(mkfifo("pipe", 0666), 0);
    static const char *const names[] = {".", "/dev/null", "pipe"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_fails(mgk_claims_add_output(&claims, names[i]), STATUS_IO);
        expect_message("not a regular file");
    }
    assert_fails(mgk_claims_add_output(&claims, "nowhere/a"), STATUS_IO);
    expect_message("nowhere/a: cannot create: there is no folder \"nowhere\"");
    /* Writing or reading these files reports the error. */
    assert_ok(mgk_claims_add_output(&claims, ""));
    assert_ok(mgk_claims_add_input(&claims, "absent"));
    assert_ok(mgk_claims_lock(&claims, keep_line, NULL));
    mgk_claims_release(&claims);
}

/* In its own process: takes the output, reports that with one byte, and waits to be killed. */
static pid_t hold(const char *path)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        mgk_claims claims = {0};
        mgk_output output;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* leaves no waiting process if the test fails */
        bool held = mgk_claims_add_output(&claims, path) == STATUS_OK &&
                    mgk_claims_lock(&claims, keep_line, NULL) == STATUS_OK &&
                    mgk_output_open(path, true, &output) == STATUS_OK &&
                    write(ready[1], "", 1) == 1;
        while (held)
            pause();
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void end(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static int count_files(void)
{
    int count = -2; /* "." and ".." */
    DIR *here = opendir(".");
    while (readdir(here))
        count++;
    closedir(here);
    return count;
}

/* An output of another process is left unchanged; once that process is killed, its remains are
 * removed. */
static void killed_runs(void **state)
{
    (void)state;
    mgk_claims claims = {0};
    pid_t child = hold("a");
    assert_int_equal(count_files(), 2); /* lock and unfinished file */
    for (int trial = 0; trial < 2; trial++) {
        assert_ok(mgk_claims_add_output(&claims, "./a"));
        assert_fails(mgk_claims_lock(&claims, keep_line, NULL), STATUS_EXISTS);
        expect_message("./a: another run is writing it");
        mgk_claims_release(&claims);
    }
    assert_int_equal(count_files(), 2);
    end(child);
    write_text("a.part", "the journal of mgk-rank");
    write_text("a.abc.part", "of the user");
    write_text("a.backup.part", "of the user");
    write_text("a.mgk-ABCDEF.part", "of the user");
    write_text("ba.mgk-012345.part", "of another output");
    write_text("a.mgk-012345.part.b", "of the user");
    write_text("a.mgk-00000v.part", "left");
    write_text("a.mgk-012345.part", "an input");
    told[0] = '\0';
    assert_ok(mgk_claims_add_input(&claims, "a.mgk-012345.part"));
    assert_ok(mgk_claims_add_output(&claims, "a"));
    assert_ok(mgk_claims_lock(&claims, keep_line, NULL));
    mgk_claims_release(&claims);
    assert_int_equal(count_files(), 7);
    assert_false(mgk_exists("a.mgk-00000v.part"));
    assert_true(mgk_exists("a.backup.part"));
    assert_true(mgk_exists("a.mgk-012345.part"));
    if (!strstr(told, ".part and 1 more: left by a run that was killed, removed\n") ||
        strncmp(told, "a.", 2) != 0)
        fail_msg("told: %s", told);
}

/* A locked unfinished file is being written, whoever holds the lock of its output. */
static void parts_that_are_held(void **state)
{
    (void)state;
    mgk_claims claims = {0};
    write_text("a.mgk-held00.part", "half");
    write_text("a.mgk-free00.part", "half");
    int descriptor = open("a.mgk-held00.part", O_RDWR);
    assert_int_equal(flock(descriptor, LOCK_EX), 0);
    told[0] = '\0';
    assert_ok(mgk_claims_add_output(&claims, "a"));
    assert_ok(mgk_claims_lock(&claims, keep_line, NULL));
    mgk_claims_release(&claims);
    assert_true(mgk_exists("a.mgk-held00.part"));
    assert_false(mgk_exists("a.mgk-free00.part"));
    assert_string_equal(told, "a.mgk-free00.part: left by a run that was killed, removed\n");
    close(descriptor);
}

/* Locks are taken in one order, whatever the order of outputs: of two runs with the same outputs,
 * one continues. */
static void locks_have_an_order(void **state)
{
    (void)state;
    static const char *const orders[2][3] = {{"a", "b", "./folder/a"}, {"./b", "folder/a", "./a"}};
    mgk_claims holder = {0};
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_ok(mgk_claims_add_output(&holder, "b"));
    assert_ok(mgk_claims_lock(&holder, keep_line, NULL));
    for (int i = 0; i < 2; i++) {
        mgk_claims claims = {0};
        for (int k = 0; k < 3; k++)
            assert_ok(mgk_claims_add_output(&claims, orders[i][k]));
        assert_fails(mgk_claims_lock(&claims, keep_line, NULL), STATUS_EXISTS);
        assert_true(mgk_exists("a.mgk-lock")); /* taken before b's lock was requested */
        mgk_claims_release(&claims);
        assert_false(mgk_exists("a.mgk-lock"));
    }
    mgk_claims_release(&holder);
    assert_int_equal(rmdir("folder"), 0);
}

/* A run like any job: the holder of the lock writes, then the output exists. */
static int run_once(int start, const char *text)
{
    mgk_claims claims = {0};
    char byte;
    if (read(start, &byte, 1) < 0) /* all processes wait until the other end is closed */
        return 2;
    mgk_status status = mgk_claims_add_output(&claims, "a");
    if (status == STATUS_OK)
        status = mgk_claims_lock(&claims, keep_line, NULL);
    if (status == STATUS_OK)
        status = mgk_write_file("a", false, text, strlen(text));
    mgk_claims_release(&claims);
    return status == STATUS_OK ? 0 : status == STATUS_EXISTS ? 1 : 2;
}

static void many_at_once(void **state)
{
    (void)state;
    enum { RUNS = 6, ROUNDS = 40 };
    for (int round = 0; round < ROUNDS; round++) {
        int start[2], winner = -1, ended;
        pid_t child[RUNS];
        char text[RUNS][20];
        assert_int_equal(pipe(start), 0);
        for (int i = 0; i < RUNS; i++) {
            snprintf(text[i], sizeof(text[i]), "run %d", i);
            child[i] = fork();
            assert_true(child[i] >= 0);
            if (child[i] == 0) {
                close(start[1]);
                _exit(run_once(start[0], text[i]));
            }
        }
        close(start[1]);
        for (int i = 0; i < RUNS; i++) {
            assert_int_equal(waitpid(child[i], &ended, 0), child[i]);
            assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) < 2);
            if (WEXITSTATUS(ended) == 0) {
                assert_int_equal(winner, -1);
                winner = i;
            }
        }
        close(start[0]);
        assert_true(winner >= 0);
        mgk_mapping file;
        assert_ok(mgk_map_file("a", &file));
        assert_memory_equal(file.data, text[winner], file.size);
        mgk_unmap_file(&file);
        assert_int_equal(count_files(), 1);
        unlink("a");
    }
}

/* Takes the output repeatedly; its holder is alone. */
static int take_often(void)
{
    enum { TIMES = 300 };
    for (int taken = 0; taken < TIMES;) {
        mgk_claims claims = {0};
        mgk_status status = mgk_claims_add_output(&claims, "a");
        if (status == STATUS_OK)
            status = mgk_claims_lock(&claims, keep_line, NULL);
        int alone = -1;
        if (status == STATUS_OK)
            alone = open("alone", O_CREAT | O_EXCL | O_WRONLY, 0666);
        if (alone >= 0) {
            usleep(100); /* long enough for another process to come */
            close(alone);
            unlink("alone");
            taken++;
        }
        mgk_claims_release(&claims);
        if (alone < 0 && status != STATUS_EXISTS)
            return 1;
    }
    return 0;
}

/* Locks are released while other processes are about to take them. */
static void one_behind_the_other(void **state)
{
    (void)state;
    enum { RUNS = 4 };
    pid_t child[RUNS];
    int ended;
    for (int i = 0; i < RUNS; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] == 0)
            _exit(take_often());
    }
    for (int i = 0; i < RUNS; i++) {
        assert_int_equal(waitpid(child[i], &ended, 0), child[i]);
        assert_true(WIFEXITED(ended));
        assert_int_equal(WEXITSTATUS(ended), 0);
    }
    assert_int_equal(count_files(), 0);
}

int main(void)
{
#define claims_test(f) cmocka_unit_test_setup_teardown(f, enter_folder, leave_folder)
    const struct CMUnitTest tests[] = {
        claims_test(existing_files),       claims_test(outputs_to_be),
        claims_test(folders_of_inputs),    claims_test(inputs_in_the_place_of_locks),
        claims_test(what_is_no_file),      claims_test(killed_runs),
        claims_test(parts_that_are_held),  claims_test(many_at_once),
        claims_test(one_behind_the_other), claims_test(locks_have_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
