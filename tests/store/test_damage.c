/* SPDX-License-Identifier: MIT */
/* Damaged files: a change of any byte of a store neither crashes this program nor makes it hang;
 * the same for files that are known to crash HDF5 1.10.8. */
#include <errno.h>
#include <hdf5.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "store/fixture.h"
#include "store/foreign/list.h"
#include "store/schema/reader.h"
#include "test.h"

#define PATH "damage.h5"

enum { TOKENS = 4, FLIPS = 80 };

static unsigned char *good;
static size_t size;

static int make_store(void **state)
{
    (void)state;
    mgk_mapping file;
    mgk_store_description description =
        fixture_description(TOKENS, STORE_F32, 1 << STORE_ATTENTION);
    if (fixture_store(PATH, &description, STORE_F32, 1) != STATUS_OK ||
        mgk_map_file(PATH, &file) != STATUS_OK)
        return 1;
    size = file.size;
    good = malloc(size);
    if (good)
        memcpy(good, file.data, size);
    mgk_unmap_file(&file);
    return good ? 0 : 1;
}

static int remove_store(void **state)
{
    (void)state;
    free(good);
    return unlink(PATH);
}

/* Writes the good store with one byte changed as a new file: HDF5 identifies files by inode, and
 * may keep a damaged one open. */
static void write_damaged(size_t place, unsigned char byte)
{
    unlink(PATH);
    FILE *file = fopen(PATH, "wb");
    unsigned char before = good[place];
    assert_non_null(file);
    good[place] = byte;
    assert_int_equal(fwrite(good, 1, size, file), size);
    good[place] = before;
    assert_int_equal(fclose(file), 0);
}

static mgk_status pass_over(void *context, const mgk_store_entry *entry)
{
    (void)context;
    (void)entry;
    return STATUS_OK;
}

/* Does everything that programs do with a store. */
static void read_store(void)
{
    mgk_store_reader *reader;
    float matrix[TOKENS * TOKENS];
    int32_t tokens[TOKENS], length;
    if (mgk_store_open(PATH, NULL, &reader) != STATUS_OK) {
        assert_null(reader);
        return;
    }
    const mgk_store_description *d = mgk_store_describe(reader);
    if (d->tokens == TOKENS && mgk_store_keys(d) == TOKENS) {
        (void)mgk_store_read_matrix(reader, 0, 0, 0, STORE_F32, matrix, NULL);
        (void)mgk_store_read_tokens(reader, 0, tokens, &length);
    }
    mgk_store_close(reader);
    (void)mgk_store_list(PATH, pass_over, NULL);
}

static void any_byte(void **state)
{
    (void)state;
    static const unsigned char bits[] = {1, 0x80, 0xff, 8};
    for (size_t i = 0; i < FLIPS; i++) {
        size_t place = (i * 7919 + 13) % size;
        write_damaged(place, good[place] ^ bits[i % sizeof(bits)]);
        read_store();
    }
}

/* The offset `distance` bytes after the name of an attribute. */
static size_t behind(const char *name, size_t distance)
{
    size_t length = strlen(name) + 1;
    for (size_t i = 0; i + length + distance <= size; i++)
        if (memcmp(good + i, name, length) == 0)
            return i + distance;
    fail_msg("no \"%s\" in the store", name);
    return 0;
}

static void expect_refused(size_t place, unsigned char byte)
{
    mgk_store_reader *reader;
    write_damaged(place, byte);
    assert_fails(mgk_store_open(PATH, NULL, &reader), STATUS_FORMAT);
    assert_null(reader);
    assert_string_equal(mgk_fail_message(),
                        PATH ": damaged: the HDF5 library does not survive reading it");
    assert_fails(mgk_store_list(PATH, pass_over, NULL), STATUS_FORMAT);
}

/* The index of an attribute's text in a heap: HDF5 reads gigabytes past its memory. */
static void fatal_byte(void **state)
{
    (void)state;
    expect_refused(behind("format", 55), 0x57);
}

static void assert_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
}

/* SIGCHLD is ignored, so exit statuses are lost; the result arrives nevertheless. */
static void children_are_ignored(void **state)
{
    (void)state;
    mgk_store_reader *reader;
    write_damaged(0, good[0]);
    for (int ignored = 0; ignored < 2; ignored++) {
        signal(SIGCHLD, ignored ? SIG_IGN : SIG_DFL);
        assert_ok(mgk_store_open(PATH, NULL, &reader));
        mgk_store_close(reader);
        expect_refused(behind("format", 55), 0x57);
        write_damaged(0, good[0]);
        assert_no_child();
    }
    signal(SIGCHLD, SIG_DFL);
}

static int forks;

static void count_fork(void)
{
    forks++;
}

/* After a fork of a process with threads little is allowed, so only a new program may be started,
 * which does not run the handlers of forks. */
static void nothing_forks(void **state)
{
    (void)state;
    mgk_store_reader *reader;
    write_damaged(0, good[0]);
    assert_int_equal(pthread_atfork(count_fork, NULL, NULL), 0);
    assert_ok(mgk_store_open(PATH, NULL, &reader));
    mgk_store_close(reader);
    expect_refused(behind("format", 55), 0x57);
    assert_int_equal(forks, 0);
}

static void expect_unread(const char *said)
{
    mgk_store_reader *reader;
    assert_fails(mgk_store_open(PATH, NULL, &reader), STATUS_IO);
    assert_null(reader);
    assert_string_equal(mgk_fail_message(), said);
}

/* A file that nothing has checked is not read. */
static void without_the_program(void **state)
{
    (void)state;
    write_damaged(0, good[0]);
    setenv("MGK_LIBEXEC", "nowhere", 1);
    expect_unread(PATH ": cannot look into it: nowhere/mgk-h5-probe: No such file or directory");
    /* A program that exits successfully without a check. */
    assert_true(mkdir("other", 0777) == 0 || errno == EEXIST);
    unlink("other/mgk-h5-probe");
    assert_int_equal(symlink("/bin/true", "other/mgk-h5-probe"), 0);
    setenv("MGK_LIBEXEC", "other", 1);
    expect_unread(PATH ": cannot look into it: other/mgk-h5-probe does not run");
    unsetenv("MGK_LIBEXEC");
    unlink("other/mgk-h5-probe");
    rmdir("other");
}

static atomic_bool opened;
static atomic_int caught;

static void count_signal(int number)
{
    (void)number;
    caught++;
}

/* Sends the signals that a terminal sends to all its processes. */
static void *interrupt(void *context)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    const struct timespec pause = {.tv_nsec = 200000};
    (void)context;
    for (size_t i = 0; !opened; i++) {
        kill(0, numbers[i % (sizeof(numbers) / sizeof(numbers[0]))]);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Signals are for this process: they do not make a good file count as damaged. */
static void interrupted(void **state)
{
    (void)state;
    enum { TIMES = 20 };
    struct sigaction count = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    mgk_store_reader *reader;
    pthread_t thread;
    write_damaged(0, good[0]);
    assert_true(getpgrp() == getpid() || setpgid(0, 0) == 0);
    assert_true(sigaction(SIGINT, &count, NULL) == 0 && sigaction(SIGTERM, &count, NULL) == 0 &&
                sigaction(SIGHUP, &count, NULL) == 0);
    assert_int_equal(pthread_create(&thread, NULL, interrupt, NULL), 0);
    for (int i = 0; i < TIMES; i++) {
        assert_ok(mgk_store_open(PATH, NULL, &reader));
        mgk_store_close(reader);
    }
    opened = true;
    pthread_join(thread, NULL);
    assert_true(caught > 0);
    signal(SIGINT, SIG_DFL), signal(SIGTERM, SIG_DFL), signal(SIGHUP, SIG_DFL);
}

/* Checks a file while it is open, without losing data that is being written. */
static void damage_while_files_are_open(void **state)
{
    (void)state;
    mgk_store_reader *first, *second;
    float matrix[TOKENS * TOKENS], again[TOKENS * TOKENS];
    write_damaged(0, good[0]);
    hid_t file = H5Fcreate("beside.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_ok(mgk_store_open(PATH, NULL, &first));
    assert_ok(mgk_store_read_matrix(first, 0, 0, 0, STORE_F32, matrix, NULL));
    assert_ok(mgk_store_open(PATH, NULL, &second));
    mgk_store_close(second);
    assert_ok(mgk_store_read_matrix(first, 0, 0, 0, STORE_F32, again, NULL));
    assert_memory_equal(matrix, again, sizeof(matrix));
    mgk_store_close(first);
    assert_true(H5Gclose(group) >= 0 && H5Fclose(file) >= 0);
    file = H5Fopen("beside.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(H5Lexists(file, "group", H5P_DEFAULT) > 0);
    H5Fclose(file);
    unlink("beside.h5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fatal_byte),    cmocka_unit_test(children_are_ignored),
        cmocka_unit_test(nothing_forks), cmocka_unit_test(without_the_program),
        cmocka_unit_test(interrupted),   cmocka_unit_test(damage_while_files_are_open),
        cmocka_unit_test(any_byte),
    };
    return cmocka_run_group_tests(tests, make_store, remove_store);
}
