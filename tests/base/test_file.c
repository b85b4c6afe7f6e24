/* SPDX-License-Identifier: MIT */
/* Outputs appear whole or not at all, and inputs are regular files. */
#include "failing_sync.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/unfinished.h"

/* Each test works in a new folder. */
#define PATH "out.bin"

static char folder[32];

static int enter_folder(void **state)
{
    (void)state;
    strcpy(folder, "file_test.XXXXXX");
    return mkdtemp(folder) ? chdir(folder) : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    unlink(PATH);
    return chdir("..") == 0 ? rmdir(folder) : -1;
}

static int files_in_folder(void)
{
    int count = -2; /* "." and ".." */
    DIR *here = opendir(".");
    assert_non_null(here);
    while (readdir(here))
        count++;
    closedir(here);
    return count;
}

static void assert_content(const char *text)
{
    mgk_mapping mapping;
    assert_ok(mgk_map_file(PATH, &mapping));
    assert_int_equal(mapping.size, strlen(text));
    if (mapping.size)
        assert_memory_equal(mapping.data, text, mapping.size);
    mgk_unmap_file(&mapping);
    assert_null(mapping.data);
    mgk_unmap_file(&mapping);
}

static void test_existing_files(void **state)
{
    (void)state;
    assert_ok(mgk_write_file(PATH, false, "one", 3));
    assert_content("one");
    assert_fails(mgk_write_file(PATH, false, "two", 3), STATUS_EXISTS);
    assert_non_null(strstr(mgk_fail_message(), PATH));
    assert_content("one");
    assert_ok(mgk_write_file(PATH, true, "three", 5));
    assert_content("three");
    assert_ok(mgk_write_file(PATH, true, NULL, 0));
    assert_content("");
    assert_int_equal(files_in_folder(), 1);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_old_content_until_commit(void **state)
{
    (void)state;
    mgk_output output;
    assert_ok(mgk_write_file(PATH, false, "old", 3));
    assert_ok(mgk_output_open(PATH, true, &output));
    assert_int_equal(files_in_folder(), 2);
    write_text(output.temporary, "half");
    assert_content("old");
    mgk_output_discard(&output);
    assert_content("old");
    assert_int_equal(files_in_folder(), 1);
    assert_ok(mgk_output_open(PATH, true, &output));
    write_text(output.temporary, "new");
    assert_ok(mgk_output_commit(&output));
    assert_content("new");
    assert_int_equal(files_in_folder(), 1);
    mgk_output_discard(&output);
    assert_content("new");
}

/* A link is an existing file, wherever it points; --force replaces the link and keeps its
 * target. */
static void test_links(void **state)
{
    (void)state;
    struct stat info;
    assert_int_equal(symlink("target", PATH), 0);
    assert_fails(mgk_output_check(PATH, false), STATUS_EXISTS);
    assert_fails(mgk_write_file(PATH, false, "x", 1), STATUS_EXISTS);
    assert_int_equal(files_in_folder(), 1);
    for (int exists = 0; exists < 2; exists++) {
        if (exists) {
            write_text("target", "precious");
            unlink(PATH);
            assert_int_equal(symlink("target", PATH), 0);
            assert_fails(mgk_write_file(PATH, false, "x", 1), STATUS_EXISTS);
        }
        assert_ok(mgk_write_file(PATH, true, "x", 1));
        assert_content("x");
        assert_true(lstat(PATH, &info) == 0 && S_ISREG(info.st_mode));
        assert_int_equal(access("target", F_OK) == 0, exists);
    }
    unlink(PATH);
    assert_int_equal(rename("target", PATH), 0);
    assert_content("precious");
    /* A link to a device is not replaced. */
    unlink(PATH);
    assert_int_equal(symlink("/dev/null", PATH), 0);
    assert_fails(mgk_write_file(PATH, true, "x", 1), STATUS_IO);
    assert_true(lstat(PATH, &info) == 0 && S_ISLNK(info.st_mode));
}

static void test_permissions_follow_umask(void **state)
{
    (void)state;
    struct stat info;
    mode_t before = umask(027);
    assert_ok(mgk_write_file(PATH, false, "x", 1));
    umask(before);
    assert_int_equal(stat(PATH, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

static void test_names_and_paths(void **state)
{
    (void)state;
    static const char *const names[] = {"x", ".x", "..x", "...", "x.y", "%"}, *const paths[] = {
                                                                                  "",     ".",
                                                                                  "..",   "/",
                                                                                  "x/",   "/x",
                                                                                  "../x", "x/y"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_true(mgk_is_file_name(names[i]));
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        assert_false(mgk_is_file_name(paths[i]));
}

static void test_names_that_cannot_be(void **state)
{
    (void)state;
    static const char *const paths[] = {"", ".", "missing/out.bin", "/proc/out.bin", "/dev/null"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_fails(mgk_write_file(paths[i], true, "x", 1), STATUS_IO);
        assert_non_null(strstr(mgk_fail_message(), paths[i]));
    }
    assert_int_equal(files_in_folder(), 0);
}

/* The folder was removed, or the name taken, while the output was written. */
static void test_failing_commit(void **state)
{
    (void)state;
    mgk_output output;
    assert_ok(mgk_output_open(PATH, true, &output));
    assert_int_equal(mkdir(PATH, 0777), 0);
    assert_fails(mgk_output_commit(&output), STATUS_IO);
    assert_null(output.temporary);
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(rmdir(PATH), 0);
}

/* Before the rename a failure leaves the old file; after it there is none. */
static void test_failing_sync(void **state)
{
    (void)state;
    assert_ok(mgk_write_file(PATH, false, "old", 3));
    syncs_left = 0;
    assert_fails(mgk_write_file(PATH, true, "new", 3), STATUS_IO);
    assert_content("old");
    assert_int_equal(files_in_folder(), 1);
    syncs_left = 1;
    assert_ok(mgk_write_file(PATH, true, "new", 3));
    assert_int_equal(syncs_left, -1);
    assert_content("new");
    assert_int_equal(files_in_folder(), 1);
}

/* Without --force nothing is replaced, even if it appeared meanwhile. */
static void test_name_taken_meanwhile(void **state)
{
    (void)state;
    mgk_output output;
    for (int force = 0; force < 2; force++) {
        assert_ok(mgk_output_open(PATH, force, &output));
        write_text(output.temporary, "new");
        write_text(PATH, "precious");
        if (force)
            assert_ok(mgk_output_commit(&output));
        else
            assert_fails(mgk_output_commit(&output), STATUS_EXISTS);
        assert_content(force ? "new" : "precious");
        assert_int_equal(files_in_folder(), 1);
        unlink(PATH);
    }
}

static void test_full_disk(void **state)
{
    (void)state;
    static char data[100000];
    struct rlimit before, small;
    assert_ok(mgk_write_file(PATH, false, "old", 3));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 50000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    mgk_status status = mgk_write_file(PATH, true, data, sizeof(data));
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, STATUS_IO);
    assert_non_null(strstr(mgk_fail_message(), "may not grow further"));
    assert_content("old");
    assert_int_equal(files_in_folder(), 1);
}

/* A write has failed before the stream is closed, and errno says something else since. */
static void test_earlier_failure(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(setvbuf(full, NULL, _IONBF, 0), 0);
    assert_int_equal(fwrite("one", 1, 3, full), 0);
    errno = EISDIR;
    assert_fails(mgk_close_written(full, PATH), STATUS_IO);
    assert_string_equal(mgk_fail_message(), PATH ": no space left on the device");
}

static void test_inputs_are_regular(void **state)
{
    (void)state;
    mgk_mapping mapping;
    assert_fails(mgk_map_file(".", &mapping), STATUS_IO);
    assert_fails(mgk_map_file("missing", &mapping), STATUS_IO);
    assert_fails(mgk_map_file("/dev/zero", &mapping), STATUS_IO);
    assert_null(mapping.data);
    assert_int_equal(mkfifo(PATH, 0600), 0);
    assert_fails(mgk_map_file(PATH, &mapping), STATUS_IO);
    assert_non_null(strstr(mgk_fail_message(), "not a regular file"));
}

#define folder_test(function) cmocka_unit_test_setup_teardown(function, enter_folder, leave_folder)

static void end_without_it(int number)
{
    mgk_unfinished_remove();
    signal(number, SIG_DFL);
    raise(number);
}

/* A signal removes the files that the process has begun, and keeps finished ones. */
static void test_signal(void **state)
{
    (void)state;
    int how;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        mgk_output one, two;
        signal(SIGTERM, end_without_it);
        if (mgk_write_file(PATH, false, "one", 3) != STATUS_OK ||
            mgk_output_open("two", false, &two) != STATUS_OK ||
            mgk_output_open(PATH, true, &one) != STATUS_OK)
            _exit(1);
        mgk_output_discard(&two);
        if (mgk_output_open("two", false, &two) != STATUS_OK)
            _exit(1);
        raise(SIGTERM);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGTERM);
    assert_int_equal(files_in_folder(), 1);
    assert_content("one");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(test_existing_files),
        folder_test(test_old_content_until_commit),
        folder_test(test_permissions_follow_umask),
        folder_test(test_names_and_paths),
        folder_test(test_names_that_cannot_be),
        folder_test(test_failing_commit),
        folder_test(test_failing_sync),
        folder_test(test_full_disk),
        folder_test(test_earlier_failure),
        folder_test(test_inputs_are_regular),
        folder_test(test_signal),
        folder_test(test_links),
        folder_test(test_name_taken_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
