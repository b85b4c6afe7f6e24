/* SPDX-License-Identifier: MIT */
#include "store/hdf5/quarantine/h5_probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file_identity.h"
#include "base/memory.h"

static const char name[] = "mgk-h5-probe";

/* Removes the last component; false: there is none. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return slash;
}

/* The file that holds this code: the shared library, or the program that it is linked into. */
static const char *own_file(void)
{
    Dl_info info;
    struct link_map *map;
    bool shared = dladdr1(name, &info, (void **)&map, RTLD_DL_LINKMAP) && map->l_name[0];
    return shared ? map->l_name : "/proc/self/exe";
}

/* Joins the path of the program; false: it is too long. */
static bool join(const char *folder, const char *below, char program[PATH_MAX])
{
    int length = snprintf(program, PATH_MAX, "%s%s/%s", folder, below, name);
    return length >= 0 && length < PATH_MAX;
}

/* Finds the program; if it does not exist, `program` is where it should be. */
static bool find_program(char program[PATH_MAX])
{
    char own[PATH_MAX], installed[PATH_MAX];
    const char *folder = secure_getenv("MGK_LIBEXEC");
    if (folder && folder[0])
        return join(folder, "", program);
    if (!join(MGK_LIBEXEC, "", installed))
        return false;
    bool beside =
        realpath(own_file(), own) && go_up(own) && go_up(own) && join(own, "/libexec/mgk", program);
    if (!beside || (access(program, X_OK) != 0 && access(installed, X_OK) == 0))
        memcpy(program, installed, PATH_MAX);
    return true;
}

/* Signals of a crash keep their default action. Signals that a terminal sends to all its processes
 * are blocked: this process handles them. */
static void set_signals(posix_spawnattr_t *attributes)
{
    static const int for_parent[] = {SIGINT, SIGQUIT, SIGTSTP, SIGTERM, SIGHUP};
    sigset_t all, blocked;
    sigfillset(&all);
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof(for_parent) / sizeof(for_parent[0]); i++)
        sigaddset(&blocked, for_parent[i]);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setsigmask(attributes, &blocked);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

/* Starts the program, which prints into `output` and has no standard error. Returns 0 or
 * an errno. */
static int start(char *program, char *path, int output, pid_t *child)
{
    char *words[] = {program, path, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    set_signals(&attributes);
    int reason = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (reason == 0)
        reason =
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (reason == 0)
        reason = posix_spawn(child, program, &actions, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return reason;
}

/* Counts the bytes that the child prints until it ends. Its exit status is not used, because
 * another thread that waits for children may take it. */
static size_t await(int output, pid_t child)
{
    char bytes[8];
    size_t count = 0;
    ssize_t got;
    while ((got = read(output, bytes, sizeof(bytes))) > 0 || (got < 0 && errno == EINTR))
        count += got > 0 ? (size_t)got : 0;
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    return count;
}

/* Runs the program on the file; *marks is the number of bytes it printed. Returns 0 or an errno. */
static int run(char *program, char *path, size_t *marks)
{
    int output[2];
    pid_t child;
    if (pipe2(output, O_CLOEXEC) != 0)
        return errno;
    int reason = start(program, path, output[1], &child);
    close(output[1]);
    if (reason == 0)
        *marks = await(output[0], child);
    close(output[0]);
    return reason;
}

/* False for a file that has just changed: the resolution of file times may hide the next change. It
 * is a tick of the kernel's clock, at most 10 ms, where times have fractions, and else up to 2 s.
 */
static bool identify(const char *path, mgk_file_identity *out)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || !mgk_file_identify(path, out))
        return false;
    const struct timespec *changed = &out->changed;
    const double age =
        difftime(now.tv_sec, changed->tv_sec) + 1e-9 * (double)(now.tv_nsec - changed->tv_nsec);
    return age > (changed->tv_nsec != 0 ? 0.05 : 3);
}

/* The last file that survived: programs recognise a file first and then open it. */
static mgk_file_identity survivor;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool has_survived(const mgk_file_identity *file)
{
    pthread_mutex_lock(&lock);
    const bool survived = mgk_file_identity_equal(file, &survivor);
    pthread_mutex_unlock(&lock);
    return survived;
}

static void remember(const mgk_file_identity *file)
{
    pthread_mutex_lock(&lock);
    survivor = *file;
    pthread_mutex_unlock(&lock);
}

static mgk_status probe(const char *path)
{
    enum { BEGUN = 1, SURVIVED };
    char program[PATH_MAX], *file;
    size_t marks = 0;
    if (!find_program(program))
        return mgk_fail(STATUS_IO, "%s: cannot look into it: the path of %s is too long", path,
                        name);
    TRY(mgk_copy_string(path, &file));
    int reason = run(program, file, &marks);
    mgk_free(file);
    if (reason != 0)
        return mgk_fail(STATUS_IO, "%s: cannot look into it: %s: %s", path, program,
                        strerror(reason));
    if (marks < BEGUN)
        return mgk_fail(STATUS_IO, "%s: cannot look into it: %s does not run", path, program);
    if (marks != SURVIVED)
        return mgk_fail(STATUS_FORMAT, "%s: damaged: the HDF5 library does not survive reading it",
                        path);
    return STATUS_OK;
}

mgk_status mgk_h5_probe(const char *path)
{
    mgk_file_identity file;
    const bool known = identify(path, &file);
    if (known && has_survived(&file))
        return STATUS_OK;
    TRY(probe(path));
    if (known)
        remember(&file);
    return STATUS_OK;
}
